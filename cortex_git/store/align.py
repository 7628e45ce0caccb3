"""Which memory a branch sees: the rules of alignment, computed from HEAD and never from the last hook.

Memory follows commits. A branch sees all that was recorded under its own key, and of every
other key what is anchored at a commit that HEAD can reach.
"""

from __future__ import annotations

import os

from cortex_git.digest import sha256_hex
from cortex_git.store import history, keys
from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

_TRAILER = "%(trailers:key={},valueonly,separator=%x20)"
_NAMES = ("Cortex-Commit", "Cortex-Upto", "Cortex-Closed")
_FORMAT = "%x00".join(["%H", "%P", *map(_TRAILER.format, _NAMES)])


_POSITIONS = 2


class Anchor:
    """Everything up to the notes commit `upto`, which lies `depth` commits deep in its ref, belongs to `commit`."""

    __slots__ = ("commit", "depth", "upto")

    def __init__(self, commit: str, upto: str, depth: int) -> None:
        self.commit = commit
        self.upto = upto
        self.depth = depth


class Visible:
    """What a branch sees: each ref with the notes commit up to which it does.

    `own` are the refs of the branch's own key, seen whole. `loose` are refs of events recorded on
    a detached HEAD, of which only those count whose `commit` is HEAD.
    """

    __slots__ = ("loose", "own", "tips")

    def __init__(self) -> None:
        self.tips: dict[str, str] = {}
        self.own: set[str] = set()
        self.loose: dict[str, str] = {}


def visible(repo: Repo, backend: Backend, refs: Mapping[str, str], key: str, head: str | None) -> Visible:
    """The refs that the branch with this key sees at this commit (None: nothing is committed yet)."""
    seen = Visible()
    foreign: dict[str, str] = {}
    for name, tip in refs.items():
        if keys.key_in(name) != key:
            foreign[name] = tip
        elif key == keys.DETACHED:
            foreign[name] = tip
            seen.loose[name] = tip
        else:
            seen.tips[name] = tip
            seen.own.add(name)
    if head and foreign:
        seen.tips.update(_reached(repo, backend, foreign, head))
    return seen


def _reached(repo: Repo, backend: Backend, foreign: Mapping[str, str], head: str) -> dict[str, str]:
    """How far refs of other branches are seen from a commit. Kept for the last few positions that were asked for."""
    living = keys.living(repo)
    stamp = sha256_hex("\n".join([*sorted(living), *(f"{n} {t}" for n, t in sorted(foreign.items()))]).encode())
    path = os.path.join(repo.home, "cache", "reached.json")
    kept: dict[str, Any] = read_json(path)
    # A commit has what its only parent has, and no anchor of another branch can name one that has just been made.
    parent = history.parent_of_step(repo, head)
    tips = kept.get(f"{head} {stamp}") or kept.get(f"{parent} {stamp}")
    if not isinstance(tips, dict):
        tips = _look_up_reached(repo, backend, foreign, head, living)
    if f"{head} {stamp}" not in kept:
        kept[f"{head} {stamp}"] = tips
        keep_json(path, {name: kept[name] for name in list(kept)[-_POSITIONS:]})
    return dict(tips)


def _look_up_reached(
    repo: Repo, backend: Backend, foreign: Mapping[str, str], head: str, living: set[str]
) -> dict[str, str]:
    found = anchors(repo, foreign)
    over = finished(repo, foreign, living)
    reached = backend.reachable(head, {a.commit for name in foreign for a in found[name]})
    tips: dict[str, str] = {}
    for name, tip in foreign.items():
        within = [a for a in found[name] if a.commit in reached]
        if within and name in over and _last(found, name).commit in reached:
            tips[name] = tip
        elif within:
            tips[name] = max(within, key=lambda a: a.depth).upto
    return tips


def _last(found: Mapping[str, list[Anchor]], name: str) -> Anchor:
    """The last anchor of a branch: each commit is noted in the shared ref, and in the local one only if it has news."""
    twin = found.get(keys.SHARED + name.removeprefix(keys.LOCAL)) if name.startswith(keys.LOCAL) else None
    return (twin or found[name])[-1]


def finished(repo: Repo, refs: Mapping[str, str], living: set[str]) -> set[str]:
    """The refs of branches that are gone, here or by what their clone says: no commit is to come for their end."""
    mine = {name for name in refs if name.endswith("/" + repo.clone) and keys.key_in(name) not in living}
    return {name for name in mine | ended(repo, refs) if keys.key_in(name) != keys.DETACHED}


def ended(repo: Repo, refs: Mapping[str, str]) -> set[str]:
    """The refs whose own clone has closed them, since the branch is gone there."""
    kept = _kept(repo, refs)
    return {name for name in refs if kept[name]["ended"]}


def anchors(repo: Repo, refs: Mapping[str, str]) -> dict[str, list[Anchor]]:
    """The anchors of each ref, oldest first. Kept by tip; only what is new is read, all refs by one git."""
    kept = _kept(repo, refs)
    return {name: [Anchor(*entry) for entry in kept[name]["anchors"]] for name in refs}


def open_refs(repo: Repo, refs: Mapping[str, str]) -> set[str]:
    """Those of the refs that hold events which no anchor covers."""
    kept = _kept(repo, refs)
    tied = {name: max((depth for _, _, depth in kept[name]["anchors"]), default=0) for name in refs}
    return {name for name in refs if kept[name]["noted"] > tied[name]}


def _kept(repo: Repo, refs: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    path = os.path.join(repo.home, "cache", "anchors.json")
    kept: dict[str, Any] = read_json(path)
    stale = {name: tip for name, tip in refs.items() if _tip(kept.get(name)) != tip}
    if stale:
        commits = _read_commits(repo, stale, [tip for name in stale if (tip := _tip(kept.get(name)))])
        torn = {name: tip for name, tip in stale.items() if not _joins(kept.get(name), tip, commits)}
        if torn:  # written anew, or with a second line merged in: part of it was taken for known
            commits.update(_read_commits(repo, torn, []))
            kept = {name: value for name, value in kept.items() if name not in torn}
        for name, tip in stale.items():
            kept[name] = _extended(kept.get(name), tip, commits)
        kept = {name: value for name, value in kept.items() if name in refs or name not in stale}
        keep_json(path, kept)
    return kept


def _tip(entry: object) -> str:
    return str(entry.get("tip", "")) if isinstance(entry, dict) else ""


def _read_commits(repo: Repo, stale: Mapping[str, str], known: list[str]) -> dict[str, tuple[str, str, str, str]]:
    """Notes commits that are not kept yet: id to first parent, anchor, upto, closed."""
    # A tip that is kept here and gone from the repository is passed over by --ignore-missing.
    request = "\n".join([*sorted(set(stale.values())), *(f"^{tip}" for tip in sorted(set(known)))]) + "\n"
    log = ("-c", "log.showSignature=false", "log", "--stdin", "--ignore-missing", f"--format={_FORMAT}")
    out = repo.git(*log, input=request.encode())
    found: dict[str, tuple[str, str, str, str]] = {}
    for line in out.decode("utf-8", "replace").split("\n"):
        parts = line.split("\0")
        if len(parts) == 5:
            commit, parents, anchor, upto, closed = parts
            found[commit] = (parents.split(" ")[0], anchor.split(" ")[-1], upto.split(" ")[-1], closed)
    return found


def _joins(entry: object, tip: str, commits: Mapping[str, tuple[str, str, str, str]]) -> bool:
    """Whether the commits lead from `tip` to its first one, or to where the kept state ends."""
    at = tip
    while at in commits:
        at = commits[at][0]
    return not at or at == _tip(entry)


def _extended(
    entry: dict[str, Any] | None, tip: str, commits: Mapping[str, tuple[str, str, str, str]]
) -> dict[str, Any]:
    """The kept state of one ref brought forward to `tip`."""
    chain: list[str] = []
    at = tip
    while at in commits:
        chain.append(at)
        at = commits[at][0]
    base: dict[str, Any] = {"depth": 0, "anchors": [], "noted": 0, "ended": False}
    if entry and at == entry["tip"]:
        base = entry
    depth: int = base["depth"]
    known: list[list[Any]] = list(base["anchors"])
    depths: dict[str, int] = {upto: deep for _, upto, deep in known}
    depths[at] = depth
    noted, ended = int(base["noted"]), bool(base["ended"])
    for commit in reversed(chain):
        depth += 1
        depths[commit] = depth
        _, anchor, upto, gone = commits[commit]
        ended = ended or bool(gone)
        if not (upto or gone):  # the others bring no events
            noted = depth
        if anchor:
            upto = upto or commit
            # An upto that is not in this ref's line covers nothing, rather than too much.
            known.append([anchor, upto, depths.get(upto, 0)])
    return {"tip": tip, "depth": depth, "anchors": known, "noted": noted, "ended": ended}


def changed_blobs(repo: Repo, pairs: Mapping[str, tuple[str, str]]) -> dict[str, tuple[list[str], list[str]]]:
    """For each ref and its notes commits before and after: the segments that came, and those that went, by one git."""
    # A line `commit parent` makes git compare with that parent; --always heads each answer with the commit.
    request = "".join(f"{new} {old}\n" for old, new in pairs.values())
    if not request:
        return {}
    out = repo.git(
        "diff-tree", "--stdin", "-r", "--raw", "--no-abbrev", "--no-renames", "--always", input=request.encode()
    )
    groups: list[tuple[list[str], list[str]]] = []
    for line in out.decode("utf-8", "replace").splitlines():
        if not line.startswith(":"):
            groups.append(([], []))
            continue
        _, _, old, new, status = line.partition("\t")[0].split(" ")
        if status != "D":
            groups[-1][0].append(new)
        if status != "A":
            groups[-1][1].append(old)
    return dict(zip(pairs, groups, strict=True))
