"""`git cortex doctor`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from cortex_git.cli import audit
from cortex_git.cli.audit import NOTICE, PROBLEM, Complaint
from cortex_git.cli.command import Command, color_option, json_option
from cortex_git.cli.terminal import Screen, harmless, one_line, screen, write_json
from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.memory import Memory
from cortex_git.setup import githooks, health
from cortex_git.store import guard, remotes, spool
from cortex_git.store.repo import Repo, require
from cortex_git.views.standing import fold

OLDEST_GIT = (2, 34)
_LOG_LINES = 5
_FOLDERS = ("refs/notes/cortex", "refs/notes/cortex-local", "refs/notes/cortex-purged", "refs/cortex")


@click.command(cls=Command)
@json_option
@color_option
@click.pass_context
def doctor(context: click.Context, as_json: bool, color: str) -> None:
    """Say what is wrong with the set-up, the settings and the stored memory, and how to mend it.

    Ends with status 1 if something is wrong. Notices are worth knowing and no reason for that.
    """
    env = context.ensure_object(Env)
    repo = require(env.cwd, env.variables)
    found = list(complaints(repo, env))
    if as_json:
        write_json(env, [complaint._asdict() for complaint in found])
    else:
        with screen(env, repo.git_config(), color) as out:
            _print(found, out)
    context.exit(1 if any(complaint.level == PROBLEM for complaint in found) else 0)


def complaints(repo: Repo, env: Env) -> Iterator[Complaint]:
    """Everything that is worth knowing about a repository's memory."""
    version = githooks.version(repo)
    if version < OLDEST_GIT:
        text = f"git {version[0]}.{version[1]} is older than {OLDEST_GIT[0]}.{OLDEST_GIT[1]}"
        yield Complaint(PROBLEM, text, "update git")
    for fault in repo.faults():
        yield Complaint(PROBLEM, fault, "edit .cortex/config.toml")
    if not repo.initialised:
        yield Complaint(PROBLEM, "this repository is not set up", "git cortex init")
        return
    for finding in health.check(repo, env):
        yield Complaint(PROBLEM, finding.message, finding.lines.strip("\n"))
    if not os.access(repo.home, os.W_OK):
        yield Complaint(PROBLEM, f"{repo.home} cannot be written", "make it writable for yourself")
    if repo.identity().startswith("unknown <"):
        yield Complaint(NOTICE, "git does not know your name", 'git config --global user.name "Your Name"')
    yield from _locks(repo)
    yield from _sharing(repo)
    yield from _store(repo, env)
    yield from _log(repo)


def _sharing(repo: Repo) -> Iterator[Complaint]:
    """Refspecs that get in the way of memory and of code, and what went wrong with remotes lately."""
    cure = "take that line out: git config --local --edit"
    for spec in guard.threats(repo):
        text = f"the refspec {spec} has a fetch write where this clone's memory is (copies are kept meanwhile)"
        yield Complaint(PROBLEM, text, cure)
    for spec in guard.careless(repo):
        yield Complaint(PROBLEM, f"the refspec {spec} keeps a plain `git push` from pushing branches", cure)
    for entry in remotes.state(repo):
        if entry["never_fetched"]:
            yield Complaint(NOTICE, f"memory on {entry['remote']} was never fetched", "git cortex sync")
        for problem in entry["problems"]:
            yield Complaint(NOTICE, f"{entry['remote']}: {problem}", "git cortex sync")


def _store(repo: Repo, env: Env) -> Iterator[Complaint]:
    """What waits, what was set aside, and what of the store cannot be read."""
    memory = Memory.open(env, "git")
    try:
        memory.drain()
    except CortexError as error:
        yield Complaint(PROBLEM, str(error))
    waiting, bad = spool.names(repo.home), spool.bad_names(repo.home)
    if waiting:
        text = f"{len(waiting)} payloads wait in {spool.folder(repo.home)}; another process may be storing them"
        yield Complaint(NOTICE, text, "run this again in a moment")
    if bad:
        folder = os.path.join(spool.folder(repo.home), "bad")
        yield Complaint(PROBLEM, f"{len(bad)} payloads could not be used", f"look at them and remove them: {folder}")
    events = memory.everything()
    if memory.damaged:
        text = f"{memory.damaged} stored entries are damaged and left out; the others are read"
        yield Complaint(PROBLEM, text, "a backup or another clone may have them; nothing else is needed")
    for type, count in fold(events).unknown.items():
        text = f"{count} events of the type {type}, which this version does not know, are kept and passed on"
        yield Complaint(NOTICE, text, "update git-cortex to see them")
    yield from audit.complaints(memory, events)


def _locks(repo: Repo) -> Iterator[Complaint]:
    """Locks that a killed git left: they stop every writer, and only a person knows that no git is at work."""
    for name in _FOLDERS:
        for folder, _, files in os.walk(os.path.join(repo.common_dir, name)):
            for file in files:
                if file.endswith(".lock"):
                    path = os.path.join(folder, file)
                    text = "a ref is locked, as a killed git leaves it; if no git is running here, remove this file"
                    yield Complaint(PROBLEM, text, path)


def _log(repo: Repo) -> Iterator[Complaint]:
    """What hooks could say to nobody."""
    path = os.path.join(repo.home, "log")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    if lines:
        text = f"hooks have left {len(lines)} lines in {path}; the last:"
        yield Complaint(NOTICE, text, "\n".join(lines[-_LOG_LINES:]))


def _print(found: list[Complaint], out: Screen) -> None:
    for level, message, cure in found:
        name = out.paint(level, "bad" if level == PROBLEM else "bold")
        lines = [harmless(line) for line in cure.splitlines()]
        if len(lines) == 1 and len(lines[0]) < 100:
            out.line(f"{name}: {one_line(message)}: {lines[0]}")
            continue
        out.line(f"{name}: {one_line(message)}")
        for line in lines:  # not moved in: they are to be copied
            out.line(line)
        if lines:
            out.line()
    problems = sum(complaint.level == PROBLEM for complaint in found)
    if not problems:
        out.line(out.paint("all is well", "good"))
