"""Segments on their way into the index."""

from __future__ import annotations

from cortex_git.events import codec
from cortex_git.search import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cortex_git.events.model import Event
    from cortex_git.search.engine import Part, Record
    from cortex_git.search.state import Entry

    Load = Callable[[Iterable[str]], Iterable[tuple[str, list[Event]]]]
    Progress = Callable[[int, int], None]


class LoadError(Exception):
    """What the caller's `load` raised, which is no fault of the index; the cause is that exception."""


class Batch:
    """The records of segments that an index with certain parts lacks, and what is counted while they are made."""

    def __init__(self, segments: Sequence[str], load: Load, progress: Progress | None, parts: Sequence[Part]) -> None:
        self._segments = segments
        self._load = load
        self._progress = progress
        self._parts = parts
        self._lines: dict[str, list[int]] = {}
        self.done: list[str] = []
        """The segments that were read."""
        self.added = 0
        """How many events were in them that the index did not have."""
        self.docs = 0
        self.sizes: dict[str, list[int]] = {scope: [0, 0] for scope in record.SCOPES}

    def records(self) -> Iterator[Record]:
        """The documents to add. Raises LoadError."""
        for segment, events in self._loaded():
            for event in events:
                if codec.is_id(event.id):
                    yield self._record(event, segment)
            self.done.append(segment)
            if self._progress:
                self._progress(len(self.done), len(self._segments))

    def count(self, entry: Entry) -> None:
        """Count in a part that is absorbed."""
        self.docs += entry.docs
        for scope, (events, terms) in entry.sizes.items():
            sizes = self.sizes.setdefault(scope, [0, 0])
            sizes[0] += events
            sizes[1] += terms

    def _loaded(self) -> Iterator[tuple[str, list[Event]]]:
        pending = set(self._segments)
        try:
            for segment, events in self._load(list(self._segments)):
                if segment in pending:
                    pending.remove(segment)
                    yield segment, list(events)
        except Exception as error:
            raise LoadError from error

    def _record(self, event: Event, segment: str) -> Record:
        """A document of its own, or, if the index has this very event, one that says that it is here too."""
        line = codec.encode(event)
        self.docs += 1
        if self._is_known(event.id, line):
            return record.copy(event, segment)
        made = record.document(event, line, segment)
        if length := record.length_in(made.key):
            sizes = self.sizes[made.scope]
            sizes[0] += 1
            sizes[1] += length
        self.added += 1
        return made

    def _is_known(self, id: str, line: str) -> bool:
        lines = self._lines.setdefault(id, [])
        fingerprint = hash(line)
        if fingerprint in lines:
            return True
        lines.append(fingerprint)
        facet = "id:" + id
        return any(
            part.line(document) == line for part in self._parts if part.has(facet) for document in part.having(facet)
        )
