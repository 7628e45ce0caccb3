"""A repository with a memory of a given size, the same for the same seed.

Made of sessions as they occur: a session works on a feature branch, each turn stores a segment of
5 to 50 events (mostly files and commands, some decisions and facts), its commit holds the items
and anchors the events, and after some sessions the branch is merged and deleted.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cortex_git.env import rfc3339
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.projections.items import render, render_learned
from cortex_git.store import notes
from cortex_git.store.open import open_backend
from cortex_git.store.repo import require

_START = 1767225600.0  # 2026-01-01T00:00:00Z
_KEPT_BRANCHES = 5
_LOOSE_SESSIONS = 0.05  # how much of the memory is younger than the last gc
_PARTS = ["parser", "scheduler", "importer", "cache", "session store", "retry queue", "billing report", "login page"]
_TOOLS = ["SQLite", "Redis", "a plain file", "Postgres", "protobuf", "JSON lines", "asyncio", "a thread pool"]
_WHYS = [
    "there is only one writer and nothing to administer",
    "the tests showed half the latency under load",
    "it keeps the public interface as it is",
    "the other way loses entries when a process is killed",
]
_FACTS = [
    "The {part} needs its environment read before the first import",
    "Tests of the {part} fail unless the fixture resets the clock",
    "The {part} must not hold the lock while it writes to the network",
]
_COMMANDS = ["pytest -q tests/test_{part}.py", "git diff --stat", "ruff check src", "grep -rn {part} src"]


class Session:
    """What one session did: `turns` are lists of events, `branch` is where."""

    def __init__(self, number: int, id: str, branch: str, turns: list[list[Event]]) -> None:
        self.number = number
        self.id = id
        self.branch = branch
        self.turns = turns

    def items(self) -> Iterator[tuple[str, bytes]]:
        """The files that its commit adds to `.cortex/`."""
        events = [event for turn in self.turns for event in turn]
        yield from (render(event) for event in events if event.type in (model.DECISION, model.REJECTED))
        learned = [event for event in events if event.type in (model.KNOWLEDGE, model.RESOLVED)]
        if learned:
            yield render_learned(learned)


def sessions(events: int, seed: int = 1) -> list[Session]:
    """Sessions that hold so many events in all."""
    rng = random.Random(seed)
    made: list[Session] = []
    left, clock, branch = events, _START, ""
    while left > 0:
        number = len(made)
        if not branch or rng.random() < 0.3:
            branch = f"feature/{rng.choice(_PARTS).replace(' ', '-')}-{number}"
        id = f"{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-4000-8000-{rng.getrandbits(48):012x}"
        turns: list[list[Event]] = []
        for _ in range(rng.randint(2, 8)):
            size = min(left, rng.choice([5, 8, 12, 15, 20, 30, 50]))
            if size:
                turns.append(_turn(rng, size, id, branch, clock))
            left -= size
            clock += 600
        made.append(Session(number, id, branch, turns))
    return made


def _turn(rng: random.Random, size: int, session: str, branch: str, start: float) -> list[Event]:
    return [
        (_meant if rng.random() < 0.12 else _done)(rng, rfc3339(start + 5 * index), session, branch)
        for index in range(size)
    ]


def _done(rng: random.Random, time: str, session: str, branch: str) -> Event:
    """A file touched or a command run."""
    type = rng.choice([model.FILE_MODIFIED, model.FILE_EXPLORED, model.COMMAND])
    part = rng.choice(_PARTS).replace(" ", "_")
    path = f"src/{part}/module_{rng.randrange(400)}.py"
    command = rng.choice(_COMMANDS).format(part=part)
    return Event(
        type,
        command if type == model.COMMAND else path,
        time=time,
        session=session,
        agent="claude-code",
        branch=branch,
        files=[] if type == model.COMMAND else [path],
        source={"id": f"toolu_{rng.getrandbits(96):024x}", "tool": "Bash" if type == model.COMMAND else "Edit"},
    )


def _meant(rng: random.Random, time: str, session: str, branch: str) -> Event:
    """A decision, a rejected approach or a fact."""
    type = rng.choice([model.DECISION, model.DECISION, model.REJECTED, model.KNOWLEDGE, model.RESOLVED])
    part, tool, why = rng.choice(_PARTS), rng.choice(_TOOLS), rng.choice(_WHYS)
    said = {model.DECISION: f"Use {tool} for the {part}", model.REJECTED: f"{tool} for the {part}"}
    return Event(
        type,
        f"{said.get(type, rng.choice(_FACTS).format(part=part))}, case {rng.randrange(10**6)}",
        time=time,
        session=session,
        agent=rng.choice(["claude-code", "claude-code", "user"]),
        branch=branch,
        reason=why if type in said else "",
        layer=rng.choice(["tag", "keyword", "user"]),
        source={"id": f"msg_{rng.getrandbits(96):024x}"},
    )


def make(path: Path, events: int, seed: int = 1) -> None:
    """Make the repository at `path`, which must not exist, as `git cortex init` and the hooks would have left it."""
    path.mkdir(parents=True)
    git(path, "init", "--quiet", "--initial-branch=main")
    init(path)
    laid = [file for file in (path / ".cortex").rglob("*") if file.is_file()]
    folder = {str(file.relative_to(path)): file.read_bytes() for file in laid}
    planned = sessions(events, seed)
    commits = _history(path, planned, {"src/app.py": b"print('hello')\n", **folder})
    git(path, "reset", "--quiet", "--hard")
    _write(path, planned, commits)
    branches = list(dict.fromkeys(session.branch for session in planned))
    for start in range(0, len(branches) - _KEPT_BRANCHES, 100):
        git(path, "branch", "--quiet", "-D", *branches[start : min(start + 100, len(branches) - _KEPT_BRANCHES)])
    init(path)  # once more, for the view of what is there now


def init(path: Path) -> None:
    """What a user does first."""
    command = [sys.executable, "-m", "cortex_git", "init", "--yes", "--no-plugin"]
    subprocess.run(command, cwd=path, check=True, stdout=subprocess.DEVNULL)


class _Stream:
    """The input of one fast-import: commits on branches, and merges of them into main."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.mark = 0
        self.tips: dict[str, int] = {}
        self._brought: dict[str, dict[str, bytes]] = {}

    def commit(self, branch: str, message: str, files: dict[str, bytes], merged: str = "") -> int:
        """Add a commit and return its mark; a new branch starts from main."""
        self.mark += 1
        moment = f"A Developer <dev@example.org> {int(_START) + 60 * self.mark} +0000"
        lines = [f"commit refs/heads/{branch}", f"mark :{self.mark}", f"committer {moment}", f"data {len(message)}"]
        lines.append(message)
        if branch not in self.tips and self.tips:
            lines.append(f"from :{self.tips['main']}")
        if merged:
            lines.append(f"merge :{self.tips[merged]}")
        self.parts.append("\n".join(lines).encode() + b"\n")
        for name, data in files.items():
            self.parts.append(f"M 100644 inline {name}\ndata {len(data)}\n".encode() + data + b"\n")
        self.tips[branch] = self.mark
        self._brought.setdefault(branch, {}).update(files)
        return self.mark

    def merge(self, branch: str) -> None:
        """Merge a branch into main; fast-import takes the tree of main, so the branch's files are given again."""
        self.commit("main", f"Merge {branch}", self._brought.pop(branch), merged=branch)


def _history(path: Path, planned: list[Session], first: dict[str, bytes]) -> list[str]:
    """The commits of the sessions, one each, with a merge into main when a branch ends."""
    stream = _Stream()
    stream.commit("main", "Start", first)
    last = {session.branch: session.number for session in planned}
    ended = set(list(last)[:-_KEPT_BRANCHES])
    marks: list[int] = []
    for session in planned:
        part = f"src/{session.branch.replace('/', '_')}.py"
        files = {part: f"value = {session.number}\n".encode(), **dict(session.items())}
        marks.append(stream.commit(session.branch, f"Work of session {session.number}", files))
        if session.branch in ended and last[session.branch] == session.number:
            stream.merge(session.branch)
    exported = path / ".git" / "bench-marks"
    git(path, "fast-import", "--quiet", f"--export-marks={exported}", input=b"".join(stream.parts))
    ids = dict(line.split() for line in exported.read_text().splitlines())
    return [ids[f":{mark}"] for mark in marks]


def _write(path: Path, planned: list[Session], commits: list[str]) -> None:
    """The events into the notes refs, a flush a turn, anchored by the session's commit."""
    repo = require(str(path), os.environ)
    writer = notes.Writer(repo, open_backend(repo), repo.config())
    young = int(len(planned) * (1 - _LOOSE_SESSIONS))
    for session, commit in zip(planned, commits, strict=True):
        for turn in session.turns:
            last = turn is session.turns[-1]
            writer.write({session.branch: turn}, anchored=commit if last else "")
        if session.number == young:
            git(path, "gc", "--quiet")


def git(path: Path, *args: str, input: bytes = b"", check: bool = True) -> str:
    """Run git there and return its output. Raises RuntimeError with what it said if it fails and `check` is set."""
    done = subprocess.run(["git", *args], cwd=path, input=input, capture_output=True)
    if done.returncode and check:
        raise RuntimeError(f"git {' '.join(args)}: exit status {done.returncode}\n{done.stderr.decode()}")
    return done.stdout.decode().removesuffix("\n")
