"""An event as people read it: a block as `git log` shows a commit, or one line."""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Callable, Iterator

from cortex_git.cli.selection import LABELS
from cortex_git.cli.terminal import Screen, harmless, one_line
from cortex_git.events import codec, model
from cortex_git.events.model import Event
from cortex_git.views.standing import Standing

Short = Callable[[str], str]
_WIDTH = 10
_WORD = re.compile(r"[\w+#]+")
_STATUS_STYLES = {"accepted": "good", "rejected": "bad", "deprecated": "dim", "superseded": "dim"}


def label(event: Event) -> str:
    """What people call the type of an event."""
    return LABELS.get(event.type) or one_line(event.type)


def as_dict(event: Event, standing: Standing) -> dict[str, object]:
    """The event as it is stored, with its status."""
    return {**codec.to_dict(event), "status": status(event, standing)}


def status(event: Event, standing: Standing) -> str:
    """Its status, or whether it was retracted or superseded; empty for types to which that means nothing."""
    if event.type in (model.DECISION, model.REJECTED) or standing.dead(event.id):
        return standing.status(event)
    return ""


def flag(event: Event, standing: Standing) -> str:
    """A mark for what no longer counts: `retracted`, `superseded by …` or empty."""
    if event.id in standing.superseded:
        return "superseded"
    return "retracted" if event.id in standing.retracted else ""


def oneline(event: Event, standing: Standing, short: Short, screen: Screen) -> str:
    """An event on one line: id, type, content, reason."""
    dead = flag(event, standing)
    mark = f"({dead}) " if dead else ""
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


def block(event: Event, standing: Standing, screen: Screen, *, full: bool = False) -> Iterator[str]:
    """An event as several lines, without an empty one at the end; with `full` all that is known of it."""
    state = status(event, standing)
    shown = f" ({screen.paint(state, _STATUS_STYLES.get(state, 'bold'))})" if state else ""
    shown += " (private)" if event.private else ""
    yield screen.paint(f"event {event.id}", "id") + shown
    yield from (f"{name + ':':<12}{value}" for name, value in _head(event, standing, full) if value)
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
    if full:
        yield "Superseded", _successor(event, standing)
        yield "Commit", one_line(event.commit)
        yield "Layer", one_line(event.layer)
        yield "Confidence", f"{event.confidence:g}"
        yield "Salience", f"{event.salience:g}"
        yield "Source", ", ".join(f"{one_line(name)} {one_line(value)}" for name, value in event.source.items())
        yield "Unknown", one_line(", ".join(f"{name}={value!r}" for name, value in event.extra.items()))


def _successor(event: Event, standing: Standing) -> str:
    by = standing.superseded.get(event.id, "")
    return f"by {one_line(by)}" if by else ""


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
