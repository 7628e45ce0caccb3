"""What an item file is: its place, its name, its limits, its checksum, and what was read from it."""

from __future__ import annotations

import functools
import re

from cortex_git.digest import sha256_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_git.events.model import Event
    from cortex_git.views.standing import Step

FOLDER = ".cortex/"
DECISIONS = ".cortex/decisions/"
LEARNED = ".cortex/learned/"
PLANS = ".cortex/plans/"
STATUSES = ("proposed", "accepted", "rejected", "deprecated", "superseded")
MAX_SIZE = 256 * 1024
"""The largest item file, in bytes; larger ones are neither written nor read."""
LINT_OFF = "<!-- markdownlint-disable -->"
_NAMES = {
    DECISIONS: r"\d{4}-\d\d-\d\d-[a-z0-9-]+-([0-9a-f]{7})\.md",
    LEARNED: r"\d{4}-\d\d-\d\d-[0-9a-f]{8}-([0-9a-f]{7})\.md",
    PLANS: r"[a-z0-9-]+-([0-9a-f]{6}-[0-9a-f]{6})-[0-9a-f]{6}\.md",
}
_MUTABLE = "(?m)^(?:status|superseded[-_]by|sum): .*\n"


class Item:
    """One item file as it was read. Without faults it holds at least one event.

    `status` and `superseded_by` are empty for files of facts. `scope` are the globs of the files
    that a decision governs. `steps`, `ticks`, `branch` and `key` (6 digits of the branch's key and 6 of
    the clone that wrote it) are those of a plan. `faults` says what is wrong.
    """

    __slots__ = (
        "amends", "branch", "date", "events", "faults", "key", "path", "relates_to", "scope", "status", "steps",
        "superseded_by", "supersedes", "ticks", "title",
    )  # fmt: skip

    def __init__(self, path: str) -> None:
        self.path = path
        self.title = ""
        self.date = ""
        self.status = ""
        self.supersedes: tuple[str, ...] = ()
        self.superseded_by = ""
        self.amends: tuple[str, ...] = ()
        self.relates_to: tuple[str, ...] = ()
        self.scope: tuple[str, ...] = ()
        self.events: list[Event] = []
        self.steps: list[Step] = []
        self.ticks: list[Event] = []
        self.key = ""
        self.branch = ""
        self.faults: list[str] = []

    @property
    def event(self) -> Event:
        """The event of a decision or plan, the first of a file of facts."""
        return self.events[0]


def is_item(path: str) -> bool:
    """Whether a path is that of an item file."""
    return _name(path) is not None


def ids_of(paths: Iterable[str]) -> set[str]:
    """The first 7 digits of the ids that the names of files of decisions carry."""
    return {match[1] for path in paths if path.startswith(DECISIONS) and (match := _name(path))}


def plan_key(key: str, clone: str) -> str:
    """What tells the plan of one clone for one branch from any other. Each writes a file of its own: none conflicts."""
    return f"{key[:6]}-{clone[:6]}"


def key_of_plan(path: str) -> str:
    """The `plan_key` in the name of a plan's file; empty if it is none."""
    match = _name(path) if path.startswith(PLANS) else None
    return match[1] if match else ""


def session_digits(session: str) -> str:
    """Eight hex digits that stand for a session in a file name: its own first ones where it has them, 0 for none."""
    if not session:
        return "0" * 8
    return (
        session[:8]
        if re.match("[0-9a-f]{8}(?![0-9a-z])", session)
        else sha256_hex(session.encode("utf-8", "replace"))[:8]
    )


def checksum(head: str, body: str) -> str:
    """The checksum over front matter and body, without the lines that may change and its own."""
    return sha256_hex(f"{re.sub(_MUTABLE, '', head)}---\n{body}".encode("utf-8", "replace"))[:16]


@functools.lru_cache(maxsize=4096)
def _name(path: str) -> re.Match[str] | None:
    folder, _, name = path.rpartition("/")
    pattern = _NAMES.get(folder + "/")
    return re.fullmatch(pattern, name) if pattern else None
