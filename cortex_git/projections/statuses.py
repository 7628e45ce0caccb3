"""How the decisions of a commit stand in their files, and what commits have done to that.

What a file says depends on nothing but its content, so each blob is read only once.
"""

from __future__ import annotations

import os

from cortex_git.projections.document import DECISIONS
from cortex_git.projections.reading import parse
from cortex_git.store import promisor
from cortex_git.store.locking import keep_json, read_json
from cortex_git.views.settled import Written
from cortex_git.views.standing import birth_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cortex_git.events.model import Event
    from cortex_git.store.repo import Repo
    from cortex_git.views.settled import State

    Contents = Callable[[Mapping[str, str]], Mapping[str, bytes]]

_VERSION = 1
_MOST = 50_000
_LOG = ("-c", "log.showSignature=false", "log", "--full-history", "-m", "--no-renames", "--diff-filter=AM",
        "--raw", "--no-abbrev", "-z", "--format=")  # fmt: skip


class Statuses:
    """What item files say, by blob. `contents` reads files, given path to blob id."""

    def __init__(self, repo: Repo, contents: Contents) -> None:
        self._repo = repo
        self._contents = contents
        self._path = os.path.join(repo.home, "cache", "statuses.json")
        self._known: dict[str, list[str]] | None = None
        self._changes: dict[tuple[str, str, str], list[tuple[State, State]]] = {}

    def written(self, files: Mapping[str, str]) -> dict[str, Written]:
        """How each decision stands in these files, by id; damaged ones say nothing."""
        wanted = {path: blob for path, blob in files.items() if path.startswith(DECISIONS)}
        known = self._read(wanted)
        found: dict[str, Written] = {}
        for path in sorted(wanted):
            entry = known.get(wanted[path])
            if entry:
                id, birth, time, status, successor = entry
                found[id] = Written(id, path, birth, time, (status, successor))
        return found

    def are_plain(self, files: Mapping[str, str]) -> bool:
        """Whether each decision stands in these files as at its birth. They are opened, and none is noted."""
        wanted = {path: blob for path, blob in files.items() if path.startswith(DECISIONS)}
        said = (_said(path, data) for path, data in self._contents(wanted).items())
        return all((status, successor) == (birth, "") for _, birth, _, status, successor in filter(None, said))

    def carried(self, head: str, files: Mapping[str, Written]) -> Callable[[str, Event, Collection[State], bool], bool]:
        """Whether a commit between a change of state and `head` has taken a file into some states, or out of them."""

        def is_carried(id: str, change: Event, states: Collection[State], into: bool) -> bool:
            if change.commit == head:
                return False
            for before, after in self._steps(change.commit, head, files[id].path):
                if before != after and (after in states if into else before in states and after not in states):
                    return True
            return False

        return is_carried

    def _steps(self, old: str, head: str, path: str) -> list[tuple[State, State]]:
        """What a file said before and after each commit that `head` reaches and `old` does not.

        After all that `head` reaches, if there is no commit `old`.
        """
        if (old, head, path) not in self._changes:
            is_known = bool(old) and not self._repo.git_status("cat-file", "-e", f"{old}^{{commit}}")[0]
            span = [head, f"^{old}"] if is_known else [head]
            if promisor.remotes(self._repo):
                promisor.bring_trees(self._repo, span)
            # Where trees are missing, nothing is known to have been carried: then it counts, which is what was said.
            status, out, _ = self._repo.git_status(*_LOG, *span, "--", path)
            fields = [] if status else os.fsdecode(out).split("\0")
            metas = [field.strip().split(" ") for field in fields if field.strip().startswith(":")]
            known = self._read({f"{path} {blob}": blob for meta in metas for blob in meta[2:4] if blob.strip("0")})
            steps = [(_state(known.get(meta[2])), _state(known.get(meta[3]))) for meta in metas]
            self._changes[old, head, path] = steps
        return self._changes[old, head, path]

    def _read(self, files: Mapping[str, str]) -> dict[str, list[str]]:
        """By blob what files say; each is opened only if it was never seen before."""
        if self._known is None:
            kept = read_json(self._path)
            self._known = dict(kept["blobs"]) if kept.get("version") == _VERSION else {}
        new = {path: blob for path, blob in files.items() if blob not in self._known}
        if new:
            if len(self._known) + len(new) > _MOST:
                self._known = {blob: self._known[blob] for blob in files.values() if blob in self._known}
            self._known.update((new[path], _said(path, data)) for path, data in self._contents(new).items())
            keep_json(self._path, {"version": _VERSION, "blobs": self._known})
        return self._known


def _said(path: str, data: bytes) -> list[str]:
    """Id, status at birth, time, status and successor; nothing for what is no sound file of a decision."""
    item = parse(path.partition(" ")[0], data)
    if item.faults or not item.events:
        return []
    event = item.event
    return [event.id, birth_status(event), event.time, item.status, item.superseded_by]


def _state(entry: list[str] | None) -> State:
    """What a file says; one that was not there yet, or is damaged, as if it were as it was born."""
    return (entry[3], entry[4]) if entry else ("", "")
