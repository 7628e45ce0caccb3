"""One git that reads objects for as long as we run, where each question by itself would start another.

`git cat-file --batch-command` is there since git 2.36; with an older one the first question fails.
"""

from __future__ import annotations

import _thread
import _weakref

from cortex_git.store.process import AS_STORED, Conversation, GitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_git.store.repo import Repo

_CHUNK = 400
"""How many questions are put at once: they and the answers to as many fit what a pipe holds."""


_MOST = 3
"""How many gits may stand ready in one process."""
_ready: list[_weakref.ReferenceType[Reader]] = []


class Reader:
    """Answers questions for objects. Raises GitError where git cannot answer; then it is of no more use."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._git: Conversation | None = None
        self._is_over = False
        self._lock = _thread.allocate_lock()

    def __del__(self) -> None:
        try:  # noqa: SIM105 - while Python ends, contextlib may be gone already
            self.end()
        except Exception:
            pass

    @property
    def is_over(self) -> bool:
        """Whether it has failed."""
        return self._is_over

    def infos(self, names: Sequence[str]) -> list[list[str]]:
        """What git says of each object: its id, type and size, or something else than three words."""
        found: list[list[str]] = []
        for at in range(0, len(names), _CHUNK):
            asked = names[at : at + _CHUNK]
            with self._lock:
                git = self._ask("info", asked)
                found += [git.line().decode("ascii", "replace").split(" ") for _ in asked]
                self._is_over = False
        return found

    def contents(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Name and content of each object that there is."""
        for at in range(0, len(names), _CHUNK):
            asked = names[at : at + _CHUNK]
            found: list[tuple[str, bytes]] = []
            with self._lock:
                git = self._ask("contents", asked)
                for name in asked:
                    header = git.line().split(b" ")
                    if len(header) == 3:  # else it was removed since it was looked up
                        found.append((name, git.take(int(header[2]) + 1)[:-1]))
                self._is_over = False
            yield from found

    def end(self) -> None:
        """Let git go."""
        if self._git is not None:
            self._git.kill()
            self._git = None
            _ready[:] = [ref for ref in _ready if ref() not in (self, None)]

    def _ask(self, what: str, names: Sequence[str]) -> Conversation:
        if self._is_over:
            raise GitError(("cat-file",), 128, b"cat-file has ended")
        # Until it has answered: who is interrupted on the way would take the rest of that for the next answer.
        self._is_over = True
        if self._git is None:
            located = {"GIT_DIR": self._repo.git_dir, "GIT_NO_LAZY_FETCH": "1", **AS_STORED}
            command = ("cat-file", "--batch-command", "--buffer")
            self._git = Conversation(command, self._repo.work_tree or self._repo.git_dir, located)
            _ready.append(_weakref.ref(self))
            _retire()
        lines = "".join(f"{what} {name}\n" for name in names)
        self._git.say(lines.encode("ascii", "replace") + b"flush\n")
        return self._git


def _retire() -> None:
    """Let those go that have been there for longest and are not answering; they come back when they are asked."""
    while len(_ready) > _MOST:
        old = _ready.pop(0)()
        if old is not None and old._lock.acquire(False):
            try:
                old.end()
            finally:
                old._lock.release()
