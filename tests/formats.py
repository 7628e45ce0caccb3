"""The kind of repository that the tests work in: git's usual one, or what CORTEX_TEST_FORMAT names.

`sha256` and `reftable` are made by `git init` itself; `partial` is marked as a partial clone, and what is cloned
from it lacks blobs until they are asked for. libgit2 opens none of them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

FORMATS = ("sha256", "reftable", "partial")
FORMAT = os.environ.get("CORTEX_TEST_FORMAT", "")
if FORMAT and FORMAT not in FORMATS:
    raise ValueError(f"CORTEX_TEST_FORMAT is {FORMAT!r}, which is none of {', '.join(FORMATS)}")
HASH = "sha256" if FORMAT == "sha256" else "sha1"
HEX = 64 if FORMAT == "sha256" else 40
"""How many digits an object id has."""
VARIABLES = {"sha256": {"GIT_DEFAULT_HASH": "sha256"}, "reftable": {"GIT_DEFAULT_REF_FORMAT": "reftable"}}
"""What makes `git init` and `git clone` use a format."""
FOR_HEAD = 1 if FORMAT == "reftable" else 0
"""How many processes it takes to learn what HEAD is."""
needs_libgit2 = pytest.mark.skipif(bool(FORMAT), reason="libgit2 does not open these repositories")
needs_ref_files = pytest.mark.skipif(FORMAT == "reftable", reason="refs are in tables here, and not in files")
CONFIG = {"partial": "[uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n"}


def lock_of(git_dir: Path, ref: str) -> Path:
    """The file by which git keeps others from writing a ref."""
    return git_dir / ("reftable/tables.list.lock" if FORMAT == "reftable" else f"{ref}.lock")


def missing(name: str = FORMAT) -> str:
    """Why this git cannot do a format; empty if it can."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **VARIABLES.get(name, {})}
        done = subprocess.run(["git", "init", "-q", folder], env=environment, capture_output=True)
        used = subprocess.run(["git", "config", "--list"], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode or (name in VARIABLES and f"={name}" not in used.stdout):
        version = subprocess.run(["git", "version"], capture_output=True, text=True).stdout.strip()
        return f"{version} has no {name} repositories"
    return ""


def arguments(args: Sequence[str]) -> list[str]:
    """The arguments of a git command, so that a clone has the format, too."""
    whole = ("--filter", "--shared", "--bare", "--mirror")
    if FORMAT != "partial" or args[:1] != ("clone",) or any(arg.startswith(whole) for arg in args):
        return list(args)
    return ["clone", "--no-local", "--filter=blob:none", *args[1:]]


def settings(options: Sequence[str]) -> list[tuple[str, str]]:
    """The settings that a repository just made needs to have the format."""
    if FORMAT != "partial" or "--bare" in options:
        return []
    return [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "promisor"),
        ("remote.promisor.promisor", "true"),
        ("remote.promisor.partialCloneFilter", "blob:none"),
    ]


def reads_hook_settings() -> bool:
    """Whether this git runs hooks from its settings, too."""
    said = subprocess.run(["git", "version"], capture_output=True, text=True).stdout.split()[2].split(".")
    return (int(said[0]), int(said[1])) >= (2, 54)
