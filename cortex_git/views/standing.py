"""Where things stand: the decisions, rejected approaches, facts, plan and sessions that events add up to."""

from __future__ import annotations

from cortex_git.events import codec, model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_git.events.model import Event


class Step:
    """One step of a plan. `current` is the first that is not done."""

    __slots__ = ("current", "done", "text")

    def __init__(self, text: str, done: bool, current: bool = False) -> None:
        self.text = text
        self.done = done
        self.current = current


class Plan:
    """The newest plan of a branch with the state of its steps; `ticks` are the events that completed some of them."""

    __slots__ = ("event", "steps", "ticks", "title")

    def __init__(self, event: Event, title: str, steps: list[Step], ticks: Iterable[Event] = ()) -> None:
        self.event = event
        self.title = title
        self.steps = steps
        self.ticks = tuple(ticks)


class Session:
    """One session of an assistant, from its first to its last event; `events` counts those but its bookkeeping."""

    __slots__ = ("agent", "ended", "events", "id", "started")

    def __init__(self, id: str, agent: str, started: str) -> None:
        self.id = id
        self.agent = agent
        self.started = started
        self.ended = started
        self.events = 0


class Standing:
    """The outcome of a fold. Lists are newest first and leave out what was retracted or superseded."""

    __slots__ = (
        "accepted",
        "changes",
        "decisions",
        "files",
        "learned",
        "pinned",
        "plan",
        "preferences",
        "reinforced",
        "rejected",
        "retracted",
        "sessions",
        "superseded",
        "tasks",
        "unknown",
    )  # fmt: skip

    def __init__(self) -> None:
        self.decisions: list[Event] = []
        self.rejected: list[Event] = []
        self.learned: list[Event] = []
        self.preferences: list[Event] = []
        self.tasks: list[Event] = []
        self.plan: Plan | None = None
        self.sessions: list[Session] = []
        self.files: list[str] = []
        self.retracted: set[str] = set()
        self.superseded: dict[str, str] = {}
        self.pinned: set[str] = set()
        self.accepted: set[str] = set()
        self.reinforced: dict[str, int] = {}
        self.changes: dict[str, list[Event]] = {}
        """For each id the changes of its state that are in force, oldest first."""
        self.unknown: dict[str, int] = {}

    def dead(self, id: str) -> bool:
        """Whether an event no longer counts."""
        return id in self.retracted or id in self.superseded

    def status(self, event: Event) -> str:
        """`accepted`, `proposed`, `rejected`, `superseded` or `deprecated`, as MADR names them.

        What an assistant decided by itself is proposed until a person says so.
        """
        if event.id in self.superseded:
            return "superseded"
        if event.id in self.retracted:
            return "deprecated"
        is_accepted = event.id in self.accepted and event.type != model.REJECTED
        return "accepted" if is_accepted else birth_status(event)


def birth_status(event: Event) -> str:
    """The status that an event is born with."""
    if event.type == model.REJECTED:
        return "rejected"
    return "accepted" if event.agent == "user" or event.layer == "user" else "proposed"


def unique(events: Iterable[Event]) -> list[Event]:
    """One copy of each event, in the order of time; of two copies the one that counts everywhere."""
    by_id: dict[str, Event] = {}
    for event in events:
        known = by_id.get(event.id)
        by_id[event.id] = event if known is None else codec.better(known, event)
    return sorted(by_id.values(), key=model.order)


_FACTS = (model.KNOWLEDGE, model.RESOLVED)
_LISTS = {
    model.DECISION: "decisions",
    model.REJECTED: "rejected",
    model.KNOWLEDGE: "learned",
    model.RESOLVED: "learned",
    model.PREFERENCE: "preferences",
    model.TASK: "tasks",
}


def fold(events: Iterable[Event]) -> Standing:
    """Where things stand after these events. The order in which they are given does not matter."""
    ordered = unique(events)
    standing = Standing()
    changes, undone = in_force(event for event in ordered if event.type in model.STATE_CHANGES)
    standing.retracted |= undone
    for event in changes:
        _change(standing, event)
    _correct(standing, ordered)
    for event in reversed(ordered):
        name = _LISTS.get(event.type)
        if name and not standing.dead(event.id):
            getattr(standing, name).append(event)
        elif event.type not in model.TYPES:
            standing.unknown[event.type] = standing.unknown.get(event.type, 0) + 1
    standing.plan = _plan(ordered, standing)
    standing.sessions = _sessions(ordered)
    standing.files = _files(ordered)
    return standing


def in_force(changes: Iterable[Event]) -> tuple[list[Event], set[str]]:
    """The changes of state that count, oldest first, and the ids of those that were undone.

    A change is undone by retracting it. Only what comes later can do that, so going from the
    newest to the oldest settles it, the undoing of an undo included.
    """
    ordered = sorted(changes, key=model.order, reverse=True)
    open_ids = {event.id for event in ordered}
    found: list[Event] = []
    undone: set[str] = set()
    for event in ordered:
        open_ids.discard(event.id)
        if event.id not in undone:
            found.append(event)
            if event.type == model.RETRACTED and event.target in open_ids:
                undone.add(event.target)
    return found[::-1], undone


def corrected(facts: Iterable[Event]) -> dict[str, str]:
    """For facts that were corrected, the id of what took their place: files of facts say it of the new one alone."""
    return {event.source[model.CORRECTS]: event.id for event in facts if model.CORRECTS in event.source}


def _correct(standing: Standing, ordered: list[Event]) -> None:
    """Leave out the facts that others were made to replace, where no event says so, as in a clone without notes."""
    facts = [event for event in ordered if event.type in _FACTS and not standing.dead(event.id)]
    found = corrected(facts)
    if found:
        told = {event.target for event in ordered if event.type in (model.SUPERSEDED, model.RETRACTED)}
        standing.superseded.update((old, new) for old, new in found.items() if old not in told)


def _change(standing: Standing, event: Event) -> None:
    standing.changes.setdefault(event.target, []).append(event)
    if event.type == model.RETRACTED:
        standing.retracted.add(event.target)
    elif event.type == model.SUPERSEDED:
        standing.superseded[event.target] = event.content
    elif event.type == model.PINNED:
        standing.pinned.add(event.target)
    elif event.type == model.ACCEPTED:
        standing.accepted.add(event.target)
    elif event.type == model.REINFORCED:
        standing.reinforced[event.target] = standing.reinforced.get(event.target, 0) + 1


def _plan(ordered: list[Event], standing: Standing) -> Plan | None:
    plans = [event for event in ordered if event.type == model.PLAN and not standing.dead(event.id)]
    if not plans:
        return None
    event = plans[-1]
    title, steps = parse_plan(event.content)
    ticks = [e for e in ordered if e.type == model.STEP and e.time >= event.time and not standing.dead(e.id)]
    done = {_normal(tick.content) for tick in ticks}
    for step in steps:
        step.done = step.done or _normal(step.text) in done
    current = next((step for step in steps if not step.done), None)
    if current:
        current.current = True
    return Plan(event, title, steps, ticks)


def parse_plan(content: str) -> tuple[str, list[Step]]:
    """A plan's title and steps. A line `- [x] …` is a step that is done, `- [ ] …` one that is open."""
    title = ""
    steps: list[Step] = []
    for line in content.splitlines():
        text = line.strip()
        mark, body = text[:6], text[6:].strip()
        if mark in ("- [ ] ", "- [x] ", "- [X] ") and body:
            steps.append(Step(body, mark[3] != " "))
        elif text and not title:
            title = text
    return title, steps


def render_plan(title: str, steps: Iterable[Step]) -> str:
    """The content of a plan's event, as `parse_plan` reads it."""
    lines = [f"- [{'x' if step.done else ' '}] {' '.join(step.text.split())}" for step in steps]
    return "\n".join([" ".join(title.split()), *lines])


def _normal(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _sessions(ordered: list[Event]) -> list[Session]:
    found: dict[str, Session] = {}
    for event in ordered:
        if not event.session:
            continue
        session = found.get(event.session)
        if session is None:
            session = found[event.session] = Session(event.session, event.agent, event.time)
        elif session.agent == "user" and event.agent != "user":
            session.agent = event.agent
        session.ended = event.time
        if event.type not in model.BOOKKEEPING:
            session.events += 1
    return sorted(found.values(), key=lambda session: session.started, reverse=True)


def _files(ordered: list[Event]) -> list[str]:
    names = (name for event in reversed(ordered) if event.type == model.FILE_MODIFIED for name in event.files)
    return list(dict.fromkeys(names))
