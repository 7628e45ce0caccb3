"""From text to the terms that are indexed, and back from a term to its place in the text.

One analyzer for prose, identifiers and scripts without spaces, used alike for what is stored and
for what is asked. A word of prose gives its stem. An identifier gives itself and its parts, so
that it is found whole and by each part. A run of CJK characters gives its overlapping pairs.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from cortex_git.search.engine import stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN, IDENTIFIER, CJK, SYMBOL = "plain", "identifier", "cjk", "symbol"
"""The kinds of words: prose; what has parts or is a code, hash, flag or version; CJK; pictures and arrows."""

_CJK = (
    "\u1100-\u11ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# Vowel signs are no word characters to `re`, but words of many scripts are full of them.
_LETTER = rf"(?:[^\W{_CJK}]|[\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff])"
_SHARP = r"(?P<sharp>\b[A-Za-z]\w{0,30}(?:\+\+|#)(?![\w+#]))"
_JOINED = r"(?P<word>(?:(?<![\w-])--)?LETTER+(?:(?:['’]|[./\\:@~-]+)LETTER+)*)"
_CONNECTOR = re.compile(r"[./\\:@~-]")
_LINE = re.compile(r"(.*\.\w+):\d+(?::\d+)?")
_STEP = re.compile(r"[/\\:@~]+")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+(?:[a-z]+\d*)?)")
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}")
_CODE = re.compile(r"(?=\d*[A-Za-z])(?=[A-Za-z]*\d)[A-Za-z\d]+")
_HUMP = re.compile(r"[A-Z]+\d*(?![a-z])|[A-Z]?[^\WA-Z\d_]+\d*|\d+")
_HUMPED = re.compile(r"[^\WA-Z\d_][A-Z]|[A-Z]{2}[^\WA-Z\d_]{2}|\d[A-Z][a-z]")
_CONTRACTED = frozenset({"s", "re", "ve", "ll", "d", "m"})
_MARKS = re.compile("[\u0300-\u036f]+")

_STOP = """
    a about all also an and any are as at be because been being but by can cannot could did do does doing done dont
    for from had has have he her here him his how i if in instead into is it its just may me might my no nor not of
    on or our rather shall she should so some such than that the their them then there these they this those to too
    us versus very vs was we were what when where which while who whom whose why will with would you your
"""
STOP = frozenset(_STOP.split())
"""Words that say nothing about what is meant. They are indexed, and asked for only when nothing else is."""
_LIGHT = """
    agree agreed approach choose chose chosen decide decided decision need reason reject rejected remember use used
    using way
"""
LIGHT = frozenset(_LIGHT.split())
"""Words of questions to a memory: they are asked for, but say little about whether an answer is one."""


class Word:
    """A word of a text: where it stands, its kind, and its terms, of which the first stands for all of it."""

    __slots__ = ("end", "kind", "raw", "start", "terms")

    def __init__(self, raw: str, kind: str, terms: tuple[str, ...], start: int, end: int) -> None:
        self.raw = raw
        self.kind = kind
        self.terms = terms
        self.start = start
        self.end = end

    def among(self, common: frozenset[str]) -> bool:
        """Whether it is one of these common words of prose."""
        return self.kind == PLAIN and fold(self.raw).replace("'", "").replace("’", "") in common


@lru_cache(maxsize=2)
def _tokens(ascii: bool) -> re.Pattern[str]:
    """What finds the words. The full one takes milliseconds to compile, and most texts do not need it."""
    if ascii:
        return re.compile(_SHARP + "|" + _JOINED.replace("LETTER", r"\w"))
    runs = rf"(?P<cjk>[{_CJK}]+)|(?P<symbol>[\u2190-\u2bff\U0001f000-\U0001faff])"
    return re.compile(f"{runs}|{_SHARP}|" + _JOINED.replace("LETTER", _LETTER))


def words(text: str) -> Iterator[Word]:
    """The words of a text in their order."""
    for match in _tokens(text.isascii()).finditer(text):
        raw = match.group()
        kind, terms = _analyzed(raw, match.lastgroup or "")
        if terms:
            yield Word(raw, kind, terms, match.start(), match.end())


def terms(text: str) -> Iterator[str]:
    """All terms to index a text by. A term occurs as often as it is said."""
    for match in _tokens(text.isascii()).finditer(text):
        raw = match.group()
        kind, found = _analyzed(raw, match.lastgroup or "")
        yield from found
        if kind == CJK and len(raw) > 1:
            yield fold(raw[-1])  # no pair starts with it, and one character is asked for by prefix


def fold(text: str) -> str:
    """The text without differences of case, accent or width."""
    if text.isascii():
        return text.lower()
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", plain).casefold()


def stemmed(raw: str) -> str:
    """A word of prose as a term."""
    folded = fold(raw)
    return stem(folded) if len(folded) > 2 and folded.isalpha() else folded


@lru_cache(maxsize=65536)
def _analyzed(raw: str, group: str) -> tuple[str, tuple[str, ...]]:
    if group == "cjk":
        run = fold(raw)
        return CJK, tuple(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    if group == "symbol":
        return SYMBOL, (raw,)
    if group == "sharp":
        base = raw.rstrip("+#")
        return IDENTIFIER, _distinct([fold(raw), *([stemmed(base)] if len(base) > 1 else [])])
    if _CONNECTOR.search(raw):
        return IDENTIFIER, _compound(raw)
    return _simple(raw)


def _compound(raw: str) -> tuple[str, ...]:
    """The terms of words joined by dots, dashes, slashes or colons: a path, a flag, a qualified name, a version."""
    found = [fold(raw)]
    if raw.startswith("--"):
        raw = raw[2:]
        found += [fold(raw)] if _CONNECTOR.search(raw) else []
    elif line := _LINE.fullmatch(raw):
        raw = line.group(1)
        found.append(fold(raw))
    steps = [step for step in _STEP.split(raw) if step]
    if len(steps) > 1 and "." in steps[-1]:
        found.append(fold(steps[-1]))
    for step in steps:
        if len(steps) > 1 and _CONNECTOR.search(step):
            found.append(fold(step))
        found += _step(step)
    return _distinct(found)


def _step(step: str) -> list[str]:
    if version := _VERSION.fullmatch(fold(step)):
        return _version(version.group(1))
    found: list[str] = []
    for dashed in filter(None, step.split("-")):
        if version := _VERSION.fullmatch(fold(dashed)):
            found += [fold(dashed), *_version(version.group(1))]
            continue
        for piece in filter(None, dashed.split(".")):
            found += _simple(piece)[1]
    return found


def _version(number: str) -> list[str]:
    return [number, ".".join(number.split(".")[:2])]


def _simple(raw: str) -> tuple[str, tuple[str, ...]]:
    """The terms of a word without connectors: prose, or a name written with underscores or humps."""
    whole = fold(raw)
    if _HASH.fullmatch(whole):
        return IDENTIFIER, _distinct([whole, whole[:7]])
    humped = _HUMPED.search(raw)
    if _CODE.fullmatch(raw) and not humped:
        return IDENTIFIER, (whole,)
    if "_" in raw or humped:
        parts = [stemmed(hump) for part in raw.split("_") for hump in _HUMP.findall(part) or [part] if hump]
        return (IDENTIFIER, _distinct([whole, *parts])) if parts else (SYMBOL, ())
    if "'" in raw or "’" in raw:
        return PLAIN, _apostrophed(raw.replace("’", "'"))
    return PLAIN, (stemmed(raw),)


def _apostrophed(raw: str) -> tuple[str, ...]:
    first, *rest = raw.split("'")
    if rest == ["t"]:
        return (stemmed(first + "t"),)
    return _distinct([stemmed(part) for part in (first, *rest) if fold(part) not in _CONTRACTED] or [stemmed(first)])


def _distinct(found: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term for term in found if term))
