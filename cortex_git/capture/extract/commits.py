"""What the message of a commit says: its subject is bookkeeping, its trailers and reasons are memory."""

from __future__ import annotations

import os

from cortex_git.capture.extract.grammar import KINDS
from cortex_git.capture.extract.keywords import keywords
from cortex_git.capture.extract.prose import outside_code
from cortex_git.capture.extract.split import split
from cortex_git.capture.patterns import IGNORECASE, lazy
from cortex_git.capture.units import ASSISTANT
from cortex_git.events import model
from cortex_git.store import message as messages
from cortex_git.store.head import is_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_git.capture.extract.context import Context
    from cortex_git.capture.units import Unit
    from cortex_git.events.model import Event

WRITER = "commit"
"""Whose words a body is for the layer that weighs prose: nobody's who could be asked something."""
LATER = "later"
BONUS = 0.05
"""What a reason in a commit's message is surer than one in conversation: somebody has written it down to stay."""
_TOP = 0.95
_MAX_SUBJECT = 500
_MAX_TRAILERS = 20
_FULL = 40
_LINE = lazy(r"[A-Za-z][A-Za-z0-9-]*[ \t]*:[ \t]*\S")
_SIGNED = lazy(
    r"(?:[\w-]+-by|co-authored-by|change-id|cc|signed-off-by)\s*:|\W*generated with\b|\(cherry picked from",
    IGNORECASE,
)
_LATER = frozenset(("next", "plan"))


def commit(unit: Unit, context: Context) -> Iterator[Event]:
    """The events that a commit tells of. One that was made in another repository is no more than noted."""
    message = normal(unit.text)
    subject = messages.subject(message)[:_MAX_SUBJECT]
    sha = unit.facts.get("commit", "")
    is_whole = len(sha) >= _FULL and is_hex(sha)
    made = unit.replace(id=sha if is_whole else unit.id)
    by_person = unit.agent == "user"
    is_elsewhere = not is_whole and _is_elsewhere(unit, context)
    facts = {**unit.facts, "commit": "" if is_whole else sha, "git": "", "place": ""}
    facts["elsewhere"] = "true" if is_elsewhere else ""
    if subject:
        noted = context.event(made, model.COMMIT, subject, by_person=by_person, source={**facts, "tool": ""})
        yield noted.replace(commit=sha) if is_whole else noted
    if is_elsewhere or not messages.is_telling(message):
        return
    for event in said(message, made, context):
        yield event.replace(commit=sha, agent=noted.agent) if is_whole else event.replace(agent=noted.agent)


def said(message: str, unit: Unit, context: Context) -> Iterator[Event]:
    """What the trailers and the body of a message say."""
    source = {"tool": unit.tool or "git commit", "subject": messages.subject(message)[:200]}
    body, trailers = parts(message)
    for name, text in trailers[:_MAX_TRAILERS]:
        type = model.KNOWLEDGE if name in _LATER else KINDS[name]
        topic = LATER if name in _LATER else ""
        content, reason, alternatives = split(text, type)
        yield context.event(unit, type, content, reason=reason, alternatives=alternatives, topic=topic,
                            source={**source, "trailer": name})  # fmt: skip
    if not messages.has_reasons(body):
        return
    prose = unit.replace(kind=ASSISTANT, text=body, agent=WRITER)
    for event in keywords(prose, context):
        bonus = BONUS if messages.has_reasons(event.content) or event.reason else 0.0
        confidence = max(event.confidence, min(_TOP, round(event.confidence + bonus, 2)))
        yield event.replace(confidence=confidence, source={**event.source, **source})


def normal(message: str) -> str:
    """A message as git keeps it: without spaces at the end of lines, and with one empty line at most in a row."""
    lines: list[str] = []
    for line in message[: messages.MAX_MESSAGE].split("\n"):
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).strip()


def parts(message: str) -> tuple[str, list[tuple[str, str]]]:
    """The body of a message without its trailers, and those of them that are ours: name and text."""
    paragraphs = messages.body(message).split("\n\n")
    ours: list[tuple[str, str]] = []
    while paragraphs and (block := _trailers(paragraphs[-1])) is not None:
        ours = [found for line in block if (found := messages.trailer(line))] + ours
        paragraphs.pop()
    lines = (line for line in "\n\n".join(paragraphs).split("\n") if not _SIGNED.match(line))
    return "\n".join(lines).strip(), ours


def _trailers(paragraph: str) -> list[str] | None:
    """The trailers that a paragraph consists of, each on one line; None if there is anything else in it."""
    found: list[str] = []
    for line in outside_code(paragraph):
        if line[:1] in (" ", "\t") and found:
            found[-1] += f" {line.strip()}"
        elif _LINE.match(line) or _SIGNED.match(line):
            found.append(line.strip())
        elif line.strip():
            return None
    return found


def _is_elsewhere(unit: Unit, context: Context) -> bool:
    """Whether git was at work outside of the work tree."""
    place = os.path.normpath(os.path.join(unit.cwd, os.path.expanduser(unit.facts.get("place", ""))))
    if context.root:
        return os.path.isabs(place) and not _lies_in(place, context.root)
    return not (_lies_in(place, unit.cwd) or _lies_in(unit.cwd, place))


def _lies_in(place: str, folder: str) -> bool:
    return place == folder or not folder or place.startswith(folder + "/")
