"""From units to events, in layers: what structure says, what tags say, what prose seems to say."""

from __future__ import annotations

from cortex_git.capture.extract.context import Context
from cortex_git.capture.extract.keywords import keywords
from cortex_git.capture.extract.structure import structure
from cortex_git.capture.extract.tags import tags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cortex_git.capture.extract.context import Layer
    from cortex_git.capture.units import Unit
    from cortex_git.config import Config
    from cortex_git.events.model import Event

LAYERS: tuple[Layer, ...] = (structure, tags, keywords)


def extract(
    units: Sequence[Unit],
    config: Config,
    commit: str = "",
    author: str = "",
    *,
    root: str = "",
    memo: dict[str, Any] | None = None,
) -> list[Event]:
    """The events that units tell of, each id once, in the order in which they were first met.

    `author` is the person at the keyboard, `commit` the HEAD at that time, and `root` the work
    tree that paths are made relative to. `memo` is what earlier extractions left for this one
    (task lists, the last words of an assistant): JSON values, changed in place. Where two
    layers make the same event, the surer one counts.
    """
    context = Context(config, root, commit, author, {} if memo is None else memo)
    found: dict[str, Event] = {}
    for unit in units:
        for layer in LAYERS:
            for event in layer(unit, context):
                known = found.get(event.id)
                if known is None or event.confidence > known.confidence:
                    found[event.id] = event
    return list(found.values())
