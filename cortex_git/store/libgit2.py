"""Storage through libgit2: slow to load, quick to read; for commands and servers that read much."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pygit2
from pygit2.enums import FileMode, ObjectType, SortMode

from cortex_git.env import rfc3339
from cortex_git.errors import CortexError
from cortex_git.store.backend import (
    LOCK_PATIENCE,
    MAX_BLOB,
    Backend,
    NotesCommit,
    RefMoved,
    check_ref,
    is_object_id,
    lock_left,
    path_of,
    text_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cortex_git.store.backend import Update
    from cortex_git.store.repo import Repo

_FAILURES = (KeyError, ValueError, OSError, pygit2.GitError)
"""What pygit2 raises, without a system that one could rely on, for names and ids that lead nowhere and refs in use."""


class Unsupported(Exception):
    """A repository of a kind that libgit2 cannot open."""


class Libgit2Backend(Backend):
    """The store of one repository, read and written in this process."""

    __slots__ = ("_git", "_repo")

    def __init__(self, repo: Repo) -> None:
        """Raises Unsupported."""
        self._repo = repo
        try:
            self._git = pygit2.Repository(repo.git_dir)
        except pygit2.GitError as error:
            raise Unsupported(str(error)) from error

    def refs(self, *prefixes: str) -> dict[str, str]:
        names = (os.fsdecode(name) for name in self._git.raw_listall_references())
        wanted = [name for name in names if not prefixes or any(_under(name, prefix) for prefix in prefixes)]
        found = ((name, self._at(name)) for name in sorted(wanted))
        return {name: id for name, id in found if id}

    def tree(self, rev: str, folder: str = "") -> dict[str, str]:
        try:
            top = self._git.revparse_single(rev).peel(pygit2.Tree)
            within = _entry(top, folder.rstrip("/")) if folder else top
            if not isinstance(within, pygit2.Tree):
                return {}
            prefix = os.fsencode(folder.rstrip("/")) + b"/" if folder else b""
            return dict(self._files(within, prefix))
        except _FAILURES as error:
            raise CortexError(f"{rev!r} names no revision that can be read here") from error

    def _files(self, tree: pygit2.Tree, prefix: bytes) -> Iterator[tuple[str, str]]:
        for entry in tree:
            name = prefix + (entry.raw_name or b"")
            if entry.filemode == FileMode.BLOB:
                yield os.fsdecode(name), str(entry.id)
            elif isinstance(entry, pygit2.Tree):
                yield from self._files(entry, name + b"/")

    def blobs(self, ids: Iterable[str], max_size: int = MAX_BLOB) -> Iterator[tuple[str, bytes]]:
        for id in dict.fromkeys(ids):
            if not is_object_id(id):
                continue
            try:
                kind, size = self._git.odb.read_header(id)
                if kind != ObjectType.BLOB or size > max_size:
                    continue
                data = self._git.odb.read(id)[1]
            except _FAILURES:
                continue
            yield id, data

    def append(self, updates: Sequence[Update]) -> list[str]:
        tips = []
        for update in updates:
            tip = self._commit(update)
            self.update(update.ref, tip, update.old)
            tips.append(tip)
        return tips

    def update(self, ref: str, new: str | None, old: str | None) -> None:
        check_ref(ref)
        if old is None:
            if new is None:
                raise CortexError(f"{ref}: there is nothing to remove")
            self._move(ref, old, lambda: self._git.references.create(ref, new, force=False))
        else:
            self._move(ref, old, lambda: self._move_existing(ref, new, old))

    def _move_existing(self, ref: str, new: str | None, old: str) -> None:
        found = self._git.references[ref]
        if str(found.target) != old:
            raise RefMoved(ref)
        # libgit2 compares with the value that it has just read, once it holds the lock.
        if new is None:
            found.delete()
        else:
            found.set_target(new)

    def _move(self, ref: str, old: str | None, act: Callable[[], object]) -> None:
        """Do it, waiting as git does while another process holds the lock."""
        deadline = time.monotonic() + LOCK_PATIENCE
        while True:
            try:
                act()
            except _FAILURES as error:
                if self._at(ref) != old:
                    raise RefMoved(ref) from error
                lock = self._lock(ref)
                contended = lock or "failed to lock" in str(error) or "File exists" in str(error)
                if not contended or time.monotonic() >= deadline:
                    raise (lock_left(lock) if lock else _unwritten(ref, error)) from error
                time.sleep(0.005)
            else:
                return

    def _lock(self, ref: str) -> str:
        """The lock file that keeps a ref from being written; empty if there is none."""
        names = (os.path.join(self._repo.common_dir, name + ".lock") for name in (ref, "packed-refs"))
        return next((name for name in names if os.path.exists(name)), "")

    def history(self, tip: str, known: str | None = None) -> list[NotesCommit]:
        try:
            walker = self._git.walk(pygit2.Oid(hex=tip), SortMode.TOPOLOGICAL | SortMode.TIME)
            if known and self._is_commit(known):
                walker.hide(pygit2.Oid(hex=known))
            return [_notes_commit(commit) for commit in walker]
        except _FAILURES as error:
            raise CortexError(f"{tip!r} is no commit that can be read here") from error

    def commits(self, ids: Iterable[str]) -> set[str]:
        return {id for id in ids if self._is_commit(id)}

    def reachable(self, head: str, commits: Iterable[str]) -> set[str]:
        known = {id for id in commits if self._is_commit(id)}
        if not known:
            return known
        try:
            walker = self._git.walk(None)
            for id in known:
                walker.push(pygit2.Oid(hex=id))
            walker.hide(pygit2.Oid(hex=head))
            return known.difference(str(commit.id) for commit in walker)
        except _FAILURES as error:
            raise CortexError(f"{head!r} is no commit that can be read here") from error

    def _is_commit(self, id: str) -> bool:
        if not is_object_id(id):
            return False
        try:
            kind, _ = self._git.odb.read_header(id)
        except _FAILURES:
            return False
        return bool(kind == ObjectType.COMMIT)

    def _at(self, ref: str) -> str | None:
        """The object that a ref leads to; None if it leads nowhere."""
        try:
            return str(self._git.references[ref].resolve().target)
        except _FAILURES:
            return None

    def _commit(self, update: Update) -> str:
        """Write blobs, trees and the commit, and return its id; no ref moves yet."""
        now = pygit2.Signature("the", "time")
        who = f"{self._repo.identity()} {now.time} {_zone(now.offset)}".encode("utf-8", "replace")
        parent = f"parent {update.old}\n" if update.old else ""
        try:
            head = f"tree {self._tree_with(update)}\n{parent}".encode() + b"author %s\ncommitter %s\n\n" % (who, who)
            return str(self._git.odb.write(ObjectType.COMMIT, head + text_bytes(update.message)))
        except _FAILURES as error:
            raise _unwritten(update.ref, error) from error

    def _tree_with(self, update: Update) -> pygit2.Oid:
        """The tree of `old` and in it the blobs, each under its own id."""
        old = self._git[update.old].peel(pygit2.Tree) if update.old else None
        folders: dict[str, list[tuple[str, pygit2.Oid]]] = {}
        for blob in update.blobs:
            id = self._git.create_blob(blob)
            folder, name = path_of(str(id)).split("/")
            folders.setdefault(folder, []).append((name, id))
        top = self._git.TreeBuilder(old) if old else self._git.TreeBuilder()
        for folder, entries in folders.items():
            within = _entry(old, folder) if old else None
            builder = self._git.TreeBuilder(within) if isinstance(within, pygit2.Tree) else self._git.TreeBuilder()
            for name, id in entries:
                builder.insert(name, id, FileMode.BLOB)
            top.insert(folder, builder.write(), FileMode.TREE)
        return top.write()


def _notes_commit(commit: pygit2.Commit) -> NotesCommit:
    author = commit.author
    who = b"%s <%s>" % (author.raw_name, author.raw_email)
    text = commit.raw_message.decode("utf-8", "replace").rstrip("\n") + "\n"
    return NotesCommit(str(commit.id), rfc3339(commit.commit_time), who.decode("utf-8", "replace"), text)


def _unwritten(ref: str, error: Exception) -> CortexError:
    said = " ".join(str(error).split())
    # What libgit2 says of a write that came out short.
    return CortexError(f"{ref} cannot be written: {'the disk may be full' if said == 'no error' else said}")


def _entry(tree: pygit2.Tree, path: str) -> pygit2.Object | None:
    try:
        return tree[path]
    except KeyError:
        return None


def _under(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix.rstrip("/") + "/")


def _zone(minutes: int) -> str:
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02d}{abs(minutes) % 60:02d}"
