"""The few events that what is shown depends on, so that showing it costs the same in a store of any size."""

from __future__ import annotations

from cortex_git.events import model
from cortex_git.views.standing import unique

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_git.events.model import Event

KEPT = {
    model.DECISION: 200,
    model.REJECTED: 120,
    model.KNOWLEDGE: 120,
    model.RESOLVED: 80,
    model.PREFERENCE: 60,
    model.TASK: 20,
    model.PLAN: 3,
    model.STEP: 60,
    model.FILE_MODIFIED: 40,
    model.SESSION_STARTED: 60,
    model.SESSION_ENDED: 20,
    model.COMMIT: 20,
}
"""How many events of each type are kept, the newest. Permanent ones, pinned ones and changes of state come on top."""
_CHANGES = 2000


def essence(events: Iterable[Event]) -> list[Event]:
    """The newest events of each type, by time.

    `essence([*essence(a), *b]) == essence([*a, *b])`, unless b pins what essence(a) dropped: so a
    kept essence is brought forward by new events alone.
    """
    ordered = unique(events)
    pinned = {event.target for event in ordered if event.type == model.PINNED}
    room = dict(KEPT)
    changes = _CHANGES
    kept: list[Event] = []
    for event in reversed(ordered):
        if event.type in model.STATE_CHANGES:
            changes -= 1
            if changes >= 0:
                kept.append(event)
            continue
        left = room.get(event.type, 0)
        if left > 0:
            room[event.type] = left - 1
            kept.append(event)
        elif event.id in pinned or model.PERMANENT in event.marks:
            kept.append(event)
    kept.reverse()
    return kept
