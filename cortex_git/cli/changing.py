"""Making changes of state by hand: what they are about, how they follow what was said before, and how they are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cortex_git.cli import text
from cortex_git.cli.opening import open_memory
from cortex_git.cli.recording import Details, new_event, refresh
from cortex_git.cli.selection import SHORTEST
from cortex_git.cli.terminal import Screen, one_line, wants_colour, write_json
from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.events.redact import redact_event
from cortex_git.memory import is_deletion
from cortex_git.views.standing import Standing, fold, unique

UNDO = "undo"
DROP = "plan drop"
_WHOLE = (UNDO, DROP)
"""Commands that do one thing with several changes: those are undone together, whichever of them is named."""
WORDS = {
    model.ACCEPTED: "accepted",
    model.RETRACTED: "retracted",
    model.SUPERSEDED: "superseded",
    model.PINNED: "pinned",
    model.REINFORCED: "reinforced",
}


class Told(NamedTuple):
    """What became of one memory: `said` in words, and the change that was made, None if there was none."""

    about: Event | None
    said: str
    change: Event | None
    successor: Event | None = None


class Hand:
    """One command that changes states: it looks at what is known, collects changes, stores and tells them."""

    def __init__(self, env: Env, command: str) -> None:
        self.memory = open_memory(env)
        self.command = command
        self.seen = self.memory.visible()
        self.standing = fold(self.seen)
        self.standing.accepted |= self.memory.merged()
        self.made: list[Event] = []
        self.told: list[Told] = []
        self._everything: list[Event] | None = None
        self._act = ""
        self._ids = {event.id for event in self.seen}

    def everything(self) -> list[Event]:
        """All events of all branches."""
        if self._everything is None:
            self._everything = unique([*self.seen, *self.memory.everything()])
            self._ids.update(event.id for event in self._everything)
        return self._everything

    def known(self) -> list[Event]:
        """What was read so far: the events of this branch, or of all."""
        return self.seen if self._everything is None else self._everything

    def find(self, id: str) -> Event:
        """The event that an id names, here or on any branch. Raises CortexError."""
        start = id.strip().lower()
        here = any(event.id.startswith(start) for event in self.seen)
        return self.memory.find(id, self.seen if here and start else self.everything())

    def memory_of(self, id: str) -> Event:
        """The memory that an id names, which can be corrected. Raises CortexError for anything else."""
        event = self.find(id)
        short = event.id[:SHORTEST]
        if event.type in model.STATE_CHANGES:
            raise CortexError(f"{short} is itself a correction; `git cortex undo {short}` takes it back")
        if event.type not in model.SEMANTIC:
            raise CortexError(f"{short} is a record of what was done ({text.label(event)}); that is not corrected")
        _, head = self.memory.position()
        if event.id in self.memory.gone(head, self.memory.items(head)):
            raise CortexError(
                f"{short} was taken out by deleting its file in a commit (`git cortex show {short}` names it); "
                "bring the file back to bring it back"
            )
        return event

    def is_here(self, event: Event) -> bool:
        """Whether this branch sees an event."""
        return any(one.id == event.id for one in self.seen)

    def change(self, type: str, about: Event, content: str, reason: str = "") -> Event:
        """A change of the state of an event, later than that and than all that was said of it before."""
        private = Details(reason=reason, private=about.private)
        event = new_event(self.memory, type, content, private, about.id)
        known = self.known()
        before = {about.id} | {one.id for one in known if one.target == about.id}
        times = [about.time, *(one.time for one in known if one.id in before or one.target in before)]
        event = event.replace(time=max(event.time, model.later(max(times))), id="")
        while event.id in self._ids:
            event = event.replace(time=model.later(event.time), id="")
        return self.add(event)

    def add(self, event: Event) -> Event:
        """Take an event among those that are stored at the end."""
        if event.type in model.STATE_CHANGES:
            self._act = self._act or event.id
            event = event.replace(source={**event.source, "by": self.command, "act": self._act})
        self.made.append(event)
        self._ids.add(event.id)
        return event

    def bring_back(self, event: Event) -> None:
        """Have a memory that is recorded again count again. Raises CortexError if it was taken out for good."""
        short = event.id[:SHORTEST]
        if event.id in self.memory.purged().ids:
            raise CortexError(f"{short} was purged and stays so; say it in other words")
        _, head = self.memory.position()
        if event.id in self.memory.gone(head, self.memory.items(head)):
            raise CortexError(f"{short} was taken out by deleting its file in a commit; bring the file back")
        for change in in_force(self.standing, event.id):
            if change.type in (model.RETRACTED, model.SUPERSEDED):
                self.change(model.RETRACTED, change, "said again")

    def successor(self, old: Event, content: str, details: Details) -> Event:
        """A memory to take the place of another: of its type, with its marks."""
        event = new_event(self.memory, old.type, content, details)
        marks = dict.fromkeys([*old.marks, *event.marks])
        source = {"by": self.command, model.CORRECTS: old.id}
        return redact_event(event.replace(marks=tuple(marks), source=source, id=""))

    def tell(self, about: Event, said: str, change: Event | None, successor: Event | None = None) -> None:
        """Note what became of a memory, to be said at the end."""
        self.told.append(Told(about, said, change, successor))

    def store(self) -> None:
        """Store what was made under the branch that is checked out. Raises CortexError."""
        if self.made:
            self.memory.record(self.made)
            refresh(self.memory)

    def finish(self, as_json: bool) -> None:
        """Store what was made, and say what changed and how to undo it."""
        self.store()
        self.say(as_json)

    def say(self, as_json: bool) -> None:
        """Print what changed."""
        if as_json:
            write_json(self.memory.env, [_as_dict(told) for told in self.told])
            return
        out = Screen(self.memory.env.stdout, wants_colour(self.memory.env, self.memory.repo.git_config(), "auto"))
        for told in self.told:
            out.line(_line(told, out, here=told.about is None or self.is_here(told.about)))


def _line(told: Told, out: Screen, here: bool) -> str:
    about = told.about
    start = f"[{out.paint(about.id[:SHORTEST], 'id')}] {one_line(told.said)}: {_short(about)}" if about else told.said
    if told.change is None:
        return start
    away = "" if here else "; this branch does not see it yet, and will see it so"
    return f"{start}{away} {out.paint(f'(undo: git cortex undo {told.change.id[:SHORTEST]})', 'dim')}"


def _short(event: Event) -> str:
    headline = text.headline(event)
    return headline if len(headline) <= 100 else headline[:99] + "…"


def _as_dict(told: Told) -> dict[str, Any]:
    found: dict[str, Any] = {"id": told.about.id if told.about else "", "changed": told.change is not None}
    found["said"] = told.said
    if told.change is not None:
        found |= {"change": told.change.id, "undo": f"git cortex undo {told.change.id}"}
    if told.successor is not None:
        found["successor"] = told.successor.id
    return found


def in_force(standing: Standing, id: str, type: str = "") -> list[Event]:
    """The changes of an event's state that count, oldest first; of one type if one is given."""
    return [change for change in standing.changes.get(id, ()) if not type or change.type == type]


def act_of(hand: Hand, change: Event) -> list[Event]:
    """A change, and where one command did a single thing with several of them, the others."""
    act = change.source.get("act", "")
    if change.source.get("by") not in _WHOLE or not act:
        return [change]
    return [event for event in hand.everything() if event.source.get("act") == act and event.type == model.RETRACTED]


def latest_about(hand: Hand, event: Event) -> list[Event]:
    """The newest change of an event's state that counts, with those that say the same."""
    found = [change for change in in_force(hand.standing, event.id) if not is_deletion(change)]
    if model.CORRECTS in event.source:
        found += [
            change
            for change in in_force(hand.standing, event.source[model.CORRECTS], model.SUPERSEDED)
            if change.content == event.id
        ]
    newest = max(found, key=model.order, default=None)
    if newest is None:
        return []
    return [one for one in found if _meaning(one) == _meaning(newest)]


def _meaning(change: Event) -> tuple[str, str, str]:
    return (change.type, change.target, change.content if change.type == model.SUPERSEDED else "")


def came_with(hand: Hand, change: Event, known: Sequence[Event]) -> list[Event]:
    """What a change brought along and what goes again with it: the memory that was made to take the other's place."""
    if change.type != model.SUPERSEDED:
        return []
    return [
        event
        for event in known
        if event.id == change.content
        and event.source.get(model.CORRECTS) == change.target
        and not hand.standing.dead(event.id)
    ]
