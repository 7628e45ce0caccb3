"""Running git: whatever goes in and comes out, and however it ends."""

from __future__ import annotations

import _signal
import os

import pytest
from conftest import TestRepo

from cortex_git.errors import CortexError
from cortex_git.store import process
from cortex_git.store.process import GitError, git, git_status


def test_large_input_and_output_do_not_wait_for_each_other(repo: TestRepo) -> None:
    """Megabytes in both directions at once come through whole."""
    data = os.urandom(1 << 20) * 5

    [blob] = git(["hash-object", "-w", "--stdin"], str(repo.path), input=data).split()
    request = (blob + b"\n") * 5

    assert 5 * (len(data) + 50) < len(git(["cat-file", "--batch"], str(repo.path), input=request))


def test_a_failure_says_what_git_said(repo: TestRepo) -> None:
    """A command that fails is an error in one line, with its status."""
    with pytest.raises(GitError, match="git rev-parse failed: ") as caught:
        git(["rev-parse", "--verify", "nothing"], str(repo.path))

    assert 128 == caught.value.status


def test_a_program_that_does_not_read_is_no_error(repo: TestRepo) -> None:
    """Input for a command that ends without reading it is dropped."""
    assert 0 == git_status(["--version"], str(repo.path), input=b"x" * 1_000_000)[0]


def test_a_missing_git_is_something_to_mend(repo: TestRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git there is a sentence that says so."""
    monkeypatch.setenv("PATH", str(repo.path))

    with pytest.raises(CortexError, match="git is not found"):
        git(["--version"], str(repo.path))


def test_the_callers_repository_is_not_ours(repo: TestRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside a hook of another repository our git works on the one that was meant."""
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent/index")

    assert b".git\n" == git(["rev-parse", "--git-dir"], str(repo.path))


def test_an_interrupted_run_leaves_no_process(repo: TestRepo) -> None:
    """When time is up, the program is ended and nothing stays open."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError

    before = len(os.listdir("/proc/self/fd"))
    old = _signal.signal(_signal.SIGALRM, stop)
    _signal.setitimer(_signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(TimeoutError):
            process._run(["sleep", "60"], os.environ, b"")
    finally:
        _signal.signal(_signal.SIGALRM, old)

    assert before == len(os.listdir("/proc/self/fd"))
