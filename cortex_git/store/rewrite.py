"""Notes refs without certain events: each commit that ever held one is written anew, and so are all that follow it.

Everything else stays as it was: authors, dates, messages, other segments. What a message says of other
notes commits, how far an anchor reaches or what is folded, is brought up to their new ids. The same refs
give the same commits in every clone.
"""

from __future__ import annotations

import json
import re

from cortex_git.digest import blob_id
from cortex_git.events import codec
from cortex_git.events.model import Event
from cortex_git.store.backend import path_of
from cortex_git.store.importer import Importer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

    Change = tuple[str, str, str, str, bytes]
    """Mode, blob before, blob after, status and path, as git's raw diffs have them."""

_MOST = 64 * 1024 * 1024
_LOG = (
    "-c", "log.showSignature=false", "-c", "log.showRoot=true", "log", "--ignore-missing", "--stdin", "--topo-order",
    "--reverse", "--diff-merges=first-parent", "--raw", "--no-abbrev", "--no-renames", "--format=%x01%H %P",
)  # fmt: skip
_LINKS = re.compile(rb"^(Cortex-Upto: |Cortex-Folded: [0-9a-f]+ )([0-9a-f]{40,64})$", re.MULTILINE)
_KEPT_LINES = (b"author ", b"committer ", b"encoding ")


class Found:
    """Segments that hold unwanted events: by blob id what is to take its place (None: nothing), and those events."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes | None] = {}
        self.events: list[Event] = []


def find(repo: Repo, backend: Backend, tips: Iterable[str], known: Iterable[str], ids: Collection[str]) -> Found:
    """What of these events is anywhere in the history of the tips, but not of those that are `known` to be clean."""
    found = Found()
    request = "".join([*(f"{tip}\n" for tip in sorted(set(tips))), *(f"^{tip}\n" for tip in sorted(set(known)))])
    listing = ("rev-list", "--objects", "--no-object-names", "--ignore-missing", "--stdin")
    objects = repo.git(*listing, input=request.encode()).decode("ascii").split()
    wanted = re.compile(b"|".join(id.encode() for id in sorted(ids)))
    for blob, data in backend.blobs(objects, _MOST):
        if wanted.search(data):
            left, gone = without(data, ids)
            if gone:
                found.blobs[blob] = left
                found.events += gone
    return found


def without(data: bytes, ids: Collection[str]) -> tuple[bytes | None, list[Event]]:
    """A segment without certain events, None if nothing is left, and the events that were taken out."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return _without_lines(data, ids)
    if not isinstance(values, list):
        return data, []
    kept: list[str] = []
    gone: list[Event] = []
    for value in values:
        event = codec.from_dict(value) if isinstance(value, dict) else None
        if isinstance(value, dict) and isinstance(id := value.get("id"), str) and id in ids:
            gone.append(event or _stand_in(value))
        else:
            kept.append(codec.encode(event) if event else json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    if not gone:
        return data, []
    text = "[" + ",\n".join(kept) + "]\n"
    return (text.encode("utf-8", "replace") if kept else None), gone


def _stand_in(value: dict[str, Any]) -> Event:
    """Something that has the id of an object that is no event, and its text."""
    text = value.get("content")
    return Event("-", text if isinstance(text, str) else "", time="1970-01-01T00:00:00.000Z", id=value["id"])


def _without_lines(data: bytes, ids: Collection[str]) -> tuple[bytes | None, list[Event]]:
    """The same for a segment that is damaged as a whole."""
    wanted = re.compile(b'"id" ?: ?"(' + b"|".join(id.encode() for id in sorted(ids)) + b')"')
    lines = data.split(b"\n")
    kept = [line for line in lines if not wanted.search(line)]
    events, _ = codec.decode_segment(data)
    gone = [event for event in events if event.id in ids]
    if len(kept) == len(lines):
        return data, []
    return b"\n".join(kept), gone or [_stand_in({"id": sorted(ids)[0]})]


# ---- commits


class _Commit:
    __slots__ = ("changes", "id", "parents")

    def __init__(self, id: str, parents: list[str]) -> None:
        self.id = id
        self.parents = parents
        self.changes: list[Change] = []


def rewrite(repo: Repo, tips: Iterable[str], blobs: Mapping[str, bytes | None]) -> dict[str, str]:
    """Write the history of these tips without some segments, and return old to new of the commits that changed."""
    dirty = _dirty(repo, tips, blobs)
    contents = _raw_commits(repo, [commit.id for commit in dirty])
    new: dict[str, str] = {}
    if not dirty:
        return new
    with Importer(repo) as importer:
        for commit in dirty:
            head, _, message = contents[commit.id].partition(b"\n\n")
            kept = [line + b"\n" for line in head.split(b"\n") if line.startswith(_KEPT_LINES)]
            changes = b"".join(_instruction(change, blobs, len(commit.id)) for change in commit.changes)
            parents = [new.get(parent, parent) for parent in commit.parents]
            new[commit.id] = importer.commit(b"".join(kept), _relinked(message, new), parents, changes)
    return new


def _dirty(repo: Repo, tips: Iterable[str], blobs: Mapping[str, bytes | None]) -> list[_Commit]:
    """The commits that brought one of the segments and all that descend from them, parents first."""
    request = "".join(f"{tip}\n" for tip in sorted(set(tips)))
    commits: list[_Commit] = []
    for line in repo.git(*_LOG, input=request.encode()).split(b"\n"):
        if line.startswith(b"\x01"):
            id, *parents = line[1:].decode("ascii").split()
            commits.append(_Commit(id, parents))
        elif line.startswith(b":"):
            meta, _, path = line.partition(b"\t")
            _, mode, old, id, status = meta[1:].decode("ascii").split(" ")
            commits[-1].changes.append((mode, old, id, status, path))
    found: dict[str, _Commit] = {}
    for commit in commits:
        if any(parent in found for parent in commit.parents) or any(id in blobs for _, _, id, _, _ in commit.changes):
            found[commit.id] = commit
    return list(found.values())


def _raw_commits(repo: Repo, ids: list[str]) -> dict[str, bytes]:
    out = repo.git("cat-file", "--batch", "--buffer", input="".join(f"{id}\n" for id in ids).encode()) if ids else b""
    found: dict[str, bytes] = {}
    at = 0
    for id in ids:
        end = out.index(b"\n", at)
        size = int(out[at:end].split(b" ")[2])
        found[id] = out[end + 1 : end + 1 + size]
        at = end + 2 + size
    return found


def _relinked(message: bytes, new: Mapping[str, str]) -> bytes:
    return _LINKS.sub(lambda link: link[1] + new.get(link[2].decode(), link[2].decode()).encode(), message)


def _instruction(change: Change, blobs: Mapping[str, bytes | None], width: int) -> bytes:
    """A change of a tree in the language of fast-import, with what takes the place of an unwanted segment."""
    mode, old, id, status, path = change
    object_format = "sha256" if width == 64 else "sha1"
    done = b""
    if status != "A":
        left = blobs.get(old, b"")
        there = path if old not in blobs else path_of(blob_id(left, object_format)).encode() if left else b""
        done = b"D %s\n" % there if there else b""
    if status == "D":
        return done
    if id not in blobs:
        return done + b"M %s %s %s\n" % (mode.encode(), id.encode(), path)
    data = blobs[id]
    if data is None:
        return done
    there = path_of(blob_id(data, object_format)).encode()
    return done + b"M 100644 inline %s\ndata %d\n%s\n" % (there, len(data), data)
