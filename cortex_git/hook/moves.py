"""After HEAD moved without a plain commit: checkout, merge, and rewritten commits."""

from __future__ import annotations

from cortex_git import live
from cortex_git.hook import background
from cortex_git.hook.journal import store_waiting
from cortex_git.met import meet
from cortex_git.projections import stage
from cortex_git.store import align, followed, history, keys
from cortex_git.tying import catch_up, deleted, retraction, tie

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_git.memory import Memory


def post_checkout(memory: Memory, arguments: Sequence[str]) -> None:
    """Show the memory of the branch that is checked out now; a new branch takes along what was just said."""
    if arguments[2:3] == ["0"]:
        return  # files were checked out, HEAD did not move
    if history.bisecting(memory.repo):
        return  # which looks at many commits, and stays at none
    catch_up(memory)
    store_waiting(memory, "git")
    branch = memory.repo.branch()
    is_new = branch is not None and keys.lookup(memory.repo, branch, memory.refs()).how == "new"
    if branch is not None and is_new and not history.replaying(memory.repo):
        from cortex_git.store.carry import carry_over

        carry_over(memory.repo, memory.backend, memory.config, branch)
        memory.forget_refs()
    stage.unstage(memory.repo, set())
    live.refresh(memory)


def post_merge(memory: Memory, arguments: Sequence[str]) -> None:
    """A merge commit made here is tied like any commit; a fast-forward made none."""
    store_waiting(memory, "git")
    is_squash = arguments[:1] == ["1"]  # which makes no commit: whatever the reflog says is of an earlier one
    if not is_squash and history.made_here(memory.repo):
        tie(memory)
    meet(memory)
    live.refresh(memory)
    background.start(memory)


def post_rewrite(memory: Memory, arguments: Sequence[str]) -> None:
    """What was tied to a commit is tied to the one that took its place."""
    store_waiting(memory, "git")
    lines = memory.env.stdin.read().decode("ascii", "replace").splitlines()
    pairs = [(words[0], words[1]) for words in map(str.split, lines) if len(words) > 1]
    writer = memory.writer()
    branch = memory.repo.branch()
    mine = {name: tip for name, tip in writer.refs.items() if keys.is_ours(memory.repo, name)}
    known = align.anchors(memory.repo, mine)
    for old, new in pairs:
        for ref, anchors in known.items():
            tied = [anchor for anchor in anchors if anchor.commit == old]
            if tied:
                writer.mark(ref, branch, new, max(tied, key=lambda anchor: anchor.depth).upto)
        if arguments[:1] == ["amend"]:
            gone = deleted(memory, memory.changes(old, new).gone, new)
            events = [retraction(memory, branch, new, id) for id in gone]
            if events:
                writer.write({branch: events}, anchored=new)
    followed.note(memory.repo, branch)
    memory.forget_refs()
    live.refresh(memory)
