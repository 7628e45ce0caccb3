"""What a hub holds that it should not, or holds no more: it harms no memory, and what is missing is sent again."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import TestRepo
from team import Hub, decide, opened, seen, start


@pytest.fixture
def hub(tmp_path: Path, home: Path) -> Hub:
    """A hub with one commit on main."""
    return Hub(tmp_path / "hub")


def blob(repo: TestRepo) -> str:
    (repo.path / "junk").write_text("no memory\n")
    return repo.git("hash-object", "-w", "junk").strip()


def own(repo: TestRepo, hub: Hub) -> list[str]:
    return [name for name in hub.refs("refs/notes/cortex") if name.endswith("/" + opened(repo).clone)]


def test_refs_that_are_no_commits_are_set_aside(hub: Hub) -> None:
    """Blobs at the hub under others' names, as tombstones and under our own keep nothing from being read and sent."""
    a = hub.clone("a")
    decide(a, "Use SQLite")
    a.run("sync")
    junk = blob(hub.bare)
    (mine,) = own(a, hub)
    hub.bare.git("update-ref", f"refs/notes/cortex/{'a' * 12}/{'b' * 8}", junk)
    hub.bare.git("update-ref", "refs/notes/cortex-purged/aaaaaaaa", junk)
    hub.bare.git("update-ref", mine.replace(mine.split("/")[3], "c" * 12), junk)
    done = a.run("sync")
    assert "3 refs that lead to no commit were set aside" in done.out

    assert ["Use SQLite"] == seen(a)
    for command in (["status"], ["search", "SQLite"], ["export"], ["doctor"]):
        assert "names no revision" not in a.run(*command, check=False).err
    decide(a, "Use Redis")
    a.run("sync")
    assert junk not in a.git("for-each-ref", "refs/notes", "refs/cortex")
    assert hub.bare.git("cat-file", "-t", mine).strip() == "commit"


def test_local_refs_that_are_no_commits_are_left_out(hub: Hub) -> None:
    """A notes ref here that leads to a blob, or to nothing, is counted by doctor and read by nobody."""
    a = hub.clone("a")
    decide(a, "Use SQLite")
    a.git("update-ref", f"refs/notes/cortex/{'a' * 12}/{'b' * 8}", blob(a))
    lost = a.path / ".git" / "refs" / "notes" / "cortex" / ("d" * 12) / ("e" * 8)
    lost.parent.mkdir()
    lost.write_text("1" * 40 + "\n")

    assert ["Use SQLite"] == seen(a)
    assert "2 refs that lead to no commit" in a.run("doctor", check=False).out
    decide(a, "Use Redis")
    a.run("sync")
    assert ["Use Redis", "Use SQLite"] == hub.contents()


def test_a_hub_that_was_emptied_gets_everything_again(hub: Hub) -> None:
    """Refs that were deleted at the hub are sent again."""
    a = hub.clone("a")
    decide(a, "Use SQLite")
    a.run("sync")
    for name in hub.refs():
        hub.bare.git("update-ref", "-d", name)
    a.run("sync")
    assert ["Use SQLite"] == hub.contents()


def test_a_remote_that_is_another_now_gets_everything(hub: Hub, tmp_path: Path) -> None:
    """After set-url status claims nothing of the new place, and sync sends all."""
    a = hub.clone("a")
    decide(a, "Use SQLite")
    a.run("sync")
    other = Hub(tmp_path / "elsewhere" / "hub")
    a.git("remote", "set-url", "origin", str(other.path))
    assert "unpushed events: 1" in a.run("status").out
    a.run("sync")
    assert ["Use SQLite"] == other.contents()
    assert "unpushed events: 0" in a.run("status").out


def test_what_cannot_be_fetched_keeps_nothing_from_being_sent(hub: Hub) -> None:
    """A ref that is in the way of a fetched one is named, and ours are sent."""
    a, b = hub.clone("a"), hub.clone("b")
    decide(b, "Use Redis")
    b.run("sync")
    (theirs,) = own(b, hub)
    a.git("update-ref", f"refs/cortex/remotes/origin/{'/'.join(theirs.split('/')[3:])}/x", "HEAD")
    decide(a, "Use SQLite")
    assert "cannot lock ref" in a.run("sync", check=False).err
    assert ["Use Redis", "Use SQLite"] == hub.contents()


def test_a_remote_whose_name_goes_on_after_a_slash_is_another(hub: Hub, tmp_path: Path) -> None:
    """Of `origin` and `origin/y` each gets what it lacks, and no more."""
    a = hub.clone("a")
    other = Hub(tmp_path / "elsewhere" / "hub")
    a.git("config", "remote.origin/y.url", str(other.path))
    decide(a, "Use SQLite")
    a.run("share", "origin/y", "--yes")
    a.run("sync")
    decide(a, "Use Redis")
    a.run("sync")
    assert hub.refs("refs/notes/cortex") == other.refs("refs/notes/cortex")
    assert 1 == len(hub.refs("refs/notes/cortex"))


@pytest.mark.parametrize("name", ["a b", "a:b", "x..y", "q.lock"])
def test_a_remote_name_that_no_ref_can_have_is_refused(hub: Hub, name: str) -> None:
    """Sharing with it says what to do, and notes nothing."""
    a = hub.clone("a", shared=False)
    a.git("config", f"remote.{name}.url", str(hub.path))
    done = a.run("share", name, "--yes", check=False)
    assert done.status and "git remote rename" in done.err and 1 == done.err.count("\n")
    assert not a.git("config", "--get-regexp", "cortexshare", check=False).strip()


def test_eight_processes_at_once_send_without_complaint(hub: Hub) -> None:
    """A refusal that another process of the same clone has caused is no failure."""
    a = hub.clone("a")
    decide(a, "Use SQLite")
    running = [start(a, "sync") for _ in range(8)]
    ends = [(process.communicate()[1].decode(), process.returncode) for process in running]
    assert [0] * 8 == [code for _, code in ends], ends
    assert ["Use SQLite"] == hub.contents()
