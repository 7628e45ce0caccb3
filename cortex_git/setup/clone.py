"""The id of a clone, which names the refs that it alone writes.

Bound to the folder that it was made for: a copy of a repository takes the configuration along,
and two clones that write one ref would lose each other's memory.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.repo import Repo

ID = "cortex.clone"
OWNER = "cortex.cloneOf"


def settle(repo: Repo) -> str:
    """The id of this clone, made or made anew if need be, and written down with what it is bound to.

    A repository that was moved keeps its id; one that was copied gets another. Raises GitError
    if the configuration cannot be written.
    """
    clone = kept(repo) or os.urandom(4).hex()
    owner = f"{clone} {_inode(repo)} {repo.common_dir}"
    if repo.git_config().get(OWNER.lower()) != owner:
        repo.set_git_config(OWNER, owner)
    if repo.clone != clone:
        repo.set_git_config(ID, clone)
    return clone


def kept(repo: Repo) -> str:
    """The id that belongs to this folder, also if `uninstall` took it out of use; empty if there is none."""
    clone, _, binding = repo.git_config().get(OWNER.lower(), "").partition(" ")
    inode, _, path = binding.partition(" ")
    if len(clone) != 8 or inode != _inode(repo):
        return ""
    moved = path != repo.common_dir
    return "" if moved and os.path.exists(os.path.join(path, "HEAD")) else clone


def stale(repo: Repo) -> bool:
    """Whether the id in use was made for another folder."""
    return bool(repo.clone) and kept(repo) != repo.clone


def _inode(repo: Repo) -> str:
    return str(os.stat(repo.common_dir).st_ino)
