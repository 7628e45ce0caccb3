"""An event's fields as front matter, and back.

Content, reason and alternatives stand in the prose. They are among the fields only where the
prose cannot give them back exactly.
"""

from __future__ import annotations

import json
import re

from cortex_git.events import codec, model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_git.events.model import Event

ORDER = (
    "id", "type", "title", "status", "date", "decision-makers", "tags", "scope", "supersedes", "superseded-by",
    "amends", "relates-to", "confidence", "session", "branch", "commit", "layer", "time", "agent", "author",
    "salience", "files", "source", "target", "marks", "extra", "content", "reason", "alternatives",
    "on-branch", "events", "ticks", "sum",
)  # fmt: skip
PROSE = ("content", "reason", "alternatives")
_SHARED = ("confidence", "session", "branch", "commit", "layer", "agent", "author")
_TEXTS = ("session", "branch", "commit", "layer", "time", "agent", "author", "target")
_OTHERS = ("id", "type", "confidence", "salience", "source", "marks", "files", *PROSE)
_EVEN_EMPTY = ("files", "on-branch", *PROSE)
_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def date_of(event: Event) -> str:
    """The day of an event, in UTC."""
    return event.time[:10] if re.fullmatch(r"\d{4}-\d\d-\d\d", event.time[:10], re.ASCII) else "0000-00-00"


def makers(event: Event) -> list[str]:
    """Who decided: the person by name, or the assistant."""
    return [event.author or "user"] if event.agent == "user" else [event.agent or "unknown"]


def globs(files: Iterable[str]) -> list[str]:
    """Globs that match exactly these files."""
    return [re.sub(r"[*?\[]", r"[\g<0>]", name) for name in files]


def of_event(event: Event, scope: Iterable[str] = ()) -> dict[str, object]:
    """All fields of an event but those in the prose, unordered; without a scope the event's files are it."""
    extra = {name: event.extra[name] for name in sorted(event.extra)}
    derived = globs(event.files)
    wanted = list(scope) or derived
    salience = round(event.salience, 4)
    fields: dict[str, object] = {
        "id": event.id,
        "type": event.type,
        "date": date_of(event),
        "tags": [event.topic] if event.topic else [],
        "scope": wanted,
        "confidence": round(event.confidence, 4),
        "salience": salience if salience != model.SALIENCE.get(event.type, 0.0) else None,
        "source": dict(event.source),
        "marks": list(event.marks),
        "extra": _dumps(extra) if extra else "",
    }
    fields.update((name, getattr(event, name)) for name in _TEXTS)
    fields = {name: value for name, value in fields.items() if value not in ("", [], {}, None)}
    if wanted != derived:
        fields["files"] = list(event.files)
    return fields


def to_event(fields: Mapping[str, object], prose: Mapping[str, object]) -> Event:
    """The event that fields and prose hold; fields that name content, reason or alternatives come first.

    Raises ValueError if they hold none, or if its id is not that of its content.
    """
    extra = json.loads(str(fields.get("extra", "{}")))
    tags, scope = fields.get("tags", []), fields.get("scope", [])
    if not (isinstance(extra, dict) and isinstance(tags, list) and isinstance(scope, list) and "confidence" in fields):
        raise ValueError("a field is missing or has the wrong type")
    values: dict[str, object] = {
        **extra,
        "salience": model.SALIENCE.get(str(fields.get("type")), 0.0),
        "topic": tags[0] if tags else "",
        "files": [re.sub(r"\[([*?\[])\]", r"\1", str(name)) for name in scope],
        "source": {},
        "marks": [],
        **prose,
    }
    values.update((name, fields.get(name, "")) for name in _TEXTS)
    values.update((name, fields[name]) for name in _OTHERS if name in fields)
    event = codec.from_dict(values)
    if event is None:
        raise ValueError("id, type, content or time is missing or malformed")
    if event.id != event.identity():
        raise ValueError(f"the id {event.id} does not belong to the content, whose id is {event.identity()}")
    return event


def ordered(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields in the order in which they are written, empty ones left out where that says the same."""
    return {
        name: fields[name]
        for name in ORDER
        if name in fields and (fields[name] not in ("", [], {}, None) or name in _EVEN_EMPTY)
    }


def within(group: Mapping[str, object]) -> dict[str, object]:
    """The fields of one of several events in a file; the day is in its time."""
    return {name: value for name, value in ordered(group).items() if name != "date"}


def gather(groups: list[dict[str, object]]) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Fields of several events as those that all share and what is left of each."""
    shared = {
        name: groups[0][name]
        for name in _SHARED
        if name in groups[0] and all(g.get(name) == groups[0][name] for g in groups)
    }
    rest = [within({name: value for name, value in group.items() if name not in shared}) for group in groups]
    return shared, rest
