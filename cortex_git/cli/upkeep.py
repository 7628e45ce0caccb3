"""`git cortex gc` and `git cortex purge`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import click

from cortex_git.cli import text
from cortex_git.cli.command import Command, json_option
from cortex_git.cli.opening import open_memory
from cortex_git.cli.selection import SHORTEST
from cortex_git.cli.terminal import ask, is_interactive, one_line, write_json
from cortex_git.env import Env
from cortex_git.errors import CortexError, UsageError
from cortex_git.events import codec
from cortex_git.events.model import Event
from cortex_git.memory import Memory
from cortex_git.store import fold
from cortex_git.store.locking import Lock

_PATIENCE = 5.0
_NAMED = 6


@click.command(cls=Command)
@click.option("-n", "--dry-run", is_flag=True, help="Say what would be folded, and change nothing.")
@json_option
@click.pass_obj
def gc(env: Env, dry_run: bool, as_json: bool) -> None:
    """Fold this clone's refs of branches that were merged or deleted into one, and clean up what was kept for them.

    No memory goes away, and what any branch sees stays as it is: before a ref is removed this is computed and
    compared. Readers find folded memory as if nothing had happened; a branch that comes back gets its ref back.
    """
    memory = open_memory(env)
    with _locked(memory):
        tips = fold.foldable(memory.repo, memory.backend)
        names = fold.branches(memory.repo, tips.values()) if tips else []
        views = fold.stale_views(memory.repo)
        if not dry_run:
            tips = _fold(memory, tips)
            for path in views:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
    if as_json:
        write_json(env, {"dry_run": dry_run, "refs": sorted(tips), "branches": names, "files": len(views)})
        return
    would = "would be " if dry_run else ""
    if not tips and not views:
        env.stdout.write("nothing to fold: every ref of this clone is of a branch that is there\n")
        return
    more = f" and {len(names) - _NAMED} more" if names[_NAMED:] else ""
    which = f" of branches that are gone: {', '.join(map(one_line, names[:_NAMED]))}{more}" if names else ""
    env.stdout.write(f"{would}folded: {len(tips)} ref{'s' * (len(tips) != 1)}{which}\n")
    if views:
        env.stdout.write(f"{would}removed: {len(views)} files that were kept for them\n")


def _fold(memory: Memory, tips: dict[str, str]) -> dict[str, str]:
    """Close and fold refs; returns those that were folded."""
    if not tips:
        return {}
    before = fold.sight(memory.repo, memory.backend, tips)
    memory.forget_refs()
    # Only now, so that the comparison covers this, too: other clones learn by it that the branch is over.
    writer = memory.writer()
    writer.close([name for name in tips if writer.refs.get(name) == tips[name]])
    memory.forget_refs()
    closed = {name: writer.refs[name] for name in tips if name in writer.refs}
    return fold.fold(memory.repo, memory.backend, closed, before, memory.env.clock())


@contextlib.contextmanager
def _locked(memory: Memory) -> Iterator[None]:
    lock = Lock(memory.path("lock"))
    with lock:
        if not lock.acquire(_PATIENCE):
            raise CortexError("another process is storing memories; try again in a moment")
        yield


@click.command(cls=Command)
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--undo", is_flag=True, hidden=True)
@json_option
@click.pass_obj
def purge(env: Env, ids: tuple[str, ...], yes: bool, undo: bool, as_json: bool) -> None:
    """Remove memories for good: from every ref of this clone, its copies of others', and all that is kept beside.

    Their ids, and only those, stay as tombstones: no transcript that is read again and no other clone brings them
    back. Cannot be undone. For a memory that is merely wrong there is `git cortex retract`.

    The file of a memory under `.cortex/` is taken out by the next commit; older commits keep it, and other clones
    and hosts keep what they were sent until they do their part. What that is, is said at the end.
    """
    if undo:
        raise CortexError("what was purged is gone and nothing brings it back; record it anew, in other words")
    memory = open_memory(env)
    found = [_named_event(memory, id) for id in dict.fromkeys(ids)]
    if not as_json:
        for id, event in found:
            what = f"{text.label(event)}: {one_line(text.headline(event))}" if event else "not here, but to stay away"
            env.stdout.write(f"[{id[:SHORTEST]}] {what}\n")
        env.stdout.flush()
    _consent(env, len(found), yes)
    from cortex_git.cli import purging

    report = purging.purge(memory, [id for id, _ in found], [event for _, event in found if event])
    if as_json:
        write_json(env, report.as_dict())
    else:
        for line in report.lines():
            env.stdout.write(line + "\n")


def _named_event(memory: Memory, id: str) -> tuple[str, Event | None]:
    """An event by the start of its id; one that is not here by its whole id, so that it stays away."""
    try:
        event = memory.find(id)
    except CortexError:
        if codec.is_id(id):
            return id, None
        raise
    return event.id, event


def _consent(env: Env, count: int, yes: bool) -> None:
    if yes:
        return
    what = "this memory" if count == 1 else f"these {count} memories"
    if not is_interactive(env):
        raise UsageError(f"purging cannot be undone; look at {what} first, and confirm on a terminal, where it asks")
    if not ask(env, f"Remove {what} for good? This cannot be undone, by nothing.", default=False):
        raise CortexError("nothing was changed")
