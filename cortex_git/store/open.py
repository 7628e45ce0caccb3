"""Which backend opens a repository."""

from __future__ import annotations

from cortex_git.store.gitcli import GitBackend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo


def open_backend(repo: Repo, prefer: str = "pygit2") -> Backend:
    """pygit2 for what reads much, git's plumbing for what must start fast and for what pygit2 cannot open."""
    if prefer == "pygit2":
        try:
            from cortex_git.store.libgit2 import Libgit2Backend

            return Libgit2Backend(repo)
        except Exception:
            return GitBackend(repo)
    return GitBackend(repo)
