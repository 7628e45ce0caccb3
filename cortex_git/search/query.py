"""What a query asks for. Text first: whatever is no well-formed condition is text, and no text is an error."""

from __future__ import annotations

import re

from cortex_git.errors import UsageError
from cortex_git.search.analyzer import CJK, IDENTIFIER, LIGHT, STOP, Word, fold, stemmed, words
from cortex_git.search.fields import FIELDS, Filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HELP = """\
Words are found in any form: running finds run. Identifiers are found whole and by their parts.
"two words"     exactly these words, in this order
-word           not with this word; -"two words" and -type:plan work too
"""
"""What the query language knows beside the fields of `fields.FIELDS`."""

_PIECE = re.compile(r'(?P<minus>-?)(?:(?P<name>[a-z]+):)?"(?P<quoted>[^"]*)"|(?P<bare>\S+)')
_BARE = re.compile(r"(?P<minus>-?)(?P<name>[a-z]+):(?P<value>[^\s:/\\=]\S*)")
_MINUS = re.compile(r"-(?P<word>[^\W\d_]\w[\w./-]*)")
_ONLY_ID = re.compile(r"[0-9a-fA-F]{4,16}")
_LONG_ID = re.compile(r"(?=[a-f]*\d)[0-9a-f]{7,16}")
_PART_WEIGHT = 0.5
_LIGHT_WEIGHT = 0.5


class Term:
    """A term of a query: `variants` are the terms of the index that count as it, each as good as the other.

    `trust`, 0 to 1, is how much of the word a match stands for: less than 1 if the variants were guessed.
    """

    __slots__ = ("trust", "variants", "weight")

    def __init__(self, variants: Iterable[str], weight: float) -> None:
        self.variants = tuple(dict.fromkeys(variants))
        self.weight = weight
        self.trust = 1.0


class Group:
    """What one word of the query asks for: its whole and its parts, of which each scores by itself."""

    __slots__ = ("light", "parts", "raw", "whole", "word")

    def __init__(self, word: Word) -> None:
        self.word = word
        self.raw = fold(word.raw)
        forms = [word.terms[0]] if word.kind == CJK else [word.terms[0], self.raw, stemmed(word.raw)]
        self.whole = Term(forms, 1.0)
        self.parts = [Term([term], _PART_WEIGHT) for term in word.terms[1:]]
        self.light = _LIGHT_WEIGHT if word.among(LIGHT) else 1.0

    @property
    def terms(self) -> list[Term]:
        """All of its terms."""
        return [self.whole, *self.parts]

    @property
    def prefix(self) -> bool:
        """Whether it is found by prefix: one character of a script that is indexed by pairs."""
        return self.word.kind == CJK and len(self.raw) == 1


class Query:
    """A query, understood: what to look for, what must be there, what must not, and the conditions."""

    def __init__(self, text: str, filters: Iterable[Filter] = ()) -> None:
        self.text = text
        self.filters = list(filters)
        self.phrases: list[str] = []
        self.excluded: list[str] = []
        self.prose = ""
        self.groups: list[Group] = []

    def __bool__(self) -> bool:
        return bool(self.phrases or self.prose.strip())

    @property
    def literals(self) -> list[str]:
        """What to look for letter by letter, in a query that has nothing but punctuation."""
        return [] if self.groups or self.phrases else [fold(piece) for piece in self.prose.split()]

    @property
    def alone(self) -> str:
        """The start of an id if it could be one and the query says nothing else, else empty."""
        return self.prose.lower() if _ONLY_ID.fullmatch(self.prose) and not self.phrases else ""

    @property
    def ids(self) -> list[str]:
        """What is long enough to be meant as the id of an event and nothing else."""
        return [group.raw for group in self.groups if _LONG_ID.fullmatch(group.raw)]

    @property
    def exact(self) -> bool:
        """Whether what is found as a whole comes before what is found by its parts: only names were given."""
        return bool(self.alone) or all(group.word.kind == IDENTIFIER for group in self.groups)

    def without_exclusions(self) -> Query:
        """The same query with its exclusions taken as words."""
        query = Query(self.text, self.filters)
        query.phrases = self.phrases
        query.prose = " ".join([self.prose, *self.excluded])
        query.groups = _groups(query)
        return query


def parse(text: str, now: str = "", filters: Iterable[Filter] = ()) -> Query:
    """The query that a text is, with further conditions.

    `now` (RFC 3339) is what spans of time such as `since:2w` count from.
    """
    query = Query(text)
    prose: list[str] = []
    for piece in _PIECE.finditer(re.sub("[“”]", '"', text)):
        if piece["quoted"] is not None:
            prose += _quoted(query, piece["minus"], piece["name"] or "", piece["quoted"], now)
        else:
            prose += _bare(query, piece["bare"], now)
    query.prose = " ".join(prose)
    query.filters = [*_joined(query.filters), *filters]
    query.groups = _groups(query)
    return query


def phrase_terms(phrase: str) -> list[str]:
    """Terms that every text which holds the phrase is indexed by."""
    found = [word for word in words(phrase) if word.kind != CJK or len(word.raw) > 1]
    return [term for word in found for term in word.terms[1:] or word.terms]


def holds(phrase: str, text: str) -> bool:
    """Whether a text says a phrase, no matter in which case, with which accents and spaces."""
    wanted = fold(phrase).split()
    if not wanted:
        return False
    before = r"(?<!\w)" if re.match(r"\w", wanted[0]) and not _is_cjk(wanted[0][0]) else ""
    after = r"(?!\w)" if re.match(r"\w", wanted[-1][-1]) and not _is_cjk(wanted[-1][-1]) else ""
    return bool(re.search(before + r"\s+".join(map(re.escape, wanted)) + after, fold(text)))


def _is_cjk(character: str) -> bool:
    return any(word.kind == CJK for word in words(character))


def _groups(query: Query) -> list[Group]:
    found = list(words(query.prose))
    said = [word for word in found if not word.among(STOP)] or found
    for phrase in query.phrases:
        said += words(phrase)
    groups: dict[tuple[str, ...], Group] = {}
    for word in (part for one in said for part in _separate(one)):
        if word.terms in groups:
            groups[word.terms].whole.weight += 1.0
        else:
            groups[word.terms] = Group(word)
    return list(groups.values())


def _separate(word: Word) -> Iterator[Word]:
    """The pairs of a CJK run, which may be a whole sentence, as words of their own."""
    if word.kind != CJK:
        yield word
        return
    for at, pair in enumerate(word.terms):
        yield Word(pair, CJK, (pair,), word.start + at, word.start + at + len(pair))


def _quoted(query: Query, minus: str, name: str, quoted: str, now: str) -> list[str]:
    """Take up a quoted piece; what is returned is text."""
    if name and _condition(query, minus, name, quoted, now):
        return []
    if quoted.strip():
        (query.excluded if minus and not name else query.phrases).append(quoted)
    return [name] if name else []


def _bare(query: Query, piece: str, now: str) -> list[str]:
    """Take up a piece without quotes; what is returned is text."""
    condition = _BARE.fullmatch(piece)
    if condition and _condition(query, condition["minus"], condition["name"], condition["value"], now):
        return []
    if minus := _MINUS.fullmatch(piece):
        query.excluded.append(minus["word"])
        return []
    return [piece]


def _condition(query: Query, minus: str, name: str, value: str, now: str) -> bool:
    """Take up a condition, or say that it is none."""
    arguments = [argument.strip() for argument in value.split(",") if argument.strip()]
    if name not in FIELDS or not arguments:
        return False
    try:
        query.filters.append(Filter(name, arguments, now, negated=bool(minus)))
    except UsageError:
        return False  # what looks like a condition and makes no sense as one is text
    return True


def _joined(filters: Sequence[Filter]) -> list[Filter]:
    """Conditions on one field made one, so that any of their arguments will do."""
    joined: dict[tuple[str, bool], Filter] = {}
    for one in filters:
        known = joined.setdefault((one.field.name, one.negated), one)
        if known is not one:
            known.arguments += one.arguments
            known.tests += one.tests
    return list(joined.values())
