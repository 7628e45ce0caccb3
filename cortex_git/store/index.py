"""Changes of the index outside of a commit, such that no other git command ever has to wait for them, or fails."""

from __future__ import annotations

import os
import time

from cortex_git.errors import CortexError
from cortex_git.store.backend import lock_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.repo import Repo

    Stamp = tuple[int, int, int]

PATIENCE = 0.5
"""How long a lock of somebody else is waited for, in seconds."""
_PAUSE = 0.02


class Changed(CortexError):
    """Somebody else has changed the index meanwhile: look at it anew, then repeat."""


def stamp(repo: Repo) -> Stamp | None:
    """By what one state of the index is told from another; None if there is none."""
    try:
        status = os.stat(_path(repo))
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def change(repo: Repo, entries: bytes, seen: Stamp | None) -> None:
    """Set entries, given as `git update-index --index-info -z` reads them, in the index that was `seen`.

    The work is done on a copy, and git's lock held only while that takes the index's place. Raises
    Changed if the index is not the one that was seen, and CortexError if it cannot be changed.
    """
    path = _path(repo)
    copy = f"{path}.cortex.{os.getpid()}"
    try:
        _copy(path, copy)
        repo.git("update-index", "-z", "--index-info", input=entries, variables={"GIT_INDEX_FILE": copy})
        lock = _lock(f"{path}.lock")
        try:
            if stamp(repo) != seen:
                raise Changed("another git command has changed the index meanwhile; try again")
            os.rename(copy, path)
        finally:
            os.close(lock)
            os.unlink(f"{path}.lock")
    except OSError as error:
        raise CortexError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        if os.path.exists(copy):
            os.unlink(copy)


def _path(repo: Repo) -> str:
    return os.path.join(repo.git_dir, "index")


def _copy(path: str, copy: str) -> None:
    try:
        with open(path, "rb") as file:
            status, data = os.fstat(file.fileno()), file.read()
    except FileNotFoundError:
        return  # before the first `git add` there is none; git makes one
    with open(copy, "wb") as file:
        file.write(data)
    # By this time git tells which files may have changed in the very moment in which they were added.
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))


def _lock(path: str) -> int:
    """Take git's lock of the index. Raises CortexError if its holder does not let go of it in time."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            if time.monotonic() >= deadline:
                raise lock_left(path) from None
            time.sleep(_PAUSE)
