"""What a whole process costs: wall time and the CPU time of it and its children."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


class Cost:
    """Wall and CPU time in seconds; `started` is how many git processes of ours that took, where it was counted."""

    __slots__ = ("cpu", "started", "wall")

    def __init__(self, wall: float, cpu: float, started: int = 0) -> None:
        self.wall = wall
        self.cpu = cpu
        self.started = started

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.cpu + other.cpu, self.started + other.started)


def measure(argv: Sequence[str], cwd: Path, variables: Mapping[str, str], stdin: bytes = b"") -> Cost:
    """Run a program to its end. Raises RuntimeError with what it said if it fails: a failure is fast for no good."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as said:
        source.write(stdin)
        source.seek(0)
        began = time.perf_counter()
        process = subprocess.Popen(argv, cwd=cwd, env=variables, stdin=source, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise RuntimeError(f"{' '.join(argv)}: exit status {process.returncode}\n{said.read().decode()}")
    return Cost(wall, usage.ru_utime + usage.ru_stime)
