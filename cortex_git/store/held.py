"""Item files through history: which ones a commit's past has ever held, and how two commits differ in them."""

from __future__ import annotations

import os

from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from cortex_git.store.repo import Repo

    IdsOf = Callable[[Mapping[str, str]], Mapping[str, list[str]]]

FOLDERS = (".cortex/decisions", ".cortex/learned")
"""Where items lie. Plans are left out: a plan's file belongs to its branch and comes and goes with it."""
_LOG = (
    "-c", "log.showSignature=false", "log", "--full-history", "-m", "--no-renames", "--diff-filter=A", "--raw",
    "--no-abbrev", "-z",
)  # fmt: skip
_VERSION = 1
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
        return Change(there if new else {}, {} if new else there, True)
    out = repo.git("diff-tree", "-r", "--no-renames", "--raw", "--no-abbrev", "-z", old, new, "--", *FOLDERS)
    present: dict[str, str] = {}
    gone: dict[str, str] = {}
    for meta, name in _entries(out):
        kept = meta[4] != "D"
        (present if kept else gone)[name] = meta[3] if kept else meta[2]
    if is_parent:
        return Change(present, gone, bool(gone))
    # What only the old side added is merely not here; what the new side added and has not any more was taken out.
    left, right = _two_sides(repo, old, new)
    return Change(present, gone, bool(set(gone) - left or right - set(present)))


def _two_sides(repo: Repo, old: str, new: str) -> tuple[set[str], set[str]]:
    """The item files that commits added which only `old` reaches, and which only `new` reaches."""
    out = repo.git(*_LOG, "--left-right", "--format=%m", f"{old}...{new}", "--", *FOLDERS)
    sides: dict[str, set[str]] = {"<": set(), ">": set()}
    side = sides["<"]
    meta = ""
    for field in os.fsdecode(out).split("\0"):
        text = field.strip("\n")
        if text in sides:
            side = sides[text]
        elif text.startswith(":"):
            meta = text
        elif meta:
            side.add(text)
            meta = ""
    return sides["<"], sides[">"]


def _tree(repo: Repo, commit: str) -> dict[str, str]:
    status, out, _ = repo.git_status("ls-tree", "-r", "-z", "--full-tree", commit, "--", *FOLDERS)
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
    kept: dict[str, Any] = dict(file["commits"]) if file.get("version") == _VERSION else {}
    counted: dict[str, list[Any]] | None = kept.pop(head, None)
    if counted is None:
        base = next((old for old in reversed(kept) if not repo.git_status("cat-file", "-e", old)[0]), None)
        counted = _counted(repo, head, base, kept[base] if base else {}, ids_of)
        kept[head] = counted
        keep_json(path, {"version": _VERSION, "commits": {at: kept[at] for at in list(kept)[-_ENTRIES:]}})
    return {name: ids for name, (count, ids) in counted.items() if count > 0}


def _counted(
    repo: Repo, head: str, base: str | None, known: Mapping[str, list[Any]], ids_of: IdsOf
) -> dict[str, list[Any]]:
    """Path to how many commits added it and the ids in it."""
    found = {name: list(entry) for name, entry in known.items()}
    added = _additions(repo, head, f"^{base}") if base else _additions(repo, head)
    ids = ids_of({name: blob for name, blob in added if name not in found})
    for name, _ in added:
        found.setdefault(name, [0, ids.get(name, [])])[0] += 1
    for name, _ in _additions(repo, base, f"^{head}") if base else []:
        found[name][0] -= 1
    return {name: entry for name, entry in found.items() if entry[0] > 0}


def _additions(repo: Repo, *span: str) -> list[tuple[str, str]]:
    """Path and blob id for each time that a commit of the span added an item file."""
    out = repo.git(*_LOG, "--format=", *span, "--", *FOLDERS)
    return [(name, meta[3]) for meta, name in _entries(out)]


def _entries(out: bytes) -> list[tuple[list[str], str]]:
    """git's raw diff with -z: `:mode mode old new X`, NUL, path, NUL, and so on."""
    fields = os.fsdecode(out).split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return [(meta.strip().split(" "), name) for meta, name in pairs if meta.strip().startswith(":")]
