"""What a commit brings along: items, the branch's plan and the pages, written and staged by pre-commit."""

from __future__ import annotations

import os

from cortex_git.digest import blob_id
from cortex_git.errors import CortexError
from cortex_git.events import model
from cortex_git.projections import pages as page
from cortex_git.projections import worktree
from cortex_git.projections.clerk import Clerk, where
from cortex_git.projections.document import DECISIONS, FOLDER, PLANS, is_item, key_of_plan
from cortex_git.projections.reading import parse
from cortex_git.projections.writing import render, render_learned, render_plan, restate
from cortex_git.store import history, index, lineage, promisor
from cortex_git.store.locking import Lock

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
        has_part: bool
        key: str


_CHOICES = (model.DECISION, model.REJECTED)
_PATIENCE = 2.0
_ATTEMPTS = 3


def is_partial(repo: Repo, index_file: str | None) -> bool:
    """Whether a commit is made from another index than the real one, as by `git commit <path>`.

    What is put there would be missing from the real one, which then looks like a deletion. `git
    commit -a` and the like commit from what is to become the real one, and lies beside it.
    """
    if not index_file:
        return False
    folder, name = os.path.split(os.path.join(repo.work_tree or "", index_file))
    return name not in ("index", "index.lock") or os.path.realpath(folder) != os.path.realpath(repo.git_dir)


def stage(
    repo: Repo,
    backend: Backend,
    config: Config,
    pending: Pending,
    index_file: str | None = None,
    *,
    states: Mapping[str, State] | None = None,
    buried: Mapping[str, Collection[str]] | None = None,
    faults: list[str] | None = None,
    left: list[str] | None = None,
) -> list[str]:
    """Write and stage what belongs to this commit and return the paths.

    `pending.events` become items, unless they are private or not sure enough. `states` says of
    ids how they stand, `(status, id of the successor or "")`, where that is no longer as at their
    birth. `buried` are files that hold what was purged, with its ids. What stands in the way is
    left alone and said in `faults`. With `left`, what belongs to the commit goes there, and
    nothing is staged, where the index has nothing else for it. Nothing is done for a partial
    commit. Raises CortexError if git or the disk refuses; then nothing was staged.
    """
    if repo.work_tree is None or not config.projections_commit or is_partial(repo, index_file):
        return []
    with _alone(repo):
        clerk = Clerk(repo, index_file, [] if faults is None else faults)
        # Asked before anything is taken back, which git has read already.
        is_alone = left is not None and bool(clerk.notes.staged) and not worktree.has_changes(repo, index_file)
        is_open = left is not None and not clerk.notes.staged
        if clerk.notes.staged:
            _look_back(repo, clerk.notes, {event.id for event in pending.events}, index_file)
        _collect(clerk, backend, config, pending, states or {}, buried)
        if is_open and (clerk.wanted or clerk.dropped):
            is_alone = not worktree.has_changes(repo, index_file)
        if left is not None and is_alone:
            left += clerk.give_up()
        return clerk.commit()


def preview(
    repo: Repo,
    backend: Backend,
    config: Config,
    pending: Pending,
    *,
    states: Mapping[str, State],
    buried: Mapping[str, Collection[str]],
    faults: list[str],
) -> tuple[list[str], list[str]]:
    """What `stage` would write and stage for the next commit, and what it would take out; changes nothing."""
    if repo.work_tree is None or not config.projections_commit:
        return [], []
    clerk = Clerk(repo, None, faults)
    _collect(clerk, backend, config, pending, states, buried)
    staged = clerk.notes.staged if repo.head() else {}
    there = worktree.differing(repo, staged) if staged else set()
    gone = {path for path in there if staged[path] == worktree.TAKEN_OUT}
    return sorted({*clerk.wanted, *there} - gone), sorted({*clerk.dropped, *gone})


def _collect(
    clerk: Clerk,
    backend: Backend,
    config: Config,
    pending: Pending,
    states: Mapping[str, State],
    buried: Mapping[str, Collection[str]] | None,
) -> None:
    """Have a clerk ask for all that belongs to a commit."""
    for path, data in _items(pending, config, states).items():
        clerk.want(path, data)
    _plan(clerk, pending)
    _restate(clerk, states)
    if buried:
        from cortex_git.projections.burial import take_out

        take_out(clerk, buried)
    clerk.drop_ignored()
    _pages(clerk, backend, config)


def unstage(repo: Repo, keep: Collection[str], index_file: str | None = None) -> list[str]:
    """Take back what a commit that was given up has left staged, but for items with an id in `keep`.

    Returns the paths. Does nothing, and starts no process, while there is nothing of the kind or
    while that commit may still be under way. Raises CortexError if git refuses.
    """
    if repo.work_tree is None or not worktree.Notes(repo).staged or is_partial(repo, index_file):
        return []
    for attempt in range(_ATTEMPTS):
        try:
            with _alone(repo):
                return _unstage(repo, keep, index_file)
        except index.Changed:
            if attempt == _ATTEMPTS - 1:
                raise
    return []


def _unstage(repo: Repo, keep: Collection[str], index_file: str | None) -> list[str]:
    notes = worktree.Notes(repo)
    line, head, process = [*notes.at, "", "", ""][:3]
    if (line, head) == where(repo) and (not process or lineage.runs(process)):
        return []
    if history.in_progress(repo):
        return []  # what is in the index is for the user to conclude; nobody else knows what of it is ours
    changed = _look_back(repo, notes, keep, index_file)
    notes.save()
    return changed


def settle(repo: Repo) -> None:
    """After a commit: take back what we staged for an earlier one that was given up, if this one left it out.

    The rest is forgotten, or a later look would take the user's own doing for ours.
    """
    if not worktree.Notes(repo).staged:
        return
    with _alone(repo):
        notes = worktree.Notes(repo)
        left = worktree.differing(repo, notes.staged)
        notes.staged = {path: blob for path, blob in notes.staged.items() if path in left}
        if left and not history.in_progress(repo):
            worktree.take_back(repo, notes, (), None)
        notes.save()


def _alone(repo: Repo) -> Lock:
    """Keeps two of us from staging and taking back at once in one work tree. Raises CortexError."""
    folder = os.path.join(repo.git_dir, "cortex")
    lock = Lock(os.path.join(folder, "staging.lock"))
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        free = lock.acquire(_PATIENCE)
    except OSError as error:
        raise CortexError(f"{folder} cannot be written: {error.strerror}; nothing was staged") from None
    if not free:
        raise CortexError(f"another commit is being made in {repo.work_tree}; nothing was staged")
    return lock


def _look_back(repo: Repo, notes: worktree.Notes, keep: Collection[str], index_file: str | None) -> list[str]:
    """Take back what an earlier commit staged and did not make; returns the paths."""
    line, head = where(repo)
    if notes.at[:1] == [line] and notes.at[1:2] != [head]:
        # The branch went on. What commits have since then is no leftover, even if it is gone again.
        landed = worktree.touched(repo, notes.at[1], notes.staged)
        notes.staged = {path: blob for path, blob in notes.staged.items() if path not in landed}
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


def _plan(clerk: Clerk, pending: Pending) -> None:
    """Bring the file of the branch's plan up to date, if this clone has a part in it, and take out what is over."""
    plan, branch = pending.plan, clerk.repo.branch()
    if branch is None or not pending.had_plan:
        return
    path, data = "", b""
    if plan is not None and pending.has_part and not plan.event.private:
        path, data = render_plan(plan, pending.key, branch, [tick for tick in plan.ticks if not tick.private])
        _want_plan(clerk, path, data)
    names = _plan_files(clerk.repo)
    if plan is None:  # it was given up, and everybody else would go on following it
        for name in names:
            _drop_plan(clerk, name, branch)
    # Taken out beside a new one, a former file of the plan would count as renamed: then a cherry-pick or a reordered
    # rebase would conflict. It goes with a later commit that the user makes anyway.
    former = [name for name in names if key_of_plan(name) == pending.key and name != path]
    if former and not clerk.wanted and worktree.has_changes(clerk.repo, clerk.index_file):
        for name in former:
            _drop_plan(clerk, name)


def _want_plan(clerk: Clerk, path: str, data: bytes) -> None:
    id, now = blob_id(data), worktree.read(clerk.repo, path)
    if now == data and clerk.notes.plans.get(path) == id:
        return
    index = worktree.index_entries(clerk.repo, clerk.index_file, [path]) if now == data else {}
    clerk.note_plan(path, id)
    if path not in index or index[path] != worktree.id_like(index[path], data):
        clerk.want(path, data)


def _plan_files(repo: Repo) -> list[str]:
    try:
        names = os.listdir(os.path.join(repo.work_tree or "", PLANS))
    except OSError:
        return []
    return sorted(PLANS + name for name in names if is_item(PLANS + name))


def _drop_plan(clerk: Clerk, path: str, branch: str | None = None) -> None:
    """Take out the file of a plan, if it is committed and nobody has edited it; with a branch, only if it is its."""
    data = worktree.read(clerk.repo, path)
    there = worktree.rendered(path, data) if data is not None else False
    if data is None or isinstance(there, bool) or branch not in (None, there.branch):
        return
    if path in worktree.index_entries(clerk.repo, clerk.index_file, [path]):
        clerk.drop(path, data)


def _restate(clerk: Clerk, states: Mapping[str, State]) -> None:
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


def is_settled(repo: Repo, config: Config) -> bool:
    """Whether what we staged was committed and the pages were found right, and nothing has changed since then."""
    clerk, branch = Clerk(repo, None, []), repo.branch()
    if clerk.notes.staged or branch is None:
        return False
    clerk.settings = _page_settings(branch, config)
    return config.projections_pages == "off" or clerk.notes.stamp == clerk.stamp()


def _page_settings(branch: str, config: Config) -> str:
    settings = (branch, config.projections_pages, config.default_branch, config.briefing_tokens, page.VERSION)
    return repr(settings)


def _pages(clerk: Clerk, backend: Backend, config: Config) -> None:
    """Render the pages where this branch carries them and what they show has changed."""
    branch = clerk.repo.branch()
    if branch is None or config.projections_pages == "off":
        return
    clerk.settings = _page_settings(branch, config)
    if not clerk.wanted and not clerk.dropped and clerk.notes.stamp == clerk.stamp():
        return
    is_default = branch == clerk.repo.default_branch()
    if not is_default and config.projections_pages == "default-branch":
        return
    index = worktree.index_entries(clerk.repo, clerk.index_file, [FOLDER])
    items = _contents(clerk, backend, {path: blob for path, blob in index.items() if is_item(path)})
    if items is None:
        return
    items.update(clerk.wanted)
    for path in clerk.dropped:
        items.pop(path, None)
    if not items and not any(FOLDER + name in index for name in page.NAMES):
        return  # nothing was ever recorded here: no page says so
    for path, data in page.pages(items, config, accepted=is_default).items():
        now = worktree.read(clerk.repo, path)
        blob = index.get(path, "")
        if path not in clerk.ignored and (now != data or blob != worktree.id_like(blob, data)):
            clerk.want(path, data, committed=now is not None and blob == worktree.id_like(blob, now))


def _contents(clerk: Clerk, backend: Backend, blobs: Mapping[str, str]) -> dict[str, bytes] | None:
    """Path to content of files in the index, from the work tree where that has the same.

    None in a partial clone that lacks some: a page without them would look as if they had been taken out.
    """
    found: dict[str, bytes] = {}
    for path, blob in blobs.items():
        data = worktree.read(clerk.repo, path)
        if data is not None and worktree.id_like(blob, data) == blob:
            found[path] = data
    missing = {path: blob for path, blob in blobs.items() if path not in found}
    if missing:
        contents = dict(backend.blobs(missing.values()))
        found.update((path, contents[blob]) for path, blob in missing.items() if blob in contents)
    return found if len(found) == len(blobs) or not promisor.remotes(clerk.repo) else None
