"""Writing notes commits that no append makes: archives, and refs that are written anew.

One `git fast-import` for all of them, in a conversation: what a later commit says of an earlier one,
such as where an anchor reaches, can only be written when the id of that one is known.
"""

from __future__ import annotations

from cortex_git.store.gitcli import without_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from cortex_git.store.repo import Repo

_REF = b"refs/cortex/import"
"""A name that fast-import asks for; no such ref is ever made."""


class Importer:
    """Writes commits. They are in the repository when the block is left without an error, and no ref has moved."""

    def __init__(self, repo: Repo) -> None:
        args = (*without_hooks(repo), "fast-import", "--quiet", "--done", "--date-format=raw-permissive")
        self._git = repo.converse(*args)
        self._marks: dict[str, int] = {}
        self._count = 0

    def __enter__(self) -> Importer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self._git.say(b"done\n")
            self._git.close()
        else:
            self._git.kill()

    def commit(self, head: bytes, message: bytes, parents: list[str], changes: bytes = b"") -> str:
        """Write a commit and return its id.

        `head` are its author, its committer and what else stands there, a line each. Its tree is that of the
        first parent, or empty, with the `changes` in the language of fast-import.
        """
        self._count += 1
        mark = self._count
        parts = [b"commit %s\nmark :%d\n%s" % (_REF, mark, head), b"data %d\n%s\n" % (len(message), message)]
        for number, parent in enumerate(parents):
            # What was written in this conversation is known by its mark alone.
            name = f":{self._marks[parent]}" if parent in self._marks else parent
            parts.append(b"%s %s\n" % (b"merge" if number else b"from", name.encode()))
        parts.append(b"%s\nreset %s\n\nget-mark :%d\n" % (changes, _REF, mark))
        self._git.say(b"".join(parts))
        id = self._git.line().decode("ascii").strip()
        self._marks[id] = mark
        return id
