"""An event as a document of the index: the terms that it is found by, its facets, and its key."""

from __future__ import annotations

import json

from cortex_git.events import codec, model
from cortex_git.search import engine
from cortex_git.search.analyzer import terms
from cortex_git.search.fields import FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cortex_git.events.model import Event

MEMORY, FILES, COMMANDS = "memory", "files", "commands"
SCOPES = (MEMORY, FILES, COMMANDS)
"""What can be searched apart: what was said and decided, the files touched, the commands run."""

_SCOPE_OF = {
    model.FILE_MODIFIED: FILES,
    model.FILE_EXPLORED: FILES,
    model.COMMAND: COMMANDS,
    model.COMMIT: COMMANDS,
}
_SILENT = model.STATE_CHANGES | {model.SESSION_STARTED, model.SESSION_ENDED}
_WEIGHTS = (("content", 1.0), ("topic", 1.0), ("reason", 0.8), ("alternatives", 0.6), ("files", 0.5))
_MAX_LENGTH = 0xFFFF
SCOPE = "scope:"
"""The facet of documents that can be found, followed by their scope."""
COPY = "copy:"
"""The facet of documents that only say that an event is in one more segment."""


def scope_of(type: str) -> str:
    """The scope that events of a type belong to."""
    return _SCOPE_OF.get(type, MEMORY)


def texts(event: Event) -> Iterator[tuple[str, float]]:
    """What an event says, with the weight that each piece has."""
    for name, weight in _WEIGHTS:
        value: str | tuple[str, ...] = getattr(event, name)
        for text in (value,) if isinstance(value, str) else value:
            if text:
                yield text, weight


def document(event: Event, line: str, segment: str) -> engine.Record:
    """The document of an event that was found in a segment; `line` is the event as `codec.encode` writes it."""
    weights: dict[str, float] = {}
    if event.type not in _SILENT:
        for text, weight in texts(event):
            for term in terms(text):
                weights[term] = weights.get(term, 0.0) + weight
    facets = [f"{field.name}:{v}" for field in FIELDS.values() if not field.in_key for v in field.values(event) if v]
    facets += [SCOPE + scope_of(event.type)] if weights else []
    length = min(_MAX_LENGTH, max(1, round(sum(weights.values())))) if weights else 0
    return _record(scope_of(event.type), weights, facets, event, segment, length, line)


def copy(event: Event, segment: str) -> engine.Record:
    """The document that says that an event, indexed already, is also in this segment."""
    return _record(scope_of(event.type), {}, [COPY], event, segment, 0, "")


def _record(
    scope: str, weights: dict[str, float], facets: Iterable[str], event: Event, segment: str, length: int, line: str
) -> engine.Record:
    time = event.time.encode("ascii", "replace")[:24].ljust(24)
    key = bytes.fromhex(event.id) + segment_key(segment) + time + length.to_bytes(2, "big")
    return engine.Record(scope, weights, dict.fromkeys([f"id:{event.id}", *facets], 1.0), key, line)


def segment_key(segment: str) -> bytes:
    """The first 12 bytes of a segment's id, which are enough to tell segments apart."""
    return bytes.fromhex(segment)[:12].ljust(12, b"\0")


def id_in(key: bytes) -> bytes:
    """The event's id in a key."""
    return key[:8]


def segment_in(key: bytes) -> bytes:
    """The segment's key in a key."""
    return key[8:20]


def length_in(key: bytes) -> int:
    """The weighed number of terms in a key; 0 if the document has none."""
    return (key[44] << 8) | key[45]


def time_in(key: bytes) -> str:
    """The event's time in a key."""
    return key[20:44].decode("ascii").rstrip()


def event_in(line: str) -> Event:
    """The event that a line of the index holds. Raises ValueError if it holds none."""
    values = json.loads(line)
    event = codec.from_dict(values) if isinstance(values, dict) else None
    if event is None:
        raise ValueError("a document of the index holds no event")
    return event
