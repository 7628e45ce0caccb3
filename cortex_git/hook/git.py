"""git's hooks: items into the commit, anchors onto it, the live view after every move of HEAD."""

from __future__ import annotations

import os

from cortex_git import live
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.hook.entry import log
from cortex_git.memory import DELETION, Memory
from cortex_git.pending import pending
from cortex_git.projections import stage
from cortex_git.projections.items import item_files
from cortex_git.store import align, carry, history, keys
from cortex_git.store.held import removed
from cortex_git.store.open import open_backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_git.env import Env
    from cortex_git.store.repo import Repo


def run(repo: Repo, event: str, arguments: Sequence[str], env: Env) -> None:
    """Handle one git hook with the arguments that git gave it."""
    handler = _HANDLERS.get(event)
    if handler:
        handler(Memory(env, repo, open_backend(repo, "git")), arguments)


def _drain(memory: Memory) -> None:
    for fault in memory.drain():
        log(memory.repo, f"git: {fault}", memory.env)


def _pre_commit(memory: Memory, arguments: Sequence[str]) -> None:
    """Write the items that belong to this commit and stage them; say on one line what was added."""
    _drain(memory)
    if not memory.config.projections_commit or memory.repo.work_tree is None:
        return
    if not os.path.isfile(os.path.join(memory.repo.work_tree, ".cortex", "README.md")):
        return  # a branch that has not adopted the folder gets no files
    index_file = memory.env.variables.get("GIT_INDEX_FILE")
    faults: list[str] = []
    added = stage.stage(memory.repo, memory.backend, memory.config, pending(memory), index_file, faults=faults)
    for fault in faults:
        log(memory.repo, f"git pre-commit: {fault}", memory.env)
    if added:
        memory.env.stderr.write(f"git cortex: adds {', '.join(added)}\n")


def _post_commit(memory: Memory, arguments: Sequence[str]) -> None:
    """Tie what was recorded until now to the new commit."""
    if history.replaying(memory.repo):
        return  # each replayed commit of a rebase comes by here; post-rewrite settles them all at the end
    _drain(memory)
    _tie(memory)
    live.refresh(memory)


def _tie(memory: Memory) -> None:
    branch, commit = memory.position()
    if commit is None:
        return
    session = memory.env.variables.get("CLAUDE_CODE_SESSION_ID", "")
    events = [_retraction(memory, id) for id in _dropped(memory, f"{commit}^", commit)]
    if session or events or memory.writer().open_refs(branch):
        subject = memory.repo.git("log", "-1", "--no-show-signature", "--format=%s", commit).decode("utf-8", "replace")
        events.append(_commit_event(memory, branch, commit, subject.strip(), session))
        memory.write({branch: events}, anchored=commit)


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


def _dropped(memory: Memory, old: str, new: str) -> list[str]:
    """Ids of items that `old` holds and `new` does not; none where the folder as a whole is gone."""
    files = removed(memory.repo, old, new)
    if not files or not memory.has_folder(new):
        return []
    kept = {event.id for event in memory.item_events(item_files(memory.backend, new))}
    return sorted({event.id for event in memory.item_events(files)} - kept)


def _retraction(memory: Memory, id: str) -> Event:
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


def _post_checkout(memory: Memory, arguments: Sequence[str]) -> None:
    """Show the memory of the branch that is checked out now."""
    if len(arguments) > 2 and arguments[2] == "0":
        return  # files were checked out, HEAD did not move
    _drain(memory)
    branch = memory.repo.branch()
    if branch is not None and not history.replaying(memory.repo):
        key = keys.lookup(memory.repo, branch, memory.refs())
        if key.how == "new":
            carry.carry_over(memory.repo, memory.backend, memory.config, branch)
            memory.forget_refs()
    stage.unstage(memory.repo, set())
    live.refresh(memory)


def _post_merge(memory: Memory, arguments: Sequence[str]) -> None:
    """A merge commit made here is tied like any commit; a fast-forward made none."""
    _drain(memory)
    if history.made_here(memory.repo):
        _tie(memory)
    live.refresh(memory)


def _post_rewrite(memory: Memory, arguments: Sequence[str]) -> None:
    """What was tied to a commit is tied to the one that took its place."""
    _drain(memory)
    pairs = [line.split()[:2] for line in memory.env.stdin.read().decode("ascii", "replace").splitlines()]
    rewritten = [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]
    writer = memory.writer()
    branch = memory.repo.branch()
    mine = {name: tip for name, tip in writer.refs.items() if name.endswith("/" + memory.repo.clone)}
    known = align.anchors(memory.repo, {n: t for n, t in mine.items() if not n.startswith(keys.REMOTES)})
    for old, new in rewritten:
        for ref, anchors in known.items():
            tied = [anchor for anchor in anchors if anchor.commit == old]
            if tied:
                writer.mark(ref, branch, new, max(tied, key=lambda anchor: anchor.depth).upto)
        events = [_retraction(memory, id) for id in _dropped(memory, old, new)]
        if events and arguments[:1] == ["amend"]:
            writer.write({branch: events}, anchored=new)
    memory.forget_refs()
    live.refresh(memory)


_HANDLERS: dict[str, Callable[[Memory, Sequence[str]], None]] = {
    "pre-commit": _pre_commit,
    "post-commit": _post_commit,
    "post-checkout": _post_checkout,
    "post-merge": _post_merge,
    "post-rewrite": _post_rewrite,
}
