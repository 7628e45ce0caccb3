"""A hub and clones of it, for the tests of sharing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from conftest import ROOT, TestRepo

from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.store.gitcli import GitBackend
from cortex_git.store.notes import Writer
from cortex_git.store.repo import Repo

_TIME = "2026-01-01T00:00:00.000Z"


class Hub:
    """A bare repository on which clones meet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.bare = TestRepo(path)
        self.bare.git("init", "--quiet", "--bare")
        first = self.empty_clone("first")
        first.commit({"f": "1\n"})
        first.git("push", "-qu", "origin", "main")

    def empty_clone(self, name: str, *options: str, url: str = "") -> TestRepo:
        """A clone beside the hub, without a memory."""
        target = self.path.parent / name
        self.bare.git("clone", "-q", *options, url or str(self.path), str(target))
        return TestRepo(target)

    def clone(self, name: str, *options: str, shared: bool = True, url: str = "") -> TestRepo:
        """A clone that is set up, and shares with the hub."""
        made = self.empty_clone(name, *options, url=url)
        made.run("init", "--yes", "--no-claude")
        if shared:
            made.run("share", "origin", "--yes")
        return made

    def refs(self, prefix: str = "refs/notes") -> dict[str, str]:
        """The refs that the hub has under a prefix, by name."""
        out = self.bare.git("for-each-ref", "--format=%(refname) %(objectname)", prefix)
        return dict(line.split(" ") for line in out.splitlines())

    def contents(self) -> list[str]:
        """The content of every event that the hub holds, sorted."""
        found: list[str] = []
        for ref in self.refs("refs/notes/cortex/"):
            for path in self.bare.git("ls-tree", "-r", "--name-only", ref).splitlines():
                found += [event["content"] for event in json.loads(self.bare.git("show", f"{ref}:{path}"))]
        return sorted(found)

    def on_receive(self, script: str) -> None:
        """Have the hub run a shell script for each push, before it takes anything."""
        hook = self.path / "hooks" / "pre-receive"
        hook.write_text(f"#!/bin/sh\n{script}\n")
        hook.chmod(0o755)

    def refuse_notes(self) -> Path:
        """Have the hub refuse memory; returns the file to which each attempt adds a line."""
        attempts = self.path / "attempts"
        self.on_receive(
            f"while read old new ref; do case $ref in refs/notes/*) echo $ref >> '{attempts}'\n"
            "echo 'notes are not welcome' >&2; exit 1;; esac; done"
        )
        return attempts


def decide(repo: TestRepo, *texts: str) -> None:
    """Record decisions."""
    if len(texts) < 3:
        for text in texts:
            repo.run("decide", text)
    else:  # many at once, as a turn of an assistant does
        _write(repo, [Event(model.DECISION, text, time=_TIME, agent="user", layer="user") for text in texts])


def touch(repo: TestRepo, path: str) -> None:
    """Record that an assistant has changed a file."""
    _write(repo, [Event(model.FILE_MODIFIED, path, time=_TIME, session="s", files=[path])])


def _write(repo: TestRepo, events: list[Event]) -> None:
    found = opened(repo)
    Writer(found, GitBackend(found), found.config()).write({found.branch(): events})


def seen(repo: TestRepo, *arguments: str) -> list[str]:
    """What is decided, as `log` shows it here, sorted."""
    out = repo.run("log", "--json", "--type", "decision", *arguments).out
    return sorted(event["content"] for event in json.loads(out))


def push(repo: TestRepo, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `git push` as a person does and return how it ended."""
    return subprocess.run(
        ["git", "push", *arguments],
        cwd=repo.path,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def start(repo: TestRepo, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
    """Start `git-cortex` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "cortex_git", *arguments],
        cwd=repo.path,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def opened(repo: TestRepo) -> Repo:
    """The repository as the package sees it."""
    found = Repo.discover(str(repo.path), os.environ)
    assert found is not None
    return found


def traced(folder: Path, command: str) -> int:
    """How many gits of a kind ran, of those that wrote their trace into a folder (GIT_TRACE2_EVENT)."""
    count = 0
    for path in folder.iterdir():
        events = (json.loads(line) for line in path.read_text().splitlines())
        count += any(event["event"] == "cmd_name" and event["name"] == command for event in events)
    return count
