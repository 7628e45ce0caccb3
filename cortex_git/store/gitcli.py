"""Storage through git's own commands, in as few processes as can be: for hooks, and where libgit2 cannot open.

Each call gives git its whole input at once and then takes its whole output, so neither can wait for the other.
"""

from __future__ import annotations

import contextlib
import os
import re

from cortex_git.digest import blob_id
from cortex_git.env import rfc3339
from cortex_git.errors import CortexError
from cortex_git.store import promisor
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
from cortex_git.store.process import AS_STORED, GitError
from cortex_git.store.reader import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cortex_git.store.backend import Update
    from cortex_git.store.repo import Repo

_BATCH = 32 * 1024 * 1024
"""How many bytes of blobs are asked of git at a time."""

_FEW = 3

_MILLIS = str(round(LOCK_PATIENCE * 1000))
_PATIENT = (
    "-c", f"core.filesRefLockTimeout={_MILLIS}", "-c", f"core.packedRefsTimeout={_MILLIS}",
    "-c", f"reftable.lockTimeout={_MILLIS}",
)  # fmt: skip
_CHECK = ("cat-file", "--buffer", "--batch-check")
_LOCK = re.compile(r"Unable to create '([^\n]+\.lock)': File exists")
_LITTER = re.compile(r"dumping crash report to ([^\n]*/fast_import_crash_\d+)|'([^\n']*/pack/tmp_pack_\w+)'")


class GitBackend(Backend):
    """The store of one repository, read and written by the `git` program."""

    __slots__ = ("_reader", "_repo")

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._reader: Reader | None = None

    def refs(self, *prefixes: str) -> dict[str, str]:
        out = self._git("for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
        pairs = (line.partition(" ") for line in os.fsdecode(out).split("\n"))
        return {name: id for id, _, name in pairs if name}

    def tree(self, rev: str, folder: str = "") -> dict[str, str]:
        within = ("--", folder.rstrip("/") + "/") if folder else ()
        found = {}
        for entry in self._git("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", rev, *within).split(b"\0"):
            kind, _, path = entry.partition(b"\t")
            if kind.startswith(b"100644 blob "):
                found[os.fsdecode(path)] = kind[12:].decode("ascii")
        return found

    def segments(self, tips: Iterable[str]) -> dict[str, list[str]]:
        wanted = list(dict.fromkeys(tips))
        if len(wanted) < _FEW:
            return super().segments(wanted)
        found: dict[str, list[str]] = {tip: [] for tip in wanted}
        # All trees of one depth by one git, where ls-tree would be started for each commit.
        level = [(f"{_id(tip).decode()}^{{tree}}", tip) for tip in wanted]
        while level:
            contents = dict(self._contents(list(dict.fromkeys(name for name, _ in level))))
            below: list[tuple[str, str]] = []
            for name, tip in level:
                if name not in contents:
                    raise CortexError(f"{tip!r} names no revision that can be read here")
                for mode, id in _entries(contents[name], len(tip) // 2):
                    if mode == b"100644":
                        found[tip].append(id)
                    elif mode == b"40000":
                        below.append((id, tip))
            level = below
        return found

    def blobs(self, ids: Iterable[str], max_size: int = MAX_BLOB) -> Iterator[tuple[str, bytes]]:
        wanted: list[str] = []
        weight = 0
        for id, kind, size in self._stat_or_fetch(list(dict.fromkeys(ids))):
            if kind != "blob" or size > max_size:
                continue
            if weight + size > _BATCH and wanted:
                yield from self._contents(wanted)
                wanted, weight = [], 0
            wanted.append(id)
            weight += size
        if wanted:
            yield from self._contents(wanted)

    def append(self, updates: Sequence[Update]) -> list[str]:
        if not updates:
            return []
        tips = self._write(updates)
        self._move({update.ref: (tip, update.old) for update, tip in zip(updates, tips, strict=True)})
        return tips

    def update(self, ref: str, new: str | None, old: str | None) -> None:
        self._move({check_ref(ref): (new, old)})

    def history(self, tip: str, known: str | None = None) -> list[NotesCommit]:
        request = [tip, f"^{known}"] if known and self._stat([known]) else [tip]
        out = self._git(
            "rev-list", "--topo-order", "--encoding=UTF-8", "--format=%H%x00%ct%x00%an <%ae>%x00%B%x00", "--stdin",
            input=_lines(request),
        )  # fmt: skip
        fields = out.decode("utf-8", "replace").split("\0")
        return [
            NotesCommit(id.rpartition("\n")[2], rfc3339(int(time)), author, message.rstrip("\n") + "\n")
            for id, time, author, message in zip(*(fields[at::4] for at in range(4)), strict=False)
        ]

    def commits(self, ids: Iterable[str]) -> set[str]:
        return {id for id, kind, _ in self._stat(ids) if kind == "commit"}

    def reachable(self, head: str, commits: Iterable[str]) -> set[str]:
        known = {id for id, kind, _ in self._stat(commits) if kind == "commit"}
        if not known:
            return known
        request = _lines([*sorted(known), f"^{head}"])
        return known.difference(self._git("rev-list", "--stdin", input=request).decode("ascii").split())

    def _git(self, *args: str, input: bytes = b"") -> bytes:
        return self._repo.git(*args, input=input, variables=AS_STORED)

    def _stat_or_fetch(self, ids: Sequence[str]) -> list[tuple[str, str, int]]:
        """As `_stat`, after fetching all at once what a partial clone left behind, where that is allowed."""
        found = self._stat(ids)
        if len(found) < len(ids) and self._repo.may_fetch:
            there = {id for id, _, _ in found}
            if promisor.bring(self._repo, [id for id in ids if id not in there and is_object_id(id)]):
                return self._stat(ids)
        return found

    def _stat(self, ids: Iterable[str]) -> list[tuple[str, str, int]]:
        """Id, type and size of those objects that there are, in the order of asking."""
        asked = list(dict.fromkeys(id for id in ids if is_object_id(id)))
        if not asked:
            return []
        if reader := self._reading():
            with contextlib.suppress(GitError):
                return _found(asked, reader.infos(asked))
        try:
            out = self._git(*_CHECK, input=_lines(asked))
        except GitError as error:
            if "promisor" not in error.stderr:
                raise
            here = set(self._git(*_CHECK[:-1], "--batch-check=%(objectname)", "--batch-all-objects").split())
            asked = [id for id in asked if id.encode() in here]
            out = self._git(*_CHECK, input=_lines(asked))
        return _found(asked, [line.split(" ") for line in out.decode("ascii", "replace").splitlines()])

    def _reading(self) -> Reader | None:
        """The git that reads for us; none where one may not answer, or not what is asked."""
        if promisor.remotes(self._repo):
            return None
        self._reader = self._reader or Reader(self._repo)
        return None if self._reader.is_over else self._reader

    def _contents(self, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        if reader := self._reading():
            last = ""
            try:
                for last, data in reader.contents(ids):
                    yield last, data
                return
            except GitError:
                ids = ids[ids.index(last) + 1 :] if last else ids
        out = self._git("cat-file", "--batch", "--buffer", input=_lines(ids))
        at = 0
        for id in ids:
            end = out.index(b"\n", at)
            header = out[at:end].split(b" ")
            at = end + 1
            if len(header) == 3:  # else it was removed since it was looked up
                size = int(header[2])
                yield id, out[at : at + size]
                at += size + 1

    def _write(self, updates: Sequence[Update]) -> list[str]:
        """Write blobs, trees and commits by one git, and return the commits' ids; no ref moves yet."""
        args = (*without_hooks(self._repo), "fast-import", "--quiet", "--done", "--date-format=now")
        who = self._repo.identity().encode("utf-8", "replace")
        stream = b"".join(_stream(update, who, self._format(update)) for update in updates) + b"done\n"
        status, out, err = self._repo.git_status(*args, input=stream, variables=AS_STORED)
        if status:
            self._tidy(err)
            said = [line for line in err.splitlines() if line.startswith((b"fatal:", b"error:"))]
            raise GitError(("fast-import",), status, said[0] if said else err)
        return out.decode("ascii").split()

    def _format(self, update: Update) -> str:
        if update.old:
            return "sha256" if len(update.old) == 64 else "sha1"
        return self._repo.object_format

    def _tidy(self, err: bytes) -> None:
        """Remove what a failed fast-import says that it leaves: its report, and on a full disk half a pack."""
        for found in _LITTER.finditer(os.fsdecode(err)):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._repo.work_tree or self._repo.git_dir, found[1] or found[2]))

    def _move(self, wanted: Mapping[str, tuple[str | None, str | None]]) -> None:
        """Move refs to new values from old ones, all or none."""
        request = "".join(_instruction(ref, new, old) for ref, (new, old) in wanted.items())
        args = (*_PATIENT, *without_hooks(self._repo), "update-ref", "--stdin", "--no-deref")
        status, _, err = self._repo.git_status(*args, input=request.encode(), variables=AS_STORED)
        if not status:
            return
        now = self.refs(*wanted)
        for ref, (_, old) in wanted.items():
            if now.get(ref) != old:
                raise RefMoved(ref)
        named = _LOCK.search(os.fsdecode(err))
        lock = named[1] if named else os.path.join(self._repo.common_dir, "reftable", "tables.list.lock")
        if named or os.path.exists(lock):
            raise lock_left(lock)
        raise GitError(("update-ref",), status, err)


def _found(asked: Sequence[str], answers: Sequence[Sequence[str]]) -> list[tuple[str, str, int]]:
    return [
        (id, answer[1], int(answer[2]))
        for id, answer in zip(asked, answers, strict=True)
        if len(answer) == 3 and answer[0] == id
    ]


def without_hooks(repo: Repo) -> list[str]:
    """Options that keep git from running the user's hooks, those in files and (git >= 2.54) in settings."""
    named = [name.removesuffix(".event") for name in repo.git_config_but_branches() if name.endswith(".event")]
    off = [f"{name}.enabled=false" for name in named if name.startswith("hook.") and "=" not in name]
    return [part for setting in (f"core.hooksPath={os.devnull}", *off) for part in ("-c", setting)]


def _stream(update: Update, who: bytes, object_format: str) -> bytes:
    """One commit in the language of `git fast-import`, which answers with its id."""
    ref, message = update.ref.encode(), text_bytes(update.message)
    parts = [b"commit %s\nmark :1\nauthor %s now\ncommitter %s now\n" % (ref, who, who), _data(message)]
    if update.old:
        parts.append(b"from %s\n" % _id(update.old))
    for blob in update.blobs:
        path = path_of(blob_id(blob, object_format)).encode()
        parts += [b"M 100644 inline %s\n" % path, _data(blob)]
    # Forgetting the branch keeps fast-import from moving the ref: it would make one anew that was removed meanwhile.
    parts.append(b"\nget-mark :1\nreset %s\n\n" % ref)
    return b"".join(parts)


def _entries(tree: bytes, width: int) -> Iterator[tuple[bytes, str]]:
    """Mode and object id of each entry of a raw tree, whose ids are `width` bytes long."""
    at = 0
    while at < len(tree):
        space, end = tree.index(b" ", at), tree.index(b"\0", at)
        yield tree[at:space], tree[end + 1 : end + 1 + width].hex()
        at = end + 1 + width


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _lines(parts: Iterable[str]) -> bytes:
    return "".join(f"{part}\n" for part in parts).encode("utf-8", "surrogateescape")


def _instruction(ref: str, new: str | None, old: str | None) -> str:
    absent = "0" * len(new or old or "")
    ids = [_id(id).decode() for id in (new or absent, old or absent)]
    return f"update {ref} {ids[0]} {ids[1]}\n"


def _id(text: str) -> bytes:
    if not is_object_id(text):
        raise CortexError(f"{text!r} is no object id")
    return text.encode()
