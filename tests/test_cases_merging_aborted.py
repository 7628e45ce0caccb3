"""Commits that are given up: what they leave behind, and that it is in nobody's way."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import TestRepo
from test_cases_merging import start

from cortex_git.projections.stage import unstage
from cortex_git.store import index
from cortex_git.store.repo import require


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with pages on main, a branch that is behind, and something to bring along and to commit."""
    start(repo)
    repo.run("decide", "Use files")
    repo.commit({"g": "1\n"})
    repo.git("branch", "behind", "HEAD~1")
    repo.run("decide", "Use SQLite")
    repo.run("plan", "Ship", "build")
    repo.write({"f": "2\n"})
    repo.git("add", "f")
    return repo


def wait(repo: TestRepo) -> None:
    """Wait until whoever watches over an aborted commit is done."""
    folder = Path(repo.git("rev-parse", "--path-format=absolute", "--git-dir"))
    with open(folder / "cortex" / "watch", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def left(repo: TestRepo) -> list[str]:
    """What of ours is not as HEAD has it."""
    return repo.git("status", "--porcelain", "-uall", "--", ".cortex").splitlines()


def hook(repo: TestRepo, name: str, text: str) -> None:
    """Add lines at the end of a hook, after ours."""
    path = repo.path / ".git" / "hooks" / name
    old = path.read_text() if path.exists() else "#!/bin/sh\n"
    path.write_text(old + text)
    path.chmod(0o755)


def abort(repo: TestRepo, way: str) -> None:
    """Begin a commit and give it up after our hook has run."""
    if way == "killed":
        hook(repo, "prepare-commit-msg", "kill -9 $PPID\n")
    elif way == "refused":
        hook(repo, "pre-commit", "exit 1\n")
    elif way == "message":
        hook(repo, "commit-msg", "exit 1\n")
    editors = {"editor": "false", "empty": ": >"}
    arguments = [] if way in editors else ["-m", "x"]
    repo.git("commit", "-q", *arguments, check=False, variables={"GIT_EDITOR": editors.get(way, "true")})
    for name in ("prepare-commit-msg", "commit-msg"):
        (repo.path / ".git" / "hooks" / name).unlink(missing_ok=True)
    if way == "refused":
        path = repo.path / ".git" / "hooks" / "pre-commit"
        path.write_text(path.read_text().removesuffix("exit 1\n"))


@pytest.mark.parametrize(
    "way", ["refused", "killed", *(pytest.param(way, marks=pytest.mark.slow) for way in ("editor", "empty", "message"))]
)
def test_what_was_staged_is_taken_back_by_itself(team: TestRepo, way: str) -> None:
    """Whoever gives a commit up, soon after index and work tree are as before, and the next commit brings it all."""
    abort(team, way)
    wait(team)

    assert [] == left(team)
    assert "M  f" == team.git("status", "--porcelain")
    assert not (team.path / ".git" / "index.lock").exists()
    team.git("switch", "-q", "behind")
    team.git("switch", "-q", "main")
    team.git("commit", "-q", "-m", "x")
    assert 7 == len(team.git("show", "--name-only", "--format=", "HEAD").splitlines())
    assert "" == team.git("status", "--porcelain", "-uall")


AT_ONCE = {
    "git switch -q behind": None,  # git refuses as long as pages that differ there are staged
    "git switch -qc new": 0,
    "git stash -q": 0,
    "git stash -q -k": 0,
    "git checkout -q behind -- f": 0,
    "git restore --staged f": 0,
    "git reset -q": 0,
    "git reset -q --hard": 0,
    "git commit -q -m y": 0,
    "git commit -q -a -m y": 0,
    "git commit -q -m y -o f": 0,
    "git commit -q --amend --no-edit": 0,
    "git merge -q --no-edit behind": 0,  # up to date
    "git rebase -q behind": None,
    "git cherry-pick behind": None,
    "git revert --no-edit HEAD": None,
    "git pull -q . behind": 0,
    "git worktree add -q --detach ../linked behind": 0,
}


@pytest.mark.slow
@pytest.mark.parametrize("command", AT_ONCE, ids=str)
def test_whatever_follows_at_once(team: TestRepo, command: str) -> None:
    """A command right after the aborted one may be refused by git; soon after nothing of ours is in the way."""
    abort(team, "editor")
    status = subprocess.run(command, shell=True, cwd=team.path, capture_output=True).returncode
    wait(team)
    team.run("status")

    assert AT_ONCE[command] in (None, status)
    assert [] == left(team)
    if command.startswith("git stash"):
        team.git("stash", "pop", "-q", check=False)
    team.git("reset", "-q", "--hard")
    team.git("switch", "-q", "behind")
    team.git("switch", "-q", "main")
    team.commit({"f": "3\n"})
    assert [] == left(team)
    assert 0 == team.run("verify", "--strict").status


def test_a_partial_commit_right_after_takes_the_leftovers_back(team: TestRepo) -> None:
    """`git commit <path>` leaves items out; what an aborted commit had staged is not staged after it."""
    abort(team, "editor")
    team.git("commit", "-q", "-m", "y", "f")

    assert "" == team.git("status", "--porcelain", "-uall")
    assert ["f"] == team.git("show", "--name-only", "--format=", "HEAD").splitlines()
    team.commit({"f": "3\n"})
    assert 7 == len(team.git("show", "--name-only", "--format=", "HEAD").splitlines())


def test_the_watcher_leaves_a_commit_that_was_made_alone(team: TestRepo) -> None:
    """It ends with its git, and nothing changes."""
    team.git("commit", "-q", "-m", "x")
    wait(team)

    assert "" == team.git("status", "--porcelain", "-uall")
    assert 7 == len(team.git("show", "--name-only", "--format=", "HEAD").splitlines())


def test_nobody_waits_for_the_watcher(team: TestRepo) -> None:
    """It holds no stream of its caller: what reads a commit's output to the end does not wait for its editor's."""
    hook(team, "prepare-commit-msg", "touch .git/reached\nread line < .git/fifo\n")
    os.mkfifo(team.path / ".git" / "fifo")
    done = subprocess.Popen(["git", "commit", "-q", "-m", "x"], cwd=team.path, stderr=subprocess.PIPE)
    assert done.stderr is not None
    assert done.stderr.readline().startswith(b"git cortex: adds ")
    with open(team.path / ".git" / "fifo", "w") as file:
        file.write("go\n")
    done.communicate()

    assert 0 == done.returncode
    wait(team)


def test_a_commit_under_way_is_waited_for(team: TestRepo) -> None:
    """While git waits for its user nothing is taken back, whoever looks."""
    hook(team, "prepare-commit-msg", "touch .git/reached\nread line < .git/fifo\n")
    os.mkfifo(team.path / ".git" / "fifo")
    running = subprocess.Popen(["git", "commit", "-q", "-m", "x"], cwd=team.path, stderr=subprocess.PIPE)
    assert running.stderr is not None
    running.stderr.readline()
    team.run("status")
    assert 6 == len(left(team))
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    running.stderr.close()
    wait(team)

    assert [] == left(team)


def test_an_aborted_commit_in_a_linked_work_tree(team: TestRepo, tmp_path: Path) -> None:
    """Its own index is put right, and no other."""
    linked = TestRepo(tmp_path / "linked")
    team.git("worktree", "add", "-q", str(linked.path), "behind")
    linked.run("decide", "Use paper")
    linked.write({"f": "3\n"})
    linked.git("commit", "-qa", check=False, variables={"GIT_EDITOR": "false"})
    wait(linked)

    assert [] == left(linked)
    assert "M  f" == team.git("status", "--porcelain")


def test_a_merge_whose_commit_was_given_up_stays_a_merge(team: TestRepo) -> None:
    """Of what is in the index then nobody knows whose it is: it is left until the merge is concluded or given up."""
    team.git("commit", "-q", "-m", "x")
    team.git("switch", "-q", "behind")
    team.run("decide", "Use paper")
    team.commit({"f": "3\n"})
    team.git("merge", "-q", "main", check=False)
    team.write({"f": "4\n"})
    team.git("add", "f")
    team.git("commit", "-q", check=False, variables={"GIT_EDITOR": "false"})
    wait(team)
    assert "MERGE_HEAD" in os.listdir(team.path / ".git")
    team.git("commit", "-q", "--no-edit")

    assert "" == team.git("status", "--porcelain", "-uall")
    assert 3 == len(team.git("ls-files", ".cortex/decisions").splitlines())


def test_the_index_is_changed_only_as_it_was_seen(team: TestRepo) -> None:
    """Where another git command was faster nothing is lost; where it holds the lock it is not disturbed."""
    repo = require(str(team.path), os.environ)
    blob = team.git("rev-parse", "HEAD:g")
    entry = f"100644 {blob}\tnew\0".encode()
    seen = index.stamp(repo)
    team.write({"h": "1\n"})
    team.git("add", "h")
    with pytest.raises(index.Changed):
        index.change(repo, entry, seen)
    index.change(repo, entry, index.stamp(repo))
    lock = team.path / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(Exception, match=r"index\.lock is in the way"):
        index.change(repo, entry, index.stamp(repo))

    assert lock.exists()
    lock.unlink()
    assert ["f", "g", "h", "new"] == [name for name in team.git("ls-files").splitlines() if "/" not in name]
    assert [] == [name for name in os.listdir(team.path / ".git") if "cortex." in name]


def test_a_locked_index_only_delays_the_cleaning_up(team: TestRepo) -> None:
    """A lock that somebody left is not touched; once it is gone any hook or command cleans up."""
    lock = team.path / ".git" / "index.lock"
    hook(team, "commit-msg", f"touch {lock}\nexit 1\n")
    team.git("commit", "-q", "-m", "x", check=False)
    wait(team)
    assert lock.exists() and 6 == len(left(team))
    lock.unlink()
    unstage(require(str(team.path), os.environ), set())

    assert [] == left(team)
