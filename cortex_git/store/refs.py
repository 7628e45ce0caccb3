"""All notes refs as readers see them: fetched ones as far as they are trusted, folded ones under their old names.

Also what was purged anywhere: ids that no reader shows, whatever a ref still holds.
"""

from __future__ import annotations

import contextlib
import os

from cortex_git.digest import sha256_hex
from cortex_git.events import codec
from cortex_git.store import keys, trust
from cortex_git.store.backend import RefMoved, is_object_id
from cortex_git.store.listing import Listing, Tips
from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

PURGED = "refs/notes/cortex-purged"
"""Under it each clone has a ref that names what was purged."""
ARCHIVE = "archive"
"""In place of a key: the one ref of a clone into which it folds those of branches that are gone."""
_FOLDED = "%H%x00%P%x00%(trailers:key=Cortex-Folded,valueonly,separator=%x20)"
_LONGEST = 1024 * 1024


class Tombstones:
    """The ids that were purged, by this clone or another. `stamp` differs whenever they do; empty if there are none."""

    __slots__ = ("ids", "stamp")

    def __init__(self, ids: Iterable[str] = (), stamp: str = "") -> None:
        self.ids = frozenset(ids)
        self.stamp = stamp


def all_refs(repo: Repo, backend: Backend) -> Tips:
    """Every notes ref of every clone, ours and fetched, with its tip: of a fetched one what is trusted.

    A ref that was folded into an archive is there under its own name, as if it never had been.
    """
    listing = Listing(repo, backend)
    tips: Mapping[str, str] = listing.tips()
    others = listing.others
    if trust.is_asked_for(repo):
        found = {name: tip for name, tip in {**tips, **others}.items() if name.startswith(keys.REMOTES + "/")}
        trusted = trust.trusted(repo, found)
        tips, others = (_as_trusted(group, trusted) for group in (tips, others))
    _keep_purged(repo, backend, {name: tip for name, tip in others.items() if is_tombstone(name)})
    archives = {name: tip for name, tip in others.items() if is_archive(name)}
    folded = expanded(repo, archives) if archives else {}
    return tips.over(folded) if isinstance(tips, Tips) else Tips.of({**folded, **tips})


def stamp(repo: Repo, backend: Backend) -> str:
    """What `all_refs` has as its stamp, at a cost that does not grow with the number of refs while none has moved."""
    return all_refs(repo, backend).stamp if trust.is_asked_for(repo) else Listing(repo, backend).stamp


def _as_trusted(refs: Mapping[str, str], trusted: Mapping[str, str]) -> dict[str, str]:
    theirs = keys.REMOTES + "/"
    found = {name: trusted.get(name, "") if name.startswith(theirs) else tip for name, tip in refs.items()}
    return {name: tip for name, tip in found.items() if tip}


def is_archive(name: str) -> bool:
    """Whether a ref is one into which others are folded."""
    return _part(name) == ARCHIVE


def is_tombstone(name: str) -> bool:
    """Whether a ref names what was purged, here or in another clone."""
    return name.startswith(PURGED + "/") or (name.startswith(keys.REMOTES) and _part(name) == "purged")


def _part(name: str) -> str:
    parts = name.split("/")
    return parts[-2] if len(parts) >= 5 and len(parts[-1]) == 8 else ""


def archive_of(name: str) -> str:
    """The archive that a notes ref is folded into when its branch is gone."""
    parts = name.split("/")
    return "/".join([*parts[:-2], ARCHIVE, parts[-1]])


# ---- folded refs


def expanded(repo: Repo, archives: Mapping[str, str]) -> dict[str, str]:
    """The refs that were folded into these archives, by the names that they had. Kept by the archives' tips."""
    found: dict[str, str] = {}
    for archive, folded in _kept_archives(repo, archives).items():
        before, _, clone = archive.rpartition(f"{ARCHIVE}/")
        found.update((f"{before}{key}/{clone}", tip) for key, tip in folded.items())
    return found


def _kept_archives(repo: Repo, archives: Mapping[str, str]) -> dict[str, dict[str, str]]:
    path = os.path.join(repo.home, "cache", "archives.json")
    kept: dict[str, Any] = read_json(path)
    stale = {name: tip for name, tip in archives.items() if kept.get(name, [""])[0] != tip}
    if stale:
        known = [kept[name][0] for name in stale if name in kept]
        commits = _archive_commits(repo, stale.values(), known)
        torn = {name: tip for name, tip in stale.items() if not _joins(tip, kept.get(name), commits)}
        if torn:  # written anew, or with a signed commit in between: part of it was taken for known
            commits.update(_archive_commits(repo, torn.values(), ()))
            kept = {name: entry for name, entry in kept.items() if name not in torn}
        for name, tip in stale.items():
            kept[name] = [tip, _folded_at(tip, kept.get(name), commits)]
        keep_json(path, {name: entry for name, entry in kept.items() if name in archives})
    return {name: kept[name][1] for name in archives}


def _archive_commits(repo: Repo, tips: Iterable[str], known: Iterable[str]) -> dict[str, tuple[list[str], str]]:
    """Id to parents and folded refs of the commits of archives that are not kept yet."""
    request = "\n".join([*sorted(set(tips)), *(f"^{tip}" for tip in sorted(set(known)))]) + "\n"
    log = ("-c", "log.showSignature=false", "log", "--ignore-missing", "--stdin", "--first-parent")
    out = repo.git(*log, f"--format={_FOLDED}", input=request.encode())
    lines = (line.split("\0") for line in out.decode("utf-8", "replace").splitlines())
    return {parts[0]: (parts[1].split(" "), parts[2]) for parts in lines if len(parts) == 3}


def _joins(tip: str, entry: list[Any] | None, commits: Mapping[str, tuple[list[str], str]]) -> bool:
    at = tip
    while at in commits:
        at = commits[at][0][0]
    return not at or (entry is not None and at == entry[0])


def _folded_at(tip: str, entry: list[Any] | None, commits: Mapping[str, tuple[list[str], str]]) -> dict[str, str]:
    """Key to tip of what is folded in an archive; of a key that was folded twice, the later one."""
    chain: list[str] = []
    at = tip
    while at in commits:
        chain.append(at)
        at = commits[at][0][0]
    found: dict[str, str] = dict(entry[1]) if entry and entry[0] == at else {}
    for commit in reversed(chain):
        parents, text = commits[commit]
        words = text.split()
        for key, folded in zip(words[::2], words[1::2], strict=False):
            # Only a parent is certain to be here, and to be no more than the archive itself holds.
            if len(key) == 12 and is_object_id(folded) and folded in parents[1:]:
                found[key] = folded
    return found


def bring_back(backend: Backend, tips: Mapping[str, str | None]) -> None:
    """Make the refs anew that are folded, each at its tip, so that they can be written to."""
    there = backend.refs(*tips)
    for name, tip in tips.items():
        if tip and name not in there:
            with contextlib.suppress(RefMoved):  # another process was faster
                backend.update(name, tip, None)


# ---- what was purged


def purged(repo: Repo) -> Tombstones:
    """What was purged, as of the last time that somebody listed all refs. Costs next to nothing."""
    kept = read_json(_purged_path(repo))
    return Tombstones(kept["ids"], kept["stamp"]) if kept else Tombstones()


def _purged_path(repo: Repo) -> str:
    return os.path.join(repo.home, "cache", "purged.json")


def _keep_purged(repo: Repo, backend: Backend, tombstones: Mapping[str, str]) -> None:
    path = _purged_path(repo)
    if not tombstones:
        if os.path.exists(path):
            os.unlink(path)
        return
    refs = sorted(tombstones.items())
    if read_json(path).get("refs") == [list(pair) for pair in refs]:
        return
    ids = sorted(purged_ids(backend, tombstones.values()))
    keep_json(path, {"refs": refs, "stamp": sha256_hex(" ".join(ids).encode())[:16], "ids": ids})


def purged_ids(backend: Backend, tips: Iterable[str]) -> set[str]:
    """The ids that tombstones name."""
    blobs = {blob for group in backend.segments(tips).values() for blob in group}
    lines = (line for _, data in backend.blobs(blobs, _LONGEST) for line in data.decode("ascii", "replace").split())
    return {line for line in lines if codec.is_id(line)}
