"""Both storage backends, and what tests of them do again and again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from formats import FORMAT, HASH, HEX

from cortex_git.digest import blob_id
from cortex_git.store.backend import Backend, Update
from cortex_git.store.gitcli import GitBackend
from cortex_git.store.libgit2 import Libgit2Backend
from cortex_git.store.repo import require

REF = "refs/notes/cortex/0123456789ab/01234567"
OTHER = "refs/notes/cortex-local/0123456789ab/01234567"
MISSING = "5" * HEX
BACKENDS: dict[str, Callable[..., Backend]] = {"git": GitBackend, **({} if FORMAT else {"pygit2": Libgit2Backend})}


def opened(kind: str, path: Path) -> Backend:
    """A backend of this kind for the repository at `path`."""
    return BACKENDS[kind](require(str(path), os.environ))


def put(store: Backend, *blobs: bytes, ref: str = REF, message: str = "cortex: events\n") -> str:
    """Append to wherever the ref is now."""
    return store.append([Update(ref, store.refs(ref).get(ref), blobs, message)])[0]


def contents(store: Backend, rev: str) -> set[bytes]:
    """Everything that a revision holds."""
    return {data for _, data in store.blobs(store.tree(rev).values())}


def id_of(blob: bytes) -> str:
    """The id of a blob in the format that is tested."""
    return blob_id(blob, HASH)


def placed(*blobs: bytes, object_format: str = HASH) -> dict[str, str]:
    """The tree that these segments must make."""
    ids = [blob_id(blob, object_format) for blob in blobs]
    return {f"{id[:2]}/{id[2:]}": id for id in ids}
