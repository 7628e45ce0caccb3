# Shared by git's hooks, which read it with `.`; POSIX sh, tried with dash, bash and busybox.
#
# `git cortex init` copies these files to `cortex/git-hooks/` in the common git directory, beside the file `program`.
# Memory must never be in git's way: whatever goes wrong, exit status 0 and nothing on standard output.

trap 'exit 0' EXIT
# CORTEX_HOOK is set for every git that we start ourselves, in which our own hooks have nothing to do.
[ -z "${CORTEX_HOOK:-}${CORTEX_DISABLE:-}" ] || exit 0
PATH=${PATH:+$PATH:}/usr/bin:/bin
export PATH

event=${0##*/}
home=${0%/*}/..
[ -r "$home/program" ] || exit 0
{
    IFS= read -r python
    IFS= read -r root
} < "$home/program"

if [ -x "$python" ] && [ -f "$root/cortex_git/hookmain.py" ]; then
    set -- "$python" -I -S "$root/cortex_git/hookmain.py" git "$event" "$@"
elif command -v git-cortex > /dev/null; then
    set -- git-cortex hook git "$event" "$@"
else
    exit 0
fi

# The program bounds its own time; this is for one that does not even start. It is waited for once: then hooks do
# without it until a command of ours has run, or for ten minutes.
if [ -e "$home/hung" ]; then
    [ -z "$(find "$home/hung" -mmin -10)" ] || exit 0
    rm -f "$home/hung"
fi
case $event in
    post-rewrite) limit=12 ;;
    *) limit=8 ;;
esac
if command -v timeout > /dev/null; then
    timeout "$limit" "$@" > /dev/null
    status=$?
else
    # Where a program runs in the background a shell takes its input away, unless it is handed on by another number.
    exec 3<&0
    "$@" <&3 3<&- > /dev/null &
    program=$!
    exec 3<&- 2> /dev/null
    (sleep "$limit" && kill -9 "$program") < /dev/null > /dev/null &
    watch=$!
    wait "$program"
    status=$?
    kill "$watch"
fi
case $status in
    124 | 137 | 143)
        # What cannot be noted is not, as in a folder without room.
        { echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) git $event: no answer in $limit s; hooks pause" >> "$home/log"; }
        { : > "$home/hung"; } ;;
esac 2> /dev/null
