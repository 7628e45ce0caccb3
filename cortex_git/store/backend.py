"""What storage must be able to do: read and move refs, read trees and blobs, append to a notes ref.

A notes ref is a line of commits whose trees only grow: each segment is a blob that lies under its
own id, so two writers can never claim one path, and storing something twice changes nothing.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from cortex_git.errors import CortexError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_BLOB = 4 * 1024 * 1024
"""The largest blob, in bytes, that is read unless a caller says otherwise: others may have written it."""

LOCK_PATIENCE = 1.0
"""How long, in seconds, a ref's lock is waited for before it counts as left behind."""

_HEX = frozenset("0123456789abcdef")
_UNFIT = re.compile(r"[\x00-\x20~^:?*\[\\\x7f]|\.\.|//|@\{|/\.|\.lock(/|$)|[./]$")


class RefMoved(CortexError):
    """A ref is not where its writer saw it: read it again, then repeat."""

    def __init__(self, ref: str) -> None:
        self.ref = ref
        super().__init__(f"{ref} was changed by another process meanwhile; try again")


class Update:
    """One commit to put on `ref`, which must be at `old` (None: must not exist). `blobs` join its tree."""

    __slots__ = ("blobs", "message", "old", "ref")

    def __init__(self, ref: str, old: str | None, blobs: Sequence[bytes], message: str) -> None:
        self.ref = check_ref(ref)
        self.old = old
        self.blobs = blobs
        self.message = message


class NotesCommit:
    """One commit of a notes ref. `time` is RFC 3339, `author` is `Name <mail>`."""

    __slots__ = ("author", "id", "message", "time")

    def __init__(self, id: str, time: str, author: str, message: str) -> None:
        self.id = id
        self.time = time
        self.author = author
        self.message = message


class Backend(ABC):
    """The store of one repository. Replacement refs (`git replace`) are not honoured: ids mean what they name.

    Every method may raise CortexError if the repository cannot be read or written.
    """

    @abstractmethod
    def refs(self, *prefixes: str) -> dict[str, str]:
        """Full name to object id of the refs that are, or lie under, one of the prefixes (none given: of all)."""

    @abstractmethod
    def tree(self, rev: str, folder: str = "") -> dict[str, str]:
        """Path (from the root) to blob id of the plain files of a revision, all or those in a folder.

        Executable files, links and submodules are left out. Raises CortexError if there is no such revision.
        """

    def segments(self, tips: Iterable[str]) -> dict[str, list[str]]:
        """For each notes commit the ids of the segments that its tree holds. Raises CortexError if one is missing."""
        return {tip: list(self.tree(tip).values()) for tip in dict.fromkeys(tips)}

    @abstractmethod
    def blobs(self, ids: Iterable[str], max_size: int = MAX_BLOB) -> Iterator[tuple[str, bytes]]:
        """Id and content of each blob. What is missing, no blob, no id or larger (bytes) is passed over unread."""

    @abstractmethod
    def append(self, updates: Sequence[Update]) -> list[str]:
        """Put one commit on each ref, and return the new tips in the same order. No ref may be named twice.

        Raises RefMoved if a ref is not at its `old`; then the other refs may have been updated or not.
        """

    @abstractmethod
    def update(self, ref: str, new: str | None, old: str | None) -> None:
        """Move a ref from `old` (None: must not exist) to `new` (None: remove it). Raises RefMoved."""

    @abstractmethod
    def history(self, tip: str, known: str | None = None) -> list[NotesCommit]:
        """The commits that `tip` reaches and `known` does not, newest first. A `known` that is missing hides none."""

    @abstractmethod
    def commits(self, ids: Iterable[str]) -> set[str]:
        """Those of the ids that name a commit that is here."""

    @abstractmethod
    def reachable(self, head: str, commits: Iterable[str]) -> set[str]:
        """Those of the commits that exist and are `head` or its ancestors."""


def is_object_id(text: str) -> bool:
    """Whether a text is a whole object id, of SHA-1 or SHA-256."""
    return len(text) in (40, 64) and not set(text) - _HEX


def path_of(blob: str) -> str:
    """Where a segment lies in a notes tree: under its own id, one level deep."""
    return f"{blob[:2]}/{blob[2:]}"


def check_ref(name: str) -> str:
    """The name, if it can be one of a ref. Raises CortexError."""
    if not name.startswith("refs/") or _UNFIT.search(name):
        raise CortexError(f"{name!r} cannot be the name of a ref")
    return name


def lock_left(path: str) -> CortexError:
    """The error for a lock that does not go away. We never remove one: its owner may be alive."""
    return CortexError(f"{path} is in the way; if no git command is running here, remove that file and repeat")


def text_bytes(text: str) -> bytes:
    """A message as it goes into a commit: UTF-8 that ends with a line end, without NUL, which git forbids."""
    return text.replace("\0", "").encode("utf-8", "replace").rstrip(b"\n") + b"\n"
