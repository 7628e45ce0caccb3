"""The hook path stays light: an assistant waits for it at every turn."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import ROOT, TestRepo

HEAVY = {
    "argparse", "asyncio", "click", "concurrent", "dataclasses", "datetime", "email", "hashlib", "http",
    "importlib.metadata", "importlib.resources", "inspect", "logging", "mcp", "model2vec", "multiprocessing", "numpy",
    "pathlib", "pygit2", "shutil", "socket", "ssl", "tempfile", "tomlkit", "tomllib", "typing", "unittest", "urllib",
    "uuid", "whoosh", "zipfile",
}  # fmt: skip
HOOKS = [
    ("claude", "SessionStart"),
    ("claude", "Stop"),
    ("claude", "SessionEnd"),
    ("git", "pre-commit"),
    ("git", "post-commit"),
    ("git", "post-checkout", "0" * 40, "0" * 40, "1"),
]


def _imports(*args: str, cwd: object, input: bytes = b"") -> set[str]:
    """The modules that a run of hookmain imports, as its interpreter reports them."""
    command = [sys.executable, "-I", "-S", "-X", "importtime", str(ROOT / "cortex_git" / "hookmain.py"), *args]
    done = subprocess.run(command, cwd=str(cwd), input=input, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def _heavy(modules: set[str]) -> set[str]:
    return {name for name in modules if any(name == heavy or name.startswith(heavy + ".") for heavy in HEAVY)}


@pytest.mark.parametrize("args", HOOKS, ids=" ".join)
def test_hooks_import_nothing_heavy(args: tuple[str, ...], repo: TestRepo) -> None:
    """A hook in an initialised repository that has something to do imports none of the slow modules."""
    repo.commit({"a.txt": "a\n"})
    repo.run("init", "--yes", "--no-plugin")
    repo.run("decide", "Use SQLite for storage", "--reason", "one writer")
    payload = b'{"session_id": "s", "cwd": "%s", "source": "startup"}' % str(repo.path).encode()
    modules = _imports(*args, cwd=repo.path, input=payload)
    assert "cortex_git.env" in modules
    assert _heavy(modules) == set()
