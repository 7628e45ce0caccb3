"""What git's own records say of how HEAD came to where it is."""

from __future__ import annotations

import os

from cortex_git.store.head import BRANCHES, DUMMY, in_files, read_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.repo import Repo

_TAIL = 4096
_REFLOG = ("-c", "log.showSignature=false", "log", "--walk-reflogs", "--no-decorate")
_UNDER_WAY = (
    "MERGE_HEAD", "MERGE_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer", "rebase-merge", "rebase-apply",
)  # fmt: skip
_MADE = ("commit", "cherry-pick", "revert", "am", "rebase")


def replaying(repo: Repo) -> bool:
    """Whether a rebase or `git am` is under way, during which commits come and go."""
    return any(os.path.isdir(os.path.join(repo.git_dir, name)) for name in ("rebase-merge", "rebase-apply"))


def in_progress(repo: Repo) -> bool:
    """Whether a merge, cherry-pick, revert or rebase waits for its user to conclude it."""
    return any(os.path.lexists(os.path.join(repo.git_dir, name)) for name in _UNDER_WAY)


def bisecting(repo: Repo) -> bool:
    """Whether commits are being looked at one after the other for where something broke."""
    return os.path.isfile(os.path.join(repo.git_dir, "BISECT_LOG"))


def last_move(repo: Repo) -> str:
    """The message of HEAD's newest reflog entry, such as `commit: …` or `checkout: moving from a to b`."""
    return _newest(repo)[1]


def came_from_commit(repo: Repo) -> str | None:
    """The commit from which HEAD's newest move started; None if there was none. Without a reflog, HEAD's parent."""
    old, message = _newest(repo)
    if not (old or message):
        status, out, _ = repo.git_status("rev-parse", "--verify", "--quiet", "HEAD^")
        return out.decode("ascii", "replace").strip() if not status else None
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
    created = _oldest(repo, BRANCHES + branch)
    start = created.removeprefix("branch: Created from ")
    if start == created:
        return _beside(repo, branch) if not created and not last_move(repo) else None
    if start != "HEAD":
        name = start.removeprefix(BRANCHES)
        return name if repo.has_ref(BRANCHES + name) else None
    move = last_move(repo).removeprefix("checkout: moving from ")
    origin, separator, target = move.rpartition(" to ")
    return origin if separator and target == branch and origin != branch else None


def _beside(repo: Repo, branch: str) -> str | None:
    """Where no reflogs are kept: the one other branch at HEAD's commit, of several the one that others build on."""
    if repo.head() is None:
        return None
    out = repo.git("for-each-ref", "--points-at=HEAD", "--format=%(refname)", BRANCHES)
    names = [name.removeprefix(BRANCHES) for name in os.fsdecode(out).split("\n") if name]
    others = [name for name in names if name != branch]
    if len(others) > 1:
        return repo.default_branch() if repo.default_branch() in others else None
    return others[0] if others else None


def _newest(repo: Repo) -> tuple[str, str]:
    """From where HEAD's newest move started and its message; both empty where no reflog is kept."""
    line = _tail(os.path.join(repo.git_dir, "logs", "HEAD"))
    if line:
        return line.partition(" ")[0], _message(line)
    if read_line(repo.git_dir) != DUMMY:
        return "", ""
    asked = repo.asked_head()
    if asked.move is None:
        status, out, _ = repo.git_status(*_REFLOG, "-2", "--format=%H%x09%gs", "HEAD", "--")
        entries = out.decode("utf-8", "surrogateescape").split("\n") if not status else []
        moves = [entry.partition("\t") for entry in entries if entry]
        before = moves[1][0] if len(moves) > 1 else ""
        asked.move = (before or "0" * len(moves[0][0]), moves[0][2]) if moves else ("", "")
    return asked.move


def _oldest(repo: Repo, ref: str) -> str:
    """The message of the oldest entry in a ref's reflog."""
    line = _head(os.path.join(repo.common_dir, "logs", ref))
    if line or in_files(repo):
        return _message(line)
    status, out, _ = repo.git_status(*_REFLOG, "--format=%gs", ref, "--")
    return out.decode("utf-8", "surrogateescape").rstrip("\n").rpartition("\n")[2] if not status else ""


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
