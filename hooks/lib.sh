# Shared by `capture` and `drain`, which read it with `.`; POSIX sh, tried with dash, bash and busybox.
#
# Finds the repository and puts the payload on standard input into its spool, without starting git or Python:
# this runs at every tool call. Whatever goes wrong, the assistant must not notice: no output, exit status 0.
# A record has its final name (r.*) only when it is whole.

exec 2> /dev/null
trap 'exit 0' EXIT # an exit status of 2 would stop the assistant
[ -z "${CORTEX_DISABLE:-}" ] || exit 0
PATH=${PATH:+$PATH:}/usr/bin:/bin
export PATH
newline='
'

# Sets tree, git_dir and common. Ends the hook where there is no work tree.
find_repository() {
    if [ -n "${GIT_DIR:-}" ]; then
        tree=$(git rev-parse --show-toplevel) || exit 0
        git_dir=$(git rev-parse --absolute-git-dir) || exit 0
        common=$(git rev-parse --path-format=absolute --git-common-dir) || exit 0
        return
    fi
    cd -P . || exit 0
    tree=${PWD%/}
    until [ -f "$tree/.git/HEAD" ] || [ -f "$tree/.git" ]; do
        # Inside a bare repository a work tree further up does not count.
        [ ! -f "$tree/HEAD" ] || [ ! -d "$tree/objects" ] || [ ! -d "$tree/refs" ] || exit 0
        [ -n "$tree" ] || exit 0
        tree=${tree%/*}
    done
    git_dir=$tree/.git
    if [ -f "$git_dir" ]; then
        # A linked worktree or a submodule.
        read_path "$git_dir"
        within "$tree" "${line#gitdir: }"
        git_dir=$path
    fi
    common=$git_dir
    if [ -f "$git_dir/commondir" ]; then
        read_path "$git_dir/commondir"
        within "$git_dir" "$line"
        common=$path
    fi
}

# Sets line to all of the file $1 but its last line end: a path may hold line ends.
read_path() {
    {
        IFS= read -r line
        while IFS= read -r more || [ -n "$more" ]; do
            line=$line$newline$more
        done
    } < "$1"
}

# Sets path to $2, which is relative to the folder $1 unless it is absolute.
within() {
    case $2 in
        /*) path=$2 ;;
        *) path=$1/$2 ;;
    esac
}

# Sets home, limit (MiB), and python and root; python stays empty where only `git-cortex` on PATH can be run. Ends the
# hook if the repository is not initialised, or if nothing is left that would ever read the spool.
find_program() {
    home=$common/cortex
    [ -r "$home/program" ] || exit 0
    # A folder of somebody else's may name any program; whether it is trusted is for git to say.
    [ -O "$home/program" ] || git rev-parse --git-dir > /dev/null || exit 0
    {
        IFS= read -r python
        IFS= read -r root
        IFS= read -r limit
    } < "$home/program"
    case $limit in
        '' | *[!0-9]*) limit=64 ;;
    esac
    if [ ! -x "$python" ] || [ ! -f "$root/cortex_git/hookmain.py" ]; then
        python=
        command -v git-cortex > /dev/null || exit 0
    fi
}

# Whether the records that wait have reached the limit. Sizes are asked for at every eighth record only, and not while
# there are few; but each time from when the limit was reached until the records are below it again.
spool_is_full() {
    set -- "$home"/spool/r.*
    if [ ! -e "$home/spool.full" ]; then
        [ $# -gt 32 ] && [ $(($# % 8)) -eq 0 ] || return 1
    fi
    # Records alone: neither what was set aside nor what a killed hook left goes away when the spool is read.
    used=$(cd "$home/spool" && printf '%s\n' r.* | xargs du -k | awk '{ sum += $1 } END { print sum }')
    used=${used%%[!0-9]*}
    if [ "${used:-0}" -gt $((limit * 1024)) ]; then
        [ -e "$home/spool.full" ] || { true; } > "$home/spool.full"
        return 0
    fi
    [ ! -e "$home/spool.full" ] || rm -f "$home/spool.full"
    return 1
}

# Writes the payload of event $1. Sets record to the file's path; empty if it could not be written.
spool() {
    head=
    unique=
    IFS= read -r head < "$git_dir/HEAD"
    # Where refs are in tables (reftable) the file says nothing. Without git the reader takes the branch of its own time.
    if [ "$head" = 'ref: refs/heads/.invalid' ]; then
        if name=$(git --git-dir="$git_dir" symbolic-ref -q HEAD); then
            head="ref: $name"
        else
            name=$(git --git-dir="$git_dir" rev-parse --verify -q HEAD) && head=$name
        fi
    fi
    IFS= read -r unique < /proc/sys/kernel/random/uuid
    unique=$$-${unique%%-*}
    while [ -e "$home/spool/r.$unique" ] || [ -e "$home/spool/tmp.$unique" ]; do
        unique=$unique-
    done
    record=$home/spool/r.$unique
    (
        umask 077
        ulimit -S -f 131072 # 64 MiB in blocks of 512 bytes
        set -C
        { true; } > "$home/spool/tmp.$unique" || {
            mkdir -m 700 "$home/spool"
            { true; } > "$home/spool/tmp.$unique" || exit 1
        }
        {
            printf 'cortex-spool 1\nagent claude\nevent %s\nworktree %s\nhead %s\n\n' "$1" "${tree:-/}" "$head" && cat
        } >> "$home/spool/tmp.$unique" && exec mv -f "$home/spool/tmp.$unique" "$record"
        rm -f "$home/spool/tmp.$unique"
        exit 1
    ) || record=
}
