"""Looking through all notes refs for what does not belong there or leads nowhere. Readers pass over all of it."""

from __future__ import annotations

from cortex_git.events import model
from cortex_git.store import align, keys, refs, trust
from cortex_git.store.backend import MAX_BLOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_git.events.model import Event
    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

    Entry = tuple[str, str, str]
    """Mode, path and object id."""

_HEX = frozenset("0123456789abcdef")


class Audit:
    """What was found. Counts are of refs, entries of trees, blobs and commits; names are those of refs."""

    def __init__(self) -> None:
        self.no_keys: list[str] = []
        """Refs in our namespaces whose names are no keys, so that nobody reads them."""
        self.foreign: list[str] = []
        """Refs whose trees hold files that are no segments under their own ids, such as others' notes."""
        self.modes: list[str] = []
        """Refs whose trees hold links, executable files or submodules."""
        self.oversized: list[str] = []
        """Blobs that are too large to be read."""
        self.missing = 0
        """Segments that a tree names and that are not here."""
        self.lost_anchors = 0
        """Commits of the code that anchors name and that are not here."""
        self.unsigned: list[str] = []
        """With the trust rule: fetched refs of which not everything is signed."""
        self.folded = 0


def audit(repo: Repo, backend: Backend) -> Audit:
    """Look through all refs."""
    found = Audit()
    listed = backend.refs(keys.SHARED, keys.LOCAL, keys.REMOTES, refs.PURGED)
    archives = {name: tip for name, tip in listed.items() if refs.is_archive(name)}
    known = {name: tip for name, tip in listed.items() if _is_key(keys.key_in(name))}
    tombstones = {name: tip for name, tip in listed.items() if refs.is_tombstone(name)}
    found.no_keys = sorted(listed.keys() - known.keys() - archives.keys() - tombstones.keys())
    folded = refs.expanded(repo, archives)
    found.folded = len(folded.keys() - known.keys())
    every = {**folded, **known}
    _trees(repo, {**every, **tombstones}, found)
    anchors = align.anchors(repo, every)
    commits = {anchor.commit for group in anchors.values() for anchor in group}
    found.lost_anchors = sum(size < 0 for size in _sizes(repo, commits).values())
    if trust.is_asked_for(repo):
        fetched = {name: tip for name, tip in listed.items() if name.startswith(keys.REMOTES + "/")}
        trusted = trust.trusted(repo, fetched)
        found.unsigned = sorted(name for name, tip in fetched.items() if trusted.get(name) != tip)
    return found


def forged(events: Iterable[Event]) -> list[str]:
    """The ids of events whose id is not that of what they say. Types and formats that are not known are left out."""
    return [e.id for e in events if e.type in model.TYPES and "v" not in e.extra and e.id != e.identity()]


def _is_key(key: str) -> bool:
    return bool(key) and not set(key) - _HEX


def _trees(repo: Repo, tips: Mapping[str, str], found: Audit) -> None:
    entries = _all_entries(repo, set(tips.values()))
    blobs: set[str] = set()
    for name, tip in sorted(tips.items()):
        files = entries.get(tip, [])
        if any(mode != "100644" for mode, _, _ in files):
            found.modes.append(name)
        if any(mode == "100644" and path.replace("/", "") != id for mode, path, id in files):
            found.foreign.append(name)
        blobs.update(id for mode, _, id in files if mode == "100644")
    sizes = _sizes(repo, blobs)
    found.oversized = sorted(id for id, size in sizes.items() if size > MAX_BLOB)
    found.missing = sum(size < 0 for size in sizes.values())


def _all_entries(repo: Repo, tips: set[str]) -> dict[str, list[Entry]]:
    """For each commit the files of its tree. Each tree is read once, all of one depth by one git."""
    trees: dict[str, list[Entry]] = {}
    level = [f"{tip}^{{tree}}" for tip in sorted(tips)]
    while level:
        for name, data in zip(level, _contents(repo, level), strict=True):
            trees[name] = list(_parsed(data, len(name.partition("^")[0]) // 2))
        below = {id for name in level for mode, _, id in trees[name] if mode == "40000"}
        level = sorted(below - trees.keys())
    return {tip: list(_flat(trees, f"{tip}^{{tree}}", "")) for tip in tips}


def _flat(trees: Mapping[str, list[Entry]], name: str, folder: str) -> Iterable[Entry]:
    for mode, path, id in trees[name]:
        if mode == "40000":
            yield from _flat(trees, id, f"{folder}{path}/")
        else:
            yield mode, folder + path, id


def _parsed(data: bytes, width: int) -> Iterable[Entry]:
    at = 0
    while at < len(data):
        space, end = data.index(b" ", at), data.index(b"\0", at)
        path = data[space + 1 : end].decode("utf-8", "surrogateescape")
        yield data[at:space].decode("ascii"), path, data[end + 1 : end + 1 + width].hex()
        at = end + 1 + width


def _contents(repo: Repo, names: list[str]) -> Iterable[bytes]:
    out = repo.git("cat-file", "--batch", "--buffer", input="".join(f"{name}\n" for name in names).encode())
    at = 0
    for _ in names:
        end = out.index(b"\n", at)
        fields = out[at:end].split(b" ")
        size = int(fields[2]) if len(fields) == 3 else -1
        yield out[end + 1 : end + 1 + size] if size >= 0 else b""
        at = end + 1 + (size + 1 if size >= 0 else 0)


def _sizes(repo: Repo, ids: Iterable[str]) -> dict[str, int]:
    """The size of each object in bytes; -1 if it is not here."""
    asked = sorted(set(ids))
    if not asked:
        return {}
    out = repo.git("cat-file", "--batch-check", "--buffer", input="".join(f"{id}\n" for id in asked).encode())
    answers = (line.split(" ") for line in out.decode("ascii", "replace").splitlines())
    return {id: int(answer[2]) if len(answer) == 3 else -1 for id, answer in zip(asked, answers, strict=True)}
