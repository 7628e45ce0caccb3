"""Partial clones: what a clone left with its remote is fetched all at once, and only for who waits for an answer.

git itself fetches each object that it lacks by a call of its own, at the moment of reading it.
"""

from __future__ import annotations

import os
import time

from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_git.store.repo import Repo

PATIENCE = 20.0
"""How long a fetch for a command may take, in seconds."""
PAUSE = 300.0
"""For how long after a fetch that failed none is tried, in seconds: without a network every command would wait."""
_AT_ONCE = 5000
_FOLDER, _ITEMS = b".cortex", (b"decisions", b"learned")


def remotes(repo: Repo) -> list[str]:
    """The remotes that promise to have what is missing here; none in a clone that is whole."""
    known = repo.git_config_but_branches()
    found = [
        name[len("remote.") : -len(".promisor")]
        for name, value in known.items()
        if name.startswith("remote.") and name.endswith(".promisor") and value.lower() in ("true", "yes", "on", "1", "")
    ]
    old = known.get("extensions.partialclone", "")
    return [*found, *([old] if old and old not in found else [])]


def bring(repo: Repo, ids: Sequence[str], kinds: str = "blob:none") -> bool:
    """Fetch objects that are not here, and below them those that the filter `kinds` lets through, if that is allowed.

    Returns whether the remote gave them.
    """
    if not (ids and repo.may_fetch) or not (names := remotes(repo)) or _is_paused(repo):
        return False
    from cortex_git.store import transport

    for at in range(0, len(ids), _AT_ONCE):
        part = ids[at : at + _AT_ONCE]
        # A failed fetch is followed by one from the next remote, if there is one: it may be a fork that lacks them.
        if not any(transport.fetch_objects(repo, name, part, kinds, repo.may_fetch).status == 0 for name in names):
            keep_json(_note(repo), {"failed": time.monotonic()})
            return False
    return True


def bring_trees(repo: Repo, span: Iterable[str]) -> bool:
    """Fetch the folders that hold items of the commits in a span, in a clone that left trees with its remote."""
    request = "\n".join([*span, ""]).encode()
    out = repo.git("-c", "log.showSignature=false", "log", "--stdin", "--format=%T", input=request)
    level = list(dict.fromkeys(out.decode("ascii").split()))
    # Only what is missing may be asked for: git takes a tree that is here for whole, whatever lies below it.
    for names in ((_FOLDER,), _ITEMS, ()):
        absent = _absent(repo, level)
        if absent and not bring(repo, absent, "tree:1" if names == (_FOLDER,) else "blob:none"):
            return False
        level = list(dict.fromkeys(id for name, id in _entries(repo, level) if name in names)) if names else []
    return True


def _absent(repo: Repo, ids: Iterable[str]) -> list[str]:
    asked = list(ids)
    request = "".join(f"{id}\n" for id in asked).encode()
    status, out, _ = repo.git_status("cat-file", "--batch-check", "--buffer", input=request)
    if status:  # a git that cannot be told to leave what is missing alone
        every = repo.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--buffer").decode("ascii")
        here = set(every.split())
        return [id for id in asked if id not in here]
    return [id for id, line in zip(asked, out.decode("ascii").splitlines(), strict=True) if line.endswith(" missing")]


def _entries(repo: Repo, trees: Sequence[str]) -> list[tuple[bytes, str]]:
    """Name and id of the folders in some trees."""
    out = repo.git("cat-file", "--batch", "--buffer", input="".join(f"{id}\n" for id in trees).encode())
    found: list[tuple[bytes, str]] = []
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        header = out[at:end].split(b" ")
        width, size = len(header[0]) // 2, int(header[2])
        tree, at = out[end + 1 : end + 1 + size], end + 2 + size
        place = 0
        while place < size:
            stop = tree.index(b"\0", place)
            mode, _, name = tree[place:stop].partition(b" ")
            if mode == b"40000":
                found.append((name, tree[stop + 1 : stop + 1 + width].hex()))
            place = stop + 1 + width
    return found


def _is_paused(repo: Repo) -> bool:
    failed = read_json(_note(repo)).get("failed")
    # The clock starts anew when the machine does: then what is noted lies in the future.
    return isinstance(failed, float) and 0 <= time.monotonic() - failed < PAUSE


def _note(repo: Repo) -> str:
    return os.path.join(repo.home, "cache", "promisor.json")
