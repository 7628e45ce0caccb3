"""Branch keys: under which part of the ref namespace a branch's memory lies.

A key is 12 hex digits, kept in `branch.<name>.cortexKey` together with the name that it was
made for. git moves that setting on `branch -m`, copies it on `-c` and drops it on `-D`, so a
key follows its branch without any hook.
"""

from __future__ import annotations

from cortex_git.digest import sha256_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_git.store.repo import Repo

SHARED = "refs/notes/cortex"
LOCAL = "refs/notes/cortex-local"
REMOTES = "refs/cortex/remotes"
DETACHED = "00000"
"""How the keys of what is recorded while HEAD is detached begin: it belongs to no branch, but to that commit."""


def key_of_name(name: str, life: int = 0) -> str:
    """The key of a branch name; `life` tells apart the branches that bore the name one after the other."""
    text = name if not life else f"{name}\0{life}"
    return sha256_hex(text.encode("utf-8", "surrogateescape"))[:12]


def detached(commit: str | None) -> str:
    """The key of what is recorded while HEAD is detached at a commit."""
    return DETACHED + (commit or "0" * 7)[:7]


def is_detached(key: str) -> bool:
    """Whether a key is of a detached HEAD; of a branch it is so once in a million names."""
    return key.startswith(DETACHED)


def shelf(key: str) -> str:
    """Under which name something derived is kept for a key: one for all commits that HEAD was ever detached at."""
    return DETACHED if is_detached(key) else key


class Key:
    """A branch's key and how it came about: `known`, `new`, `renamed`, `copied` (then `origin` is the other key)."""

    __slots__ = ("how", "origin", "value")

    def __init__(self, value: str, how: str, origin: str = "") -> None:
        self.value = value
        self.how = how
        self.origin = origin


def lookup(repo: Repo, branch: str | None, refs: Mapping[str, str]) -> Key:
    """The key of a branch as things stand; writes nothing.

    `refs` are all notes refs with their tips, by which a name that was used before is known.
    """
    if branch is None:
        return Key(detached(repo.head()), "known")
    value, _, made_for = repo.git_config().get(f"branch.{branch}.cortexkey", "").partition(" ")
    if len(value) != 12:
        return Key(_fresh(repo, branch, refs), "new")
    if not made_for or made_for == branch:
        return Key(value, "known")
    if _is_taken(repo, branch, value):
        return Key(_fresh(repo, branch, refs), "copied", value)
    return Key(value, "renamed")


def _is_taken(repo: Repo, branch: str, value: str) -> bool:
    """Whether another branch has this key. The name that a key was made for says nothing: it may be borne anew."""
    holders: dict[str, str] = {}
    for name, text in repo.git_config().items():
        if name.startswith("branch.") and name.endswith(".cortexkey") and text.startswith(value):
            holders[name[7:-10]] = text[13:]
    others = [name for name in holders if name != branch and exists(repo, name)]
    # Of several copies whose original is gone one becomes its heir, and it must be the same one for each of them.
    return any(holders[name] == name for name in others) or any(name < branch for name in others)


def settle(repo: Repo, branch: str, key: Key) -> None:
    """Write the key of an existing branch down. A branch that is gone gets no setting, lest its name be haunted."""
    if key.how != "known" and exists(repo, branch, unborn=True):
        repo.set_git_config(f"branch.{branch}.cortexKey", f"{key.value} {branch}")


def settled(repo: Repo, branch: str | None) -> str:
    """The key that is written down for a branch; empty if there is none."""
    text = repo.git_config().get(f"branch.{branch}.cortexkey", "") if branch else ""
    return text[:12] if text[13:] in ("", branch) else ""


def exists(repo: Repo, branch: str, *, unborn: bool = False) -> bool:
    """Whether there is such a branch; with `unborn`, also the one that HEAD names before its first commit."""
    if repo.has_ref(f"refs/heads/{branch}"):
        return True
    return unborn and repo.head_line() == f"ref: refs/heads/{branch}"


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


def _fresh(repo: Repo, branch: str, refs: Mapping[str, str]) -> str:
    from cortex_git.store.lives import choose  # needs anchors, which need keys

    return choose(repo, branch, refs)
