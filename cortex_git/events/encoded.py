"""Secrets in base64: a run of it is decoded once, and what it holds is judged by its own form."""

from __future__ import annotations

import binascii

from cortex_git.events.literals import compiled
from cortex_git.events.places import urls
from cortex_git.events.secrets import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_git.events.literals import Span

_RUN = r"[A-Za-z0-9+/_-]{24,}={0,2}"
_LONGEST = 8192
"""So much of a run is decoded; a longer one is hardly ever a text."""
_START = 24


def encoded(text: str) -> Iterator[Span]:
    """The runs of base64 that decode to a text with a token or with a URL that has a password."""
    for found in compiled(_RUN).finditer(text):
        inside = _decoded(found[0])
        if not inside:
            continue
        raw = inside.encode("ascii")
        for _, _, kind in (*shapes(inside, raw), *urls(inside, raw.lower())):
            yield (*found.span(), kind)
            break


def _decoded(run: str) -> str:
    """The text in a run; empty if it is not one."""
    run = run.rstrip("=")[:_LONGEST].replace("-", "+").replace("_", "/")
    if not _is_text(binascii.a2b_base64(run[:_START])):  # most runs are paths, names and hashes
        return ""
    run = run[:-1] if len(run) % 4 == 1 else run
    data = binascii.a2b_base64(run + "=" * (-len(run) % 4))
    return data.decode("ascii") if _is_text(data) else ""


def _is_text(data: bytes) -> bool:
    return data.isascii() and all(byte > 31 or byte in b"\t\r\n" for byte in data) and b"\x7f" not in data
