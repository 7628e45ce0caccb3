"""An event as people read it: a block as `git log` shows a commit, or one line."""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Callable, Iterable, Iterator

from cortex_git.cli.selection import LABELS, SHORTEST
from cortex_git.cli.terminal import Screen, harmless, one_line
from cortex_git.events import codec, model
from cortex_git.events.model import Event
from cortex_git.views.settled import IN_FILE
from cortex_git.views.standing import Standing

Short = Callable[[str], str]
_WIDTH = 10
_WORD = re.compile(r"[\w+#]+")
_CHANGED = {
    model.RETRACTED: "Retracted",
    model.SUPERSEDED: "Superseded",
    model.ACCEPTED: "Accepted",
    model.PINNED: "Pinned",
}
_STATUS_STYLES = {"accepted": "good", "rejected": "bad", "deprecated": "dim", "superseded": "dim"}


def label(event: Event) -> str:
    """What people call the type of an event."""
    return LABELS.get(event.type) or one_line(event.type)


def as_dict(event: Event, standing: Standing) -> dict[str, object]:
    """The event as it is stored, with its status, and with what says so where that is not the one of its birth."""
    found: dict[str, object] = {**codec.to_dict(event), "status": status(event, standing)}
    if event.id in standing.superseded:
        found["superseded_by"] = standing.superseded[event.id]
    if event.id in standing.pinned:
        found["pinned"] = True
    changes = [_change_as_dict(change) for change in standing.changes.get(event.id, ())]
    return {**found, "changes": changes} if changes else found


def _change_as_dict(change: Event) -> dict[str, object]:
    known = {"id": change.id, "type": change.type, "author": who(change), "time": change.time, "reason": why(change)}
    return {name: value for name, value in known.items() if value and (name != "id" or not _is_in_file(change))}


def status(event: Event, standing: Standing) -> str:
    """Its status, or whether it was retracted or superseded; empty for types to which that means nothing."""
    if event.type in (model.DECISION, model.REJECTED) or standing.dead(event.id):
        return standing.status(event)
    return ""


def flag(event: Event, standing: Standing, short: Short = lambda id: id[:SHORTEST]) -> str:
    """A mark for what no longer counts: `retracted`, `superseded by …`, of a correction `undone`; or empty."""
    if event.id in standing.superseded:
        return f"superseded by {one_line(short(standing.superseded[event.id]))}"
    if event.id in standing.retracted:
        return "undone" if event.type in model.STATE_CHANGES else "retracted"
    return ""


def who(change: Event) -> str:
    """Who changed a state: the person, the assistant, or nobody that is known."""
    return one_line(change.author if change.agent == "user" and change.author else change.agent)


def why(change: Event) -> str:
    """The reason of a change of state, if one was given."""
    if change.reason or change.type != model.RETRACTED:
        return one_line(change.reason)
    return "" if change.content in ("", "retracted", "undone") else one_line(change.content)


def _is_in_file(change: Event) -> bool:
    return change.source.get("by") == IN_FILE


def oneline(event: Event, standing: Standing, short: Short, screen: Screen) -> str:
    """An event on one line: id, type, content, reason."""
    dead = flag(event, standing, short)
    mark = f"({dead}) " if dead else ""
    mark += "(pinned) " if event.id in standing.pinned else ""
    mark += "(private) " if event.private else ""
    said = is_said(event.reason, headline(event))
    because = f", because {one_line(event.reason)}" if event.reason and not said else ""
    kind = label(event).ljust(_WIDTH)
    text = f"{mark}{headline(event)}{because}"
    return f"{screen.paint(short(event.id), 'id')} {kind} {screen.paint(text, 'dim') if dead else text}"


def headline(event: Event) -> str:
    """The first line of the content that says anything."""
    lines = (one_line(line) for line in event.content.splitlines())
    return next((line for line in lines if line), "")


def is_said(part: str, text: str) -> bool:
    """Whether a text says a part of it already, word by word."""
    wanted = " ".join(_WORD.findall(part.casefold()))
    return bool(wanted) and f" {wanted} " in f" {' '.join(_WORD.findall(text.casefold()))} "


def block(
    event: Event, standing: Standing, screen: Screen, *, full: bool = False, more: Iterable[tuple[str, str]] = ()
) -> Iterator[str]:
    """An event as several lines, without an empty one at the end; with `full` all that is known of it.

    `more` are further fields.
    """
    state = status(event, standing)
    shown = f" ({screen.paint(state, _STATUS_STYLES.get(state, 'bold'))})" if state else ""
    shown += " (pinned)" if event.id in standing.pinned else ""
    shown += " (private)" if event.private else ""
    yield screen.paint(f"event {event.id}", "id") + shown
    fields = [*_head(event, standing, full), *more]
    yield from (f"{name + ':':<12}{value}" for name, value in fields if value)
    yield ""
    for line in harmless(event.content).splitlines() or [""]:
        yield f"    {line}".rstrip()
    tail = [(name, value) for name, value in _tail(event, "" if full else event.content) if value]
    if tail:
        yield ""
    for name, value in tail:
        yield f"    {name}: {value}"


def _head(event: Event, standing: Standing, full: bool) -> Iterator[tuple[str, str]]:
    yield "Type", label(event)
    yield ("Author", one_line(event.author)) if event.author else ("Agent", one_line(event.agent))
    if event.author and event.agent != "user":
        yield "Agent", one_line(event.agent)
    yield "Date", local_time(event.time)
    yield "Branch", one_line(event.branch)
    yield "Session", one_line(event.session)
    if event.marks:
        yield "Marks", ", ".join(map(one_line, event.marks))
    yield "About", one_line(event.target)
    for change in standing.changes.get(event.id, ()):
        if full or (standing.dead(event.id) and change.type in (model.RETRACTED, model.SUPERSEDED)):
            yield _CHANGED.get(change.type, one_line(change.type).capitalize()), _changed(change)
    if full:
        yield "Commit", one_line(event.commit)
        yield "Layer", one_line(event.layer)
        yield "Confidence", f"{event.confidence:g}"
        yield "Salience", f"{event.salience:g}"
        yield "Source", ", ".join(f"{one_line(name)} {one_line(value)}" for name, value in event.source.items())
        yield "Unknown", one_line(", ".join(f"{name}={value!r}" for name, value in event.extra.items()))


def _changed(change: Event) -> str:
    """What a change of state says: by what or whom, when, why; its id, by which it can be undone."""
    by = f"by {one_line(change.content[:16])}, " if change.type == model.SUPERSEDED else ""
    because = f", because {why(change)}" if why(change) else ""
    if _is_in_file(change):
        return f"{by}as its file says"
    return f"{by}{who(change) or 'somebody'}, {local_time(change.time)}{because} [{change.id[:SHORTEST]}]"


def _tail(event: Event, said: str) -> Iterator[tuple[str, str]]:
    """The details, but for what was said in a text already."""
    yield "Because", "" if is_said(event.reason, said) else one_line(event.reason)
    yield "Over", "; ".join(one_line(choice) for choice in event.alternatives if not is_said(choice, said))
    yield "Topic", one_line(event.topic)
    yield "Files", ", ".join(map(one_line, event.files))


def local_time(text: str) -> str:
    """An event's time as `git log` shows one, in the time zone of the reader; as it is if it is none."""
    try:
        moment = time.localtime(calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")))
    except (ValueError, OverflowError):
        return one_line(text)
    return time.strftime(f"%a %b {moment.tm_mday} %H:%M:%S %Y %z", moment)
