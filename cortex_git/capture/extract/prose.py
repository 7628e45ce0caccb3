"""Markdown as the passages that somebody wrote as prose: without code, tables, quotations and output."""

from __future__ import annotations

from cortex_git.capture.patterns import IGNORECASE, lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = lazy(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?(```+|~~~+|\"\"\"|''')")
_ITEM = lazy(r"(\s*)(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_HEADING = lazy(r"#{1,6}\s+\S")
_BOLD_LINE = lazy(r"\*\*[^*]+\*\*:?\s*\Z")
_OUTPUT = lazy(r"\s*(?:[❯⎿⏺$>│├└✗✓]|at \S+ \(|\[\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:|Traceback |File \"|\|)")
_SENTENCE = lazy(r"(?<=[.!?])[\"')\]*]*\s+(?=[\"'(\[*]*[A-Z0-9`✅])|(?<=[a-z)`][.!?])\s+(?=[a-z]{2})")
_ABBREVIATION = lazy(r"(?:\b(?:e\.g|i\.e|vs|etc|cf|approx|no|fig)\.|\d\.)\Z", IGNORECASE)


class Passage:
    """A paragraph or a list item: `text` without its marker, and the nearest `heading` above."""

    __slots__ = ("heading", "item", "text")

    def __init__(self, text: str, heading: str, item: bool) -> None:
        self.text = text
        self.heading = heading
        self.item = item


def outside_code(text: str) -> Iterator[str]:
    """The lines of a text that are not inside a fence. A fence that is never closed reaches to the end."""
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif found and _opens(line, found[1]):
            fence = found[1]
        else:
            yield line


def _opens(line: str, mark: str) -> bool:
    """Whether a line opens a fence; one that closes it again itself does not."""
    return mark not in line.partition(mark)[2]


def passages(text: str) -> Iterator[Passage]:
    """The paragraphs and list items, in order."""
    heading = ""
    lines: list[str] = []
    item = False
    indent = 0
    for line in [*outside_code(text), ""]:
        found = _ITEM.match(line)
        breaks = found is not None or not line.strip() or _is_heading(line) or _OUTPUT.match(line)
        if lines and (breaks or (item and not line.startswith(" " * (indent + 1)))):
            yield Passage(" ".join(lines), heading, item)
            lines, item = [], False
        if found:
            lines, item, indent = [line[found.end() :].strip()], True, len(found[1])
        elif _is_heading(line):
            heading = line.strip().strip("#*: ")
        elif line.strip() and not _OUTPUT.match(line):
            lines.append(line.strip())


def _is_heading(line: str) -> bool:
    return bool(_HEADING.match(line) or _BOLD_LINE.match(line))


def sentences(text: str) -> list[str]:
    """The sentences of a passage."""
    parts: list[str] = []
    start = 0
    for found in _SENTENCE.finditer(text):
        piece = text[start : found.start()]
        if _ABBREVIATION.search(piece[-8:]) or piece.count("`") % 2 or piece.count("(") > piece.count(")"):
            continue
        parts.append(text[start : found.end()].strip())
        start = found.end()
    if text[start:].strip():
        parts.append(text[start:].strip())
    return parts
