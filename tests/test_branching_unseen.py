"""Branches that were made where no hook of ours ran."""

from __future__ import annotations

import json

import pytest
from conftest import TestRepo
from corrections import shown, start

OFF = {"CORTEX_DISABLE": "1"}


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A memory whose folder is committed, with real hooks."""
    return start(repo)


def written(repo: TestRepo) -> str:
    """The names of the decisions' files in the last commit."""
    return repo.git("ls-tree", "-r", "--name-only", "HEAD", ".cortex/decisions")


@pytest.mark.parametrize("first", ["command", "commit", "no-verify", "recording"])
def test_what_was_open_goes_along_though_no_hook_saw_the_branch_made(ready: TestRepo, first: str) -> None:
    """The next command or commit carries over what was said before the branch was made, as the hook would have."""
    ready.run("decide", "Use SQLite")
    ready.git("switch", "-qc", "zz", variables=OFF)
    if first == "command":
        assert {"Use SQLite"} == {event["content"] for event in coming(ready)}
    elif first == "recording":
        ready.run("decide", "Use Redis")
        assert {"Use SQLite", "Use Redis"} == {event["content"] for event in coming(ready)}
    elif first == "no-verify":
        ready.write({"g": "0\n"})
        ready.git("add", "g")
        ready.git("commit", "-qm", "In haste", "--no-verify")
    ready.commit({"h": "1\n"})
    assert "use-sqlite" in written(ready)
    assert 0 == json.loads(ready.run("status", "--json").out)["uncommitted"]

    ready.git("switch", "-q", "main")
    assert {"Use SQLite"} == shown(ready)


def test_nothing_is_carried_twice_nor_to_a_branch_that_came_from_elsewhere(ready: TestRepo) -> None:
    """What main says after the branch was seen stays on main."""
    ready.git("switch", "-qc", "zz", variables=OFF)
    ready.run("status")
    ready.git("switch", "-q", "main")
    ready.run("decide", "Use SQLite")
    ready.git("switch", "-q", "zz", variables=OFF)
    assert set() == shown(ready)


def test_status_says_what_the_next_commit_leaves(ready: TestRepo) -> None:
    """Preferences and tasks get no file, and what another branch said is brought by that branch."""
    ready.run("add", "preference", "Short functions")
    ready.run("add", "task", "Wrote the parser")
    ready.run("decide", "Use SQLite")
    out = ready.run("status").out
    assert "Not in a commit yet: 3 (0 private)\n" in out
    assert "of them the next commit on this branch does not bring: 1 preference, 1 task done\n" in out


def coming(repo: TestRepo) -> list[dict[str, str]]:
    """What the next commit brings."""
    found: list[dict[str, str]] = json.loads(repo.run("status", "--json").out)["next_commit"]["events"]
    return found
