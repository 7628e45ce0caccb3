"""Carry-over: what was said before a branch was made goes with the branch, as uncommitted changes do."""

from __future__ import annotations

from cortex_git.events import codec, model
from cortex_git.store import align, history, keys, notes, origin
from cortex_git.store.head import is_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_git.config import Config
    from cortex_git.events.model import Event
    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

_LOG = (
    "-c", "log.showSignature=false", "log", "--stdin", "--ignore-missing", "--diff-filter=A", "--no-renames", "--raw",
    "--no-abbrev", "--format=",
)  # fmt: skip


def due(repo: Repo) -> str | None:
    """The branch that is checked out, if nothing was carried to it yet and it was made here; else None.

    So it is before the hook of its first checkout, and for good where that did not run.
    """
    branch = repo.branch()
    if branch is None or keys.lookup(repo, branch, {}).how != "new" or history.replaying(repo):
        return None
    return branch if origin.came_from(repo, branch) else None


def carry_over(repo: Repo, backend: Backend, config: Config, branch: str) -> None:
    """Give a branch that is checked out for the first time its key, and with it the open events of its origin.

    Open are those of this clone that no commit is tied to under any key. They stay visible
    where they were said, too.
    """
    writer = notes.Writer(repo, backend, config)
    original = origin.came_from(repo, branch)
    events = _open_events(repo, backend, writer, original) if original else []
    if events:
        writer.write({branch: events})
    else:
        writer.key(branch)


def _open_events(repo: Repo, backend: Backend, writer: notes.Writer, original: str) -> list[Event]:
    if is_hex(original):
        key = keys.detached(original)
    else:
        found = keys.lookup(repo, original, writer.refs)
        key = found.origin or found.value  # a copy that was not written to yet has what its own original has
    names = [keys.ref(namespace, key, repo.clone) for namespace in (keys.SHARED, keys.LOCAL)]
    refs = {name: writer.refs[name] for name in names if name in writer.refs}
    still_open = align.open_refs(repo, refs)
    events: list[Event] = []
    for name, anchors in align.anchors(repo, {name: refs[name] for name in still_open}).items():
        blobs = set(backend.tree(refs[name]).values())
        tied = max(anchors, key=lambda anchor: anchor.depth, default=None)
        if tied:
            blobs -= set(backend.tree(tied.upto).values())
        for _, data in backend.blobs(blobs):
            events += codec.decode_segment(data)[0]
    events = [event for event in events if event.type not in model.BOOKKEEPING]
    elsewhere = _tied_elsewhere(repo, backend, writer, key, events) if events else set()
    return [event for event in events if event.id not in elsewhere]


def _tied_elsewhere(repo: Repo, backend: Backend, writer: notes.Writer, key: str, events: Sequence[Event]) -> set[str]:
    """Ids of those events that are tied to a commit under another key of this clone, to which they were carried before.

    Nothing is stored before it happens: so only what was stored since the first of them is looked through.
    """
    mine = {n: tip for n, tip in writer.refs.items() if keys.is_ours(repo, n) and keys.key_in(n) != key}
    tied = [max(found, key=lambda anchor: anchor.depth).upto for found in align.anchors(repo, mine).values() if found]
    if not tied:
        return set()
    since = min(event.time for event in events)[:10]  # a day, in case a clock was set
    request = "".join(f"{upto}\n" for upto in sorted(set(tied)))
    out = repo.git(*_LOG, f"--since={since}T00:00:00Z", input=request.encode())
    new = {line.split(" ")[3] for line in out.decode("ascii", "replace").splitlines() if line.startswith(":")}
    wanted = {f'"id":"{event.id}"'.encode(): event.id for event in events}
    return {id for _, data in backend.blobs(new) for name, id in wanted.items() if name in data}
