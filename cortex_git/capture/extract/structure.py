"""What needs no reading between the lines: tool calls, answers, refusals, plans, the bounds of a session."""

from __future__ import annotations

from cortex_git.capture import units
from cortex_git.capture.extract import commits, documents, fixes, plans
from cortex_git.capture.patterns import IGNORECASE, lazy
from cortex_git.capture.units import clean
from cortex_git.events import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cortex_git.capture.extract.context import Context
    from cortex_git.capture.units import Unit
    from cortex_git.events.model import Event

    Handler = Callable[[Unit, Context], Iterable[Event]]

EDITING = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
READING = frozenset({"Read", "NotebookRead"})
SEARCHING = frozenset({"Grep", "Glob"})
SHELLS = frozenset({"Bash", "PowerShell"})
_NAMED = {"Task": "description", "Agent": "description", "Skill": "skill", "WebFetch": "url", "WebSearch": "query"}
_OWN = "cortex"
_MAX_COMMAND = 2000
_MAX_ANSWER = 300
ANSWERED = 0.9
REFUSED = 0.7
PASSING = 0.4
"""Confidence of an answer or a refusal that is about the next minute only."""
_NEXT_ACTION = lazy(
    r"\b(?:shall|should) (?:i|we)\b.*\b(?:commit|push|proceed|continue|merge|run|go ahead|start)\b|"
    r"\b(?:want|like) me to\b.*\b(?:commit|push|proceed|continue|merge|run|go ahead)\b|"
    r"\bready to\b|\bhow (?:should|would) .*\bproceed\b|\bnext steps?\b|\bwhat (?:next|now)\b",
    IGNORECASE,
)
_ASKING = ("why", "what", "how", "is ", "are ", "does", "do ", "can ", "could", "where", "wait", "pause", "hold on")


def structure(unit: Unit, context: Context) -> Iterator[Event]:
    """The events that the structure of a unit tells of."""
    tasks = plans.Tasks(context.session(unit))
    yield from tasks.settle(unit, context)
    handler = _HANDLERS.get(unit.kind)
    if handler is not None:
        yield from handler(unit, context)


def _tool(unit: Unit, context: Context) -> Iterable[Event]:
    if unit.tool in SHELLS or unit.tool in _NAMED:
        return _command(unit, context)
    if unit.tool in EDITING or unit.tool in READING or unit.tool in SEARCHING:
        return _file(unit, context) if unit.ok is not False else ()
    if unit.tool.startswith("mcp__") and _OWN not in unit.tool:
        return [context.event(unit, model.COMMAND, unit.tool, source=_outcome(unit))]
    if unit.ok is False or unit.agent != units.AGENT:
        return ()  # a subagent's list of steps is not the plan of the branch
    if unit.tool == "TodoWrite":
        return plans.todo_events(unit, context)
    if unit.tool == "TaskCreate":
        plans.Tasks(context.session(unit)).create(unit)
    elif unit.tool == "TaskUpdate":
        return plans.Tasks(context.session(unit)).update(unit, context)
    return ()


def _command(unit: Unit, context: Context) -> Iterator[Event]:
    if unit.tool in SHELLS:
        content = clean(unit.input.get("command"), _MAX_COMMAND).strip()
    else:
        content = f"{unit.tool}: {clean(unit.input.get(_NAMED[unit.tool]), _MAX_COMMAND).strip()}"
    if not content or ignored(content, context):
        return
    yield context.event(unit, model.COMMAND, content, reason=_tail(unit.answer), source=_outcome(unit))
    if unit.tool in SHELLS:
        yield from fixes.fixes(unit, context, is_edit=False)


def _outcome(unit: Unit) -> dict[str, str]:
    return dict(unit.facts) if unit.ok is None else {**unit.facts, "ok": "true" if unit.ok else "false"}


def _file(unit: Unit, context: Context) -> Iterator[Event]:
    name = "notebook_path" if unit.tool.startswith("Notebook") else "path" if unit.tool in SEARCHING else "file_path"
    given = clean(unit.input.get(name), 4096).strip()
    path = context.path(given, unit.cwd) if given else ""
    if path and ignored(path, context):
        return
    content = path
    if unit.tool in SEARCHING:
        pattern = clean(unit.input.get("pattern"), 400)
        content = f"{unit.tool} {pattern} in {path}" if path else f"{unit.tool} {pattern}"
    if content:
        type = model.FILE_MODIFIED if unit.tool in EDITING else model.FILE_EXPLORED
        yield context.event(unit, type, content, files=[path] if path else [])
    if unit.tool in EDITING:
        yield from fixes.fixes(unit, context, is_edit=True, path=path)
    if "added" in unit.input:
        yield from documents.document(unit, context)


def ignored(name: str, context: Context) -> bool:
    """Whether the settings say that a file or a command is never remembered."""
    if not context.config.capture_ignore:
        return False
    from fnmatch import fnmatchcase

    return any(
        fnmatchcase(name, pattern) or fnmatchcase(name.rpartition("/")[2], pattern)
        for pattern in context.config.capture_ignore
    )


def _question(unit: Unit, context: Context) -> Iterator[Event]:
    """The answer to a question is a decision by a person, with what else there was to choose."""
    answer = unit.answer.removesuffix(" (Recommended)")
    passing = _NEXT_ACTION.search(unit.text)
    options = unit.input.get("options")
    choices = options if isinstance(options, list) else []
    chosen = [(label, description) for label, description in choices if label in (unit.answer, answer)]
    others = [label for label, _ in choices if label not in unit.answer]
    yield context.event(
        unit,
        model.DECISION,
        f"{unit.text} → {answer}",
        by_person=True,
        topic=clean(unit.input.get("header"), 80),
        reason=clean(unit.input.get("note")) or (chosen[0][1] if chosen else ""),
        alternatives=[label.removesuffix(" (Recommended)") for label in others],
        confidence=PASSING if passing else ANSWERED,
    )


def _refusal(unit: Unit, context: Context) -> Iterator[Event]:
    said = " ".join(unit.answer.split())
    if not said:
        return
    asking = said.endswith("?") or said.lower().startswith(_ASKING)
    what = _what_was_refused(unit, context)
    yield context.event(
        unit,
        model.REJECTED,
        f"{said} (refused: {what})" if what else said,
        by_person=True,
        confidence=PASSING if asking else REFUSED,
    )


def _what_was_refused(unit: Unit, context: Context) -> str:
    values = (unit.input.get(name) for name in ("command", "file_path", "description", "url", "query"))
    detail = next((value for value in values if isinstance(value, str) and value.strip()), "")
    if unit.tool in EDITING and detail:
        detail = context.path(detail, unit.cwd)
    detail = " ".join(detail.split())
    what = f"{unit.tool} {detail}".strip()
    if unit.tool == "ExitPlanMode":
        what = "the plan " + plans.outline(clean(unit.input.get("plan"))).partition("\n")[0]
    return what if len(what) <= 100 else what[:99] + "…"


def _plan(unit: Unit, context: Context) -> Iterator[Event]:
    content = plans.outline(unit.text)
    if content:
        yield context.event(unit, model.PLAN, content)


def _note(unit: Unit, context: Context) -> Iterator[Event]:
    yield context.event(unit, model.PREFERENCE, " ".join(unit.text.split()), by_person=True)


def _session(unit: Unit, context: Context) -> Iterator[Event]:
    started = unit.text == units.STARTED
    yield context.event(unit, model.SESSION_STARTED if started else model.SESSION_ENDED, unit.answer)


def _tail(text: str) -> str:
    """The last line of an error that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:_MAX_ANSWER] if lines else ""


_HANDLERS: dict[str, Handler] = {
    units.TOOL: _tool,
    units.QUESTION: _question,
    units.REFUSAL: _refusal,
    units.PLAN: _plan,
    units.NOTE: _note,
    units.COMMIT: commits.commit,
    units.SUMMARY: documents.summary,
    units.SESSION: _session,
}
