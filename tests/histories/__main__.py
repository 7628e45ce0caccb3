"""`python -m tests.histories --count 5000 --seed 0`: play random histories, and show the shortest that goes wrong."""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

from .history import LENGTH, Stage
from .steps import Step


def main() -> int:
    """Play histories until one goes wrong or all are done; returns 1 if one did."""
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many histories")
    parser.add_argument("--seed", type=int, default=0, help="the first one's number")
    parser.add_argument("--length", type=int, default=LENGTH, help="steps in each")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--all", action="store_true", help="go on after one that goes wrong")
    parser.add_argument("--real", action="store_true", help="start the real Python in each hook")
    parser.add_argument("--steps", default="", help="replay these steps, as they were printed")
    parser.add_argument("--no-shrink", action="store_true", help="show the whole history that went wrong")
    given = parser.parse_args()
    if given.steps:
        return _replay(given.steps, given.real)
    parts = [(given, given.seed + number, given.jobs) for number in range(given.jobs)]
    if given.jobs == 1:
        return int(_some(parts[0]))
    with multiprocessing.Pool(given.jobs) as pool:
        return int(any(pool.map(_some, parts)))


def _isolate(base: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("GIT_", "CORTEX_", "CLAUDE", "XDG_")):
            del os.environ[name]
    fixed = {"GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC", "LC_ALL": "C"}
    os.environ.update(fixed, HOME=str(base / "home"), GIT_CONFIG_GLOBAL=str(base / "gitconfig"))


def _replay(text: str, real: bool) -> int:
    steps: list[Step] = list(ast.literal_eval(text))
    with tempfile.TemporaryDirectory() as folder:
        _isolate(Path(folder))
        stage = Stage(Path(folder, "s"), real=real)
        fault = stage.replay(steps)
    print(fault or "nothing goes wrong")
    return int(bool(fault))


def _some(part: tuple[argparse.Namespace, int, int]) -> bool:
    given, first, apart = part
    wrong = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        _isolate(Path(folder, "s"))
        stage = Stage(Path(folder, "s"), real=given.real)
        done = 0
        for seed in range(first, given.seed + given.count, apart):
            steps, fault = stage.random(seed, given.length)
            done += 1
            if fault:
                wrong += 1
                print(f"--- history {seed}: {fault}", flush=True)
                if not given.no_shrink:
                    steps, fault = stage.shortest(steps)
                print(f"{fault}\n{steps}", flush=True)
                if not given.all:
                    break
        print(f"{done} histories, {wrong} went wrong, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
