"""Around a commit: items into it, anchors onto it."""

from __future__ import annotations

from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.hook.journal import log, store_waiting
from cortex_git.memory import DELETION
from cortex_git.store import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_git.memory import Memory


_NAMED = 4
"""How many files are named when a commit takes them along."""


def pre_commit(memory: Memory) -> None:
    """Write the items that belong to this commit and stage them; say on one line what was added."""
    store_waiting(memory, "git")
    root = memory.repo.work_tree
    if not memory.config.projections_commit or root is None:
        return
    from cortex_git.pending import pending
    from cortex_git.projections import stage, worktree

    if not worktree.has_folder(memory.repo):
        return  # a branch that has not adopted the folder gets no files
    index_file = memory.env.variables.get("GIT_INDEX_FILE")
    faults: list[str] = []
    coming = pending(memory)
    added = stage.stage(
        memory.repo, memory.backend, memory.config, coming, index_file, states=coming.states, faults=faults
    )
    for fault in faults:
        log(memory.repo, f"git pre-commit: {fault}", memory.env)
    if added:
        from cortex_git.hook.aftermath import watch

        watch(memory.repo, memory.env)
        # Items first: they hold somebody's words; the pages only repeat them.
        named = sorted(added, key=lambda path: path.count("/") < 2)[:_NAMED]
        left = len(added) - len(named)
        more = f" and {left} more file{'s' * (left > 1)} in .cortex/" if left else ""
        memory.env.stderr.write(f"git cortex: adds {', '.join(named)}{more}\n")


def post_commit(memory: Memory) -> None:
    """Tie what was recorded until now to the new commit."""
    if history.replaying(memory.repo):
        return  # each replayed commit of a rebase comes by here; post-rewrite settles them all at the end
    store_waiting(memory, "git")
    tie(memory)
    from cortex_git import live
    from cortex_git.pending import settle
    from cortex_git.projections import stage

    live.refresh(memory)
    settle(memory)
    stage.settle(memory.repo)


def tie(memory: Memory) -> None:
    """Anchor the memory of the branch at the commit that HEAD has just become.

    Where there is nothing to tie and no session that made the commit, nothing is written.
    """
    branch, commit = memory.position()
    if commit is None:
        return
    session = memory.env.variables.get("CLAUDE_CODE_SESSION_ID", "")
    left = history.came_from_commit(memory.repo)
    gone = memory.changes(left, commit).gone
    events = [retraction(memory, id) for id in deleted(memory, gone, commit)]
    writer = memory.writer()
    still_open = writer.open_refs(branch, left)
    memory.follow(writer)
    if session or events or still_open:
        subject = memory.repo.git("log", "-1", "--no-show-signature", "--format=%s", commit).decode("utf-8", "replace")
        events.append(_commit_event(memory, branch, commit, subject.strip(), session))
        memory.write({branch: events}, anchored=commit, left=left)


def _commit_event(memory: Memory, branch: str | None, commit: str, subject: str, session: str) -> Event:
    return Event(
        model.COMMIT,
        subject,
        time=memory.env.now(),
        session=session,
        agent="claude-code" if session else "user",
        author=memory.repo.author(),
        branch=branch or "",
        commit=commit,
        source={"id": commit},
    )


def deleted(memory: Memory, gone: Mapping[str, str], commit: str) -> list[str]:
    """Ids of the events in item files that are gone from a commit; none where the folder as a whole is gone."""
    if not gone or not memory.has_folder(commit):
        return []
    kept = {event.id for event in memory.item_events(memory.items(commit))}
    return sorted({event.id for event in memory.item_events(gone)} - kept)


def retraction(memory: Memory, id: str) -> Event:
    """The event that says that an item was deleted, so that no amend or fold of commits brings it back."""
    branch, commit = memory.position()
    return Event(
        model.RETRACTED,
        "its file was deleted in a commit",
        time=memory.env.now(),
        author=memory.repo.author(),
        branch=branch or "",
        commit=commit or "",
        layer="user",
        source={"by": DELETION},
        target=id,
    )
