"""`git cortex show`."""

from __future__ import annotations

from collections.abc import Callable

import click

from cortex_git.cli import text
from cortex_git.cli.command import Command, color_option, json_option
from cortex_git.cli.opening import open_to_read
from cortex_git.cli.selection import Selected
from cortex_git.cli.terminal import one_line, screen, write_json
from cortex_git.cli.withdrawn import Commit, change, deleted, removal
from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.memory import Memory
from cortex_git.projections.items import item_files
from cortex_git.views.settled import IN_FILE
from cortex_git.views.standing import Standing, unique

_HEX = frozenset("0123456789abcdef")


@click.command(cls=Command)
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@json_option
@color_option
@click.pass_obj
def show(env: Env, ids: tuple[str, ...], as_json: bool, color: str) -> None:
    """Show memories in full: the reason, what it was chosen over, and where it comes from.

    An ID may be shortened as far as it stays unambiguous, to at least 4 digits. In its place a commit may be named
    (`HEAD`, a branch, a hash): then what was recorded while it was checked out, and what it brought into `.cortex/`.

    \b
    Layer       how it came here: `user` said by a person, `tag` written down by the assistant,
                `structural` taken from what the assistant did, `keyword` guessed from its words
    Confidence  how sure it is that it is meant so, 0 to 1; what is below the setting
                projections.min_confidence is not shown in lists
    Salience    how much things of its type matter, 0 to 1: a decision more than a file
    """
    memory = open_to_read(env)
    seen, gone = memory.visible(), deleted(memory)
    pool = unique([*memory.everything(), *gone])
    events = [event for id in ids for event in _meant(memory, id, seen, pool)]
    standing = _standings(seen, gone, pool, memory.merged())
    removed = {event.id: found for event in events if event in gone and (found := removal(memory, event.id))}
    if as_json:
        write_json(env, [_as_dict(event, standing(event), removed.get(event.id)) for event in events])
        return
    with screen(env, memory.repo.git_config(), color, paged=True) as out:
        for number, event in enumerate(events):
            if number:
                out.line()
            more = [("Removed", _by(removed.get(event.id))), ("Changed", _by(_changed(memory, event, standing(event))))]
            for line in text.block(event, standing(event), out, full=True, more=more):
                out.line(line)


def _changed(memory: Memory, event: Event, standing: Standing) -> Commit | None:
    """The commit that made the file of an event say how it stands, where no memory of this clone tells who said so."""
    read_off = any(one.source.get("by") == IN_FILE for one in standing.changes.get(event.id, ()))
    return change(memory, event.id) if read_off else None


def _by(found: Commit | None) -> str:
    """Who did something to an item's file, when, and in which commit."""
    if found is None:
        return ""
    where = f"{found.commit[:12]} ({one_line(found.subject)})"
    return f"by {one_line(found.author)}, {text.local_time(found.time)}, in {where}"


def _as_dict(event: Event, standing: Standing, removed: Commit | None) -> dict[str, object]:
    found = text.as_dict(event, standing)
    return {**found, "removed": removed._asdict()} if removed else found


def _standings(
    seen: list[Event], gone: list[Event], pool: list[Event], merged: set[str]
) -> Callable[[Event], Standing]:
    """Which standing counts for an event: that of this branch if it knows the event, else that of all branches."""
    here, everywhere = Selected([], seen).standing, Selected([], pool).standing
    here.retracted.update(event.id for event in gone)
    here.accepted |= merged
    known = {event.id for event in [*seen, *gone]}
    return lambda event: here if event.id in known else everywhere


def _meant(memory: Memory, id: str, seen: list[Event], pool: list[Event]) -> list[Event]:
    """The event that an id names, else the events of a commit."""
    digits = id.strip().lower()
    if len(digits) >= 4 and not set(digits) - _HEX:
        for place in (seen, pool):
            if any(event.id.startswith(digits) for event in place):
                return [memory.find(digits, place)]
    status, out, _ = memory.repo.git_status("rev-parse", "--verify", "--quiet", "--end-of-options", f"{id}^{{commit}}")
    if status:
        short = " (an id needs at least 4 digits)" if len(digits) < 4 and not set(digits) - _HEX else ""
        raise CortexError(f"there is no memory and no commit {id!r}{short}; `git cortex log --all` lists the memories")
    commit = out.decode().strip()
    events = _of_commit(memory, commit, pool)
    if not events:
        raise CortexError(f"no memory belongs to the commit {commit[:12]}")
    return events


def _of_commit(memory: Memory, commit: str, pool: list[Event]) -> list[Event]:
    """What was recorded while a commit was checked out, and what it brought into the folder of items."""
    files = item_files(memory.backend, commit)
    status, out, _ = memory.repo.git_status("rev-parse", "--verify", "--quiet", f"{commit}^")
    before = {} if status else item_files(memory.backend, out.decode().strip())
    new = {path: blob for path, blob in files.items() if before.get(path) != blob}
    brought = {event.id: event for event in memory.item_events(new)}
    brought.update((event.id, event) for event in pool if event.id in brought or event.commit == commit)
    return sorted(brought.values(), key=model.order)
