"""git's hooks, each with the memory of the repository that it runs in."""

from __future__ import annotations

from cortex_git.memory import Memory
from cortex_git.store.open import open_backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_git.env import Env
    from cortex_git.store.repo import Repo

_MERGING = 2.5
"""For how many seconds a merge may be held up by fetching what a partial clone lacks."""


def run(repo: Repo, event: str, arguments: Sequence[str], env: Env) -> None:
    """Handle one git hook with the arguments that git gave it."""
    memory = Memory(env, repo, open_backend(repo, "git"))
    # Each hook loads only what it needs itself: they run at every commit and every checkout.
    if event in ("pre-commit", "post-commit"):
        from cortex_git.hook import commit

        around = {"pre-commit": commit.pre_commit, "post-commit": commit.post_commit}
        around[event](memory)
    elif event in ("post-checkout", "post-merge", "post-rewrite"):
        from cortex_git.hook import moves

        after = {
            "post-checkout": moves.post_checkout,
            "post-merge": moves.post_merge,
            "post-rewrite": moves.post_rewrite,
        }
        after[event](memory, arguments)
    elif event == "pre-push":
        from cortex_git.hook import push

        push.pre_push(memory, arguments)
    elif event == "background-fetch":
        from cortex_git.hook import background

        background.fetch(memory, arguments)
    elif event == "merge-page":
        from cortex_git.hook import merging

        repo.may_fetch = _MERGING  # git is about to fetch the same files for the work tree, one by one
        merging.merge_page(memory, arguments)
