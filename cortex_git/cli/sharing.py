"""`git cortex share`, `unshare` and `sync`."""

from __future__ import annotations

import contextlib
from dataclasses import asdict

import click

from cortex_git import live
from cortex_git.cli.command import Command, json_option
from cortex_git.cli.exchange import Exchange, describe, exchange, look_ahead, preview, preview_lines
from cortex_git.cli.opening import open_memory, warn_of_settings
from cortex_git.cli.terminal import ask, is_interactive, one_line, write_json
from cortex_git.env import Env
from cortex_git.errors import CortexError, UsageError
from cortex_git.memory import Memory
from cortex_git.store import remotes, there
from cortex_git.store.repo import Repo


def _names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    env = ctx.find_object(Env)
    repo = Repo.discover(env.cwd, env.variables) if env else None
    return [name for name in remotes.known(repo) if name.startswith(incomplete)] if repo else []


@click.command(cls=Command)
@click.argument("remote", required=False, shell_complete=_names)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would leave, and change nothing.")
@json_option
@click.pass_obj
def share(env: Env, remote: str | None, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Share the memory with a remote, by default the one that the branch is pushed to.

    Shows what will leave this clone and asks. Then it is sent, what others have sent is fetched, and each later
    `git push` to that remote takes along the memory of its commits. No other remote gets anything.
    """
    memory = open_memory(env)
    warn_of_settings(memory)
    name = remotes.chosen(memory.repo, remote)
    remotes.check_name(name)
    facts = preview(memory, name)
    if as_json and dry_run:
        write_json(env, facts)
    if not as_json:
        for line in preview_lines(facts):
            env.stdout.write(line + "\n")
        env.stdout.flush()
    if dry_run:
        return
    _consent(env, name, yes or remotes.is_shared(memory.repo, name))
    problem = begin(env, memory, name, facts if as_json else None)
    if problem:
        raise CortexError(f"{name}: {problem}; `git cortex sync` tries again")


def begin(env: Env, memory: Memory, name: str, facts: dict[str, object] | None = None) -> str:
    """Share with a remote from now on, and exchange what there is; returns what stood in the way of that, if anything.

    With `facts`, those and the rest are printed as JSON.
    """
    remotes.set_shared(memory.repo, name, True)
    done = exchange(memory, name)
    _greet_next_session(memory)
    if facts is not None:
        write_json(env, {**facts, "exchange": asdict(done)})
    else:
        ends = f"`git cortex unshare {one_line(name)}` ends it"
        noted = "is noted as shared, but nothing could be exchanged with it" if done.problem else ""
        env.stdout.write(f"{one_line(name)} {noted}; {ends}\n" if noted else f"shared with {one_line(name)}; {ends}\n")
        if not noted:
            env.stdout.write(describe(done) + "\n")
    return done.problem


def _consent(env: Env, name: str, yes: bool) -> None:
    if yes:
        return
    if not is_interactive(env):
        raise UsageError(f"memory leaves this clone for {one_line(name)}; look with --dry-run, then confirm with --yes")
    if not ask(env, f"Share with {one_line(name)}?", default=False):
        raise CortexError("nothing was changed")


@click.command(cls=Command)
@click.argument("remote", required=False, shell_complete=_names)
@click.option("--forget", is_flag=True, help="Remove here what was fetched from it.")
@json_option
@click.pass_obj
def unshare(env: Env, remote: str | None, forget: bool, as_json: bool) -> None:
    """Stop sharing the memory with a remote.

    Nothing more is sent to it, nor fetched by itself. What was sent stays there; what was fetched stays here,
    unless --forget removes it.
    """
    memory = open_memory(env)
    shared = remotes.shared(memory.repo)
    if remote is None and len(shared) != 1:
        raise CortexError(f"memory is shared with {', '.join(shared) or 'no remote'}; name the one that is meant")
    name = remote or shared[0]
    if name not in shared and not forget:
        raise CortexError(f"memory is not shared with {name}; `git cortex status` says with whom it is")
    remotes.set_shared(memory.repo, name, False)
    removed = there.drop(memory.repo, memory.backend, name) if forget else 0
    remotes.forget(memory.repo, name)
    if as_json:
        write_json(env, {"remote": name, "removed": removed})
        return
    here = f"{removed} fetched refs were removed here" if forget else "what was fetched from it stays here"
    env.stdout.write(f"not shared with {one_line(name)} any more; what was sent stays there, {here}\n")


@click.command(cls=Command)
@click.argument("remote", required=False, shell_complete=_names)
@click.option("--fetch", "fetch_only", is_flag=True, help="Fetch, and send nothing.")
@click.option("-n", "--dry-run", is_flag=True, help="Say what there is to send and to fetch, and do neither.")
@json_option
@click.pass_obj
def sync(env: Env, remote: str | None, fetch_only: bool, dry_run: bool, as_json: bool) -> None:
    """Fetch others' memory and send all of this clone's, to the remotes that it is shared with.

    A remote that it is not shared with is fetched from if it is named, or if it is the only one, and gets nothing.
    """
    memory = open_memory(env)
    names = [remotes.chosen(memory.repo, remote)] if remote else remotes.shared(memory.repo)
    names = names or [remotes.chosen(memory.repo, None)]
    for name in names:
        remotes.check_name(name)
    act = look_ahead if dry_run else exchange
    done = [act(memory, name, send=not fetch_only) for name in names]
    if any(each.came for each in done) and not dry_run:
        _greet_next_session(memory)
    if as_json:
        write_json(env, {"dry_run": dry_run, "remotes": [asdict(each) for each in done]})
    else:
        for each in done:
            env.stdout.write(describe(each, ahead=dry_run) + "\n")
    _complain(done)


def _greet_next_session(memory: Memory) -> None:
    """Have the next session start with what has just come."""
    with contextlib.suppress(OSError):
        live.refresh(memory)


def _complain(done: list[Exchange]) -> None:
    problems = [f"{each.remote}: {each.problem}" for each in done if each.problem]
    if problems:
        raise CortexError("; ".join(problems))
