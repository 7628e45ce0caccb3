"""Flows that must simply work: rewriting, abandoning, reviewing, coming back after months."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import TestRepo

from cortex_git.store import spool


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with a memory whose folder is committed on main, and a bare hub that it is shared with."""
    repo.commit({"f": "1\n"})
    repo.run("init")
    repo.git("add", "-A")
    repo.commit(message="Start a memory")
    repo.git("init", "-q", "--bare", "../hub")
    repo.git("remote", "add", "origin", "../hub")
    repo.git("push", "-q", "-u", "origin", "main")
    return repo


def clone(team: TestRepo, name: str) -> TestRepo:
    """Another clone of the hub, with a memory."""
    made = TestRepo(team.path.parent / name)
    team.git("clone", "-q", str(team.path.parent / "hub"), str(made.path))
    made.run("init")
    return made


def sync(*repos: TestRepo) -> None:
    """Each sends what it has, and then each has what the others sent."""
    for repo in (*repos, *repos):
        repo.git("config", "remote.origin.cortexShare", "true")
        repo.run("sync")
        repo.git("config", "--unset", "remote.origin.cortexShare")


def seen(repo: TestRepo, *arguments: str) -> set[str]:
    """The decisions that count, as `log` shows them."""
    out = repo.run("log", "--json", "--type", "decision", *arguments).out
    return {event["content"] for event in json.loads(out) if event["status"] in ("accepted", "proposed")}


def items(repo: TestRepo, rev: str = "HEAD") -> list[str]:
    return repo.git("ls-tree", "-r", "--name-only", rev, ".cortex/decisions").splitlines()


def branch_with(repo: TestRepo, name: str, text: str, file: str) -> None:
    """A new branch with a decision and the commit that belongs to it."""
    repo.git("switch", "-qc", name)
    repo.run("decide", text)
    repo.commit({file: "1\n"})


def test_a_replayed_commit_is_no_event(team: TestRepo) -> None:
    """A rebase of several commits records no commit anew, and the branch keeps what it knew (C40, C46)."""
    branch_with(team, "feature", "Use SQLite", "g")
    for number in range(4):
        team.commit({f"g{number}": "1\n"})
    team.git("switch", "-q", "main")
    team.commit({"h": "1\n"})
    team.git("switch", "-q", "feature")
    before = [event["id"] for event in json.loads(team.run("log", "--json", "--type", "commit").out)]

    team.git("rebase", "-q", "main")

    after = [event["id"] for event in json.loads(team.run("log", "--json", "--type", "commit").out)]
    assert (before, {"Use SQLite"}, []) == (after, seen(team), items(team, "main"))


def test_a_squash_merge_survives_the_end_of_all_that_it_came_from(team: TestRepo) -> None:
    """After a squash merge, deletion, expiry, gc and prune of notes everything is still there (C42)."""
    branch_with(team, "feature", "Use SQLite", "g")
    team.run("decide", "Use WAL")
    team.commit({"h": "1\n"})
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--squash", "feature")
    team.git("commit", "-qm", "Squashed")
    team.git("branch", "-qD", "feature")
    team.git("reflog", "expire", "--expire=now", "--all")
    team.git("gc", "-q", "--prune=now")
    for ref in team.git("for-each-ref", "--format=%(refname)", "refs/notes/").splitlines():
        team.git("notes", f"--ref={ref}", "prune")

    assert {"Use SQLite", "Use WAL"} == seen(team)
    assert "" == team.git("fsck", "--no-dangling")


@pytest.mark.parametrize("how", ["--rebase", "--no-rebase"])
def test_a_pull_after_a_rejected_push_keeps_the_link(team: TestRepo, how: str) -> None:
    """What was decided stays tied to the commit that a pull made of it, for other branches to find (C44, C47)."""
    mate = clone(team, "mate")
    mate.commit({"h": "1\n"})
    mate.git("push", "-q")
    team.run("add", "preference", "Tabs")
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})

    team.git("pull", "-q", how, "origin", "main")
    team.git("checkout", "-q", "--detach")

    assert {"Use SQLite"} == seen(team)
    assert ["Tabs"] == [event["content"] for event in json.loads(team.run("log", "--json", "--type", "preference").out)]
    assert "" == team.git("status", "--porcelain")


def test_an_amended_message_needs_no_trailer(team: TestRepo) -> None:
    """`--amend -m`, which drops trailers, changes nothing of what belongs to the commit (C45)."""
    branch_with(team, "feature", "Use SQLite", "g")
    team.run("add", "preference", "Tabs")
    team.commit({"h": "1\n"})
    team.git("commit", "-q", "--amend", "-m", "Said better")
    team.git("switch", "-q", "main")

    team.git("merge", "-q", "--ff-only", "feature")

    assert {"Use SQLite"} == seen(team)
    assert ["Tabs"] == [event["content"] for event in json.loads(team.run("log", "--json", "--type", "preference").out)]


def test_a_merge_with_conflicts_ends_like_any_other(team: TestRepo) -> None:
    """No hook runs after a merge that had conflicts but the commit's own; pages and memory are right (C47)."""
    branch_with(team, "feature", "Use SQLite", "g")
    team.commit({"f": "feature\n"})
    team.git("switch", "-q", "main")
    team.run("decide", "Use WAL")
    team.commit({"f": "main\n"})
    team.git("merge", "-q", "feature", check=False)
    team.commit({"f": "both\n"}, "Merged")

    assert {"Use SQLite", "Use WAL"} == seen(team)
    assert 0 == team.run("verify", "--strict").status
    assert "" == team.git("status", "--porcelain")


def test_moves_without_any_hook_are_seen_at_the_next_look(team: TestRepo) -> None:
    """reset, an aborted rebase and merge, a renamed branch, a moved ref: what is seen follows HEAD (C48)."""
    branch_with(team, "feature", "Use SQLite", "g")
    team.commit({"f": "feature\n"})
    tip = team.git("rev-parse", "HEAD")
    team.git("switch", "-q", "main")
    team.commit({"f": "main\n"})
    for command in ("rebase", "merge"):
        team.git(command, "feature", check=False)
        team.git(command, "--abort")
        assert set() == seen(team)

    team.git("reset", "-q", "--hard", tip)
    assert {"Use SQLite"} == seen(team)
    team.git("update-ref", "refs/heads/main", f"{tip}~2")
    assert set() == seen(team)
    team.git("reset", "-q", "--hard")
    team.git("switch", "-q", "feature")
    team.git("branch", "-m", "storage")
    assert {"Use SQLite"} == seen(team)


def test_a_decision_before_the_branch_reaches_main_once(team: TestRepo) -> None:
    """Decided on main, branched, squashed, deleted: known on the branch at once, and on main once (C97)."""
    team.run("decide", "Use SQLite", "--because", "zero configuration")
    team.git("switch", "-qc", "feature/store")
    assert {"Use SQLite"} == seen(team)
    team.commit({"g": "1\n"})
    assert 1 == len(items(team))
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--squash", "feature/store")
    team.git("commit", "-qm", "Store")
    team.git("branch", "-qD", "feature/store")

    found = [event["content"] for event in json.loads(team.run("log", "--json", "--type", "decision").out)]
    assert (["Use SQLite"], 1) == (found, len(items(team)))


def test_before_the_first_commit_there_is_a_memory(repo: TestRepo) -> None:
    """What is decided before any commit is in the first one (C98)."""
    repo.run("init")
    repo.run("decide", "Use SQLite")
    repo.git("add", "-A")

    repo.commit({"f": "1\n"})

    assert ({"Use SQLite"}, 1) == (seen(repo), len(items(repo)))


def test_stacked_branches(team: TestRepo) -> None:
    """The upper branch sees both decisions at every step, and main ends with each once (C99)."""
    branch_with(team, "one", "Use SQLite", "g")
    branch_with(team, "two", "Use WAL", "h")
    both = {"Use SQLite", "Use WAL"}
    assert both == seen(team)
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--squash", "one")
    team.git("commit", "-qm", "One")
    assert {"Use SQLite"} == seen(team)
    team.git("switch", "-q", "two")
    team.git("rebase", "-q", "main")
    assert both == seen(team)
    team.git("switch", "-q", "main")

    team.git("merge", "-q", "two")

    assert (both, 2) == (seen(team), len(items(team)))


def test_an_abandoned_branch_is_found_when_asked_for(team: TestRepo) -> None:
    """What was decided on a deleted branch is seen nowhere by itself, and by `--all`; its name starts clean (C100)."""
    branch_with(team, "feature", "Use SQLite", "g")
    team.git("switch", "-q", "main")
    team.git("branch", "-qD", "feature")

    assert (set(), {"Use SQLite"}) == (seen(team), seen(team, "--all"))
    team.git("switch", "-qc", "feature")
    assert set() == seen(team)


def test_what_a_reviewer_deletes_is_gone_where_that_commit_is(team: TestRepo) -> None:
    """A deleted item counts no longer where the deletion is reached, and counts where it is not (C101)."""
    branch_with(team, "feature", "Use SQLite", "g")
    team.git("branch", "other")
    team.git("rm", "-q", *items(team))
    team.git("commit", "-qm", "Not this")
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-ff", "--no-edit", "feature")
    team.commit({"h": "1\n"})
    assert (set(), []) == (seen(team), items(team))

    team.git("switch", "-q", "other")

    assert {"Use SQLite"} == seen(team)


def test_a_reverted_merge_takes_its_decisions_along(team: TestRepo) -> None:
    """The revert of a merge takes back what the merge brought, the revert of that gives it back, same id (C102)."""
    branch_with(team, "feature", "Use SQLite", "g")
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-ff", "--no-edit", "feature")
    before = items(team)
    team.git("revert", "--no-edit", "-m", "1", "HEAD")
    assert set() == seen(team)

    team.git("revert", "--no-edit", "HEAD")

    assert ({"Use SQLite"}, before) == (seen(team), items(team))


def test_what_waits_in_the_spool_belongs_where_it_was_said(team: TestRepo) -> None:
    """A payload that is stored only after a switch is of the branch that was checked out when it came (C103)."""
    team.git("switch", "-qc", "feature")
    payload = {"session_id": "s", "prompt": "[MEMORY: decision] Use SQLite for storage"}
    home, head = str(team.path / ".git/cortex"), "ref: refs/heads/feature"
    spool.write(home, "claude", "UserPromptSubmit", str(team.path), head, json.dumps(payload).encode())

    team.git("switch", "-q", "main")

    assert set() == seen(team)
    team.git("switch", "-q", "feature")
    assert {"Use SQLite for storage"} == seen(team)


def test_a_clone_that_comes_back_joins(team: TestRepo) -> None:
    """An old clone's memory is there after it syncs, and what was taken back meanwhile stays so there (C104)."""
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("push", "-q")
    old = clone(team, "old")
    sync(team, old)
    old.run("decide", "Use WAL")
    old.commit({"h": "1\n"})
    id = json.loads(team.run("log", "--json", "--type", "decision").out)[0]["id"]
    team.run("retract", id)
    team.commit({"i": "1\n"})
    team.git("push", "-q")

    old.git("pull", "-q", "--rebase", "origin", "main")
    old.git("push", "-q")
    team.git("pull", "-q", "--ff-only")
    sync(team, old)

    assert [{"Use WAL"}, {"Use WAL"}] == [seen(repo) for repo in (team, old)]


@pytest.mark.parametrize("folder", ["kept", "dropped"])
def test_a_new_root_keeps_what_is_under_the_name(team: TestRepo, folder: str) -> None:
    """A new root leaves what is under the branch's name; anchors to lost commits bind nothing (C105)."""
    team.run("decide", "Use SQLite")
    team.run("add", "preference", "Tabs")
    team.commit({"g": "1\n"})
    team.git("checkout", "-q", "--orphan", "fresh")
    if folder == "dropped":
        team.git("rm", "-rqf", ".cortex")
    team.git("commit", "-qm", "A new root")

    team.git("branch", "-qf", "main", "fresh")
    team.git("switch", "-q", "main")
    team.git("branch", "-qD", "fresh")
    team.git("reflog", "expire", "--expire=now", "--all")
    team.git("gc", "-q", "--prune=now")

    assert {"Use SQLite"} == seen(team)
    assert ["Tabs"] == [event["content"] for event in json.loads(team.run("log", "--json", "--type", "preference").out)]


def test_patches_that_are_applied_bring_their_items(team: TestRepo, tmp_path: Path) -> None:
    """`git am` in a clone that never fetched notes: the decision is known from its file, with author and time."""
    branch_with(team, "feature", "Use SQLite", "g")
    team.git("format-patch", "-q", "-1", "-o", str(tmp_path / "patches"))
    original = json.loads(team.run("log", "--json", "--type", "decision").out)[0]
    mate = clone(team, "mate")
    mate.git("config", "user.name", "Bob")

    mate.git("am", "-q", *(str(path) for path in (tmp_path / "patches").iterdir()))

    found = json.loads(mate.run("log", "--json", "--type", "decision").out)[0]
    assert {name: original[name] for name in ("id", "time", "author", "branch")} == {
        name: found[name] for name in ("id", "time", "author", "branch")
    }


def test_a_moved_repository_stays_itself_and_a_copied_one_is_another(team: TestRepo, tmp_path: Path) -> None:
    """A moved clone goes on writing its refs; two copies write refs of their own and see each other's memory."""
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    shutil.copytree(team.path, tmp_path / "copy", symlinks=True)
    copy = TestRepo(tmp_path / "copy")
    copy.run("decide", "Use WAL")
    team.run("decide", "Use mmap")
    assert {"Use SQLite", "Use WAL"} == seen(copy)
    id = team.git("config", "cortex.clone")
    team.path.rename(tmp_path / "moved")
    moved = TestRepo(tmp_path / "moved")

    moved.run("decide", "Use one file")

    assert {"Use SQLite", "Use mmap", "Use one file"} == seen(moved)
    assert id == moved.git("config", "cortex.clone") != copy.git("config", "cortex.clone")


def test_a_submodule_and_a_folder(team: TestRepo) -> None:
    """A folder of a repository has its memory; a submodule has one of its own."""
    other = TestRepo.make(team.path.parent / "library")
    other.commit({"x": "1\n"})
    team.git("submodule", "add", "-q", str(other.path), "library")
    team.git("commit", "-qm", "A submodule")
    inner = TestRepo(team.path / "library")
    inner.run("init")
    inner.run("decide", "Stay small")
    (team.path / "deep/er").mkdir(parents=True)

    team.run("decide", "Use SQLite", cwd=team.path / "deep/er")

    assert ({"Use SQLite"}, {"Stay small"}) == (seen(team), seen(inner))
