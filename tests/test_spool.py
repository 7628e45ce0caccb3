"""The spool and the lock around a drain."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cortex_git.store import spool
from cortex_git.store.locking import Lock, read_json, write_json


@pytest.fixture
def place(tmp_path: Path) -> str:
    (tmp_path / "spool").mkdir(mode=0o700)
    return str(tmp_path)


def test_a_record_reads_back_as_it_was_written(place: str) -> None:
    """Header and payload survive byte by byte, whatever the payload holds."""
    payload = bytes(range(256)) + b"\n\n"
    name = spool.write(place, "claude", "Stop", "/work tree/ü", "ref: refs/heads/x", payload)

    record = spool.read(place, name)

    assert record is not None
    assert ("claude", "Stop", "/work tree/ü", "ref: refs/heads/x") == (
        record.agent,
        record.event,
        record.work_tree,
        record.head_line,
    )
    assert payload == record.payload


def test_only_the_user_can_read_a_record(place: str) -> None:
    """A payload may hold anything; nobody else on the machine reads it."""
    name = spool.write(place, "claude", "Stop", "", "", b"{}")

    assert 0o600 == os.stat(Path(place, "spool", name)).st_mode & 0o777


def test_records_come_in_the_order_of_time(place: str) -> None:
    """What was written first is drained first."""
    names = [spool.write(place, "claude", "Stop", "", "", b"{}") for _ in range(5)]
    for seconds, name in enumerate(reversed(names)):
        os.utime(Path(place, "spool", name), (seconds, seconds))

    assert names[::-1] == spool.names(place)


@pytest.mark.parametrize("data", [b"", b"x", b"cortex-spool 2\n\n{}", b"cortex-spool 1\nevent Stop\n{}"])
def test_what_is_no_record_is_told(place: str, data: bytes) -> None:
    """A damaged file is recognised as such."""
    Path(place, "spool", "r.bad").write_bytes(data)

    with pytest.raises(spool.BadRecord):
        spool.read(place, "r.bad")


def test_a_bad_record_is_kept_apart(place: str) -> None:
    """What cannot be used is moved out of the way and can be looked at."""
    name = spool.write(place, "claude", "Stop", "", "", b"?")

    spool.set_aside(place, name)

    assert ([], [name]) == (spool.names(place), spool.bad_names(place))


def test_a_spool_that_is_gone_is_made_anew(tmp_path: Path) -> None:
    """A capture is not lost because somebody removed the folder."""
    name = spool.write(str(tmp_path), "claude", "Stop", "", "", b"{}")

    assert [name] == spool.names(str(tmp_path))
    assert 0o700 == os.stat(tmp_path / "spool").st_mode & 0o777


def test_the_path_of_a_work_tree_may_hold_line_ends(place: str) -> None:
    """They do not cut the header short."""
    record = spool.read(place, spool.write(place, "claude", "Stop", "/one\n\ntwo x\n", "ref: refs/heads/x", b"{}"))

    assert record is not None
    assert ("/one\n\ntwo x\n", "ref: refs/heads/x", b"{}") == (record.work_tree, record.head_line, record.payload)


def test_few_bad_records_are_kept(place: str) -> None:
    """Beyond a number the oldest go."""
    for seconds in range(spool.MOST_BAD + 3):
        path = Path(place, "spool", f"r.{seconds:03}")
        path.write_bytes(b"?")
        os.utime(path, (seconds, seconds))
        spool.set_aside(place, path.name)

    assert [f"r.{number:03}" for number in range(3, spool.MOST_BAD + 3)] == spool.bad_names(place)


def test_bad_records_take_little_space(place: str) -> None:
    """Beyond a size the oldest go, but never the one that came last."""
    for seconds, (name, size) in enumerate([("r.a", 1), ("r.b", 40 << 20), ("r.c", 40 << 20)]):
        with open(Path(place, "spool", name), "wb") as file:
            file.truncate(size)
        os.utime(Path(place, "spool", name), (seconds, seconds))
        spool.set_aside(place, name)
    assert ["r.c"] == spool.bad_names(place)

    with open(Path(place, "spool", "r.huge"), "wb") as file:
        file.truncate(spool.MOST_BAD_BYTES + 1)
    spool.set_aside(place, "r.huge")
    assert ["r.huge"] == spool.bad_names(place)


def test_half_written_files_of_the_dead_are_swept(place: str) -> None:
    """An old temporary file goes, one that is being written stays."""
    old, new = (Path(place, "spool", f"tmp.{name}") for name in ("old", "new"))
    for path, moment in ((old, 1), (new, 1000)):
        path.write_bytes(b"")
        os.utime(path, (moment, moment))

    spool.sweep(place, 500)

    assert (False, True) == (old.exists(), new.exists())


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    """A second one waits in vain, and gets the lock as soon as it is free."""
    one, other = Lock(str(tmp_path / "lock")), Lock(str(tmp_path / "lock"))

    assert (True, False) == (one.acquire(0), other.acquire(0.05))
    one.release()
    assert other.acquire(0)


def test_a_damaged_state_file_counts_as_none(tmp_path: Path) -> None:
    """What is kept for speed may be lost without harm."""
    path = str(tmp_path / "state.json")
    write_json(path, {"a": 1})
    assert {"a": 1} == read_json(path)

    Path(path).write_text('{"a": ')

    assert {} == read_json(path)
