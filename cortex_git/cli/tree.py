"""The files under `.cortex/` as they are in a work tree."""

from __future__ import annotations

import os

_LARGEST = 16 * 1024 * 1024


def cortex_files(root: str) -> dict[str, bytes]:
    """Path from `root` to content of the regular files under `.cortex/`, sorted; links are not followed."""
    found: dict[str, bytes] = {}
    for folder, _, names in os.walk(os.path.join(root, ".cortex")):
        for name in names:
            whole = os.path.join(folder, name)
            if os.path.isfile(whole) and not os.path.islink(whole) and os.path.getsize(whole) <= _LARGEST:
                with open(whole, "rb") as file:
                    found[os.path.relpath(whole, root).replace(os.sep, "/")] = file.read()
    return dict(sorted(found.items()))
