"""Memory follows commits: what a branch sees, on real repositories with the real hooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import TestRepo


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with a memory whose folder is committed on main."""
    repo.commit({"f": "1\n"})
    repo.run("init")
    repo.git("add", "-A")
    repo.commit(message="Start a memory")
    return repo


def decide(repo: TestRepo, text: str) -> None:
    repo.run("decide", text)


def seen(repo: TestRepo, *arguments: str) -> set[str]:
    """What `log` shows of decisions and rejected approaches here."""
    out = repo.run("log", "--json", "--type", "decision", *arguments).out
    return {event["content"] for event in json.loads(out)}


def items(repo: TestRepo, rev: str = "HEAD") -> list[str]:
    return repo.git("ls-tree", "-r", "--name-only", rev, ".cortex/decisions").splitlines()


def clean(repo: TestRepo) -> bool:
    return repo.git("status", "--porcelain") == ""


def test_an_unmerged_branch_leaks_nothing(team: TestRepo) -> None:
    """What is decided on a branch is seen there, not on main, and on main after the merge."""
    team.git("switch", "-qc", "feature")
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    assert {"Use SQLite"} == seen(team)

    team.git("switch", "-q", "main")
    assert set() == seen(team)

    team.git("merge", "-q", "--no-edit", "feature")
    assert {"Use SQLite"} == seen(team)
    assert clean(team)


def test_a_commit_brings_its_items_along(team: TestRepo) -> None:
    """The commit holds the decision's file, and the work tree is clean afterwards."""
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})

    assert 1 == len(items(team))
    assert clean(team)


def test_the_last_words_on_a_branch_stay_when_it_is_gone(team: TestRepo) -> None:
    """What was said after a branch's last commit is seen on main once the branch was merged and deleted."""
    team.git("switch", "-qc", "feature")
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    decide(team, "Use WAL")
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "feature")
    assert {"Use SQLite"} == seen(team)

    team.git("branch", "-qd", "feature")

    assert {"Use SQLite", "Use WAL"} == seen(team)


def test_a_squash_merge_keeps_what_was_decided(team: TestRepo) -> None:
    """The committed file carries the decision when the branch's commits never reach main."""
    team.git("switch", "-qc", "feature")
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--squash", "feature")
    team.git("commit", "-qm", "Squashed")
    team.git("branch", "-qD", "feature")

    assert {"Use SQLite"} == seen(team)


def test_a_clone_without_notes_reads_the_items(team: TestRepo, tmp_path: Path) -> None:
    """Someone who clones the repository sees the team's decisions before any notes are fetched."""
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    other = TestRepo(tmp_path / "clone")
    team.git("clone", "-q", str(team.path), str(other.path))

    other.run("init")

    assert {"Use SQLite"} == seen(other)
    assert clean(other)


def test_deleting_an_item_rejects_it(team: TestRepo) -> None:
    """A decision whose file is deleted in a commit no longer counts, and no later commit brings it back."""
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("rm", "-q", *items(team))
    team.git("commit", "-qm", "We do not want this")
    assert set() == seen(team)

    team.commit({"h": "1\n"})

    assert ([], set()) == (items(team), seen(team))


def test_reverting_the_revert_brings_it_back(team: TestRepo) -> None:
    """A revert takes a decision back, the revert of the revert restores it."""
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("revert", "--no-edit", "HEAD")
    assert set() == seen(team)

    team.git("revert", "--no-edit", "HEAD")

    assert {"Use SQLite"} == seen(team)


@pytest.mark.parametrize("rewrite", ["amend", "rebase"])
def test_a_rewritten_commit_keeps_its_memory(team: TestRepo, rewrite: str) -> None:
    """Amending or rebasing the commit a decision is tied to loses nothing and leaks nothing."""
    team.git("switch", "-qc", "feature")
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    if rewrite == "amend":
        team.git("commit", "-q", "--amend", "-m", "Better")
    else:
        team.git("switch", "-q", "main")
        team.commit({"h": "1\n"})
        team.git("switch", "-q", "feature")
        team.git("rebase", "-q", "main")
    team.git("switch", "-q", "main")
    assert set() == seen(team)

    team.git("merge", "-q", "--ff-only", "feature")

    assert {"Use SQLite"} == seen(team)
    assert clean(team)


def test_what_was_said_before_the_branch_was_made_goes_with_it(team: TestRepo) -> None:
    """A decision made on main just before `git switch -c` is seen on the new branch and still on main."""
    decide(team, "Use SQLite")
    team.git("switch", "-qc", "feature")
    assert {"Use SQLite"} == seen(team)

    team.git("switch", "-q", "main")

    assert {"Use SQLite"} == seen(team)


def test_a_renamed_branch_keeps_its_memory(team: TestRepo) -> None:
    """`git branch -m` changes a name and nothing else."""
    team.git("switch", "-qc", "feature")
    decide(team, "Use SQLite")

    team.git("branch", "-m", "storage")

    assert {"Use SQLite"} == seen(team)


def test_a_copied_branch_sees_what_its_original_sees(team: TestRepo) -> None:
    """`git branch -c` copies the memory, and from then on the two go their own ways."""
    team.git("switch", "-qc", "feature")
    decide(team, "Use SQLite")
    team.git("branch", "-c", "feature", "twin")
    team.git("switch", "-q", "twin")
    decide(team, "Use WAL")
    assert {"Use SQLite", "Use WAL"} == seen(team)

    team.git("switch", "-q", "feature")

    assert {"Use SQLite"} == seen(team)


def test_a_name_that_is_used_again_starts_empty(team: TestRepo) -> None:
    """A new branch does not inherit from a deleted one that had the same name."""
    team.git("switch", "-qc", "feature")
    decide(team, "Use SQLite")
    team.git("switch", "-q", "main")
    team.git("branch", "-qD", "feature")

    team.git("switch", "-qc", "feature")

    assert set() == seen(team)


def test_what_is_merged_to_the_default_branch_is_accepted(team: TestRepo) -> None:
    """What an assistant decided by itself is proposed on its branch, and accepted where it was merged."""
    team.git("switch", "-qc", "feature")
    team.run("decide", "Use SQLite", variables={"CLAUDE_CODE_SESSION_ID": "s1"})
    team.run("reject", "Use Redis", variables={"CLAUDE_CODE_SESSION_ID": "s1"})
    team.commit({"g": "1\n"})

    def statuses() -> dict[str, str]:
        return {event["content"]: event["status"] for event in json.loads(team.run("log", "--json").out)}

    assert {"Use SQLite": "proposed", "Use Redis": "rejected"} == statuses()
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "feature")

    assert {"Use SQLite": "accepted", "Use Redis": "rejected"} == statuses()
    assert "[accepted, " in team.read(".claude/rules/cortex-briefing.md")


def test_pages_of_two_clones_do_not_conflict(team: TestRepo, tmp_path: Path) -> None:
    """Two people who record on main can pull from each other; the merge has the pages of both."""
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    mate = TestRepo(tmp_path / "mate")
    team.git("clone", "-q", str(team.path), str(mate.path))
    mate.run("init")
    for repo, text, name in ((team, "Use WAL", "h"), (mate, "Use FTS5", "i")):
        decide(repo, text)
        repo.commit({name: "1\n"})

    mate.git("pull", "-q", "--no-rebase", "--no-edit")
    assert {"Use SQLite", "Use WAL", "Use FTS5"} == seen(mate)
    assert clean(mate)
    assert "Next commit: brings nothing" in mate.run("status").out

    page = mate.read(".cortex/decisions.md")
    assert [] == [text for text in ("Use SQLite", "Use WAL", "Use FTS5") if text not in page]
    assert "0 errors, 0 notices" in mate.run("verify").out


def test_facts_of_two_branches_merge_without_conflict(team: TestRepo) -> None:
    """A fact that was learned before a branch was made, and one on each side after, are all there after the merge."""
    team.run("learn", "Fact one")
    team.git("switch", "-qc", "feature")
    team.run("learn", "Fact two")
    team.commit({"g": "1\n"})
    team.git("switch", "-q", "main")
    team.run("learn", "Fact three")
    team.commit({"h": "1\n"})

    team.git("merge", "-q", "--no-edit", "feature")

    found = {event["content"] for event in json.loads(team.run("log", "--json", "--type", "learned").out)}
    assert {"Fact one", "Fact two", "Fact three"} == found
    assert clean(team)


def test_a_plan_that_was_dropped_is_gone_for_everybody(team: TestRepo) -> None:
    """The next commit takes the file of a dropped plan out, so that no clone follows it."""
    team.run("plan", "Ship it", "build", "test")
    team.commit({"g": "1\n"})
    assert 1 == len(team.git("ls-files", ".cortex/plans").splitlines())

    team.run("plan", "drop")
    team.commit({"h": "1\n"})

    assert "" == team.git("ls-files", ".cortex/plans")
    assert clean(team)


def test_a_new_memory_brings_no_empty_pages(team: TestRepo) -> None:
    """Until something is recorded there is no page that says that nothing is."""
    team.run("project", "--check")
    team.commit({"g": "1\n"})

    pages = [name for name in team.git("ls-files", ".cortex").splitlines() if name.endswith(".md")]
    assert [".cortex/README.md"] == pages


def test_a_reviewer_can_bring_an_item_back(team: TestRepo) -> None:
    """What a user stages is committed as it is, also if it is an item that we staged once."""
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("revert", "--no-edit", "HEAD")
    team.git("checkout", "HEAD~1", "--", ".cortex/decisions")

    team.git("commit", "-qm", "Back again")

    assert 1 == len(items(team))
    assert {"Use SQLite"} == seen(team)


def test_any_command_puts_back_what_an_aborted_commit_left(team: TestRepo) -> None:
    """After a commit that failed, pages that it had rendered do not stand in the way of a switch."""
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("branch", "other", "HEAD~1")
    decide(team, "Use WAL")
    team.write({"g": "2\n"})
    team.git("commit", "-qa", check=False, variables={"GIT_EDITOR": "false"})
    team.git("reset", "-q", "g")
    team.git("checkout", "-q", "g")

    team.run("status")

    assert clean(team)
    team.git("switch", "-q", "other")


def test_an_aborted_commit_leaves_nothing_behind(team: TestRepo) -> None:
    """An item staged for a commit that was aborted does not land on another branch."""
    team.git("switch", "-qc", "feature")
    decide(team, "Use SQLite")
    team.write({"g": "1\n"})
    team.git("add", "g")
    team.git("commit", "-q", check=False, variables={"GIT_EDITOR": "false"})
    team.git("stash", "-q", "--", "g")

    team.git("switch", "-q", "main")
    team.commit({"h": "1\n"})

    assert [] == items(team)


def test_a_partial_commit_takes_no_items(team: TestRepo) -> None:
    """`git commit PATH` commits that path alone; the next full commit brings the item."""
    decide(team, "Use SQLite")
    team.write({"f": "2\n"})
    team.git("commit", "-qm", "Only f", "f")
    assert [] == items(team)

    team.commit({"g": "1\n"})

    assert 1 == len(items(team))
    assert {"Use SQLite"} == seen(team)


def test_events_on_an_unborn_branch_are_kept(repo: TestRepo) -> None:
    """Before the first commit a memory works like any other."""
    repo.run("init")
    decide(repo, "Use SQLite")
    repo.git("add", "-A")

    repo.commit({"f": "1\n"})

    assert {"Use SQLite"} == seen(repo)
    assert 1 == len(items(repo))


def test_a_detached_head_sees_its_own_and_what_its_history_holds(team: TestRepo) -> None:
    """What is decided on a detached HEAD is seen at that commit and not on main."""
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("checkout", "-q", "--detach", "HEAD")
    decide(team, "Try Redis")
    assert {"Use SQLite", "Try Redis"} == seen(team)

    team.git("switch", "-q", "main")

    assert {"Use SQLite"} == seen(team)


def test_abandoned_work_is_not_seen_after_a_reset(team: TestRepo) -> None:
    """A branch that was reset before it was merged brings nothing to main."""
    team.git("switch", "-qc", "feature")
    decide(team, "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("reset", "-q", "--hard", "main")
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "feature")

    assert set() == seen(team)


def test_plans_do_not_cross(team: TestRepo) -> None:
    """A plan belongs to its branch, also after the merge."""
    team.git("switch", "-qc", "feature")
    team.run("plan", "Ship it", "build", "test")
    team.commit({"g": "1\n"})
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "feature")

    assert [] == json.loads(team.run("log", "--json", "--type", "plan").out)


def test_a_branch_that_has_not_adopted_the_folder_gets_no_files(team: TestRepo) -> None:
    """On an orphan branch without `.cortex/` a commit succeeds and nothing appears in it."""
    team.git("checkout", "-q", "--orphan", "other")
    team.git("rm", "-qrf", ".")
    decide(team, "Use SQLite")

    team.commit({"x": "1\n"})

    assert "x" == team.git("ls-files")
    assert clean(team)


def test_a_linked_work_tree_records_under_its_own_branch(team: TestRepo) -> None:
    """Two work trees of one repository keep their branches' memories apart."""
    team.git("worktree", "add", "-q", "-b", "other", "../linked")
    linked = TestRepo(team.path.parent / "linked")
    decide(linked, "Use SQLite")
    linked.commit({"g": "1\n"})

    assert ({"Use SQLite"}, set()) == (seen(linked), seen(team))
    assert 1 == len(items(linked))
