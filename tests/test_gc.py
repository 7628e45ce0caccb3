"""Folding the refs of branches that are gone: nothing that is seen changes, whatever happens on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TestRepo
from prepared import prepared, start

from cortex_git.errors import CortexError
from cortex_git.store import align, fold, keys
from cortex_git.store.gitcli import GitBackend
from cortex_git.store.repo import Repo, require

NAMESPACES = ("refs/notes/cortex", "refs/notes/cortex-local")


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with a memory, on main: `merged` is merged and gone, `left` gone unmerged, `open` still there."""
    return prepared(repo, _start)


def _start(repo: TestRepo) -> None:
    start(repo)
    for branch in ("merged", "left", "open"):
        repo.git("switch", "-qc", branch, "main")
        repo.run("decide", f"Decided on {branch}")
        repo.commit({branch: "1\n"})
        repo.run("decide", f"Last words on {branch}")
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--no-edit", "merged")
    repo.git("branch", "-qD", "merged", "left")


def seen(repo: TestRepo, *arguments: str) -> set[str]:
    out = repo.run("log", "--json", "--type", "decision", *arguments).out
    return {event["content"] for event in json.loads(out)}


def refs(repo: TestRepo) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname)", *NAMESPACES).splitlines()


def opened(repo: TestRepo) -> tuple[Repo, GitBackend]:
    found = require(str(repo.path), os.environ)
    return found, GitBackend(found)


def everything_seen(repo: TestRepo) -> dict[str, set[str]]:
    branches = repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()
    return {branch: seen(repo, "--branch", branch) for branch in branches}


def forget(repo: TestRepo) -> None:
    """Delete everything that is derived."""
    for folder in ("cache", "view", "index"):
        subprocess.run(["rm", "-rf", str(repo.path / ".git" / "cortex" / folder)], check=True)


def test_refs_of_branches_that_are_gone_become_one(team: TestRepo) -> None:
    """The refs of deleted branches are folded into the archive, others stay, and every branch sees the same."""
    before, all_before = everything_seen(team), seen(team, "--all")
    was = refs(team)

    out = team.run("gc").out

    assert "left, merged" in out
    now = refs(team)
    assert [name for name in now if "/archive/" in name]
    assert len(now) == len(was) - 2 + 1
    forget(team)
    assert (before, all_before) == (everything_seen(team), seen(team, "--all"))
    assert {"Decided on merged", "Last words on merged"} <= before["main"]
    assert "Decided on left" not in before["main"]
    assert team.git("fsck", "--no-dangling") == ""


def test_a_dry_run_changes_nothing(team: TestRepo) -> None:
    """`gc --dry-run` names what would be folded and leaves every ref where it is."""
    was = team.git("for-each-ref")

    out = json.loads(team.run("gc", "--dry-run", "--json").out)

    assert (["left", "merged"], 2) == (out["branches"], len(out["refs"]))
    assert was == team.git("for-each-ref")


def test_folding_again_adds_to_the_archive(team: TestRepo) -> None:
    """A second gc folds what has gone since, and what was folded before is still found."""
    team.run("gc")
    team.git("switch", "-qc", "later")
    team.run("decide", "Decided later")
    team.commit({"later": "1\n"})
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "later")
    team.git("branch", "-qd", "later")
    before = everything_seen(team)

    team.run("gc")

    assert before == everything_seen(team)
    assert {"Decided later", "Decided on merged"} <= before["main"]
    assert "nothing to fold" in team.run("gc").out


def test_a_restored_branch_finds_its_memory(team: TestRepo) -> None:
    """A branch that is made again at its old commit sees what was folded, and can be written to."""
    tip = team.git("rev-parse", "main")
    team.run("gc")

    team.git("switch", "-qc", "merged", tip)
    assert "Decided on merged" in seen(team)
    team.run("decide", "It goes on")
    team.commit({"on": "1\n"})

    assert {"Decided on merged", "It goes on"} <= seen(team)


def test_a_write_to_a_folded_key_brings_the_ref_back(team: TestRepo) -> None:
    """Under the old key the real ref is there again after a write, with what was folded and what is new."""
    repo, _ = opened(team)
    key = keys.key_of_name("left")
    team.run("gc")
    name = keys.ref(keys.SHARED, key, repo.clone)
    assert name not in refs(team)

    team.git("switch", "-qc", "left", "main")
    team.git("config", "branch.left.cortexKey", f"{key} left")
    assert {"Decided on left", "Last words on left"} <= seen(team)
    team.run("decide", "Back on left")

    assert name in refs(team)
    assert {"Decided on left", "Last words on left", "Back on left"} <= seen(team)
    team.commit({"back": "1\n"})
    assert any("back-on-left" in path for path in team.git("ls-files", ".cortex").splitlines())


def test_a_pending_item_of_a_folded_key_is_committed(team: TestRepo) -> None:
    """What no commit has held of a folded branch becomes an item when the branch goes on without a new word."""
    key = keys.key_of_name("left")
    team.run("gc")

    team.git("switch", "-qc", "left", "main")
    team.git("config", "branch.left.cortexKey", f"{key} left")
    team.commit({"back": "1\n"})

    assert any("last-words-on-left" in path for path in team.git("ls-files", ".cortex").splitlines())


def test_the_check_refuses_what_would_be_seen_otherwise(team: TestRepo) -> None:
    """If another view comes out of the comparison, every ref stays and an error says so."""
    repo, backend = opened(team)
    tips = fold.foldable(repo, backend)
    before = fold.sight(repo, backend, tips)
    was = team.git("for-each-ref", "--format=%(refname) %(objectname)")
    wrong = {head: {name: frozenset() for name in found} for head, found in before.items()}
    assert wrong != before

    with pytest.raises(CortexError, match="nothing was folded"):
        fold.fold(repo, backend, tips, wrong, 0)

    assert was == team.git("for-each-ref", "--format=%(refname) %(objectname)")


def test_a_branch_without_a_key_of_its_own_keeps_the_refs(team: TestRepo) -> None:
    """What a restored branch may take up is not folded, although its setting is gone."""
    team.git("branch", "left", "main")

    out = json.loads(team.run("gc", "--dry-run", "--json").out)

    assert ["merged"] == out["branches"]


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from cortex_git.store import process
calls = int(sys.argv[2])
run = process._run
def counted(*args):
    global calls
    calls -= 1
    if calls < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return run(*args)
process._run = counted
from cortex_git.env import Env
from cortex_git.main import main
sys.exit(main(["gc"], Env.of_process()))
"""


def test_a_kill_at_any_point_loses_nothing(team: TestRepo) -> None:
    """However far gc came when it was killed, every branch sees the same, and the next one finishes the work."""
    before, all_before = everything_seen(team), seen(team, "--all")
    status = -9
    calls = 0
    while status == -9:
        command = [sys.executable, "-c", KILLED, str(ROOT), str(calls)]
        status = subprocess.run(command, cwd=team.path, capture_output=True).returncode
        assert before == everything_seen(team), calls
        calls += 2

    assert 0 == status
    assert not [name for name in refs(team) if keys.key_of_name("merged") in name]
    assert all_before == seen(team, "--all")
    assert team.git("fsck", "--no-dangling") == ""


def test_another_clone_sees_what_was_folded(team: TestRepo, tmp_path: Path) -> None:
    """After a sync a clone sees the folded memory as before, from the archive alone."""
    hub = tmp_path / "hub.git"
    team.git("init", "-q", "--bare", str(hub))
    team.git("remote", "add", "origin", str(hub))
    team.git("push", "-q", "origin", "main", "open")
    team.run("share", "origin", "--yes")
    other = TestRepo(tmp_path / "other")
    team.git("clone", "-q", str(hub), str(other.path))
    other.run("init", "--yes", "--no-plugin")
    other.run("sync")
    all_before = seen(other, "--all")

    team.run("gc")
    team.run("sync")
    other.run("sync")

    # That the branch is over is news to the other clone: now it sees what was said last, as this one does.
    assert (seen(team), all_before) == (seen(other), seen(other, "--all"))
    assert {"Decided on merged", "Decided on left"} <= all_before
    fresh = TestRepo(tmp_path / "fresh")
    team.git("clone", "-q", str(hub), str(fresh.path))
    fresh.run("init", "--yes", "--no-plugin")
    fresh.run("sync")
    assert (seen(team), all_before) == (seen(fresh), seen(fresh, "--all"))


def test_folded_refs_leave_the_remote(team: TestRepo, tmp_path: Path) -> None:
    """A sync removes them where the archive has arrived; a clone that had them sees what is folded there later."""
    hub = tmp_path / "hub.git"
    team.git("init", "-q", "--bare", str(hub))
    team.git("remote", "add", "origin", str(hub))
    team.git("push", "-q", "origin", "main")
    team.run("share", "origin", "--yes")
    other = TestRepo(tmp_path / "other")
    team.git("clone", "-q", str(hub), str(other.path))
    other.run("init", "--yes", "--no-plugin")
    other.run("sync")
    (name,) = (name for name in refs(team) if keys.key_of_name("left") in name)
    assert "" != team.git("ls-remote", "origin", name)

    team.run("gc")
    team.run("sync")

    assert "" == team.git("ls-remote", "origin", name)
    other.run("sync")
    theirs = other.git("for-each-ref", "--format=%(refname)", "refs/cortex/remotes/origin")
    assert keys.key_of_name("left") not in theirs and "/archive/" in theirs
    key = keys.key_of_name("left")
    team.git("switch", "-qc", "left", "main")
    team.git("config", "branch.left.cortexKey", f"{key} left")
    team.run("decide", "Once more on left")
    team.run("sync")
    team.git("switch", "-q", "main")
    team.git("branch", "-qD", "left")
    team.run("gc")
    team.run("sync")
    other.run("sync")
    assert {"Decided on left", "Last words on left", "Once more on left"} <= seen(other, "--all")
    assert "nothing to send" in team.run("sync").out


def test_a_closing_commit_changes_nothing_that_is_seen(team: TestRepo) -> None:
    """What each branch sees of a key is the same before and after it is closed."""
    repo, backend = opened(team)
    tips = fold.foldable(repo, backend)
    before = fold.sight(repo, backend, tips)

    team.run("gc")

    found = align.visible(repo, backend, tips, "", team.git("rev-parse", "main")).tips
    assert set(found) == set(before[team.git("rev-parse", "main")])
