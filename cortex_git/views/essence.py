"""The few events that what is shown depends on, so that showing it costs the same in a store of any size.

Of each type the newest are kept. A floor says below which time the store may hold more; above
it nothing is missing, so that events can be added and taken out again without reading the rest.
Changes of state are kept with what they are about, however old they are; of the others only the
newest, for what they are about may still come into view.
"""

from __future__ import annotations

from cortex_git.events import codec, model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from cortex_git.events.model import Event

KEPT: Mapping[str, int] = {
    model.DECISION: 200,
    model.REJECTED: 120,
    model.KNOWLEDGE: 120,
    model.RESOLVED: 80,
    model.PREFERENCE: 60,
    model.TASK: 20,
    model.PLAN: 3,
    model.STEP: 60,
    model.SESSION_STARTED: 60,
    model.COMMIT: 20,
    **dict.fromkeys(model.STATE_CHANGES, 1000),
}
"""How many events of each type are kept, the newest; permanent and pinned ones come on top.

Of changes of state it is how many are kept that are about nothing that is.
"""
ENOUGH = 0.5
"""The share of them that must be left when events were taken out; with less, everything is read anew."""

Origin = tuple[str, str]
"""Where an event was read: a notes ref and a segment, or an item's path and blob."""


class Incomplete(Exception):
    """What is kept is not enough to go on from: the whole store has to be read."""


class Essence:
    """Events by id, each with its origins: it counts while one of them is in view."""

    def __init__(self) -> None:
        self.events: dict[str, Event] = {}
        self._origins: dict[str, list[Origin]] = {}
        self._floors: dict[str, tuple[str, str]] = {}
        self._at: dict[str, set[str]] = {}
        self._pinned: set[str] = set()
        self._absent: set[str] = set()
        self.outside: set[str] = set()
        """Ids of events that are kept elsewhere, whose changes of state are kept here."""

    def add(self, events: Iterable[Event], origin: Origin) -> None:
        """Take events in. Raises Incomplete if changes of the state of one of them may have been let go."""
        for event in events:
            if event.type not in KEPT or self._is_too_old(event):
                continue
            if event.type == model.PINNED:
                self._pinned.add(event.target)
            known = self.events.get(event.id)
            origins = self._origins.setdefault(event.id, [])
            # What git keeps in the notes cannot be edited by hand; a file can.
            is_first = _is_noted(origin) and not any(map(_is_noted, origins))
            if known is None or (is_first and (known == event or event.id == event.identity())):
                self.events[event.id] = event
            elif _is_noted(origin):
                self.events[event.id] = codec.better(known, event)
            if origin not in origins:
                origins.append(origin)
                self._at.setdefault(origin[0], set()).add(event.id)

    def _is_too_old(self, event: Event) -> bool:
        if event.type in model.STATE_CHANGES:
            return False
        if not (_stays(event) or event.id in self._pinned) and model.order(event) <= self._floor(event.type):
            return True
        if event.id not in self.events and event.time <= self.forgotten:
            raise Incomplete("changes of the state of an event may have been let go before it came into view")
        return False

    @property
    def forgotten(self) -> str:
        """The time up to which changes of state may have been let go; empty if none was."""
        return max(self._floor(type)[0] for type in model.STATE_CHANGES)

    def drop(self, place: str, names: Iterable[str] | None = None) -> None:
        """Take out what was read at a ref or path; with `names`, only from these segments or blobs of it."""
        wanted = None if names is None else set(names)
        for id in sorted(self._at.pop(place, ()) if names is None else self._at.get(place, ())):
            if id not in self._origins:
                continue
            left = [o for o in self._origins[id] if o[0] != place or (wanted is not None and o[1] not in wanted)]
            self._origins[id] = left
            if not left:
                del self._origins[id], self.events[id]

    def found_under(self, prefix: str) -> set[str]:
        """The ids of the events that were read at a place whose name begins like this."""
        return {id for id, origins in self._origins.items() if any(place.startswith(prefix) for place, _ in origins)}

    def settle(self) -> None:
        """Keep only as many of each type as there is room for. Raises Incomplete if too few are left of one."""
        groups: dict[str, list[Event]] = {}
        for event in self.events.values():
            groups.setdefault(event.type, []).append(event)
        self._check_pinned(groups.get(model.PINNED, ()))
        for type in KEPT.keys() - model.STATE_CHANGES:
            group = sorted(groups.get(type, ()), key=model.order, reverse=True)
            self._prune(type, group, lambda event: _stays(event) or event.id in self._pinned)
            if type in self._floors and len(group) < KEPT[type] * ENOUGH:
                raise Incomplete(f"too few events of type {type} are kept")
        mattering = self._mattering()
        for type in KEPT.keys() & model.STATE_CHANGES:
            others = [event for event in groups.get(type, ()) if event.id not in mattering]
            self._prune(type, sorted(others, key=model.order, reverse=True), lambda event: False)

    def _check_pinned(self, pins: Iterable[Event]) -> None:
        self._pinned = {event.target for event in pins}
        missing = self._pinned - self.events.keys() - self._absent
        if missing and self._floors:
            raise Incomplete("a pinned event is not among what is kept")
        self._absent = (self._absent | missing) & self._pinned

    def _prune(self, type: str, newest_first: list[Event], stays: Callable[[Event], bool]) -> None:
        for event in newest_first[KEPT[type] :]:
            self._floors[type] = max(self._floor(type), model.order(event))
            if not stays(event):
                del self.events[event.id], self._origins[event.id]

    def _mattering(self) -> set[str]:
        """The ids of the changes of state, undone ones included, that are about an event that is kept."""
        found: set[str] = set()
        for event in self.events.values():
            if event.type in model.STATE_CHANGES:
                way = [event.id]
                at: Event | None = event
                while at is not None and at.type in model.STATE_CHANGES and at.target not in way:
                    way.append(at.target)
                    at = self.events.get(at.target)
                if (at is not None and at.type not in model.STATE_CHANGES) or way[-1] in self.outside:
                    found.update(way)
        return found

    def _floor(self, type: str) -> tuple[str, str]:
        return self._floors.get(type, ("", ""))

    def to_json(self) -> dict[str, Any]:
        """As an object that JSON can hold."""
        events = [[codec.to_row(event), self._origins[id]] for id, event in self.events.items()]
        sets = {"absent": sorted(self._absent), "outside": sorted(self.outside)}
        return {"events": events, "floors": self._floors, **sets}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Essence:
        """What `to_json` gave. Raises KeyError, TypeError or ValueError if it is something else."""
        made = cls()
        for row, origins in values["events"]:
            event = codec.from_row(row)
            made.events[event.id] = event
            made._origins[event.id] = [(place, name) for place, name in origins]
            for place, _ in origins:
                made._at.setdefault(place, set()).add(event.id)
        made._pinned = {event.target for event in made.events.values() if event.type == model.PINNED}
        made._absent, made.outside = set(values["absent"]), set(values["outside"])
        made._floors = {type: (time, id) for type, (time, id) in values["floors"].items()}
        return made


def _is_noted(origin: Origin) -> bool:
    return origin[0].startswith("refs/")


def _stays(event: Event) -> bool:
    return model.PERMANENT in event.marks
