"""Which of the stored events may be shown: not what was purged, nor yet what others date in the future."""

from __future__ import annotations

from cortex_git.events import codec
from cortex_git.store import keys, refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cortex_git.events.model import Event
    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo


class Sieve:
    """Takes events out of what is read. `ahead` are those that were set aside for later, id to time."""

    def __init__(self, repo: Repo, backend: Backend, tips: Callable[[], Mapping[str, str]]) -> None:
        self._repo = repo
        self._backend = backend
        self._tips = tips
        self._purged: refs.Tombstones | None = None
        self._own: set[str] | None = None
        self.ahead: dict[str, str] = {}

    def forget(self) -> None:
        """Look at the refs anew."""
        self._purged = self._own = None

    @property
    def purged(self) -> refs.Tombstones:
        """What was purged, here or in another clone."""
        if self._purged is None:
            self._purged = refs.purged(self._repo)
        return self._purged

    def pass_on(self, events: Iterable[Event], horizon: str) -> list[Event]:
        """Those events that may be shown, if what is dated after `horizon` has to wait."""
        gone = self.purged.ids
        found = []
        for event in events:
            if event.id in gone:
                continue
            # What this clone recorded was said, whatever its clock says now or said then.
            if event.time > horizon and event.id not in self._own_ids(horizon):
                self.ahead[event.id] = event.time
                continue
            found.append(event)
        return found

    def _own_ids(self, horizon: str) -> set[str]:
        if self._own is None:
            mine = [tip for name, tip in self._tips().items() if keys.is_ours(self._repo, name)]
            blobs = {blob for group in self._backend.segments(mine).values() for blob in group}
            events = (event for _, data in self._backend.blobs(blobs) for event in codec.decode_segment(data)[0])
            self._own = {event.id for event in events if event.time > horizon}
        return self._own
