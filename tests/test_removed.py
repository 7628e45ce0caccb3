"""What commits took out of the folder is known of any commit, from whichever one was looked at before."""

from __future__ import annotations

import itertools
import os
import random
import shutil
from pathlib import Path

from conftest import TestRepo

from cortex_git.env import Env
from cortex_git.memory import Memory
from cortex_git.store.gitcli import GitBackend
from cortex_git.store.held import FOLDERS
from cortex_git.store.reach import reachable
from cortex_git.store.removed import removed
from cortex_git.store.repo import require

PATHS = [f"{folder}/{name}.md" for folder in FOLDERS for name in "abc"]


def _by_hand(repo: TestRepo, commit: str) -> set[str]:
    """The paths that some commit in the history has in its tree and the commit has not, tree by tree."""
    there = {
        at: set(repo.git("ls-tree", "-r", "--name-only", at).split()) for at in repo.git("rev-list", commit).split()
    }
    return {path for path in set().union(*there.values()) - there[commit] if path.startswith(FOLDERS)}


def _grow(repo: TestRepo, rng: random.Random, steps: int) -> list[str]:
    """Commits on several branches that add, take out, move and merge files, also with one side's tree alone."""
    commits = [repo.commit({"README": "x\n", PATHS[0]: "0\n"})]
    for number in range(steps):
        action = rng.random()
        if action < 0.25:
            repo.git("checkout", "--quiet", "-B", f"side-{number % 3}", rng.choice(commits))
        elif action < 0.5:
            strategy = rng.choice(["ours", "ort"])
            repo.git("merge", "--quiet", "--no-edit", "--strategy", strategy, rng.choice(commits), check=False)
            if repo.git("ls-files", "--unmerged"):
                repo.git("merge", "--abort")
        elif action < 0.75:
            repo.commit({rng.choice(PATHS): f"{number}\n"})
        else:
            repo.git("rm", "--quiet", "--ignore-unmatch", rng.choice(PATHS))
            repo.git("commit", "--quiet", "--allow-empty", "-m", "Out", variables=repo.dates())
        commits.append(repo.git("rev-parse", "HEAD"))
    return commits


def test_removed_files_are_those_that_no_tree_in_between_explains(repo: TestRepo) -> None:
    """Over random histories the answer is what looking at every tree gives, whatever was asked before."""
    for seed in range(2):
        rng = random.Random(seed)
        repo.git("checkout", "--quiet", "--orphan", f"start-{seed}")
        commits = _grow(repo, rng, 25)
        repo.run("init", "--yes", "--no-plugin")
        kept = require(str(repo.path), os.environ)
        asked = dict.fromkeys(rng.sample(commits, 15))
        assert {commit: removed(kept, commit, FOLDERS) for commit in asked} == {
            commit: _by_hand(repo, commit) for commit in asked
        }


def test_what_a_history_held_follows_from_another_commit(repo: TestRepo) -> None:
    """Over random histories the files that a commit's past has held are the same, whichever commit was asked before."""
    rng = random.Random(11)
    commits = _grow(repo, rng, 30)
    repo.run("init", "--yes", "--no-plugin")
    kept = require(str(repo.path), os.environ)
    memory = Memory(Env.of_process(), kept, GitBackend(kept))
    for head in itertools.islice(itertools.cycle(rng.sample(commits, 12)), 30):
        found = memory.held(head)
        shutil.rmtree(os.path.join(kept.home, "cache"))
        assert found == memory.held(head)


def test_what_a_head_reaches_follows_from_another_head(repo: TestRepo) -> None:
    """Over random histories a head reaches what git names, whichever head was asked before."""
    rng = random.Random(5)
    commits = _grow(repo, rng, 30)
    repo.run("init", "--yes", "--no-plugin")
    kept = require(str(repo.path), os.environ)
    backend = GitBackend(kept)
    known: set[str] = {"0" * len(commits[0])}
    for head in itertools.islice(itertools.cycle(rng.sample(commits, 16)), 40):
        known |= set(rng.sample(commits, 3))
        repo.git("reset", "--quiet", "--hard", head)
        assert reachable(kept, backend, head, known) == set(repo.git("rev-list", head).split()) & known


def test_a_history_that_grows_deeper_is_read_anew(repo: TestRepo, tmp_path: Path) -> None:
    """What was cut off a shallow clone and fetched later is known of then."""
    repo.commit({PATHS[0]: "0\n"})
    first = repo.git("rev-parse", "HEAD")
    repo.git("rm", "--quiet", PATHS[0])
    repo.commit()
    repo.commit({"a.txt": "a\n"})
    repo.git("clone", "--quiet", "--depth", "1", f"file://{repo.path}", str(tmp_path / "shallow"))
    clone = TestRepo(tmp_path / "shallow")
    clone.run("init", "--yes", "--no-plugin")
    kept = require(str(clone.path), os.environ)
    head = clone.git("rev-parse", "HEAD")
    assert (removed(kept, head, FOLDERS), reachable(kept, GitBackend(kept), head, {first})) == (set(), set())
    clone.git("fetch", "--quiet", "--unshallow")
    assert removed(kept, head, FOLDERS) == {PATHS[0]}
    assert reachable(kept, GitBackend(kept), head, {first}) == {first}
