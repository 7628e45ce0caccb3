"""`git cortex completion`, and the answers that its scripts ask for."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cortex_git.cli.command import Command
from cortex_git.cli.terminal import one_line
from cortex_git.env import Env

# Each script calls the program itself with the words so far; it answers a value and its help a line, with a tab
# between. `git cortex …` is completed by git's own scripts, which look for functions of these names.
_BASH = """\
_git_cortex_answer() {
    local line IFS=$'\\n'
    COMPREPLY=()
    for line in $(_GIT_CORTEX_COMPLETE=1 git-cortex "$@" 2>/dev/null); do
        COMPREPLY+=("${line%%$'\\t'*}")
    done
}
_git_cortex() {
    local start=$((${__git_cmd_idx:-1} + 1))
    _git_cortex_answer "${words[@]:start:cword-start}" "$cur"
}
_git_cortex_program() {
    _git_cortex_answer "${COMP_WORDS[@]:1:COMP_CWORD}"
}
complete -o bashdefault -o default -F _git_cortex_program git-cortex
"""
_ZSH = """\
#compdef git-cortex
_git-cortex() {
    local line
    local -a answers
    for line in ${(f)"$(_GIT_CORTEX_COMPLETE=1 git-cortex "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
        answers+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
    done
    if (( $#answers )); then
        _describe 'git cortex' answers
    else
        _files
    fi
}
zstyle ':completion:*:*:git:*' user-commands cortex:'memory for coding assistants'
if [ "$funcstack[1]" = _git-cortex ]; then
    _git-cortex "$@"
else
    compdef _git-cortex git-cortex
fi
"""
_FISH = """\
function __git_cortex_answer
    set -l words (commandline -opc) (commandline -ct)
    set -e words[1]
    if test "$words[1]" = cortex
        set -e words[1]
    end
    _GIT_CORTEX_COMPLETE=1 git-cortex $words 2>/dev/null
end
complete -c git-cortex -f -a '(__git_cortex_answer)'
complete -c git -n '__fish_seen_subcommand_from cortex' -f -a '(__git_cortex_answer)'
complete -c git -n __fish_use_subcommand -a cortex -d 'Memory for coding assistants'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(list(_SCRIPTS)))
@click.pass_obj
def completion(env: Env, shell: str) -> None:
    """Print the completion script of a shell, for `git-cortex` and for `git cortex`.

    \b
    bash:  eval "$(git-cortex completion bash)"       in ~/.bashrc
    zsh:   eval "$(git-cortex completion zsh)"        in ~/.zshrc, after compinit
    fish:  git-cortex completion fish | source        in ~/.config/fish/config.fish
    """
    env.stdout.write(_SCRIPTS[shell])


def answer(cli: click.Command, arguments: Sequence[str], env: Env) -> None:
    """Print what the last argument could become, given those before it."""
    from click.shell_completion import ShellComplete

    *before, last = arguments or [""]
    found = ShellComplete(cli, {"obj": env}, "git-cortex", "").get_completions(before, last)
    for item in found:
        if item.type == "plain":
            env.stdout.write(f"{one_line(str(item.value))}\t{one_line(item.help or '')}\n")
