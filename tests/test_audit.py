"""What `doctor` says of the refs, and that odd trees, broken blobs and lost commits neither hide nor break memory."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import TestRepo
from prepared import prepared, start

from cortex_git.events import codec
from cortex_git.events.model import Event
from cortex_git.store.backend import Update
from cortex_git.store.gitcli import GitBackend
from cortex_git.store.repo import Repo, require

TIME = "2026-01-01T00:00:00.000Z"
THEIRS = f"refs/cortex/remotes/origin/{'b' * 12}/01234567"


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with a memory, a decision and its commit."""
    return prepared(repo, _start)


def _start(repo: TestRepo) -> None:
    start(repo)
    repo.run("decide", "Use SQLite")
    repo.commit({"g": "1\n"})


def opened(repo: TestRepo) -> tuple[Repo, GitBackend]:
    found = require(str(repo.path), os.environ)
    return found, GitBackend(found)


def own_ref(repo: TestRepo) -> str:
    found, backend = opened(repo)
    (name,) = (name for name in backend.refs("refs/notes/cortex") if name.endswith(found.clone))
    return name


def put(repo: TestRepo, ref: str, *blobs: bytes, message: str = "cortex: events\n") -> str:
    _, backend = opened(repo)
    return backend.append([Update(ref, backend.refs(ref).get(ref), blobs, message)])[0]


def set_tree(repo: TestRepo, ref: str, *entries: str, keep: bool = True) -> None:
    """Put entries (`mode,id,path`) into the tree of a ref, as another program would."""
    index = {"GIT_INDEX_FILE": str(repo.path / ".git" / "test-index")}
    repo.git("read-tree", *([ref] if keep else ["--empty"]), variables=index)
    for entry in entries:
        repo.git("update-index", "--add", "--cacheinfo", entry, variables=index)
    tree = repo.git("write-tree", variables=index)
    repo.git("update-ref", ref, repo.git("commit-tree", "-p", ref, "-m", "by hand", tree))


def seen(repo: TestRepo, *arguments: str) -> set[str]:
    out = repo.run("log", "--json", "--type", "decision", *arguments).out
    return {event["content"] for event in json.loads(out)}


def findings(repo: TestRepo) -> str:
    """All that doctor says."""
    return repo.run("doctor", check=False).out


def test_a_sound_repository_is_well(team: TestRepo) -> None:
    """With nothing odd in the refs doctor has nothing to say of them."""
    said = json.loads(team.run("doctor", "--json", check=False).out)

    assert not [entry for entry in said if "ref" in entry["message"].split() or "event" in entry["message"]]


def test_anchors_to_lost_commits_are_counted_and_ignored(team: TestRepo) -> None:
    """After history was rewritten from a new root, memory stays with its branch and the lost anchors are counted."""
    old = team.git("rev-parse", "HEAD")
    tree = team.git("rev-parse", "HEAD^{tree}")
    team.git("reset", "-q", "--hard", team.git("commit-tree", "-m", "A new beginning", tree))
    team.git("reflog", "expire", "--expire=all", "--all")
    team.git("gc", "-q", "--prune=now")
    assert "commit" != team.git("cat-file", "-t", old, check=False)

    assert {"Use SQLite"} == seen(team)
    assert "1 commit that memory is tied to and that is not here" in findings(team)


def test_foreign_entries_are_named_and_passed_over(team: TestRepo) -> None:
    """Files that another program puts into a notes tree hide nothing and are reported."""
    blob = team.git("hash-object", "-w", "--stdin", input="{}\n")
    set_tree(team, own_ref(team), f"100644,{blob},remote.json")

    assert {"Use SQLite"} == seen(team)
    assert "files that are no memory" in findings(team)


def test_wrong_modes_are_named_and_not_read(team: TestRepo) -> None:
    """An executable file or a link in a notes tree is never read as a segment."""
    data = codec.encode_segment([Event("decision_made", "From a link", time=TIME)])
    blob = team.git("hash-object", "-w", "--stdin", input=data.decode())
    set_tree(team, own_ref(team), f"120000,{blob},{blob[:2]}/{blob[2:]}", f"100755,{blob},ab/x")

    assert {"Use SQLite"} == seen(team)
    assert "links or executable files" in findings(team)


def test_damaged_and_oversized_segments_cost_only_themselves(team: TestRepo) -> None:
    """A segment that is no JSON and one that is too large are counted, and everything else is read."""
    put(team, own_ref(team), b"[{broken\n", b"[" + b" " * (5 * 1024 * 1024) + b"]\n")

    said = findings(team)

    assert {"Use SQLite"} == seen(team)
    assert ("1 stored entries are damaged" in said, "too large to be read" in said) == (True, True)


def test_an_id_that_does_not_match_is_named(team: TestRepo) -> None:
    """An event whose id is not that of its words was made by hand, and is named with its id."""
    forged = Event("decision_made", "Trust me", time=TIME, id="0123456789abcdef")
    newer = Event("decision_made", "Of a newer format", time=TIME, id="f" * 16, extra={"v": 2})
    put(team, THEIRS, codec.encode_segment([forged, newer]))

    said = findings(team)

    assert "1 event with an id that does not match" in said
    assert ("0123456" in said, "fffffff" in said) == (True, False)


def test_refs_that_nobody_reads_are_named(team: TestRepo) -> None:
    """A ref in our namespaces whose name is no key is reported."""
    team.git("update-ref", "refs/notes/cortex/by-hand", own_ref(team))
    team.git("update-ref", "refs/notes/cortex/zzzzzzzzzzzz/01234567", own_ref(team))

    said = findings(team)

    assert "2 refs with a name that is no key" in said


def test_unsent_events_are_counted(team: TestRepo, tmp_path: Path) -> None:
    """What a remote that is shared with has not been sent is reported with the command that sends it."""
    hub = tmp_path / "hub.git"
    team.git("init", "-q", "--bare", str(hub))
    team.git("remote", "add", "origin", str(hub))
    team.run("share", "origin", "--yes")
    team.run("decide", "Use WAL")

    assert "1 event not sent to origin yet: git cortex sync origin" in findings(team)
    team.run("sync")
    assert "not sent" not in findings(team)


def test_what_could_be_folded_is_counted(team: TestRepo) -> None:
    """Many refs of branches that are gone are worth a word, few are not."""
    found, _ = opened(team)
    tip = team.git("rev-parse", own_ref(team))
    for number in range(9):
        team.git("update-ref", f"refs/notes/cortex/{number:012x}".replace("0", "a", 5) + f"/{found.clone}", tip)
    assert "git cortex gc" not in findings(team)

    team.git("update-ref", f"refs/notes/cortex/{'c' * 12}/{found.clone}", tip)

    assert "10 refs are of branches that are gone: git cortex gc" in findings(team)


# ---- trees that git itself has written


def test_a_tree_that_git_notes_rewrote_is_read(team: TestRepo) -> None:
    """`git notes` may write our tree in another fan-out: everything is still there, and we go on writing."""
    ref = own_ref(team)
    team.git("notes", f"--ref={ref}", "add", "-m", "a note by hand", "HEAD")
    team.git("notes", f"--ref={ref}", "remove", "HEAD")

    assert {"Use SQLite"} == seen(team)
    team.run("decide", "Use WAL")
    assert {"Use SQLite", "Use WAL"} == seen(team)
    team.git("notes", f"--ref={ref}", "prune")
    assert {"Use SQLite", "Use WAL"} == seen(team)


@pytest.mark.parametrize("count", [1, 2, 50, 100, 1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_any_number_of_segments_is_read_in_any_fan_out(team: TestRepo, count: int) -> None:
    """From one segment to ten thousand all are read back, as written and after `git notes` rewrote the tree."""
    events = [Event("knowledge_acquired", f"Fact {number}", time=TIME) for number in range(count)]
    put(team, THEIRS, *(codec.encode_segment([event]) for event in events))
    _, backend = opened(team)

    for by in ("us", "git notes"):
        if by == "git notes":
            team.git("update-ref", "refs/notes/x", THEIRS)
            team.git("notes", "--ref=x", "add", "-m", "by hand", "HEAD")
            team.git("update-ref", THEIRS, "refs/notes/x")
        tip = backend.refs(THEIRS)[THEIRS]
        blobs = backend.blobs(backend.segments([tip])[tip])
        found = [event.id for _, data in blobs for event in codec.decode_segment(data)[0]]
        assert sorted(event.id for event in events) == sorted(found), by


def test_one_segment_under_two_names_counts_once(team: TestRepo) -> None:
    """A tree in which a segment lies flat and in a folder is read, counted once, and written on in one way."""
    ref = own_ref(team)
    (path,) = (path for path in team.git("ls-tree", "-r", "--name-only", ref).splitlines()[:1])
    blob = path.replace("/", "")
    set_tree(team, ref, f"100644,{blob},{blob}")
    assert ["Use SQLite"] == [event["content"] for event in json.loads(team.run("log", "--json").out)]

    team.run("decide", "Use WAL")

    assert {"Use SQLite", "Use WAL"} == seen(team)
    new = set(team.git("ls-tree", "-r", "--name-only", ref).splitlines()) - {path, blob}
    assert new and all(name[2] == "/" for name in new)


def test_no_foreign_file_is_ever_written(team: TestRepo) -> None:
    """Our trees hold nothing but segments under their own ids, each event of them on a line of its own."""
    team.run("learn", "Several\nlines\nof text")
    _, backend = opened(team)
    for name, tip in backend.refs("refs/notes").items():
        for path, blob in backend.tree(tip).items():
            assert path.replace("/", "") == blob, name
            lines = team.git("cat-file", "blob", blob).splitlines()
            assert all(json.loads(line.strip("[],") if line[0] == "[" else line.rstrip("],")) for line in lines)


def test_sorted_merges_of_notes_lose_nothing(team: TestRepo) -> None:
    """`git notes merge` of two clones' trees is a union without conflict, whatever its strategy."""
    one = put(team, "refs/notes/one", codec.encode_segment([Event("decision_made", "One", time=TIME)]))
    two = put(team, "refs/notes/two", codec.encode_segment([Event("decision_made", "Two", time=TIME)]))
    for strategy in ("manual", "union", "cat_sort_uniq"):
        team.git("update-ref", "refs/notes/merged", one)
        team.git("notes", "--ref=merged", "merge", "-q", "-s", strategy, "two")
        _, backend = opened(team)
        segments = backend.blobs(backend.tree("refs/notes/merged").values())
        assert {"One", "Two"} == {event.content for _, data in segments for event in codec.decode_segment(data)[0]}
    assert two


def test_many_events_leave_few_objects_and_gc_is_clean(team: TestRepo) -> None:
    """Two thousand events are few objects; `git gc` packs them, and fsck is clean in each work tree."""
    before = int(team.git("count-objects").split()[0])
    _, backend = opened(team)
    ref = own_ref(team)
    events = [Event("decision_made", f"Decision {number}", time=TIME) for number in range(2000)]
    for at in range(0, 2000, 200):
        tip = backend.refs(ref)[ref]
        backend.append([Update(ref, tip, [codec.encode_segment(events[at : at + 200])], "cortex: events\n")])
    assert int(team.git("count-objects").split()[0]) - before <= 45
    team.git("worktree", "add", "-q", "../linked", "-b", "linked")

    team.git("-c", "gc.auto=1", "-c", "gc.autoDetach=false", "gc", "-q", "--auto")

    linked = TestRepo(team.path.parent / "linked")
    assert ("", "") == (team.git("fsck", "--no-dangling"), linked.git("fsck", "--no-dangling"))
    assert 2001 == len(json.loads(team.run("log", "--json", "--type", "decision", "--all").out))


def test_log_of_all_can_leave_notes_out(team: TestRepo) -> None:
    """The options that the documentation gives keep notes commits out of `git log --all`."""
    text = (Path(__file__).parent.parent / "docs" / "upkeep.md").read_text(encoding="utf-8")
    (line,) = (line.strip() for line in text.splitlines() if line.strip().startswith("git log --exclude"))
    plain = subprocess.run(["sh", "-c", line], cwd=team.path, capture_output=True, text=True, check=True).stdout

    assert "cortex:" in team.git("log", "--all", "--format=%s")
    assert "cortex:" not in plain
    assert "Start a memory" in plain


def test_derived_files_can_be_deleted(team: TestRepo) -> None:
    """Without caches, views and index the same ids, lists, briefing and answers come out again."""

    def answers() -> list[str]:
        commands = (("log", "--json"), ("search", "SQLite", "--json"), ("status", "--json"), ("export",))
        return [team.run(*command).out for command in commands]

    team.run("learn", "SQLite has one writer")
    before = answers()
    briefing = (team.path / ".claude/rules/cortex-briefing.md").read_text()
    for folder in ("cache", "view", "index"):
        subprocess.run(["rm", "-rf", str(team.path / ".git" / "cortex" / folder)], check=True)

    assert before == answers()
    team.git("switch", "-q", "-c", "x")
    team.git("switch", "-q", "main")
    assert briefing == (team.path / ".claude/rules/cortex-briefing.md").read_text()
