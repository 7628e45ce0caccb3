"""Items: the files under `.cortex/` that carry events, one a decision, one a session's facts, one a branch's plan.

An item is a document that people and tools for decision records read, and it holds its events
whole. Its body never changes. A checksum covers everything but the lines `status` and
`superseded-by`, so that a change made by hand is found in the file alone.
"""

from __future__ import annotations

from cortex_git.projections.document import (
    DECISIONS,
    FOLDER,
    LEARNED,
    PLANS,
    STATUSES,
    Item,
    ids_of,
    is_item,
    plan_key,
)
from cortex_git.projections.reading import parse
from cortex_git.projections.writing import render, render_learned, render_plan, rerender, restate
from cortex_git.views.standing import unique

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cortex_git.events.model import Event
    from cortex_git.store.backend import Backend

__all__ = [
    "DECISIONS", "FOLDER", "LEARNED", "PLANS", "STATUSES", "Item", "events_of", "ids_of", "is_item", "item_files",
    "items_at", "parse", "plan_key", "planned", "render", "render_learned", "render_plan", "rerender", "restate",
]  # fmt: skip


def item_files(backend: Backend, rev: str) -> dict[str, str]:
    """Path to blob id of every item file of a commit. Raises CortexError if there is no such commit."""
    return {path: blob for path, blob in backend.tree(rev, ".cortex").items() if is_item(path)}


def items_at(backend: Backend, rev: str) -> dict[str, bytes]:
    """Path to content of every file under `.cortex/` of a commit, pages and README included.

    Raises CortexError if there is no such commit.
    """
    paths: dict[str, list[str]] = {}
    for path, blob in backend.tree(rev, ".cortex").items():
        paths.setdefault(blob, []).append(path)
    return {path: data for blob, data in backend.blobs(paths) for path in paths[blob]}


def events_of(items: Mapping[str, bytes]) -> list[Event]:
    """The events in item files, one copy of each, in the order of time; other files and damaged ones are passed over.

    Events of plans are among them: they count on their own branch only, which is the caller's affair.
    """
    found: list[Event] = []
    for path, data in items.items():
        if is_item(path):
            item = parse(path, data)
            found += item.events
            found += item.ticks
    return unique(found)


def planned(items: Mapping[str, bytes], branch: str | None, elsewhere: Collection[str]) -> list[Event]:
    """The events of the plans among item files that are a branch's, whoever wrote them.

    `elsewhere` are the first 6 digits of keys of earlier branches that bore the same name.
    """
    found: list[Event] = []
    for path, data in items.items():
        if path.startswith(PLANS) and is_item(path):
            item = parse(path, data)
            if item.branch == branch and item.key[:6] not in elsewhere:
                found += item.events
                found += item.ticks
    return unique(found)
