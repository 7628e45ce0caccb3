"""Item files through history: which ones a commit's past has ever held, and how two commits differ in them."""

from __future__ import annotations

import os

from cortex_git.store import promisor
from cortex_git.store.locking import keep_json, read_json
from cortex_git.store.process import AS_STORED, GitError
from cortex_git.store.reach import cut
from cortex_git.store.removed import removed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from cortex_git.store.repo import Repo

    IdsOf = Callable[[Mapping[str, str]], Mapping[str, list[str]]]

FOLDERS = (".cortex/decisions", ".cortex/learned")
"""Where items lie. Plans are left out: a plan's file belongs to its branch and comes and goes with it."""
# Of a merge only what none of its parents has: all else some commit before it added. That way a commit adds the same
# whatever span it is met in, so that what is counted up for one head can be counted down for another.
_LOG = (
    "-c", "log.showSignature=false", "log", "--full-history", "-c", "--no-renames", "--diff-filter=A", "--raw",
    "--no-abbrev", "-z",
)  # fmt: skip
_VERSION = 3
_ENTRIES = 4


class Change:
    """How item files differ between two commits: path to blob id of those that are new or changed, and of those gone.

    `unsettled` says whether history may hold a file that the new commit has not: then it was taken out on purpose.
    """

    __slots__ = ("gone", "present", "unsettled")

    def __init__(self, present: dict[str, str], gone: dict[str, str], unsettled: bool) -> None:
        self.present = present
        self.gone = gone
        self.unsettled = unsettled


def changes(repo: Repo, old: str | None, new: str | None, *, is_parent: bool = False) -> Change:
    """How item files differ between two commits, which may lie anywhere in history; None is the time before any.

    With `is_parent` nothing lies between the two, and nothing is looked for there.
    """
    if old == new:
        return Change({}, {}, False)
    if old is None or new is None:
        there = _tree(repo, new or old or "")
        return Change(there, {}, has_removed(repo, new)) if new else Change({}, there, True)
    difference = ("diff-tree", "-r", "--no-renames", "--raw", "--no-abbrev", "-z", old, new, "--", *FOLDERS)
    out = repo.git(*difference, variables=AS_STORED)
    present: dict[str, str] = {}
    gone: dict[str, str] = {}
    for meta, name in _entries(out):
        kept = meta[4] != "D"
        (present if kept else gone)[name] = meta[3] if kept else meta[2]
    if is_parent:
        return Change(present, gone, bool(gone))
    return Change(present, gone, has_removed(repo, new, old))


def has_removed(repo: Repo, commit: str, before: str | None = None) -> bool:
    """Whether a commit's history took out an item file that it has not, other than what holds for `before` as well."""
    try:
        taken = removed(repo, commit, FOLDERS)
        return bool(taken - removed(repo, before, FOLDERS) if taken and before else taken)
    except GitError:
        if not promisor.remotes(repo):
            raise
        return True  # what lies between is not all here


def _tree(repo: Repo, commit: str) -> dict[str, str]:
    listing = ("ls-tree", "-r", "-z", "--full-tree", commit, "--", *FOLDERS)
    status, out, _ = repo.git_status(*listing, variables=AS_STORED)
    entries = (entry.partition("\t") for entry in ([] if status else os.fsdecode(out).split("\0")))
    return {name: meta.split(" ")[2] for meta, _, name in entries if name}


def held(repo: Repo, head: str | None, ids_of: IdsOf) -> dict[str, list[str]]:
    """Path to the ids of the events in it, of every item file in the history of `head`.

    `ids_of` reads files (path to blob id) and says which ids each holds. Kept for the last few
    commits that were asked for, with how many commits added each file: so the answer for any
    other commit follows from what either has and the other has not, and the whole history is
    read only once.
    """
    if head is None:
        return {}
    path = os.path.join(repo.home, "cache", "held.json")
    file = read_json(path)
    start = cut(repo)
    known: dict[str, Any] = dict(file["commits"]) if file.get("version") == _VERSION and file["start"] == start else {}
    counted: dict[str, list[Any]] | None = known.pop(head, None)
    if counted is None:
        counted = _bring_forward(repo, head, known, ids_of)
        if counted is None:
            return {name: ids for name, ids in ids_of(_tree(repo, head)).items()}
    elif not repo.may_fetch or not _read_late(counted, ids_of):
        return _ids(counted)
    known[head] = counted
    entries = {at: known[at] for at in list(known)[-_ENTRIES:]}
    keep_json(path, {"version": _VERSION, "start": start, "commits": entries})
    return _ids(counted)


def _ids(counted: Mapping[str, list[Any]]) -> dict[str, list[str]]:
    return {name: ids if isinstance(ids, list) else [] for name, (_, ids) in counted.items()}


def _read_late(counted: Mapping[str, list[Any]], ids_of: IdsOf) -> bool:
    """Fill in the ids of files that could not be read before; returns whether there were any."""
    unread = {name: blob for name, (_, blob) in counted.items() if isinstance(blob, str)}
    ids = ids_of(unread) if unread else {}
    for name in ids:
        counted[name][1] = ids[name]
    return bool(ids)


def _bring_forward(repo: Repo, head: str, kept: dict[str, Any], ids_of: IdsOf) -> dict[str, list[Any]] | None:
    """What `_counted` says, from the commit that was asked for last; None where history is not all here."""
    base = next((old for old in reversed(kept) if not repo.git_status("cat-file", "-e", old)[0]), None)
    known = kept[base] if base else {}
    try:
        return _counted(repo, head, base, known, ids_of)
    except GitError:
        if not promisor.remotes(repo):
            raise
    has_trees = promisor.bring_trees(repo, [head, base] if base else [head])
    return _counted(repo, head, base, known, ids_of) if has_trees else None


def _counted(
    repo: Repo, head: str, base: str | None, known: Mapping[str, list[Any]], ids_of: IdsOf
) -> dict[str, list[Any]]:
    """Path to how many commits added it and the ids in it; the blob's own id where it could not be read."""
    found = {name: list(entry) for name, entry in known.items()}
    added = _additions(repo, head, f"^{base}") if base else _additions(repo, head)
    ids = ids_of({name: blob for name, blob in added if name not in found})
    for name, blob in added:
        found.setdefault(name, [0, ids.get(name, blob)])[0] += 1
    for name, _ in _additions(repo, base, f"^{head}") if base else []:
        found[name][0] -= 1
    return {name: entry for name, entry in found.items() if entry[0] > 0}


def _additions(repo: Repo, *span: str) -> list[tuple[str, str]]:
    """Path and blob id for each time that a commit of the span added an item file."""
    out = repo.git(*_LOG, "--format=", *span, "--", *FOLDERS, variables=AS_STORED)
    return [(name, meta[-2]) for meta, name in _entries(out)]


def _entries(out: bytes) -> list[tuple[list[str], str]]:
    """git's raw diff with -z: `:mode mode old new X`, NUL, path, NUL, and so on; of a merge a colon for each parent."""
    fields = iter(os.fsdecode(out).split("\0"))
    return [(meta.strip().split(" "), next(fields, "")) for meta in fields if meta.strip().startswith(":")]
