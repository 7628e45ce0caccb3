"""What git's own records say of how HEAD came to where it is."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.repo import Repo

_TAIL = 4096
_MADE = ("commit", "cherry-pick", "revert", "am", "rebase")


def replaying(repo: Repo) -> bool:
    """Whether a rebase or `git am` is under way, during which commits come and go."""
    return any(os.path.isdir(os.path.join(repo.git_dir, name)) for name in ("rebase-merge", "rebase-apply"))


def last_move(repo: Repo) -> str:
    """The message of HEAD's newest reflog entry, such as `commit: …` or `checkout: moving from a to b`."""
    return _message(_tail(os.path.join(repo.git_dir, "logs", "HEAD")))


def came_from_commit(repo: Repo) -> str | None:
    """The commit from which HEAD's newest move started; None if there was none."""
    old = _tail(os.path.join(repo.git_dir, "logs", "HEAD")).partition(" ")[0]
    return old if old.strip("0") else None


def parent_of_step(repo: Repo, commit: str) -> str | None:
    """The parent of HEAD's commit if a plain commit has just brought HEAD there, which the reflog tells at no cost."""
    is_step = last_move(repo).startswith("commit: ") and commit == repo.head()
    return came_from_commit(repo) if is_step else None


def made_here(repo: Repo) -> bool:
    """Whether HEAD's newest move made a commit, rather than went to one that existed: only then may it be an anchor."""
    action, _, rest = last_move(repo).partition(": ")
    if action.split(" ")[0] in _MADE:
        return True
    return "Merge made by" in rest


def came_from(repo: Repo, branch: str) -> str | None:
    """The branch that `branch` was made from in this clone, as far as the reflogs tell; None if from elsewhere."""
    created = _message(_head(os.path.join(repo.common_dir, "logs", "refs", "heads", branch)))
    start = created.removeprefix("branch: Created from ")
    if start == created:
        return None
    if start != "HEAD":
        name = start.removeprefix("refs/heads/")
        return name if os.path.isfile(os.path.join(repo.common_dir, "refs", "heads", name)) else None
    move = last_move(repo).removeprefix("checkout: moving from ")
    origin, separator, target = move.rpartition(" to ")
    return origin if separator and target == branch and origin != branch else None


def _tail(path: str) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _TAIL))
            return file.read().decode("utf-8", "surrogateescape").rstrip("\n").rpartition("\n")[2]
    except OSError:
        return ""


def _head(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().rstrip("\n")
    except OSError:
        return ""


def _message(line: str) -> str:
    return line.partition("\t")[2]
