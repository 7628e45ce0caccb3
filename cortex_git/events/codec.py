"""An event as one line of JSON, and a segment as an array with one event a line.

Writing is strict and in a fixed order, so that the same events give the same bytes.
Reading is tolerant: unknown types and fields are kept, a line that is no event is counted.
"""

from __future__ import annotations

import json
import re
from operator import attrgetter

from cortex_git.events.model import CORRECTS, SEMANTIC, STATE_CHANGES, SUPERSEDED, VERSION, Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_TEXTS = ("reason", "topic", "session", "agent", "author", "branch", "commit", "layer", "target")
_LISTS = ("alternatives", "files", "marks")
_ORDER = (
    "v", "id", "type", "content", "reason", "alternatives", "topic", "files", "time", "session", "agent",
    "author", "branch", "commit", "confidence", "salience", "layer", "source", "target", "marks",
)  # fmt: skip
_KNOWN = frozenset(_ORDER)
_TIME = re.compile(
    r"(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)\.[0-9]{3}Z"
)
_DEEPEST = 16
"""How many levels of a newer version's fields are kept: any depth would take any stack."""
_FIELDS = attrgetter(*Event.__slots__)
_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def to_dict(event: Event) -> dict[str, object]:
    """The event as a JSON object in the format's order, empty fields left out."""
    values: dict[str, object] = {
        "v": event.extra.get("v", VERSION),
        "id": event.id,
        "type": event.type,
        "content": event.content,
        "time": event.time,
        "confidence": round(event.confidence, 4),
        "salience": round(event.salience, 4),
        "source": dict(event.source),
    }
    for name in _TEXTS:
        values[name] = getattr(event, name)
    for name in _LISTS:
        values[name] = list(getattr(event, name))
    out = {name: values[name] for name in _ORDER if name == "content" or values[name] not in ("", [], {})}
    out.update((name, event.extra[name]) for name in sorted(event.extra) if name != "v")
    return out


def from_dict(values: Mapping[str, object]) -> Event | None:
    """The event that a JSON object holds, or None if it holds none.

    What has the wrong type is left out rather than refused; an object without type, content, and
    well-formed time and id is no event, nor is a memory that says nothing, nor a change of state of nothing.
    Anybody may have written it, so what is returned can be encoded, and its ids are ids.
    """
    type, content, time, id, target = (_text(values.get(name)) for name in ("type", "content", "time", "id", "target"))
    if not (type and is_time(time) and is_id(id) and isinstance(values.get("content"), str)):
        return None
    if type in SEMANTIC and not content.strip():
        return None
    if type in STATE_CHANGES and not (is_id(target) and (type != SUPERSEDED or not content or is_id(content))):
        return None
    texts = {name: _text(values.get(name)) for name in _TEXTS}
    lists = {
        name: [_text(item) for item in value if isinstance(item, str)]
        for name in _LISTS
        if isinstance(value := values.get(name), list)
    }
    extra = {_text(name): _kept(value) for name, value in values.items() if name not in _KNOWN}
    if values.get("v", VERSION) != VERSION:
        extra["v"] = _kept(values["v"])
    return Event(
        type,
        content,
        time=time,
        id=id,
        confidence=_number(values.get("confidence"), 1.0),
        salience=_number(values.get("salience"), 0.0),
        source=_source(values.get("source")),
        extra=extra,
        **texts,
        **lists,  # type: ignore[arg-type]
    )


def to_row(event: Event) -> list[object]:
    """All that an event holds, for what is kept under a checksum and read by this program alone."""
    return list(_FIELDS(event))


def from_row(row: Sequence[object]) -> Event:
    """The event of a row. Nothing is checked: only what `to_row` gave may come here. Raises ValueError, TypeError."""
    made = Event.__new__(Event)
    for name, value in zip(Event.__slots__, row, strict=True):
        setattr(made, name, tuple(value) if type(value) is list else value)
    return made


def encode(event: Event) -> str:
    """One line of JSON without its end. Lone surrogates, which UTF-8 cannot hold, are replaced."""
    return _dumps(to_dict(event))


def encode_segment(events: Iterable[Event]) -> bytes:
    """A JSON array with one event a line."""
    text = "[" + ",\n".join(map(encode, events)) + "]\n"
    return text.encode("utf-8", "replace")


def decode_segment(data: bytes, types: Collection[str] | None = None) -> tuple[list[Event], int]:
    """The events of a segment, of these types alone if given, and how many of its entries are no events.

    A segment that is damaged as a whole is read line by line, so that one bad line costs one event.
    """
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return _decode_lines(data)
    if not isinstance(values, list):
        return [], 1
    if types is not None:
        values = [value for value in values if isinstance(value, dict) and _text(value.get("type")) in types]
    events = [from_dict(value) if isinstance(value, dict) else None for value in values]
    good = [event for event in events if event is not None]
    return good, len(events) - len(good)


def _decode_lines(data: bytes) -> tuple[list[Event], int]:
    good: list[Event] = []
    bad = 0
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.strip().removeprefix("[").removesuffix("]").rstrip(",")
        if not text:
            continue
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            bad += 1
            continue
        event = from_dict(value) if isinstance(value, dict) else None
        if event is None:
            bad += 1
        else:
            good.append(event)
    return good, bad


def is_id(value: object) -> bool:
    """Whether a value is an event id: 16 lower-case hex digits."""
    return isinstance(value, str) and len(value) == 16 and not value.strip("0123456789abcdef")


def is_time(text: str) -> bool:
    """Whether a text is a time as events hold it, `2026-01-31T09:00:00.000Z`: it orders events and names files."""
    return _TIME.fullmatch(text) is not None


def better(one: Event, other: Event) -> Event:
    """Of two copies of one id, the one that counts everywhere.

    That is the one whose id belongs to what it says, then the one with the earlier time, then with the smaller bytes.
    """
    if one == other:
        return one
    belongs = one.id == one.identity()
    if belongs != (other.id == other.identity()):
        return one if belongs else other
    if one.time != other.time:
        return one if one.time < other.time else other
    return one if encode(one) <= encode(other) else other


def _number(value: object, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return float(min(1, max(0, value)))


def _text(value: object) -> str:
    """A text as UTF-8 can hold it, empty for anything else."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _source(value: object) -> dict[str, str] | None:
    if not isinstance(value, dict):
        return None
    found = {_text(name): _text(text) for name, text in value.items() if isinstance(text, str)}
    if not is_id(found.get(CORRECTS, "0" * 16)):
        del found[CORRECTS]
    return found


def _kept(value: object, depth: int = 0) -> object:
    """A value of a field that this version does not know, as it can be written again."""
    if isinstance(value, str):
        return _text(value)
    if depth >= _DEEPEST and isinstance(value, dict | list):
        return None
    if isinstance(value, dict):
        return {_text(name): _kept(part, depth + 1) for name, part in value.items()}
    return [_kept(part, depth + 1) for part in value] if isinstance(value, list) else value
