"""Memories to search in, the same for the same seed: sessions of turns, of which each is a segment."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from cortex_git.digest import blob_id
from cortex_git.env import rfc3339
from cortex_git.events import model
from cortex_git.events.codec import encode_segment
from cortex_git.events.model import Event


def _words(text: str) -> list[str]:
    return text.split()


START = 1767225600.0  # 2026-01-01T00:00:00Z
_SUBJECTS = _words("""
    parser scheduler importer cache session queue report login renderer resolver tokenizer migration webhook exporter
    router sampler validator uploader indexer throttle billing invoice ledger mailer search snapshot archive backup
    mirror crawler notifier planner tracker monitor gateway proxy loader compiler formatter linter dashboard widget
""")
_OBJECTS = _words("""
    SQLite Redis Postgres protobuf JSON asyncio thread process socket file pipe mutex semaphore index schema column
    header cookie certificate checksum timestamp locale encoding buffer stream cursor transaction rollback savepoint
    partition shard replica leader quorum heartbeat timeout retry backoff jitter deadline budget quota bucket window
""")
_VERBS = _words("use drop keep split merge wrap replace avoid delay batch lock log retry cache validate rename pin")
_WHYS = """
    there is only one writer|nothing must be administered|latency was halved under load|the public interface stays
    |entries are lost when a process is killed|tests became flaky|the licence forbids it|memory grew without bound
    |the old clients cannot read it|it was measured and made no difference|the vendor stopped its support
""".replace("\n", " ").split("|")
_COMMANDS = ["pytest -q tests/test_{}.py", "git diff --stat", "ruff check src", "grep -rn {} src", "make {}"]


class Maker:
    """A seeded maker of events and segments."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        letters = [
            "ba",
            "co",
            "di",
            "fu",
            "ga",
            "ke",
            "li",
            "mo",
            "nu",
            "pa",
            "qui",
            "ro",
            "su",
            "ti",
            "ve",
            "xo",
            "za",
        ]
        self.rare = ["".join(self.random.choice(letters) for _ in range(4)) for _ in range(3000)]

    def meant(self, session: str, time: float) -> Event:
        """A decision, a rejected approach, a fact or a fix."""
        pick = self.random.choice
        type = pick([model.DECISION, model.DECISION, model.REJECTED, model.KNOWLEDGE, model.RESOLVED])
        subject, other = pick(_SUBJECTS), pick(_OBJECTS)
        name = f"{pick(_VERBS)}_{pick(_OBJECTS).lower()}"
        text = f"{pick(_VERBS)} the {other} of the {subject} with {name} for {pick(self.rare)}"
        return Event(
            type,
            f"{text}, case {self.random.randrange(10**6)}",
            time=rfc3339(time),
            session=session,
            agent="claude-code",
            author=pick(["Ada Author", "Ben Builder"]),
            branch=pick(["main", "feature/login", "feature/search"]),
            reason=pick(_WHYS).strip() if self.random.random() < 0.7 else "",
            alternatives=[pick(_OBJECTS), pick(_OBJECTS)] if self.random.random() < 0.3 else [],
            topic=subject,
            files=[f"src/{subject}/{other.lower()}.py"] if self.random.random() < 0.4 else [],
            layer="tag",
        )

    def done(self, session: str, time: float) -> Event:
        """A file touched or a command run."""
        pick = self.random.choice
        type, subject = pick([model.FILE_MODIFIED, model.FILE_EXPLORED, model.COMMAND]), pick(_SUBJECTS)
        path = f"src/{subject}/module_{self.random.randrange(400)}.py"
        return Event(
            type,
            pick(_COMMANDS).format(subject) if type == model.COMMAND else path,
            time=rfc3339(time),
            session=session,
            agent="claude-code",
            branch=pick(["main", "feature/login", "feature/search"]),
            files=[] if type == model.COMMAND else [path],
            source={"id": f"toolu_{self.random.getrandbits(96):024x}"},
        )

    def segments(self, events: int, meant: float = 0.12) -> dict[str, list[Event]]:
        """Segments that hold so many events in all, of which the share `meant` is more than files and commands."""
        made: dict[str, list[Event]] = {}
        clock, left = START, events
        while left:
            session = f"{self.random.getrandbits(32):08x}-{self.random.getrandbits(16):04x}-4000-8000-{left:012x}"
            for _ in range(self.random.randint(2, 8)):
                size = min(left, self.random.choice([5, 8, 12, 15, 20, 30, 50]))
                turn = [
                    (self.meant if self.random.random() < meant else self.done)(session, clock + 5 * number)
                    for number in range(size)
                ]
                made.update(segment(turn) if turn else {})
                left -= size
                clock += 600
        return made


def segment(events: list[Event]) -> dict[str, list[Event]]:
    """A segment by its id."""
    return {blob_id(encode_segment(events)): events}


class Store:
    """Segments with a `load` as the index wants it, which counts what it reads."""

    def __init__(self, segments: dict[str, list[Event]] | None = None) -> None:
        self.segments = dict(segments or {})
        self.read: list[str] = []

    def add(self, *events: Event) -> str:
        """Add a segment and return its id."""
        made = segment(list(events))
        self.segments.update(made)
        return next(iter(made))

    def load(self, ids: Iterable[str]) -> Iterator[tuple[str, list[Event]]]:
        """The segments, each with its events."""
        for id in ids:
            self.read.append(id)
            yield id, self.segments[id]
