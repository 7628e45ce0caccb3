"""Memory meets every kind of clone: forks, worktrees, shallow, partial, mirrors, old ones; and the background fetch."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import TestRepo
from team import Hub, decide, opened, push, seen, traced

from cortex_git.store import remotes

PATIENCE = 60.0
"""Seconds after which something that runs beside a test counts as not happening."""


@pytest.fixture
def hub(tmp_path: Path, home: Path) -> Hub:
    """A hub with one commit on main."""
    return Hub(tmp_path / "hub")


@pytest.fixture
def known(hub: Hub) -> Hub:
    """The same, with a decision of a clone named `teller`."""
    teller = hub.clone("teller")
    decide(teller, "Use SQLite")
    teller.run("sync")
    return hub


def until(condition: Callable[[], object]) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def session_start(repo: TestRepo, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run the hook of a session that starts, as the assistant's client does: it waits for the end of the output."""
    payload = json.dumps({"session_id": "s", "cwd": str(repo.path), "source": "startup"}).encode()
    command = ["sh", str(Path(opened(repo).home, "hooks", "drain")), "SessionStart"]
    env = {**os.environ, **variables}
    return subprocess.run(command, cwd=repo.path, input=payload, env=env, capture_output=True, timeout=60)


def fetched(repo: TestRepo) -> list[str]:
    """What was fetched from origin, beside what it has of this clone."""
    out = repo.git("for-each-ref", "--format=%(refname)", "refs/cortex/remotes/origin")
    return [name for name in out.splitlines() if not name.endswith(opened(repo).clone)]


# ---- shapes of clones


@pytest.mark.parametrize(
    "options", [["--depth=1"], ["--single-branch"], ["--filter=blob:none"], ["--filter=tree:0"], ["--no-tags"]], ids=str
)
def test_every_kind_of_clone_shares(known: Hub, options: list[str]) -> None:
    """A shallow, single-branch or partial clone fetches memory whole and sends its own."""
    known.bare.git("config", "uploadpack.allowFilter", "true")
    clone = known.clone("b", *options, url=f"file://{known.path}")
    assert ["Use SQLite"] == seen(clone)
    decide(clone, "Use TOML")
    clone.commit({"g": "1\n"})
    assert 0 == push(clone).returncode
    assert {"Use SQLite", "Use TOML"} <= set(known.contents())
    assert "" == clone.git("fsck", "--no-dangling")


def test_a_partial_clone_reads_memory_without_the_network(known: Hub, tmp_path: Path) -> None:
    """What was fetched is there whole: reading it starts no fetch of single objects."""
    known.bare.git("config", "uploadpack.allowFilter", "true")
    clone = known.clone("b", "--filter=blob:none", url=f"file://{known.path}")
    trace = tmp_path / "trace"
    trace.mkdir()
    out = clone.process("log", "--json", variables={"GIT_TRACE2_EVENT": str(trace)}).out
    assert "Use SQLite" in out
    assert any(trace.iterdir()) and 0 == traced(trace, "fetch")


def test_a_mirror_serves_like_any_other_remote(known: Hub, tmp_path: Path) -> None:
    """A mirror of the hub carries everyone's memory, and a clone of it finds that."""
    known.bare.git("clone", "-q", "--mirror", str(known.path), str(tmp_path / "mirror"))
    clone = known.clone("b", url=str(tmp_path / "mirror"))
    assert ["Use SQLite"] == seen(clone)


def test_a_bare_repository_has_no_memory_of_its_own(known: Hub) -> None:
    """A command in it says so in a line."""
    assert "init" in TestRepo(known.path).run("sync", check=False).err


def test_worktrees_are_one_clone(known: Hub, tmp_path: Path) -> None:
    """What is said in a linked worktree goes with a push from there, and its fetch is the main work tree's."""
    clone = known.clone("b")
    clone.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    linked = TestRepo(tmp_path / "linked")
    decide(linked, "Use TOML")
    linked.commit({"g": "1\n"})
    assert 0 == push(linked, "origin", "linked").returncode
    assert "Use TOML" in known.contents()
    assert {opened(clone).clone} == {ref.rpartition("/")[2] for ref in known.refs()} - {
        opened(TestRepo(known.path.parent / "teller")).clone
    }


def test_a_subdirectory_is_the_same_clone(known: Hub) -> None:
    """sync works from anywhere in the work tree."""
    clone = known.clone("b", shared=False)
    (clone.path / "sub").mkdir()
    assert "fetched 1 event" in clone.run("sync", cwd=clone.path / "sub").out


def test_a_fork_brings_decisions_by_its_commits(hub: Hub, tmp_path: Path) -> None:
    """Notes stay on the contributor's fork; what is merged brings its decisions, in the files of its commits."""
    owner = hub.clone("owner")
    owner.git("add", "-A")
    owner.commit(message="Start a memory")
    push(owner)
    hub.bare.git("clone", "-q", "--bare", str(hub.path), str(tmp_path / "fork"))
    contributor = hub.clone("contributor", url=str(tmp_path / "fork"))
    contributor.git("switch", "-qc", "feature")
    decide(contributor, "Use TOML")
    contributor.commit({"g": "1\n"})
    push(contributor, "origin", "feature")
    owner.git("pull", "-q", "--no-rebase", str(tmp_path / "fork"), "feature")
    push(owner)

    reader = hub.clone("reader")
    assert ["Use TOML"] == seen(reader)
    assert "Use TOML" in reader.run("search", "toml").out


def test_a_copied_clone_sends_under_its_own_name(known: Hub) -> None:
    """`cp -r` of a clone makes another clone: neither is in the way of the other."""
    one = known.clone("b")
    decide(one, "Use TOML")
    one.run("sync")
    subprocess.run(["cp", "-r", str(one.path), str(one.path.parent / "copy")], check=True)
    copy = TestRepo(one.path.parent / "copy")
    decide(copy, "Use Rust")
    decide(one, "Use Go")
    copy.run("sync")
    one.run("sync")
    copy.run("sync")
    assert ["Use Go", "Use Rust", "Use SQLite", "Use TOML"] == known.contents() == seen(copy)


def test_an_old_clone_comes_back(known: Hub) -> None:
    """Months later, main is rewritten and a decision retracted: its unsent memory joins, the retraction stays."""
    old = known.clone("old")
    decide(old, "Use TOML")
    teller = TestRepo(known.path.parent / "teller")
    id = json.loads(teller.run("log", "--json").out)[0]["id"]
    teller.run("retract", id)
    teller.commit({"f": "2\n"})
    teller.git("commit", "-q", "--amend", "-m", "Start anew")
    push(teller, "-f")
    teller.run("sync")

    old.run("sync")
    old.git("fetch", "-q")
    old.git("reset", "-q", "--hard", "origin/main")
    teller.run("sync")
    for clone in (old, teller):
        alive = json.loads(clone.run("log", "--json", "--type", "decision").out)
        assert ["Use TOML"] == [event["content"] for event in alive if event["status"] != "retracted"]


def test_folded_memory_is_shared_like_any_other(known: Hub) -> None:
    """What gc folds away reaches the others, whether it was sent before, in part, or never."""
    clone = known.clone("b")
    for name, said in {"old": ["Use TOML", "Use Go"], "new": ["Use Rust"]}.items():
        clone.git("switch", "-qc", name, "main")
        decide(clone, said[0])
        if name == "old":
            clone.run("sync")
        decide(clone, *said[1:])
        clone.git("switch", "-q", "main")
        clone.git("branch", "-D", name)
    clone.run("gc")
    clone.run("sync")
    assert "unpushed events: 0" in clone.run("status").out

    teller = TestRepo(known.path.parent / "teller")
    teller.run("sync")
    assert ["Use Go", "Use Rust", "Use SQLite", "Use TOML"] == seen(teller, "--all")


# ---- what git itself does with refs


def test_a_clone_that_was_set_back_is_made_whole(known: Hub) -> None:
    """Where this clone's refs are gone or behind, a sync brings back what the remote has, and then can send."""
    clone = known.clone("b")
    decide(clone, "Use TOML")
    decide(clone, "Use Rust")
    clone.run("sync")
    (ref,) = clone.git("for-each-ref", "--format=%(refname)", "refs/notes/cortex").splitlines()
    clone.git("update-ref", ref, f"{ref}^")
    clone.git("update-ref", "-d", ref)
    assert "1 ref of what was lost here brought back" in clone.run("sync").out
    decide(clone, "Use Go")
    clone.run("sync")
    assert ["Use Go", "Use Rust", "Use SQLite", "Use TOML"] == known.contents()


def test_a_clone_that_was_set_back_and_went_on_joins_both(known: Hub) -> None:
    """Where this clone and what it sent before have parted, a sync joins them, and nothing is forced."""
    known.bare.git("config", "receive.denyNonFastForwards", "true")
    clone = known.clone("b")
    decide(clone, "Use TOML")
    decide(clone, "Use Rust")
    clone.run("sync")
    (ref,) = clone.git("for-each-ref", "--format=%(refname)", "refs/notes/cortex").splitlines()
    clone.git("update-ref", ref, f"{ref}^")
    decide(clone, "Use Go")
    assert "brought back" in clone.run("sync").out
    assert ["Use Go", "Use Rust", "Use SQLite", "Use TOML"] == known.contents() == seen(clone)
    assert "nothing to send" in clone.run("sync").out


def test_our_fetch_touches_nothing_of_the_users(known: Hub) -> None:
    """No FETCH_HEAD, no tag, no branch, no tracking branch comes or moves."""
    clone = known.clone("b", shared=False)
    teller = TestRepo(known.path.parent / "teller")
    teller.commit({"g": "1\n"})
    teller.git("tag", "v1")
    teller.git("push", "-q", "--no-verify", "origin", "main", "v1")
    before = clone.git("for-each-ref", "refs/heads", "refs/remotes", "refs/tags")
    clone.run("sync")

    assert before == clone.git("for-each-ref", "refs/heads", "refs/remotes", "refs/tags")
    assert not (clone.path / ".git" / "FETCH_HEAD").exists()
    assert {"refs/heads/main", "refs/tags/v1"} == {*known.refs("refs/heads"), *known.refs("refs/tags")}


def test_git_can_merge_our_notes(known: Hub) -> None:
    """The trees hold nothing but segments under their own ids, so `git notes merge` of two clones' refs keeps all."""
    clone = known.clone("b")
    decide(clone, "Use TOML")
    (ours,) = clone.git("for-each-ref", "--format=%(refname)", "refs/notes/cortex").splitlines()
    (theirs,) = fetched(clone)
    clone.git("notes", f"--ref={ours}", "merge", "-q", theirs)
    paths = clone.git("ls-tree", "-r", "--name-only", ours).splitlines()

    assert 2 == len(paths) and all(re.fullmatch("[0-9a-f/]{40,65}", path) for path in paths)
    assert ["Use SQLite", "Use TOML"] == seen(clone)


def test_a_refspec_for_notes_loses_nothing(known: Hub) -> None:
    """With `+refs/notes/*:refs/notes/*`, which many pages advise, a fetch that overwrites or prunes costs no event."""
    clone = known.clone("b")
    decide(clone, "Use TOML")
    clone.run("sync")
    clone.git("config", "--add", "remote.origin.fetch", "+refs/notes/*:refs/notes/*")
    decide(clone, "Use Rust")
    clone.git("fetch", "-q")
    assert ["Use Rust", "Use SQLite", "Use TOML"] == seen(clone)
    clone.run("decide", "--private", "Sell the company")
    clone.git("-c", "fetch.prune=true", "fetch", "-q")
    assert ["Sell the company", "Use Rust", "Use SQLite", "Use TOML"] == seen(clone)

    decide(clone, "Use Go")
    clone.run("sync")
    assert ["Use Go", "Use Rust", "Use SQLite", "Use TOML"] == known.contents()
    clone.git("config", "remote.origin.push", "refs/notes/cortex/*:refs/notes/cortex/*")
    told = clone.run("doctor", check=False).out
    assert "has a fetch write where" in told and "keeps a plain `git push` from pushing branches" in told


# ---- the fetch in the background


def test_a_session_that_starts_fetches_in_the_background(known: Hub) -> None:
    """What others sent comes without being asked for, once within five minutes, and not from remotes one shares not."""
    clone = known.clone("b", shared=False)
    session_start(clone)
    assert {} == remotes.last(opened(clone), "origin", remotes.FETCH)
    clone.git("config", "remote.origin.cortexShare", "true")
    assert 0 == session_start(clone).returncode
    until(lambda: remotes.last(opened(clone), "origin", remotes.FETCH).get("done"))
    assert ["Use SQLite"] == seen(clone)

    before = remotes.last(opened(clone), "origin", remotes.FETCH)
    session_start(clone)
    assert before == remotes.last(opened(clone), "origin", remotes.FETCH)


def test_a_merge_fetches_in_the_background(known: Hub) -> None:
    """So does a pull that merges."""
    clone = known.clone("b", shared=False)
    clone.git("config", "remote.origin.cortexShare", "true")
    teller = TestRepo(known.path.parent / "teller")
    teller.commit({"g": "1\n"})
    push(teller)
    clone.git("pull", "-q", "--no-rebase")
    until(lambda: fetched(clone))


def test_a_remote_that_hangs_holds_no_session_up(known: Hub, tmp_path: Path) -> None:
    """The hook's output ends at once though the fetch goes on, and a failure rests like one of a push."""
    clone = known.clone("b")
    script = tmp_path / "ssh"
    script.write_text(f"#!/bin/sh\ncd '{tmp_path}'\necho $$ > pid.new\nmv pid.new pid\nexec sleep 300\n")
    script.chmod(0o755)
    clone.git("config", "remote.origin.url", "git@example.org:p.git")
    remotes.forget(opened(clone), "origin")
    assert 0 == session_start(clone, GIT_SSH_COMMAND=str(script)).returncode

    until((tmp_path / "pid").exists)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)  # so that this test need not wait for its limit
    until(lambda: remotes.last(opened(clone), "origin", remotes.FETCH).get("said"))
    assert "the last fetch failed" in clone.run("status").out
    assert not remotes.due(opened(clone), "origin", time.time())
