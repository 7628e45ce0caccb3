"""Which memory a branch sees: the rules of alignment, computed from HEAD and never from the last hook.

Memory follows commits. A branch sees all that was recorded under its own key, and of every
other key what is anchored at a commit that HEAD can reach.
"""

from __future__ import annotations

import contextlib
import os

from cortex_git.digest import sha256_hex
from cortex_git.store import keys, reach, steady
from cortex_git.store.listing import Tips
from cortex_git.store.locking import keep_json, read_json
from cortex_git.store.tied import Tied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

_TRAILER = "%(trailers:key={},valueonly,separator=%x20)"
_NAMES = ("Cortex-Commit", "Cortex-Upto", "Cortex-Closed")
_FORMAT = "%x00".join(["%H", "%P", *map(_TRAILER.format, _NAMES)])


_POSITIONS = 6


class Anchor:
    """Everything up to the notes commit `upto`, which lies `depth` commits deep in its ref, belongs to `commit`."""

    __slots__ = ("commit", "depth", "upto")

    def __init__(self, commit: str, upto: str, depth: int) -> None:
        self.commit = commit
        self.upto = upto
        self.depth = depth


class Visible:
    """What a branch sees: each ref with the notes commit up to which it does.

    `own` are the refs of the branch's own key, seen whole; `reached` are those of other branches.
    """

    __slots__ = ("_tips", "own", "reached")

    def __init__(self, own: dict[str, str], reached: Reached | None) -> None:
        self.own = own
        self.reached = reached
        self._tips: dict[str, str] | None = None

    @property
    def tips(self) -> dict[str, str]:
        """Name to the notes commit up to which a ref is seen."""
        if self._tips is None:
            self._tips = {**(self.reached.tips() if self.reached else {}), **self.own}
        return self._tips

    def join(self, other: Visible) -> None:
        """See what another branch with the same commit sees as well."""
        self.own.update(other.own)
        self.reached, self._tips = other.reached, None


class Reached:
    """The refs of other branches that are seen from a commit, each with how far. Two that differ differ in `serial`."""

    __slots__ = ("_look_up", "_path", "_tips", "serial")

    def __init__(self, path: str, serial: str, look_up: Callable[[], dict[str, str]]) -> None:
        self._path = path
        self._look_up = look_up
        self._tips: dict[str, str] | None = None
        self.serial = serial or self._found()

    def tips(self) -> dict[str, str]:
        """Name to the notes commit up to which a ref is seen. Read when it is asked for: most hooks never do."""
        if self._tips is None:
            kept = read_json(f"{self._path}-{self.serial}.json")
            if kept:
                self._tips = dict(zip(kept["names"].split(), kept["tips"].split(), strict=True))
            else:
                self._found()
        return self._tips or {}

    def keep(self, path: str) -> None:
        """Have it kept at another place, too, and nothing older there."""
        target, folder = f"{path}-{self.serial}.json", os.path.dirname(path)
        if os.path.exists(target):
            return
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if name.startswith(os.path.basename(path) + "-"):
                    os.unlink(os.path.join(folder, name))
        try:
            os.link(f"{self._path}-{self.serial}.json", target)
        except OSError:
            tips = self.tips()
            keep_json(target, {"names": " ".join(tips), "tips": " ".join(tips.values())})

    def _found(self) -> str:
        self._tips = self._look_up()
        kept = {"names": " ".join(self._tips), "tips": " ".join(self._tips.values())}
        serial = sha256_hex("\n".join(kept.values()).encode("utf-8", "surrogateescape"))[:16]
        keep_json(f"{self._path}-{serial}.json", kept)
        return serial


def visible(repo: Repo, backend: Backend, refs: Mapping[str, str], key: str, head: str | None) -> Visible:
    """The refs that the branch with this key sees at this commit (None: nothing is committed yet)."""
    part = f"/{key}/"
    own = {name: tip for name, tip in refs.items() if part in name and keys.key_in(name) == key}
    if keys.is_detached(key):  # what others say there is of no branch, so it is not ours either
        own = {name: tip for name, tip in own.items() if keys.is_ours(repo, name)}
    if head is None or len(refs) == len(own):
        return Visible(own, None)
    return Visible(own, _reached(repo, backend, refs if isinstance(refs, Tips) else Tips.of(refs), key, head))


def _reached(repo: Repo, backend: Backend, refs: Tips, own: str, head: str) -> Reached:
    """How far refs of all keys but one are seen from a commit. Kept for the last few positions that were asked for."""
    living = keys.living(repo)
    about = [refs.stamp_without(own), own, reach.cut(repo), *sorted(living)]
    stamp = sha256_hex("\n".join(about).encode("utf-8", "surrogateescape"))[:32]
    path = os.path.join(repo.home, "cache", "reached")
    kept: dict[str, str] = read_json(path + ".json")
    # A commit has what its only parent has, and no anchor of another branch can name one that has just been made.
    before = steady.before(repo, head) if own == keys.settled(repo, repo.branch()) else []
    places = [f"{commit} {stamp}" for commit in (head, *before)]
    serial = next((kept[place] for place in places if place in kept), "")

    def look_up() -> dict[str, str]:
        part, theirs = f"/{own}/", keys.is_detached(own)
        mine = {name for name in refs if part in name and keys.key_in(name) == own}
        mine = {name for name in mine if not theirs or keys.is_ours(repo, name)}
        foreign = {name: tip for name, tip in refs.items() if name not in mine}
        return _look_up_reached(repo, backend, foreign, head, living)

    found = Reached(path, serial, look_up)
    if kept.get(f"{head} {stamp}") != found.serial:
        kept = {name: value for name, value in kept.items() if name not in places}
        kept[f"{head} {stamp}"] = found.serial
        last = {name: kept[name] for name in list(kept)[-_POSITIONS:]}
        keep_json(path + ".json", last)
        for serial in set(kept.values()) - set(last.values()):
            with contextlib.suppress(OSError):
                os.unlink(f"{path}-{serial}.json")
    return found


def _look_up_reached(
    repo: Repo, backend: Backend, foreign: Mapping[str, str], head: str, living: set[str]
) -> dict[str, str]:
    kept = _kept(repo, foreign)
    over = finished(repo, foreign, living, kept)
    lines = list(kept.deepest(foreign))
    reached = reach.reachable(repo, backend, head, {commit for _, _, parts in lines for commit in parts[::2]})
    tips: dict[str, str] = {}
    for name, tip, parts in lines:
        upto = next((parts[at + 1] for at in range(0, len(parts), 2) if parts[at] in reached), "")
        if upto and name in over and _last(kept, foreign, name) in reached:
            tips[name] = tip
        elif upto:
            tips[name] = upto
    return tips


def _last(kept: Tied, refs: Mapping[str, str], name: str) -> str:
    """The last commit of a branch: each is noted in the shared ref, and in the local one only if it has news."""
    twin = keys.SHARED + name.removeprefix(keys.LOCAL) if name.startswith(keys.LOCAL) else ""
    anchors = (kept[twin]["anchors"] if twin in refs else []) or kept[name]["anchors"]
    return str(anchors[-1][0])


def finished(repo: Repo, refs: Mapping[str, str], living: set[str], kept: Tied | None = None) -> set[str]:
    """The refs of branches that are gone, here or by what their clone says: no commit is to come for their end."""
    ours = "/" + repo.clone
    mine = {name for name in refs if name.endswith(ours) and keys.key_in(name) not in living}
    over = mine | (kept or _kept(repo, refs)).ended(refs)
    return {name for name in over if not keys.is_detached(keys.key_in(name))}


def ended(repo: Repo, refs: Mapping[str, str]) -> set[str]:
    """The refs whose own clone has closed them, since the branch is gone there."""
    return _kept(repo, refs).ended(refs)


def anchors(repo: Repo, refs: Mapping[str, str]) -> dict[str, list[Anchor]]:
    """The anchors of each ref, oldest first. Kept by tip; only what is new is read, all refs by one git."""
    kept = _kept(repo, refs)
    return {name: [Anchor(*entry) for entry in kept[name]["anchors"]] for name in refs}


def open_refs(repo: Repo, refs: Mapping[str, str]) -> set[str]:
    """Those of the refs that hold events which no anchor covers."""
    table = _kept(repo, refs)
    kept = {name: table[name] for name in refs}
    tied = {name: max((depth for _, _, depth in kept[name]["anchors"]), default=0) for name in refs}
    return {name for name in refs if kept[name]["noted"] > tied[name]}


def _kept(repo: Repo, refs: Mapping[str, str]) -> Tied:
    kept = Tied(repo, refs)
    stale = kept.stale(refs)
    if stale:
        commits = _read_commits(repo, stale, [tip for name in stale if (tip := kept.tip(name))])
        torn = {name: tip for name, tip in stale.items() if not _joins(kept.tip(name), tip, commits)}
        if torn:  # written anew, or with a second line merged in: part of it was taken for known
            commits.update(_read_commits(repo, torn, []))
            kept.drop(torn)
        for name, tip in stale.items():
            kept.set(name, _extended(kept.get(name), tip, commits))
    kept.keep()
    return kept


def note(repo: Repo, wrote: Sequence[tuple[str, str | None, str, str]]) -> None:
    """Keep what notes commits say that were just put on refs: of each its ref, the tip before, its id and message."""
    groups: dict[str, list[tuple[str, str | None, str, str]]] = {}
    for entry in wrote:
        groups.setdefault(keys.key_in(entry[0]), []).append(entry)
    for group in groups.values():
        kept = Tied(repo, {ref: tip for ref, _, tip, _ in group})
        for ref, old, tip, message in group:
            if kept.tip(ref) == (old or ""):
                lines = [line.partition(": ") for line in message.splitlines()[1:]]
                said = {name: value.strip() for name, _, value in lines}
                anchor, upto, closed = (said.get(name, "").split(" ")[-1] for name in _NAMES)
                commits = {tip: (old or "", anchor, upto, closed)}
                kept.set(ref, _extended(kept.get(ref), tip, commits))
        kept.keep()


def _read_commits(repo: Repo, stale: Mapping[str, str], known: list[str]) -> dict[str, tuple[str, str, str, str]]:
    """Notes commits that are not kept yet: id to first parent, anchor, upto, closed."""
    # A tip that is kept here and gone from the repository is passed over by --ignore-missing, if that comes first.
    request = "\n".join([*sorted(set(stale.values())), *(f"^{tip}" for tip in sorted(set(known)))]) + "\n"
    log = ("-c", "log.showSignature=false", "log", "--ignore-missing", "--stdin", f"--format={_FORMAT}")
    out = repo.git(*log, input=request.encode())
    found: dict[str, tuple[str, str, str, str]] = {}
    for line in out.decode("utf-8", "replace").split("\n"):
        parts = line.split("\0")
        if len(parts) == 5:
            commit, parents, anchor, upto, closed = parts
            found[commit] = (parents.split(" ")[0], anchor.split(" ")[-1], upto.split(" ")[-1], closed)
    return found


def _joins(before: str, tip: str, commits: Mapping[str, tuple[str, str, str, str]]) -> bool:
    """Whether the commits lead from `tip` to its first one, or to where the kept state ends."""
    at = tip
    while at in commits:
        at = commits[at][0]
    return not at or at == before


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
