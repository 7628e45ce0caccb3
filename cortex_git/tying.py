"""Tying what was recorded to the commits that it belongs to, by a hook at once or by whatever of ours runs next."""

from __future__ import annotations

from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.events.redact import redact_event
from cortex_git.memory import DELETION
from cortex_git.store import align, followed, history, keys, message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_git.memory import Memory


def tie(memory: Memory) -> None:
    """Anchor the memory of the branch at the commit that HEAD has just become."""
    branch, commit = memory.position()
    if commit is not None:
        tie_at(memory, branch, history.came_from_commit(memory.repo), commit)
        followed.note(memory.repo, branch)


def tie_at(memory: Memory, branch: str | None, left: str | None, commit: str) -> None:
    """Anchor the memory of a branch at a commit that was made there after `left`.

    Where there is nothing to tie and no session that made the commit, nothing is written.
    """
    session = memory.env.variables.get("CLAUDE_CODE_SESSION_ID", "")
    gone = memory.changes(left, commit).gone
    events = [retraction(memory, branch, commit, id) for id in deleted(memory, gone, commit)]
    writer = memory.writer()
    still_open = writer.open_refs(branch, left)
    memory.follow(writer)
    if session or events or still_open or message.is_telling(message.at_hand(memory.repo.git_dir)):
        text = memory.repo.git("log", "-1", "--no-show-signature", "--format=%B", commit).decode("utf-8", "replace")
        events.append(redact_event(_commit_event(memory, branch, commit, message.subject(text), session)))
        events += _told(memory, branch, commit, text, session)
        memory.write({branch: events}, anchored=commit, left=left)


def _told(memory: Memory, branch: str | None, commit: str, text: str, session: str) -> list[Event]:
    """What the message of a commit says; nothing more is loaded if it only tells what was changed."""
    if not message.is_telling(text):
        return []
    from cortex_git.capture import committed

    time, author = memory.env.now(), memory.repo.author()
    return committed.told(text, commit, memory.config, time=time, session=session, author=author, branch=branch or "")


def catch_up(memory: Memory) -> None:
    """Tie what belongs to commits that were made while no hook of ours ran."""
    if history.replaying(memory.repo):
        return
    for missed in followed.missed(memory.repo):
        if not missed.is_rebase:
            tie_at(memory, missed.branch, missed.left, missed.commit)
        if missed.rewritten:
            _mark_tied(memory, missed)
        followed.note(memory.repo, missed.branch)


def _mark_tied(memory: Memory, missed: followed.Missed) -> None:
    """What was tied to commits that others took the place of is tied to the newest of those."""
    writer = memory.writer()
    key = writer.key(missed.branch)
    mine = {name: tip for name, tip in writer.refs.items() if keys.key_in(name) == key}
    mine = {name: tip for name, tip in mine.items() if keys.is_ours(memory.repo, name)}
    for ref, anchors in align.anchors(memory.repo, mine).items():
        last = max(anchors, key=lambda anchor: anchor.depth, default=None)
        if last and last.commit != missed.commit:
            writer.mark(ref, missed.branch, missed.commit, last.upto)
    memory.follow(writer)


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


def retraction(memory: Memory, branch: str | None, commit: str, id: str) -> Event:
    """The event that says that an item was deleted, so that no amend or fold of commits brings it back."""
    return Event(
        model.RETRACTED,
        "its file was deleted in a commit",
        time=memory.env.now(),
        author=memory.repo.author(),
        branch=branch or "",
        commit=commit,
        layer="user",
        source={"by": DELETION},
        target=id,
    )
