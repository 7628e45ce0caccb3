"""The snapshot: the essence of what one position of HEAD sees, carried from position to position by differences.

A commit, a switch, a merge or a flush of events changes little of what is seen; reading just
that keeps the cost of a hook independent of the size of the store. There is one snapshot for
the repository; if it is missing or cannot be carried on, it is made anew from the refs.
"""

from __future__ import annotations

from cortex_git.events import codec, model
from cortex_git.memory import crosses, is_deletion
from cortex_git.projections.items import PLANS, events_of
from cortex_git.store import keys
from cortex_git.store.locking import keep_json, read_json
from cortex_git.views.essence import KEPT, Essence, Incomplete
from cortex_git.views.standing import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from cortex_git.events.model import Event
    from cortex_git.memory import Memory
    from cortex_git.store import align
    from cortex_git.views.standing import Standing

VERSION = 1
_PLAN_TYPES = frozenset({model.PLAN, model.STEP})
_COMMON_TYPES = frozenset(KEPT) - _PLAN_TYPES


def standing(memory: Memory) -> Standing:
    """Where things stand on the branch that is checked out, at a cost that does not grow with the store."""
    branch, head = memory.position()
    seen = memory.alignment(branch, head)
    common = _Snapshot(memory, "common", _COMMON_TYPES)
    common.carry(head, seen.tips)
    own = {ref: tip for ref, tip in seen.tips.items() if ref in seen.own}
    key = keys.lookup(memory.repo, branch, memory.refs()).value
    plan = _Snapshot(memory, f"plan-{key}", _PLAN_TYPES)
    plan.carry(None, own)
    events = [*common.visible(), *plan.visible(), *_loose(memory, seen, head)]
    if head and not plan.essence.events:
        events += _plan_items(memory, head, branch)
    return fold(events)


def _loose(memory: Memory, seen: align.Visible, head: str | None) -> Iterable[Event]:
    for tip in seen.loose.values():
        for event in memory.read(memory.backend.tree(tip).values()):
            if event.commit == head:
                yield event


def _plan_items(memory: Memory, head: str, branch: str | None) -> list[Event]:
    """The plan that somebody else's commits brought for this branch."""
    files = memory.backend.tree(head, PLANS)
    return [event for event in memory.item_events(files) if event.branch == branch]


class _Snapshot:
    """The essence of some types of events at one position, in a file of its own under our folder."""

    def __init__(self, memory: Memory, name: str, types: frozenset[str]) -> None:
        self._memory = memory
        self._path = memory.path("view", name + ".json")
        self._types = types
        self.essence = Essence()
        self._head: str | None = None
        self._tips: dict[str, str] = {}
        self._hidden: set[str] = set()

    def visible(self) -> list[Event]:
        """The events that count: without those whose file was deleted, and without deletions that were undone."""
        return [event for id, event in self.essence.events.items() if id not in self._hidden]

    def carry(self, head: str | None, tips: Mapping[str, str]) -> None:
        """Bring what is kept to a position: items of the commit `head`, if any, and refs up to `tips`."""
        if self._load() and (self._head, self._tips) == (head, tips):
            return
        try:
            self._step(head, tips)
        except (Incomplete, KeyError, TypeError, ValueError):
            self._start(head, tips)
        self._head, self._tips = head, dict(tips)
        keep_json(self._path, self._to_json())

    def _start(self, head: str | None, tips: Mapping[str, str]) -> None:
        self.essence, self._head, self._tips, self._hidden = Essence(), None, {}, set()
        self._step(head, tips)

    def _step(self, head: str | None, tips: Mapping[str, str]) -> None:
        for ref in set(self._tips) - set(tips):
            self.essence.drop(ref)
        moved = {ref: (self._tips[ref], tip) for ref, tip in tips.items() if self._tips.get(ref, tip) != tip}
        for ref, (added, removed) in self._memory.segments_between(moved).items():
            self.essence.drop(ref, removed)
            self._read(ref, added)
        for ref in set(tips) - set(self._tips):
            self._read(ref, self._memory.backend.tree(tips[ref]).values())
        if head != self._head:
            self._step_items(head)
        self.essence.settle()

    def _read(self, ref: str, blobs: Iterable[str]) -> None:
        for blob, data in self._memory.blobs(blobs):
            events, _ = codec.decode_segment(data, self._types)
            self.essence.add(events, (ref, blob))

    def _step_items(self, head: str | None) -> None:
        """Follow the item files from one commit to another; both may be none."""
        change = self._memory.changes(self._head, head)
        for path in [*change.gone, *change.present]:
            self.essence.drop(path)
        contents = self._memory.contents(change.present)
        for path, data in contents.items():
            events = [event for event in events_of({path: data}) if crosses(event)]
            self.essence.add(events, (path, change.present[path]))
        deletions = any(map(is_deletion, self.essence.events.values()))
        if change.gone or change.passing or self._hidden or deletions:
            self._hidden = self._overruled(head)

    def _overruled(self, head: str | None) -> set[str]:
        """Ids that do not count at this commit: of deleted items, and of deletions whose file is there again."""
        files = self._memory.items(head)
        there = {id for path, ids in self._memory.held(head).items() if path in files for id in ids}
        undone = {e.id for e in self.essence.events.values() if is_deletion(e) and e.target in there}
        return self._memory.gone(head, files) | undone

    def _load(self) -> bool:
        kept = read_json(self._path)
        if kept.get("version") != VERSION:
            return False
        try:
            self.essence = Essence.from_json(kept)
            head, tips, hidden = kept["head"], kept["tips"], kept["hidden"]
        except (KeyError, TypeError, ValueError):
            return False
        if not (isinstance(tips, dict) and isinstance(hidden, list)):
            return False
        self._head, self._tips, self._hidden = str(head) if head else None, tips, set(hidden)
        return True

    def _to_json(self) -> dict[str, Any]:
        position = {"version": VERSION, "head": self._head, "tips": self._tips, "hidden": sorted(self._hidden)}
        return position | self.essence.to_json()
