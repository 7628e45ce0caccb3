"""`git cortex gc` and `git cortex purge`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import click

from cortex_git.cli.command import Command, json_option
from cortex_git.cli.opening import open_memory
from cortex_git.cli.terminal import one_line, write_json
from cortex_git.env import Env
from cortex_git.errors import CortexError
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
