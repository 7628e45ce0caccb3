"""A repository with many branches, clones and commits: what a team leaves behind in some years.

Each branch was worked on by all clones, so each has a notes ref of each clone, with events and
anchors; this clone wrote one of them and its local one, the others were fetched. Four of five
branches are merged into main with their items, and none is deleted.
"""

from __future__ import annotations

import random
from pathlib import Path

from generate import git, init

from cortex_git.digest import blob_id
from cortex_git.env import rfc3339
from cortex_git.events import codec, model
from cortex_git.events.model import Event
from cortex_git.projections.items import render
from cortex_git.store import keys
from cortex_git.store.backend import path_of

BRANCHES, CLONES, COMMITS = 2000, 5, 100_000
_START = 1735689600  # 2025-01-01T00:00:00Z
_ON_A_BRANCH = 4
_ITEMS = 2  # of each branch, what that many clones decided became items
_WHO = b"A Developer <dev@example.org> %d +0000"


def make(
    path: Path, branches: int = BRANCHES, clones: int = CLONES, commits: int = COMMITS, packed: bool = True
) -> None:
    """Make the repository at `path`, which must not exist; without `packed` each ref is a file of its own."""
    path.mkdir(parents=True)
    git(path, "init", "--quiet", "--initial-branch=main")
    init(path)
    laid = [file for file in (path / ".cortex").rglob("*") if file.is_file()]
    code = _Code({str(file.relative_to(path)): file.read_bytes() for file in laid})
    plain = commits - branches * (_ON_A_BRANCH + 1)
    for number in range(branches):
        code.branch(number, clones, max(1, plain * (number + 1) // branches - plain * number // branches))
    marks = path / ".git" / "bench-marks"
    git(path, "fast-import", "--quiet", f"--export-marks={marks}", input=b"".join(code.parts))
    ids = dict(line.split() for line in marks.read_text().splitlines())
    own = git(path, "config", "cortex.clone")
    notes = [_notes(branch, [ids[f":{mark}"] for mark in branch.marks], own) for branch in code.branches]
    git(path, "fast-import", "--quiet", input=b"".join(notes))
    with (path / ".git" / "config").open("a") as file:
        for branch in code.branches:
            key = keys.key_of_name(branch.name)
            file.write(f'[branch "{branch.name}"]\n\tremote = origin\n\tmerge = refs/heads/{branch.name}\n')
            file.write(f"\tcortexKey = {key} {branch.name}\n")
    git(path, "reset", "--quiet", "--hard")
    if packed:
        git(path, "pack-refs", "--all", "--prune")
    git(path, "commit-graph", "write", "--reachable")
    init(path)  # once more, for the view of what is there now


class Branch:
    """A branch: what each clone recorded on it, and the marks of its commits."""

    def __init__(self, number: int, clones: int) -> None:
        rng = random.Random(number)
        self.name = f"feature/part-{number % 40}/change-{number}"
        self.number = number
        self.marks: list[int] = []
        self.events = [[_event(rng, self, clone, at) for at in range(5)] for clone in range(clones)]

    @property
    def is_merged(self) -> bool:
        """Whether main has it."""
        return self.number % 5 != 4

    def items(self) -> dict[str, bytes]:
        """The files that its last commit adds."""
        return dict(render(events[0]) for events in self.events[:_ITEMS])


def _event(rng: random.Random, branch: Branch, clone: int, at: int) -> Event:
    types = [model.DECISION, model.REJECTED, model.KNOWLEDGE, model.RESOLVED, model.DECISION]
    return Event(
        types[at],
        f"Use queue {rng.randrange(10**6)} for part {branch.number % 40} of change {branch.number}, says clone {clone}",
        time=rfc3339(_START + branch.number * 3600 + clone * 60 + at),
        session=f"{rng.getrandbits(32):08x}-0000-4000-8000-{rng.getrandbits(48):012x}",
        agent="claude-code",
        branch=branch.name,
        reason="the tests showed half the latency under load",
        layer="tag",
    )


class _Code:
    """The input of a fast-import of the code."""

    def __init__(self, first: dict[str, bytes]) -> None:
        self.parts: list[bytes] = []
        self.branches: list[Branch] = []
        self._mark = 0
        self._commit("main", {"src/app.py": b"print('hello')\n", **first})

    def branch(self, number: int, clones: int, plain: int) -> None:
        """A branch from main with its commits, some commits of main, and the merge."""
        made = Branch(number, clones)
        self.branches.append(made)
        start, brought = self._mark, {f"src/part_{number % 40}/change.py": b"value = %d\n" % number}
        for at in range(_ON_A_BRANCH):
            last = at == _ON_A_BRANCH - 1
            files = {**brought, **(made.items() if last else {})} if last else {f"src/{at}.py": b"x = %d\n" % number}
            made.marks.append(self._commit(made.name, files, f"from :{start}\n" if not at else ""))
        for at in range(plain):
            main = f"from :{start}\n" if not at else ""
            self._commit("main", {f"src/part_{at % 40}/file_{number % 20}.py": b"x = %d\n" % self._mark}, main)
        if made.is_merged:
            self._commit("main", {**brought, **made.items()}, f"merge :{made.marks[-1]}\n")

    def _commit(self, branch: str, files: dict[str, bytes], parents: str = "") -> int:
        self._mark += 1
        who = _WHO % (_START + 60 * self._mark)
        head = b"commit refs/heads/%s\nmark :%d\ncommitter %s\ndata 8\nA change\n" % (branch.encode(), self._mark, who)
        self.parts.append(head + parents.encode())
        for name, data in files.items():
            self.parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(data), data))
        return self._mark


def _notes(branch: Branch, commits: list[str], own: str) -> bytes:
    """The notes of all clones on a branch: the first events anchored early, the others at its last commit."""
    key = keys.key_of_name(branch.name)
    parts: list[bytes] = []
    for clone, events in enumerate(branch.events):
        name = f"{clone:08x}"
        ref = keys.ref(keys.SHARED, key, own) if not clone else f"{keys.REMOTES}/origin/{key}/{name}"
        parts += [_flush(ref, events[:2], branch, commits[1]), _flush(ref, events[2:], branch, commits[-1])]
    ref = keys.ref(keys.LOCAL, key, own)
    parts.append(_flush(ref, [_touched(event) for event in branch.events[0]], branch, commits[-1]))
    return b"".join(parts)


def _touched(event: Event) -> Event:
    return event.replace(type=model.FILE_MODIFIED, content="src/app.py", reason="", files=["src/app.py"])


def _flush(ref: str, events: list[Event], branch: Branch, anchor: str) -> bytes:
    blob = codec.encode_segment(events)
    message = b"cortex: %d events\n\nCortex-Branch: %s\nCortex-Commit: %s\n" % (
        len(events), branch.name.encode(), anchor.encode(),
    )  # fmt: skip
    return b"commit %s\ncommitter %s\ndata %d\n%sM 100644 inline %s\ndata %d\n%s\n" % (
        ref.encode(), _WHO % (_START + 3600 * branch.number), len(message), message,
        path_of(blob_id(blob)).encode(), len(blob), blob,
    )  # fmt: skip
