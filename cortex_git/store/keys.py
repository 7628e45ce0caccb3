"""Branch keys: under which part of the ref namespace a branch's memory lies.

A key is 12 hex digits, kept in `branch.<name>.cortexKey` together with the name that it was
made for. git moves that setting on `branch -m`, copies it on `-c` and drops it on `-D`, so a
key follows its branch without any hook.
"""

from __future__ import annotations

import os

from cortex_git.digest import sha256_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_git.store.repo import Repo

SHARED = "refs/notes/cortex"
LOCAL = "refs/notes/cortex-local"
REMOTES = "refs/cortex/remotes"
DETACHED = "0" * 12
"""The key of what is recorded while HEAD is detached; it belongs to no branch."""


def key_of_name(name: str, life: int = 0) -> str:
    """The key of a branch name; `life` tells apart the branches that bore the name one after the other."""
    text = name if not life else f"{name}\0{life}"
    return sha256_hex(text.encode("utf-8", "surrogateescape"))[:12]


class Key:
    """A branch's key and how it came about: `known`, `new`, `renamed`, `copied` (then `origin` is the other key)."""

    __slots__ = ("how", "origin", "value")

    def __init__(self, value: str, how: str, origin: str = "") -> None:
        self.value = value
        self.how = how
        self.origin = origin


def lookup(repo: Repo, branch: str | None, refs: Iterable[str]) -> Key:
    """The key of a branch as things stand; writes nothing.

    `refs` are the names of all notes refs, by which a name that was used before is known.
    """
    if branch is None:
        return Key(DETACHED, "known")
    value, _, made_for = repo.git_config().get(f"branch.{branch}.cortexkey", "").partition(" ")
    if len(value) != 12:
        return Key(_fresh(repo, branch, refs), "new")
    if not made_for or made_for == branch:
        return Key(value, "known")
    if exists(repo, made_for):
        return Key(_fresh(repo, branch, refs), "copied", value)
    return Key(value, "renamed")


def settle(repo: Repo, branch: str, key: Key) -> None:
    """Write the key of an existing branch down. A branch that is gone gets no setting, lest its name be haunted."""
    if key.how != "known" and exists(repo, branch, unborn=True):
        repo.set_git_config(f"branch.{branch}.cortexKey", f"{key.value} {branch}")


def exists(repo: Repo, branch: str, *, unborn: bool = False) -> bool:
    """Whether there is such a branch; with `unborn`, also the one that HEAD names before its first commit."""
    if os.path.isfile(os.path.join(repo.common_dir, "refs/heads", branch)):
        return True
    if unborn and repo.head_line() == f"ref: refs/heads/{branch}":
        return True
    return repo.git_status("show-ref", "--verify", "--quiet", f"refs/heads/{branch}")[0] == 0


def living(repo: Repo) -> set[str]:
    """The keys of the branches of this clone."""
    known = repo.git_config().items()
    return {value[:12] for name, value in known if name.startswith("branch.") and name.endswith(".cortexkey")}


def ref(namespace: str, key: str, clone: str) -> str:
    """The one ref that this clone writes for a key."""
    return f"{namespace}/{key}/{clone}"


def is_ours(repo: Repo, name: str) -> bool:
    """Whether a notes ref is one that this clone writes."""
    return name.endswith("/" + repo.clone) and not name.startswith(REMOTES)


def key_in(name: str) -> str:
    """The key in a notes ref's name, ours or fetched; empty if it is no such name."""
    parts = name.split("/")
    well_formed = len(parts) >= 5 and len(parts[-2]) == 12 and len(parts[-1]) == 8
    return parts[-2] if well_formed else ""


def _fresh(repo: Repo, branch: str, refs: Iterable[str]) -> str:
    """A key that this clone has not used: its refs outlive a branch whose name is taken up again."""
    used = {key_in(name) for name in refs if name.endswith("/" + repo.clone)}
    life = 0
    while key_of_name(branch, life) in used:
        life += 1
    return key_of_name(branch, life)
