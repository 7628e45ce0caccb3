"""What is to be staged, put into the work tree and the index in one go: everything or nothing."""

from __future__ import annotations

import os

from cortex_git.digest import blob_id
from cortex_git.errors import CortexError
from cortex_git.projections import pages as page
from cortex_git.projections import worktree
from cortex_git.projections.document import DECISIONS, FOLDER, LEARNED, MAX_SIZE, PLANS
from cortex_git.projections.reading import parse
from cortex_git.store import lineage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.repo import Repo


WATCHED = (DECISIONS, LEARNED, PLANS, *(FOLDER + name for name in page.NAMES))
"""What shows by its time in the work tree whether items and pages are as they were."""


class Clerk:
    """Collects what is to be staged, looks at what is in the way, and does it in one go."""

    def __init__(self, repo: Repo, index_file: str | None, faults: list[str]) -> None:
        self.repo = repo
        self.index_file = index_file
        self.faults = faults
        self.notes = worktree.Notes(repo)
        self.wanted: dict[str, bytes] = {}
        self.ignored: set[str] = set()
        self.dropped: dict[str, bytes] = {}
        self.settings = ""
        """What the pages depend on beside the items; empty while they need not be looked after."""
        self._before: dict[str, bytes | None] = {}
        self._dirty = bool(self.notes.staged)

    def want(self, path: str, data: bytes, committed: bool = False) -> None:
        """Ask for a file, unless what is there is somebody else's; `committed`: the index has that as well."""
        now = worktree.read(self.repo, path)
        if now is None and os.path.lexists(os.path.join(self.repo.work_tree or "", path)):
            self.faults.append(f"{path} is no regular file; it is left out of this commit")
        elif now not in (None, data) and not committed and not _may_replace(path, now or b"", data):
            self.faults.append(f"{path} is there with other content; it is left out of this commit")
        elif len(data) > MAX_SIZE and not page.is_page(path):
            self.faults.append(f"{path} would have {len(data)} bytes; it is left out of this commit")
        else:
            self.wanted[path] = data
            self._before[path] = now
            return
        self.settings = ""  # look again at the next commit

    def drop(self, path: str, data: bytes) -> None:
        """Ask for a file to be taken out; `data` is what it holds."""
        self.dropped[path] = data
        self.settings = ""

    def drop_ignored(self) -> None:
        """Leave out what the user told git to ignore, as `git add` does."""
        asked = [*self.wanted, *(FOLDER + name for name in page.NAMES)] if self.wanted else []
        self.ignored = worktree.ignored(self.repo, self.index_file, asked) if asked else set()
        left_out = self.ignored.intersection(self.wanted)
        for path in left_out:
            del self.wanted[path]
        if left_out:
            self.faults.append(f"git ignores {min(left_out)}; {len(left_out)} files are left out of this commit")
            self.settings = ""

    def note_plan(self, path: str, id: str) -> None:
        """Note how the plan stands, so that the next commit need not ask the index."""
        former = [name for name in self.notes.plans if name.rpartition("-")[0] == path.rpartition("-")[0]]
        for name in former:
            del self.notes.plans[name]
        self.notes.plans[path] = id
        self._dirty = True

    def give_up(self) -> list[str]:
        """Ask for nothing after all; returns the paths that were asked for."""
        paths = [*sorted(self.wanted), *sorted(self.dropped)]
        self.wanted, self.dropped, self.settings = {}, {}, ""
        return paths

    def commit(self) -> list[str]:
        """Write and stage everything that is wanted; if git refuses, put everything back and raise."""
        paths = sorted(self.wanted)
        if not paths and not self.dropped:
            self._note_pages()
            return []
        self.notes.staged.update((path, blob_id(self.wanted[path])) for path in paths)
        self.notes.staged.update(dict.fromkeys(self.dropped, worktree.TAKEN_OUT))
        # A command that stages for the user's next commit has no commit under way that might be given up.
        self.notes.at = [*where(self.repo), _committing() if self.index_file else ""]
        written: list[str] = []
        try:
            self.notes.save()
            for path in paths:
                if self._before[path] != self.wanted[path]:
                    worktree.place(self.repo, path, self.wanted[path], self._before[path])
                    written.append(path)
            worktree.add(self.repo, self.index_file, paths)
            worktree.take_out(self.repo, self.index_file, self.dropped)
        except CortexError:
            self._undo(written)
            raise
        self._dirty = True
        self._note_pages()
        return [*paths, *sorted(self.dropped)]

    def _undo(self, written: list[str]) -> None:
        for path in written:
            before = self._before[path]
            if before is None:
                worktree.remove(self.repo, path)
            else:
                worktree.place(self.repo, path, before, b"")

    def _note_pages(self) -> None:
        stamp = self.stamp() if self.settings else self.notes.stamp
        if self._dirty or stamp != self.notes.stamp:
            self.notes.stamp = stamp
            self.notes.save()

    def stamp(self) -> str:
        """What shows cheaply that items and pages are as they were: times and sizes in the work tree."""
        return self.settings + " ".join(map(self._seen, WATCHED))

    def _seen(self, path: str) -> str:
        try:
            status = os.stat(os.path.join(self.repo.work_tree or "", path))
        except OSError:
            return "-"
        return f"{status.st_mtime_ns}:{status.st_size}"


def _may_replace(path: str, now: bytes, data: bytes) -> bool:
    """Whether a file was rendered by us and holds nothing that the new one has not."""
    if data.startswith(now):
        return True  # its end is missing, as a full disk leaves it
    there = worktree.rendered(path, now)
    if isinstance(there, bool):
        return there
    if path.startswith(PLANS):
        return True
    return {event.id for event in there.events} <= {event.id for event in parse(path, data).events}


def where(repo: Repo) -> tuple[str, str]:
    """The raw line of HEAD and the commit that it names."""
    return repo.head_line(), repo.head() or ""


def _committing() -> str:
    """The git process that runs us as a hook; empty where the system does not tell."""
    calling = lineage.calling_git()
    return calling.mark if calling else ""
