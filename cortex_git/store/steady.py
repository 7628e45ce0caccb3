"""What lets a commit to which no memory belongs pass without loading anything.

After a commit that left nothing to do, everything that its hooks looked at is written down: HEAD,
our refs of the branch, and the times of the files that have a part in it. While all of it is as it
was, the next commit has nothing to take along, and if that is a plain one that leaves `.cortex/` as
it is, there is nothing to tie to it either. Then only the commit is noted here, beside the one for
which all else that is kept was made. Whatever differs or cannot be told: the hooks run in full.

Read before anything else is loaded, so this module needs hardly any other.
"""

from __future__ import annotations

import os
import zlib

from cortex_git.store import history, message
from cortex_git.store.process import AS_STORED, git_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_git.store.repo import Repo

_FORMAT = "cortex-steady 1"
_BUSY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG", "commondir")
"""What a git directory holds while something else than plain commits is going on, or if it is a linked work tree's."""
_ELSEWHERE = ("GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY")
_TAIL = 4096


class Steady:
    """What was written down. `base` is the commit for which all else was made, `head` the one that is as good."""

    def __init__(self, git_dir: str) -> None:
        self.git_dir = git_dir
        self.base = self.head = self.line = ""
        self.refs: list[tuple[str, str]] = []
        self.files: list[tuple[str, str]] = []

    @classmethod
    def read(cls, git_dir: str) -> Steady | None:
        """What holds for a git directory; None if there is nothing, or it is damaged or another folder's."""
        try:
            with open(_path(git_dir), encoding="utf-8", errors="surrogateescape") as file:
                header, _, text = file.read().partition("\n")
        except OSError:
            return None
        if header != f"{_FORMAT} {_sum(text)}":
            return None
        made = cls(git_dir)
        place, made.line, made.base, made.head, *rest = text.split("\n")
        pairs = [(text[2:].partition(" ")[0], text[2:].partition(" ")[2], text[0]) for text in rest]
        made.refs = [(path, value) for value, path, kind in pairs if kind == "r"]
        made.files = [(path, value) for value, path, kind in pairs if kind == "f"]
        return made if place == _place(git_dir) else None

    def write(self) -> None:
        """Write it down. Raises OSError."""
        lines = [_place(self.git_dir), self.line, self.base, self.head]
        lines += [f"r {value} {path}" for path, value in self.refs]
        lines += [f"f {value} {path}" for path, value in self.files]
        text = "\n".join(lines)
        path = _path(self.git_dir)
        temporary = f"{path}.{os.getpid()}.tmp"
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{_FORMAT} {_sum(text)}\n{text}")
        os.replace(temporary, path)

    def holds(self) -> bool:
        """Whether all but the commit is as it was, and nothing waits."""
        return (
            _first_line(os.path.join(self.git_dir, "HEAD")) == self.line
            and not any(os.path.lexists(os.path.join(self.git_dir, name)) for name in _BUSY)
            and not _waits(os.path.join(self.git_dir, "cortex", "spool"))
            and all(_first_line(path).replace(" ", "_") == value for path, value in self.refs)
            and all(_seen(path) == value for path, value in self.files)
        )

    def commit(self) -> str:
        """The commit that the branch is at, as far as its file tells."""
        return _first_line(os.path.join(self.git_dir, self.line.removeprefix("ref: ")))


def passes(event: str, variables: Mapping[str, str], cwd: str) -> bool:
    """Whether `pre-commit` or `post-commit` has nothing to do here; the latter is noted."""
    if any(name in variables for name in _ELSEWHERE):
        return False
    git_dir = os.path.realpath(os.path.join(cwd, variables.get("GIT_DIR", ".git")))
    known = Steady.read(git_dir) if os.path.isdir(git_dir) else None
    if known is None or not known.holds():
        return False
    commit = known.commit()
    if event == "pre-commit":
        return commit == known.head
    if event != "post-commit" or variables.get("CLAUDE_CODE_SESSION_ID") or not _is_step(git_dir, known.head, commit):
        return False
    question = ("diff-tree", "-r", "--no-renames", "--name-only", "-z", known.head, commit, "--", ".cortex")
    if message.is_telling(message.at_hand(git_dir)):
        return False
    status, out, _ = git_status(question, cwd, variables={"GIT_DIR": git_dir, "GIT_NO_LAZY_FETCH": "1", **AS_STORED})
    if status or out:
        return False
    known.head = commit
    known.write()
    return True


def note(repo: Repo, refs: Iterable[str], ours: Iterable[str], files: Iterable[str]) -> None:
    """Write down that nothing is to be done here while these refs and files are as they are.

    `ours` are files whose first line holds a checksum of the rest.
    """
    forget(repo)
    known = Steady(repo.git_dir)
    known.line, known.base = _first_line(os.path.join(repo.git_dir, "HEAD")), repo.head() or ""
    known.head = known.base
    loose = [os.path.join(repo.git_dir, name) for name in refs]
    known.refs = [(path, _first_line(path).replace(" ", "_")) for path in (*loose, *ours)]
    if repo.git_dir != repo.common_dir or not known.line.startswith("ref: ") or known.commit() != known.head:
        return
    # A ref that is no file of its own may be in this one.
    packed = [] if all(map(_first_line, loose)) else [_packed(repo.git_dir)]
    known.files = [(path, _seen(path)) for path in (*files, *packed)]
    if "\n" in "".join([*(path for path, _ in known.files), known.line]) or not known.holds():
        return
    temporary = f"{_path(repo.git_dir)}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb"):
            began = os.stat(temporary).st_ctime_ns
        if all(_is_older(path, began) for path, _ in known.files):
            known.write()
        else:
            os.unlink(temporary)
    except OSError:
        return


def forget(repo: Repo) -> None:
    """What was written down holds no longer."""
    if os.path.exists(_path(repo.git_dir)):
        os.unlink(_path(repo.git_dir))


def before(repo: Repo, commit: str) -> list[str]:
    """The parent of HEAD's commit, if it is a plain one, and whence only commits led there that left all as it was."""
    parent = history.parent_of_step(repo, commit)
    known = Steady.read(repo.git_dir)
    found = [parent] if parent else []
    return [*found, known.base] if known and known.head in (commit, parent) else found


def followed(repo: Repo, branch: str, commit: str) -> str:
    """Up to which commit a branch was followed that was followed up to a commit when all was written down last."""
    known = Steady.read(repo.git_dir)
    is_it = known and (known.line, known.base) == (f"ref: refs/heads/{branch}", commit)
    return known.head if known and is_it else commit


def _is_step(git_dir: str, old: str, new: str) -> bool:
    """Whether HEAD's newest move is a plain commit that led from one to the other."""
    try:
        with open(os.path.join(git_dir, "logs", "HEAD"), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            line = file.read().decode("utf-8", "surrogateescape").rstrip("\n").rpartition("\n")[2]
    except OSError:
        return False
    return line.startswith(f"{old} {new} ") and line.partition("\t")[2].startswith("commit: ")


def _path(git_dir: str) -> str:
    return os.path.join(git_dir, "cortex", "cache", "steady")


def _packed(git_dir: str) -> str:
    return os.path.join(git_dir, "packed-refs")


def _place(git_dir: str) -> str:
    try:
        return f"{os.stat(git_dir).st_ino} {git_dir}"
    except OSError:
        return ""


def _waits(spool: str) -> bool:
    try:
        return any(name.startswith("r.") for name in os.listdir(spool))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().rstrip("\n")
    except OSError:
        return ""


def _seen(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "-"
    return f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}:{status.st_size}"


def _is_older(path: str, moment: int) -> bool:
    try:
        return os.stat(path).st_ctime_ns < moment
    except OSError:
        return True


def _sum(text: str) -> str:
    return f"{zlib.crc32(text.encode('utf-8', 'surrogateescape')):08x}"
