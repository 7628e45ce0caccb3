"""The spool: one file for each payload that a hook was given, until its events are in a notes ref.

Written by the sh shims in `hooks/` without starting Python. A record is a few header lines, an
empty line, and the payload as it came.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAGIC = b"cortex-spool 1"
MAX_PAYLOAD = 64 * 1024 * 1024
"""A longer payload (in bytes) is set aside unread."""


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
    head, separator, payload = data.partition(b"\n\n")
    lines = head.split(b"\n")
    if not separator or lines[0] != MAGIC:
        raise BadRecord("it is not a spool record")
    header = dict(os.fsdecode(line).partition(" ")[::2] for line in lines[1:])
    return Record(name, status.st_mtime, header, payload)


def write(home: str, agent: str, event: str, work_tree: str, head_line: str, payload: bytes) -> str:
    """Add a record, as the shims do, and return its name. Raises OSError."""
    header = f"agent {agent}\nevent {event}\nworktree {work_tree}\nhead {head_line}\n\n"
    name = f"{os.getpid()}-{os.urandom(6).hex()}"
    temporary = os.path.join(folder(home), "tmp." + name)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(MAGIC + b"\n" + os.fsencode(header) + payload)
    os.rename(temporary, os.path.join(folder(home), "r." + name))
    return "r." + name


def discard(home: str, done: Iterable[str]) -> None:
    """Remove records whose events are stored."""
    for name in done:
        try:
            os.unlink(os.path.join(folder(home), name))
        except FileNotFoundError:
            continue


def set_aside(home: str, name: str) -> None:
    """Move a record that cannot be used to `spool/bad`, so that it stops nothing else and can be looked at."""
    bad = os.path.join(folder(home), "bad")
    os.makedirs(bad, mode=0o700, exist_ok=True)
    try:
        os.rename(os.path.join(folder(home), name), os.path.join(bad, name))
    except FileNotFoundError:
        return


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
