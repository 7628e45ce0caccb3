"""What one process has read of the store, or written to it: asked for again, it is not asked of git again."""

from __future__ import annotations

from cortex_git.digest import blob_id
from cortex_git.store import align

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cortex_git.store.backend import Backend
    from cortex_git.store.notes import Wrote
    from cortex_git.store.repo import Repo

_CACHED = 4 * 1024 * 1024


class Recall:
    """Blobs and the segments between notes commits."""

    def __init__(self, repo: Repo, backend: Backend) -> None:
        self._repo = repo
        self._backend = backend
        self._blobs: dict[str, bytes] = {}
        self._weight = 0
        self._between: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
        self._grown: dict[str, tuple[str, str, list[str]]] = {}

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The contents of blobs. A few MiB of them are kept: one hook looks at the same new ones more than once."""
        missing: list[str] = []
        for id in dict.fromkeys(ids):
            if id in self._blobs:
                yield id, self._blobs[id]
            else:
                missing.append(id)
        for id, data in self._backend.blobs(missing):
            self._keep(id, data)
            yield id, data

    def segments(self, tips: Mapping[str, str]) -> dict[str, list[str]]:
        """The segments of refs, given the tip of each."""
        known = {ref: self._between["", tip][0] for ref, tip in tips.items() if ("", tip) in self._between}
        found = self._backend.segments(tip for ref, tip in tips.items() if ref not in known)
        return {ref: known[ref] if ref in known else found[tip] for ref, tip in tips.items()}

    def between(self, moved: Mapping[str, tuple[str, str]]) -> dict[str, tuple[list[str], list[str]]]:
        """For each ref and its tips before and after: the segments that came, and those that went."""
        new = {ref: pair for ref, pair in moved.items() if pair not in self._between}
        found = align.changed_blobs(self._repo, new)
        self._between.update((moved[ref], lists) for ref, lists in found.items())
        return {ref: self._between[pair] for ref, pair in moved.items()}

    def take_in(self, wrote: Iterable[Wrote]) -> None:
        """Know what was just put on refs."""
        for ref, old, new, blobs in wrote:
            start, at, ids = self._grown.get(ref, (old or "", old or "", []))
            if at != (old or ""):
                start, ids = old or "", []
            here = [blob_id(data, self._repo.object_format) for data in blobs]
            for id, data in zip(here, blobs, strict=True):
                self._keep(id, data)
            self._grown[ref] = (start, new, [*ids, *here])
            self._between[start, new] = ([*ids, *here], [])

    def _keep(self, id: str, data: bytes) -> None:
        self._weight += len(data)
        if self._weight <= _CACHED:
            self._blobs[id] = data
