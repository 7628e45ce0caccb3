"""Repositories that many tests of a file start from: made once, then copied."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from conftest import TestRepo

_MADE: dict[str, tuple[tempfile.TemporaryDirectory[str], int]] = {}


def prepared(repo: TestRepo, build: Callable[[TestRepo], None]) -> TestRepo:
    """The repository as `build` leaves it, with the same clone id in each copy."""
    name = build.__module__ + build.__qualname__
    if name not in _MADE:
        build(repo)
        folder = tempfile.TemporaryDirectory()
        shutil.copytree(repo.path, Path(folder.name, "repo"), symlinks=True)
        _MADE[name] = folder, repo.commits
        return repo
    folder, repo.commits = _MADE[name]
    shutil.rmtree(repo.path)
    shutil.copytree(Path(folder.name, "repo"), repo.path, symlinks=True)
    place = os.path.realpath(repo.path / ".git")
    clone = repo.git("config", "cortex.clone")
    # By this a clone knows that it is no copy.
    repo.git("config", "cortex.cloneOf", f"{clone} {os.stat(place).st_ino} {place}")
    return repo


def start(repo: TestRepo) -> None:
    """A commit, then a memory whose folder is committed on main."""
    repo.commit({"f": "1\n"})
    repo.run("init", "--yes", "--no-plugin")
    repo.git("add", "-A")
    repo.commit(message="Start a memory")
