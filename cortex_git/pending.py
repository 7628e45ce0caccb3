"""What a commit on this branch has to bring along: events that ought to be items and that no commit ever held."""

from __future__ import annotations

from cortex_git.events import codec, model
from cortex_git.projections.document import LEARNED, PLANS, ids_of, plan_key
from cortex_git.store import align, history, keys
from cortex_git.store.held import is_at_hand
from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cortex_git.config import Config
    from cortex_git.events.model import Event
    from cortex_git.memory import Memory
    from cortex_git.views.settled import State
    from cortex_git.views.standing import Plan, Standing

_ITEMS = frozenset({model.DECISION, model.REJECTED, model.KNOWLEDGE, model.RESOLVED})
_VERSION = 2
_PLANS = frozenset({model.PLAN, model.STEP})


class Pending:
    """`events` become items, `plan` is the branch's plan, and `key` says which file of it is this clone's.

    `had_plan`: this clone has said something about a plan of the branch; `has_part`: about this one.

    `states` says of ids, of `events` and of items that are there already, how their files ought to
    say they stand where that is not what they say, or were born with.
    """

    __slots__ = ("events", "had_plan", "has_part", "key", "plan", "states")

    def __init__(self, key: str) -> None:
        self.key = key
        self.events: list[Event] = []
        self.plan: Plan | None = None
        self.had_plan = False
        self.has_part = False
        self.states: dict[str, State] = {}


def is_item(event: Event, config: Config) -> bool:
    """Whether an event is written into the work tree at all."""
    return event.type in _ITEMS and not event.private and event.confidence >= config.projections_min_confidence


def pending(memory: Memory) -> Pending:
    """What the next commit on the branch that is checked out has to bring along.

    Only events that this clone recorded under the branch's own key count; others arrive with
    the commits that they belong to. What some commit in the branch's past has held is not
    written again: if it is gone, somebody took it out.
    """
    branch, head = memory.position()
    key = memory.key(branch)
    found = Pending(plan_key(key, memory.repo.clone))
    ref = keys.ref(keys.SHARED, key, memory.repo.clone)
    tip = memory.tip(ref)
    if not history.replaying(memory.repo):
        # The commits that are replayed bring their own changes of files; another one here could only meet them.
        from cortex_git.snapshot import lagging

        found.states = lagging(memory, ref)
    if branch is None or tip is None:
        return found
    kept = _kept(memory, key, ref, tip, head)
    missing: dict[str, str] = kept["open"]
    if missing and memory.repo.is_cut_off:
        missing = _without_anchor(memory, ref, tip, missing)
    if missing or kept["plans"]:
        from cortex_git.snapshot import standing as standing_of

        standing = standing_of(memory)
        loaded = {event.id: event for event in memory.read(set(missing.values()))}
        found.events = [loaded[id] for id in missing if id in loaded and not standing.dead(id)]
        found.states |= _born_otherwise(found.events, standing)
        found.had_plan = bool(kept["plans"])
        found.plan = standing.plan if kept["plans"] else None
        if found.plan:
            said = {found.plan.event.id, *(tick.id for tick in found.plan.ticks)}
            found.has_part = not said.isdisjoint(kept["plans"])
    return found


def _born_otherwise(events: list[Event], standing: Standing) -> dict[str, State]:
    """The state of those events that were accepted before a commit ever held them."""
    accepted = (event for event in events if event.id in standing.accepted)
    return {event.id: ("accepted", "") for event in accepted if standing.status(event) == "accepted"}


def buried(memory: Memory) -> dict[str, set[str]]:
    """The item files at HEAD with something in them that was purged, and its ids: the next commit takes it out."""
    ids = memory.purged().ids
    _, head = memory.position()
    if not ids or head is None:
        return {}
    from cortex_git.projections.items import events_of

    files, ever = memory.items(head), memory.held(head)
    found = {path: ids.intersection(ever.get(path, ())) for path in files}
    plans = {path: blob for path, blob in files.items() if path.startswith(PLANS)}
    for path, data in memory.contents(plans).items():
        found[path] = ids.intersection(event.id for event in events_of({path: data}))
    return {path: set(gone) for path, gone in found.items() if gone}


def settle(memory: Memory) -> None:
    """Note what the commit that was just made has brought, while that is at hand, so that the next finds it done."""
    branch, head = memory.position()
    key = memory.key(branch)
    ref = keys.ref(keys.SHARED, key, memory.repo.clone)
    tip = memory.tip(ref)
    if branch is not None and tip is not None:
        _kept(memory, key, ref, tip, head)
    if head:
        memory.advance(head)


def follow(memory: Memory) -> None:
    """Note what was just stored, if that costs no look at history."""
    branch, head = memory.position()
    key = memory.key(branch)
    ref = keys.ref(keys.SHARED, key, memory.repo.clone)
    tip = memory.tip(ref)
    if branch is not None and tip is not None and is_at_hand(memory.repo, head):
        kept = read_json(_path(memory, key))
        if (kept.get("stamp"), kept.get("head")) == (_stamp(memory, ref), head):
            _kept(memory, key, ref, tip, head)


def _path(memory: Memory, key: str) -> str:
    return memory.path("cache", f"own-{key}.json")


def _stamp(memory: Memory, ref: str) -> str:
    return f"{_VERSION} {ref} {memory.config.projections_min_confidence}"


def _kept(memory: Memory, key: str, ref: str, tip: str, head: str | None) -> dict[str, Any]:
    """Ids of our own events that no commit has held yet, each with its segment; kept, and brought forward.

    `plans` are the ids of our own events about plans of the branch.
    """
    path = _path(memory, key)
    kept: dict[str, Any] = read_json(path)
    stamp = _stamp(memory, ref)
    if (kept.get("stamp"), kept.get("tip"), kept.get("head")) == (stamp, tip, head):
        return kept
    past = kept if kept.get("stamp") == stamp and memory.is_forward(kept["head"], head) else None
    change = memory.changes(past["head"], head) if past else None
    if past and change and not change.unsettled:
        segments = memory.segments_between({ref: (past["tip"], tip)})[ref][0] if past["tip"] != tip else []
        landed = _ids_in(memory, change.present) if past["open"] else set()
        still = {id: blob for id, blob in past["open"].items() if not {id, id[:7]} & landed}
        kept = {"open": still, "plans": list(past["plans"])}
    else:
        # HEAD went elsewhere: what was held before may not be now, so that all of our events are looked at.
        segments = list(memory.backend.tree(tip).values())
        kept = {"open": {}, "plans": []}
    found = _items_in(memory, segments, kept)
    ever = {id for ids in memory.held(head).values() for id in ids} if found else set()
    kept["open"].update((id, blob) for id, blob in found.items() if id not in ever)
    kept |= {"stamp": stamp, "tip": tip, "head": head}
    keep_json(path, kept)
    return kept


def _ids_in(memory: Memory, files: dict[str, str]) -> set[str]:
    """The ids in item files, in short where the name tells: only files of facts have to be opened."""
    facts = {path: blob for path, blob in files.items() if path.startswith(LEARNED)}
    return ids_of(files) | {event.id for event in memory.item_events(facts)}


def _items_in(memory: Memory, blobs: list[str], kept: dict[str, Any]) -> dict[str, str]:
    """Id to segment of the events in these segments that ought to be items."""
    found: dict[str, str] = {}
    for blob, data in memory.blobs(blobs):
        for event in codec.decode_segment(data)[0]:
            if is_item(event, memory.config):
                found[event.id] = blob
            if event.type in _PLANS and not event.private:
                kept["plans"].append(event.id)
    return found


def _without_anchor(memory: Memory, ref: str, tip: str, missing: dict[str, str]) -> dict[str, str]:
    """Where history is cut off nobody can tell what older commits held: only what no commit is tied to counts."""
    tied = max(align.anchors(memory.repo, {ref: tip})[ref], key=lambda anchor: anchor.depth, default=None)
    old = set(memory.backend.tree(tied.upto).values()) if tied else set()
    return {id: blob for id, blob in missing.items() if blob not in old}
