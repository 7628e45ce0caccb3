"""How many git processes the hooks start: each costs what starting Python costs, on some systems many times that."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT, TestRepo
from formats import FORMAT

sys.path.insert(0, str(ROOT / "bench"))

import branches
import cases

pytestmark = pytest.mark.skipif(bool(FORMAT), reason="counted where refs are files and all objects are here")

MOST = tomllib.loads((ROOT / "bench" / "budgets.toml").read_text(encoding="utf-8"))["processes"]


@pytest.fixture
def store(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cases.Store:
    """A small repository with the branches of several clones, in which somebody has worked for a while."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    branches.make(tmp_path / "store" / "repo", branches=10, clones=3, commits=120)
    made = cases.Store(tmp_path / "store" / "repo")
    for name in cases.PROCESSES:
        cases.CASES[name](made)
    made.counting = True
    return made


def test_hooks_start_few_processes(store: cases.Store) -> None:
    """None of the hooks starts more than the budget says: a drain that stores a turn five, an idle commit two."""
    assert set(MOST) == set(cases.PROCESSES)
    started = {name: cases.CASES[name](store).started for name in cases.PROCESSES}
    assert {name: count for name, count in started.items() if count > MOST[name]} == {}


def test_a_fetch_runs_no_hook_of_ours(repo: TestRepo, tmp_path: Path) -> None:
    """Refs come in without a process for each or for all of them: there is no reference-transaction hook."""
    repo.commit({"a.txt": "a\n"})
    repo.git("update-ref", "--stdin", input="".join(f"create refs/many/{n} HEAD\n" for n in range(100)))
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "clone"))
    clone = TestRepo(tmp_path / "clone")
    clone.run("init", "--yes", "--no-plugin")
    trace = tmp_path / "trace"
    clone.git("fetch", "--quiet", "origin", "+refs/many/*:refs/many/*", variables={"GIT_TRACE2_EVENT": str(trace)})
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    assert not [event for event in events if event.get("child_class") == "hook"]
    assert not [event for event in events if "--no-optional-locks" in event.get("argv", ())]
