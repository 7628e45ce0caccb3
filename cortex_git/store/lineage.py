"""The processes that we run under: git tells a hook what happens, not which git it is, nor when that one is gone."""

from __future__ import annotations

import os
import select
import time

from cortex_git.store.process import run_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LEVELS = 8
_PAUSE = 0.1


class Process:
    """One process. `start` tells it from a later one of the same number; `args` leave out its name."""

    __slots__ = ("args", "name", "parent", "pid", "start")

    def __init__(self, pid: int, name: str, parent: int, start: str, args: Sequence[str] = ()) -> None:
        self.pid = pid
        self.name = name
        self.parent = parent
        self.start = start
        self.args = tuple(args)

    @property
    def mark(self) -> str:
        """By what the process is known again."""
        return f"{self.pid}:{self.start}"


def calling_git() -> Process | None:
    """The git that runs us as a hook or a driver; None where there is none, or the system does not tell."""
    pid = os.getppid()
    for _ in range(_LEVELS):
        found = of(pid)
        if found is None or found.name == "git":
            return found
        pid = found.parent
    return None


_VALUED = ("-m", "--message", "-F", "--file", "-C", "-c", "-t", "--template", "--author", "--date", "--trailer")


def may_be_empty(calling: Process | None) -> bool:
    """Whether the git that runs a hook may make a commit that changes nothing: it was told to, or nobody can tell.

    An amended commit counts as one: it is compared with its parent.
    """
    words = list(calling.args) if calling is not None else []
    while words and words[0].startswith("-"):
        del words[: 2 if words[0] in ("-C", "-c") else 1]
    if words[:1] != ["commit"]:
        return True
    values = {number + 1 for number, word in enumerate(words) if word in _VALUED}
    for number, word in enumerate(words):
        if word == "--":
            break
        if number not in values and (word == "--allow-empty" or (len(word) > 3 and "--amend".startswith(word))):
            return True
        # git ends the word at its colon, when it has read it.
        fixup = word.removeprefix("--fixup=").partition(":")[0]
        if fixup in ("amend", "reword") and (word.startswith("--fixup=") or words[number - 1] == "--fixup"):
            return True
    return False


def of(pid: int) -> Process | None:
    """The process with a number; None if there is none, or if it has ended and only waits to be collected."""
    if pid <= 1:
        return None
    return _of_proc(pid) if os.path.isdir("/proc/self") else of_ps(pid)


def runs(mark: str) -> bool:
    """Whether the process with this mark is still there."""
    pid = mark.partition(":")[0]
    found = of(int(pid)) if pid.isdecimal() else None
    return found is not None and found.mark == mark


def outlive(mark: str, limit: float) -> bool:
    """Wait until the process with this mark has ended, at most `limit` seconds; returns whether it has."""
    deadline = time.monotonic() + limit
    if hasattr(os, "pidfd_open") and runs(mark):
        try:
            descriptor = os.pidfd_open(int(mark.partition(":")[0]))
        except OSError:
            return not runs(mark)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if runs(mark):  # and it was still the same one when it was opened
            poll.poll(limit * 1000)
        os.close(descriptor)
    while runs(mark):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE)
    return True


def _of_proc(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
        name, _, rest = text[text.index("(") + 1 :].rpartition(") ")
        fields = rest.split()
        if fields[0] in ("Z", "X"):
            return None
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="surrogateescape") as file:
            args = file.read().split("\0")[1:-1]
        return Process(pid, name, int(fields[1]), fields[19], args)
    except (OSError, ValueError, IndexError):
        return None


def of_ps(pid: int) -> Process | None:
    """The same from `ps`, for systems without `/proc`."""
    status, out, _ = run_program(["ps", "-o", "ppid=", "-o", "stat=", "-o", "lstart=", "-o", "args=", "-p", str(pid)])
    words = out.decode("utf-8", "surrogateescape").split()
    # The time of start is five words: day of the week, month, day, time, year.
    if status or len(words) < 8 or not words[0].isdecimal() or words[1].startswith("Z"):
        return None
    return Process(pid, os.path.basename(words[7]), int(words[0]), " ".join(words[2:7]), words[8:])
