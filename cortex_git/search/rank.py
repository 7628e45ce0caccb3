"""In which order documents answer a query, and whether the best of them answers it at all.

The order is that of BM25F with Lucene's idf: the fields of an event are one text in which a word of
the content counts more than one of the reason. What makes an answer is not the score, which says
nothing by itself, but what the query's words weigh: by idf, a word that few events hold weighs much.
"""

from __future__ import annotations

import math

from cortex_git.search import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_git.events.model import Event
    from cortex_git.search.engine import Part
    from cortex_git.search.query import Group, Query, Term
    from cortex_git.search.view import View

K1, B = 1.2, 0.75
ENOUGH = 0.46
"""An answer must cover this share of what the query's words weigh …"""
SURPRISE = 1.2
"""… or words so rare that by chance fewer than e**-SURPRISE events would hold them all."""
SURE = 0.6
"""Covering this share, an answer is called a hit."""
TAIL = 0.2
"""What scores less than this share of the best is not worth showing."""
_LOOKED_AT = 50
_MAX_VARIANTS = 200

BY_PARTS, BY_SHORT_ID, WHOLE, BY_ID = 0, 1, 2, 3
"""Why one answer comes before another, whatever their scores."""


class Found:
    """A document that answers, with its score, the bits of the terms that it holds, and its rank of reasons."""

    __slots__ = ("document", "holds", "key", "number", "reason", "score")

    def __init__(self, number: int, document: int, key: bytes, score: float, holds: int, reason: int) -> None:
        self.number = number
        self.document = document
        self.key = key
        self.score = score
        self.holds = holds
        self.reason = reason

    @property
    def order(self) -> tuple[int, float, bytes]:
        """Sort key, descending: reason, score, then the newer."""
        return (self.reason, round(self.score, 9), self.key[20:])


class Ranking:
    """The answers to a query, best first, and what was counted on the way."""

    def __init__(self, parts: Sequence[Part], view: View, events: int, words: float) -> None:
        self.parts = parts
        self.view = view
        self.events = max(1, events)
        """How many events there are in the scopes."""
        self.average = max(1.0, words / self.events)
        """How many terms an event has."""
        self.found: list[Found] = []
        self.frequencies: dict[Term, int] = {}
        self.bits: dict[Term, int] = {}
        self.covered = 0.0
        self.surprise = -math.inf
        self.guessed = False
        """Whether some terms only look like what was asked for."""
        self.notices: list[str] = []

    def run(self, query: Query) -> Ranking:
        """Find and rank. Documents that score too little beside the best are left out."""
        terms = [term for group in query.groups for term in group.terms]
        self.guessed = any(term.trust < 1 for term in terms)
        self._weigh(query, terms)
        scores = self._scores(terms)
        found = [Found(*place, key, score, holds, BY_PARTS) for place, (key, score, holds) in scores.items()]
        self._reasons(query, found)
        best = max((one.score for one in found), default=0.0)
        kept = [one for one in found if one.reason or one.score >= TAIL * best]
        kept += self._by_id(query, {(one.number, one.document): one for one in kept})
        if self.view.asks:
            kept = [one for one in kept if self.view.agrees(one.number, one.document, one.key)]
        self.found = sorted(kept, key=lambda one: one.order, reverse=True)
        self._judge(query)
        return self

    @property
    def answers(self) -> bool:
        """Whether the best is an answer at all."""
        if not self.found:
            return False
        return bool(self.found[0].reason) or self.covered >= ENOUGH or self.surprise > SURPRISE

    @property
    def sure(self) -> bool:
        """Whether the best is surely what was asked for."""
        return bool(self.found) and (bool(self.found[0].reason) or (self.covered >= SURE and not self.guessed))

    def event(self, found: Found) -> Event:
        """The event of a document."""
        return record.event_in(self.parts[found.number].line(found.document))

    def idf(self, term: Term) -> float:
        """Lucene's inverse document frequency."""
        frequency = self.frequencies[term]
        return math.log(1 + (self.events - frequency + 0.5) / (frequency + 0.5))

    def _weigh(self, query: Query, terms: Sequence[Term]) -> None:
        for group in query.groups:
            if group.prefix:
                starting = {t for p in self.parts for s in self.view.scopes for t in p.starting(s, group.raw)}
                group.whole.variants = tuple(sorted(starting))[:_MAX_VARIANTS]
        for term in terms:
            counted = [self.frequency(variant) for variant in term.variants]
            self.frequencies[term] = min(self.events, sum(counted))
            term.variants = tuple(v for v, count in zip(term.variants, counted, strict=True) if count)
            self.bits[term] = 1 << len(self.bits)

    def frequency(self, text: str) -> int:
        """How many events hold a term."""
        return sum(part.frequency(scope, text) for part in self.parts for scope in self.view.scopes)

    def _scores(self, terms: Sequence[Term]) -> dict[tuple[int, int], tuple[bytes, float, int]]:
        """Key, score and held terms by part and document. Rare terms first: once what is left cannot lift a
        document above the tail, documents that were not met yet need not be looked at."""
        order = sorted((term for term in terms if term.variants), key=lambda term: (-self.idf(term), term.variants))
        left = sum(term.weight * self.idf(term) for term in order) * (K1 + 1)
        met: list[dict[int, list[float]]] = [{} for _ in self.parts]
        keys: list[dict[int, bytes]] = [{} for _ in self.parts]
        best = 0.0
        for term in order:
            gain = term.weight * term.trust * self.idf(term) * (K1 + 1)
            bit = self.bits[term]
            open_to_new = left >= TAIL * best
            left -= term.weight * self.idf(term) * (K1 + 1)
            for number, part in enumerate(self.parts):
                here, keys_here = met[number], keys[number]
                for document, count in self._postings(part, term):
                    entry = here.get(document)
                    if entry is None:
                        if not open_to_new:
                            continue
                        key = part.key(document)
                        keys_here[document] = key
                        admitted = self.view.admits(number, document, key)
                        norm = K1 * (1 - B + B * record.length_in(key) / self.average) if admitted else 0.0
                        entry = here[document] = [0.0, norm, 0]
                    if entry[1]:
                        score = entry[0] = entry[0] + gain * count / (count + entry[1])
                        entry[2] = int(entry[2]) | bit
                        if score > best:
                            best = score
        return {
            (number, document): (keys[number][document], entry[0], int(entry[2]))
            for number, here in enumerate(met)
            for document, entry in here.items()
            if entry[1]
        }

    def _postings(self, part: Part, term: Term) -> Iterator[tuple[int, float]]:
        for scope in self.view.scopes:
            if len(term.variants) == 1:
                yield from part.postings(scope, term.variants[0])
            else:
                merged: dict[int, float] = {}
                for variant in term.variants:
                    for document, count in part.postings(scope, variant):
                        merged[document] = max(count, merged.get(document, 0.0))
                yield from sorted(merged.items())

    def _reasons(self, query: Query, found: Sequence[Found]) -> None:
        """Put what holds every name that was given as a whole before what holds parts of them."""
        if not query.exact or not query.groups:
            return
        wanted = sum(self.bits[group.whole] for group in query.groups)
        for one in found:
            if one.holds & wanted == wanted:
                one.reason = WHOLE

    def _by_id(self, query: Query, known: dict[tuple[int, int], Found]) -> list[Found]:
        """The events whose id the query gives, put first; those not among the known are returned."""
        asked = [(id, BY_ID) for id in query.ids]
        if query.alone:
            asked.append((query.alone, BY_ID if len(query.alone) >= 7 else BY_SHORT_ID))
        more: dict[tuple[int, int], Found] = {}
        for prefix, reason in asked:
            for number, part in enumerate(self.parts):
                for facet in part.facets("id:" + prefix):
                    for document in part.having(facet):
                        place = (number, document)
                        one = known.get(place) or more.get(place)
                        if one is None and part.line(document):
                            key = part.key(document)
                            if self.view.admits(number, document, key):
                                one = more[place] = Found(number, document, key, 0.0, 0, 0)
                        if one is not None:
                            one.reason = max(one.reason, reason)
        return list(more.values())

    def _judge(self, query: Query) -> None:
        """How much of the query's weight the best covers, and how little chance would explain of it."""
        weights = [self._weight(group) for group in query.groups]
        total = sum(weights)
        for holds in {one.holds for one in self.found[:_LOOKED_AT]}:
            masses = [w * self._share(group, holds) for group, w in zip(query.groups, weights, strict=True)]
            known = sum(mass for group, mass in zip(query.groups, masses, strict=True) if group.whole.trust == 1.0)
            if total:
                self.covered = max(self.covered, sum(masses) / total)
            self.surprise = max(self.surprise, known - math.log(self.events))

    def _weight(self, group: Group) -> float:
        """What a word weighs. One that no event holds weighs as much as one that a single event holds."""
        guessed = group.whole.trust < 1.0
        rarest = 1 if guessed else min(max(1, self.frequencies[term]) for term in group.terms)
        return group.light * math.log(1 + (self.events - rarest + 0.5) / (rarest + 0.5))

    def _share(self, group: Group, holds: int) -> float:
        """How much of a word is held, 0 to 1."""
        if holds & self.bits[group.whole]:
            return group.whole.trust
        total = sum(self.idf(part) for part in group.parts)
        held = sum(self.idf(part) * part.trust for part in group.parts if holds & self.bits[part])
        return held / total if total else 0.0
