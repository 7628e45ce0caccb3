"""The backend that speaks to git's plumbing: opens every repository that git opens, and is cheap to start."""

from __future__ import annotations

import os
import re

from cortex_git.digest import blob_id
from cortex_git.errors import CortexError
from cortex_git.store.backend import MAX_BLOB, NotesCommit, RefMoved, note_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cortex_git.store.backend import Update
    from cortex_git.store.repo import Repo

_FIELDS = "%H%x00%cI%x00%an <%ae>%x00%B%x01"


class GitBackend:
    """git in few processes. See `Backend` for what the methods promise."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo

    def refs(self, *prefixes: str) -> dict[str, str]:
        out = self._repo.git("for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
        return {name: id for id, _, name in (line.partition(" ") for line in os.fsdecode(out).splitlines())}

    def tree(self, rev: str, folder: str = "") -> dict[str, str]:
        paths = ["--", folder.rstrip("/") + "/"] if folder else []
        status, out, _ = self._repo.git_status("ls-tree", "-r", "-z", "--full-tree", rev, *paths)
        found: dict[str, str] = {}
        for entry in [] if status else os.fsdecode(out).split("\0"):
            meta, _, path = entry.partition("\t")
            if meta.startswith("100644 blob "):
                found[path] = meta[12:]
        return found

    def blobs(self, ids: Iterable[str], max_size: int = MAX_BLOB) -> Iterator[tuple[str, bytes]]:
        wanted = sorted({id for id in ids if _is_hex(id)})
        if not wanted:
            return
        request = "\n".join(wanted).encode() + b"\n"
        sizes = self._repo.git("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", input=request)
        fitting = [
            id
            for id, kind, size in (line.split(" ") for line in sizes.decode().splitlines() if line.count(" ") == 2)
            if kind == "blob" and int(size) <= max_size
        ]
        data = self._repo.git("cat-file", "--batch", input="\n".join(fitting).encode() + b"\n") if fitting else b""
        at = 0
        for id in fitting:
            end = data.index(b"\n", at)
            size = int(data[at:end].rsplit(b" ", 1)[1])
            yield id, data[end + 1 : end + 1 + size]
            at = end + size + 2

    def append(self, updates: Sequence[Update]) -> list[str]:
        if not updates:
            return []
        stream = b"".join(self._commit(update, mark) for mark, update in enumerate(updates, 1))
        stream += b"".join(b"get-mark :%d\n" % mark for mark in range(1, len(updates) + 1)) + b"done\n"
        status, out, err = self._repo.git_status("fast-import", "--quiet", "--done", "--date-format=now", input=stream)
        tips = out.decode().split()
        if status or err:
            self._explain(updates, tips, err.decode("utf-8", "replace"))
        return tips

    def _commit(self, update: Update, mark: int) -> bytes:
        identity = self._repo.identity().encode("utf-8", "replace")
        message = update.message.encode("utf-8", "surrogateescape")
        parts = [
            b"commit %s\nmark :%d\n" % (os.fsencode(update.ref), mark),
            b"author %s now\ncommitter %s now\n" % (identity, identity),
            b"data %d\n%s\n" % (len(message), message),
        ]
        # Without `from` a commit on an existing ref would take its parent from there by itself.
        parts.append(b"from %s\n" % (update.old or self._null()).encode())
        for blob in update.blobs:
            path = note_path(blob_id(blob, self._repo.object_format))
            parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(blob), blob))
        return b"".join(parts)

    def _null(self) -> str:
        return "0" * (64 if self._repo.object_format == "sha256" else 40)

    def _explain(self, updates: Sequence[Update], tips: Sequence[str], said: str) -> None:
        """Raise what went wrong: a ref that moved, a lock that stayed, or something else."""
        lock = re.search(r"Unable to create '([^']*\.lock)'", said)
        if lock:
            raise CortexError(f"{lock[1]} exists; if no git is running, it was left by one that crashed: remove it")
        now = self.refs(*(update.ref for update in updates))
        for update, tip in zip(updates, [*tips, *[""] * len(updates)], strict=False):
            if now.get(update.ref) not in (tip, update.old):
                raise RefMoved(update.ref)
        if "cannot lock ref" in said or "does not contain" in said:
            raise RefMoved(updates[0].ref)
        if said.strip():
            raise CortexError(f"git fast-import failed: {said.strip().splitlines()[-1]}")

    def update(self, ref: str, new: str | None, old: str | None) -> None:
        arguments = [ref, new or self._null(), old or self._null()]
        status, _, err = self._repo.git_status("update-ref", "--no-deref", *arguments)
        if status:
            self._explain([], [], err.decode("utf-8", "replace") if b".lock" in err else "")
            raise RefMoved(ref)

    def history(self, tip: str, known: str | None = None) -> list[NotesCommit]:
        span = [tip, f"^{known}"] if known else [tip]
        out = self._repo.git("log", "--no-show-signature", f"--format={_FIELDS}", *span).decode("utf-8", "replace")
        entries = (entry.strip("\n").split("\0") for entry in out.split("\1"))
        return [NotesCommit(id, time, author, text) for id, time, author, text in (e for e in entries if len(e) == 4)]

    def reachable(self, head: str, commits: Iterable[str]) -> set[str]:
        wanted = sorted({commit for commit in commits if _is_hex(commit)})
        if not wanted:
            return set()
        request = "\n".join(wanted).encode() + b"\n"
        checked = self._repo.git("cat-file", "--batch-check=%(objectname) %(objecttype)", input=request)
        present = [id for id, _, kind in (line.partition(" ") for line in checked.decode().splitlines()) if kind == "commit"]
        if not present:
            return set()
        walked = self._repo.git("rev-list", "--stdin", input=("\n".join([*present, f"^{head}"]) + "\n").encode())
        return set(present) - set(walked.decode().split())


def _is_hex(text: str) -> bool:
    return len(text) in (40, 64) and not text.strip("0123456789abcdef")
