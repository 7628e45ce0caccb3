"""Checking items and pages from a tree alone: no notes, no history, no clock."""

from __future__ import annotations

import re

from cortex_git.events.redact import redact
from cortex_git.projections import pages as page
from cortex_git.projections import prose
from cortex_git.projections.document import DECISIONS, FOLDER, LEARNED, PLANS, is_item
from cortex_git.projections.reading import parse
from cortex_git.projections.writing import rerender

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cortex_git.config import Config
    from cortex_git.events.model import Event
    from cortex_git.projections.document import Item

ERROR = "error"
NOTICE = "notice"
_MARKER = r"(?m)^(?:<{7} |>{7} |\|{7} |={7}$)"


class Finding:
    """Something that is wrong with a file.

    `level` is `error` or `notice`; a notice mends itself with the next commit or asks for a look.
    `rule` is a short name for the kind of finding: name, form, conflict, control, secret,
    relation, cycle, edited, stale or missing. `line` counts from 1.
    """

    __slots__ = ("level", "line", "message", "path", "rule")

    def __init__(self, level: str, rule: str, path: str, line: int, message: str) -> None:
        self.level = level
        self.rule = rule
        self.path = path
        self.line = line
        self.message = message

    def __repr__(self) -> str:
        return f"{self.path}:{self.line}: {self.level}: {self.message}"


def verify(files: Mapping[str, bytes], config: Config) -> list[Finding]:
    """What is wrong with the files under `.cortex/`, given as path to content, in the order of their paths."""
    found: list[Finding] = []
    parsed: list[Item] = []
    for path in files:
        if path.startswith((DECISIONS, LEARNED, PLANS)):
            item = parse(path, files[path]) if is_item(path) else None
            found += _item(item, files[path]) if item else _stray(path)
            parsed += [item] if item and item.events else []
        elif page.is_page(path):
            found += _text(path, files[path])
            found += _secrets(path, files[path], [])
    found += _relations([item for item in parsed if item.path.startswith(DECISIONS)])
    if config.projections_pages != "off":
        found += _pages(files, config, parsed)
    return sorted(found, key=lambda finding: (finding.path, finding.line, finding.rule))


# ---- items


def _stray(path: str) -> Iterator[Finding]:
    if path.endswith(".md"):
        yield Finding(
            ERROR, "name", path, 1, "this is not the name of an item; files here are written by git-cortex only"
        )
    elif not path.rpartition("/")[2].startswith("."):
        yield Finding(NOTICE, "name", path, 1, "this file is no item; it is not read")


def _item(item: Item, data: bytes) -> Iterator[Finding]:
    problems = list(_text(item.path, data))
    yield from problems
    yield from _secrets(item.path, data, item.events + item.ticks)
    if any(problem.rule == "conflict" for problem in problems):
        return
    for fault in item.faults:
        yield Finding(ERROR, "form", item.path, _line_in(fault), fault)
    if item.faults:
        return
    path, rendered = rerender(item)
    if path != item.path:
        yield Finding(ERROR, "name", item.path, 1, f"what it holds belongs into {path}")
    if rendered != data:
        line = _first_difference(rendered, data)
        yield Finding(ERROR, "edited", item.path, line, "this line is not what its events are rendered to")


def _text(path: str, data: bytes) -> Iterator[Finding]:
    """What must not be in any file of ours: conflict markers and unseen characters."""
    text = data.decode("utf-8", "replace")
    marker = re.search(_MARKER, text)
    if marker and _is_damaged(path, data):
        if page.is_page(path):
            message = "conflict markers; `git cortex project` renders it again"
        else:
            message = "conflict markers; take one side, or both files where there are two"
        yield Finding(ERROR, "conflict", path, _line_at(text, marker.start()), message)
    unseen = re.search(prose.UNSAFE, text)
    if unseen:
        code = f"U+{ord(unseen[0]):04X}"
        yield Finding(ERROR, "control", path, _line_at(text, unseen.start()), f"the character {code} must not be here")


def _secrets(path: str, data: bytes, events: list[Event]) -> Iterator[Finding]:
    """What looks like a secret: in the fields of events, or anywhere in a file that holds none.

    Ids and checksums around the events are no secrets, however random they look.
    """
    text = data.decode("utf-8", "replace")
    searched = [text] if not events else [value for event in events for value in _texts(event)]
    whole = "\n".join(searched)
    if redact(whole) != whole and any(redact(value) != value for value in searched):
        lines = text.split("\n")
        line = next((number for number, line in enumerate(lines, 1) if redact(line) != line), 1)
        message = "this looks like a secret; the history has it now, so make the secret itself worthless, too"
        yield Finding(ERROR, "secret", path, line, message)


def _texts(event: Event) -> Iterator[str]:
    yield from (event.content, event.reason, event.topic, *event.alternatives, *event.files, *event.source.values())


def _is_damaged(path: str, data: bytes) -> bool:
    """Whether a file is not as it was rendered; text that only quotes conflict markers is no conflict."""
    if is_item(path):
        return bool(parse(path, data).faults)
    footer = page.footer_of(data)
    return footer is None or footer.edited


def _relations(items: list[Item]) -> Iterator[Finding]:
    by_id = {item.event.id: item for item in items}
    for item in items:
        id = item.event.id
        for old in item.supersedes:
            if old not in by_id:
                yield _relation(NOTICE, item, f"it supersedes {old[:7]}, which is not here")
            elif not by_id[old].superseded_by and item.status not in ("deprecated", "superseded"):
                yield _relation(NOTICE, by_id[old], f"{id[:7]} supersedes it, which its status does not say yet")
        new = item.superseded_by
        if new and new not in by_id:
            yield _relation(ERROR, item, f"it is superseded by {new[:7]}, which is not here")
    yield from _cycles(by_id)


def _relation(level: str, item: Item, message: str) -> Finding:
    return Finding(level, "relation", item.path, 1, message)


def _cycles(by_id: Mapping[str, Item]) -> Iterator[Finding]:
    """Each circle of decisions that supersede each other, once, at the smallest id."""
    newer: dict[str, set[str]] = {id: {item.superseded_by} & set(by_id) for id, item in by_id.items()}
    for id, item in by_id.items():
        for old in item.supersedes:
            if old in newer:
                newer[old].add(id)
    reported: set[str] = set()
    for start in sorted(by_id):
        reached: set[str] = set()
        waiting = list(newer[start])
        while waiting:
            id = waiting.pop()
            if id not in reached:
                reached.add(id)
                waiting += newer[id]
        if start in reached and start not in reported:
            reported |= reached
            yield Finding(ERROR, "cycle", by_id[start].path, 1, "it supersedes itself by way of other decisions")


# ---- pages


def _pages(files: Mapping[str, bytes], config: Config, parsed: list[Item]) -> Iterator[Finding]:
    present = {name: files[name] for name in (FOLDER + short for short in page.NAMES) if name in files}
    digest = page.digest_of(files, config)
    rendered: dict[bool, dict[str, bytes]] = {}
    for path, data in present.items():
        footer = page.footer_of(data)
        if (footer is None or footer.edited) and re.search(_MARKER, data.decode("utf-8", "replace")):
            continue  # a merge has left it so, which is said already
        if footer is None or footer.edited:
            message = "it was edited by hand; change the items, and `git cortex project` renders it again"
            yield Finding(ERROR, "edited", path, 1, message)
        elif footer.items != digest or footer.version != page.VERSION:
            yield Finding(
                NOTICE, "stale", path, 1, "it lags behind the items; the next commit on the default branch renders it"
            )
        else:
            if footer.accepted not in rendered:
                rendered[footer.accepted] = page.pages(files, config, accepted=footer.accepted, parsed=parsed)
            if rendered[footer.accepted][path] != data:
                line = _first_difference(rendered[footer.accepted][path], data)
                yield Finding(ERROR, "edited", path, line, "this line is not what the items are rendered to")
    if present:
        for name in page.NAMES:
            if FOLDER + name not in present:
                yield Finding(NOTICE, "missing", FOLDER + name, 1, "the other pages are here, this one is not")


# ---- where


def _line_in(fault: str) -> int:
    """The line of the file that a fault names: front matter begins on the second."""
    match = re.match(r"line (\d+):", fault)
    return int(match[1]) + 1 if match else 1


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _first_difference(one: bytes, other: bytes) -> int:
    ours, theirs = one.split(b"\n"), other.split(b"\n")
    pairs = zip(ours, theirs, strict=False)
    return next((number for number, (a, b) in enumerate(pairs, 1) if a != b), min(len(ours), len(theirs)))
