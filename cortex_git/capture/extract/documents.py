"""What was added to documents of rules and decisions, and what a client has made of a conversation."""

from __future__ import annotations

from cortex_git.capture.documents import DECISIONS, RECORD, RULES, kind
from cortex_git.capture.extract.keywords import keywords
from cortex_git.capture.extract.prose import outside_code, passages, sentences
from cortex_git.capture.extract.split import split
from cortex_git.capture.patterns import IGNORECASE, MULTILINE, lazy
from cortex_git.capture.units import ASSISTANT
from cortex_git.events import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_git.capture.extract.context import Context
    from cortex_git.capture.units import Unit
    from cortex_git.events.model import Event

RULE = 0.65
RECORDED = 0.8
LISTED = 0.7
UNSURE = 0.45
"""The confidence of a rule among many that are written at once, and of a decision that is still proposed."""
SUMMARISED = 0.4
"""The most that a statement in a summary counts: it was said before, in better words."""
_MOST = 8
_FEW = 25
_MIN, _MAX = 12, 400
_ITEM = lazy(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_RULE = lazy(
    r"\W*(?:always|never|don't|do not|use|prefer|avoid|run|keep|ensure|make sure|must|only|stick to|favou?r|treat|"
    r"require)\b|.*(?:\b(?:must|do not|don't|should(?:n't| not)|not allowed|forbidden)\b|"
    r"(?:[.:;,]|\s[—–-])\s+(?:always|never)\b)",
    IGNORECASE,
)
_HEADING = lazy(r"(#{1,6})\s+(.*?)\s*#*$")
_NUMBERED = lazy(r"\[?\d{4}-\d\d-\d\d\]?\s*[.:)–—-]?\s*|(?:adr[- ]?)?\d+\s*[.:)–—-]\s*", IGNORECASE)
_STATUS = lazy(r"^\W*status\W*(?::|\n+)\s*\W*([a-z]+)", IGNORECASE | MULTILINE)
_PARTS = frozenset(("context", "status", "consequences", "decision", "decisions", "decision log", "alternatives",
                    "rationale", "date", "references", "links", "notes", "summary", "background"))  # fmt: skip


def document(unit: Unit, context: Context) -> Iterator[Event]:
    """The rules or decisions that an edit has written down."""
    given = str(unit.input.get("file_path", ""))
    path = context.path(given, unit.cwd)
    lines = unit.input.get("added")
    if not isinstance(lines, list) or (context.root and path.startswith("/")):
        return
    is_new = unit.input.get("made") is True
    text = "\n".join(line for line in outside_code("\n".join(map(str, lines))) if "[memory" not in line.lower())
    what = kind(given)
    if what == RECORD and is_new:
        yield from _record(text, path, unit, context)
    elif what in (DECISIONS, RULES):
        found = _listed(text) if what == DECISIONS else _rules(text)
        type = model.DECISION if what == DECISIONS else model.PREFERENCE
        # Many lines at once describe a project more than they rule anything, and a client reads them anyway.
        is_new = is_new or len(text.split("\n")) > _FEW
        confidence = UNSURE if is_new else LISTED if what == DECISIONS else RULE
        for statement in found[:_MOST]:
            content, reason, alternatives = split(statement, type)
            yield context.event(unit, type, content, reason=reason, alternatives=alternatives, files=[path],
                                confidence=confidence)  # fmt: skip


def _rules(text: str) -> list[str]:
    """The lines that say what is to be done or left."""
    found = [_plain(passage.text) for passage in passages(text)]
    return [line for line in found if _MIN <= len(line) <= _MAX and _RULE.match(line) and not line.endswith(("?", ":"))]


def _listed(text: str) -> list[str]:
    """The items of a list of decisions, and the headings under which they are told."""
    found: list[str] = []
    for line in text.split("\n"):
        heading = _HEADING.match(line)
        said = heading[2] if heading and len(heading[1]) > 1 else ""
        item = _ITEM.match(line)
        if item and not line.startswith((" ", "\t")) and not (found and found[-1].startswith("#")):
            said = line[item.end() :]
        said = _titled(said)
        if _MIN <= len(said) <= _MAX and said.lower() not in _PARTS:
            found.append(said)
    return found


def _record(text: str, path: str, unit: Unit, context: Context) -> Iterator[Event]:
    """The decision that a file of its own was made for."""
    title, sections = _sections(text)
    status = _STATUS.search(text)
    state = status[1].lower() if status else sections.get("status", "").strip().partition(" ")[0].lower()
    if not title or state in ("superseded", "deprecated"):
        return
    outcome = next((body for name, body in sections.items() if name.startswith("decision") and body.strip()), "")
    said = [sentence for passage in passages(outcome) for sentence in sentences(_plain(passage.text))]
    statement = "".join(said[:1])[:_MAX]
    type = model.REJECTED if state == "rejected" else model.DECISION
    content, reason, alternatives = split(statement or title, type)
    options = next((body for name, body in sections.items() if "option" in name or "alternative" in name), "")
    listed = [_plain(line[found.end() :])[:120] for line in options.split("\n") if (found := _ITEM.match(line))]
    yield context.event(
        unit,
        type,
        content if title in content or not statement else f"{title}: {content}",
        reason=reason,
        alternatives=alternatives or [option for option in listed if option and option not in content][:_MOST],
        files=[path],
        confidence=UNSURE if state in ("proposed", "draft") else RECORDED,
    )


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """The title of a document, and by heading (in lower case) what stands below."""
    title, name = "", ""
    sections: dict[str, list[str]] = {}
    for line in text.split("\n"):
        heading = _HEADING.match(line)
        if heading and len(heading[1]) == 1 and not title:
            title = _titled(heading[2])
        elif heading:
            name = heading[2].lower().strip("*: ")
        else:
            sections.setdefault(name, []).append(line)
    return title, {name: "\n".join(lines) for name, lines in sections.items() if name}


def _titled(text: str) -> str:
    """A title without its number or date."""
    found = _NUMBERED.match(text)
    return _plain(text[found.end() :] if found else text)


def _plain(text: str) -> str:
    return " ".join(text.replace("**", "").replace("__", "").split())


def summary(unit: Unit, context: Context) -> Iterator[Event]:
    """What a summary states, as candidates that are kept and not shown."""
    for event in keywords(unit.replace(kind=ASSISTANT, agent="summary"), context):
        confidence = min(SUMMARISED, event.confidence)
        yield event.replace(confidence=confidence, agent=unit.agent, source={**event.source, "tool": "compaction"})
