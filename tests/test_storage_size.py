"""How much room memory takes in a repository, once git has packed it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest
from conftest import TestRepo

from cortex_git.env import rfc3339
from cortex_git.events import model
from cortex_git.events.codec import decode_segment, encode_segment
from cortex_git.events.model import Event
from cortex_git.store.backend import Backend, Update
from cortex_git.store.open import open_backend
from cortex_git.store.repo import require

REF = "refs/notes/cortex/0123456789ab/01234567"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
START = 1767225600  # 2026-01-01T00:00:00Z
MIX = {
    model.FILE_MODIFIED: 25, model.FILE_EXPLORED: 30, model.COMMAND: 30, model.DECISION: 4, model.REJECTED: 2,
    model.KNOWLEDGE: 5, model.RESOLVED: 2, model.TASK: 2,
}  # fmt: skip


class Work:
    """Events as sessions make them: words of natural frequency, a few hundred files, ids that nothing predicts."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.words = ["".join(self.rng.choices("aeiourstlnmdcph", k=self.rng.randint(2, 9))) for _ in range(2000)]
        self.weights = [1 / rank for rank in range(1, 2001)]
        self.files = [f"src/{'/'.join(self.rng.choices(self.words, k=2))}_{n}.py" for n in range(400)]

    def text(self, low: int, high: int) -> str:
        return " ".join(self.rng.choices(self.words, self.weights, k=self.rng.randint(low, high)))

    def segments(self, events: int, size: int) -> Iterator[list[Event]]:
        session = ""
        for first in range(0, events, size):
            if first % 200 == 0:
                session = f"{self.rng.getrandbits(128):032x}"
            yield [self.event(first + n, session) for n in range(min(size, events - first))]

    def event(self, number: int, session: str) -> Event:
        kind = self.rng.choices(list(MIX), list(MIX.values()))[0]
        file = self.rng.choice(self.files)
        tool = {model.FILE_MODIFIED: "Edit", model.FILE_EXPLORED: "Read", model.COMMAND: "Bash"}.get(kind)
        content = self.text(4, 12) if kind == model.COMMAND else file if tool else self.text(8, 25)
        source = f"toolu_{''.join(self.rng.choices(LETTERS, k=24))}" if tool else f"{self.rng.getrandbits(128):032x}"
        return Event(
            kind,
            content,
            time=rfc3339(START + 7 * number + self.rng.random()),
            session=session,
            agent="claude-code",
            author="Ada Author",
            branch="feature/login",
            commit=f"{number // 200:040x}",
            reason=self.text(6, 20) if kind in (model.DECISION, model.REJECTED) else "",
            files=[file] if tool and kind != model.COMMAND else [],
            layer="structural" if tool else "keyword",
            source={"id": source, "tool": tool} if tool else {"id": source},
        )


def packed(repo: TestRepo) -> int:
    """The bytes that packs and their indexes take, after what git does by itself from time to time."""
    repo.git("gc", "--quiet")
    counts = dict(line.split(": ") for line in repo.git("count-objects", "-v").splitlines())
    assert "0" == counts["count"], "all objects are in packs"
    return 1024 * int(counts["size-pack"])


def fill(store: Backend, events: int, size: int, seed: int = 1) -> set[str]:
    """Store so many events, a commit a flush, and return their ids."""
    ids: set[str] = set()
    tip = None
    for segment in Work(seed).segments(events, size):
        message = f"cortex: {len(segment)} events on feature/login\n\nCortex-Branch: feature/login\n"
        tip = store.append([Update(REF, tip, [encode_segment(segment)], message)])[0]
        ids.update(event.id for event in segment)
    return ids


def check(repo: TestRepo, events: int, size: int, limit: int) -> None:
    """So many events take at most `limit` bytes each, and all are there after gc."""
    store = open_backend(require(str(repo.path), os.environ))
    ids = fill(store, events, size)

    bytes_an_event = packed(repo) / events

    assert bytes_an_event <= limit
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")
    assert "" == repo.git("fsck", "--strict", "--no-dangling")
    store = open_backend(require(str(repo.path), os.environ), "git")
    found = {event.id for _, data in store.blobs(store.tree(REF).values()) for event in decode_segment(data)[0]}
    assert ids == found
    assert events == len(found)


@pytest.mark.parametrize(("size", "limit"), [(50, 100), (5, 250)])
def test_an_event_takes_little_room(size: int, limit: int, repo: TestRepo) -> None:
    """In a small store an event takes at most 100 bytes if 50 are stored at a time, 250 if 5 are."""
    check(repo, 2500, size, limit)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "limit"), [(50, 100), (5, 250)])
def test_an_event_of_fifty_thousand_takes_little_room(size: int, limit: int, repo: TestRepo) -> None:
    """In a large store, too."""
    check(repo, 50_000, size, limit)
