"""The index beside other processes, and after they were killed."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT
from search_data import Maker, Store

from cortex_git.events import model
from cortex_git.search.index import Index


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Where the index is to be; it does not exist yet."""
    return str(tmp_path / "index")


PROGRAM = """
import sys
sys.path[:0] = [{root!r}, {tests!r}]
from search_data import Maker, Store
from cortex_git.search.index import Index
store = Store(Maker(11).segments(300, meant=0.5))
ids = list(store.segments)
index = Index({folder!r})
sys.stdout.write("ready\\n"); sys.stdout.flush()
for end in range({start}, len(ids) + 1, {step}):
    index.update(ids[:end], store.load)
"""


def _start(folder: str, start: int, step: int) -> subprocess.Popen[bytes]:
    program = PROGRAM.format(root=str(ROOT), tests=str(ROOT / "tests"), folder=folder, start=start, step=step)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    return process


def _killed_updates(folder: str, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    store = Store(Maker(11).segments(300, meant=0.5))
    expected = {e.id for events in store.segments.values() for e in events if e.type in model.SEMANTIC}
    for _ in range(kills):
        if chance.random() < 0.3:
            shutil.rmtree(folder, ignore_errors=True)
        process = _start(folder, chance.randrange(1, 10), chance.randrange(1, 6))
        time.sleep(chance.random() * 0.25)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]
        index = Index(folder)
        index.update(store.segments, store.load)
        answer = index.search("case", limit=10_000)
        assert ({hit.id for hit in answer.hits}, answer.notices) == (expected, [])
        index.close()
        if chance.random() < 0.7:
            Path(folder, "state.json").unlink()


def test_killed_updates_do_no_harm(folder: str) -> None:
    """After kill -9 at random points of an update the next command finds everything, without a word."""
    _killed_updates(folder, 20, 1)


@pytest.mark.slow
def test_many_killed_updates_do_no_harm(folder: str) -> None:
    """The same 200 times."""
    _killed_updates(folder, 200, 2)


SEARCHER = """
import sys, time
sys.path[:0] = [{root!r}, {tests!r}]
from search_data import Maker, Store
from cortex_git.search.index import Index
store = Store(Maker(11).segments(300, meant=0.5))
ids = list(store.segments)
end = time.monotonic() + {seconds}
while time.monotonic() < end:
    index = Index({folder!r})
    index.update(ids[:3], store.load)
    answer = index.search("case", segments=dict.fromkeys(ids[:3]), limit=10000)
    wanted = {{e.id for id in ids[:3] for e in store.segments[id] if "case" in e.content}}
    assert {{h.id for h in answer.hits}} == wanted, (answer.notices, len(wanted))
    assert not answer.notices, answer.notices
"""


def _side_by_side(folder: str, searchers: int, seconds: float) -> None:
    store = Store(Maker(11).segments(300, meant=0.5))
    Index(folder).update(list(store.segments)[:3], store.load)
    names = {"root": str(ROOT), "tests": str(ROOT / "tests"), "folder": folder, "seconds": seconds}
    program = SEARCHER.format(**names)
    running = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) for _ in range(searchers)]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        writers = [_start(folder, 3, 1), _start(folder, 4, 2)]
        for writer in writers:
            assert writer.wait() == 0
            writer.stdout.close()  # type: ignore[union-attr]
    faults = [process.communicate()[1].decode() for process in running]
    assert [fault for fault in faults if fault] == []
    index = Index(folder)
    assert index.covered() == set(store.segments)
    assert len(index.search("case", limit=10_000).hits) == len(
        {e.id for events in store.segments.values() for e in events if "case" in e.content}
    )


def test_writers_and_readers_side_by_side(folder: str) -> None:
    """Two processes that update and three that search get in nobody's way, and nothing is missing."""
    _side_by_side(folder, 3, 2.0)


@pytest.mark.slow
def test_writers_and_readers_side_by_side_for_a_minute(folder: str) -> None:
    """Two processes that update and ten that search, for a minute."""
    _side_by_side(folder, 10, 60.0)
