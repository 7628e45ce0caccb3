"""Up to which commit each branch was followed: by that it is known later which commits no hook of ours has seen.

Kept for the branches that were written to last. Where it is lost nothing is caught up on, and the
next commit ties what is open.
"""

from __future__ import annotations

import os

from cortex_git.store import keys, steady
from cortex_git.store.head import BRANCHES, find, in_files, is_hex
from cortex_git.store.locking import keep_json, read_json
from cortex_git.store.origin import Entry, lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cortex_git.store.repo import Repo

_MOST = 50
_MADE = ("commit", "cherry-pick", "revert", "am")
_REWRITTEN = ("commit (amend): ", "rebase")


class Missed:
    """What was made on a branch while no hook of ours ran: the newest such commit, and from where that began.

    `rewritten` says whether commits took the place of others on the way.
    """

    __slots__ = ("branch", "commit", "is_rebase", "left", "rewritten")

    def __init__(self, branch: str, left: str, commit: str, is_rebase: bool, rewritten: bool) -> None:
        self.branch = branch
        self.left = left
        self.commit = commit
        self.is_rebase = is_rebase
        self.rewritten = rewritten


def note(repo: Repo, branch: str | None) -> None:
    """A branch is followed up to where it is now."""
    tip = find(repo, BRANCHES + branch) if branch else None
    path = _path(repo)
    kept = read_json(path)
    # With the key, since the name may be borne by another branch tomorrow.
    state = [tip, keys.settled(repo, branch)]
    if branch is None or tip is None or kept.get(branch) == state:
        return
    kept.pop(branch, None)
    kept[branch] = state
    keep_json(path, {name: kept[name] for name in list(kept)[-_MOST:]})


def missed(repo: Repo) -> list[Missed]:
    """The branches on which commits were made that nobody has followed."""
    found = []
    kept: dict[str, Any] = read_json(_path(repo))
    for branch, (left, key) in kept.items():
        tip = _moved_to(repo, branch)
        is_same = key == keys.settled(repo, branch)
        if tip is None or (is_same and (tip == left or tip == steady.followed(repo, branch, left))):
            continue
        left = steady.followed(repo, branch, left)
        made = _made_since(repo, branch, left) if is_same else []
        if made:
            rewritten = any(_is_rewriting(entry) for entry in made)
            found.append(Missed(branch, left, made[0].new, _is_rebase(made[0]), rewritten))
        else:
            note(repo, branch)
    return found


def _moved_to(repo: Repo, branch: str) -> str | None:
    """The tip of a branch, as far as it costs no process: a ref that moves is a file of its own, or it is HEAD's."""
    if not in_files(repo):
        return repo.head() if branch == repo.branch() else None
    try:
        with open(os.path.join(repo.common_dir, BRANCHES + branch), encoding="ascii", errors="replace") as file:
            tip = file.readline().strip()
    except OSError:
        return None
    return tip if is_hex(tip) else None


def _made_since(repo: Repo, branch: str, left: str) -> list[Entry]:
    """The moves of a branch since it was at a commit that made new commits here, newest first."""
    made: list[Entry] = []
    for line in reversed(lines(os.path.join(repo.common_dir, "logs", BRANCHES + branch))):
        entry = Entry(line)
        action = entry.message.partition(":")[0]
        if action.split(" ")[0] in _MADE or "Merge made by" in entry.message or _has_picked(repo, entry):
            made.append(entry)
        if entry.old == left:
            return made
    return []


def _has_picked(repo: Repo, finish: Entry) -> bool:
    """Whether a rebase ended at a commit that it made: one that leaves nothing of a branch ends at somebody else's."""
    if not _is_rebase(finish):
        return False
    step = "(start)"
    for line in lines(os.path.join(repo.git_dir, "logs", "HEAD")):
        entry = Entry(line)
        if "(finish): returning to " in entry.message and entry.new == finish.new:
            return "(start)" not in step
        step = entry.message
    return False


def _is_rebase(entry: Entry) -> bool:
    action = entry.message.partition(":")[0]
    return action.startswith("rebase") or (action.startswith("pull") and action.endswith("(finish)"))


def _is_rewriting(entry: Entry) -> bool:
    return entry.message.startswith(_REWRITTEN) or _is_rebase(entry)


def _path(repo: Repo) -> str:
    return os.path.join(repo.home, "cache", "followed.json")
