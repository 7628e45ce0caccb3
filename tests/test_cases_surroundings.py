"""git's hooks in bare and odd surroundings, without the program, and with one that hangs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TestRepo
from setting_up import runs, stand_in
from test_cases_hooks import hook, ready, recorded

from cortex_git.setup import program

__all__ = ["ready"]

BARE = {
    "env -i": {"PATH": "/usr/bin:/bin"},
    "no PATH": {},
    "an empty PATH": {"PATH": ""},
    "GUI client": {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TERM": "dumb", "SHLVL": "0"},
    "another language": {"PATH": "/usr/bin:/bin", "LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8", "LANGUAGE": "de"},
    "bytes for letters": {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    "someone's Python settings": {"PATH": "/usr/bin:/bin", "PYTHONHOME": "/nowhere", "PYTHONPATH": "/nowhere"},
}


@pytest.mark.parametrize("case", BARE)
def test_any_surroundings_do(case: str, ready: TestRepo) -> None:
    """With hardly any environment, or an odd one, commits go through and the memory goes along with them."""
    ready.run("decide", "Größe über Ästhetik", "--reason", "日本語")
    ready.write({"b.txt": "b\n"})
    ready.git("add", "b.txt")
    keep = {name: os.environ[name] for name in ("HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")}
    git = shutil.which("git") or "git"
    done = subprocess.run(
        [git, "commit", "-m", "x"], cwd=ready.path, env={**keep, **BARE[case]}, capture_output=True, timeout=60
    )
    assert 0 == done.returncode, done.stderr
    assert b"Traceback" not in done.stderr
    assert "1 file changed" not in done.stdout.decode()
    assert ".cortex/decisions/" in ready.git("show", "--name-only", "--format=", "HEAD")


@pytest.mark.parametrize("gone", ["python", "package", "both and PATH", "our folder"])
def test_without_the_program_nothing_is_blocked(gone: str, ready: TestRepo) -> None:
    """Commit, checkout, merge and push go through, silently, when the program is gone."""
    hub = TestRepo.make(ready.path.parent / "hub.git", "--bare")
    home = ready.path / ".git" / "cortex"
    python, root, *rest = (home / "program").read_text().splitlines()
    lines = {"python": ("/gone", root), "package": (python, "/gone")}.get(gone, ("/gone", "/gone"))
    (home / "program").write_text("\n".join([*lines, *rest, ""]))
    if gone == "our folder":
        shutil.rmtree(home)
    commands = (
        ("commit", "--allow-empty", "-qm", "x"),
        ("switch", "-qc", "topic"),
        ("commit", "--allow-empty", "-q", "--amend", "-m", "y"),
        ("switch", "-q", "main"),
        ("merge", "-q", "topic", "-m", "m"),
        ("push", "-q", str(hub.path), "main"),
    )
    for command in commands:
        done = subprocess.run(["git", *command], cwd=ready.path, capture_output=True)
        assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr), command
    assert "" == ready.git("status", "--short")


def test_a_program_that_hangs_is_waited_for_once(ready: TestRepo, tmp_path: Path) -> None:
    """An interpreter that never answers costs one wait; then hooks do without it until a command has run."""
    home = ready.path / ".git" / "cortex"
    sleeper = hook(tmp_path / "sleeper", f"#!/bin/sh\necho x >> {tmp_path}/started\nexec sleep 600\n")
    lines = (home / "program").read_text().splitlines()
    (home / "program").write_text("\n".join([str(sleeper), *lines[1:], ""]))
    # The limit as it is, but in hundredths of a second.
    real = shutil.which("timeout")
    if real is None:
        pytest.skip("there is no `timeout` here")
    hook(tmp_path / "bin" / "timeout", f'#!/bin/sh\nlimit=$1; shift\nexec {real} "0.0$limit" "$@"\n')
    hub = TestRepo.make(tmp_path / "hub.git", "--bare")
    variables = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    commit = ("commit", "--allow-empty", "-qm", "x")
    for command in (commit, ("switch", "-qc", "b"), ("push", "-q", str(hub.path), "b")):
        ready.git(*command, variables=variables)
    assert "x\n" == (tmp_path / "started").read_text()
    assert "git pre-commit: no answer in 8 s; hooks pause" in (home / "log").read_text()
    ready.run("log")
    assert not (home / program.HUNG).exists()
    assert recorded(ready)


@pytest.mark.parametrize("shell", [shell for shell in ("sh", "bash", "busybox") if shutil.which(shell)])
def test_where_there_is_no_timeout_a_shell_does_it(shell: str, ready: TestRepo, tmp_path: Path) -> None:
    """Without the program `timeout`, as on macOS, one that answers is heard out and one that does not is ended."""
    bin = tmp_path / "bin"
    bin.mkdir()
    for name in ("git", "date", "find", "rm", "cat"):
        (bin / name).symlink_to(shutil.which(name) or name)
    hook(bin / "sleep", f"#!/bin/sh\nexec {shutil.which('sleep')} 0.0$1\n")
    home = ready.path / ".git" / "cortex"
    lib = home / "git-hooks" / "lib.sh"
    lib.write_text(re.sub(r"^PATH=.*$", f"PATH={bin}", lib.read_text(), flags=re.MULTILINE))
    python = tmp_path / "python"
    root = (home / "program").read_text().splitlines()[1]
    (home / "program").write_text(f"{python}\n{root}\n")
    command = ["busybox", "sh"] if shell == "busybox" else [shell]

    def push() -> subprocess.CompletedProcess[bytes]:
        line = [*command, str(home / "git-hooks" / "pre-push"), "origin", "a b"]
        return subprocess.run(line, cwd=ready.path, input=b"refs\n", capture_output=True)

    hook(python, f'#!/bin/sh\n{shutil.which("cat")} > {tmp_path}/input\necho "$5 $6 $7" > {tmp_path}/seen\necho no\n')
    assert (0, b"", b"") == ((done := push()).returncode, done.stdout, done.stderr)
    assert ("refs\n", "pre-push origin a b\n") == ((tmp_path / "input").read_text(), (tmp_path / "seen").read_text())
    assert not (home / program.HUNG).exists()
    hook(python, f"#!/bin/sh\nexec {shutil.which('sleep')} 600\n")
    assert (0, b"", b"") == ((done := push()).returncode, done.stdout, done.stderr)
    assert (home / program.HUNG).exists()


def test_everything_can_be_switched_off(ready: TestRepo) -> None:
    """With CORTEX_DISABLE no hook starts the program."""
    stand_in(ready)
    ready.git("commit", "--allow-empty", "-qm", "x", variables={"CORTEX_DISABLE": "1"})
    assert [] == runs(ready)
