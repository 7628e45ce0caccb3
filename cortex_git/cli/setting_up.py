"""`git cortex init` and `git cortex uninstall`."""

from __future__ import annotations

import click

from cortex_git.cli.command import Command, json_option
from cortex_git.cli.terminal import ask, is_interactive, one_line, warn, write_json
from cortex_git.env import Env
from cortex_git.errors import CortexError, UsageError
from cortex_git.memory import Memory
from cortex_git.setup import install
from cortex_git.store import remotes
from cortex_git.store.repo import Repo, require

_CONSENT = """\
Decisions, facts and plans become files under .cortex/, and your commits take them along: whoever sees the repository
can read them. A line before each commit says what it adds; preferences and private memories are never among it.
"""


@click.command(cls=Command)
@click.option("-y", "--yes", is_flag=True, help="Ask nothing; memories are committed under `.cortex/`.")
@click.option("--no-commit", is_flag=True, help="Ask nothing; no commit takes memories along, they stay in git notes.")
@click.option("--no-claude", is_flag=True, help="Leave Claude Code alone; only git's hooks are set up.")
@click.option(
    "--plugin/--no-plugin", default=None, help="Insist on the Claude Code plugin, or on settings in this repository."
)
@json_option
@click.pass_obj
def init(env: Env, yes: bool, no_commit: bool, no_claude: bool, plugin: bool | None, as_json: bool) -> None:
    """Set this repository up: git's and the assistant's hooks, `.cortex/`, the rules that teach the tags.

    May be repeated at any time, and brings an earlier set-up to the present state. Says what it did and how to undo it.
    """
    if yes and no_commit:
        raise UsageError("--yes and --no-commit exclude each other; give one of them")
    repo = require(env.cwd, env.variables)
    commit = not no_commit and (yes or as_json or _may_commit(env, repo))
    is_new = not repo.initialised
    report = install.init(repo, env, agents=() if no_claude else install.AGENTS, plugin=plugin, commit=commit)
    report.lines += _sharing(repo)
    _print(env, report, as_json)
    _greet_next_session(env)
    if is_new and is_interactive(env) and not (yes or no_commit or as_json):
        _offer_sharing(env, repo)


@click.command(cls=Command)
@click.option("--forget", "--purge", "forget", is_flag=True, help="Delete the memory of this clone, too.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before the memory is deleted.")
@json_option
@click.pass_obj
def uninstall(env: Env, forget: bool, yes: bool, as_json: bool) -> None:
    """Undo exactly what `git cortex init` did. The memory stays unless you ask for its deletion.

    Files that were committed under `.cortex/` belong to the project and stay.
    """
    repo = require(env.cwd, env.variables)
    if forget and not yes:
        if not is_interactive(env):
            raise UsageError("--forget deletes the memory of this clone for good and asks first: that needs a terminal")
        if not ask(env, "Delete the memory of this clone for good?", default=False):
            raise CortexError("nothing was changed")
    _print(env, install.uninstall(repo, env, forget=forget), as_json)


def _print(env: Env, report: install.Report, as_json: bool) -> None:
    if as_json:
        write_json(env, {"lines": report.lines, "attention": report.attention})
        return
    for line in report.lines:
        env.stdout.write(one_line(line) + "\n")
    for text in report.attention:
        env.stdout.write("\n" + text.rstrip("\n") + "\n")


def _may_commit(env: Env, repo: Repo) -> bool:
    """Ask whether memories may be committed, where there is somebody to ask and the team has not settled it."""
    if not is_interactive(env) or repo.initialised or repo.git("ls-files", "--", install.FOLDER).strip():
        return True
    env.stderr.write(_CONSENT)
    return ask(env, "Commit memories under .cortex/?", default=True)


def _sharing(repo: Repo) -> list[str]:
    """How things stand with the remote, where there is one: nothing is sent to it unasked."""
    from cortex_git.cli.exchange import absence

    shared, name = remotes.shared(repo), remotes.preferred(repo)
    if shared:
        return [f"sharing: with {', '.join(shared)}"]
    elsewhere = absence(repo)
    off = f"sharing: off; `git cortex share {name}` shows what would leave, and asks"
    return [off, *([elsewhere] if elsewhere else [])] if name else []


def _offer_sharing(env: Env, repo: Repo) -> None:
    """Ask whether the memory is to be shared with the remote, after a look at what that means."""
    name = remotes.preferred(repo)
    if not name or remotes.shared(repo):
        return
    from cortex_git.cli import exchange, sharing

    memory = Memory.open(env, "git")
    env.stderr.write("\n" + "".join(line + "\n" for line in exchange.preview_lines(exchange.preview(memory, name))))
    try:
        wanted = ask(env, f"Share with {one_line(name)}?", default=False)
    except CortexError:  # the set-up is done, whatever becomes of this
        return
    if wanted and (problem := sharing.begin(env, memory, name)):
        warn(env, f"{name}: {problem}; `git cortex sync` tries again")


def _greet_next_session(env: Env) -> None:
    """Write the briefing of what is there already, such as a teammate's items."""
    from cortex_git import live

    try:
        live.refresh(Memory.open(env, "git"))
    except OSError as error:
        warn(env, f"the briefing could not be written: {error}")
