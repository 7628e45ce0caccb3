"""`[MEMORY: …]` tags in what assistants and people write: the one thing that says of itself that it is to be kept.

Two grammars: `[MEMORY: decision] text to the end of the line` and `[MEMORY: text]`. A tag in
code, in a quotation or in anything that was injected is no tag.
"""

from __future__ import annotations

from cortex_git.capture.extract.prose import outside_code
from cortex_git.capture.patterns import IGNORECASE, lazy
from cortex_git.events import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = {
    "decision": model.DECISION, "decided": model.DECISION,
    "rejected": model.REJECTED, "rejection": model.REJECTED, "reject": model.REJECTED,
    "learned": model.KNOWLEDGE, "learning": model.KNOWLEDGE, "fact": model.KNOWLEDGE, "knowledge": model.KNOWLEDGE,
    "fixed": model.RESOLVED, "fix": model.RESOLVED, "resolved": model.RESOLVED,
    "preference": model.PREFERENCE, "convention": model.PREFERENCE, "rule": model.PREFERENCE,
    "plan": model.PLAN,
    "step": model.STEP, "done": model.STEP,
    "task": model.TASK,
}  # fmt: skip
MARKS = {"permanent": model.PERMANENT, "private": model.PRIVATE}

_OPEN = lazy(r"\[\s*MEMORY\s*:", IGNORECASE)
_ITEM = lazy(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_LABEL = lazy(r"\s*([a-z]+(?:[\s,/|+&]+[a-z]+){0,2})\s*(?::|\s[-–—]\s)\s*(?=\S)", IGNORECASE)
_QUOTES = "\"“”'‘«„`"
_PLACEHOLDERS = frozenset(("", "text", "your text", "the text", "some text", "content", "note", "fact", "description"))
_SEPARATORS = ":–—-*_"
_MAX_TAGS = 100
_TRAILERS = "-*+•|;·/_"
_BOX = lazy(r"\[[ xX]\]\s+\Z")
_BETWEEN = lazy(r"[\s,/|+&]+")


class Tag:
    """One tag: the type of event (empty: not said), the marks, the topic and the lines of its text."""

    __slots__ = ("lines", "marks", "topic", "type")

    def __init__(self, type: str, marks: list[str], topic: str, lines: list[str]) -> None:
        self.type = type
        self.marks = marks
        self.topic = topic
        self.lines = lines


def find(text: str) -> tuple[list[Tag], str]:
    """The tags of a text, and the text without them."""
    if not _OPEN.search(text):
        return [], text
    lines = list(outside_code(text))
    found: list[Tag] = []
    rest: list[str] = []
    number = 0
    while number < len(lines) and len(found) < _MAX_TAGS:
        line = lines[number]
        number += 1
        starts = [] if line.lstrip().startswith(">") else list(_starts(line))
        if not starts:
            rest.append(line)
            continue
        rest.append(line[: starts[0]])
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            tag = _parse(line[start:end], tail=end == len(line))
            if tag is None:
                continue
            if end == len(line):
                number = _continue(tag, lines, number, line)
            if tag.lines:
                found.append(tag)
    return found[:_MAX_TAGS], "\n".join([*rest, *lines[number:]])


def _starts(line: str) -> Iterator[int]:
    """Where the tags of a line begin, without those in inline code and quotation marks."""
    ticks = seen = 0
    for match in _OPEN.finditer(line):
        ticks += line.count("`", seen, match.start())
        seen = match.start()
        before = line[max(0, seen - 8) : seen].rstrip(" *_")
        if ticks % 2 == 0 and not before.endswith(tuple(_QUOTES)):
            yield seen


def _parse(text: str, tail: bool) -> Tag | None:
    """One tag from its bracket on. None if the bracket never closes or holds a placeholder."""
    opened = _OPEN.match(text)
    depth, position = 1, opened.end() if opened else 0
    begin = position
    while position < len(text) and depth:
        depth += {"[": 1, "]": -1}.get(text[position], 0)
        position += 1
    if depth:
        return None
    inner, after = text[begin : position - 1].strip(), _trimmed(text[position:])
    kinds, marks = _label(inner)
    if kinds is not None:
        return Tag(kinds, marks, "", [after] if _says(after) else [])
    label = _LABEL.match(inner)
    if label:
        kinds, marks = _label(label[1])
        if kinds is not None:
            return Tag(kinds, marks, "", [_trimmed(inner[label.end() :])])
    if " " not in inner and _says(after):
        return Tag("", [], inner, [after])
    return Tag("", [], "", [_trimmed(inner)]) if _says(inner) else None


def _label(text: str) -> tuple[str | None, list[str]]:
    """Type and marks that the words of a label name; None as type if it is no label."""
    words = _BETWEEN.split(text.lower().strip(" *_"))
    if not 1 <= len(words) <= 3 or any(word not in KINDS and word not in MARKS for word in words):
        return None, []
    types = [KINDS[word] for word in words if word in KINDS]
    return (types[0] if types else ""), [MARKS[word] for word in words if word in MARKS]


def _continue(tag: Tag, lines: list[str], number: int, line: str) -> int:
    """Take in the lines below that belong to the tag; returns the number of the first that does not."""
    item = _ITEM.match(line)
    margin = len(line) - len(line.lstrip())
    listed = not tag.lines or tag.type == model.PLAN
    while number < len(lines) and lines[number].strip():
        below = lines[number]
        marker = _ITEM.match(below)
        deeper = len(below) - len(below.lstrip()) > margin
        if _OPEN.search(below) or below.lstrip().startswith((">", "#", "|")):
            break
        if marker and listed and (deeper or not item):
            tag.lines.append(_trimmed(below[marker.end() - len(_box(marker[0])) :]))
        elif not marker and not tag.lines:
            tag.lines.append(_trimmed(below))
            listed = tag.type == model.PLAN
        elif not marker and item and deeper and tag.lines:
            tag.lines[-1] += " " + _trimmed(below)
        else:
            break
        number += 1
    return number


def _box(marker: str) -> str:
    found = _BOX.search(marker)
    return found[0] if found else ""


def _trimmed(text: str) -> str:
    """A tag's text without what only sets it off: bold marks, separators, the opening of a next item."""
    text = text.strip()
    while text and (text.startswith(("**", "__")) or (text[0] in _SEPARATORS and text[1:2] in ("", " "))):
        text = text.lstrip(_SEPARATORS).lstrip()
    text = text.rstrip(" ;,|")
    body, _, end = text.rpartition(" ")
    while body and not end.strip(_TRAILERS):
        text = body.rstrip()
        body, _, end = text.rpartition(" ")
    for mark in ("**", "__"):
        if text.count(mark) % 2:
            text = text.removesuffix(mark) if text.endswith(mark) else text.removeprefix(mark)
    return text.strip()


def _says(text: str) -> bool:
    return text.strip(" .…<>{}[]*_").lower() not in _PLACEHOLDERS
