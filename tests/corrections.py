"""Helpers of the tests of corrections."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from conftest import TestRepo

ASSISTANT = {"CLAUDE_CODE_SESSION_ID": "11112222-3333"}


def memories(repo: TestRepo, *args: str) -> dict[str, dict[str, Any]]:
    """What `log --json` shows, withdrawn ones included, by content."""
    return {event["content"]: event for event in json.loads(repo.run("log", "--json", "--withdrawn", *args).out)}


def shown(repo: TestRepo, *args: str) -> set[str]:
    """What counts."""
    return {event["content"] for event in json.loads(repo.run("log", "--json", *args).out)}


def named(repo: TestRepo, content: str, *args: str) -> str:
    """The short id of a memory."""
    return str(memories(repo, *args)[content]["id"][:7])


def status(repo: TestRepo, content: str) -> str:
    """How a memory stands here."""
    return str(memories(repo)[content]["status"])


def undo_of(out: str) -> str:
    """The id that a command said to undo."""
    found = re.findall(r"git cortex undo ([0-9a-f]+)", out)
    assert found, out
    return str(found[-1])


def written(repo: TestRepo, content: str, rev: str = "HEAD") -> dict[str, str]:
    """Status and successor in the file of a decision in a commit; empty if there is no such file."""
    for path in repo.git("ls-tree", "-r", "--name-only", rev, ".cortex/decisions").splitlines():
        text = repo.git("show", f"{rev}:{path}")
        if f"# {content}\n" in text:
            fields = re.findall(r"(?m)^(status|superseded-by): \"?(\w+)", text)
            return dict(fields)
    return {}


def start(repo: TestRepo) -> TestRepo:
    """A memory whose folder is committed on main, with real hooks."""
    repo.commit({"f": "1\n"})
    repo.run("init", "--yes", "--no-plugin")
    repo.git("add", "-A")
    repo.commit(message="Start a memory")
    return repo


def cloned(repo: TestRepo, path: Path) -> TestRepo:
    """A clone with a memory of its own and no notes of the other."""
    made = TestRepo(path)
    repo.git("clone", "-q", str(repo.path), str(path))
    made.run("init", "--yes", "--no-plugin")
    return made
