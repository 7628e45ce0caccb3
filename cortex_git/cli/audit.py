"""What `git cortex doctor` says of the stored memory itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cortex_git.cli import exchange
from cortex_git.cli.selection import SHORTEST
from cortex_git.cli.terminal import one_line
from cortex_git.events.model import Event
from cortex_git.memory import Memory
from cortex_git.store import fold, purge, remotes
from cortex_git.store.audit import Audit, audit, forged
from cortex_git.store.listing import Listing

PROBLEM, NOTICE = "problem", "notice"
_NAMED = 3
_MANY = 10
"""So many refs of branches that are gone are worth a word."""


class Complaint(NamedTuple):
    """Something to know. `cure` is what to do about it, one or more lines, or empty."""

    level: str
    message: str
    cure: str = ""


def complaints(memory: Memory, events: Iterable[Event]) -> Iterator[Complaint]:
    """What is wrong with the refs, and what is worth knowing about them; `events` are all that there are."""
    found = audit(memory.repo, memory.backend)
    aside = Listing(memory.repo, memory.backend).aside
    if aside:
        text = f"{_count(len(aside), 'ref')} that lead to no commit that is here, left out: {_few(sorted(aside))}"
        yield Complaint(PROBLEM, text, "the others are read; git fsck says more")
    yield from _refs(found)
    yield from _anchors(memory, found)
    wrong = forged(events)
    if wrong:
        text = f"{_count(len(wrong), 'event')} with an id that does not match what it says, made by hand or changed"
        yield Complaint(PROBLEM, f"{text}: {_few([id[:SHORTEST] for id in wrong])}", "look at it: git cortex show ID")
    if memory.ahead:
        first = min(memory.ahead.values())
        text = f"{_count(len(memory.ahead), 'event')} dated in the future, set aside until then; the first {first[:10]}"
        yield Complaint(NOTICE, text, "the clock of the machine that made it may be wrong, or this one's")
    if found.unsigned:
        text = f"{_count(len(found.unsigned), 'fetched ref')} not signed to its end by somebody who is trusted here"
        yield Complaint(NOTICE, text, "what is not signed does not count; git config cortex.trust asks for that")
    yield from _purged(memory)
    yield from _upkeep(memory)


def _refs(found: Audit) -> Iterator[Complaint]:
    if found.no_keys:
        text = f"{_count(len(found.no_keys), 'ref')} with a name that is no key of a branch: {_few(found.no_keys)}"
        yield Complaint(NOTICE, text, "nobody reads it; another program, or git notes by hand, may have made it")
    if found.foreign:
        text = f"{_count(len(found.foreign), 'ref')} with files that are no memory: {_few(found.foreign)}"
        yield Complaint(NOTICE, text, "what is memory in it is read; git notes by hand may have put the rest there")
    if found.modes:
        text = f"{_count(len(found.modes), 'ref')} with links or executable files: {_few(found.modes)}"
        yield Complaint(PROBLEM, text, "they are passed over; look who wrote them: git log REF")
    if found.oversized:
        text = f"{_count(len(found.oversized), 'stored file')} too large to be read: {_few(found.oversized)}"
        yield Complaint(PROBLEM, text, "it is passed over; no version of git cortex writes such files")
    if found.missing:
        text = f"{_count(found.missing, 'stored file')} missing from this repository"
        yield Complaint(PROBLEM, text, "git fsck says more; git cortex sync may bring it back")


def _anchors(memory: Memory, found: Audit) -> Iterator[Complaint]:
    if found.lost_anchors:
        why = "history is cut off" if memory.repo.is_cut_off else "history was rewritten, or it was never fetched"
        text = f"{_count(found.lost_anchors, 'commit')} that memory is tied to and that is not here: {why}"
        yield Complaint(NOTICE, text, "it counts for nothing; what was recorded stays with its branch")


def _purged(memory: Memory) -> Iterator[Complaint]:
    repo = memory.repo
    if purge.is_due(repo):
        yield Complaint(PROBLEM, "something was purged in another clone and is still in this one", "git cortex sync")
    left = purge.unfinished(repo)
    if left:
        text = f"{_count(left, 'object')} with what was purged still here, in a kept pack or a shared object store"
        yield Complaint(PROBLEM, text, "git cortex purge with the same id tries again")
    for name in remotes.shared(repo):
        if purge.rewritten(repo, name):
            text = f"{name} has refs of this clone as they were before a purge"
            yield Complaint(PROBLEM, text, f"git cortex sync {name}")


def _upkeep(memory: Memory) -> Iterator[Complaint]:
    for name in remotes.shared(memory.repo):
        unsent = len(exchange.unsent(memory, name))
        if unsent:
            yield Complaint(NOTICE, f"{_count(unsent, 'event')} not sent to {name} yet", f"git cortex sync {name}")
    tips = fold.foldable(memory.repo, memory.backend)
    if len(tips) >= _MANY:
        yield Complaint(NOTICE, f"{len(tips)} refs are of branches that are gone", "git cortex gc")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if names[_NAMED:] else ""
    return ", ".join(map(one_line, names[:_NAMED])) + more
