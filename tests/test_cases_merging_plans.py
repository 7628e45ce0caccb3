"""Plans of several people on one branch: no conflict, and one plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import TestRepo
from test_cases_merging import start, untouched


@pytest.fixture
def pair(repo: TestRepo, tmp_path: Path) -> tuple[TestRepo, TestRepo]:
    """Two clones on one branch with a memory, without notes of each other."""
    start(repo)
    repo.git("switch", "-qc", "feature")
    mate = TestRepo(tmp_path / "mate")
    repo.git("clone", "-q", str(repo.path), str(mate.path))
    mate.run("init")
    return repo, mate


def pull(repo: TestRepo, other: TestRepo) -> None:
    """Merge the branch as the other one has it."""
    repo.git("pull", "-q", "--no-rebase", "--no-edit", str(other.path), "feature")


def plan_of(repo: TestRepo) -> tuple[str, list[bool]]:
    """Title of the plan here, and which of its steps are done."""
    shown = json.loads(repo.run("plan", "--json").out)
    return shown["title"], [step["done"] for step in shown["steps"]]


def plan_files(repo: TestRepo) -> list[str]:
    """The files of plans in HEAD."""
    return repo.git("ls-tree", "-r", "--name-only", "HEAD", ".cortex/plans").splitlines()


def test_two_people_with_a_plan_each_do_not_conflict(pair: tuple[TestRepo, TestRepo]) -> None:
    """Both plans are in the merge; the newer one is the branch's, for both people, and the older one's file goes."""
    for repo, title in zip(pair, ("Mine", "Yours"), strict=True):
        repo.run("plan", title, "one", "two")
        repo.commit({title: "1\n"})
    team, mate = pair
    pull(team, mate)

    assert 2 == len(plan_files(team)) and untouched(team)
    assert ("Yours", [False, False]) == plan_of(team)
    team.commit({"more": "1\n"})
    assert 1 == len(plan_files(team)) and untouched(team)
    pull(mate, team)
    assert ("Yours", [False, False]) == plan_of(mate)
    assert untouched(mate)


def test_two_people_tick_one_plan_without_conflict(pair: tuple[TestRepo, TestRepo]) -> None:
    """Steps done in two clones are all done after the merge."""
    team, mate = pair
    team.run("plan", "Ours", "one", "two", "three")
    team.commit({"f": "2\n"})
    pull(mate, team)
    assert ("Ours", [False, False, False]) == plan_of(mate)
    mate.run("plan", "done", "2")
    mate.commit({"g": "1\n"})
    team.run("plan", "done", "3")
    team.commit({"h": "1\n"})
    pull(team, mate)
    pull(mate, team)

    assert ("Ours", [False, True, True]) == plan_of(team) == plan_of(mate)
    assert "0 errors" in team.run("verify").out
    assert untouched(team) and untouched(mate)
    team.run("plan", "drop")
    team.commit({"i": "1\n"})
    assert [] == plan_files(team)
    assert untouched(team)


def test_a_plan_counts_on_its_branch_only(pair: tuple[TestRepo, TestRepo]) -> None:
    """Not on main after a merge, not on a new branch of the same name; a renamed branch keeps it in one file."""
    team, _ = pair
    team.run("plan", "Ours", "one", "two")
    team.commit({"g": "1\n"})
    team.git("branch", "-m", "renamed")
    team.run("plan", "done", "one")
    team.commit({"g": "2\n"})
    team.commit({"g": "3\n"})
    (name,) = plan_files(team)
    assert name.startswith(".cortex/plans/renamed-")
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "renamed")
    assert "null" == team.run("plan", "--json").out.strip()
    team.git("branch", "-d", "renamed")
    team.git("switch", "-qc", "feature")

    assert "null" == team.run("plan", "--json").out.strip()
    team.git("switch", "-qc", "renamed")
    assert "null" == team.run("plan", "--json").out.strip()
    team.commit({"h": "1\n"})
    assert [name] == plan_files(team)
    assert untouched(team)


def test_a_plan_made_on_main_is_followed_on_the_branch_made_for_it(pair: tuple[TestRepo, TestRepo]) -> None:
    """It stands in a file that says whose plan it is, so that a mate without notes follows it there."""
    team, mate = pair
    team.git("switch", "-q", "main")
    team.run("plan", "Ours", "one")
    team.git("switch", "-qc", "work")
    team.commit({"g": "1\n"})
    mate.git("fetch", "-q", "origin")
    mate.git("switch", "-q", "work")

    assert ("Ours", [False]) == plan_of(mate)
    mate.commit({"h": "1\n"})
    assert plan_files(team) == plan_files(mate)


def test_commits_that_move_a_plan_on_can_be_picked_and_reordered(pair: tuple[TestRepo, TestRepo]) -> None:
    """A commit that completes a step applies where no plan is, and in any order; nothing of it piles up."""
    team, _ = pair
    team.run("plan", "Ours", "one", "two", "three")
    for number in range(4):
        team.commit({f"g{number}": "1\n"})
        team.run("plan", "done", check=False)
    team.commit({"g4": "1\n"})
    editor = {"GIT_SEQUENCE_EDITOR": "sed -i '1!G;h;$!d'"}
    team.git("branch", "reordered", "HEAD~1")
    team.git("switch", "-q", "main")
    team.git("cherry-pick", "feature~2")
    assert "null" == team.run("plan", "--json").out.strip()
    team.git("switch", "-q", "reordered")
    team.git("rebase", "-q", "-i", "main~1", variables=editor)
    assert untouched(team)
    team.git("switch", "-q", "feature")

    assert ("Ours", [True, True, True]) == plan_of(team)
    assert 1 == len(plan_files(team))
    assert untouched(team)
