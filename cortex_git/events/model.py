"""An event: one immutable fact of the memory.

Imports nothing that is slow to import: every hook passes through here.
"""

from __future__ import annotations

from cortex_git.digest import sha256_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VERSION = 1
MAX_CONTENT = 16 * 1024
"""The longest content of an event, in bytes of UTF-8."""

DECISION = "decision_made"
REJECTED = "approach_rejected"
PLAN = "plan_created"
STEP = "plan_step_completed"
KNOWLEDGE = "knowledge_acquired"
RESOLVED = "error_resolved"
PREFERENCE = "preference_noted"
TASK = "task_completed"
FILE_MODIFIED = "file_modified"
FILE_EXPLORED = "file_explored"
COMMAND = "command_run"
SESSION_STARTED = "session_started"
SESSION_ENDED = "session_ended"
COMMIT = "commit_made"
RETRACTED = "retracted"
SUPERSEDED = "superseded"
REINFORCED = "reinforced"
PINNED = "pinned"
ACCEPTED = "accepted"

SEMANTIC = frozenset({DECISION, REJECTED, PLAN, STEP, KNOWLEDGE, RESOLVED, PREFERENCE, TASK})
STRUCTURAL = frozenset({FILE_MODIFIED, FILE_EXPLORED, COMMAND})
BOOKKEEPING = frozenset({SESSION_STARTED, SESSION_ENDED, COMMIT})
STATE_CHANGES = frozenset({RETRACTED, SUPERSEDED, REINFORCED, PINNED, ACCEPTED})
TYPES = SEMANTIC | STRUCTURAL | BOOKKEEPING | STATE_CHANGES

SALIENCE: Mapping[str, float] = {
    DECISION: 0.9,
    REJECTED: 0.9,
    PLAN: 0.85,
    PREFERENCE: 0.8,
    RESOLVED: 0.75,
    STEP: 0.7,
    KNOWLEDGE: 0.7,
    TASK: 0.6,
    FILE_MODIFIED: 0.4,
    FILE_EXPLORED: 0.3,
    COMMAND: 0.2,
}
"""How much an event matters at birth, 0 to 1. Types that are not listed start at 0."""

LAYERS = ("structural", "keyword", "tag", "user")
"""Where an event came from: a tool's own structure, a pattern in prose, a `[MEMORY: …]` tag, a command."""

PRIVATE = "private"
PERMANENT = "permanent"

CORRECTS = "corrects"
"""In the source of an event: the id of the one whose place it was made to take."""

# These may happen again with the same words, so the id of the call or message (else the time) tells them apart.
_REPEATABLE = STRUCTURAL | BOOKKEEPING | {PLAN, STEP}


def event_id(type: str, content: str, session: str, *distinguishers: str) -> str:
    """The first 16 hex digits of SHA-256 over the parts in UTF-8, joined by a NUL byte."""
    parts = (type, content, session, *distinguishers)
    return sha256_hex("\0".join(parts).encode("utf-8", "surrogatepass"))[:16]


class Event:
    """One fact. Treat it as immutable: a change of state is a new event.

    `time` is when it happened (UTC, RFC 3339 with milliseconds). `confidence` and `salience`
    are those at birth, 0 to 1. `source` names the tool call, message or command that it was
    taken from. `target` is the id that a change of state is about. `marks` holds `private`
    and `permanent`. `extra` keeps fields of a newer format that this version does not know.
    """

    __slots__ = (
        "agent",
        "alternatives",
        "author",
        "branch",
        "commit",
        "confidence",
        "content",
        "extra",
        "files",
        "id",
        "layer",
        "marks",
        "reason",
        "salience",
        "session",
        "source",
        "target",
        "time",
        "topic",
        "type",
    )

    def __init__(
        self,
        type: str,
        content: str,
        *,
        time: str,
        session: str = "",
        agent: str = "user",
        author: str = "",
        branch: str = "",
        commit: str = "",
        reason: str = "",
        alternatives: Iterable[str] = (),
        topic: str = "",
        files: Iterable[str] = (),
        confidence: float = 1.0,
        salience: float | None = None,
        layer: str = "structural",
        source: Mapping[str, str] | None = None,
        target: str = "",
        marks: Iterable[str] = (),
        extra: Mapping[str, object] | None = None,
        id: str = "",
    ) -> None:
        self.type = type
        self.content = clip(content, MAX_CONTENT)
        self.time = time
        self.session = session
        self.agent = agent
        self.author = author
        self.branch = branch
        self.commit = commit
        self.reason = reason
        self.alternatives = tuple(alternatives)
        self.topic = topic
        self.files = tuple(files)
        self.confidence = confidence
        self.salience = SALIENCE.get(type, 0.0) if salience is None else salience
        self.layer = layer
        self.source: Mapping[str, str] = dict(source) if source else {}
        self.target = target
        self.marks = tuple(marks)
        self.extra: Mapping[str, object] = dict(extra) if extra else {}
        self.id = id or self.identity()

    def identity(self) -> str:
        """The id that this event must have, computed from its other fields."""
        if self.type in _REPEATABLE:
            return event_id(self.type, self.content, self.session, self.source.get("id") or self.time)
        if self.type in STATE_CHANGES:
            return event_id(self.type, self.content, self.session, self.target, self.time)
        # A correction may leave the words as they are, or bring back those of an earlier one, and is no copy of it.
        corrected = self.source.get(CORRECTS)
        return event_id(self.type, self.content, self.session, *([corrected] if corrected else []))

    @property
    def private(self) -> bool:
        """Whether it may leave this clone, in an item or a shared ref."""
        return PRIVATE in self.marks

    def replace(self, **changes: object) -> Event:
        """A copy with some fields changed; the id is kept unless it is among them."""
        fields: dict[str, object] = {name: getattr(self, name) for name in self.__slots__}
        fields.update(changes)
        return Event(**fields)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Event({self.type} {self.id} {self.content[:40]!r})"


def clip(text: str, limit: int) -> str:
    """The text cut to `limit` bytes of UTF-8 at a character boundary, with an ellipsis if anything went."""
    if len(text) * 4 <= limit:
        return text
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    return raw[: limit - 3].decode("utf-8", "ignore") + "…"


def later(time: str) -> str:
    """The moment right after a time, in the same form; the last there is stays what it is."""
    millis = int(time[20:23]) + 1
    if millis < 1000:
        return f"{time[:20]}{millis:03}Z"
    # The whole second turns over; a calendar is needed once in a thousand times.
    from calendar import timegm
    from time import gmtime

    parts = [int(text) for text in (time[:4], time[5:7], time[8:10], time[11:13], time[14:16], time[17:19])]
    next = gmtime(timegm((*parts, 0, 0, 0)) + 1)
    if next[0] > 9999:
        return time
    return f"{next[0]:04}-{next[1]:02}-{next[2]:02}T{next[3]:02}:{next[4]:02}:{next[5]:02}.000Z"


def order(event: Event) -> tuple[str, str]:
    """Sort key: by time, then by id, so that every reader sees one order."""
    return (event.time, event.id)
