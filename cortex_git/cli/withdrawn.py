"""Events that a commit took out by deleting their file: no branch that holds the commit sees them."""

from __future__ import annotations

import itertools
import os
from typing import NamedTuple

from cortex_git.env import rfc3339
from cortex_git.events.model import Event
from cortex_git.memory import Memory
from cortex_git.projections.document import FOLDER
from cortex_git.views.standing import unique


class Commit(NamedTuple):
    """A commit that did something to an item's file. `time` is as in events."""

    commit: str
    author: str
    time: str
    subject: str


def removal(memory: Memory, id: str) -> Commit | None:
    """Who took an event out of the branch that is checked out by deleting its file; None if nobody did."""
    _, head = memory.position()
    files = memory.items(head)
    if head is None or id not in memory.gone(head, files):
        return None
    paths = [path for path, ids in memory.held(head).items() if path not in files and id in ids]
    return _newest(memory, head, paths, "D")


def change(memory: Memory, id: str) -> Commit | None:
    """Who changed the file of an event last on the branch that is checked out; None if there is no such file."""
    _, head = memory.position()
    files = memory.items(head)
    paths = [path for path, ids in memory.held(head).items() if path in files and id in ids]
    return _newest(memory, head, paths, "AM") if head and paths else None


def _newest(memory: Memory, head: str, paths: list[str], doing: str) -> Commit | None:
    """The newest commit that did this to one of the paths."""
    # A merge shows what its other side did, too; it has done something itself only if no other commit has.
    for merges in ([], ["-m"]):
        history = ("log", "-1", "--no-show-signature", "--full-history", "--no-renames", f"--diff-filter={doing}")
        form = "--format=%H%x00%an%x00%at%x00%s"
        out = memory.repo.git(*history, form, *merges, head, "--", *paths).decode("utf-8", "replace")
        parts = out.partition("\n")[0].split("\0")
        if len(parts) == 4:
            return Commit(parts[0], parts[1], rfc3339(int(parts[2])), parts[3])
    return None


def deleted(memory: Memory, rev: str | None = None) -> list[Event]:
    """Those that are gone for a branch, by default the one checked out: from the notes, else from history.

    Raises CortexError if there is no such branch.
    """
    _, head = memory.position(rev)
    files = memory.items(head)
    gone = memory.gone(head, files)
    if not gone or head is None:
        return []
    found = [event for event in memory.everything() if event.id in gone]
    left = gone.difference(event.id for event in found)
    if left:
        lost = [path for path, ids in memory.held(head).items() if path not in files and left.intersection(ids)]
        found += (event for event in memory.item_events(_last(memory, head, lost)) if event.id in left)
    return unique(found)


def _last(memory: Memory, head: str, paths: list[str]) -> dict[str, str]:
    """Path to blob id of deleted files as they were last."""
    history = ("log", "-z", "-m", "--raw", "--no-abbrev", "--no-renames", "--diff-filter=D", "--format=", head)
    parts = os.fsdecode(memory.repo.git(*history, "--", FOLDER)).split("\0")
    found: dict[str, str] = {}
    for change, path in itertools.pairwise(parts):
        fields = change.strip().split(" ")
        if change.lstrip().startswith(":") and len(fields) == 5 and path in paths:
            found.setdefault(path, fields[2])
    return found
