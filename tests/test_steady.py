"""A commit to which no memory belongs passes at once, and whatever may belong to one is never passed over."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, TestRepo
from formats import FORMAT

from cortex_git.store import keys

pytestmark = pytest.mark.skipif(FORMAT == "reftable", reason="where refs are in tables the hooks always run in full")


class Commits:
    """Plain commits with the real hooks, and the git processes that these start."""

    def __init__(self, repo: TestRepo, trace: Path) -> None:
        self.repo = repo
        self._trace = trace
        self._number = 0

    def one(self, *options: str, **variables: str) -> list[str]:
        """Make a commit of one changed file; returns what our hooks asked git."""
        self._number += 1
        self.repo.write({"code.txt": f"{self._number}\n"})
        self.repo.git("add", "code.txt")
        self._trace.unlink(missing_ok=True)
        traced = {**self.repo.dates(), **variables, "GIT_TRACE2_EVENT": str(self._trace)}
        self.repo.git("commit", "--quiet", *options, "-m", "A change", variables=traced)
        events = [json.loads(line) for line in self._trace.read_text().splitlines()]
        started = [event["argv"] for event in events if event["event"] == "start"]
        return [argv[argv.index("--no-optional-locks") + 1] for argv in started if "--no-optional-locks" in argv]

    def until_idle(self) -> None:
        """Commit until there is nothing left to do; times that are too young to prove anything need a second one."""
        for _ in range(5):
            if self.one() == ["diff-tree"]:
                return
        raise AssertionError("commits without memory never become idle")


@pytest.fixture
def commits(repo: TestRepo, tmp_path: Path) -> Commits:
    """A repository with hooks, a decision, and a few commits since."""
    repo.commit({"code.txt": "0\n"})
    repo.run("init", "--yes", "--no-plugin")
    repo.git("add", ".cortex")
    repo.run("decide", "Use SQLite for storage", "--reason", "one writer")
    made = Commits(repo, tmp_path / "trace")
    made.until_idle()
    return made


def _anchors(repo: TestRepo) -> list[str]:
    ref = keys.ref(keys.SHARED, keys.key_of_name("main"), repo.git("config", "cortex.clone"))
    return repo.git("log", "--format=%(trailers:key=Cortex-Commit,valueonly)", ref).split()


def test_an_idle_commit_starts_one_git(commits: Commits) -> None:
    """Both hooks together ask git once: whether the folder was touched."""
    assert [commits.one() for _ in range(3)] == [["diff-tree"]] * 3


def test_what_is_kept_is_good_after_idle_commits(commits: Commits) -> None:
    """The branch sees the same after them, the next decision is in the next commit and tied to that one."""
    repo = commits.repo
    for _ in range(3):
        commits.one()
    assert "SQLite" in repo.run("log").out
    repo.run("decide", "Use Redis for sessions")
    assert len(commits.one()) > 1
    head = repo.git("rev-parse", "HEAD")
    assert "use-redis" in repo.git("show", "--name-only", "--format=", head)
    assert _anchors(repo)[0] == head
    commits.until_idle()
    assert "Redis" in repo.run("log").out


def test_a_decision_after_idle_commits_is_of_the_commit_that_follows(commits: Commits) -> None:
    """What was decided after a commit that passed is never tied to that one."""
    repo = commits.repo
    commits.one()
    passed = repo.git("rev-parse", "HEAD")
    repo.run("decide", "Use Redis for sessions")
    repo.git("switch", "--quiet", "-c", "topic")
    commits.one()
    assert passed not in _anchors(repo)


def test_an_item_that_a_commit_deletes_is_retracted(commits: Commits) -> None:
    """A commit that takes an item out is no idle one."""
    repo = commits.repo
    item = repo.git("ls-files", ".cortex/decisions").splitlines()[0]
    repo.git("rm", "--quiet", item)
    assert len(commits.one()) > 1
    shown = (repo.path / ".git/cortex/view" / f"briefing-{keys.key_of_name('main')}.json").read_text()
    assert "SQLite" not in shown


def _waiting(repo: TestRepo) -> None:
    record = f"cortex-spool 1\nagent claude\nevent Stop\nworktree {repo.path}\nhead ref: refs/heads/main\n\n{{}}"
    (repo.path / ".git/cortex/spool/r.1").write_text(record)


def _settings(repo: TestRepo) -> None:
    repo.git("config", "user.name", "Somebody Else")


def _page(repo: TestRepo) -> None:
    (repo.path / ".cortex/decisions.md").write_text("mine\n")


def _packed(repo: TestRepo) -> None:
    repo.git("pack-refs", "--all")


def _branch(repo: TestRepo) -> None:
    repo.git("switch", "--quiet", "-c", "topic")


def _damaged(repo: TestRepo) -> None:
    path = repo.path / ".git/cortex/cache/steady"
    path.write_text(path.read_text()[:-3])


def _fetched(repo: TestRepo) -> None:
    repo.git(
        "update-ref", keys.ref(keys.SHARED, keys.key_of_name("main"), repo.git("config", "cortex.clone")), "HEAD~1"
    )


@pytest.mark.parametrize("change", [_waiting, _settings, _page, _packed, _branch, _damaged, _fetched])
def test_whatever_differs_makes_hooks_look(commits: Commits, change: Callable[[TestRepo], None]) -> None:
    """A payload that waits, settings, a page, refs, another branch: after each the hooks run in full."""
    change(commits.repo)
    assert len(commits.one()) > 1


def test_no_commit_of_a_session_and_no_amended_one_is_idle(commits: Commits) -> None:
    """A session's commit is noted, and an amended one may have taken an item away."""
    assert len(commits.one(CLAUDE_CODE_SESSION_ID="s")) > 1
    commits.until_idle()
    assert len(commits.one("--amend")) > 1


def test_a_copied_repository_looks_for_itself(commits: Commits, tmp_path: Path) -> None:
    """What was written down for one folder says nothing of its copy."""
    shutil.copytree(commits.repo.path, tmp_path / "copy", symlinks=True)
    copy = Commits(TestRepo(tmp_path / "copy"), tmp_path / "copy-trace")
    assert len(copy.one()) > 1


def test_idle_hooks_load_next_to_nothing(commits: Commits) -> None:
    """Neither JSON nor regular expressions are loaded for a commit to which nothing belongs."""
    import subprocess
    import sys

    script = str(ROOT / "cortex_git" / "hookmain.py")
    command = [sys.executable, "-I", "-S", "-X", "importtime", script, "git", "pre-commit"]
    done = subprocess.run(command, cwd=commits.repo.path, capture_output=True, text=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "cortex_git.store.steady" in loaded
    assert not loaded & {"json", "re", "cortex_git.memory", "cortex_git.store.repo"}
