"""Which commit it was that git told of by a few digits of its id, or by its subject alone: the reflogs know."""

from __future__ import annotations

import os

from cortex_git.env import rfc3339
from cortex_git.store.head import BRANCHES
from cortex_git.store.origin import Entry, lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_git.store.repo import Repo

_NEWEST = 500
"""How many moves of HEAD and of a branch are looked at, newest first."""
_CLOSE = 120.0
"""How far the clock of a reflog and the time of a command may be apart, in seconds."""
_SHORT = 7


def find(repo: Repo, branch: str, given: str, subject: str, time: str) -> str:
    """The id of a commit that was made on a branch at about a time (RFC 3339); empty if the reflogs do not know it.

    `given` are its first digits; where there are none, it is known by its subject.
    """
    if given and len(given) < _SHORT:
        return ""
    is_it = (lambda entry: entry.new.startswith(given)) if given else (lambda entry: _fits(entry, subject, time))
    return next((entry.new for entry in _entries(repo, branch) if is_it(entry)), "")


def _fits(entry: Entry, subject: str, time: str) -> bool:
    action, _, said = entry.message.partition(": ")
    is_commit = action.startswith("commit") and bool(subject) and said == subject
    return is_commit and rfc3339(max(0.0, entry.time - _CLOSE)) <= time <= rfc3339(entry.time + _CLOSE)


def _entries(repo: Repo, branch: str) -> Iterator[Entry]:
    """The moves of HEAD and of the branch, which another work tree may have made."""
    logs = [os.path.join(repo.git_dir, "logs", "HEAD")]
    if branch:
        logs.append(os.path.join(repo.common_dir, "logs", BRANCHES + branch))
    for path in logs:
        yield from (Entry(line) for line in reversed(lines(path)[-_NEWEST:]))
