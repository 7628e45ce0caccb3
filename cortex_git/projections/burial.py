"""Files of memories that were purged: the next commit takes them out."""

from __future__ import annotations

from cortex_git.projections import worktree
from cortex_git.projections.document import LEARNED
from cortex_git.projections.reading import parse
from cortex_git.projections.writing import render_learned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cortex_git.projections.clerk import Clerk


def take_out(clerk: Clerk, buried: Mapping[str, Collection[str]]) -> None:
    """Ask for files to be taken out, given the ids in each that were purged; other facts in one get another file."""
    for path, ids in buried.items():
        data = worktree.read(clerk.repo, path)
        if data is None or path in clerk.wanted:
            continue
        left = [event for event in parse(path, data).events if event.id not in ids] if path.startswith(LEARNED) else []
        clerk.drop(path, data)
        if left:
            clerk.want(*render_learned(left))
