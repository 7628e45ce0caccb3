"""The one table of what a search can be narrowed by.

Every arm of the search filters through it: a value is taken from the event in one way and compared
in one way, whether it comes from the index or from the event itself.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from cortex_git.env import rfc3339
from cortex_git.errors import UsageError
from cortex_git.events import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cortex_git.events.model import Event

    Test = Callable[[str], bool]

_SHORT_TYPES = {"learned": model.KNOWLEDGE, "fact": model.KNOWLEDGE, "fixed": model.RESOLVED, "step": model.STEP}
_AGO = re.compile(r"(\d{1,4})\s*\.?\s*(h|hours?|d|days?|w|weeks?|m|months?|y|years?)(?:\s*\.?\s*ago)?")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24, "y": 365 * 24}
_MOMENT = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:?\d\d)?)?)?)?")


class Field:
    """A field: `values` takes its values from an event, `test` makes a comparison with what was asked for.

    `test` is given the argument and the present time and raises UsageError for an argument that makes no sense.
    `in_key` says that the index holds the value in every document's key, not as a facet.
    """

    def __init__(
        self,
        name: str,
        values: Callable[[Event], Iterable[str]],
        test: Callable[[str, str], Test],
        meaning: str,
        in_key: bool = False,
    ) -> None:
        self.name = name
        self.values = values
        self.test = test
        self.meaning = meaning
        self.in_key = in_key


def _is_type(argument: str, now: str) -> Test:
    wanted = argument.lower().replace("-", "_")
    wanted = _SHORT_TYPES.get(wanted, wanted)
    known = [type for type in sorted(model.TYPES) if wanted == type or wanted in type.split("_")]
    if not known:
        raise UsageError(f"there is no type {argument}; the types are {', '.join(sorted(model.TYPES))}")
    return frozenset(known).__contains__


def _matches(argument: str, now: str) -> Test:
    if not re.search(r"[*?\[]", argument):
        return argument.__eq__
    return lambda value: fnmatchcase(value, argument)


def _contains(argument: str, now: str) -> Test:
    wanted = argument.casefold()
    return lambda value: wanted in value.casefold()


def _starts(argument: str, now: str) -> Test:
    return lambda value: value.startswith(argument)


def _is_path(argument: str, now: str) -> Test:
    wanted = argument.removeprefix("./")
    if re.search(r"[*?\[]", wanted):
        return lambda value: fnmatchcase(value, wanted) or fnmatchcase(value, "*/" + wanted)
    inside = wanted.rstrip("/")
    return lambda value: f"/{inside}/" in f"/{value}/"


def _since(argument: str, now: str) -> Test:
    bound = moment(argument, now)
    return lambda value: value >= bound


def _until(argument: str, now: str) -> Test:
    bound = moment(argument, now)
    return lambda value: value < bound


FIELDS: Mapping[str, Field] = {
    field.name: field
    for field in (
        Field("type", lambda e: (e.type,), _is_type, "a type of event or a word of its name: decision, rejected, …"),
        Field("branch", lambda e: (e.branch,), _matches, "the branch it was recorded on; * and ? stand for anything"),
        Field("file", lambda e: e.files, _is_path, "a file or folder that it is about: a name, a path or a glob"),
        Field("author", lambda e: (e.author,), _contains, "part of the name of who was working"),
        Field("agent", lambda e: (e.agent,), _contains, "part of the assistant's name, or user"),
        Field("session", lambda e: (e.session,), _starts, "the start of a session's id"),
        Field("commit", lambda e: (e.commit,), _starts, "the start of the id of the commit that was checked out"),
        Field("since", lambda e: (e.time,), _since, "not before a date, a time, or so long ago: 2026-05-01, 2w", True),
        Field("until", lambda e: (e.time,), _until, "before a date, a time, or so long ago", True),
    )
}


class Filter:
    """One condition: a value of the field must match one of the arguments, or, if `negated`, none may.

    Raises UsageError for a field that there is not, and for arguments that make no sense.
    """

    __slots__ = ("arguments", "field", "negated", "tests")

    def __init__(self, name: str, arguments: Sequence[str], now: str = "", negated: bool = False) -> None:
        if name not in FIELDS:
            raise UsageError(f"there is no field {name}; a search can be narrowed by {', '.join(FIELDS)}")
        self.field = FIELDS[name]
        self.arguments = tuple(arguments)
        self.negated = negated
        self.tests = [self.field.test(argument, now) for argument in arguments]

    def matches(self, value: str) -> bool:
        """Whether a value is one of those asked for, `negated` left aside."""
        return any(test(value) for test in self.tests)

    def accepts(self, event: Event) -> bool:
        """Whether an event fulfils the condition."""
        return any(map(self.matches, self.field.values(event))) != self.negated

    def __repr__(self) -> str:
        return f"{'-' if self.negated else ''}{self.field.name}:{','.join(self.arguments)}"


def moment(text: str, now: str = "") -> str:
    """A date (a year or month too), a time or a span before `now`, as RFC 3339 in UTC.

    Raises UsageError if it is neither, or a span when `now` is not given.
    """
    asked = text.strip()
    word = {"today": now[:10], "yesterday": "1 day"}.get(asked.lower(), asked)
    if _MOMENT.fullmatch(word):
        return _absolute(word)
    if now and (ago := _AGO.fullmatch(word.lower())):
        return rfc3339(_seconds(now) - int(ago.group(1)) * 3600 * _HOURS[ago.group(2)[0]])
    raise UsageError(f"{text!r} is no time; give one like 2026-05-01, 2026-05-01T14:30 or 2w")


def _absolute(text: str) -> str:
    try:
        when = datetime.fromisoformat(text + "-01-01"[len(text) - 10 :] if len(text) < 10 else text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no time: {error}") from error
    return rfc3339((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
