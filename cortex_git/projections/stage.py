"""What a commit brings along: items, the branch's plan and the pages, written and staged by pre-commit."""

from __future__ import annotations

import os

from cortex_git.digest import blob_id
from cortex_git.errors import CortexError
from cortex_git.events import model
from cortex_git.projections import pages as page
from cortex_git.projections import worktree
from cortex_git.projections.document import DECISIONS, FOLDER, LEARNED, MAX_SIZE, PLANS, is_item
from cortex_git.projections.reading import parse
from cortex_git.projections.writing import plan_path, render, render_learned, render_plan, restate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Protocol

    from cortex_git.config import Config
    from cortex_git.events.model import Event
    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo
    from cortex_git.views.standing import Plan

    State = tuple[str, str]

    class Pending(Protocol):
        """What the commit has to bring along."""

        events: list[Event]
        plan: Plan | None
        had_plan: bool
        key: str


_CHOICES = (model.DECISION, model.REJECTED)


def is_partial(index_file: str | None) -> bool:
    """Whether this is `git commit <path>`: git commits from a passing index, and what is put there
    would be missing from the real one, which then looks like a deletion.
    """
    return bool(index_file) and os.path.basename(index_file or "").startswith("next-index-")


def stage(
    repo: Repo,
    backend: Backend,
    config: Config,
    pending: Pending,
    index_file: str | None = None,
    *,
    states: Mapping[str, State] | None = None,
    faults: list[str] | None = None,
) -> list[str]:
    """Write and stage what belongs to this commit and return the paths.

    `pending.events` become items, unless they are private or not sure enough. `states` says of
    ids how they stand, `(status, id of the successor or "")`, where that is no longer as at their
    birth. What stands in the way is left alone and said in `faults`. Nothing is done for a
    partial commit. Raises CortexError if git or the disk refuses; then nothing was staged.
    """
    if repo.work_tree is None or not config.projections_commit or is_partial(index_file):
        return []
    clerk = _Clerk(repo, index_file, [] if faults is None else faults)
    if clerk.notes.staged:
        _look_back(repo, clerk.notes, {event.id for event in pending.events}, index_file)
    states = states or {}
    for path, data in _items(pending, config, states).items():
        clerk.want(path, data)
    _plan(clerk, pending)
    _restate(clerk, states)
    _pages(clerk, backend, config)
    return clerk.commit()


def unstage(repo: Repo, keep: Collection[str], index_file: str | None = None) -> list[str]:
    """Take back what a commit that was given up has left staged, but for items with an id in `keep`.

    Returns the paths. Does nothing, and starts no process, while there is nothing of the kind or
    while that commit may still be under way. Raises CortexError if git refuses.
    """
    notes = worktree.Notes(repo)
    if repo.work_tree is None or not notes.staged or is_partial(index_file):
        return []
    line, head, process = [*notes.at, "", "", ""][:3]
    if (line, head) == _where(repo) and (not process or _runs(process)):
        return []
    changed = _look_back(repo, notes, keep, index_file)
    notes.save()
    return changed


def settle(repo: Repo) -> None:
    """After a commit: forget what of it we staged, or a later look would take the user's own doing for ours."""
    notes = worktree.Notes(repo)
    if notes.staged:
        head = worktree.head_entries(repo, notes.staged)
        left = {path: blob for path, blob in notes.staged.items() if (path in head) == (blob == worktree.TAKEN_OUT)}
        notes.staged = left
        notes.save()


def _look_back(repo: Repo, notes: worktree.Notes, keep: Collection[str], index_file: str | None) -> list[str]:
    """Take back what an earlier commit staged and did not make; returns the paths."""
    line, head = _where(repo)
    if notes.at[:1] == [line] and notes.at[1:2] != [head]:
        notes.staged = {}  # the branch went on: the commit was made, or what is staged belongs here all the same
        return []
    return worktree.take_back(repo, notes, keep, index_file)


# ---- what is wanted


def _items(pending: Pending, config: Config, states: Mapping[str, State]) -> dict[str, bytes]:
    """Path to content of the new items."""
    events = [e for e in pending.events if _belongs(e, config)]
    files: dict[str, bytes] = {}
    new = {event.id for event in events}
    for event in events:
        if event.type in _CHOICES:
            status, successor = states.get(event.id, ("", ""))
            older = sorted(id for id, (_, by) in states.items() if by == event.id)
            if status == "superseded" and successor not in new:
                status, successor = "deprecated", ""
            path, data = render(event, status=status, superseded_by=successor, supersedes=older)
            files[path] = data
    sessions: dict[str, list[Event]] = {}
    for event in events:
        if event.type not in _CHOICES:
            sessions.setdefault(event.session, []).append(event)
    files.update(render_learned(group) for group in sessions.values())
    return files


def _belongs(event: Event, config: Config) -> bool:
    types = {*_CHOICES, model.KNOWLEDGE, model.RESOLVED}
    if config.share_preferences:
        types.add(model.PREFERENCE)
    return event.type in types and not event.private and event.confidence >= config.projections_min_confidence


def _plan(clerk: _Clerk, pending: Pending) -> None:
    plan, branch = pending.plan, clerk.repo.branch()
    if plan is None and branch is not None and pending.had_plan:
        _drop_plan(clerk, branch, pending.key)
    if plan is None or branch is None or not pending.key or plan.event.private:
        return
    path, data = render_plan(plan, pending.key, branch, [tick for tick in plan.ticks if not tick.private])
    id, now = blob_id(data), worktree.read(clerk.repo, path)
    if now == data and clerk.notes.plans.get(path) == id:
        return
    index = worktree.index_entries(clerk.repo, clerk.index_file, [path]) if now == data else {}
    clerk.note_plan(path, id)
    if path not in index or index[path] != worktree.id_like(index[path], data):
        clerk.want(path, data)


def _drop_plan(clerk: _Clerk, branch: str, key: str) -> None:
    """Take out the file of a plan that was given up, or everybody else would go on following it."""
    path = plan_path(branch, key)
    data = worktree.read(clerk.repo, path)
    there = worktree.rendered(path, data) if data is not None else False
    if (
        data is not None
        and not isinstance(there, bool)
        and path in worktree.index_entries(clerk.repo, clerk.index_file, [path])
    ):
        clerk.drop(path, data)


def _restate(clerk: _Clerk, states: Mapping[str, State]) -> None:
    """Bring the status of items in the work tree up to what became of them."""
    if not states:
        return
    try:
        names = os.listdir(os.path.join(clerk.repo.work_tree or "", DECISIONS))
    except OSError:
        return
    files = {name[-10:-3]: DECISIONS + name for name in names if is_item(DECISIONS + name)}
    here = {*files, *(path[-10:-3] for path in clerk.wanted if path.startswith(DECISIONS))}
    for id, (status, successor) in states.items():
        path = files.get(id[:7])
        data = worktree.read(clerk.repo, path) if path and path not in clerk.wanted else None
        if path is None or data is None:
            continue
        if successor[:7] not in here:
            status, successor = "deprecated" if status == "superseded" else status, ""
        item = parse(path, data)
        if not item.faults and item.event.id == id and (item.status, item.superseded_by) != (status, successor):
            clerk.want(path, restate(data, status, successor))


def _pages(clerk: _Clerk, backend: Backend, config: Config) -> None:
    """Render the pages where this branch carries them and what they show has changed."""
    branch = clerk.repo.branch()
    if branch is None or config.projections_pages == "off":
        return
    settings = (branch, config.projections_pages, config.default_branch, config.briefing_tokens, page.VERSION)
    clerk.settings = repr(settings)
    if not clerk.wanted and clerk.notes.stamp == clerk.stamp():
        return
    is_default = branch == clerk.repo.default_branch()
    if not is_default and config.projections_pages == "default-branch":
        return
    index = worktree.index_entries(clerk.repo, clerk.index_file, [FOLDER])
    items = _contents(clerk, backend, {path: blob for path, blob in index.items() if is_item(path)})
    items.update(clerk.wanted)
    for path in clerk.dropped:
        items.pop(path, None)
    if not items and not any(FOLDER + name in index for name in page.NAMES):
        return  # nothing was ever recorded here: no page says so
    for path, data in page.pages(items, config, accepted=is_default).items():
        now = worktree.read(clerk.repo, path)
        blob = index.get(path, "")
        if now != data or blob != worktree.id_like(blob, data):
            clerk.want(path, data, committed=now is not None and blob == worktree.id_like(blob, now))


def _contents(clerk: _Clerk, backend: Backend, blobs: Mapping[str, str]) -> dict[str, bytes]:
    """Path to content of files in the index, from the work tree where that has the same."""
    found: dict[str, bytes] = {}
    for path, blob in blobs.items():
        data = worktree.read(clerk.repo, path)
        if data is not None and worktree.id_like(blob, data) == blob:
            found[path] = data
    missing = {path: blob for path, blob in blobs.items() if path not in found}
    if missing:
        contents = dict(backend.blobs(missing.values()))
        found.update((path, contents[blob]) for path, blob in missing.items() if blob in contents)
    return found


# ---- doing it


class _Clerk:
    """Collects what is to be staged, looks at what is in the way, and does it in one go."""

    def __init__(self, repo: Repo, index_file: str | None, faults: list[str]) -> None:
        self.repo = repo
        self.index_file = index_file
        self.faults = faults
        self.notes = worktree.Notes(repo)
        self.wanted: dict[str, bytes] = {}
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

    def note_plan(self, path: str, id: str) -> None:
        """Note how the plan stands, so that the next commit need not ask the index."""
        self.notes.plans[path] = id
        self._dirty = True

    def commit(self) -> list[str]:
        """Write and stage everything that is wanted; if git refuses, put everything back and raise."""
        paths = sorted(self.wanted)
        if not paths and not self.dropped:
            self._note_pages()
            return []
        self.notes.staged.update((path, blob_id(self.wanted[path])) for path in paths)
        self.notes.staged.update(dict.fromkeys(self.dropped, worktree.TAKEN_OUT))
        self.notes.at = [*_where(self.repo), _committing()]
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
        folders = [FOLDER + name for name in page.NAMES]
        return self.settings + " ".join(self._seen(path) for path in (DECISIONS, LEARNED, PLANS, *folders))

    def _seen(self, path: str) -> str:
        try:
            status = os.stat(os.path.join(self.repo.work_tree or "", path))
        except OSError:
            return "-"
        return f"{status.st_mtime_ns}:{status.st_size}"


def _may_replace(path: str, now: bytes, data: bytes) -> bool:
    """Whether a file was rendered by us and holds nothing that the new one has not."""
    there = worktree.rendered(path, now)
    if isinstance(there, bool):
        return there
    if path.startswith(PLANS):
        return True
    return {event.id for event in there.events} <= {event.id for event in parse(path, data).events}


def _where(repo: Repo) -> tuple[str, str]:
    return repo.head_line(), repo.head() or ""


def _committing() -> str:
    """The git process that runs us as a hook, as `pid:start`; empty where the system does not tell."""
    pid = os.getppid()
    for _ in range(8):
        name, parent, start = _process(pid)
        if name == "git":
            return f"{pid}:{start}"
        if not parent:
            break
        pid = parent
    return ""


def _runs(process: str) -> bool:
    pid, _, start = process.partition(":")
    return pid.isdigit() and _process(int(pid))[2] == start


def _process(pid: int) -> tuple[str, int, str]:
    """Name, parent and time of start of a process; empty if there is none or the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
        name, _, rest = text[text.index("(") + 1 :].rpartition(") ")
        fields = rest.split()
        return name, int(fields[1]), fields[19]
    except (OSError, ValueError, IndexError):
        return "", 0, ""
