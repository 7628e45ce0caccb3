"""The few events that what is shown depends on, so that showing it costs the same in a store of any size.

Of each type the newest are kept. A floor says below which time the store may hold more; above
it nothing is missing, so that events can be added and taken out again without reading the rest.
"""

from __future__ import annotations

from cortex_git.events import codec, model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
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
"""How many events of each type are kept, the newest; permanent and pinned ones come on top."""
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

    def add(self, events: Iterable[Event], origin: Origin) -> None:
        """Take events in. Raises Incomplete if one of them pins an event that is not kept."""
        for event in events:
            if event.type not in KEPT or (not _stays(event) and model.order(event) <= self._floor(event.type)):
                continue
            known = self.events.get(event.id)
            origins = self._origins.setdefault(event.id, [])
            # What git keeps in the notes cannot be edited by hand; a file can.
            if known is None or (_is_noted(origin) and not any(map(_is_noted, origins))):
                self.events[event.id] = event
            elif _is_noted(origin):
                self.events[event.id] = codec.better(known, event)
            if origin not in origins:
                origins.append(origin)
                self._at.setdefault(origin[0], set()).add(event.id)

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
        pinned = {event.target for event in groups.get(model.PINNED, ())}
        if model.PINNED in groups and not all(id in self.events or not self._floors for id in pinned):
            raise Incomplete("a pinned event is not among what is kept")
        for type, room in KEPT.items():
            group = sorted(groups.get(type, ()), key=model.order, reverse=True)
            for event in group[room:]:
                self._floors[type] = max(self._floor(type), model.order(event))
                if event.id not in pinned and not _stays(event):
                    del self.events[event.id], self._origins[event.id]
            if type in self._floors and len(group) < room * ENOUGH:
                raise Incomplete(f"too few events of type {type} are kept")

    def _floor(self, type: str) -> tuple[str, str]:
        return self._floors.get(type, ("", ""))

    def to_json(self) -> dict[str, Any]:
        """As an object that JSON can hold."""
        events = [[codec.to_dict(event), self._origins[id]] for id, event in self.events.items()]
        return {"events": events, "floors": self._floors}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Essence:
        """What `to_json` gave. Raises KeyError, TypeError or ValueError if it is something else."""
        made = cls()
        for fields, origins in values["events"]:
            event = codec.from_dict(fields)
            if event is None:
                raise ValueError("what is kept holds something that is no event")
            made.events[event.id] = event
            made._origins[event.id] = [(place, name) for place, name in origins]
            for place, _ in origins:
                made._at.setdefault(place, set()).add(event.id)
        made._floors = {type: (time, id) for type, (time, id) in values["floors"].items()}
        return made


def _is_noted(origin: Origin) -> bool:
    return origin[0].startswith("refs/")


def _stays(event: Event) -> bool:
    return model.PERMANENT in event.marks
