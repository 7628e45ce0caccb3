"""Commits of others that have come into history: what their trailers say is memory here, too, if nobody told it yet."""

from __future__ import annotations

from cortex_git.env import rfc3339
from cortex_git.errors import CortexError
from cortex_git.store import message, steady
from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_git.events.model import Event
    from cortex_git.memory import Memory

_MOST = 200
"""How many commits are looked at, the newest first."""
_TIPS = 20
_LOG = ("-c", "log.showSignature=false", "log", "-z", "--ignore-missing", f"-{_MOST}", "--format=%H%n%ct%n%an%n%B")


def meet(memory: Memory) -> None:
    """Store what the trailers of commits say that HEAD can reach since the last look.

    Costs nothing while HEAD is where it was, or went on by commits that were made here, which
    a hook has read. Every clone that meets a commit makes the same events of it.
    """
    branch, head = memory.position()
    path = memory.path("cache", "met.json")
    seen = read_json(path).get("tips")
    tips: list[str] = [tip for tip in seen if isinstance(tip, str)] if isinstance(seen, list) else []
    if branch is None or head is None or head in tips:
        return
    if not set(tips).intersection(steady.before(memory.repo, head)):
        found = list(_told(memory, head, tips))
        try:
            new = _unknown(memory, found) if found else []
            if new:
                memory.write({branch: new})
        except CortexError:
            return  # the next look begins where this one did
    keep_json(path, {"tips": [*tips, head][-_TIPS:]})


def _told(memory: Memory, head: str, tips: Sequence[str]) -> Iterator[Event]:
    """What the commits say that are reachable from `head` and from none of the others."""
    status, out, _ = memory.repo.git_status(*_LOG, head, "--not", *tips, "--")
    for entry in out.decode("utf-8", "replace").split("\0") if not status else []:
        commit, _, rest = entry.lstrip("\n").partition("\n")
        moment, _, rest = rest.partition("\n")
        author, _, text = rest.partition("\n")
        if not message.has_trailers(text) or not moment.isdecimal():
            continue
        from cortex_git.capture import committed

        for event in committed.told(text, commit, memory.config, time=rfc3339(int(moment)), author=author):
            if "trailer" in event.source:
                yield event


def _unknown(memory: Memory, found: Sequence[Event]) -> list[Event]:
    """Those that no branch and no clone has told yet, nor withdrawn."""
    known = {(event.type, event.content) for event in memory.everything()}
    new = {(event.type, event.content): event for event in reversed(found)}
    return [event for what, event in new.items() if what not in known]
