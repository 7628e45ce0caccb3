"""What a search may find: the segments that a branch sees, and the items at its commit, as the index takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from cortex_git.cli.terminal import is_terminal
from cortex_git.events import codec, model
from cortex_git.events.model import Event
from cortex_git.memory import STAYING, Memory, crosses, is_deletion
from cortex_git.projections.items import LEARNED, events_of, item_files
from cortex_git.search.index import Index
from cortex_git.search.view import AllBut
from cortex_git.views.standing import Standing, fold

_LONG = 200
"""How many segments are so many that one wants to see them go by."""

Admission = Callable[[Event], bool]


class Sources:
    """Where the events lie that are visible somewhere.

    `segments` are the blobs that hold them, each with a test that tells which of its events are visible (None: all).
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._items: dict[str, str] = {}
        self.segments: dict[str, Admission | None] = {}
        self.gone: set[str] = set()
        """Ids of items that a commit has deleted."""
        self._at: tuple[str | None, dict[str, str]] = (None, {})
        self.there: set[str] = set()
        """Ids of items that are in the commit: if they were deleted once, that was undone."""

    @classmethod
    def visible(cls, memory: Memory, rev: str | None = None) -> Sources:
        """What a branch sees, by default the one checked out. Raises CortexError if there is no such branch."""
        found = cls(memory)
        branch, head = memory.position(rev)
        seen = memory.alignment(branch, head)
        found._add((tip for ref, tip in seen.tips.items() if ref in seen.own), None)
        found._add((tip for ref, tip in seen.tips.items() if ref not in seen.own), AllBut(*STAYING))
        found._add_items(head, lambda event: crosses(event) or event.branch == branch)
        return found

    @classmethod
    def everywhere(cls, memory: Memory) -> Sources:
        """What all branches of all clones see."""
        found = cls(memory)
        found._add(memory.refs().values(), None)
        found._add_items(memory.repo.head(), None)
        found.gone, found.there, found._at = set(), set(), (None, {})
        return found

    def settled(self, changes: Iterable[Event]) -> list[Event]:
        """What the item files say of the state of decisions beside these changes of it."""
        head, files = self._at
        return self._memory.settled(changes, head, files).events

    def load(self, segments: Iterable[str]) -> Iterator[tuple[str, list[Event]]]:
        """The events of each segment, as the index asks for them; what cannot be read is left out."""
        wanted = list(segments)
        gone = self._memory.purged().ids
        files = {self._items[blob]: blob for blob in wanted if blob in self._items}
        for path, data in self._memory.contents(files).items():
            yield files[path], [event for event in events_of({path: data}) if event.id not in gone]
        for blob, data in self._memory.backend.blobs(blob for blob in wanted if blob not in self._items):
            yield blob, [event for event in codec.decode_segment(data)[0] if event.id not in gone]

    def facts(self) -> dict[str, Admission | None]:
        """The segments that are files of facts, which say what they correct."""
        return {blob: self.segments[blob] for blob, path in self._items.items() if path.startswith(LEARNED)}

    def admitted(self, events: Iterable[Event]) -> list[Event]:
        """Those of the events in the index that may be shown."""
        return self._memory.admitted(events)

    def _add(self, tips: Iterable[str], test: Admission | None) -> None:
        for blobs in self._memory.backend.segments(tips).values():
            for blob in blobs:
                self.segments.setdefault(blob, test)

    def _add_items(self, head: str | None, test: Admission | None) -> None:
        files = item_files(self._memory.backend, head) if head else {}
        self._items = {blob: path for path, blob in files.items()}
        self._at = (head, files)
        self.segments.update((blob, test) for blob in self._items)
        self.gone = self._memory.gone(head, files)
        ever = self._memory.held(head)
        self.there = {id for path in files for id in ever.get(path, ())}


def open_index(memory: Memory, sources: Sources) -> Index:
    """The index of this clone, with all that the sources hold."""
    index = Index(memory.path("index"))
    watched = is_terminal(memory.env.stderr)
    index.update(sources.segments, sources.load, progress=_Progress(memory.env.stderr) if watched else None)
    return index


class _Progress:
    """Says how far a long update has come, on one line that goes away at the end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._percent = -1

    def __call__(self, done: int, of: int) -> None:
        percent = 100 * done // of
        if of >= _LONG and percent != self._percent:
            self._percent = percent
            self._stream.write(f"\rindexing: {percent} %" if done < of else "\r\x1b[K")
            self._stream.flush()


def changes(index: Index, sources: Sources) -> Standing:
    """What was retracted, superseded and accepted, as far as the sources tell."""
    found = sources.admitted(index.events(model.STATE_CHANGES, sources.segments))
    events = [event for event in found if not (is_deletion(event) and event.target in sources.there)]
    facts = index.events((model.KNOWLEDGE, model.RESOLVED), sources.facts()) if sources.facts() else []
    corrections = [event for event in sources.admitted(facts) if model.CORRECTS in event.source]
    return fold([*events, *corrections, *sources.settled(events)])
