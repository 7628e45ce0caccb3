"""The index of a clone: made from segments, shared by all branches, mended by itself, never needed.

The folder holds parts (see `engine.py`), which are never changed once they are whole, and a state (see
`state.py`), which names the parts that count and the segments that they cover. A reader sees the
state as of one moment. A writer makes a new part and then replaces the state in one step, so it may
be killed anywhere. Whatever is found to be wrong, the index is made anew.
"""

from __future__ import annotations

import errno
import os
import weakref
from itertools import chain

from cortex_git.errors import CortexError
from cortex_git.events import codec, model
from cortex_git.search import engine, record, state
from cortex_git.search.answer import MISS, WEAK, Answer
from cortex_git.search.batch import Batch, LoadError
from cortex_git.search.fields import Filter
from cortex_git.search.lookup import look_up
from cortex_git.search.query import parse
from cortex_git.search.view import Sight, View
from cortex_git.store.locking import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from cortex_git.events.model import Event
    from cortex_git.search.batch import Load, Progress
    from cortex_git.search.state import Entry, State
    from cortex_git.search.view import Admission

    T = TypeVar("T")

PATIENCE = 1.0
"""How long to wait for another process that updates the index, in seconds."""
_ABSORB = 4
_TRIES = 4
_HOPELESS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


class Index:
    """The index in a folder. No method raises anything because of the state that the index is in.

    `notices` are sentences about the last update that the user should see.
    """

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        self.notices: list[str] = []
        self._state = state.State()
        self._stamp: tuple[int, ...] | None = None
        self._parts: dict[str, engine.Part] = {}
        self._source: tuple[dict[str, None], Load] | None = None
        self._fault = ""

    # ---- keeping it up to date

    def update(
        self, segments: Iterable[str], load: Load, *, exact: bool = False, progress: Progress | None = None
    ) -> int:
        """Add the segments that the index lacks, and return how many events that were.

        `load` is given ids of segments and yields each with its events, one that cannot be read not at all;
        what it raises comes through. `exact`: the index must cover nothing else, so that what was purged
        leaves it. `progress` is called with how many of how many segments are done.
        """
        wanted = dict.fromkeys(segments)
        self._source = (wanted, load)
        self.notices = []
        if not self._lacks(self._current(), wanted, exact):
            return 0
        return self._write(lambda: self._add(self._current(), wanted, load, exact, progress))

    def rebuild(self, segments: Iterable[str], load: Load, *, progress: Progress | None = None) -> int:
        """Make the index anew from these segments, whatever it holds, and return the number of events."""
        wanted = dict.fromkeys(segments)
        self._source = (wanted, load)
        self.notices = []
        return self._write(lambda: self._extend(state.State(), wanted, load, progress))

    def covered(self) -> set[str]:
        """The ids of the segments that the index has."""
        return set(self._current().segments)

    def close(self) -> None:
        """Give the files free."""
        while self._parts:
            self._parts.popitem()[1].close()
        self._stamp = None

    def _lacks(self, now: State, wanted: Mapping[str, None], exact: bool) -> bool:
        return bool(wanted.keys() - now.segments.keys()) or (exact and bool(now.segments.keys() - wanted.keys()))

    def _write(self, work: Callable[[], int]) -> int:
        """Change the index, here if that can be done, else in a temporary folder. Raises only what `load` does."""
        try:
            return self._locked(work)
        except LoadError as error:
            raise error.__cause__ or error from None
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _HOPELESS and self._current().entries:
                self.notices.append(f"the index cannot be updated ({error.strerror}); this searched what was there")
                return 0
            return self._elsewhere(work, error)

    def _locked(self, work: Callable[[], int]) -> int:
        state.claim(self.folder)
        with Lock(os.path.join(self.folder, "lock")) as lock:
            if lock.acquire(PATIENCE):
                return work()
        self.notices.append("another process is updating the index; this searched what was there")
        return 0

    def _add(self, now: State, wanted: Mapping[str, None], load: Load, exact: bool, progress: Progress | None) -> int:
        """Add what is missing, to an index without parts if those that are there cannot be read."""
        if exact and now.segments.keys() - wanted.keys():
            now = state.State()
        try:
            return self._extend(now, wanted, load, progress)
        except LoadError:
            raise
        except Exception as error:
            if not now.entries or (isinstance(error, OSError) and error.errno in _HOPELESS):
                raise
            self.close()
            return self._extend(state.State(), wanted, load, progress)

    def _extend(self, now: State, wanted: Mapping[str, None], load: Load, progress: Progress | None) -> int:
        lacking = [segment for segment in wanted if segment not in now.segments]
        batch = Batch(lacking, load, progress, [self._part(entry) for entry in now.entries])
        kept = list(now.entries)

        def absorbed() -> Iterator[engine.Part]:
            """The newest parts, as long as they are not much larger than what is new."""
            while kept and kept[-1].docs <= _ABSORB * batch.docs:
                entry = kept.pop()
                batch.count(entry)
                yield self._part(entry)

        records = batch.records()
        if first := next(records, None):
            name = f"part-{os.urandom(4).hex()}"
            path = os.path.join(self.folder, name)
            engine.write(path, record.SCOPES, chain([first], records), absorbed)
            kept.append(state.Entry(name, batch.docs, batch.sizes, state.files_of(path)))
        if batch.done or now is not self._state:
            state.write(self.folder, state.State(kept, [*now.segments, *batch.done]))
        return batch.added

    def _elsewhere(self, work: Callable[[], int], error: Exception) -> int:
        """Make an index for as long as this object lives, where the folder cannot be used."""
        import shutil
        import tempfile

        self.close()
        why = "cannot be kept from others" if isinstance(error, state.NotOursError) else f"cannot be written ({error})"
        self.notices.append(f"the index in {self.folder} {why}; a temporary one is used, which takes longer")
        try:
            self.folder = tempfile.mkdtemp(prefix="cortex-index-")
            weakref.finalize(self, shutil.rmtree, self.folder, True)
            return self._locked(work)
        except LoadError as fault:
            raise fault.__cause__ or fault from None
        except Exception as fault:
            self.notices.append(f"no index can be made ({fault}), so nothing is found")
            return 0

    # ---- reading

    def search(
        self,
        text: str,
        *,
        limit: int = 10,
        segments: Mapping[str, Admission | None] | None = None,
        allowed: Callable[[str], bool] | Collection[str] | None = None,
        hidden: Collection[str] = (),
        scopes: Sequence[str] = (),
        now: str = "",
        **conditions: str | Sequence[str],
    ) -> Answer:
        """What the index answers to a query (see `query.py`), at most `limit` hits.

        `segments`, `allowed` and `hidden` say what may be seen (see `view.Sight`). `scopes` are those of
        `record.SCOPES` to search in; by default those of the types asked for, else what was said and decided.
        `now` (RFC 3339) is what spans of time count from. `conditions` are further conditions by field name
        (see `fields.FIELDS`), each an argument or several of which one must match; empty ones are ignored.
        Raises UsageError if one of them makes no sense.
        """
        filters = [
            Filter(name, [given] if isinstance(given, str) else list(given), now)
            for name, given in conditions.items()
            if given
        ]
        query = parse(text, now, filters)
        sight = Sight(segments, allowed, hidden, scopes or _scopes(query.filters))
        found = self._tried(lambda parts, known: look_up(parts, query, sight, known.size(sight.scopes), limit))
        return self._finished(found, segments)

    def events(self, types: Collection[str], segments: Mapping[str, Admission | None] | None = None) -> list[Event]:
        """The visible events of some types, such as changes of state, without a look into git, in no order."""

        def collect(parts: Sequence[engine.Part], known: State) -> list[Event]:
            view = View(parts, Sight(segments), [Filter("type", list(types))])
            found: dict[str, Event] = {}
            for number, documents in enumerate(view.required()):
                for document in documents:
                    key = parts[number].key(document)
                    if view.admits(number, document, key) and view.agrees(number, document, key):
                        event = record.event_in(parts[number].line(document))
                        found[event.id] = codec.better(found.setdefault(event.id, event), event)
            return list(found.values())

        return self._tried(collect) or []

    def _tried(self, work: Callable[[Sequence[engine.Part], State], T]) -> T | None:
        """The result of work on the opened parts. If it fails the index is made anew; None if that does not help."""
        failed: tuple[int, ...] | None = None
        for _ in range(_TRIES):
            try:
                now = self._current()
                return work([self._part(entry) for entry in now.entries], now)
            except CortexError:
                raise
            except Exception as error:  # a part went away while another process wrote, or is damaged
                self._fault = str(error) or type(error).__name__
                stamp = self._stamp
                self.close()
                if stamp == failed:
                    self._heal(stamp)
                failed = stamp
        return None

    def _heal(self, stamp: tuple[int, ...] | None) -> None:
        """Make the index anew from what the last update was given, unless another process has done so."""
        if self._source is None:
            return
        wanted, load = self._source

        def work() -> int:
            return 0 if state.stamp(self.folder) != stamp else self._extend(state.State(), wanted, load, None)

        self._write(work)

    def _current(self) -> State:
        """The state as it is now; parts that it does not name are closed."""
        stamp = state.stamp(self.folder)
        if stamp != self._stamp or not state.is_intact(self.folder, self._state):
            self._state, self._stamp = state.read(self.folder), stamp
            while not self._state.entries and (stamp := state.stamp(self.folder)) != self._stamp:
                self._state, self._stamp = state.read(self.folder), stamp  # another process replaced it meanwhile
            named = {entry.name for entry in self._state.entries}
            for name in [name for name in self._parts if name not in named]:
                self._parts.pop(name).close()
        return self._state

    def _part(self, entry: Entry) -> engine.Part:
        if entry.name not in self._parts:
            self._parts[entry.name] = engine.Part(os.path.join(self.folder, entry.name))
        return self._parts[entry.name]

    def _finished(self, found: Answer | None, segments: Collection[str] | None) -> Answer:
        """The answer with what must be known about it: there is no MISS unless all that is visible was searched."""
        if found is None:
            return Answer([], WEAK, notices=[f"the index cannot be read ({self._fault}), so nothing is found"])
        wanted = segments if segments is not None else self._source[0] if self._source else ()
        lacking = sum(segment not in self._state.segments for segment in wanted)
        found.notices = [*self.notices, *found.notices]
        if lacking:
            found.notices.append(f"{lacking} of {len(wanted)} segments of the memory are not in the index")
            found.verdict = WEAK if found.verdict == MISS else found.verdict
        return found


def _scopes(filters: Iterable[Filter]) -> Sequence[str]:
    """Where events of the types that are asked for are; by default, what was said and decided."""
    asked = [condition for condition in filters if condition.field.name == "type" and not condition.negated]
    scopes = {record.scope_of(type) for type in model.TYPES if any(condition.matches(type) for condition in asked)}
    return sorted(scopes) or (record.MEMORY,)
