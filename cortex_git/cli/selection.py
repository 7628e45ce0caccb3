"""Which events a listing shows: the options that all listings share, and what they select."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cortex_git.env import Env, rfc3339
from cortex_git.errors import CortexError, UsageError
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.memory import Memory
from cortex_git.store.repo import Repo
from cortex_git.views.standing import Standing, fold, parse_plan, unique

NAMES: Mapping[str, tuple[str, ...]] = {
    "decision": (model.DECISION,),
    "rejected": (model.REJECTED,),
    "plan": (model.PLAN,),
    "step": (model.STEP,),
    "learned": (model.KNOWLEDGE,),
    "fixed": (model.RESOLVED,),
    "preference": (model.PREFERENCE,),
    "task": (model.TASK,),
    "file": (model.FILE_MODIFIED,),
    "explored": (model.FILE_EXPLORED,),
    "command": (model.COMMAND,),
    "session": (model.SESSION_STARTED, model.SESSION_ENDED),
    "commit": (model.COMMIT,),
}
"""What people call the types of events."""
LABELS: Mapping[str, str] = {type: name for name, types in NAMES.items() for type in types}
SHORTEST = 7
"""The fewest digits of an id that are shown."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TIME_WORDS = re.compile(
    r"\d|\b(now|today|yesterday|midnight|noon|tea|never|last|ago|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*"
    r"|(second|minute|hour|day|week|month|year)s?)\b",
    re.IGNORECASE,
)


if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _Base = click.ParamType[frozenset[str]]
else:  # which is no generic class in all versions
    _Base = click.ParamType


class Types(_Base):
    """One or more types of events by their short or full names, joined by commas."""

    name = "type"

    def __init__(self, allowed: Iterable[str] = model.TYPES) -> None:
        self._allowed = frozenset(allowed)
        self._names = {name: types for name, types in NAMES.items() if self._allowed & set(types)}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> frozenset[str]:
        """The full names."""
        if isinstance(value, frozenset):
            return value
        found: set[str] = set()
        for name in str(value).lower().split(","):
            types = self._names.get(name.strip()) or ({name.strip()} & self._allowed)
            if not types:
                self.fail(f"there is no type {name!r}; there are {', '.join(self._names)}", param, ctx)
            found.update(types)
        return frozenset(found)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """The short names."""
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",")
        names = (name for name in self._names if name.startswith(last))
        return [CompletionItem(before + comma + name) for name in names]


class Selection(NamedTuple):
    """What the shared options ask for."""

    types: frozenset[str]
    everything: bool
    withdrawn: bool
    min_confidence: float | None
    branch: str | None
    all_branches: bool
    since: str | None
    until: str | None
    session: str | None
    author: str | None


class Selected:
    """The events that were asked for, oldest first, and what is known about all events of the same place."""

    def __init__(self, events: list[Event], pool: list[Event]) -> None:
        self.events = events
        self.standing: Standing = fold(filter(_changes_states, pool))
        self._lengths = id_lengths(pool)
        self._branches: set[str] | None = None

    def mark_gone(self, memory: Memory) -> None:
        """From now on say of an event that its branch is gone; what one branch sees may well be from others."""
        self._branches = branches(memory)

    def remarks(self, event: Event) -> list[tuple[str, str]]:
        """What is to be said of an event besides what it says itself, as fields."""
        gone = self._branches is not None and event.branch and event.branch not in self._branches
        return [("Gone", "the branch is no longer there")] if gone else []

    def short(self, id: str) -> str:
        """The id as short as it is unambiguous."""
        return id[: self._lengths.get(id, SHORTEST)]


def _changes_states(event: Event) -> bool:
    """Whether an event says how another one stands."""
    return event.type in model.STATE_CHANGES or model.CORRECTS in event.source


def id_lengths(events: Iterable[Event]) -> dict[str, int]:
    """How many digits are needed for those ids of which the first `SHORTEST` digits are not enough."""
    groups: dict[str, list[str]] = {}
    for event in events:
        groups.setdefault(event.id[:SHORTEST], []).append(event.id)
    lengths: dict[str, int] = {}
    for group in groups.values():
        for length in range(SHORTEST + 1, 17) if len(group) > 1 else ():
            starts = [id[:length] for id in group]
            for id in group:
                if starts.count(id[:length]) == 1:
                    lengths.setdefault(id, length)
    return lengths


def _branches(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    env = ctx.find_object(Env)
    repo = Repo.discover(env.cwd, env.variables) if env else None
    if repo is None:
        return []
    out = repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads")
    return [name for name in out.decode("utf-8", "replace").splitlines() if name.startswith(incomplete)]


_OPTIONS = [
    click.option(
        "--type",
        "types",
        type=Types(),
        multiple=True,
        metavar="TYPE",
        help=f"Only this type; may be given again: {', '.join(NAMES)}. Without it: what was decided, rejected, "
        "learned and planned.",
    ),
    click.option("--everything", is_flag=True, help="All types, also what was withdrawn and what is uncertain."),
    click.option("--withdrawn", is_flag=True, help="Also what was retracted or superseded, marked as such."),
    click.option(
        "--min-confidence",
        type=click.FloatRange(0, 1),
        metavar="NUMBER",
        help="How certain a memory must be, 0 to 1; by default as the setting projections.min_confidence says.",
    ),
    click.option(
        "--branch",
        metavar="NAME",
        shell_complete=_branches,
        help="What this branch (or commit) sees, in place of the branch that is checked out.",
    ),
    click.option("--all", "all_branches", is_flag=True, help="All branches of all clones."),
    click.option(
        "--since", "--after", metavar="DATE", help="Not older: a day, or as git has it: `2.weeks`, `3 days ago`."
    ),
    click.option("--until", "--before", metavar="DATE", help="Not younger."),
    click.option("--session", metavar="ID", help="Only this session of an assistant; the start of its id is enough."),
    click.option(
        "--author", metavar="NAME", help="Only what this person or assistant said; a part of the name will do."
    ),
]


def selecting(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that select events; it gets them as one argument `selection`."""

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> None:
        values = {name: given.pop(name) for name in Selection._fields}
        values["types"] = frozenset().union(*values["types"])
        if values["branch"] and values["all_branches"]:
            raise UsageError("--branch and --all exclude each other; give one of them")
        function(*args, selection=Selection(**values), **given)

    decorated: Callable[..., None] = call
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def select(memory: Memory, selection: Selection) -> Selected:
    """The events that the selection asks for.

    Raises CortexError if there is no such branch, UsageError for a date that is none.
    """
    wanted = tests(memory, selection)
    keep_dead = selection.withdrawn or selection.everything
    left_over = [] if selection.branch is None else of_gone_branch(memory, selection.branch)
    whole = selection.all_branches or bool(left_over)
    pool = left_over or (memory.everything() if selection.all_branches else memory.visible(selection.branch))
    gone: list[Event] = []
    if keep_dead and not whole:
        from cortex_git.cli.withdrawn import deleted

        gone = deleted(memory, selection.branch)
        pool = unique([*pool, *gone])
    found = Selected([], pool)
    if whole:
        found.mark_gone(memory)
    found.standing.retracted.update(event.id for event in gone)
    found.standing.accepted |= memory.merged()
    for event in pool:
        alive = keep_dead or not found.standing.dead(event.id)
        if alive and all(test(event) for test in wanted):
            found.events.append(event)
    return found


def is_whole(selection: Selection) -> bool:
    """Whether what is over is asked for as well."""
    return selection.all_branches or selection.withdrawn or selection.everything


def without_former(events: list[Event]) -> list[Event]:
    """Of the states that one plan of a branch went through only the newest, with all other events."""
    newest = {_plan_of(event): event.id for event in events if event.type == model.PLAN}
    return [event for event in events if event.type != model.PLAN or newest[_plan_of(event)] == event.id]


def _plan_of(event: Event) -> tuple[str, str]:
    return (event.branch, parse_plan(event.content)[0])


def branches(memory: Memory) -> set[str]:
    """The names of all branches that are here or on a remote."""
    out = memory.repo.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").decode("utf-8", "replace")
    theirs = memory.repo.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes").decode("utf-8", "replace")
    return {*out.splitlines(), *theirs.splitlines(), memory.repo.branch() or ""}


def of_gone_branch(memory: Memory, name: str) -> list[Event]:
    """What was recorded on a branch that is not there any more; nothing if there is such a branch or commit."""
    try:
        memory.position(name)
    except CortexError:
        return [event for event in memory.everything() if event.branch == name]
    return []


def tests(memory: Memory, selection: Selection) -> list[Callable[[Event], bool]]:
    """What an event has to pass. Raises UsageError for a date that is none."""
    found: list[Callable[[Event], bool]] = []
    types = selection.types or (frozenset() if selection.everything else model.SEMANTIC)
    least = least_confidence(memory, selection)
    since = moment(memory, selection.since, "--since") if selection.since is not None else ""
    until = moment(memory, selection.until, "--until") if selection.until is not None else ""
    session, author = selection.session, (selection.author or "").casefold()
    if types:
        found.append(lambda event: event.type in types)
    if least:
        found.append(lambda event: event.confidence >= least)
    if since:
        found.append(lambda event: event.time >= since)
    if until:
        found.append(lambda event: event.time <= until)
    if session:
        found.append(lambda event: event.session.startswith(session))
    if author:
        found.append(lambda event: author in f"{event.author} {event.agent}".casefold())
    return found


def least_confidence(memory: Memory, selection: Selection) -> float:
    """How certain an event must be, as asked for, else as the settings say."""
    if selection.min_confidence is not None:
        return selection.min_confidence
    return 0.0 if selection.everything else memory.config.projections_min_confidence


def moment(memory: Memory, text: str, option: str) -> str:
    """A date as git understands it, as events hold it.

    A day alone counts whole. Raises UsageError for text in which git would find no date: it
    would take it for this moment, and nothing would be shown.
    """
    if not _TIME_WORDS.search(text):
        raise UsageError(f"{option}: {text!r} is no date; write for example 2026-01-31 or '2 weeks ago'")
    late = option == "--until"
    if _DAY.fullmatch(text.strip()):
        text = f"{text.strip()} {'23:59:59' if late else '00:00:00'}"
    now = {"GIT_TEST_DATE_NOW": str(int(memory.env.clock()))}
    answer = memory.repo.git("rev-parse", f"--since={text}", variables=now).decode("ascii", "replace").strip()
    seconds = int(answer.removeprefix("--max-age="))
    return rfc3339(seconds + (0.999 if late else 0))
