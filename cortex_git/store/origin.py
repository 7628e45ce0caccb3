"""What a branch was made from: git writes it nowhere, but its reflogs tell."""

from __future__ import annotations

import os

from cortex_git.store import history
from cortex_git.store.head import BRANCHES, find, is_hex, read_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.repo import Repo

_CREATED = "branch: Created from "
_MOVED = "checkout: moving from "
_TAIL = 1 << 18


class Entry:
    """One line of a reflog."""

    __slots__ = ("message", "new", "old", "time")

    def __init__(self, line: str) -> None:
        head, _, self.message = line.partition("\t")
        self.old, _, rest = head.partition(" ")
        self.new = rest.partition(" ")[0]
        moment = head.rpartition(" ")[0].rpartition(" ")[2]
        self.time = int(moment) if moment.isdecimal() else 0


def came_from(repo: Repo, branch: str) -> str | None:
    """The branch, or the commit of a detached HEAD, that `branch` was made from in this clone; None if from elsewhere.

    As far as the reflogs tell.
    """
    log = lines(os.path.join(repo.common_dir, "logs", BRANCHES + branch))
    if not log:  # no reflogs are kept, or not in files
        return history.came_from(repo, branch)
    created = Entry(log[0])
    if not created.message.startswith(_CREATED):
        return None
    start = created.message.removeprefix(_CREATED)
    origin = start.removeprefix(BRANCHES) if start != "HEAD" else _checked_out(repo, branch, created)
    if origin and start == "HEAD" and is_hex(origin):
        return origin
    return origin if origin and origin != branch and repo.has_ref(BRANCHES + origin) else None


def _checked_out(repo: Repo, branch: str, created: Entry) -> str | None:
    """The branch that HEAD was on when `branch` was made: here, or in the work tree in which that was done."""
    for folder in dict.fromkeys([repo.git_dir, repo.common_dir, *_linked(repo)]):
        found = _branch_then(repo, folder, branch, created)
        if found:
            return found
    return None


def _linked(repo: Repo) -> list[str]:
    root = os.path.join(repo.common_dir, "worktrees")
    try:
        return [os.path.join(root, name) for name in sorted(os.listdir(root))]
    except OSError:
        return []


def _branch_then(repo: Repo, git_dir: str, branch: str, created: Entry) -> str | None:
    """The branch of one work tree when another was made, if HEAD was at the commit that it was made at.

    Walked back from now. What came in the same second came later only if it led to the new branch.
    """
    at = read_line(git_dir).removeprefix("ref: ").removeprefix(BRANCHES)
    entries = [Entry(line) for line in lines(os.path.join(git_dir, "logs", "HEAD"))]
    # Where the reflog has expired HEAD has not moved for long.
    commit = entries[-1].new if entries else at if is_hex(at) else find(repo, BRANCHES + at)
    for entry in reversed(entries):
        if entry.time < created.time or (entry.time == created.time and at != branch):
            break
        before, separator, _ = entry.message.removeprefix(_MOVED).rpartition(" to ")
        if separator and entry.message.startswith(_MOVED):
            at = before
        commit = entry.old
    return at if commit == created.new and at != branch else None


def lines(path: str) -> list[str]:
    """The lines of a reflog; of a very long one, those at its end."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _TAIL))
            return file.read().decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
