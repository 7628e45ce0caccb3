"""Which documents of the shared index one search may see: visibility, and the conditions of the query."""

from __future__ import annotations

from cortex_git.search import record
from cortex_git.search.analyzer import CJK, words
from cortex_git.search.query import holds, phrase_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from cortex_git.events.model import Event
    from cortex_git.search.engine import Part
    from cortex_git.search.fields import Filter

    Admission = Callable[[Event], bool]


class AllBut:
    """An admission by type: all events of a segment but those of some types. The index can tell without reading."""

    __slots__ = ("types",)

    def __init__(self, *types: str) -> None:
        self.types = frozenset(types)

    def __call__(self, event: Event) -> bool:
        return event.type not in self.types


class Sight:
    """What the caller lets a search see.

    `segments` are the ids of the visible segments, each with a function that says which of its events are
    visible (best an `AllBut`), or None for all of them; None instead of the mapping: every segment. `allowed`
    (a set of ids or a function) and `hidden` are about single events. Only events of the `scopes` are found.
    """

    __slots__ = ("allowed", "hidden", "scopes", "segments")

    def __init__(
        self,
        segments: Mapping[str, Admission | None] | None = None,
        allowed: Callable[[str], bool] | Collection[str] | None = None,
        hidden: Collection[str] = (),
        scopes: Sequence[str] = (record.MEMORY,),
    ) -> None:
        self.segments = segments
        self.allowed = allowed if allowed is None or callable(allowed) else frozenset(allowed).__contains__
        self.hidden = frozenset(bytes.fromhex(id) for id in hidden)
        self.scopes = tuple(scopes)


class View:
    """The documents that a search may find, decided one by one and as late as possible."""

    def __init__(self, parts: Sequence[Part], sight: Sight, filters: Iterable[Filter]) -> None:
        self.parts = parts
        self.scopes = sight.scopes
        self._sight = sight
        self._admissions: dict[bytes, Admission | None] | None = None
        if sight.segments is not None:
            self._admissions = {record.segment_key(id): test for id, test in sight.segments.items()}
        self.asks = any(self._admissions.values()) if self._admissions else False
        """Whether it takes the event itself to tell if it is visible."""
        self._times: list[Filter] = []
        self._must: list[list[set[int]]] = [[] for _ in parts]
        self._must_not: list[set[int]] = [set() for _ in parts]
        self._copies: dict[bytes, list[bytes]] | None = None
        self._typed: dict[tuple[int, frozenset[str]], set[int]] = {}
        narrowed = False
        for condition in filters:
            self._narrow(condition)
            narrowed = True
        self._open = not (narrowed or sight.hidden or sight.allowed or sight.segments is not None)
        """Whether nothing is kept from this search, as far as is known."""

    def admits(self, number: int, document: int, key: bytes) -> bool:
        """Whether a document of the part so numbered may be found, as far as its key and facets say."""
        if self._open:
            return True
        id = record.id_in(key)
        if id in self._sight.hidden or (self._sight.allowed is not None and not self._sight.allowed(id.hex())):
            return False
        if self._admissions is not None and not self._seen(key):
            return False
        if document in self._must_not[number]:
            return False
        for chosen in self._must[number]:
            if document not in chosen:
                return False
        return not self._times or all(time.matches(record.time_in(key)) != time.negated for time in self._times)

    def agrees(self, number: int, document: int, key: bytes) -> bool:
        """Whether the event of an admitted document is visible in one of the segments that hold it."""
        if not self.asks or self._admissions is None:
            return True
        event: Event | None = None
        for segment in self._segments_of(key):
            if segment not in self._admissions:
                continue
            test = self._admissions[segment]
            if test is None:
                return True
            if isinstance(test, AllBut):
                if document not in self._of_types(number, test.types):
                    return True
                continue
            event = event or record.event_in(self.parts[number].line(document))
            if test(event):
                return True
        return False

    def _of_types(self, number: int, types: frozenset[str]) -> set[int]:
        if (number, types) not in self._typed:
            part = self.parts[number]
            self._typed[number, types] = {document for type in types for document in part.having(f"type:{type}")}
        return self._typed[number, types]

    def only(self, chosen: Sequence[set[int]]) -> None:
        """Narrow to these documents, a set for each part."""
        self._open = False
        for must, documents in zip(self._must, chosen, strict=True):
            must.append(documents)

    def required(self) -> list[set[int]]:
        """The documents that everything narrowed down to so far leaves, a set for each part."""
        return [set.intersection(*must) if must else set() for must in self._must]

    def without(self, text: str) -> None:
        """Leave out what says a word in any form, or a phrase."""
        self._open = False
        found = list(words(text))
        needed = [found[0].terms[0]] if len(found) == 1 else phrase_terms(text)
        for number, part in enumerate(self.parts):
            having = self._with_terms(part, needed)
            if len(found) > 1 or (found and found[0].kind == CJK):
                having = {document for document in having if self._says(part, document, text)}
            self._must_not[number] |= having

    def saying(self, phrase: str) -> list[set[int]]:
        """The documents that say a phrase, a set for each part. Found by its terms, else by reading all."""
        needed = phrase_terms(phrase)
        found = [
            {document for document in self._with_terms(part, needed) if self._says(part, document, phrase)}
            for part in self.parts
        ]
        return found if any(found) else self.reading(lambda text: holds(phrase, text))

    def reading(self, wanted: Callable[[str], bool]) -> list[set[int]]:
        """The admitted documents whose text is `wanted`, found by reading each."""
        return [
            {document for document in documents if wanted(text_of(record.event_in(part.line(document))))}
            for part, documents in zip(self.parts, self.everything(), strict=True)
        ]

    def everything(self) -> list[set[int]]:
        """The admitted documents, a set for each part."""
        return [
            {
                document
                for scope in self.scopes
                for document in part.having(record.SCOPE + scope)
                if self.admits(number, document, part.key(document))
            }
            for number, part in enumerate(self.parts)
        ]

    def _with_terms(self, part: Part, terms: Iterable[str]) -> set[int]:
        """The documents of the scopes that hold all of the terms; none if there are no terms."""
        found: set[int] | None = None
        for term in terms:
            holding = {document for scope in self.scopes for document, _ in part.postings(scope, term)}
            found = holding if found is None else found & holding
            if not found:
                return set()
        return found or set()

    def _says(self, part: Part, document: int, phrase: str) -> bool:
        return holds(phrase, text_of(record.event_in(part.line(document))))

    def _narrow(self, condition: Filter) -> None:
        if condition.field.in_key:
            self._times.append(condition)
            return
        prefix = condition.field.name + ":"
        for number, part in enumerate(self.parts):
            wanted = [facet for facet in part.facets(prefix) if condition.matches(facet[len(prefix) :])]
            having = {document for facet in wanted for document in part.having(facet)}
            if condition.negated:
                self._must_not[number] |= having
            else:
                self._must[number].append(having)

    def _seen(self, key: bytes) -> bool:
        admissions = self._admissions or {}
        return record.segment_in(key) in admissions or any(one in admissions for one in self._segments_of(key)[1:])

    def _segments_of(self, key: bytes) -> list[bytes]:
        """All segments that hold the event of a key, its own first."""
        if self._copies is None:
            self._copies = {}
            for part in self.parts:
                for document in part.having(record.COPY):
                    other = part.key(document)
                    self._copies.setdefault(record.id_in(other), []).append(record.segment_in(other))
        return [record.segment_in(key), *self._copies.get(record.id_in(key), ())]


def text_of(event: Event) -> str:
    """All that an event says, in pieces that no phrase runs across."""
    return "\n\0\n".join(text for text, _ in record.texts(event))
