"""Which commits a head can reach, kept for the last few heads, so that each history is walked once.

Known of a head, the answer for another one follows from what either has and the other has not.
"""

from __future__ import annotations

import itertools
import os

from cortex_git.digest import sha256_hex
from cortex_git.store import history
from cortex_git.store.backend import is_object_id
from cortex_git.store.locking import keep_json, read_json
from cortex_git.store.process import AS_STORED, GitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

_HEADS = 16
_SPARE = 1000


def reachable(repo: Repo, backend: Backend, head: str, commits: Collection[str]) -> set[str]:
    """Those of the commits that exist and are `head` or its ancestors."""
    path = os.path.join(repo.home, "cache", "reach.json")
    depth = cut(repo)
    kept: dict[str, Any] = read_json(path)
    known: list[str] = kept["commits"].split() if kept.get("cut") == depth else []
    heads: dict[str, str] = kept["heads"] if known else {}
    if len(known) > 2 * len(commits) + _SPARE:
        known, heads = [], {}
    places = set(known)
    new = [commit for commit in dict.fromkeys(commits) if commit not in places]
    known += new
    flags = heads.get(head)
    if flags is None or len(flags) < len(known):
        reached = _reached(repo, backend, head, known, heads)
        heads.pop(head, None)
        heads[head] = "".join("01"[commit in reached] for commit in known)
        last = {name: heads[name] for name in list(heads)[-_HEADS:]}
        keep_json(path, {"cut": depth, "commits": " ".join(known), "heads": last})
    there = set(itertools.compress(known, map("1".__eq__, heads[head])))
    return there.intersection(commits)


def cut(repo: Repo) -> str:
    """Where a shallow clone's history is cut off, in short: it changes what a commit can reach. Empty: nowhere."""
    try:
        with open(os.path.join(repo.common_dir, "shallow"), "rb") as file:
            return sha256_hex(file.read())[:16]
    except OSError:
        return ""


def _reached(repo: Repo, backend: Backend, head: str, known: list[str], heads: dict[str, str]) -> set[str]:
    """Those of the known commits that `head` reaches."""
    parent = history.parent_of_step(repo, head) or ""
    base = head if head in heads else parent if parent in heads else next(reversed(heads), "")
    if not base:
        return backend.reachable(head, known)
    flags = heads[base]
    reached = set(itertools.compress(known, map("1".__eq__, flags)))
    asked = known[len(flags) :]
    if base == parent:
        reached |= {head}.intersection(known)
        asked = [commit for commit in asked if commit != head]
    elif base != head:
        try:
            lost, gained = _between(repo, base, head)
        except GitError:  # the other head was removed since
            return backend.reachable(head, known)
        reached = (reached - lost) | gained.intersection(known)
        asked = [commit for commit in asked if commit not in gained]
    return reached | backend.reachable(head, asked) if asked else reached


def _between(repo: Repo, old: str, new: str) -> tuple[set[str], set[str]]:
    """The commits that only one of two can reach."""
    if not (is_object_id(old) and is_object_id(new)):
        raise GitError(("rev-list",), 1, b"no object id")
    out = repo.git("rev-list", "--left-right", f"{old}...{new}", "--", variables=AS_STORED)
    lines = out.decode("ascii").split()
    return {line[1:] for line in lines if line[0] == "<"}, {line[1:] for line in lines if line[0] == ">"}
