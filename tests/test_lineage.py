"""The processes that a hook runs under: found, recognised again, and outlived."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, TestRepo

from cortex_git.store import lineage

SAY = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from cortex_git.store import lineage; "
    "found = lineage.calling_git(); print(found and ' '.join((found.name, *found.args)))"
)


def test_a_process_is_known_by_number_and_time() -> None:
    """Each process has a mark of its own; one that is gone, or none, is not there."""
    command = [sys.executable, "-c", "print(flush=True); input()"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()  # only a program that runs has its arguments
    found = lineage.of(child.pid)
    assert found is not None
    assert found.parent == os.getpid() and found.args[:1] == ("-c",)
    assert lineage.runs(found.mark)
    assert not lineage.runs(f"{child.pid}:another time")
    child.communicate(b"\n")

    assert not lineage.runs(found.mark)
    assert lineage.outlive(found.mark, 0)
    assert lineage.of(0) is None and lineage.of(1) is None
    assert not lineage.runs("") and not lineage.runs("x:y")


def test_a_process_that_waits_to_be_collected_has_ended() -> None:
    """A child that nobody has asked for its status is gone all the same."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    found = lineage.of(child.pid)

    assert found is None or lineage.outlive(found.mark, 30)
    child.wait()


def test_waiting_has_a_limit() -> None:
    """One that stays is not waited for any longer than that."""
    found = lineage.of(os.getpid())
    assert found is not None
    assert not lineage.outlive(found.mark, 0)


@pytest.mark.skipif(not shutil.which("ps"), reason="ps is not here")
def test_ps_tells_the_same() -> None:
    """Without /proc the same comes from ps, which tells the time of start in words of its own."""
    with_proc, with_ps = lineage.of(os.getpid()), lineage.of_ps(os.getpid())

    assert with_proc is not None and with_ps is not None
    assert with_ps.parent == os.getppid() == with_proc.parent
    assert with_ps.name == os.path.basename(sys.executable)
    assert lineage.of_ps(2**22 + 1) is None


def test_the_git_that_calls_a_hook(repo: TestRepo) -> None:
    """The nearest git above, with its arguments, whatever lies between; none outside of git."""
    path = repo.path / ".git" / "hooks" / "pre-commit"
    path.write_text(f'#!/bin/sh\n{sys.executable} -c "{SAY}" > said\n')
    path.chmod(0o755)
    repo.git("commit", "-q", "--allow-empty", "-m", "x")

    assert "git commit -q --allow-empty -m x\n" == repo.read("said")
    done = subprocess.run([sys.executable, "-c", SAY], capture_output=True, text=True)
    assert "None\n" == done.stdout
