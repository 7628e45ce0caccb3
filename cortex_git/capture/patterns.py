"""Regular expressions that are compiled when they are first used: a hook uses few of them and pays for no more."""

from __future__ import annotations

import re

IGNORECASE = re.IGNORECASE
DOTALL = re.DOTALL
MULTILINE = re.MULTILINE


class _Lazy:
    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self._source, self._flags)
        for method in ("finditer", "fullmatch", "match", "search", "split", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy(source: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern as `re.compile` gives it, but not compiled yet."""
    return _Lazy(source, flags)  # type: ignore[return-value]
