"""Purging: an event leaves every ref of this clone and every copy of others', and a tombstone keeps it away.

The tombstone is written first, so from then on no reader shows the event and no writer takes it in. A clone
that fetches it does the same with its own refs before it sends anything.
"""

from __future__ import annotations

import contextlib
import os

from cortex_git.errors import CortexError
from cortex_git.store import erase, guard, keys, refs, rewrite, trust
from cortex_git.store.backend import RefMoved, Update
from cortex_git.store.locking import Lock, read_json, write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from cortex_git.events.model import Event
    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

_PATIENCE = 10.0
_TRIES = 20
_MANY = 200
_SHORTEST = 6


class Purged:
    """What was done: refs that were written anew with their tips before and after, the events, what is left.

    `left` are objects that hold one of them and could not be removed.
    """

    def __init__(self) -> None:
        self.refs: dict[str, tuple[str, str]] = {}
        self.commits: dict[str, str] = {}
        """Notes commits that were written anew, old to new; the old ones are gone."""
        self.events: list[Event] = []
        self.left: set[str] = set()
        self.removed = 0


def bury(repo: Repo, backend: Backend, ids: Iterable[str]) -> None:
    """Add ids to this clone's tombstones. Raises CortexError if the ref cannot be written."""
    ref = f"{refs.PURGED}/{repo.clone}"
    wanted = sorted(ids)
    text = f"cortex: {len(wanted)} event{'s' * (len(wanted) != 1)} purged\n"
    blob = "".join(f"{id}\n" for id in wanted).encode()
    for _ in range(_TRIES):
        with contextlib.suppress(RefMoved):
            backend.append([Update(ref, backend.refs(ref).get(ref), [blob], text)])
            return
    raise CortexError(f"{ref} is being written by other processes; try again")


def is_due(repo: Repo) -> bool:
    """Whether there are tombstones that this clone's refs have not been rid of. Costs two small files."""
    stamp = refs.purged(repo).stamp
    return bool(stamp) and read_json(_path(repo)).get("stamp") != stamp


def honour(repo: Repo, backend: Backend, *, thorough: bool = False) -> Purged:
    """Rid this clone's refs, and its copies of others', of all that was purged anywhere, and then the repository.

    What was found clean before is not looked at again. `thorough` also looks for files that were staged
    or rendered and never committed. Raises CortexError; it can be repeated, and goes on where it ended.
    """
    done = Purged()
    refs.all_refs(repo, backend)
    tombstones = refs.purged(repo)
    if not tombstones.ids or not repo.clone:
        return done
    with Lock(os.path.join(repo.home, "lock")) as lock:
        if not lock.acquire(_PATIENCE):
            raise CortexError("another process is storing memories; try again in a moment")
        state = read_json(_path(repo))
        # A fetch may have moved a ref from a line with the event to one without: then it dangles.
        thorough = thorough or state.get("stamp") != tombstones.stamp
        _clean(repo, backend, tombstones, state, done)
        if done.events or state.get("doomed") or thorough:
            _erase(repo, backend, tombstones.ids, state, done)
    return done


def _path(repo: Repo) -> str:
    return os.path.join(repo.home, "purge.json")


def texts_of(events: Iterable[Event]) -> list[str]:
    """The lines of what events say that are long enough to be known by."""
    texts = (text for e in events for text in (e.content, e.reason, *e.alternatives))
    return sorted({line.strip() for text in texts for line in text.split("\n") if len(line.strip()) >= _SHORTEST})


def rewritten(repo: Repo, remote: str) -> set[str]:
    """Our shared refs that were written anew and that a remote may still have as they were: they go there by force."""
    kept = read_json(_path(repo)).get("rewritten", {})
    return {ref for ref, done in kept.items() if remote not in done}


def unfinished(repo: Repo) -> int:
    """How many objects that hold something purged could not be removed."""
    return len(read_json(_path(repo)).get("doomed", []))


def sent(repo: Repo, remote: str, accepted: Iterable[str]) -> None:
    """Note that a remote has taken these refs as they are now."""
    state = read_json(_path(repo))
    kept: dict[str, list[str]] = state.get("rewritten", {})
    news = [ref for ref in accepted if ref in kept and remote not in kept[ref]]
    for ref in news:
        kept[ref].append(remote)
    if news:
        write_json(_path(repo), state)


# ---- refs


def _clean(repo: Repo, backend: Backend, tombstones: refs.Tombstones, state: dict[str, Any], done: Purged) -> None:
    tips = _held(repo, backend)
    known = state.get("clean", []) if state.get("stamp") == tombstones.stamp else []
    if set(tips.values()) <= set(known) and known:
        return
    found = rewrite.find(repo, backend, tips.values(), known, tombstones.ids)
    done.events = found.events
    if found.blobs:
        new = rewrite.rewrite(repo, tips.values(), found.blobs)
        trust.carry_on(repo, new)
        done.commits = new
        moved = {name: (tip, new[tip]) for name, tip in tips.items() if tip in new}
        old, later = (erase.all_of(repo, [pair[at] for pair in moved.values()]) for at in (0, 1))
        # Kept before a ref moves: whoever is killed after that must still know what has to go.
        state["doomed"] = sorted({*state.get("doomed", []), *found.blobs, *(old - later)})
        state["texts"] = sorted({*state.get("texts", []), *texts_of(found.events)})
        _note_rewritten(repo, state, moved)
        write_json(_path(repo), state)
        done.refs = _move(repo, backend, moved)
    state["stamp"], state["clean"] = tombstones.stamp, sorted(set(_held(repo, backend).values()))
    write_json(_path(repo), state)


def _held(repo: Repo, backend: Backend) -> dict[str, str]:
    """All refs that may hold events, but for those that were signed for a remote: they are made anew."""
    found = backend.refs(keys.SHARED, keys.LOCAL, keys.REMOTES, trust.SIGNED, guard.KEPT)
    return {name: tip for name, tip in found.items() if not refs.is_tombstone(name) and "/purged/" not in name}


def _note_rewritten(repo: Repo, state: dict[str, Any], moved: Iterable[str]) -> None:
    kept: dict[str, list[str]] = state.setdefault("rewritten", {})
    kept.update((name, []) for name in moved if name.startswith(keys.SHARED + "/") and name.endswith("/" + repo.clone))


def _move(repo: Repo, backend: Backend, moved: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Have the refs at their new tips; what shows how others' memory of ours was goes, since it is not so any more."""
    done: dict[str, tuple[str, str]] = {}
    for name, (old, new) in moved.items():
        is_copy = name.startswith(keys.REMOTES) and name.endswith("/" + repo.clone)
        is_derived = is_copy or name.startswith((trust.SIGNED + "/", guard.KEPT + "/"))
        with contextlib.suppress(RefMoved):  # it is looked at again the next time
            backend.update(name, None if is_derived else new, old)
            if not is_derived:
                done[name] = (old, new)
    names = sorted(done)
    for at in range(0, len(names), _MANY):
        repo.git_status("reflog", "expire", "--expire=all", *names[at : at + _MANY])
    return done


# ---- objects and files


def _erase(repo: Repo, backend: Backend, ids: Iterable[str], state: dict[str, Any], done: Purged) -> None:
    kept = erase.reachable(repo)
    texts = sorted({*state.get("texts", []), *texts_of(done.events)})
    # A page names an item by its file, in whose name are the first digits of the id.
    names = [name.encode() for id in sorted(ids) for name in (id, f"-{id[:7]}.md")]
    needles = [*names, *(text.encode("utf-8", "replace") for text in texts)]

    def holds(data: bytes) -> bool:
        return _is_rendered(data) and any(needle in data for needle in needles)

    doomed = set(state.get("doomed", [])) | erase.dangling(repo, backend, kept, holds)
    done.left = erase.erase(repo, doomed, kept)
    done.removed = len(doomed - kept - done.left)
    scrub(repo, texts)
    state.pop("doomed", None)
    state.pop("texts", None)
    if done.left:
        state["doomed"] = sorted(done.left)
    write_json(_path(repo), state)


def _is_rendered(data: bytes) -> bool:
    """Whether content is of a kind that we write: an item, a page, a segment."""
    head = data[:4096]
    is_item = head.startswith(b"---\n") and b"\nsum: " in data and b"\nid: " in head
    return is_item or b"<!-- git-cortex page" in data[-400:] or head.startswith((b'[{"v":', b'[{"id":'))


def scrub(repo: Repo, texts: list[str]) -> None:
    """Remove what is derived, and of everything else under our folder what holds one of the texts."""
    for folder in ("view", "index", "cache"):
        _empty(os.path.join(repo.home, folder), keep=("purged.json", "trust.json"))
    if not texts:
        return
    needles = [needle.encode("utf-8", "replace") for text in texts for needle in (text, *_escaped(text))]
    for folder in ("", "spool", os.path.join("spool", "bad"), "hooks"):
        with contextlib.suppress(OSError):
            for name in os.listdir(os.path.join(repo.home, folder)):
                _scrub_file(os.path.join(repo.home, folder, name), needles)


def _escaped(text: str) -> tuple[str, str]:
    import json

    return json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]


def _scrub_file(path: str, needles: list[bytes]) -> None:
    with contextlib.suppress(OSError):
        with open(path, "rb") as file:
            data = file.read()
        if not any(needle in data for needle in needles):
            return
        name = os.path.basename(path)
        if name == "state.json":
            # What was said before, which a later turn may refer to, is not worth keeping apart from the rest.
            write_json(path, {**read_json(path), "memo": {}})
        elif name in ("log", "log.old"):
            kept = [line for line in data.splitlines(keepends=True) if not any(needle in line for needle in needles)]
            with open(path, "wb") as file:
                file.write(b"".join(kept))
        elif name not in ("purge.json", "program", "config.json"):
            os.unlink(path)


def _empty(folder: str, keep: Iterable[str]) -> None:
    for place, folders, files in os.walk(folder, topdown=False):
        for name in files:
            if name not in keep:
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(place, name))
        for name in folders:
            with contextlib.suppress(OSError):
                os.rmdir(os.path.join(place, name))


__all__ = ["Purged", "bury", "honour", "is_due", "rewritten", "scrub", "sent", "texts_of", "unfinished"]
