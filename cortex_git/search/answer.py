"""What a search answers: the hits with their snippets, a verdict, and how it came about."""

from __future__ import annotations

import re
from functools import reduce

from cortex_git.events.codec import better
from cortex_git.search import rank, record
from cortex_git.search.analyzer import CJK, fold, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_git.events.model import Event
    from cortex_git.search.query import Query
    from cortex_git.search.rank import Found, Ranking

HIT, WEAK, MISS = "HIT", "WEAK", "MISS"
"""The verdicts: it was found; something near it was found, judge for yourself; there is nothing like it."""
WIDTH = 240
"""The longest snippet, in characters."""

_REASONS = {
    rank.BY_ID: "its id was asked for",
    rank.WHOLE: "all that was named is in it as written",
    rank.BY_SHORT_ID: "its id starts so",
}


class Hit:
    """An event that was found. `marks` are the places in `snippet` (start and end) that matched.

    `reason` says why it comes before better scores, if it does; `matched` are the words of the query that it holds.
    """

    __slots__ = ("event", "marks", "matched", "reason", "score", "snippet")

    def __init__(
        self, event: Event, score: float, snippet: str, marks: list[tuple[int, int]], reason: str, matched: list[str]
    ) -> None:
        self.event = event
        self.score = score
        self.snippet = snippet
        self.marks = marks
        self.reason = reason
        self.matched = matched

    @property
    def id(self) -> str:
        """The event's id."""
        return self.event.id

    def __repr__(self) -> str:
        return f"Hit({self.event!r}, {self.score})"


class Answer:
    """The hits, best first, and how many more there are. `notices` are sentences that the user should see."""

    __slots__ = ("explain", "hits", "left_out", "notices", "verdict")

    def __init__(
        self,
        hits: list[Hit],
        verdict: str,
        left_out: int = 0,
        notices: Iterable[str] = (),
        explain: Iterable[str] = (),
    ) -> None:
        self.hits = hits
        self.verdict = verdict
        self.left_out = left_out
        self.notices = list(notices)
        self.explain = list(explain)


def answer(query: Query, ranking: Ranking, limit: int) -> Answer:
    """The first `limit` answers of a ranking."""
    if not ranking.answers:
        return Answer([], MISS, explain=_explained(query, ranking))
    patterns = _wanted(query)
    copies = _copies(ranking)
    hits = [_hit(query, ranking, found, patterns) for found in copies[:limit]]
    verdict = HIT if ranking.sure else WEAK
    return Answer(hits, verdict, len(copies) - len(hits), explain=_explained(query, ranking))


def _copies(ranking: Ranking) -> list[list[Found]]:
    """What was found, each event once, with all of its versions, since one id may occur with different fields."""
    copies: dict[bytes, list[Found]] = {}
    for one in ranking.found:
        copies.setdefault(record.id_in(one.key), []).append(one)
    return list(copies.values())


def _hit(query: Query, ranking: Ranking, versions: Sequence[Found], patterns: Patterns) -> Hit:
    event = reduce(better, map(ranking.event, versions))
    one = versions[0]
    text, marks = snippet(event, patterns)
    matched = [group.word.raw for group in query.groups if any(one.holds & ranking.bits[term] for term in group.terms)]
    return Hit(event, round(one.score, 4), text, marks, _REASONS.get(one.reason, ""), matched)


class Patterns:
    """What to mark in a snippet: words that give one of the terms, and texts wherever they stand."""

    def __init__(self, terms: Iterable[str], literals: Iterable[str]) -> None:
        self.terms = frozenset(terms)
        self.literals = [re.compile(re.escape(literal), re.IGNORECASE) for literal in literals]

    def marks(self, text: str) -> tuple[list[tuple[int, int]], set[str]]:
        """The places that match in a text, in order and apart, and the terms that do."""
        places: list[tuple[int, int]] = []
        matched: set[str] = set()
        for word in words(text):
            hit = self.terms.intersection(word.terms)
            matched |= hit
            if word.kind == CJK:
                places += [(word.start + n, word.start + n + len(t)) for n, t in enumerate(word.terms) if t in hit]
            elif hit:
                places.append((word.start, word.end))
        for literal in self.literals:
            places += [match.span() for match in literal.finditer(text)]
        return _joined(places), matched


def _wanted(query: Query) -> Patterns:
    terms = [variant for group in query.groups for term in group.terms for variant in term.variants]
    return Patterns(terms, query.literals)


def snippet(event: Event, patterns: Patterns, width: int = WIDTH) -> tuple[str, list[tuple[int, int]]]:
    """The piece of an event's text, on one line, in which the most matches, and the places that match in it.

    The content comes first; another field follows if it matches where the content does not.
    """
    pieces = [" ".join(text.split()) for text, _ in record.texts(event)] or [event.type]
    marked = [patterns.marks(piece) for piece in pieces]
    others = range(1, len(pieces))
    second = max(others, key=lambda at: len(marked[at][1] - marked[0][1]), default=0)
    if not (second and marked[second][1] - marked[0][1]):
        return _window(pieces[0], marked[0][0], width)
    first = _window(pieces[0], marked[0][0], width // 2)
    after = _window(pieces[second], marked[second][0], width - width // 2 - 3)
    shift = len(first[0]) + 3
    return f"{first[0]} · {after[0]}", first[1] + [(start + shift, end + shift) for start, end in after[1]]


def _window(text: str, marks: Sequence[tuple[int, int]], width: int) -> tuple[str, list[tuple[int, int]]]:
    """The stretch of at most `width` characters that holds the most marks, cut at spaces where there are some."""
    if len(text) <= width:
        return text, list(marks)
    room = width - 2  # for an ellipsis at each end
    starts = [0, *(max(0, start - room // 4) for start, _ in marks)]
    begin = max(starts, key=lambda at: (sum(at <= s and e <= at + room for s, e in marks), -at))
    begin = min(begin, len(text) - room)
    space = text.find(" ", begin, begin + 20) if begin else -1
    begin = space + 1 if space >= 0 and not any(start < space + 1 and begin <= start for start, _ in marks) else begin
    end = min(len(text), begin + room)
    if end < len(text) and (space := text.rfind(" ", end - 20, end)) > begin:
        end = space
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    shift = len(before) - begin
    inside = [(start + shift, stop + shift) for start, stop in marks if begin <= start and stop <= end]
    return before + text[begin:end] + after, inside


def _joined(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _explained(query: Query, ranking: Ranking) -> list[str]:
    lines = [f"{ranking.events} events are in {' and '.join(ranking.view.scopes)}, {ranking.average:.0f} terms each"]
    for group in query.groups:
        held = [
            f"{'|'.join(term.variants) or fold(group.raw)} in {ranking.frequencies[term]}"
            for term in group.terms
            if term in ranking.frequencies
        ]
        lines.append(f"{group.word.raw}: {', '.join(held)}")
    lines += [f"with {phrase!r} word by word" for phrase in query.phrases]
    lines += [f"without {text!r}" for text in query.excluded]
    lines += [f"only {condition!r}" for condition in query.filters]
    if query.groups and ranking.found:
        lines.append(
            f"the best covers {ranking.covered:.0%} of what the words weigh ({rank.ENOUGH:.0%} makes an answer,"
            f" {rank.SURE:.0%} a hit); surprise {ranking.surprise:.1f} (over {rank.SURPRISE:.1f} makes an answer)"
        )
    return lines
