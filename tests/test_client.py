"""The real Claude Code client, offline, with a scripted model: what a user's first two sessions do."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, TestRepo

sys.path.insert(0, str(ROOT / "docs" / "demo"))

from player import Client, Replay
from sessions import bash, write

pytestmark = pytest.mark.slow

MISSING = "THE REAL CLIENT IS NOT HERE: set CLAUDE_CLI to the Claude Code executable to run its tests"

SESSION: dict[str, Any] = {
    "prompt": "Add a subtract function and commit it.",
    "turns": [
        {
            "text": "[MEMORY: decision] Use plain functions instead of a class, because the module is tiny",
            "tools": [bash("cat app.py")],
        },
        {"tools": [write("app.py", "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n")]},
        {"text": "[MEMORY: `app.py` has no tests yet]", "tools": [bash("git add -A && git commit -m 'Add subtract'")]},
        "Done.\n\n[MEMORY: rejected] One module a function, because imports would be longer than the code",
    ],
}
NEXT: dict[str, Any] = {"prompt": "Go on.", "turns": ["I will."]}


@pytest.fixture(params=["client", "replay"])
def player(request: pytest.FixtureRequest, tmp_path: Path) -> Client | Replay:
    """The real client, and the replay that the demo uses in its place: both must lead to the same memory."""
    if request.param == "replay":
        return Replay(tmp_path / "h")
    program = os.environ.get("CLAUDE_CLI", "")
    if not os.access(program, os.X_OK):
        pytest.skip(MISSING)
    return Client(program, tmp_path / "h")


@pytest.fixture
def project(repo: TestRepo) -> TestRepo:
    repo.commit({"app.py": "def add(a, b):\n    return a + b\n"})
    repo.run("init")
    repo.git("add", "-A")
    repo.commit(message="Start a memory")
    return repo


def events(repo: TestRepo, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(repo.run("log", "--json", *arguments).out)
    return found


def test_a_session_is_remembered_and_greets_the_next(project: TestRepo, player: Client | Replay) -> None:
    """Each thing that was said is kept once, the commit carries it, and the next session reads it once."""
    player.play(project.path, SESSION)

    found = {event["content"]: event for event in events(project)}
    said = ["Use plain functions", "`app.py` has no tests yet", "One module a function"]
    for text in said:
        [event] = [event for content, event in found.items() if text in content]
        assert event["branch"] == "main"
        assert event["session"]
        assert event["time"].startswith("20")
    files = project.git("show", "--name-only", "--format=", "HEAD").splitlines()
    assert 1 == sum(name.startswith(".cortex/decisions/") for name in files)
    assert "" == project.git("status", "--porcelain")

    shown = player.play(project.path, NEXT)

    assert [1, 1, 1] == [shown.count(text) for text in said]
    assert 1 == shown.count("</cortex-memory>")


def test_structure_is_remembered_too(project: TestRepo, player: Client | Replay) -> None:
    """The files that were changed, the commands that ran and the commit are in the memory."""
    player.play(project.path, SESSION)

    assert {"app.py"} == {path for event in events(project, "--type", "file") for path in event["files"]}
    assert "cat app.py" in {event["content"] for event in events(project, "--type", "command")}
    assert ["Add subtract"] == [e["content"] for e in events(project, "--type", "commit") if e.get("session")]


def test_switching_the_branch_switches_what_a_session_reads(project: TestRepo, player: Client | Replay) -> None:
    """A session on another branch is not told what this one decided."""
    project.git("switch", "-qc", "feature")
    player.play(project.path, SESSION)
    project.git("switch", "-q", "main")

    assert "Use plain functions" not in player.play(project.path, NEXT)
    project.git("switch", "-q", "feature")
    assert "Use plain functions" in player.play(project.path, NEXT)
