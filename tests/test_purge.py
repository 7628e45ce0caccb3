"""What was purged is gone from everywhere, and nothing brings it back."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import TestRepo
from prepared import prepared, start

from cortex_git.digest import sha1_hex
from cortex_git.events import codec
from cortex_git.events.model import Event
from cortex_git.store import align, keys, purge, rewrite
from cortex_git.store.backend import Update
from cortex_git.store.gitcli import GitBackend
from cortex_git.store.repo import Repo, require

SECRET = "Our launch code is violet otter ninety two"


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with a memory whose folder is committed on main."""
    return prepared(repo, start)


def opened(repo: TestRepo) -> tuple[Repo, GitBackend]:
    found = require(str(repo.path), os.environ)
    return found, GitBackend(found)


def decide(repo: TestRepo, text: str, *arguments: str) -> str:
    """Record a decision and return its id."""
    return str(json.loads(repo.run("decide", text, "--json", *arguments).out)["id"])


def seen(repo: TestRepo, *arguments: str) -> set[str]:
    out = repo.run("log", "--json", "--type", "decision", *arguments).out
    return {event["content"] for event in json.loads(out)}


def holders(repo: TestRepo, text: str) -> list[str]:
    """Every object of the repository whose content has the text, whether anything leads to it or not."""
    out = repo.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    found = []
    for id, kind in (line.split(" ") for line in out.splitlines()):
        if kind != "tree" and text in repo.git("cat-file", kind, id):
            found.append(id)
    return found


def traces(repo: TestRepo, text: str) -> list[str]:
    """Every file under the git directory, but for objects, that has the text."""
    found = subprocess.run(
        ["grep", "-rlF", "--exclude-dir=objects", text, ".git"], cwd=repo.path, capture_output=True, text=True
    )
    return found.stdout.splitlines()


def share(repo: TestRepo, hub: Path) -> None:
    repo.git("init", "-q", "--bare", str(hub))
    repo.git("remote", "add", "origin", str(hub))
    repo.git("push", "-q", "origin", "main")
    repo.run("share", "origin", "--yes")


def join(repo: TestRepo, hub: Path, path: Path) -> TestRepo:
    """Another clone that shares."""
    other = TestRepo(path)
    repo.git("clone", "-q", str(hub), str(path))
    other.run("init", "--yes", "--no-plugin")
    other.run("share", "origin", "--yes")
    return other


def hub_holds(hub: Path, text: str) -> bool:
    """Whether a notes ref of the hub leads to the text."""
    refs = subprocess.run(
        ["git", "rev-list", "--objects", "--no-object-names", "--glob=refs/notes/*"], cwd=hub, capture_output=True
    ).stdout
    out = subprocess.run(["git", "cat-file", "--batch"], cwd=hub, input=refs, capture_output=True).stdout
    return text.encode() in out


def test_an_uncommitted_secret_is_gone_without_a_trace(team: TestRepo) -> None:
    """Neither an object, loose or packed, nor a file under the git directory has the text any more."""
    decide(team, "Use SQLite")
    id = decide(team, SECRET)
    decide(team, "Use WAL")
    team.run("search", "violet")
    assert holders(team, SECRET)

    out = team.run("purge", id[:8], "--yes").out

    assert id[:7] in out
    assert [] == holders(team, SECRET)
    assert [] == traces(team, SECRET)
    assert {"Use SQLite", "Use WAL"} == seen(team)
    assert "" == team.git("fsck", "--no-dangling", "--strict")
    team.git("fsck", "--lost-found")
    assert [] == traces(team, SECRET)


def test_a_packed_secret_is_gone_and_the_users_dangling_objects_stay(team: TestRepo) -> None:
    """After gc packed everything, the secret leaves the packs; a dangling commit of the user's does not."""
    id = decide(team, SECRET)
    team.commit({"g": "1\n"})
    kept = team.git("commit-tree", "-m", "only here", "HEAD^{tree}", "-p", "HEAD~1")
    mine = team.git("hash-object", "-w", "--stdin", input="a note of my own\n")
    team.git("gc", "-q", "--prune=never")
    other = team.git("hash-object", "-w", "--stdin", input="violet otters are animals\n")

    team.run("purge", id, "--yes")

    left = holders(team, SECRET)
    reachable = team.git("rev-list", "--objects", "--no-object-names", "HEAD").split()
    assert set(left) <= set(reachable)
    for object in (kept, mine, other):
        team.git("cat-file", "-e", object)
    assert "" == team.git("fsck", "--no-dangling")


def test_the_next_commit_takes_the_file_out(team: TestRepo) -> None:
    """The item's file is named, stays until the next commit, and is not written again."""
    id = decide(team, SECRET)
    decide(team, "Use SQLite")
    sha = team.commit({"g": "1\n"})
    paths = team.git("ls-files", ".cortex/decisions").splitlines()

    report = json.loads(team.run("purge", id, "--yes", "--json").out)

    assert [path for path in paths if id[:7] in path] == report["next_commit"]
    assert sha.startswith(report["history"][0])
    assert {"Use SQLite"} == seen(team)
    assert "" == team.git("status", "--porcelain")
    team.commit({"h": "1\n"})
    team.commit({"i": "1\n"})
    assert [path for path in paths if id[:7] not in path] == team.git("ls-files", ".cortex/decisions").splitlines()
    assert SECRET not in team.read(".cortex/decisions.md")
    assert "" == team.git("status", "--porcelain")


def test_other_facts_of_the_same_file_stay(team: TestRepo) -> None:
    """A file of facts is written anew without the purged one, and the others still count."""
    learned = [json.loads(team.run("learn", text, "--json").out)["id"] for text in (SECRET, "Ports are fixed")]
    team.commit({"g": "1\n"})
    assert 1 == len(team.git("ls-files", ".cortex/learned").splitlines())

    team.run("purge", learned[0], "--yes")
    team.commit({"h": "1\n"})

    (path,) = team.git("ls-files", ".cortex/learned").splitlines()
    assert ("Ports are fixed" in team.read(path), SECRET in team.read(path)) == (True, False)
    out = json.loads(team.run("log", "--json", "--type", "learned").out)
    assert ["Ports are fixed"] == [event["content"] for event in out]


def test_it_is_not_recorded_again(team: TestRepo) -> None:
    """The same words are refused by a command and passed over in a transcript; other words are not."""
    id = decide(team, SECRET)
    team.run("purge", id, "--yes")

    again = team.run("decide", SECRET, check=False)

    assert (1, True) == (again.status, "in other words" in again.err)
    payload = {
        "session_id": "",
        "prompt": f"[MEMORY: decision] {SECRET}",
        "hook_event_name": "UserPromptSubmit",
        "cwd": str(team.path),
    }
    team.process("hook", "claude", "UserPromptSubmit", input=json.dumps(payload), check=False)
    assert SECRET not in seen(team, "--all")
    assert "violet" not in team.run("search", "violet", check=False).out
    decide(team, "Passphrases are kept elsewhere")
    assert {"Passphrases are kept elsewhere"} == seen(team)


def test_anchors_and_visibility_stay_right(team: TestRepo) -> None:
    """What is seen on other branches by anchors is the same but for what was purged."""
    team.git("switch", "-qc", "feature")
    decide(team, "Before")
    id = decide(team, SECRET)
    team.commit({"g": "1\n"})
    decide(team, "After")
    team.commit({"h": "1\n"})
    team.run("retract", decide(team, "Not this"))
    decide(team, "Last")
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--ff-only", "feature~1")
    assert {"Before", SECRET} <= seen(team)

    team.run("purge", id, "--yes")

    assert {"Before"} == seen(team)
    team.git("merge", "-q", "--ff-only", "feature")
    assert {"Before", "After"} <= seen(team) and SECRET not in seen(team)
    repo, backend = opened(team)
    for name, tip in backend.refs(keys.SHARED, keys.LOCAL).items():
        inside = set(team.git("rev-list", tip).split())
        assert all(anchor.upto in inside and anchor.depth for anchor in align.anchors(repo, {name: tip})[name])


def test_a_folded_ref_is_purged_too(team: TestRepo) -> None:
    """A secret of a branch that was folded away goes, and the rest of the archive is still found."""
    ids = []
    for branch in ("one", "two"):
        team.git("switch", "-qc", branch, "main")
        ids.append(decide(team, SECRET if branch == "one" else "Another"))
        decide(team, f"Decided on {branch}")
        team.commit({branch: "1\n"})
    team.git("switch", "-q", "main")
    team.git("branch", "-qD", "one", "two")
    team.run("gc")
    assert SECRET in seen(team, "--all")

    team.run("purge", ids[0], "--yes")

    assert {"Decided on one", "Decided on two", "Another"} == seen(team, "--all")
    of_commits = team.git("rev-list", "--objects", "--no-object-names", "--reflog").split()
    assert set(holders(team, SECRET)) <= set(of_commits)
    assert "" == team.git("fsck", "--no-dangling")


def test_it_asks_first_and_says_that_nothing_undoes_it(team: TestRepo) -> None:
    """Without --yes nothing happens where nobody can answer, and --undo is answered by why not."""
    id = decide(team, SECRET)

    asked = team.run("purge", id, check=False)
    undone = team.run("purge", "--undo", id, check=False)

    assert (2, True) == (asked.status, "cannot be undone" in asked.err)
    assert (1, True) == (undone.status, "nothing brings it back" in undone.err)
    assert {SECRET} == seen(team)


def test_other_memories_with_the_same_words_are_named(team: TestRepo) -> None:
    """A memory that repeats the purged text is pointed out."""
    id = decide(team, SECRET)
    twin = json.loads(team.run("learn", f"I heard that {SECRET}", "--json").out)["id"]

    report = json.loads(team.run("purge", id, "--yes", "--json").out)

    assert [twin] == report["alike"]


def test_a_sync_carries_the_purge_to_the_host_and_to_other_clones(team: TestRepo, tmp_path: Path) -> None:
    """The host's refs lose the secret, and a clone that had it loses it at its next sync, for good."""
    hub = tmp_path / "hub.git"
    share(team, hub)
    id = decide(team, SECRET)
    decide(team, "Use SQLite")
    team.run("sync")
    other = join(team, hub, tmp_path / "other")
    assert SECRET in seen(other, "--all")
    assert hub_holds(hub, SECRET)

    team.run("purge", id, "--yes")
    assert "nothing" not in team.run("sync").out.split(":")[0]
    assert not hub_holds(hub, SECRET)
    other.run("sync")

    assert "Use SQLite" in seen(other, "--all") and SECRET not in seen(other, "--all")
    assert [] == holders(other, SECRET)
    assert [] == traces(other, SECRET)
    decide(team, "Use WAL")
    team.run("sync")
    other.run("sync")
    assert "Use WAL" in seen(other, "--all")
    assert [] == holders(other, SECRET)


def test_an_old_clone_does_not_bring_it_back(team: TestRepo, tmp_path: Path) -> None:
    """A clone that holds the secret in its own ref and knows of no purge sends it; the others never show it again.

    Once that clone has fetched, its own ref is written anew, and the host has it no more.
    """
    hub = tmp_path / "hub.git"
    share(team, hub)
    other = join(team, hub, tmp_path / "other")
    id = decide(other, SECRET)
    decide(other, "Use WAL")
    other.run("sync")
    team.run("sync")
    assert SECRET in seen(team, "--all")

    team.run("purge", id, "--yes")
    team.run("sync")
    assert [] == holders(team, SECRET)
    decide(other, "Use journals")
    other.run("sync")

    assert not hub_holds(hub, SECRET)
    team.run("sync")
    assert {"Use WAL", "Use journals"} <= seen(team, "--all")
    for clone in (team, other):
        assert SECRET not in seen(clone, "--all")
        assert [] == holders(clone, SECRET)
    assert "" == other.git("fsck", "--no-dangling")


def test_a_push_waits_until_a_fetched_purge_is_done(team: TestRepo, tmp_path: Path) -> None:
    """With a fetched tombstone that was not acted on, pushing code sends no memory, and says how to go on."""
    hub = tmp_path / "hub.git"
    share(team, hub)
    other = join(team, hub, tmp_path / "other")
    id = decide(other, SECRET)
    team.run("purge", id, "--yes")
    team.run("sync")
    other.git("fetch", "-q", "origin", "refs/notes/cortex-purged/*:refs/cortex/remotes/origin/purged/*")
    assert SECRET not in seen(other)
    other.commit({"o": "1\n"})

    done = subprocess.run(["git", "push", "-q", "origin", "HEAD:other"], cwd=other.path, capture_output=True, text=True)

    assert (0, True) == (done.returncode, "git cortex sync" in done.stderr)
    assert not hub_holds(hub, SECRET)


def test_a_repeated_purge_goes_on_where_a_killed_one_ended(team: TestRepo) -> None:
    """With only the tombstone written, nothing is shown; what is left of the work is done by the next look."""
    id = decide(team, SECRET)
    decide(team, "Use SQLite")
    repo, backend = opened(team)
    purge.bury(repo, backend, [id])
    assert {"Use SQLite"} == seen(team, "--all")

    done = purge.honour(*opened(team))

    assert [SECRET] == [event.content for event in done.events]
    assert [] == holders(team, SECRET)
    assert not purge.honour(*opened(team)).events


def test_two_clones_write_the_same_commits(team: TestRepo, tmp_path: Path) -> None:
    """Rewriting the same refs without the same events gives the same ids everywhere."""
    id = decide(team, SECRET)
    team.commit({"g": "1\n"})
    decide(team, "Use SQLite")
    team.commit({"h": "1\n"})
    copy = TestRepo(tmp_path / "copy")
    team.git("clone", "-q", "--mirror", str(team.path), str(copy.path))
    results = []
    for one in (team, copy):
        repo, backend = opened(one)
        tips = backend.refs(keys.SHARED)
        found = rewrite.find(repo, backend, tips.values(), [], {id})
        results.append(rewrite.rewrite(repo, tips.values(), found.blobs))

    assert results[0] and results[0] == results[1]


def test_merges_and_foreign_entries_survive_a_rewrite(team: TestRepo) -> None:
    """A notes ref with a merge, another fan-out and files that are not ours keeps all of that but for the secret."""
    repo, backend = opened(team)
    ref = f"refs/notes/cortex/{'a' * 12}/{repo.clone}"
    event, good = (Event("decision_made", text, time="2026-01-01T00:00:00.000Z") for text in (SECRET, "ok"))
    base = backend.append([Update(ref, None, [codec.encode_segment([event, good])], "cortex: one\n")])[0]
    blob = team.git("hash-object", "-w", "--stdin", input="[]\n")
    odd = 'a "b" ü\\.json'
    index = {"GIT_INDEX_FILE": str(team.path / ".git" / "odd-index")}
    team.git("read-tree", base, variables=index)
    team.git("update-index", "--add", "--cacheinfo", f"100755,{blob},x/{blob}", variables=index)
    team.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{odd}", variables=index)
    side = team.git("commit-tree", team.git("write-tree", variables=index), "-p", base, "-m", "side")
    tip = team.git("commit-tree", f"{side}^{{tree}}", "-p", base, "-p", side, "-m", f"merge\n\nCortex-Upto: {base}")
    team.git("update-ref", ref, tip)

    team.run("purge", event.id, "--yes")

    new = team.git("rev-parse", ref)
    first, second = team.git("rev-list", "--parents", "-1", new).split()[1:]
    assert first == team.git("rev-parse", f"{second}^")
    assert f"Cortex-Upto: {first}" in team.git("log", "-1", "--format=%B", new)
    paths = team.git("ls-tree", "-r", "-z", "--name-only", new).split("\0")
    assert {odd, f"x/{blob}"} < set(paths)
    segments = backend.blobs(backend.tree(new).values())
    assert {good.id} == {found.id for _, data in segments for found in codec.decode_segment(data)[0]}
    assert "" == team.git("fsck", "--no-dangling")


def test_a_damaged_segment_loses_the_event_too(team: TestRepo) -> None:
    """Of a segment that is no JSON as a whole the line goes, and the other lines stay."""
    lines = [{"type": "decision_made", "content": text, "time": "2026-01-01T00:00:00.000Z", "id": id * 16}
             for text, id in ((SECRET, "5"), ("ok", "6"))]  # fmt: skip
    data = ("[" + ",\n".join(json.dumps(line) for line in lines) + ",\n{broken\n]\n").encode()

    left, gone = rewrite.without(data, {"5" * 16})

    assert left is not None and SECRET.encode() not in left and b"{broken" in left
    assert ["5" * 16] == [event.id for event in gone]
    assert ["6" * 16] == [event.id for event in codec.decode_segment(left)[0]]


def test_an_aborted_commits_leftovers_go_too(team: TestRepo) -> None:
    """The file of an item that was staged for a commit which was given up leaves no dangling blob behind."""
    id = decide(team, SECRET)
    (team.path / ".git" / "hooks" / "commit-msg").write_text("#!/bin/sh\nexit 1\n")
    (team.path / ".git" / "hooks" / "commit-msg").chmod(0o755)
    team.git("commit", "-qm", "given up", "--allow-empty", check=False)
    (team.path / ".git" / "hooks" / "commit-msg").unlink()
    team.run("status")
    assert 2 <= len(holders(team, SECRET))

    team.run("purge", id, "--yes")

    assert [] == holders(team, SECRET)
    assert "" == team.git("status", "--porcelain")


def test_an_unknown_whole_id_is_kept_away(team: TestRepo) -> None:
    """An id that is not here can be buried ahead, such as one of another clone; the start of one cannot."""
    id = decide(team, "Use SQLite")
    unknown = sha1_hex(b"x")[:16]

    assert 1 == team.run("purge", unknown[:8], "--yes", check=False).status
    team.run("purge", unknown, "--yes")

    assert {"Use SQLite"} == seen(team)
    assert unknown in team.git("show", f"refs/notes/cortex-purged/{opened(team)[0].clone}")
    assert id != unknown


def test_what_waits_and_what_was_set_aside_goes_too(team: TestRepo) -> None:
    """A payload in the spool or its folder for bad ones that holds the text, and a line in the log, are removed."""
    id = decide(team, SECRET)
    home = team.path / ".git" / "cortex"
    bad = home / "spool" / "bad"
    bad.mkdir(exist_ok=True)
    (bad / "r.1").write_text(f"broken {SECRET}")
    (bad / "r.2").write_text("broken, too")
    (home / "log").write_text(f"one\ntwo {SECRET}\nthree\n")

    team.run("purge", id, "--yes")

    assert ["r.2"] == [path.name for path in bad.iterdir()]
    assert "one\nthree\n" == (home / "log").read_text()


def test_caches_that_are_deleted_do_not_bring_it_back(team: TestRepo) -> None:
    """Tombstones are read from their ref again when everything derived is gone, also by an event from a file."""
    id = decide(team, SECRET)
    team.commit({"g": "1\n"})
    team.run("purge", id, "--yes")

    for folder in ("cache", "view", "index"):
        subprocess.run(["rm", "-rf", str(team.path / ".git" / "cortex" / folder)], check=True)

    assert set() == seen(team)
    assert "violet" not in team.run("search", "violet", check=False).out
    assert "violet" not in team.run("export").out
    assert "violet" not in team.run("show", id, check=False).out


def test_what_cannot_be_removed_is_said(team: TestRepo) -> None:
    """From a pack that is marked to be kept nothing is removed: the report and doctor say so, until it can be."""
    id = decide(team, SECRET)
    team.git("gc", "-q")
    (pack,) = (team.path / ".git" / "objects" / "pack").glob("*.pack")
    pack.with_suffix(".keep").touch()

    report = json.loads(team.run("purge", id, "--yes", "--json").out)

    assert set(holders(team, SECRET)) <= set(report["left"])
    assert set() == seen(team, "--all")
    assert "kept pack" in team.run("doctor", check=False).out
    pack.with_suffix(".keep").unlink()
    team.run("purge", id, "--yes")
    assert [] == holders(team, SECRET)
    assert "kept pack" not in team.run("doctor", check=False).out


def test_a_table_of_commits_names_none_that_is_gone(team: TestRepo) -> None:
    """Where git keeps a commit-graph, it is right after a purge."""
    id = decide(team, SECRET)
    team.git("commit-graph", "write", "--reachable")

    team.run("purge", id, "--yes")

    assert [] == holders(team, SECRET)
    team.git("commit-graph", "verify")
    assert "" == team.git("fsck", "--no-dangling")
