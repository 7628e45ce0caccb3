"""What a commit on this branch has to bring along: events that ought to be items and that no commit ever held."""

from __future__ import annotations

import os

from cortex_git import live
from cortex_git.events import codec, model
from cortex_git.store import align, keys
from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cortex_git.config import Config
    from cortex_git.events.model import Event
    from cortex_git.memory import Memory
    from cortex_git.views.standing import Plan

_ITEMS = frozenset({model.DECISION, model.REJECTED, model.KNOWLEDGE, model.RESOLVED})
_PLANS = frozenset({model.PLAN, model.STEP})


class Pending:
    """`events` become items; `plan` is the branch's plan, `key` its key; `held` are ids that some commit has held."""

    __slots__ = ("events", "held", "key", "plan")

    def __init__(self, key: str, held: set[str]) -> None:
        self.key = key
        self.held = held
        self.events: list[Event] = []
        self.plan: Plan | None = None


def is_item(event: Event, config: Config) -> bool:
    """Whether an event is written into the work tree at all."""
    return event.type in _ITEMS and not event.private and event.confidence >= config.projections_min_confidence


def pending(memory: Memory) -> Pending:
    """What the next commit on the branch that is checked out has to bring along.

    Only events that this clone recorded under the branch's own key count; others arrive with
    the commits that they belong to.
    """
    branch, head = memory.position()
    key = keys.lookup(memory.repo, branch, memory.refs()).value
    held = {id for ids in memory.held(head).values() for id in ids}
    found = Pending(key, held)
    ref = keys.ref(keys.SHARED, key, memory.repo.clone)
    tip = memory.refs().get(ref)
    if branch is None or tip is None:
        return found
    own = _own_items(memory, key, ref, tip)
    missing = {id: blob for id, blob in own["items"].items() if id not in held}
    if missing and _is_shallow(memory):
        missing = _without_anchor(memory, ref, tip, missing)
    if missing or own["plans"]:
        standing = live.standing(memory)
        loaded = {event.id: event for event in memory.read(set(missing.values()))}
        found.events = [loaded[id] for id in missing if id in loaded and not standing.dead(id)]
        found.plan = standing.plan if own["plans"] else None
    return found


def _own_items(memory: Memory, key: str, ref: str, tip: str) -> dict[str, Any]:
    """Ids of what ought to be items under our own ref, each with its segment; kept and brought forward."""
    path = memory.path("cache", f"own-{key}.json")
    kept: dict[str, Any] = read_json(path)
    stamp = f"{ref} {memory.config.projections_min_confidence}"
    if kept.get("stamp") == stamp and kept["tip"] == tip:
        return kept
    added = align.added_blobs(memory.repo, {ref: (kept["tip"], tip)}) if kept.get("stamp") == stamp else None
    if added is None:
        kept = {"stamp": stamp, "items": {}, "plans": False}
        added = {ref: list(memory.backend.tree(tip).values())}
    for blob, data in memory.backend.blobs(added[ref]):
        for event in codec.decode_segment(data)[0]:
            if is_item(event, memory.config):
                kept["items"][event.id] = blob
            kept["plans"] = kept["plans"] or (event.type in _PLANS and not event.private)
    kept["tip"] = tip
    keep_json(path, kept)
    return kept


def _is_shallow(memory: Memory) -> bool:
    return os.path.isfile(os.path.join(memory.repo.common_dir, "shallow"))


def _without_anchor(memory: Memory, ref: str, tip: str, missing: dict[str, str]) -> dict[str, str]:
    """Where history is cut off nobody can tell what older commits held: only what no commit is tied to counts."""
    tied = max(align.anchors(memory.repo, {ref: tip})[ref], key=lambda anchor: anchor.depth, default=None)
    old = set(memory.backend.tree(tied.upto).values()) if tied else set()
    return {id: blob for id, blob in missing.items() if blob not in old}
