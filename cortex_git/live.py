"""Live views: what is shown for a branch right now, kept under the git directory and never in the work tree's history.

For each key a state (the essence of the events that the branch sees), the briefing rendered
from it, and a stamp that says for which HEAD and refs both are right. All of it can be
deleted; it is made again from the refs.
"""

from __future__ import annotations

import os

from cortex_git import briefing
from cortex_git.digest import sha256_hex
from cortex_git.events import codec, model
from cortex_git.memory import crosses
from cortex_git.projections.items import PLANS, item_files
from cortex_git.setup.rules import write_rules
from cortex_git.store import align, keys
from cortex_git.store.locking import read_json, write_json, write_text
from cortex_git.views.essence import essence
from cortex_git.views.standing import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cortex_git.events.model import Event
    from cortex_git.memory import Memory
    from cortex_git.views.standing import Standing

VERSION = 1


class Live:
    """The live view of one branch. `briefing` is empty while there is nothing to say."""

    __slots__ = ("briefing", "fresh")

    def __init__(self, briefing: str, fresh: bool) -> None:
        self.briefing = briefing
        self.fresh = fresh
        """Whether it was right already and nothing had to be computed."""


def refresh(memory: Memory, *, rules: bool = True) -> Live:
    """Bring the live view of the branch that is checked out up to date and return it.

    With `rules` the assistant's rules file, which it reads when it starts the next time,
    is brought up to date too.
    """
    branch, head = memory.position()
    key = keys.lookup(memory.repo, branch, memory.refs())
    stamp = _stamp(memory, key.value, head)
    base = memory.path("view", key.value)
    text = _read(base + ".md") if _read(base + ".stamp") == stamp else None
    live = Live(text or "", text is not None)
    if text is None:
        state = _advanced(memory, branch, head, read_json(base + ".json"))
        live.briefing = briefing.render(fold(_decoded(state["events"])), memory.config, branch)
        os.makedirs(os.path.dirname(base), mode=0o700, exist_ok=True)
        write_json(base + ".json", state)
        write_text(base + ".md", live.briefing)
        write_text(base + ".stamp", stamp)
    if rules:
        write_rules(memory.repo, live.briefing)
    return live


def standing(memory: Memory) -> Standing:
    """Where things stand on the branch that is checked out, from its kept essence."""
    refresh(memory, rules=False)
    branch, _ = memory.position()
    key = keys.lookup(memory.repo, branch, memory.refs())
    return fold(_decoded(read_json(memory.path("view", key.value + ".json")).get("events")))


def _stamp(memory: Memory, key: str, head: str | None) -> str:
    """What the view depends on, in short: the code's commit, every notes ref, the settings."""
    refs = [f"{name} {tip}" for name, tip in sorted(memory.refs().items())]
    settings = [f"{name} {value!r}" for name, value in sorted(vars(memory.config).items())]
    digest = sha256_hex("\n".join([*refs, *settings]).encode("utf-8", "replace"))
    return f"{VERSION} {key} {head} {digest[:32]}\n"


def _advanced(memory: Memory, branch: str | None, head: str | None, kept: dict[str, Any]) -> dict[str, Any]:
    """The state for the present HEAD and refs: the kept one plus what is new, or all of it anew."""
    seen = memory.alignment(branch, head)
    files = item_files(memory.backend, head) if head else {}
    gone = memory.gone(head, files)
    new = _new_events(memory, branch, seen, files, kept) if _may_grow(kept, seen, files, gone) else None
    if new is None:
        events = essence(memory.visible())
    else:
        events = essence([*_decoded(kept["events"]), *(event for event in new if event.id not in gone)])
    return {
        "version": VERSION,
        "tips": seen.tips,
        "own": sorted(seen.own),
        "items": files,
        "gone": sorted(gone),
        "events": [codec.to_dict(event) for event in events],
    }


def _may_grow(kept: dict[str, Any], seen: align.Visible, files: dict[str, str], gone: set[str]) -> bool:
    """Whether what the kept state was made of is still seen, so that adding to it can be enough."""
    if kept.get("version") != VERSION or seen.loose or set(kept["gone"]) != gone:
        return False
    if set(kept["tips"]) - set(seen.tips) or not set(kept["own"]) <= seen.own:
        return False
    return all(files.get(path) == blob for path, blob in kept["items"].items() if not path.startswith(PLANS))


def _new_events(
    memory: Memory, branch: str | None, seen: align.Visible, files: dict[str, str], kept: dict[str, Any]
) -> list[Event] | None:
    """The events that came into view since the kept state; None if adding them would not be enough."""
    before: dict[str, str] = kept["tips"]
    moved = {ref: (before[ref], tip) for ref, tip in seen.tips.items() if ref in before and before[ref] != tip}
    segments = align.added_blobs(memory.repo, moved)
    if segments is None:
        return None
    for ref, tip in seen.tips.items():
        if ref not in before:
            segments[ref] = list(memory.backend.tree(tip).values())
    new: list[Event] = []
    for own in (True, False):
        blobs = [blob for ref, group in segments.items() if (ref in seen.own) is own for blob in group]
        new += (event for event in memory.read(blobs) if own or crosses(event))
    fresh = {path: blob for path, blob in files.items() if kept["items"].get(path) != blob}
    new += (event for event in memory.item_events(fresh) if crosses(event) or event.branch == branch)
    known = {value["id"] for value in kept["events"]} | {event.id for event in new}
    brought_back = any(event.type == model.PINNED and event.target not in known for event in new)
    return None if brought_back else new


def _decoded(values: object) -> list[Event]:
    if not isinstance(values, list):
        return []
    events = (codec.from_dict(value) for value in values if isinstance(value, dict))
    return [event for event in events if event is not None]


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None
