"""Flows that must simply work, and reports about tools that commit generated files, each from start to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import TestRepo
from test_cases_merging import decisions, files_at, is_regenerated, start, untouched


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with a memory on main."""
    return start(repo)


def seen(repo: TestRepo, *arguments: str) -> list[str]:
    """The decisions that count here, each as often as it is listed."""
    return sorted(e["content"] for e in json.loads(repo.run("log", "--json", "--type", "decision", *arguments).out))


def squash(repo: TestRepo, branch: str) -> None:
    """Merge as a host does with the button for it."""
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--squash", branch)
    repo.git("commit", "-q", "-m", f"{branch} squashed")


def test_c55_a_recorded_event_changes_no_tracked_file(team: TestRepo) -> None:
    """Between commits the tree stays clean, so that nothing stands in the way of checkout, pull and rebase."""
    team.run("decide", "Use files")
    team.commit({"g": "1\n"})
    team.git("branch", "other", "HEAD~1")
    team.run("decide", "Use SQLite")
    team.run("learn", "Ports are taken")
    assert untouched(team)
    team.git("checkout", "-q", "other")
    team.git("pull", "-q", ".", "main")
    team.git("rebase", "-q", "main")

    assert untouched(team)


def test_c57_a_work_tree_at_an_old_commit_takes_nothing_back(team: TestRepo, tmp_path: Path) -> None:
    """A commit in a stale work tree brings its own items only, and merging it deletes none."""
    stale = TestRepo(tmp_path / "stale")
    team.git("worktree", "add", "-q", "-b", "stale", str(stale.path))
    for number in range(5):
        team.run("decide", f"Decision {number}")
        team.commit({f"g{number}": "1\n"})
    stale.run("decide", "From long ago")
    stale.commit({"h": "1\n"})
    assert ["From long ago"] == seen(stale)
    team.git("merge", "-q", "--no-edit", "stale")

    assert [*(f"Decision {number}" for number in range(5)), "From long ago"] == seen(team)
    assert 6 == decisions(team)
    assert untouched(team) and untouched(stale)


def test_c58_pushing_with_something_not_committed_yet(team: TestRepo, tmp_path: Path) -> None:
    """What was recorded after the last commit neither stops a push nor changes what is pushed."""
    TestRepo.make(tmp_path / "hub", "--bare")
    team.git("remote", "add", "origin", str(tmp_path / "hub"))
    team.commit({"g": "1\n"})
    team.run("decide", "Use SQLite")
    team.git("push", "-q", "origin", "main")

    assert team.git("rev-parse", "main") == team.git("ls-remote", "origin", "refs/heads/main").partition("\t")[0]
    assert untouched(team)


def test_c59_pages_that_lag_on_the_target_do_not_fail_a_pull_request(team: TestRepo) -> None:
    """The check says that they lag, and is red only for who asks for it."""
    team.git("switch", "-qc", "one")
    team.run("decide", "Use files")
    team.commit({"g": "1\n"})
    team.git("switch", "-q", "main")
    team.run("decide", "Use SQLite")
    team.commit({"h": "1\n"})
    team.git("merge", "-q", "--no-edit", "one")
    team.git("switch", "-qc", "untouched")
    team.commit({"i": "1\n"})
    result = team.run("verify")

    assert "it lags behind the items; the next commit on the default branch renders it" in result.out
    assert 1 == team.run("verify", "--strict", check=False).status


def test_c95_a_reviewer_needs_nothing_but_the_files(team: TestRepo) -> None:
    """What was decided, why, instead of what, by whom and where: all of it in plain words in the commit."""
    team.git("switch", "-qc", "one")
    team.run("decide", "Use SQLite", "--because", "zero configuration", "--over", "Postgres")
    team.commit({"g": "1\n"})
    (text,) = [data.decode() for path, data in files_at(team).items() if "use-sqlite" in path]

    assert 'Chosen option: "Use SQLite", because zero configuration' in text
    assert "- Postgres" in text and '- "Ada Author"' in text and 'branch: "one"' in text


def test_c97_decided_on_main_then_the_branch_is_made(team: TestRepo) -> None:
    """Known on the new branch at once, in its first commit, and on main after a squash merge, once."""
    team.run("decide", "Use SQLite", "--because", "zero configuration")
    team.git("switch", "-qc", "feature/store")
    assert ["Use SQLite"] == seen(team)
    team.commit({"g": "1\n"})
    assert 1 == decisions(team)
    squash(team, "feature/store")
    team.git("branch", "-D", "feature/store")

    assert ["Use SQLite"] == seen(team)
    assert 1 == decisions(team)
    team.commit({"h": "1\n"})
    assert ["Use SQLite"] == seen(team) and 1 == decisions(team)
    assert untouched(team) and is_regenerated(team)


def test_c98_before_the_first_commit(repo: TestRepo) -> None:
    """A decision made before any commit is on main, in the first one."""
    repo.run("init")
    repo.run("decide", "Use SQLite")
    repo.write({"f": "1\n"})
    repo.git("add", "f", ".cortex")
    repo.git("commit", "-q", "-m", "1")

    assert 1 == decisions(repo)
    assert ["Use SQLite"] == seen(repo)
    assert untouched(repo) and is_regenerated(repo)


def test_c99_stacked_branches(team: TestRepo) -> None:
    """The second sees both decisions at every step, and main ends with both, each once."""
    for name, text in (("one", "Use SQLite"), ("two", "Use WAL")):
        team.git("switch", "-qc", name)
        team.run("decide", text)
        team.commit({name: "1\n"})
    both = ["Use SQLite", "Use WAL"]
    assert both == seen(team)
    squash(team, "one")
    assert both[:1] == seen(team)
    team.git("switch", "-q", "two")
    team.git("rebase", "-q", "main")
    assert both == seen(team)
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "two")

    assert both == seen(team)
    assert 2 == decisions(team)
    assert untouched(team)


def test_c100_an_abandoned_branch(team: TestRepo) -> None:
    """Seen nowhere by default, found by name, and a new branch of that name starts clean."""
    team.git("switch", "-qc", "experiment")
    team.run("decide", "Use paper")
    team.commit({"g": "1\n"})
    team.git("switch", "-q", "main")
    team.git("branch", "-D", "experiment")

    assert [] == seen(team)
    assert ["Use paper"] == seen(team, "--all")
    assert "Use paper" in team.run("log", "--branch", "experiment").out
    team.git("switch", "-qc", "experiment")
    assert [] == seen(team)
    team.commit({"h": "1\n"})
    assert 0 == decisions(team)
    assert untouched(team)


def test_c101_a_reviewer_deletes_an_item(team: TestRepo) -> None:
    """Not active where the commit is, active where it is not; it stays away, and `show` says who removed it."""
    team.git("switch", "-qc", "one")
    team.run("decide", "Use paper")
    team.commit({"g": "1\n"})
    (event,) = json.loads(team.run("log", "--json", "--type", "decision").out)
    team.git("branch", "two")
    team.git("rm", "-q", next(path for path in files_at(team) if "use-paper" in path))
    team.git("commit", "-q", "-m", "No paper")
    assert [] == seen(team)
    team.commit({"h": "1\n"})
    assert 0 == decisions(team)
    team.git("switch", "-q", "two")
    assert ["Use paper"] == seen(team)
    team.git("merge", "-q", "--no-edit", "one")

    assert [] == seen(team)
    shown = team.run("show", event["id"]).out
    assert "Ada Author" in shown and "deleted in a commit" in shown
    assert untouched(team)


def test_c102_a_merge_is_reverted_and_its_revert_too(team: TestRepo) -> None:
    """Decisions of the merge do not count after the first and count after the second, with the same id."""
    team.git("switch", "-qc", "one")
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "--no-ff", "one")
    before = json.loads(team.run("log", "--json", "--type", "decision").out)
    team.git("revert", "--no-edit", "-m", "1", "HEAD")
    assert [] == seen(team)
    team.commit({"h": "1\n"})
    assert 0 == decisions(team)
    team.git("revert", "--no-edit", "HEAD~1")

    after = json.loads(team.run("log", "--json", "--type", "decision").out)
    assert [event["id"] for event in before] == [event["id"] for event in after]
    assert untouched(team)
