"""One drain at a time in a repository, and files that are never seen half written."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


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
    """The same for a value as JSON."""
    write_text(path, json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def keep_json(path: str, value: object) -> None:
    """The same for what is kept for speed only, making its folder; where it cannot be written it is not kept."""
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_json(path, value)


def read_json(path: str) -> dict[str, object]:
    """A JSON object from a file that we keep for speed; empty if it is missing or damaged."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
