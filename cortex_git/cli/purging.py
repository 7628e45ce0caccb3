"""Purging from end to end, and what is left to do afterwards where git cortex cannot reach."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from cortex_git import live
from cortex_git.cli.selection import SHORTEST
from cortex_git.cli.terminal import one_line
from cortex_git.events.model import Event
from cortex_git.memory import Memory
from cortex_git.pending import buried
from cortex_git.setup import rules
from cortex_git.store import purge as store
from cortex_git.store import remotes

_ROUNDS = 5
_NAMED = 5


class Report:
    """What was purged, and what is left to do."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = list(ids)
        self.refs = 0
        self.objects = 0
        self.left: list[str] = []
        """Objects that hold it and could not be removed: in packs that are to be kept, or in other object stores."""
        self.next_commit: list[str] = []
        """Files that the next commit on this branch takes out."""
        self.history: list[str] = []
        """Commits that hold it in a file."""
        self.alike: list[str] = []
        """Ids of other memories with the same words."""
        self.remotes: list[str] = []

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))

    def lines(self) -> Iterator[str]:
        """For people: what was done, then what remains."""
        count = len(self.ids)
        what = "1 memory" if count == 1 else f"{count} memories"
        yield f"purged: {what}, from {self.refs} refs; {self.objects} objects were removed"
        if self.left:
            shown = ", ".join(self.left[:_NAMED])
            yield f"    {len(self.left)} objects are still there, in a kept pack or a shared object store:"
            yield f"    {shown}"
        if self.alike:
            shown = ", ".join(id[:SHORTEST] for id in self.alike[:_NAMED])
            yield f"    other memories say the same and are still there: {shown}"
        if self.next_commit or self.history or self.remotes:
            yield "What remains to be done:"
        for path in self.next_commit:
            yield f"  - {one_line(path)} still has it; the next commit on this branch takes it out"
        if self.history:
            shown = ", ".join(self.history[:_NAMED])
            yield f"  - {len(self.history)} commits have to do with its file ({shown}): to be rid of it there,"
            yield "    rewrite the history of these paths, for example with git filter-repo, and have everybody"
            yield "    clone anew; other branches take their file out by their own next commit"
        for name in self.remotes:
            at = one_line(name)
            yield f"  - {at}: `git cortex sync {at}` sends the tombstone and replaces the refs of this clone;"
            yield "    other clones replace theirs when they sync; then ask the host to collect its garbage"
        if self.history or self.remotes:
            yield "  - a secret that has left this clone counts as known: replace it where it is used"


def purge(memory: Memory, ids: Sequence[str], events: Sequence[Event]) -> Report:
    """Purge events, given by id and, as far as they are here, as they are."""
    report = Report(ids)
    report.alike = [event.id for event in memory.everything() if event.id not in ids and _says_the_same(event, events)]
    report.history = _commits(memory, ids)
    store.bury(memory.repo, memory.backend, ids)
    memory.forget_refs()
    memory.refs()
    # What waits is read with the tombstone in place: so it leaves the spool and goes nowhere.
    for _ in range(_ROUNDS):
        memory.drain()
    done = store.honour(memory.repo, memory.backend, thorough=True)
    report.refs, report.objects, report.left = len(done.refs), done.removed, sorted(done.left)
    store.scrub(memory.repo, store.texts_of([*events, *done.events]))
    fresh = Memory.open(memory.env, "git")
    live.refresh(fresh, rules=True)
    _renew_rules(fresh, store.texts_of([*events, *done.events]))
    report.next_commit = sorted(buried(fresh))
    report.remotes = remotes.shared(fresh.repo)
    return report


def _says_the_same(event: Event, events: Sequence[Event]) -> bool:
    texts = [other.content.strip() for other in events if len(other.content.strip()) > SHORTEST]
    return any(part in f"{event.content}\n{event.reason}" for part in texts)


def _commits(memory: Memory, ids: Sequence[str]) -> list[str]:
    """The commits of all branches that put one of the events into a file or took it out, newest first."""
    found: dict[str, None] = {}
    for id in ids:
        log = ("-c", "log.showSignature=false", "log", "--all", "--reflog", "--format=%h", f"-S{id}", "--", ".cortex")
        found.update(dict.fromkeys(memory.repo.git(*log).decode("ascii").split()))
    return list(found)


def _renew_rules(memory: Memory, texts: Sequence[str]) -> None:
    """Remove the rules files of other work trees that show it; they are written anew there."""
    lines = os.fsdecode(memory.repo.git("worktree", "list", "--porcelain")).split("\n")
    for root in (line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")):
        path = os.path.join(root, rules.PATH)
        with contextlib.suppress(OSError):
            with open(path, encoding="utf-8", errors="replace") as file:
                shown = file.read()
            if root != memory.repo.work_tree and any(text in shown for text in texts):
                os.unlink(path)
