"""Choosing a backend."""

from __future__ import annotations

from cortex_git.store import promisor
from cortex_git.store.gitcli import GitBackend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo


def open_backend(repo: Repo, prefer: str = "pygit2") -> Backend:
    """A backend for the repository: libgit2 if it is preferred and can open it, else git itself.

    In a partial clone libgit2 opens what it then cannot fetch. Loading it costs several times what a whole hook may, so
    hooks prefer `git`.
    """
    if prefer == "pygit2" and not promisor.remotes(repo):
        try:
            from cortex_git.store.libgit2 import Libgit2Backend, Unsupported
        except ImportError:
            return GitBackend(repo)
        try:
            return Libgit2Backend(repo)
        except Unsupported:
            return GitBackend(repo)
    return GitBackend(repo)
