"""Many writers, killed writers, and other people's locks: nothing is lost, and git is never in the way of git."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, TestRepo
from hook_managers import Place, pre_commit
from setting_up import init


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository with a memory and a commit that holds `.cortex/`."""
    init(repo.path)
    repo.git("add", ".cortex")
    repo.commit({"a.txt": "a\n"})
    return repo


def decisions(repo: TestRepo) -> list[str]:
    """The ids of all decisions, in no order."""
    return sorted(event["id"] for event in json.loads(repo.run("log", "--json", "--type", "decision").out))


def test_forty_writers_forty_stored(ready: TestRepo) -> None:
    """Eight commands at a time, five each: every id that a command has printed is in the memory afterwards."""

    def record(number: int) -> str:
        return ready.process("decide", f"Number {number} was chosen").out

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(record, range(40)))
    known = decisions(ready)
    assert 40 == len(known)
    printed = [found[1] for text in said if (found := re.match(r"\[([0-9a-f]{7,16})\]", text))]
    assert 40 == len(printed)
    assert all(any(id.startswith(short) for id in known) for short in printed)
    assert "" == ready.git("fsck", "--strict", "--no-dangling")


def test_a_command_that_could_not_record_does_not_say_so(ready: TestRepo) -> None:
    """Where the ref cannot be moved the command fails, or says that it waits; afterwards nothing is missing."""
    ready.run("decide", "First")
    (ref,) = ready.git("for-each-ref", "--format=%(refname)", "refs/notes/cortex").splitlines()
    if ready.git("rev-parse", "--show-ref-format", check=False) == "reftable":
        pytest.skip("a reftable has no lock of single refs")
    lock = ready.path / ".git" / f"{ref}.lock"
    lock.write_text("")
    done = ready.run("decide", "Second", check=False)
    assert done.status == 1 and "[" not in done.out
    assert lock.exists()
    lock.unlink()
    ready.run("decide", "Second")
    assert 2 == len(decisions(ready))


# ---- what hooks have git do


def traced(repo: TestRepo, folder: Path, *command: str, check: bool = True) -> list[list[str]]:
    """Run git; returns the command line of each git that was started by a hook, and not by git itself."""
    folder.mkdir()
    repo.git(*command, variables={**repo.dates(), "GIT_TRACE2_EVENT": str(folder)}, check=check)
    found = []
    for path in sorted(folder.iterdir()):
        events: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
        # git sets this for every git below one that we start.
        if any(event["event"] == "start" and "--no-optional-locks" in event["argv"] for event in events):
            found += [event["argv"] for event in events if event["event"] == "start"]
    return found


def all_traced(repo: TestRepo, folder: Path) -> Iterator[list[str]]:
    """The gits of all hooks, with work for each."""
    folder.mkdir()
    hub = TestRepo.make(repo.path.parent / "hub.git", "--bare")
    repo.run("decide", "Use SQLite")
    repo.write({"b.txt": "b\n", "c.txt": "not staged\n"})
    repo.git("add", "b.txt")
    steps = (
        ("commit", "-qm", "x"),
        ("switch", "-qc", "topic"),
        ("commit", "-q", "--allow-empty", "--amend", "-m", "y"),
        ("switch", "-q", "main"),
        ("merge", "-q", "--no-ff", "topic", "-m", "m"),
        ("push", "-q", str(hub.path), "main"),
        ("rebase", "-q", "--force-rebase", "HEAD~1"),
    )
    for number, step in enumerate(steps):
        yield from traced(repo, folder / str(number), *step)


def test_no_hook_looks_at_the_whole_work_tree(ready: TestRepo, tmp_path: Path) -> None:
    """No hook runs `git status`, a diff of the work tree or `git add`, nor anything that refreshes the index."""
    commands = list(all_traced(ready, tmp_path / "trace"))
    assert len(commands) > 10
    for command in commands:
        words = [word for word in command[1:] if word != "--no-optional-locks"]
        verb = words[2] if words[0] == "-C" else words[0]
        assert verb not in ("status", "add", "stash", "checkout", "reset", "restore", "commit", "gc"), command
        assert verb != "diff" or "--cached" in command or "--no-index" in command, command
        assert verb not in ("diff-files",), command
        assert not (verb == "update-index" and {"--refresh", "--really-refresh", "--again"} & set(command)), command
        assert "--no-optional-locks" in command, command


def test_hooks_start_no_hook_of_ours_within(ready: TestRepo, tmp_path: Path) -> None:
    """What we have git do inside of a hook comes back to no hook: nothing waits for itself."""
    seen = tmp_path / "seen"
    home = ready.path / ".git" / "cortex"
    python = (home / "program").read_text().splitlines()[0]
    counting = tmp_path / "python"
    counting.write_text(f'#!/bin/sh\necho "$5" >> {seen}\nexec {python} "$@"\n')
    counting.chmod(0o755)
    lines = (home / "program").read_text().splitlines()
    (home / "program").write_text("\n".join([str(counting), *lines[1:], ""]))
    hook = ready.path / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho nested-$CORTEX_HOOK >> {seen}\n.git/cortex/git-hooks/post-commit\n")
    hook.chmod(0o755)
    ready.run("decide", "Use SQLite")
    (home / "program").write_text("\n".join([str(counting), *lines[1:], ""]))
    seen.unlink(missing_ok=True)
    ready.git("commit", "-q", "--allow-empty", "-m", "x")
    started = [line for line in seen.read_text().split() if not line.startswith("nested-")]
    assert {"pre-commit", "post-commit"} == set(started)
    assert 1 == started.count("pre-commit")


# ---- locks and kills


def test_a_stale_lock_of_the_index_stays_and_stops_no_command(ready: TestRepo) -> None:
    """A lock that a killed git has left is git's to complain about: commands work, hooks are silent, it stays."""
    lock = ready.path / ".git" / "index.lock"
    lock.write_text("")
    for command in (("decide", "Use SQLite"), ("status",), ("log",), ("search", "SQLite")):
        ready.run(*command)
    for event, arguments in (("pre-commit", []), ("post-commit", []), ("post-checkout", ["0" * 40, "0" * 40, "1"])):
        shim = ready.path / ".git" / "cortex" / "git-hooks" / event
        done = subprocess.run([shim, *arguments], cwd=ready.path, capture_output=True)
        assert (0, b"") == (done.returncode, done.stdout)
    with pytest.raises(AssertionError, match=r"index\.lock"):
        ready.git("commit", "--allow-empty", "-qm", "x")
    assert lock.exists()
    lock.unlink()
    ready.commit({"b.txt": "b\n"})
    assert ".cortex/decisions/" in ready.git("show", "--name-only", "--format=", "HEAD")
    assert "" == ready.git("status", "--short")


def kill_pre_commits(repo: TestRepo, times: int) -> None:
    """Kill the hook of a commit sooner or later, each time a little later; the commits that follow are whole."""
    hookmain = [sys.executable, "-I", "-S", str(ROOT / "cortex_git/hookmain.py"), "git", "pre-commit"]
    for n in range(times):
        repo.run("decide", f"Number {n} was chosen")
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(hookmain, cwd=repo.path, capture_output=True, timeout=0.15 * (n + 1) / times)
        deadline = 200
        while (repo.path / ".git" / "index.lock").exists() and deadline:
            deadline -= 1  # the git that it had started comes to its own end
            subprocess.run([sys.executable, "-S", "-c", ""])
        assert not (repo.path / ".git" / "index.lock").exists()
        repo.commit({f"{n}.txt": "x\n"})
    assert times == len(repo.git("ls-files", ".cortex/decisions").splitlines())
    assert "" == repo.git("status", "--short")
    assert "" == repo.git("fsck", "--strict", "--no-dangling")


def test_a_killed_pre_commit_leaves_no_lock(ready: TestRepo) -> None:
    """Wherever the hook is killed, no lock stays, the next commit takes everything along, and nothing is damaged."""
    kill_pre_commits(ready, 6)


@pytest.mark.slow
def test_a_pre_commit_killed_60_times_leaves_no_lock(ready: TestRepo) -> None:
    """The same, 60 times."""
    kill_pre_commits(ready, 60)


@pytest.mark.parametrize(
    ("order", "commits"),
    [
        ("theirs first", 4),
        pytest.param("ours first", 20, marks=pytest.mark.slow),
        pytest.param("theirs first", 20, marks=pytest.mark.slow),
    ],
)
def test_commits_beside_a_framework_that_stashes(
    order: str, commits: int, repo: TestRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A framework that reads the index and puts aside what is not staged: all commits are whole, nothing is left."""
    place = Place(repo)
    monkeypatch.setenv("PATH", f"{place.bin}{os.pathsep}{os.environ['PATH']}")
    repo.commit({"a.txt": "0\n"})
    for install in (init, pre_commit) if order == "ours first" else (pre_commit, init):
        install(repo.path if install is init else place)  # type: ignore[arg-type, operator]
    repo.git("add", ".cortex", ".pre-commit-config.yaml")
    for n in range(commits):
        repo.run("decide", f"Number {n} was chosen")
        repo.write({"a.txt": f"{n}\nnot staged\n"})
        repo.commit({f"{n}.txt": "x\n"})
    assert commits == len(repo.git("ls-files", ".cortex/decisions").splitlines())
    assert " M a.txt" == repo.git("status", "--short")
    assert f"{commits - 1}\nnot staged\n" == repo.read("a.txt")
    assert "pre-commit" in place.ran()
    assert "" == repo.git("fsck", "--strict", "--no-dangling")
    assert "" == repo.git("diff", "--name-only", "HEAD", "--", ".cortex")
