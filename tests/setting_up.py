"""Helpers of the tests of `init` and `uninstall`."""

from __future__ import annotations

import io
import os
import sys
import time
from pathlib import Path
from typing import Any

from conftest import TestRepo

from cortex_git.env import Env
from cortex_git.setup import health, install
from cortex_git.store.repo import Repo

SETTINGS = ".claude/settings.local.json"


def env_at(cwd: Path) -> Env:
    """The process as a command sees it that is run in a folder."""
    streams = [io.TextIOWrapper(io.BytesIO()) for _ in range(2)]
    return Env(os.environ, str(cwd), time.time, io.BytesIO(), *streams)


def repo_at(path: Path) -> Repo:
    """The repository there, as a fresh process would find it."""
    found = Repo.discover(str(path), {})
    assert found is not None
    return found


def init(path: Path, **options: Any) -> install.Report:
    """Run `init` there, by default without a client."""
    options.setdefault("plugin", False)
    return install.init(repo_at(path), env_at(path), **options)


def uninstall(path: Path, **options: Any) -> install.Report:
    """Run `uninstall` there."""
    return install.uninstall(repo_at(path), env_at(path), **options)


def problems(path: Path) -> list[str]:
    """What is found to be wrong with the set-up there."""
    return [finding.message for finding in health.check(repo_at(path), env_at(path))]


def stand_in(repo: TestRepo) -> None:
    """Make the shims start a program that notes which hook it is, with what arguments and input."""
    home = repo.path / ".git" / "cortex"
    root = repo.path.parent / "stand-in"
    (root / "cortex_git").mkdir(parents=True, exist_ok=True)
    (root / "cortex_git" / "hookmain.py").write_text(
        f"import sys\nopen({str(home / 'runs')!r}, 'a').write(repr((sys.argv[2], sys.stdin.read())) + '\\n')\n"
    )
    (home / "program").write_text(f"{sys.executable}\n{root}\n")


def runs(repo: TestRepo) -> list[tuple[str, str]]:
    """Which of our hooks ran since the last call, and what they read."""
    path = repo.path / ".git" / "cortex" / "runs"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [eval(line) for line in lines]


def files(folder: Path) -> dict[str, bytes | str]:
    """Everything under a folder but git's objects: content and mode of files, targets of links, folders."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if ".git/objects" in name:
            continue
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = "folder" if path.is_dir() else path.read_bytes() + b"%o" % path.stat().st_mode
    return found
