"""One drain at a time in a repository, and files that are never seen half written."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any


_FORMAT = "cortex-kept 2"
"""Counted up whenever anything that is kept changes its shape: then it is made anew."""


class Lock:
    """A lock between processes. The kernel drops it when its holder dies, so it can never be stale."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1

    def acquire(self, patience: float) -> bool:
        """Take the lock, waiting at most `patience` seconds. Raises OSError if the file cannot be opened."""
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    self.release()
                    return False
                time.sleep(0.01)
            else:
                return True

    def release(self) -> None:
        """Let go."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


def write_text(path: str, text: str) -> None:
    """Put a file in place whole: other processes see the old text or the new one. Raises OSError."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def write_json(path: str, value: object) -> None:
    """Keep a value as JSON, under a checksum by which `read_json` knows it as written here. Raises OSError."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if os.path.isdir(path):
        os.rename(path, f"{path}.{os.getpid()}.aside")
    write_text(path, f"{_FORMAT} {_checksum(text)}\n{text}")


def keep_json(path: str, value: object) -> None:
    """The same for what is kept for speed only, making its folder; where it cannot be written it is not kept."""
    with contextlib.suppress(OSError, UnicodeError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_json(path, value)


def read_json(path: str) -> dict[str, Any]:
    """A JSON object that was kept; empty if it is missing, damaged, or of another version of this program.

    So whoever reads one need not ask whether what it wrote is still in it.
    """
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            header, _, text = file.read().partition("\n")
        if header != f"{_FORMAT} {_checksum(text)}":
            return {}
        value = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode('utf-8', 'surrogateescape')):08x}"
