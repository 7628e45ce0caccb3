"""One search over the opened parts of an index."""

from __future__ import annotations

from cortex_git.search import record
from cortex_git.search.analyzer import PLAIN, fold, stemmed
from cortex_git.search.answer import Answer, answer
from cortex_git.search.rank import WHOLE, Found, Ranking
from cortex_git.search.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

    from cortex_git.search.engine import Part
    from cortex_git.search.query import Group, Query
    from cortex_git.search.view import Sight

GUESSED = 0.6
"""How much of a word is held by what holds a word one letter away from it."""
_SHORTEST_GUESS = 5
_LONGEST_GUESS = 40
_MOST_GUESSED = 3
_MOST_WORDS = 500
_LONGEST_ENDING = 5
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def look_up(parts: Sequence[Part], query: Query, sight: Sight, sizes: tuple[int, float], limit: int) -> Answer:
    """Answer a query. `sizes` is how many events there are in the scopes, and how many terms in all of them."""
    cut = len(query.groups) > _MOST_WORDS
    query.groups = query.groups[:_MOST_WORDS]
    ranking = _ranked(parts, query, sight, sizes)
    if query.excluded and not ranking.answers:
        plain = query.without_exclusions()
        plain.groups = plain.groups[:_MOST_WORDS]
        second = _ranked(parts, plain, sight, sizes)
        if second.answers:
            query, ranking = plain, second
            ranking.notices.append("nothing is without the words after the minus, so they were searched for")
    if not ranking.sure and (guessed := _guess(query, ranking)):
        second = _ranked(parts, query, sight, sizes)
        if second.answers:
            ranking = second
            ranking.notices.append("no event says " + ", ".join(guessed) + "; words like it were taken")
    found = answer(query, ranking, limit)
    found.notices += ranking.notices
    if cut:
        found.notices.append(f"only the first {_MOST_WORDS} words were searched for")
    return found


def _ranked(parts: Sequence[Part], query: Query, sight: Sight, sizes: tuple[int, float]) -> Ranking:
    view = View(parts, sight, query.filters)
    for text in query.excluded:
        view.without(text)
    ranking = Ranking(parts, view, *sizes)
    if not query:
        return _with(ranking, view.everything() if query.filters or query.excluded else [])
    if literals := query.literals:
        return _with(ranking, view.reading(lambda text: all(literal in fold(text) for literal in literals)))
    for phrase in query.phrases:
        saying = view.saying(phrase)
        view.only(saying)
        if not any(saying):
            break  # no other phrase can bring anything back, and to look for one may mean to read all events
    ranking.run(query)
    return _with(ranking, view.required()) if query.phrases else ranking


def _with(ranking: Ranking, chosen: Sequence[set[int]]) -> Ranking:
    """Make all of these documents, a set for each part, exact answers; the others stay where they are."""
    known = {(one.number, one.document): one for one in ranking.found}
    for number, documents in enumerate(chosen):
        for document in documents:
            one = known.get((number, document))
            if one is None:
                key = ranking.parts[number].key(document)
                if not (record.length_in(key) and ranking.view.admits(number, document, key)):
                    continue
                one = Found(number, document, key, 0.0, 0, WHOLE)
                ranking.found.append(one)
            one.reason = max(one.reason, WHOLE)
    ranking.found.sort(key=lambda one: one.order, reverse=True)
    return ranking


def _guess(query: Query, ranking: Ranking) -> list[str]:
    """Let words that no event holds stand for words of the index that are one letter away or contain them.

    Returns the words for which there are such; that costs a walk over all terms of the scopes.
    """
    unknown = [group for group in query.groups if _is_unknown(group, ranking)][:_MOST_GUESSED]
    if not unknown:
        return []
    lexicon: frozenset[str] = frozenset().union(
        *(part.lexicon(scope) for part in ranking.parts for scope in ranking.view.scopes)
    )
    trunks = {term[:-1] for term in lexicon}
    variants = {group: _near(group.raw, lexicon, trunks) for group in unknown}
    for group, found in variants.items():
        if found:
            group.whole.variants = tuple(sorted(found))
            group.whole.trust = GUESSED
    return [group.word.raw for group in unknown if variants[group]]


def _is_unknown(group: Group, ranking: Ranking) -> bool:
    return (
        group.word.kind == PLAIN
        and _SHORTEST_GUESS <= len(group.raw) <= _LONGEST_GUESS
        and not any(ranking.frequencies[term] for term in group.terms)
    )


def _near(word: str, lexicon: Set[str], trunks: Set[str]) -> set[str]:
    """The terms that contain a word or stand for one that is a letter away. `trunks`: the terms but for the last
    letter; a word whose start is none of them need not be stemmed, which is what takes long."""
    near = {term for term in lexicon if word in term}
    shortest = max(2, len(word) - _LONGEST_ENDING)
    for other in _one_letter_away(word):
        if any(other[:end] in trunks for end in range(shortest, len(other) + 1)) and stemmed(other) in lexicon:
            near.add(stemmed(other))
    return near


def _one_letter_away(word: str) -> Iterator[str]:
    """The words that one slip of the finger makes of a word: a letter left out, added, changed or two swapped."""
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in _LETTERS)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        yield from (before + letter + after for letter in _LETTERS)
