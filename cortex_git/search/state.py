"""Which parts of an index count, and the proof that their files are the ones that we wrote.

The files of a part hold pickles, which run code when they are read. So a part is opened only if each
of its files has the very size and times that the state says. Those include the time of its last
change of status, which nobody can set: files from a copy or an archive never pass.
"""

from __future__ import annotations

import os
import re
import stat

from cortex_git.search import engine
from cortex_git.store.locking import read_json, write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# To be raised whenever terms, keys or facets change: an index of another format is made anew.
FORMAT = f"cortex-index 2, {engine.VERSION}"
_PART = re.compile(r"part-[0-9a-f]{8}")


class NotOursError(Exception):
    """The folder belongs to somebody else, or others may write there, so that nothing in it can be trusted."""


class Entry:
    """A part as the state names it. `sizes`: scope to how many events and how many terms it has."""

    __slots__ = ("docs", "files", "name", "sizes")

    def __init__(self, name: str, docs: int, sizes: dict[str, list[int]], files: dict[str, list[int]]) -> None:
        self.name = name
        self.docs = docs
        self.sizes = sizes
        self.files = files

    def as_json(self) -> dict[str, object]:
        """The entry as the state holds it."""
        return {name: getattr(self, name) for name in self.__slots__}


class State:
    """The parts that count, oldest first, and the ids of the segments that they cover."""

    def __init__(self, entries: Iterable[Entry] = (), segments: Iterable[str] = ()) -> None:
        self.entries = list(entries)
        self.segments = dict.fromkeys(segments)

    def size(self, scopes: Iterable[str]) -> tuple[int, float]:
        """How many events the scopes have, and how many terms in all."""
        sizes = [entry.sizes.get(scope, [0, 0]) for entry in self.entries for scope in scopes]
        return sum(events for events, _ in sizes), float(sum(terms for _, terms in sizes))


def stamp(folder: str) -> tuple[int, ...]:
    """Something that changes whenever the state does; empty if there is none."""
    try:
        status = os.stat(os.path.join(folder, "state.json"))
    except OSError:
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size


def read(folder: str) -> State:
    """The state, if everything in it is as we left it; else the state of an index without parts."""
    try:
        if not _is_private(os.lstat(folder)):
            return State()
        values = read_json(os.path.join(folder, "state.json"))
        if values.get("format") != FORMAT:
            return State()
        parts, segments = values["parts"], values["segments"]
        found = State([Entry(**entry) for entry in parts], segments)
        if is_intact(folder, found):
            return found
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        pass
    return State()


def is_intact(folder: str, state: State) -> bool:
    """Whether the files of all parts are the ones that we wrote, as far as size and times tell."""
    try:
        return all(
            _PART.fullmatch(entry.name) and files_of(os.path.join(folder, entry.name)) == entry.files
            for entry in state.entries
        )
    except (OSError, ValueError, RecursionError):
        return False


def write(folder: str, state: State) -> None:
    """Put a state in place of the one before, and remove the parts that it does not name. Raises OSError."""
    parts = [entry.as_json() for entry in state.entries]
    write_json(os.path.join(folder, "state.json"), {"format": FORMAT, "parts": parts, "segments": list(state.segments)})
    named = {entry.name for entry in state.entries}
    for name in os.listdir(folder):
        if name not in named and name not in ("state.json", "lock"):
            _remove(os.path.join(folder, name))


def files_of(folder: str) -> dict[str, list[int]]:
    """Size and times of the files of a part, by name. Raises OSError; ValueError for what cannot be ours."""
    found: dict[str, list[int]] = {}
    if not _is_private(os.lstat(folder)):
        raise ValueError(folder)
    with os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                raise ValueError(entry.path)
            found[entry.name] = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    return found


def claim(folder: str) -> None:
    """See to it that the folder exists, is ours and nobody else's. Raises NotOursError, OSError."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        os.mkdir(folder, 0o700)
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(folder)
        os.mkdir(folder, 0o700)
    elif status.st_uid != os.geteuid():
        raise NotOursError(folder)
    elif not _is_private(status):  # others may have put something there
        os.chmod(folder, 0o700)
        if not _is_private(os.lstat(folder)):  # a file system without permissions
            raise NotOursError(folder)
        for name in os.listdir(folder):
            _remove(os.path.join(folder, name))


def _is_private(status: os.stat_result) -> bool:
    mode = status.st_mode
    return stat.S_ISDIR(mode) and status.st_uid == os.geteuid() and not mode & (stat.S_IWGRP | stat.S_IWOTH)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)
