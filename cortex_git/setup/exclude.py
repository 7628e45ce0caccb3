"""Lines of our own in the `info/` folder of a repository. The `.gitignore` and `.gitattributes` of the user stay."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cortex_git.setup import blocks

EXCLUDE, ATTRIBUTES = "exclude", "attributes"


def lines(common_dir: str, name: str = EXCLUDE) -> list[str]:
    """The lines in our block. Raises OSError."""
    path = _path(common_dir, name)
    return (blocks.content(path.read_bytes() if path.exists() else b"") or "").splitlines()


def put(common_dir: str, patterns: Sequence[str], dropped: Sequence[str] = (), name: str = EXCLUDE) -> bool:
    """Add lines to our block and drop others; returns whether the file changed. Raises OSError, CortexError."""
    path = _path(common_dir, name)
    old = path.read_bytes() if path.exists() else b""
    kept = [line for line in (blocks.content(old) or "").splitlines() if line not in dropped]
    lines = [*kept, *(pattern for pattern in patterns if pattern not in kept)]
    new = blocks.put(old, "\n".join(lines), len(old)) if lines else blocks.take(old)
    if new == old:
        return False
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(new)
    return True


def take(common_dir: str, name: str = EXCLUDE) -> bool:
    """Take our block out, and the file too if nothing else is in it; returns whether there was one."""
    path = _path(common_dir, name)
    old = path.read_bytes() if path.exists() else b""
    new = blocks.take(old)
    if new == old:
        return False
    if new:
        path.write_bytes(new)
    else:
        path.unlink()
    return True


def _path(common_dir: str, name: str) -> Path:
    return Path(os.path.join(common_dir, "info", name))
