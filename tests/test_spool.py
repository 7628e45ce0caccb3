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
