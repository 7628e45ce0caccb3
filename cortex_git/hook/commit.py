"""Around a commit: items into it, anchors onto it."""

from __future__ import annotations

import os

from cortex_git.hook.journal import log, store_waiting
from cortex_git.projections.document import DECISIONS
from cortex_git.store import history, keys, steady
from cortex_git.tying import catch_up, tie

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_git.memory import Memory
    from cortex_git.pending import Pending


_NAMED = 4
"""How many files are named when a commit takes them along."""


def pre_commit(memory: Memory) -> None:
    """Write the items that belong to this commit and stage them; say on one line what was added."""
    catch_up(memory)
    store_waiting(memory, "git")
    root = memory.repo.work_tree
    if not memory.config.projections_commit or root is None:
        return
    from cortex_git.pending import buried, pending
    from cortex_git.projections import stage, worktree

    if not worktree.has_folder(memory.repo):
        return  # a branch that has not adopted the folder gets no files
    index_file = memory.env.variables.get("GIT_INDEX_FILE")
    faults: list[str] = []
    # git looks whether there is anything to commit before it reads what a hook has staged.
    left: list[str] | None = None if _may_be_empty(memory) else []
    coming, doomed = pending(memory), buried(memory)
    added = stage.stage(
        memory.repo,
        memory.backend,
        memory.config,
        coming,
        index_file,
        states=coming.states,
        buried=doomed,
        faults=faults,
        left=left,
    )
    for fault in faults:
        log(memory.repo, f"git pre-commit: {fault}", memory.env)
    if added:
        from cortex_git.hook.aftermath import watch

        watch(memory.repo, memory.env)
        memory.env.stderr.write(f"git cortex: {_brings(added, coming, root)}\n")
    elif left:
        memory.env.stderr.write("git cortex: only memory is to be committed; `git cortex project --commit` does that\n")


def _may_be_empty(memory: Memory) -> bool:
    """Whether git makes this commit even if nothing was staged for it."""
    from cortex_git.store import lineage

    is_merge = os.path.lexists(os.path.join(memory.repo.git_dir, "MERGE_HEAD"))
    return is_merge or lineage.may_be_empty(lineage.calling_git())


def _brings(paths: list[str], coming: Pending, root: str) -> str:
    """What a commit takes along, in words. Items first: they hold somebody's words; the pages only repeat them."""
    there = {id[:7] for id in coming.states} - {event.id[:7] for event in coming.events}
    items = [path for path in paths if path.count("/") > 1]
    gone = [path for path in items if not os.path.lexists(os.path.join(root, path))]
    restated = [path for path in items if path not in gone and path.startswith(DECISIONS) and path[-10:-3] in there]
    new = [path for path in items if path not in gone and path not in restated]
    said = {"changes the status of": restated, "adds": new, "takes out": gone}
    parts = [f"{doing} {_named(files)}" for doing, files in said.items() if files]
    if len(items) == len(paths):
        return "; ".join(parts)
    return "; ".join(parts) + (", and the pages" if parts else "brings the pages up to date")


def _named(paths: list[str]) -> str:
    left = len(paths) - _NAMED
    more = f" and {left} more file{'s' * (left > 1)}" if left > 0 else ""
    return ", ".join(paths[:_NAMED]) + more


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
    rest(memory)


def rest(memory: Memory) -> None:
    """Note that the next commit has nothing to do, if that is so: then its hooks need not even look."""
    from cortex_git import live
    from cortex_git.pending import buried, pending
    from cortex_git.projections import clerk, stage
    from cortex_git.setup import rules

    repo, branch = memory.repo, memory.repo.branch()
    coming = pending(memory)
    is_idle = not (coming.events or coming.states or coming.plan or coming.had_plan or buried(memory))
    writer = memory.writer()
    is_idle = is_idle and not (memory.ahead or live.due(memory) or writer.open_refs(branch))
    if branch is None or not is_idle or not stage.is_settled(repo, memory.config):
        steady.forget(repo)
        return
    refs = [keys.ref(space, writer.key(branch), repo.clone) for space in (keys.SHARED, keys.LOCAL)]
    ours = [
        *map(memory.path, ("view/lagging.json", "cache/purged.json", "sharing.json")),
        os.path.join(repo.git_dir, "cortex", "staged.json"),
    ]
    theirs = (".cortex/README.md", ".cortex/config.toml", rules.PATH, *clerk.WATCHED)
    files = [memory.path("program"), *(os.path.join(repo.work_tree or "", name) for name in theirs)]
    steady.note(repo, refs, ours, [*files, *_settings(repo.git_dir, memory.env.variables)])


def _settings(git_dir: str, variables: Mapping[str, str]) -> list[str]:
    """Where git's settings usually lie."""
    home = variables.get("HOME", "")
    user = os.path.join(variables.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git/config")
    general = [variables.get("GIT_CONFIG_GLOBAL") or os.path.join(home, ".gitconfig"), user]
    return [*(os.path.join(git_dir, name) for name in ("config", "config.worktree")), *general]
