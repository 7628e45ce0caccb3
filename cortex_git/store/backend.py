"""What the memory needs of git, as one small interface with two implementations."""

from __future__ import annotations

from cortex_git.errors import CortexError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol

    class Backend(Protocol):
        """A repository's objects and refs. Every change of a ref is compare-and-swap."""

        def refs(self, *prefixes: str) -> dict[str, str]:
            """Full name to object id of the refs under these prefixes, which end at a component."""

        def tree(self, rev: str, folder: str = "") -> dict[str, str]:
            """Path to blob id of the regular files in a commit, or in one folder of it; nothing if it is missing."""

        def blobs(self, ids: Iterable[str], max_size: int = MAX_BLOB) -> Iterator[tuple[str, bytes]]:
            """The contents of blobs; what is missing, no blob or larger than `max_size` bytes is left out."""

        def append(self, updates: Sequence[Update]) -> list[str]:
            """Put one commit on each ref and return the new tips. Raises RefMoved, CortexError."""

        def update(self, ref: str, new: str | None, old: str | None) -> None:
            """Move a ref from `old` (None: it must not exist) to `new` (None: delete it). Raises RefMoved."""

        def history(self, tip: str, known: str | None = None) -> list[NotesCommit]:
            """Notes commits from `tip` back, newest first, without those that `known` reaches."""

        def reachable(self, head: str, commits: Iterable[str]) -> set[str]:
            """Those of the commits that exist and that `head` reaches."""


MAX_BLOB = 4 * 1024 * 1024
"""The largest blob that is read, in bytes."""


class RefMoved(CortexError):
    """A ref is not where a writer thought it was: read it again and retry."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"{ref} was moved by another process; try again")
        self.ref = ref


class Update:
    """One commit to put on `ref`, which must be at `old` (None: must not exist).

    Its tree is that of `old` plus each blob under its own id; without blobs the tree stays.
    """

    __slots__ = ("blobs", "message", "old", "ref")

    def __init__(self, ref: str, old: str | None, blobs: Sequence[bytes], message: str) -> None:
        self.ref = ref
        self.old = old
        self.blobs = blobs
        self.message = message


class NotesCommit:
    """A notes commit: `time` in RFC 3339, `author` as `Name <mail>`."""

    __slots__ = ("author", "id", "message", "time")

    def __init__(self, id: str, time: str, author: str, message: str) -> None:
        self.id = id
        self.time = time
        self.author = author
        self.message = message


def note_path(blob: str) -> str:
    """Where a segment lies in the notes tree: under its own id, with one fan-out level."""
    return f"{blob[:2]}/{blob[2:]}"
