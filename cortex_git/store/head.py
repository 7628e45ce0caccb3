"""What HEAD and other refs say, read from git's own files where they are plain files.

A repository with the reftable format has none: there git is asked, and asked again only when
its list of tables has changed, which names every state of the refs differently.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.repo import Repo

DUMMY = "ref: refs/heads/.invalid"
"""What the HEAD file of a repository says whose refs are not in files."""
BRANCHES = "refs/heads/"
_HEX = frozenset("0123456789abcdef")


class Asked:
    """What git said of HEAD, and when: `line` as a HEAD file would have it, the commit or None, and the tables.

    `move` is kept by who asks for the newest entry of the reflog.
    """

    __slots__ = ("commit", "line", "move", "stamp")

    def __init__(self, stamp: bytes, line: str, commit: str | None) -> None:
        self.stamp = stamp
        self.line = line
        self.commit = commit
        self.move: tuple[str, str] | None = None


def read_line(git_dir: str) -> str:
    """The first line of a work tree's HEAD file as it is; empty if it cannot be read."""
    path = os.path.join(git_dir, "HEAD")
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            if not os.path.islink(path):
                return file.readline().rstrip("\n")
    except OSError:
        pass
    try:
        return f"ref: {os.readlink(path)}"  # as an old git may have left it
    except OSError:
        return ""


def ask(repo: Repo, before: Asked | None) -> Asked:
    """What HEAD is where the HEAD file does not say it; `before` is the answer if nothing has changed since."""
    stamp = tables(repo)
    if before is not None and stamp and stamp == before.stamp:
        return before
    status, out, _ = repo.git_status("rev-parse", "--quiet", "HEAD", "--symbolic-full-name", "HEAD")
    commit, _, name = os.fsdecode(out).removesuffix("\n").partition("\n")
    if not status and is_hex(commit) and name:
        return Asked(stamp, commit if name == "HEAD" else f"ref: {name}", commit)
    # Nothing is committed yet, or a ref has a name that git has to be asked for in another way.
    status, out, _ = repo.git_status("symbolic-ref", "--quiet", "HEAD")
    name = os.fsdecode(out).removesuffix("\n") if not status else ""
    status, out, _ = repo.git_status("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    found = out.decode("ascii", "replace").strip() if not status else None
    return Asked(stamp, f"ref: {name}" if name else found or "", found)


def find(repo: Repo, name: str) -> str | None:
    """The object that a ref names; None if there is no such ref. HEAD's own refs may lie in the work tree's part."""
    if not in_files(repo):
        return _find_by_git(repo, name)
    for folder in (repo.git_dir, repo.common_dir):
        value = _first_line(os.path.join(folder, name))
        if is_hex(value):
            return value
        if value.startswith("ref: "):
            return _find_by_git(repo, name)
    return _packed(repo, name)


def in_files(repo: Repo) -> bool:
    """Whether refs are files here, loose or packed."""
    return not os.path.isdir(os.path.join(repo.common_dir, "reftable")) and read_line(repo.common_dir) != DUMMY


def symbolic(repo: Repo, name: str) -> str:
    """The ref that another one stands for; empty if it does not or is not there."""
    if in_files(repo):
        text = _first_line(os.path.join(repo.common_dir, name))
        return text.removeprefix("ref: ") if text.startswith("ref: ") else ""
    status, out, _ = repo.git_status("symbolic-ref", "--quiet", name)
    return os.fsdecode(out).removesuffix("\n") if not status else ""


def is_hex(text: str) -> bool:
    """Whether a text is a whole object id."""
    return len(text) in (40, 64) and not set(text) - _HEX


def _find_by_git(repo: Repo, name: str) -> str | None:
    status, out, _ = repo.git_status("show-ref", "--verify", "--hash", name)
    value = out.decode("ascii", "replace").strip()
    return value if not status and is_hex(value) else None


def _packed(repo: Repo, name: str) -> str | None:
    try:
        with open(os.path.join(repo.common_dir, "packed-refs"), "rb") as file:
            data = file.read()
    except OSError:
        return None
    end = data.find(b" " + os.fsencode(name) + b"\n")
    value = data[data.rfind(b"\n", 0, max(0, end)) + 1 : max(0, end)].decode("ascii", "replace")
    return value if is_hex(value) else None


def tables(repo: Repo) -> bytes:
    """The names of the tables that hold the refs, of this work tree and of all; empty if they are not known."""
    texts = []
    for folder in dict.fromkeys((repo.common_dir, repo.git_dir)):
        try:
            with open(os.path.join(folder, "reftable", "tables.list"), "rb") as file:
                texts.append(file.read())
        except OSError:
            return b""
    return b"\0".join(texts)


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().rstrip("\n")
    except (OSError, ValueError):
        return ""
