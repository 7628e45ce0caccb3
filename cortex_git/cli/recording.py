"""Recording what a command was told, and saying what became of it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from cortex_git import live, snapshot
from cortex_git.cli import text
from cortex_git.cli.opening import warn_of_settings
from cortex_git.cli.selection import SHORTEST
from cortex_git.cli.terminal import Screen, wants_colour, warn, write_json
from cortex_git.env import Env
from cortex_git.errors import CortexError, UsageError
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.events.redact import redact_event
from cortex_git.memory import Memory
from cortex_git.projections.items import item_files
from cortex_git.store.repo import Repo


class Details(NamedTuple):
    """What may be said beside the text itself."""

    reason: str = ""
    alternatives: tuple[str, ...] = ()
    topic: str = ""
    files: tuple[str, ...] = ()
    private: bool = False
    as_json: bool = False


_PATTERN = re.compile(r"[*?\[]")
NO_DETAILS = Details()


def read_text(env: Env, words: Sequence[str]) -> str:
    """The text that a command was given, from standard input for `-`. Raises UsageError if it is empty."""
    given = " ".join(words)
    if given.strip() == "-":
        given = env.stdin.read(4 * model.MAX_CONTENT).decode("utf-8", "replace")
    if not given.strip():
        raise UsageError("the text is empty; say what is to be remembered")
    return _text(given)


def new_event(memory: Memory, type: str, content: str, details: Details = NO_DETAILS, target: str = "") -> Event:
    """An event that this command makes.

    In a session of an assistant it is the assistant who runs the command: then the event is of its
    session and counts as said by a tag, so that a decision is a proposal.
    """
    session = memory.env.variables.get("CLAUDE_CODE_SESSION_ID", "")
    return Event(
        type,
        content,
        time=memory.env.now(),
        session=session,
        agent="claude-code" if session else "user",
        layer="tag" if session else "user",
        reason=_text(details.reason),
        alternatives=[_text(choice) for choice in details.alternatives if choice.strip()],
        topic=_text(details.topic),
        files=[_from_root(memory.repo, memory.env.cwd, path) for path in details.files if path.strip()],
        marks=[model.PRIVATE] if details.private else [],
        target=target,
    )


def record(memory: Memory, type: str, content: str, details: Details) -> None:
    """Store one event and say so, or that it was known already. Raises CortexError if it was taken out before."""
    env = memory.env
    warn_of_settings(memory)
    wanted = redact_event(new_event(memory, type, content, details))
    _warn_of_missing(env, details.files)
    standing = snapshot.standing(memory)
    short = wanted.id[:SHORTEST]
    if wanted.id in memory.purged().ids:
        raise CortexError(f"{short} was purged from the memory, and stays so; say it in other words")
    if _is_gone(memory, wanted):
        raise CortexError(f"{short} was taken out by deleting its file in a commit; bring the file back or reword it")
    if standing.dead(wanted.id):
        by = standing.superseded.get(wanted.id, "")[:SHORTEST]
        state = f"superseded by {by}" if by else "retracted"
        raise CortexError(f"{short} says that and was {state}; `git cortex undo {short}` brings it back")
    new = store(memory, [wanted])
    stored = new[0] if new else _known(memory, wanted)
    standing = snapshot.standing(memory)
    if details.as_json:
        write_json(env, {**text.as_dict(stored, standing), "new": bool(new)})
    else:
        out = Screen(env.stdout, wants_colour(env, memory.repo.git_config(), "auto"))
        known = "" if new else " (known already)"
        out.line(f"[{out.paint(stored.id[:SHORTEST], 'id')}] {text.label(stored)}: {text.headline(stored)}{known}")
    lost = [] if new else _lost(wanted, stored)
    if lost:
        said = f"it is known already, and the {' and the '.join(lost)} given now will not be added to it"
        warn(env, f"{said}; say it in other words to record them")


def _known(memory: Memory, wanted: Event) -> Event:
    """The stored copy of an event that was known."""
    return next((event for event in memory.visible() if event.id == wanted.id), wanted)


def _lost(wanted: Event, stored: Event) -> list[str]:
    """The details that were given and that the stored copy lacks."""
    found = {
        "reason": wanted.reason and wanted.reason != stored.reason,
        "alternatives": set(wanted.alternatives) - set(stored.alternatives),
        "topic": wanted.topic and wanted.topic != stored.topic,
        "files": set(wanted.files) - set(stored.files),
        "mark `private`": wanted.private and not stored.private,
    }
    return [name for name, lacks in found.items() if lacks]


def _warn_of_missing(env: Env, files: Sequence[str]) -> None:
    """Say which of the files are not there: one may be still to come, or be misspelt."""
    for path in files:
        if path.strip() and not _PATTERN.search(path) and not os.path.lexists(os.path.join(env.cwd, path.strip())):
            warn(env, f"there is no file {path} now; it is recorded all the same")


def _is_gone(memory: Memory, event: Event) -> bool:
    """Whether a commit has deleted the item of an event, so that it is not shown although it is stored."""
    head = memory.repo.head()
    return head is not None and event.id in memory.gone(head, item_files(memory.backend, head))


def store(memory: Memory, events: Sequence[Event]) -> list[Event]:
    """Store events, return the new ones, and bring the live view up to date."""
    new = memory.record(events)
    refresh(memory)
    return new


def refresh(memory: Memory) -> None:
    """Bring the live view up to date with what was stored."""
    try:
        live.refresh(memory)
    except OSError as error:
        warn(memory.env, f"it is stored, but the briefing could not be written: {error}")


def _text(given: str) -> str:
    """A text without blanks around it; bytes of an argument that are no UTF-8 become U+FFFD, as on standard input."""
    return given.strip().encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _from_root(repo: Repo, cwd: str, path: str) -> str:
    """A path as events hold it: from the root of the work tree. Raises UsageError if it lies outside."""
    root = os.path.realpath(repo.work_tree or cwd)
    whole = os.path.normpath(os.path.join(os.path.realpath(cwd), path.strip()))
    if whole != root and not whole.startswith(root + os.sep):
        raise UsageError(f"{path} is outside the repository; name files by their path in it")
    return _text(os.path.relpath(whole, root))
