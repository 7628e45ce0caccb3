"""Plans: out of Markdown, out of to-do lists, and out of task tools that make them a step at a time."""

from __future__ import annotations

from cortex_git.capture.extract.prose import outside_code
from cortex_git.capture.patterns import IGNORECASE, lazy
from cortex_git.capture.units import AGENT, clean
from cortex_git.events.model import PLAN, STEP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from cortex_git.capture.extract.context import Context
    from cortex_git.capture.units import Unit
    from cortex_git.events.model import Event

MAX_STEPS = 40
_MAX_STEP = 240
_TODO_TITLE = "To do"
_HEADING = lazy(r"(#{1,6})\s+(.*?)\s*#*$")
_CHECKBOX = lazy(r"\s*(?:[-*+]|\d+[.)])\s+\[([ xX])\]\s+(.+)")
_NUMBERED = lazy(r"(\s?)\d+[.)]\s+(.+)")
_BULLET = lazy(r"(\s?)[-*+]\s+(.+)")
_STEP_HEADING = lazy(r"(?:(?:step|phase|task|part|change|stage)\s*\d+|\d+)\s*[.):—–-]*\s*(.+)", IGNORECASE)
_TITLE_WORD = lazy(r"(?:implementation\s+)?plan\s*[:—–-]\s*", IGNORECASE)
_STEPS_WORD = lazy(r"step|implement|approach|plan|task|to.?do|change|order|sequence|phase", IGNORECASE)


def render(title: str, steps: Iterable[tuple[str, bool]]) -> str:
    """The content of a plan's event: a title, then a line a step, `- [x] ` before one that is done."""
    lines = [f"- [{'x' if done else ' '}] {_one_line(text)}" for text, done in steps if _one_line(text)]
    return "\n".join([_one_line(title), *lines[:MAX_STEPS]])


def outline(markdown: str) -> str:
    """The title and the steps of a plan in Markdown, as the content of an event; empty if it has no words."""
    lines = list(outside_code(markdown))
    headings = [(len(found[1]), found[2]) for line in lines if (found := _HEADING.match(line))]
    title = headings[0][1] if headings else next((line for line in lines if line.strip()), "")
    title = _TITLE_WORD.sub("", _plain(title), count=1)
    return render(title, _steps(lines, headings)) if title or lines else ""


def _steps(lines: list[str], headings: list[tuple[int, str]]) -> list[tuple[str, bool]]:
    boxes = [(found[2], found[1] != " ") for line in lines if (found := _CHECKBOX.match(line))]
    if len(boxes) > 1:
        return boxes
    for depth in (2, 3, 4):
        here = [_plain(text) for level, text in headings if level == depth]
        named = [found[1] for text in here if (found := _STEP_HEADING.match(text))]
        if len(named) > 1:
            return [(text, False) for text in named]
    lists = list(_lists(lines))
    lists.sort(key=lambda found: (not found[0], not found[1]))
    return [(text, False) for text in lists[0][2]] if lists else []


def _lists(lines: list[str]) -> Iterator[tuple[bool, bool, list[str]]]:
    """Lists of two items and more: whether the heading above speaks of steps, whether it is numbered, the items."""
    heading = ""
    for pattern in (_NUMBERED, _BULLET):
        items: list[str] = []
        for line in [*lines, "# "]:
            found = _HEADING.match(line)
            if found and len(items) > 1:
                yield bool(_STEPS_WORD.search(heading)), pattern is _NUMBERED, items
            if found:
                heading, items = found[2], []
            elif item := pattern.match(line):
                items.append(item[2])


class Tasks:
    """The tasks of a session as its task tools made them, kept in the context's memo.

    A plan is told when something else follows the calls that made its tasks, so that it is
    told once, and at the same place however the units are cut into pieces.
    """

    def __init__(self, kept: dict[str, Any]) -> None:
        tasks = kept.get("tasks")
        self._kept = kept
        entries = tasks.items() if isinstance(tasks, dict) else ()
        self._tasks = {id: list(task) for id, task in entries if isinstance(task, list) and len(task) == 3}

    def settle(self, unit: Unit, context: Context) -> Iterator[Event]:
        """The plan that earlier calls made, unless this unit goes on with it."""
        last = self._kept.get("made")
        if unit.tool != "TaskCreate" and unit.agent == AGENT and isinstance(last, dict):
            del self._kept["made"]
            steps = [(str(text), state == "completed") for text, state, _ in self._tasks.values() if state != "deleted"]
            made = unit.replace(**last)
            yield context.event(made, PLAN, render(_TODO_TITLE, steps))

    def create(self, unit: Unit) -> None:
        """Note a new task."""
        subject, task = str(unit.input.get("subject", "")), unit.facts.get("task", "")
        known = self._tasks.get(task)
        if not subject or not task or (known and known[2] == unit.id):
            return
        self._tasks[task] = [subject, "pending", unit.id]
        self._kept["tasks"] = self._tasks
        self._kept["made"] = {"id": unit.id, "time": unit.time, "tool": unit.tool, "agent": unit.agent}

    def update(self, unit: Unit, context: Context) -> Iterator[Event]:
        """Note a task's new state, and tell of a step that is done."""
        task, state = str(unit.input.get("taskId", "")), str(unit.input.get("status", ""))
        known = self._tasks.get(task)
        if known is None or not state:
            return
        known[1] = state
        self._kept["tasks"] = self._tasks
        if state == "completed":
            yield context.event(unit, STEP, _one_line(known[0]))


def todo_events(unit: Unit, context: Context) -> Iterator[Event]:
    """A to-do list: the plan if its steps are new, and each step that was done since the list before."""
    session = context.session(unit)
    kept = session["todos"] = session["todos"] if isinstance(session.get("todos"), dict) else {}
    new, old = _todos(unit.input.get("todos")), _todos(unit.input.get("oldTodos"))
    if not old:  # some clients always say that there was none
        before = kept.get(unit.agent)
        old = before if isinstance(before, dict) else {}
    kept[unit.agent] = new
    if new and list(new) != list(old):
        yield context.event(unit, PLAN, render(_TODO_TITLE, new.items()))
    for text, done in new.items():
        if done and old.get(text) is False:
            yield context.event(unit, STEP, text)


def _todos(value: object) -> dict[str, bool]:
    entries = [entry for entry in value[:MAX_STEPS] if isinstance(entry, dict)] if isinstance(value, list) else []
    found = ((_one_line(clean(entry.get("content"), 1000)), entry.get("status") == "completed") for entry in entries)
    return {text: done for text, done in found if text}


def _plain(text: str) -> str:
    return text.replace("**", "").replace("__", "").strip()


def _one_line(text: str) -> str:
    flat = " ".join(_plain(text).split())
    return flat if len(flat) <= _MAX_STEP else flat[: _MAX_STEP - 1] + "…"
