"""The merge driver of pages: git calls it for a page that both sides of a merge have changed."""

from __future__ import annotations

import os

from cortex_git.projections.merging import merged_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_git.memory import Memory


def merge_page(memory: Memory, arguments: Sequence[str]) -> None:
    """Put the page of the merge result in place of our side, which stays where it cannot be rendered.

    The arguments are the page's path, three files (base, ours, theirs) and git's names for these
    sides, as far as this git knows them.
    """
    path, *names = arguments[:4]
    places = [os.path.join(memory.env.cwd, name) for name in names]
    versions = [_read(place) for place in places]
    data = merged_page(
        memory.repo, memory.backend, memory.config, path, versions, arguments[4:], memory.env.variables
    )  # fmt: skip
    if data is not None and data != versions[1]:
        with open(places[1], "wb") as file:
            file.write(data)


def _read(place: str) -> bytes:
    with open(place, "rb") as file:
        return file.read()
