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
# The program bounds its own time; this is for one that does not even start.
if command -v timeout > /dev/null; then
    set -- timeout 12 "$@"
fi
"$@" > /dev/null
