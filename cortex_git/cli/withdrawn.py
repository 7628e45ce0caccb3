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


class Removal(NamedTuple):
    """The commit that deleted an item's file. `time` is as in events."""

    commit: str
    author: str
    time: str
    subject: str


def removal(memory: Memory, id: str) -> Removal | None:
    """Who took an event out of the branch that is checked out by deleting its file; None if nobody did."""
    _, head = memory.position()
    files = memory.items(head)
    if head is None or id not in memory.gone(head, files):
        return None
    paths = [path for path, ids in memory.held(head).items() if path not in files and id in ids]
    form = "--format=%H%x00%an%x00%at%x00%s"
    # A merge shows a deletion of its other side, too; it has deleted something itself only if no other commit has.
    for merges in ([], ["-m"]):
        history = ("log", "-1", "--no-show-signature", "--full-history", "--no-renames", "--diff-filter=D", form)
        out = memory.repo.git(*history, *merges, head, "--", *paths).decode("utf-8", "replace")
        parts = out.partition("\n")[0].split("\0")
        if len(parts) == 4:
            return Removal(parts[0], parts[1], rfc3339(int(parts[2])), parts[3])
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
