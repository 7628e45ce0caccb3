"""Corrections cross branches and clones as everything else does: with commits, with files, with refs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from conftest import TestRepo
from corrections import ASSISTANT, cloned, memories, named, shown, start, status, undo_of, written
from setting_up import env_at

from cortex_git import snapshot
from cortex_git.memory import Memory
from cortex_git.pending import pending
from cortex_git.views.standing import Standing


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with a committed decision on main and a branch `feature` made from there; main is checked out."""
    start(repo)
    repo.run("decide", "Use Redis")
    repo.run("learn", "Redis listens on 6379")
    repo.commit({"g": "1\n"})
    repo.git("branch", "feature")
    return repo


def test_a_correction_arrives_with_the_commits(team: TestRepo) -> None:
    """Retracted on a branch, a decision counts on main until the merge; retracted on main, until main was merged."""
    team.git("switch", "-q", "feature")
    team.run("retract", named(team, "Use Redis"))
    team.commit({"h": "1\n"})
    team.git("switch", "-q", "main")
    assert "Use Redis" in shown(team)
    done = team.run("retract", named(team, "Redis listens on 6379"))
    team.commit({"i": "1\n"})
    assert "Redis listens on 6379" in shown(team, "--branch", "feature")

    team.git("merge", "-q", "--no-edit", "feature")
    assert set() == shown(team)
    team.git("switch", "-q", "feature")
    assert {"Redis listens on 6379"} == shown(team)
    team.git("merge", "-q", "--no-edit", "main")
    assert set() == shown(team)

    team.run("undo", undo_of(done.out))
    team.run("undo", named(team, "Use Redis"))
    team.commit({"j": "1\n"})
    assert set() == shown(team, "--branch", "main")
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "feature")
    assert {"Use Redis", "Redis listens on 6379"} == shown(team)
    assert {"status": "accepted"} == written(team, "Use Redis")


def test_a_correction_of_what_another_branch_knows_waits_for_it(team: TestRepo) -> None:
    """What only another branch knows can be corrected by its id; that counts here once it arrives, and is written."""
    team.git("switch", "-q", "feature")
    team.run("decide", "Use Lua")
    team.commit({"h": "1\n"})
    team.git("switch", "-q", "main")
    done = team.run("retract", memories(team, "--all")["Use Lua"]["id"][:8])
    assert "; this branch does not see it yet, and will see it so (undo: " in done.out
    team.commit({"i": "1\n"})
    assert "Use Lua" in shown(team, "--branch", "feature")

    team.git("merge", "-q", "--no-edit", "feature")
    assert "Use Lua" not in shown(team)
    team.commit({"j": "1\n"})
    assert {"status": "deprecated"} == written(team, "Use Lua")


def test_a_session_that_was_taken_back_does_not_come_with_a_merge(team: TestRepo) -> None:
    """What a session said on a branch stays taken back where the branch is merged, and comes back with the undo."""
    team.git("switch", "-q", "feature")
    team.run("learn", "Wrong", variables=ASSISTANT)
    team.commit({"h": "1\n"})
    done = team.run("undo", "--session", ASSISTANT["CLAUDE_CODE_SESSION_ID"][:8])
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "--no-ff", "feature")
    assert {"Use Redis", "Redis listens on 6379"} == shown(team)

    team.run("undo", undo_of(done.out))
    assert "Wrong" in shown(team)
    assert "Wrong" in shown(team, "--branch", "feature")


def test_the_same_correction_on_two_branches_merges(team: TestRepo) -> None:
    """Two branches that correct a decision alike write the same bytes; in different ways, git shows a conflict."""
    id = named(team, "Use Redis")
    for branch in ("feature", "main"):
        team.git("switch", "-q", branch)
        team.run("retract", id, "-b", f"said on {branch}")
        team.commit({branch: "1\n"})
    assert team.git("rev-parse", "main:.cortex/decisions") == team.git("rev-parse", "feature:.cortex/decisions")
    team.git("merge", "-q", "--no-edit", "feature")

    team.git("switch", "-qc", "third", "HEAD~2")
    team.run("supersede", id, "--by", "Use Valkey")
    team.commit({"third": "1\n"})
    team.git("merge", "-q", "--no-edit", "main", check=False)
    path = team.git("diff", "--name-only", "--diff-filter=U")
    assert path.startswith(".cortex/decisions/")
    text = team.read(path)
    assert text.index("\n<<<<<<< ") < text.index("\nstatus: superseded\n") < text.index("\nstatus: deprecated\n")


def test_the_file_tells_a_clone_without_notes(team: TestRepo, tmp_path: Path) -> None:
    """Status and successor in the files count where no notes say so: in a fork, and after a squash merge."""
    team.run("supersede", named(team, "Use Redis"), "--by", "Use Valkey")
    team.git("switch", "-q", "feature")
    team.run("decide", "Use Lua", variables=ASSISTANT)
    team.run("decide", "Use Perl")
    team.commit({"h": "1\n"})
    team.run("accept", named(team, "Use Lua"))
    team.run("retract", named(team, "Use Perl"))
    team.commit({"h": "2\n"})
    team.git("switch", "-q", "main")
    team.commit({"i": "1\n"})
    team.git("merge", "-q", "--squash", "feature")
    team.git("commit", "-qm", "Squashed")
    team.git("branch", "-qD", "feature")
    wanted = {"Use Redis": "superseded", "Use Valkey": "accepted", "Use Lua": "accepted", "Use Perl": "deprecated"}
    assert wanted == {name: status(team, name) for name in wanted}

    fork = cloned(team, tmp_path / "fork")
    fork.git("switch", "-qc", "work")
    assert wanted == {name: status(fork, name) for name in wanted}
    assert {"Use Valkey", "Use Lua", "Redis listens on 6379"} == shown(fork)
    out = fork.run("show", named(fork, "Use Redis")).out
    assert f"Superseded: by {memories(fork)['Use Valkey']['id']}, as its file says\n" in out
    assert "Changed:    by Ada Author, " in out
    assert "Use Perl" not in fork.run("search", "use").out
    before = fork.git("rev-parse", "HEAD:.cortex")
    fork.commit({"k": "1\n"})
    assert before == fork.git("rev-parse", "HEAD:.cortex")


def test_two_people_correct_each_other_by_commits_alone(team: TestRepo, tmp_path: Path) -> None:
    """With no notes between two clones each sees what the other's commit made of a decision, back and forth."""
    mate = cloned(team, tmp_path / "mate")
    id = named(team, "Use Redis")
    team.run("retract", id)
    team.commit({"h": "1\n"})
    mate.git("pull", "-q")
    assert "deprecated" == status(mate, "Use Redis")

    mate.run("undo", id)
    assert "accepted" == status(mate, "Use Redis")
    mate.commit({"h": "2\n"})
    assert {"status": "accepted"} == written(mate, "Use Redis")
    team.git("pull", "-q", str(mate.path), "main")
    assert "accepted" == status(team, "Use Redis")
    team.commit({"h": "3\n"})
    assert {"status": "accepted"} == written(team, "Use Redis")

    team.run("retract", id)
    assert "deprecated" == status(team, "Use Redis")
    team.commit({"h": "4\n"})
    mate.git("pull", "-q")
    assert "deprecated" == status(mate, "Use Redis")


def test_a_correction_goes_where_its_commit_goes(team: TestRepo) -> None:
    """Reverting the commit that carried a correction takes the correction back; an amended one keeps it."""
    team.run("retract", named(team, "Use Redis"))
    team.commit({"h": "1\n"})
    team.git("revert", "--no-edit", "HEAD")
    assert "accepted" == status(team, "Use Redis")
    team.commit({"i": "1\n"})
    assert {"status": "accepted"} == written(team, "Use Redis")
    team.git("revert", "--no-edit", "HEAD~1")
    assert "deprecated" == status(team, "Use Redis")

    team.run("undo", named(team, "Use Redis"))
    team.git("commit", "-q", "--amend", "--no-edit")
    assert {"status": "accepted"} == written(team, "Use Redis")
    assert "accepted" == status(team, "Use Redis")


def test_a_correction_survives_a_commit_without_hooks(team: TestRepo) -> None:
    """What `--no-verify` left unwritten is written by the next commit, and counts in between."""
    team.run("retract", named(team, "Use Redis"))
    team.git("commit", "-q", "--no-verify", "--allow-empty", "-m", "In haste")
    assert {"status": "accepted"} == written(team, "Use Redis")
    assert "deprecated" == status(team, "Use Redis")
    team.commit({"h": "1\n"})
    assert {"status": "deprecated"} == written(team, "Use Redis")


def test_a_rebase_keeps_corrections(team: TestRepo) -> None:
    """A branch with a correction of its own, rebased onto a main that went on, has it once and leaves nothing over."""
    team.git("switch", "-q", "feature")
    team.run("retract", named(team, "Use Redis"))
    team.commit({"h": "1\n"})
    team.run("undo", named(team, "Use Redis"))
    team.commit({"h": "2\n"})
    team.run("retract", named(team, "Use Redis"))
    team.commit({"h": "3\n"})
    team.git("switch", "-q", "main")
    team.run("decide", "Use SQLite")
    team.commit({"i": "1\n"})
    team.git("switch", "-q", "feature")
    team.git("rebase", "-q", "main")
    assert "deprecated" == status(team, "Use Redis")
    before = team.git("rev-parse", "HEAD:.cortex/decisions")
    team.commit({"h": "4\n"})
    assert before == team.git("rev-parse", "HEAD:.cortex/decisions")
    assert "" == team.git("status", "--porcelain")


def test_clone_to_clone_by_refs(team: TestRepo, tmp_path: Path) -> None:
    """Notes that were fetched carry corrections, pins and their undoing, facts included, and every clone agrees."""
    mate = cloned(team, tmp_path / "mate")
    fetch = ("fetch", "-q", "origin", "+refs/notes/cortex/*:refs/cortex/remotes/origin/*")
    mate.git(*fetch)
    id = named(team, "Redis listens on 6379")
    team.run("pin", named(team, "Use Redis"))
    done = team.run("retract", id, "-b", "it is 6380")
    mate.git(*fetch)
    assert {"Use Redis"} == shown(mate)
    assert memories(mate)["Use Redis"]["pinned"]
    assert "because it is 6380" in mate.run("show", id).out

    team.run("undo", undo_of(done.out))
    team.run("unpin", named(team, "Use Redis"))
    mate.git(*fetch)
    assert {"Use Redis", "Redis listens on 6379"} == shown(mate)
    assert "pinned" not in memories(mate)["Use Redis"]


def test_reverting_a_merge_and_that_revert(team: TestRepo) -> None:
    """Reverting a merge takes back what it brought and `show` says who did; reverting the revert restores it."""
    team.git("switch", "-q", "feature")
    team.run("decide", "Use Lua")
    team.commit({"h": "1\n"})
    id = named(team, "Use Lua")
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "--no-ff", "feature")
    team.git("revert", "--no-edit", "-m", "1", "HEAD")
    assert "Use Lua" not in shown(team)
    assert f", in {team.git('rev-parse', 'HEAD')[:12]} (Revert " in team.run("show", id).out
    team.git("revert", "--no-edit", "HEAD")
    assert id == named(team, "Use Lua")
    assert "accepted" == status(team, "Use Lua")


def stands(standing: Standing) -> dict[str, tuple[str, bool, str]]:
    """How each memory stands that is listed or was withdrawn."""
    listed = [*standing.decisions, *standing.rejected, *standing.learned]
    ids = {event.id: standing.status(event) for event in listed}
    ids |= {id: "withdrawn" for id in [*standing.retracted, *standing.superseded]}
    return {id: (state, id in standing.pinned, standing.superseded.get(id, "")) for id, state in ids.items()}


def step(repo: TestRepo, dice: random.Random, number: int) -> None:
    """One thing that somebody does, with whatever is there."""
    memory = Memory.open(env_at(repo.path))
    ids = [event.id for event in memory.visible() if event.id] or ["ffffffffffffffff"]
    commands = [
        ["decide", f"Decision {number}"], ["reject", f"Approach {number}"], ["learn", f"Fact {number}"],
        ["accept", dice.choice(ids)], ["retract", dice.choice(ids)], ["retract", dice.choice(ids)],
        ["supersede", dice.choice(ids), dice.choice(ids)], ["edit", dice.choice(ids), "--content", f"Text {number}"],
        ["pin", dice.choice(ids)], ["undo", dice.choice(ids)], ["undo", dice.choice(ids)], ["undo", "--last"],
    ]  # fmt: skip
    doing = dice.choice(["command"] * 8 + ["commit"] * 4 + ["switch", "merge", "revert", "reset", "amend"])
    if doing == "command":
        repo.run(*dice.choice(commands), check=False, variables=dice.choice([{}, ASSISTANT]))
    elif doing == "commit":
        repo.commit({f"file{number}": "1\n"})
    elif doing == "amend":
        repo.git("commit", "-q", "--amend", "--no-edit")
    elif doing in ("revert", "reset") and repo.git("log", "-1", "--format=%s") == "Start a memory":
        return
    elif doing == "revert":
        repo.git("revert", "--no-edit", "HEAD", check=False)
    elif doing == "reset":
        repo.git("reset", "-q", "--hard", "HEAD~1", check=False)
    else:
        now = repo.git("branch", "--show-current")
        other = "main" if now == "feature" else "feature"
        repo.git(*(["merge", "-q", "--no-edit", other] if doing == "merge" else ["switch", "-q", other]), check=False)
    if repo.git("status", "--porcelain"):  # a conflict: the one who does this gives up
        repo.git("reset", "-q", "--hard")


@pytest.mark.parametrize(
    ("seed", "steps"), [(1, 15), *(pytest.param(seed, 40, marks=pytest.mark.slow) for seed in range(2, 15))]
)
def test_the_snapshot_and_a_whole_read_agree(team: TestRepo, seed: int, steps: int) -> None:
    """Whatever is corrected, committed, merged, reverted: carried from step to step, all stands as in a whole read.

    After each commit the files say how their decisions stand, and are in order.
    """
    dice = random.Random(seed)
    for number in range(steps):
        step(team, dice, number)
        whole = Memory.open(env_at(team.path)).standing()
        assert stands(whole) == stands(snapshot.standing(Memory.open(env_at(team.path)))), number
    team.commit({"last": "1\n"})
    assert {} == pending(Memory.open(env_at(team.path))).states
    assert "" == team.git("status", "--porcelain")
    team.run("verify")
