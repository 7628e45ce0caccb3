"""What prose seems to say: a careful layer that rather misses a memory than invents one.

Each event has a confidence below 1 and names the cues it rests on. What is below 0.5 is kept
but not shown elsewhere; what is below KEPT is nothing.
"""

from __future__ import annotations

from cortex_git.capture.extract.cues import unquoted
from cortex_git.capture.extract.grammar import find
from cortex_git.capture.extract.prose import passages, sentences
from cortex_git.capture.extract.split import split
from cortex_git.capture.extract.weighing import Weight, narrates, weigh_assistant, weigh_person
from cortex_git.capture.patterns import DOTALL, IGNORECASE, lazy
from cortex_git.capture.units import AGENT, ASSISTANT, PROMPT
from cortex_git.events import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cortex_git.capture.extract.context import Context
    from cortex_git.capture.extract.prose import Passage
    from cortex_git.capture.units import Unit
    from cortex_git.events.model import Event

KEPT = 0.35
_TOP = 0.95
_VAGUE = 0.8
_SCALE = 1.0
_PASTED = 1200
_MAX_EVENTS = 8
_MAX_CONTENT = 500
_MIN_CONTENT = 12
_MAX_PASSAGE = 4000
_MAX_PASSAGES = 400
_OPENINGS = (
    "you're right", "you're absolutely right", "you are right", "good call", "good point", "good catch",
    "good question", "got it", "exactly", "great", "perfect", "understood", "i see what's happening", "found it",
    "found the issue", "found the problem", "found the bug", "found the root cause", "i found the issue", "fixed",
    "done", "yes",
)  # fmt: skip
_LEANS = lazy(r"(?:this|that|these|those|it|they|but|however|since|because|so|which|otherwise|instead)\b", IGNORECASE)
# Words that name their kind themselves: type, confidence, a word to look for first, the pattern.
_STATED = tuple(
    (type, confidence, trigger, lazy(pattern, IGNORECASE | DOTALL))
    for type, confidence, trigger, pattern in (
        (model.DECISION, 0.95, " over ", r"\bchose[n]?\b.{1,80}\bover\b.{0,200}\b(?:because|since|due to|as)\b"),
        (model.DECISION, 0.9, " over ", r"\bchose[n]?\b.{1,80}\bover\b"),
        (
            model.DECISION,
            0.85,
            "instead of",
            r"\bI(?:'ll| will) use\b.{1,120}\binstead of\b.{1,200}\b(?:because|since)\b",
        ),
        (model.DECISION, 0.9, "decision", r"\A\W*decision\W*:"),
        (model.DECISION, 0.6, "decided", r"\bdecided (?:to|on|against)\b(?!\s+(?:read|look|check|run|open|see))"),
        (model.REJECTED, 0.9, "reject", r"\breject(?:ing|ed)\b.{1,120}\bbecause\b"),
        (model.REJECTED, 0.9, "rejected", r"\A\W*rejected\W*[:,]"),
        (model.RESOLVED, 0.9, "fixed:", r"\A\W*fixed:\s"),
        (model.KNOWLEDGE, 0.9, "learned", r"\A\W*(?:learned|lesson(?: learned)?)\W*:"),
    )
)
_STOPS = (". ", "! ", ": ", " — ", " – ", " - ")
_BELOW_QUESTIONS = 0.5
_REASON = lazy(r"(?:because|since|so that|as otherwise)\b", IGNORECASE)
# A long, well-formed sentence in a longer message is more often pasted than typed.
_PROSE = lazy(r"\W*[A-Z](?:[^.!?]|\.\S){150,}[.]\Z")


def keywords(unit: Unit, context: Context) -> Iterator[Event]:
    """The events that the prose of a person or an assistant seems to tell of."""
    if unit.kind not in (ASSISTANT, PROMPT):
        return
    session = context.session(unit)
    if context.config.capture_keywords:
        _, text = find(unit.text)
        if unit.kind == PROMPT:
            yield from _person(unit, context, text, str(session.get("asked", "")))
        else:
            yield from _assistant(unit, context, text)
    if unit.kind == ASSISTANT and unit.agent == AGENT:
        session["asked"] = _question(unit.text)


def _assistant(unit: Unit, context: Context, text: str) -> Iterator[Event]:
    found: list[tuple[float, Passage, Weight]] = []
    for number, passage in enumerate(passages(text)):
        if number >= _MAX_PASSAGES:
            break
        if _MIN_CONTENT <= len(passage.text) <= _MAX_PASSAGE:
            weight = weigh_assistant(passage.text, passage.heading, passage.item)
            weight = _stated(passage.text, weight)
            if _confidence(weight) >= KEPT:
                found.append((_confidence(weight), passage, weight))
    found.sort(key=lambda entry: -entry[0])
    for _, passage, weight in found[:_MAX_EVENTS]:
        statement = _statement(passage)
        if _vague(statement):
            weight = Weight(weight.value * _VAGUE, weight.type, weight.cues)
        if len(statement) >= _MIN_CONTENT and _confidence(weight) >= KEPT:
            content, reason, alternatives = split(statement, weight.type)
            yield _event(unit, context, weight, content, reason=reason, alternatives=alternatives)


def _person(unit: Unit, context: Context, text: str, asked: str) -> Iterator[Event]:
    count = 0
    pasted = len(text) > _PASTED
    for number, passage in enumerate(passages(text)):
        if number >= _MAX_PASSAGES or count >= _MAX_EVENTS:
            break
        for sentence in _sayings(passage.text[:_MAX_PASSAGE]):
            foreign = pasted or (_PROSE.match(sentence) is not None and len(text) - len(sentence) > 20)
            weight = _stated(sentence, weigh_person(sentence, pasted=foreign, asked=bool(asked)))
            said = " ".join(sentence.split())
            if _confidence(weight) < KEPT or len(said) > _MAX_CONTENT:
                continue
            count += 1
            _, reason, alternatives = split(said, weight.type)
            fields = {"reason": reason, "alternatives": alternatives}
            yield _event(unit, context, weight, said, asked if "answers" in weight.cues else "", **fields)


def _sayings(text: str) -> list[str]:
    """The sentences of a person; a reason that follows as one of its own belongs to what it is the reason of."""
    said: list[str] = []
    for sentence in sentences(text):
        if said and _REASON.match(sentence):
            said[-1] += " " + sentence
        else:
            said.append(sentence)
    return said


def _event(unit: Unit, context: Context, weight: Weight, content: str, asked: str = "", **fields: Any) -> Event:
    source = {"asked": asked, "cues": ", ".join(sorted(weight.cues))}
    type, topic = weight.type, ""
    if type == model.PLAN:
        # Work that is put off is no plan, and must not take the place of the branch's plan.
        type, topic = model.KNOWLEDGE, "later"
    fields = {"confidence": _confidence(weight), "layer": "keyword", "source": source, "topic": topic, **fields}
    return context.event(unit, type, content, **fields)


def _confidence(weight: Weight) -> float:
    return round(min(_TOP, weight.value), 2)


def _stated(text: str, weight: Weight) -> Weight:
    """The weight, unless the text names its kind itself and that says more. A question states nothing."""
    lowered = text.lower()
    value = min(_TOP, weight.value * _SCALE)
    best = Weight(value, weight.type, weight.cues)
    for type, confidence, trigger, pattern in _STATED:
        if trigger in lowered and confidence > best.value and pattern.search(unquoted(text)):
            doubt = {"question", "ends asking", "asks", "guess", "option", "unsure"} & weight.cues
            given = confidence * (_BELOW_QUESTIONS if doubt else 1.0)
            if given > best.value:
                best = Weight(given, type, weight.cues | {f"stated: {trigger}"})
    return best


def _statement(passage: Passage) -> str:
    """Of a passage the sentence that says most, with one before or after it that it needs to be understood."""
    told = [sentence for sentence in sentences(passage.text) if not narrates(sentence)]
    if not told:
        told = [passage.text]
    weights = [weigh_assistant(sentence, "", False).value for sentence in told]
    best = max(range(len(told)), key=lambda place: weights[place])
    first = last = best
    if first > 0 and _LEANS.match(told[first].lstrip("*_ ")):
        first -= 1
    if (
        last + 1 < len(told)
        and len(told[last + 1].split()) > 2
        and (_LEANS.match(told[last + 1]) or weights[last + 1] >= 0.8 * weights[best])
    ):
        last += 1
    text = " ".join(told[first : last + 1])
    if len(text) > _MAX_CONTENT:
        text = told[best]
    return _tidy(text)


def _vague(statement: str) -> bool:
    """Whether a statement is short and names nothing that it could be about."""
    return len(statement.split()) < 10 and not any(char.isdigit() or char in "`/_" for char in statement)


def _tidy(text: str) -> str:
    text = " ".join(text.replace("**", "").split())
    text = _without_opening(text)
    text = text.strip().lstrip("✅❌⚠️- ").rstrip(": ")
    if len(text) > _MAX_CONTENT:
        text = text[: _MAX_CONTENT - 1].rsplit(" ", 1)[0] + "…"
    return text[:1].upper() + text[1:]


def _without_opening(text: str) -> str:
    """The text without a phrase at its start that only answers somebody."""
    lowered = text[:40].lower().replace("’", "'")
    said = next((opening for opening in _OPENINGS if lowered.startswith(opening)), "")
    ends = [place for mark in _STOPS if said and (place := text.find(mark, len(said), len(said) + 30)) >= 0]
    rest = text[min(ends) :].lstrip(" .!:—–-") if ends else ""
    return rest if len(rest) >= 2 * _MIN_CONTENT else text


def _question(text: str) -> str:
    """The question that an assistant's text ends with; empty if it ends otherwise."""
    end = text.rstrip(" *_\n")[-600:]
    if not end.endswith("?"):
        return ""
    return " ".join(sentences(end.rpartition("\n")[2])[-1:])[:300]


def likely_type(text: str) -> str:
    """The type of event that a text is, from its cues; empty if they say nothing."""
    weight = _stated(text, weigh_assistant(text, "", False))
    return weight.type if weight.cues else ""
