"""The tag layer: the events that `[MEMORY: …]` tags ask for."""

from __future__ import annotations

from cortex_git.capture.extract import plans
from cortex_git.capture.extract.grammar import find
from cortex_git.capture.extract.keywords import likely_type
from cortex_git.capture.extract.split import split
from cortex_git.capture.patterns import lazy
from cortex_git.capture.units import ASSISTANT, PROMPT, text_id
from cortex_git.events import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cortex_git.capture.extract.context import Context
    from cortex_git.capture.extract.grammar import Tag
    from cortex_git.capture.units import Unit
    from cortex_git.events.model import Event

_STEP = lazy(r"\[([ xX])\]\s+(.*)")


def tags(unit: Unit, context: Context) -> Iterator[Event]:
    """The events that the tags in an assistant's or a person's text ask for."""
    if unit.kind not in (ASSISTANT, PROMPT):
        return
    for tag in find(unit.text)[0]:
        yield from _events(tag, unit, context)


def _events(tag: Tag, unit: Unit, context: Context) -> Iterator[Event]:
    fields: dict[str, Any] = {"layer": "tag", "marks": tag.marks, "topic": tag.topic}
    if tag.type == model.PLAN:
        # The message may be met in the hook's payload first, where it has no id.
        plan = unit.replace(id=text_id(unit.text))
        content = plans.render(tag.lines[0], [_step(line) for line in tag.lines[1:]])
        yield context.event(plan, model.PLAN, content, **fields)
        return
    for line in tag.lines:
        type = tag.type or guess(line)
        said = unit.replace(id=text_id(unit.text)) if type == model.STEP else unit
        content, reason, alternatives = split(line, type)
        yield context.event(said, type, content, reason=reason, alternatives=alternatives, **fields)


def guess(text: str) -> str:
    """The type of event that a text without a kind is most likely to be."""
    return likely_type(text) or model.KNOWLEDGE


def _step(line: str) -> tuple[str, bool]:
    marked = _STEP.match(line)
    return (marked[2], marked[1] != " ") if marked else (line, False)
