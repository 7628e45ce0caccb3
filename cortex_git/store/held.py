"""Item files through history: which ones a commit's past has ever held, and how two commits differ in them."""

from __future__ import annotations

import os

from cortex_git.store import promisor, steady
from cortex_git.store.locking import keep_json, read_json
from cortex_git.store.process import AS_STORED, GitError
from cortex_git.store.reach import cut
from cortex_git.store.removed import removed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from cortex_git.store.repo import Repo

    IdsOf = Callable[[Mapping[str, str]], Mapping[str, list[str]]]
    Step = Callable[[str, str], "Change"]

FOLDERS = (".cortex/decisions", ".cortex/learned")
"""Where items lie. Plans are left out: a plan's file belongs to its branch and comes and goes with it."""
# Of a merge only what none of its parents has: all else some commit before it added. That way a commit adds the same
# whatever span it is met in, so that what is counted up for one head can be counted down for another.
_LOG = (
    "-c", "log.showSignature=false", "log", "--full-history", "-c", "--no-renames", "--diff-filter=A", "--raw",
    "--no-abbrev", "-z",
)  # fmt: skip
_VERSION = 4
_LATE = 300
"""How many files the small file may tell of."""


class Change:
    """How item files differ between two commits: path to blob id of those that are new or changed, and of those gone.

    `added` are those that the old one has not. `unsettled` says whether history may hold a file
    that the new commit has not: then it was taken out on purpose.
    """

    __slots__ = ("added", "gone", "present", "unsettled")

    def __init__(
        self, present: dict[str, str], gone: dict[str, str], unsettled: bool, added: Collection[str] = ()
    ) -> None:
        self.present = present
        self.gone = gone
        self.unsettled = unsettled
        self.added = set(added)


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
    added: list[str] = []
    for meta, name in _entries(out):
        kept = meta[4] != "D"
        (present if kept else gone)[name] = meta[3] if kept else meta[2]
        if meta[4] == "A":
            added.append(name)
    return Change(present, gone, bool(gone) if is_parent else has_removed(repo, new, old), added)


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


def held(repo: Repo, head: str | None, ids_of: IdsOf, step: Step | None = None) -> dict[str, list[str]]:
    """Path to the ids of the events in it, of every item file in the history of `head`.

    `ids_of` reads files (path to blob id) and says which ids each holds. Kept for the commit that
    was asked for last, with how many commits added each file: so the answer for any other commit
    follows from what either has and the other has not, and the whole history is read only once.
    `step` tells how two commits differ between which nothing lies.
    """
    if head is None:
        return {}
    kept = _Kept(repo)
    counted: dict[str, list[Any]] | None = kept.files
    if kept.head == head:
        if not repo.may_fetch or not _read_late(kept.files, ids_of):
            return _ids(kept.files)
    elif step and kept.head in steady.before(repo, head):
        change = step(kept.head, head)
        counted = _added(kept.files, [(name, change.present[name]) for name in sorted(change.added)], ids_of)
    else:
        counted = _bring_forward(repo, head, {kept.head: kept.files} if kept.head else {}, ids_of)
        if counted is None:
            return {name: ids for name, ids in ids_of(_tree(repo, head)).items()}
    kept.keep(head, counted or {})
    return _ids(counted or {})


def advance(repo: Repo, head: str, ids_of: IdsOf, step: Step) -> None:
    """Follow a plain commit, while how it differs from its parent is at hand."""
    path = os.path.join(repo.home, "cache", "held.new.json")
    late = read_json(path)
    if late.get("about") != [_VERSION, cut(repo)] or late["head"] not in steady.before(repo, head):
        return
    if step(late["head"], head).added:
        held(repo, head, ids_of, step)
    else:
        keep_json(path, {**late, "head": head})


def is_at_hand(repo: Repo, head: str | None) -> bool:
    """Whether what the history of a commit held is kept."""
    late = read_json(os.path.join(repo.home, "cache", "held.new.json"))
    return late.get("about") == [_VERSION, cut(repo)] and late["head"] == head


class _Kept:
    """What is kept: in a large file, and in a small one what is otherwise at the commit that was asked for last."""

    def __init__(self, repo: Repo) -> None:
        self._path = os.path.join(repo.home, "cache", "held")
        self._about = [_VERSION, cut(repo)]
        base, late = read_json(self._path + ".json"), read_json(self._path + ".new.json")
        if base.get("about") != self._about:
            base = {}
        self._base: dict[str, list[Any]] = base.get("files", {})
        self._origin = str(base.get("head", ""))
        self.head = self._origin
        self.files = dict(self._base)
        if base and (late.get("about"), late.get("of")) == (self._about, self._origin):
            self.head = str(late["head"])
            self.files.update(late["files"])
            self.files = {name: entry for name, entry in self.files.items() if entry}

    def keep(self, head: str, files: dict[str, list[Any]]) -> None:
        """Keep the files of a commit's history."""
        other = {name: entry for name, entry in files.items() if self._base.get(name) != entry}
        other.update((name, []) for name in self._base.keys() - files.keys())
        if not self._origin or len(other) > _LATE:
            keep_json(self._path + ".json", {"about": self._about, "head": head, "files": files})
            self._origin, other = head, {}
        values = {"about": self._about, "of": self._origin, "head": head, "files": other}
        keep_json(self._path + ".new.json", values)


def _added(known: Mapping[str, list[Any]], added: Sequence[tuple[str, str]], ids_of: IdsOf) -> dict[str, list[Any]]:
    """Files with how many commits added each, after some more did."""
    found = {name: list(entry) for name, entry in known.items()}
    ids = ids_of({name: blob for name, blob in added if name not in found})
    for name, blob in added:
        found.setdefault(name, [0, ids.get(name, blob)])[0] += 1
    return found


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
    found = _added(known, _additions(repo, head, f"^{base}") if base else _additions(repo, head), ids_of)
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
