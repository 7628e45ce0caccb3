"""The spool: one file for each payload that a hook was given, until its events are in a notes ref.

Written by the sh shims in `hooks/` without starting Python. A record is a few header lines, an
empty line, and the payload as it came.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAGIC = b"cortex-spool 1"
MAX_PAYLOAD = 64 * 1024 * 1024
"""A longer payload (in bytes) is set aside unread."""
MOST_BAD = 100
"""So many records are kept in `spool/bad` …"""
MOST_BAD_BYTES = 64 * 1024 * 1024
"""… and so many bytes of them; the oldest go first, and the one that came last stays whatever its size."""


class BadRecord(Exception):
    """A spool file that holds no payload; says why."""


class Record:
    """One payload. `time` is when it was written, in seconds since the epoch."""

    __slots__ = ("agent", "event", "head_line", "name", "payload", "time", "work_tree")

    def __init__(self, name: str, time: float, header: dict[str, str], payload: bytes) -> None:
        self.name = name
        self.time = time
        self.agent = header.get("agent", "")
        self.event = header.get("event", "")
        self.work_tree = header.get("worktree", "")
        self.head_line = header.get("head", "")
        self.payload = payload


def folder(home: str) -> str:
    """Where records lie, under our folder in the common directory."""
    return os.path.join(home, "spool")


def names(home: str) -> list[str]:
    """The records that wait, in the order in which they were written."""
    found: list[tuple[int, str]] = []
    try:
        with os.scandir(folder(home)) as entries:
            for entry in entries:
                if entry.name.startswith("r."):
                    try:
                        found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
                    except OSError:
                        continue  # another drain was faster
    except OSError:
        return []
    return [name for _, name in sorted(found)]


def read(home: str, name: str) -> Record | None:
    """One record; None if it is gone. Raises BadRecord if it cannot be read as one."""
    path = os.path.join(folder(home), name)
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_size > MAX_PAYLOAD:
                raise BadRecord(f"{status.st_size} bytes are more than a payload may have")
            data = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadRecord(str(error)) from error
    # The path before the last line of the header may hold line ends, even two in a row.
    end = data.find(b"\n\n", max(0, data.find(b"\nhead ")))
    lines = data[: max(0, end)].split(b"\n")
    if lines[0] != MAGIC:
        raise BadRecord("it is not a spool record")
    return Record(name, status.st_mtime, _header(lines[1:]), data[end + 2 :])


def _header(lines: Iterable[bytes]) -> dict[str, str]:
    header: dict[str, str] = {}
    for line in map(os.fsdecode, lines):
        name, separator, value = line.partition(" ")
        if "worktree" in header and "head" not in header and not (separator and name == "head"):
            header["worktree"] += "\n" + line
        else:
            header[name] = value
    return header


def write(home: str, agent: str, event: str, work_tree: str, head_line: str, payload: bytes) -> str:
    """Add a record, as the shims do, and return its name. A spool that is gone is made anew. Raises OSError."""
    header = f"agent {agent}\nevent {event}\nworktree {work_tree}\nhead {head_line}\n\n"
    name = f"{os.getpid()}-{os.urandom(6).hex()}"
    temporary = os.path.join(folder(home), "tmp." + name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        descriptor = os.open(temporary, flags, 0o600)
    except FileNotFoundError:
        _make(folder(home))
        descriptor = os.open(temporary, flags, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(MAGIC + b"\n" + os.fsencode(header) + payload)
    os.rename(temporary, os.path.join(folder(home), "r." + name))
    return "r." + name


def _make(path: str) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return  # another one was faster


def discard(home: str, done: Iterable[str]) -> None:
    """Remove records whose events are stored."""
    for name in done:
        try:
            os.unlink(os.path.join(folder(home), name))
        except FileNotFoundError:
            continue


def set_aside(home: str, name: str) -> None:
    """Move a record that cannot be used to `spool/bad`, so that it stops nothing else and can be looked at.

    What is there is bounded by MOST_BAD and MOST_BAD_BYTES.
    """
    bad = os.path.join(folder(home), "bad")
    os.makedirs(bad, mode=0o700, exist_ok=True)
    try:
        os.rename(os.path.join(folder(home), name), os.path.join(bad, name))
    except FileNotFoundError:
        return
    _bound(bad, name)


def _bound(bad: str, newest: str) -> None:
    """Remove the oldest of the records that were set aside, until few enough are left beside the newest."""
    found: list[tuple[int, str, int]] = []
    with os.scandir(bad) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # another drain was faster
            when = status.st_mtime_ns if entry.name != newest else sys.maxsize
            found.append((when, entry.name, status.st_size))
    size = 0
    for count, (_, name, bytes_here) in enumerate(sorted(found, reverse=True)):
        size += bytes_here
        if count and (count >= MOST_BAD or size > MOST_BAD_BYTES):
            try:
                os.unlink(os.path.join(bad, name))
            except OSError:
                continue


def bad_names(home: str) -> list[str]:
    """The records that were set aside."""
    try:
        return sorted(os.listdir(os.path.join(folder(home), "bad")))
    except OSError:
        return []


def sweep(home: str, older_than: float) -> None:
    """Remove temporary files that a killed hook left, if they were last written before `older_than` (epoch seconds)."""
    try:
        with os.scandir(folder(home)) as entries:
            for entry in entries:
                if entry.name.startswith("tmp.") and entry.stat(follow_symlinks=False).st_mtime < older_than:
                    os.unlink(entry.path)
    except OSError:
        return
