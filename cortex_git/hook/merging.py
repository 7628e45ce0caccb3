"""The merge drivers: git calls them for a page or an item that both sides of a merge have changed."""

from __future__ import annotations

import os

from cortex_git.projections.document import is_item
from cortex_git.projections.merging import merged_item, merged_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_git.memory import Memory

ASIDE = ".ours"
"""Ends the name of the file with our side of an item; without it is where the result goes, conflicts by now."""


def merge_page(memory: Memory, arguments: Sequence[str]) -> None:
    """Put the page of the merge result in place of our side, which stays where it cannot be rendered.

    The arguments are the page's path, three files (base, ours, theirs) and git's names for these
    sides, as far as this git knows them. An item is settled if that can be done, and then our
    side's file is removed.
    """
    path, *names = arguments[:4]
    places = [os.path.join(memory.env.cwd, name) for name in names]
    versions = [_read(place) for place in places]
    if is_item(path):
        settled = merged_item(path, versions[1], versions[2])
        if settled is not None:
            _write(places[1].removesuffix(ASIDE), settled)
            os.unlink(places[1])
        return
    labels, variables = arguments[4:], memory.env.variables
    data = merged_page(memory.repo, memory.backend, memory.config, path, versions, labels, variables)
    if data is not None and data != versions[1]:
        _write(places[1], data)


def _read(place: str) -> bytes:
    with open(place, "rb") as file:
        return file.read()


def _write(place: str, data: bytes) -> None:
    with open(place, "wb") as file:
        file.write(data)
