"""Process state: the clock, the environment and the streams.

Nothing else in the package reads them, so that a test can put any value in their place.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO, TextIO


class Env:
    """What a command may know of the process that it runs in."""

    __slots__ = ("clock", "cwd", "stderr", "stdin", "stdout", "variables")

    def __init__(
        self,
        variables: Mapping[str, str],
        cwd: str,
        clock: Callable[[], float],
        stdin: BinaryIO,
        stdout: TextIO,
        stderr: TextIO,
    ) -> None:
        self.variables = variables
        self.cwd = cwd
        self.clock = clock
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr

    @classmethod
    def of_process(cls) -> Env:
        """The real one. A working directory that is gone counts as `/`."""
        try:
            cwd = os.getcwd()
        except OSError:
            cwd = "/"
        stdin = sys.stdin.buffer if sys.stdin is not None else open(os.devnull, "rb")  # noqa: SIM115
        return cls(os.environ, cwd, time.time, stdin, sys.stdout, sys.stderr)

    def now(self) -> str:
        """The time as an event holds it: UTC, RFC 3339, milliseconds."""
        return rfc3339(self.clock())


def rfc3339(seconds: float) -> str:
    """Seconds since the epoch as UTC in RFC 3339, always with milliseconds, so that text order is time order."""
    millis = round(seconds * 1000)
    whole, rest = divmod(millis, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{rest:03d}Z"
