"""Reading an item file: its events, its state, and whatever is wrong with it."""

from __future__ import annotations

import json

from cortex_git.events import model
from cortex_git.events.codec import is_id
from cortex_git.projections import fields as front
from cortex_git.projections import frontmatter, layout
from cortex_git.projections.document import (
    DECISIONS,
    LEARNED,
    LINT_OFF,
    MAX_SIZE,
    PLANS,
    STATUSES,
    Item,
    checksum,
    key_of_plan,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_git.events.model import Event

_TYPES = {
    DECISIONS: {model.DECISION, model.REJECTED},
    LEARNED: {model.KNOWLEDGE, model.RESOLVED, model.PREFERENCE},
    PLANS: {model.PLAN},
}


def parse(path: str, data: bytes) -> Item:
    """The item that a file holds, with the faults that were found. Never raises."""
    item = Item(path)
    try:
        head, body = _split(data)
        values = frontmatter.read(head)
        if values.get("sum") != checksum(head, body):
            item.faults.append("it was edited by hand: the checksum does not match")
        _fill(item, values)
        lines = _body(body)
        readers = {LEARNED: _learned, PLANS: _plan}
        readers.get(_folder(path), _decision)(item, values, lines)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        item.faults.append(str(error) if isinstance(error, ValueError) else "it does not have the form of an item")
    item.faults += _state_faults(item)
    return item


def _split(data: bytes) -> tuple[str, str]:
    if len(data) > MAX_SIZE:
        raise ValueError(f"it has {len(data)} bytes; an item has at most {MAX_SIZE}")
    text = data.decode("utf-8")
    if not text.startswith("---\n"):
        raise ValueError("it does not begin with front matter")
    head, separator, body = text[4:].partition("\n---\n")
    if not separator:
        raise ValueError("its front matter has no end")
    return head + "\n", body


def _body(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[:3] != ["", LINT_OFF, ""] or not lines[3].startswith("# ") or lines[-1] != "":
        raise ValueError("its body is not that of an item")
    return lines[5:-1]


def _folder(path: str) -> str:
    return path[: path.rindex("/") + 1] if "/" in path else ""


def _fill(item: Item, values: Mapping[str, object]) -> None:
    item.title, item.date = str(values.get("title", "")), str(values.get("date", ""))
    item.status, item.superseded_by = str(values.get("status", "")), str(values.get("superseded-by", ""))
    item.supersedes = _ids(values, "supersedes")
    item.amends = _ids(values, "amends")
    item.relates_to = _ids(values, "relates-to")
    item.key = key_of_plan(item.path)
    item.branch = str(values.get("on-branch", values.get("branch", "")))
    scope = values.get("scope", [])
    item.scope = tuple(map(str, scope)) if isinstance(scope, list) else ()


def _ids(values: Mapping[str, object], name: str) -> tuple[str, ...]:
    found = values.get(name, [])
    if not (isinstance(found, list) and all(map(is_id, found))):
        raise ValueError(f"{name} must be a list of ids")
    return tuple(map(str, found))


def _event(item: Item, values: Mapping[str, object], shown: Mapping[str, object], types: set[str]) -> Event | None:
    """One event of a file; one that cannot be trusted is a fault and does not take the others with it."""
    try:
        event = front.to_event(values, shown)
        if event.type not in types:
            raise ValueError(f"{event.type} does not belong in this folder")
    except ValueError as error:
        item.faults.append("a field cannot be read" if isinstance(error, json.JSONDecodeError) else str(error))
        return None
    return event


def _decision(item: Item, values: Mapping[str, object], body: list[str]) -> None:
    event = _event(item, values, layout.read_decision(body), _TYPES.get(_folder(item.path), set()))
    item.events += [event] if event else []


def _learned(item: Item, values: Mapping[str, object], body: list[str]) -> None:
    own = values.get("events", [])
    sections = layout.split_facts(body)
    if not isinstance(own, list) or len(own) != len(sections):
        raise ValueError("the events in its front matter and the sections of its body do not belong together")
    top = {name: value for name, value in values.items() if name not in ("events", "id", "type", "title", "date")}
    for entry, section in zip(own, sections, strict=True):
        shown = layout.read_fact(section, str(entry.get("type")))
        event = _event(item, top | entry, shown, _TYPES[LEARNED])
        item.events += [event] if event else []


def _plan(item: Item, values: Mapping[str, object], body: list[str]) -> None:
    shown, item.steps = layout.read_plan(body, item.title)
    event = _event(item, values, {"content": shown}, _TYPES[PLANS])
    item.events += [event] if event else []
    ticks = values.get("ticks", [])
    for entry in ticks if isinstance(ticks, list) else []:
        tick = _event(item, entry, {}, {model.STEP})
        item.ticks += [tick] if tick else []


def _state_faults(item: Item) -> list[str]:
    if not item.events:
        return []
    faults = []
    if item.path.startswith(LEARNED) == bool(item.status) or (item.status and item.status not in STATUSES):
        faults.append(f"its status {item.status!r} is none of {', '.join(STATUSES)}")
    if item.superseded_by and not is_id(item.superseded_by):
        faults.append("superseded-by is no id")
    if (item.status == "superseded") != bool(item.superseded_by):
        faults.append("its status and superseded-by contradict each other")
    return faults
