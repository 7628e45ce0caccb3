"""What layers share: who and where, and what earlier units of a session said."""

from __future__ import annotations

import os

from cortex_git.capture.units import PROMPT
from cortex_git.events.model import MAX_CONTENT, Event
from cortex_git.events.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from cortex_git.capture.units import Unit
    from cortex_git.config import Config

    Layer = Callable[[Unit, "Context"], Iterable[Event]]

_MAX_SESSIONS = 50


class Context:
    """Where events are made. `root` is the work tree; `memo` survives from one extraction to the next, as JSON."""

    def __init__(self, config: Config, root: str, commit: str, author: str, memo: dict[str, Any]) -> None:
        self.config = config
        self.root = root.rstrip("/")
        self.commit = commit
        self.author = author
        self.memo = memo
        self._last: str | None = None
        self._entry: dict[str, Any] = {}

    def session(self, unit: Unit) -> dict[str, Any]:
        """What is kept of the unit's session; the sessions used last are kept."""
        if unit.session == self._last:
            return self._entry
        kept = self.memo.pop(unit.session, None)
        self._entry = kept if isinstance(kept, dict) else {}
        self._last = unit.session
        self.memo[unit.session] = self._entry
        for old in list(self.memo)[:-_MAX_SESSIONS]:
            del self.memo[old]
        return self._entry

    def event(self, unit: Unit, type: str, content: str, *, by_person: bool = False, **fields: Any) -> Event:
        """An event that a unit tells of. What a person said has the agent `user`."""
        source = {"id": unit.id, "tool": unit.tool, **fields.pop("source", {})}
        return Event(
            type,
            # A secret is known by its whole form, so it goes before a long content is cut to its limit.
            redact(content) if len(content) * 4 > MAX_CONTENT else content,
            time=unit.time,
            session=unit.session,
            agent="user" if by_person or unit.kind == PROMPT else unit.agent,
            author=self.author,
            branch=unit.branch,
            commit=self.commit,
            source={name: value for name, value in source.items() if value},
            **fields,
        )

    def path(self, path: str, cwd: str) -> str:
        """A path relative to the work tree if it lies in there, else as it is."""
        if cwd and not os.path.isabs(path):
            path = os.path.join(cwd, path)
        path = os.path.normpath(path)
        inside = self.root and path.startswith(self.root + "/")
        return path[len(self.root) + 1 :] if inside else path
