"""What kinds of commits bring items along, and that no state of index, folder or settings is made worse by it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from conftest import TestRepo
from test_cases_merging import decisions, is_regenerated, start, untouched


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with a memory, and a decision that the next full commit has to bring along."""
    start(repo)
    repo.write({"g": "1\n"})
    repo.git("add", "g")
    repo.git("commit", "-q", "-m", "g")
    repo.run("decide", "Use SQLite")
    return repo


def in_head(repo: TestRepo) -> int:
    """How many decisions stand in HEAD; what is at fault otherwise is said at once."""
    assert "" == repo.git("status", "--porcelain", "-uall", "--", ".cortex")
    assert "" == repo.git("fsck", "--strict", "--no-dangling")
    flags = {line[0] for line in repo.git("ls-files", "-v", "--", ".cortex").splitlines()}
    assert flags <= {"H"}, "skip-worktree and assume-unchanged are never set"
    return decisions(repo)


KINDS = {
    "-m x": 1,
    "-a -m x": 1,
    "-i g -m x": 1,
    "--amend --no-edit": 1,
    "--allow-empty -m x": 1,
    "-o g -m x": 0,
    "-m x g": 0,
    "--only --amend --no-edit": 0,
    "--no-verify -m x": 0,
    "-p -m x": 1,
    "--fixup=HEAD": 1,
    "--dry-run": 0,
}


SELDOM = {"-i g -m x", "-m x g", "--only --amend --no-edit", "-p -m x", "--fixup=HEAD", "--dry-run"}


@pytest.mark.parametrize(
    "options", [pytest.param(kind, marks=[pytest.mark.slow] if kind in SELDOM else []) for kind in KINDS], ids=str
)
def test_every_kind_of_commit(team: TestRepo, options: str) -> None:
    """Full commits bring items, partial ones leave them for the next, and nothing is staged or left over after it."""
    team.write({"f": "2\n", "g": "2\n"})
    team.git("add", "f")
    team.git("commit", "-q", *options.split(), input="y\n", check="dry" not in options)

    assert KINDS[options] == in_head(team)
    team.git("commit", "-q", "--allow-empty", "-m", "y")
    assert 1 == in_head(team)
    team.git("reset", "-q", "--hard")
    assert untouched(team) and is_regenerated(team)


def test_a_commit_from_another_index_brings_nothing(team: TestRepo) -> None:
    """A script that builds a commit in an index of its own gets what it staged; the real index stays right."""
    other = {"GIT_INDEX_FILE": str(team.path / ".git" / "other")}
    team.git("read-tree", "HEAD", variables=other)
    team.git("commit", "-q", "--allow-empty", "-m", "x", variables=other)

    assert 0 == in_head(team)
    team.git("commit", "-q", "--allow-empty", "-m", "y")
    assert 1 == in_head(team)


def test_a_commit_in_a_linked_work_tree_is_a_full_one(team: TestRepo, tmp_path: Path) -> None:
    """Its index lies elsewhere, and so does the one of `commit -a`."""
    linked = TestRepo(tmp_path / "linked")
    team.git("worktree", "add", "-q", "-b", "work", str(linked.path))
    linked.run("decide", "Use paper")
    linked.git("commit", "-q", "--allow-empty", "-m", "x")
    linked.run("decide", "Use ink")
    linked.write({"f": "2\n"})
    linked.git("commit", "-q", "-a", "-m", "x")

    # The decision that was open on main comes along, since this branch was made from there.
    assert 3 == in_head(linked)
    assert 0 == in_head(team)


def test_stashing_what_is_not_staged(team: TestRepo) -> None:
    """`git stash -k` around a commit, as linters of staged files do it."""
    team.write({"f": "2\n", "g": "2\n"})
    team.git("add", "f")
    team.git("stash", "-q", "-k")
    team.git("commit", "-q", "-m", "x")
    team.git("stash", "pop", "-q", check=False)

    assert 1 == in_head(team)


def test_an_item_that_somebody_means_to_add(team: TestRepo) -> None:
    """Entries of `git add -N` are in no commit: pages do not count them, and nothing fails."""
    name = ".cortex/decisions/2026-12-01-mine-0123456.md"
    team.write({name: "mine\n", ".cortex/learned/x.md": "x\n"})
    team.git("add", "-N", name)
    team.git("commit", "-q", "--allow-empty", "-m", "x")

    assert 1 == decisions(team)
    assert is_regenerated(team)
    assert f" A {name}" in team.git("status", "--porcelain", "-uall").splitlines()


def test_an_unmerged_index(team: TestRepo) -> None:
    """While files are in conflict git makes no commit, and no command of ours touches the index."""
    team.git("switch", "-qc", "other", "HEAD~1")
    team.commit({"g": "other\n"})
    team.run("decide", "Use paper")
    team.git("merge", "-q", "main", check=False)
    before = team.git("ls-files", "--stage")
    assert "\tg" in before
    team.git("commit", "-q", "-m", "x", check=False)
    team.run("status")

    assert before == team.git("ls-files", "--stage")
    team.git("checkout", "-q", "--ours", "g")
    team.git("add", "g")
    team.git("commit", "-q", "--no-edit")
    assert 1 == in_head(team)


def test_ignored_files_are_not_added(team: TestRepo) -> None:
    """As with `git add`: what the user told git to ignore is left out, and the log says so."""
    team.write({".gitignore": ".cortex/decisions/\n"})
    team.git("add", ".gitignore")
    team.git("commit", "-q", "-m", "x")

    assert 0 == in_head(team)
    assert "git ignores .cortex/decisions/" in (team.path / ".git" / "cortex" / "log").read_text()
    team.write({".gitignore": ""})
    team.git("commit", "-q", "-a", "-m", "y")
    assert 1 == in_head(team)


@pytest.mark.parametrize("kind", ["link", "file", "submodule", "gone", "elsewhere"])
def test_a_folder_that_is_none(team: TestRepo, kind: str, tmp_path: Path) -> None:
    """Where `.cortex` is something else, or was removed, commits are as without us, and nothing appears."""
    folder = team.path / ".cortex"
    team.git("rm", "-rq", ".cortex")
    shutil.rmtree(folder, ignore_errors=True)
    if kind == "link":
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "README.md").write_text("x\n")
        folder.symlink_to(tmp_path / "outside")
    elif kind == "file":
        folder.write_text("x\n")
    elif kind == "submodule":
        inner = TestRepo.make(tmp_path / "inner")
        inner.commit({"README.md": "x\n"})
        team.git("submodule", "add", "-q", str(inner.path), ".cortex")
    if kind != "gone":
        team.git("add", "-A")
    team.git("commit", "-q", "--allow-empty", "-m", "x")

    assert 0 == decisions(team)
    assert untouched(team)
    assert not (tmp_path / "outside" / "decisions").exists()
    assert "Use SQLite" in team.run("log").out


def test_a_sparse_checkout_without_the_folder(team: TestRepo) -> None:
    """A folder that is only not in the work tree is there: a commit brings items, and takes nothing out."""
    team.commit({"src/a": "1\n"})
    assert 1 == in_head(team)
    team.git("sparse-checkout", "set", "--cone", "src")
    assert not (team.path / ".cortex").exists()
    team.run("decide", "Use paper")
    team.git("commit", "-q", "--allow-empty", "-m", "x")

    assert 2 == decisions(team) and is_regenerated(team)
    assert untouched(team)
    team.git("sparse-checkout", "reapply")
    assert untouched(team) and not (team.path / ".cortex" / "decisions").exists()
    team.git("sparse-checkout", "disable")
    assert 2 == in_head(team)
    assert "" == team.git("status", "--porcelain")


def test_a_removed_folder_stays_removed_and_comes_back(team: TestRepo) -> None:
    """Removing it in a commit rejects nothing; with the folder back in a later commit the items are written again."""
    team.git("commit", "-q", "--allow-empty", "-m", "x")
    team.git("rm", "-rq", ".cortex")
    team.git("commit", "-q", "-m", "without")
    team.run("decide", "Use paper")
    team.git("commit", "-q", "--allow-empty", "-m", "y")
    assert "" == team.git("ls-files", ".cortex")
    team.git("revert", "--no-edit", "HEAD~1")
    team.git("commit", "-q", "--allow-empty", "-m", "z")

    assert 2 == in_head(team)


@pytest.mark.slow
def test_a_hundred_decisions_in_one_commit(team: TestRepo) -> None:
    """They take one line of the commit's output, one page for the reader, and no process of git for each."""
    for number in range(99):
        team.run("decide", f"Decision {number}")
    trace = team.path.parent / "trace"
    variables = {"GIT_TRACE2_EVENT": str(trace)}
    team.git("commit", "-q", "--allow-empty", "-m", "x", variables=variables)
    started = trace.read_text().count('"event":"start"')

    assert 100 == in_head(team)
    assert is_regenerated(team)
    assert 40 > started
    page = team.read(".cortex/decisions.md")
    assert 100 == page.count("](decisions/")
    assert os.path.getsize(team.path / ".cortex" / "briefing.md") < 8000
