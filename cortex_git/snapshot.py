"""The snapshot: the essence of what one position of HEAD sees, carried from position to position by differences.

A commit, a switch, a merge or a flush of events changes little of what is seen; reading just
that keeps the cost of a hook independent of the size of the store. There is one snapshot for
the repository; if it is missing or cannot be carried on, it is made anew from the refs.
"""

from __future__ import annotations

import os

from cortex_git.events import codec, model
from cortex_git.memory import crosses, is_deletion
from cortex_git.projections.items import FOLDER, PLANS, events_of, planned
from cortex_git.store import keys
from cortex_git.store.align import Reached, Visible
from cortex_git.store.locking import keep_json, read_json
from cortex_git.store.process import GitError
from cortex_git.views.essence import KEPT, Essence, Incomplete
from cortex_git.views.standing import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cortex_git.events.model import Event
    from cortex_git.memory import Memory
    from cortex_git.store.held import Change
    from cortex_git.views.standing import Standing

VERSION = 7
_LITTLE = 50
"""How many files are opened to see whether they say anything new."""
_PLAN_TYPES = frozenset({model.PLAN, model.STEP})
_COMMON_TYPES = frozenset(KEPT) - _PLAN_TYPES


def standing(memory: Memory) -> Standing:
    """Where things stand on the branch that is checked out, at a cost that does not grow with the store."""
    return View(memory).standing()


def lagging(memory: Memory, ref: str) -> dict[str, tuple[str, str]]:
    """The decisions whose files at HEAD do not say how they stand, with what they ought to say.

    As long as neither HEAD nor `ref`, the one that this branch is written to, has moved since the
    snapshot was brought here, one small file tells.
    """
    kept = read_json(_lagging_path(memory))
    states = kept["states"] if kept.get("at") == _mark(memory, ref) else View(memory).lagging()
    return {id: (status, successor) for id, (status, successor) in states.items()}


class View:
    """What the branch that is checked out sees. Standing still, or following a plain commit, reads next to nothing.

    `serial` tells two views apart that differ in what is seen.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._branch, self._head = memory.position()
        self._seen = memory.alignment(self._branch, self._head)
        self._common = _Snapshot(memory, "common", _COMMON_TYPES)
        self._common.carry(self._head, self._seen)
        key = memory.key(self._branch)
        self._keep_lagging(keys.ref(keys.SHARED, key, memory.repo.clone))
        self._plan = _Snapshot(memory, f"plan-{keys.shelf(key)}", _PLAN_TYPES)
        self._plan.carry(None, Visible(self._seen.own, None))
        if self._common.forgotten:
            self._common.remember(self._plan.visible())
        self._plan_files = self._find_plan_files()
        self.due = min(filter(None, (self._common.due, self._plan.due)), default="")
        """When an event comes into view by itself, that was set aside since it is dated in the future."""
        self.serial = " ".join([self._common.serial, self._plan.serial, *sorted(self._plan_files.values())])

    def standing(self) -> Standing:
        """Where things stand."""
        events = [*self._common.visible(), *self._plan.visible()]
        files = self._memory.contents(self._plan_files)
        if files:
            events += self._memory.admitted(planned(files, self._branch, self._memory.namesakes(self._branch)))
        found = fold(events)
        if self._branch == self._memory.repo.default_branch():
            # What stands on the branch that others build on has been accepted by being merged there.
            found.accepted |= self._common.committed()
        return found

    def lagging(self) -> dict[str, Any]:
        """The decisions whose files do not say how they stand, with what they ought to say."""
        return self._common.lagging

    def _keep_lagging(self, ref: str) -> None:
        kept = {"at": _mark(self._memory, ref), "states": self._common.lagging}
        path = _lagging_path(self._memory)
        if read_json(path) != kept:
            keep_json(path, kept)

    def _find_plan_files(self) -> dict[str, str]:
        """Plans that commits have brought: somebody else's, for this branch, may be among them."""
        root = self._memory.repo.work_tree
        if self._head is None or root is None or not os.path.isdir(os.path.join(root, PLANS)):
            return {}
        return self._memory.backend.tree(self._head, PLANS)


class _Snapshot:
    """The essence of some types of events at one position.

    In two files under our folder: a small one for the position, and one for the essence, which
    is read only when it changes or is asked for. `serial` names the state of both.
    """

    def __init__(self, memory: Memory, name: str, types: frozenset[str]) -> None:
        self._memory = memory
        self._position_path = memory.path("view", name + ".position.json")
        self._essence_path = memory.path("view", name + ".json")
        self._types = types
        self._essence: Essence | None = None
        self._head: str | None = None
        self._seen = Visible({}, None)
        self._reached_path = memory.path("view", name + ".reached")
        self._hidden: set[str] = set()
        self._has_deletions = False
        self._settles = model.DECISION in types
        self._settled: list[Event] = []
        self._is_disputed = self._is_plain = False
        self.lagging: dict[str, Any] = {}
        self.forgotten = ""
        self.due = ""
        """When the first of the events comes into view that were set aside since they are dated in the future."""
        self.serial = ""

    def visible(self) -> list[Event]:
        """The events that count: without those whose file was deleted, and without deletions that were undone."""
        try:
            self._loaded()
        except Incomplete:  # another process was faster, and what we counted on is not there any more
            self._restart(self._head, self._seen)
        return [*self._counting(), *self._settled]

    def _counting(self) -> list[Event]:
        return [event for id, event in self._loaded().events.items() if id not in self._hidden]

    def remember(self, events: Iterable[Event]) -> None:
        """Have at hand what was said of the state of events that are kept elsewhere, however old it is."""
        old = {event.id for event in events if event.time <= self.forgotten}
        self.visible()
        outside = self._loaded().outside
        if not old <= outside:
            self._make_anew(self._head, self._seen, outside | old)

    def committed(self) -> set[str]:
        """The ids of the events that stand in files of the commit."""
        return self._loaded().found_under(FOLDER)

    def carry(self, head: str | None, seen: Visible) -> None:
        """Bring what is kept to a position: items of the commit `head`, if any, and refs as far as they are seen."""
        if not self._take(read_json(self._position_path)):
            self._restart(head, seen)
        elif (self._head, self._place(self._seen)) != (head, self._place(seen)):
            try:
                changed = self._step(head, seen)
            except (GitError, Incomplete):  # the commit that was seen last may be gone from the repository
                self._restart(head, seen)
            else:
                self._save(head, seen, changed)

    def _restart(self, head: str | None, seen: Visible) -> None:
        """Go on from the essence that is kept, whatever its position, or if that is not possible from nothing."""
        kept = read_json(self._essence_path)
        try:
            if not self._take(kept):
                raise Incomplete("nothing is kept")
            self._essence = Essence.from_json(kept)
            self._step(head, seen)
        except (GitError, Incomplete, KeyError, TypeError, ValueError):
            self._make_anew(head, seen, self._essence.outside if self._essence else ())
        else:
            self._save(head, seen, True)

    def _make_anew(self, head: str | None, seen: Visible, outside: Iterable[str]) -> None:
        self._essence, self._head, self._seen, self._hidden = Essence(), None, Visible({}, None), set()
        self._settled, self.lagging, self._is_disputed, self.due = [], {}, False, ""
        self._is_plain = False
        self._essence.outside.update(outside)
        self._step(head, seen)
        self._save(head, seen, True)

    @staticmethod
    def _place(seen: Visible) -> tuple[dict[str, str], str]:
        """What tells apart two positions of the refs."""
        return seen.own, seen.reached.serial if seen.reached else ""

    def _step(self, head: str | None, seen: Visible) -> bool:
        """Go to a position; returns whether what is seen changed on the way."""
        is_near = self._place(self._seen)[1] == self._place(seen)[1]
        # Of other branches the same is seen as before, most of the time: then they are not even loaded.
        before, tips = (self._seen.own, seen.own) if is_near else (self._seen.tips, seen.tips)
        lost = set(before) - set(tips)
        came = {ref: tip for ref, tip in tips.items() if ref not in before}
        moved = {ref: (before[ref], tip) for ref, tip in tips.items() if before.get(ref, tip) != tip}
        between = {ref: pair for ref, pair in self._memory.segments_between(moved).items() if any(pair)}
        change = self._memory.changes(self._head, head)
        still = not (change.gone or change.present or change.unsettled)
        if still and not (lost or came or between):
            if not self._is_disputed:
                return False
            self._settle(head)
            return True
        essence = self._loaded()
        for ref in lost:
            essence.drop(ref)
        for ref, (_, removed) in between.items():
            if removed:
                essence.drop(ref, removed)
        new = [(ref, blob) for ref, (added, _) in between.items() for blob in added]
        new += ((ref, blob) for ref, blobs in self._memory.segments(came).items() for blob in blobs)
        self._memory.fetch([*(blob for _, blob in new), *change.present.values()])
        self._read(new)
        self._step_items(change)
        essence.settle()
        self._has_deletions = any(map(is_deletion, essence.events.values()))
        if change.unsettled or self._hidden or self._has_deletions:
            self._hidden = self._overruled(head)
        self.forgotten = essence.forgotten
        if self._is_to_settle(change):
            self._settle(head)
        return True

    def _is_to_settle(self, change: Change) -> bool:
        """Whether files may say something else than the events do: not while all stand as at their birth, in both."""
        said = any(event.type in model.STATE_CHANGES for event in self._loaded().events.values())
        if said or self._settled or self.lagging or self._is_disputed:
            return True
        has_changed = bool(change.present or change.gone)
        is_little = len(change.present) < _LITTLE  # of much else it is known already what it says
        return has_changed and not (self._is_plain and is_little and self._memory.are_plain(change.present))

    def _settle(self, head: str | None) -> None:
        """See what item files say of how decisions stand."""
        if self._settles:
            found = self._memory.settled(self._counting(), head, self._memory.items(head))
            self._settled, self.lagging, self._is_disputed = found.events, found.lagging, bool(found.disputed)
            self._is_plain = found.is_plain

    def _read(self, places: list[tuple[str, str]]) -> None:
        """Take in the events of segments, given where each was found: ref and blob."""
        refs: dict[str, list[str]] = {}
        for ref, blob in places:
            refs.setdefault(blob, []).append(ref)
        for blob, data in self._memory.blobs(refs):
            events = self._memory.admitted(codec.decode_segment(data, self._types)[0])
            for ref in refs[blob]:
                self._loaded().add(events, (ref, blob))

    def _step_items(self, change: Change) -> None:
        """Follow the item files from one commit to another."""
        essence = self._loaded()
        for path in [*change.gone, *change.present]:
            essence.drop(path)
        for path, data in self._memory.contents(change.present).items():
            events = [event for event in self._memory.admitted(events_of({path: data})) if crosses(event)]
            essence.add(events, (path, change.present[path]))

    def _overruled(self, head: str | None) -> set[str]:
        """Ids that do not count at this commit: of deleted items, and of deletions whose file is there again."""
        if not self._has_deletions and not self._memory.has_removed(head):
            return set()
        files = self._memory.items(head)
        there = {id for path, ids in self._memory.held(head).items() if path in files for id in ids}
        undone = {e.id for e in self._loaded().events.values() if is_deletion(e) and e.target in there}
        return self._memory.gone(head, files) | undone

    def _loaded(self) -> Essence:
        """The essence that is kept. Raises Incomplete if it is not the one that the position was written for."""
        if self._essence is None:
            kept = read_json(self._essence_path)
            try:
                if kept["serial"] != self.serial:
                    raise Incomplete("the two files do not belong together")
                self._essence = Essence.from_json(kept)
            except (KeyError, TypeError, ValueError) as error:
                raise Incomplete("what is kept is damaged") from error
        return self._essence

    def _take(self, kept: dict[str, Any]) -> bool:
        """Stand where a file says; returns whether it says so."""
        if kept.get("version") != VERSION or kept["purged"] != self._memory.purged().stamp:
            return False
        if kept["due"] and kept["due"] <= self._memory.horizon():
            return False
        self.due = kept["due"]
        reached = Reached(self._reached_path, kept["reached"], _lost) if kept["reached"] else None
        self._head, self._seen, self._hidden = kept["head"], Visible(kept["own"], reached), set(kept["hidden"])
        self._has_deletions, self.serial = kept["deletions"], kept["serial"]
        self._settled = [event for fields in kept["settled"] if (event := codec.from_dict(fields))]
        self._is_disputed, self.lagging, self.forgotten = kept["disputed"], kept["lagging"], kept["forgotten"]
        self._is_plain = kept["plain"]
        return True

    def _save(self, head: str | None, seen: Visible, changed: bool) -> None:
        """Keep the position, and the essence first if it changed."""
        self.due = min([time for time in (self.due, *self._memory.ahead.values()) if time], default="")
        self._head, self._seen = head, Visible(dict(seen.own), seen.reached)
        if changed:
            self.serial = os.urandom(8).hex()
        position = {
            "version": VERSION,
            "head": self._head,
            "own": self._seen.own,
            "reached": self._place(seen)[1],
            "hidden": sorted(self._hidden),
            "deletions": self._has_deletions,
            "settled": [codec.to_dict(event) for event in self._settled],
            "disputed": self._is_disputed,
            "plain": self._is_plain,
            "lagging": self.lagging,
            "forgotten": self.forgotten,
            "purged": self._memory.purged().stamp,
            "due": self.due,
            "serial": self.serial,
        }
        if seen.reached:
            seen.reached.keep(self._reached_path)
        if changed:
            keep_json(self._essence_path, position | self._loaded().to_json())
        keep_json(self._position_path, position)


def _lost() -> dict[str, str]:
    raise Incomplete("how far refs were seen is not known any more")


def _lagging_path(memory: Memory) -> str:
    return memory.path("view", "lagging.json")


def _mark(memory: Memory, ref: str) -> str:
    return f"{VERSION} {memory.repo.head()} {ref} {memory.tip(ref)}"
