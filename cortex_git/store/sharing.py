"""What goes to a remote and what comes from it.

A clone sends only refs that it alone writes, each a line that only grows, so no push of one clone can ever be in
the way of another's. What a remote has of them is kept beside what was fetched from others.
"""

from __future__ import annotations

import time

from cortex_git.events import codec
from cortex_git.store import keys, refs, remotes, there, tidying, transport, trust
from cortex_git.store.gitcli import without_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from cortex_git.events.model import Event
    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

MOST = 8000
"""So many refs go in one push, as many as a command line holds."""
_FORMAT = "%H%x00%P%x00%(trailers:key=Cortex-Commit,valueonly,separator=%x20)"
# The commits of the code that anchors name may be missing in a partial clone, and must not be fetched for this.
_LOCAL = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}


class Line:
    """One of our refs beside what a remote has of it.

    `tip` is None if it is gone here, `known` if the remote has none. `unsent` are the notes commits
    that the remote lacks, newest first, each with the commit of the code that it is an anchor at.
    `folded` is a line that lies in the archive here, an `archived` one does so at the remote only; of a `sealed`
    one the remote has a signed commit on top; of one that is `diverged` it has something that is not in ours.
    """

    __slots__ = ("archived", "diverged", "folded", "known", "ref", "sealed", "tip", "unsent")

    def __init__(self, ref: str, tip: str | None, known: str | None) -> None:
        self.ref = ref
        self.tip = tip
        self.known = known
        self.unsent: list[tuple[str, str]] = []
        self.archived = False
        self.diverged = False
        self.folded = False
        self.sealed = False

    @property
    def key(self) -> str:
        """The branch key; empty for tombstones and archives."""
        return keys.key_in(self.ref)

    @property
    def is_open(self) -> bool:
        """Whether there is something that the remote lacks."""
        return bool(self.tip and self.tip != self.known and (self.unsent or not self.known))


class Sent:
    """What became of a push: `accepted` refs with the tips before and after, `refused` ones with why.

    `problem` says why nothing could be sent at all.
    """

    __slots__ = ("accepted", "problem", "refused")

    def __init__(self) -> None:
        self.accepted: dict[str, tuple[str | None, str]] = {}
        self.refused: dict[str, str] = {}
        self.problem = ""

    @property
    def complaint(self) -> str:
        """What went wrong, in a line; empty if nothing did."""
        if self.problem or not self.refused:
            return self.problem
        reasons = list(dict.fromkeys(self.refused.values()))
        return f"{len(self.refused)} of {len(self.refused) + len(self.accepted)} refs were refused: {reasons[0]}"


class Came:
    """What a fetch brought: refs with their tips before and after, and what went wrong.

    `aside` are refs that the remote has and that lead to no commit; `answered` is whether it could be talked to.
    """

    __slots__ = ("answered", "aside", "moved", "problem")

    def __init__(self, moved: dict[str, tuple[str | None, str]], problem: str) -> None:
        self.moved = moved
        self.problem = problem
        self.aside: dict[str, str] = {}
        self.answered = True


# ---- what there is to send


def lines(repo: Repo, backend: Backend, remote: str) -> list[Line]:
    """Our shared refs beside what the remote is known to have, and what it lacks."""
    base, clone = f"{keys.REMOTES}/{remote}/", repo.clone
    found = backend.refs(keys.SHARED, refs.PURGED, f"{trust.SIGNED}/{remote}")
    if remotes.is_same_place(repo, remote):
        found.update(there.tracked(backend, remote))
    fit = backend.commits(found.values())
    found = {name: tip for name, tip in found.items() if tip in fit}
    mine = {name: tip for name, tip in found.items() if _is_ours(name, clone)}
    archives = {name: tip for name, tip in found.items() if refs.is_archive(name) and name.endswith("/" + clone)}
    expanded = refs.expanded(repo, archives)
    folded = {name: tip for name, tip in expanded.items() if _is_ours(name, clone)}
    archived = {_own_name(base, name): tip for name, tip in expanded.items() if name.startswith(base)}
    theirs = {_own_name(base, name): tip for name, tip in found.items() if name.startswith(base)}
    signed = {tip for name, tip in found.items() if name.startswith(trust.SIGNED)}
    every = []
    for ref in sorted({*mine, *folded, *(name for name in theirs if _is_ours(name, clone))}):
        line = Line(ref, mine.get(ref, folded.get(ref)), theirs.get(ref, archived.get(ref)))
        line.folded = ref not in mine and ref in folded
        line.archived = ref not in theirs and ref in archived
        line.sealed = line.known in signed
        every.append(line)
    _find_unsent(repo, every)
    return every


def _is_ours(name: str, clone: str) -> bool:
    """Whether a ref is one that this clone shares."""
    if not name.endswith("/" + clone) or not name.startswith((keys.SHARED + "/", refs.PURGED + "/")):
        return False
    return keys.key_in(name) != "" or refs.is_archive(name) or refs.is_tombstone(name)


def _own_name(base: str, name: str) -> str:
    """What a ref that was fetched is called by the clone that writes it."""
    rest = name.removeprefix(base)
    return f"{refs.PURGED}/{rest.removeprefix('purged/')}" if rest.startswith("purged/") else f"{keys.SHARED}/{rest}"


def _find_unsent(repo: Repo, every: Iterable[Line]) -> None:
    """Fill in what the remote lacks of each line, all by one git."""
    open_lines = [line for line in every if line.tip and line.tip != line.known]
    if not open_lines:
        return
    commits = _commits(repo, open_lines)
    for line in open_lines:
        end = _follow(line, commits)
        if line.known and end != line.known and not line.sealed:
            # Another line, which goes on from this one or the other way round, may have hidden a part of it.
            end = _follow(line, _commits(repo, [line]))
            line.diverged = bool(line.unsent) and end != line.known


def _commits(repo: Repo, some: Iterable[Line]) -> dict[str, tuple[str, str]]:
    """The notes commits that are in none that the remote has: id to first parent and anchor."""
    request = [line.tip or "" for line in some] + [f"^{line.known}" for line in some if line.known]
    log = ("-c", "log.showSignature=false", "log", "--ignore-missing", "--stdin", f"--format={_FORMAT}")
    out = repo.git(*log, input="".join(f"{name}\n" for name in request).encode(), variables=_LOCAL)
    found: dict[str, tuple[str, str]] = {}
    for entry in out.decode("utf-8", "replace").splitlines():
        id, parents, anchor = [*entry.split("\0"), "", ""][:3]
        found[id] = (parents.split(" ")[0], anchor.split(" ")[-1])
    return found


def _follow(line: Line, commits: Mapping[str, tuple[str, str]]) -> str:
    """Note a line's unsent commits; returns where they set in."""
    line.unsent = []
    at = line.tip or ""
    while at in commits:
        parent, anchor = commits[at]
        line.unsent.append((at, anchor))
        at = parent
    return at


def belonging(repo: Repo, every: Iterable[Line], commits: Collection[str]) -> dict[str, str]:
    """Of each line the newest notes commit that is an anchor at something that these commits reach.

    Of a branch that is gone, whose last anchor is reached, all: nothing else will come to tie the rest to.
    Tombstones always go along.
    """
    open_lines = [line for line in every if line.is_open]
    anchors = {anchor for line in open_lines if line.key for _, anchor in line.unsent if anchor}
    reached = _reached(repo, commits, anchors)
    living = keys.living(repo)
    found: dict[str, str] = {}
    for line in open_lines:
        if line.ref.startswith(refs.PURGED + "/"):
            found[line.ref] = line.tip or ""
            continue
        tied = next((id for id, anchor in line.unsent if anchor in reached), None) if line.key else None
        if tied:
            newest = next(anchor for _, anchor in line.unsent if anchor)
            finished = line.key not in living and not keys.is_detached(line.key) and newest in reached
            found[line.ref] = (line.tip or tied) if finished else tied
    return found


def everything(every: Iterable[Line]) -> dict[str, str]:
    """All that a remote lacks, down to the tips.

    What is folded goes with its archive; only a ref that the remote has already is sent up to where it was folded,
    since readers take a ref of its own before an archive.
    """
    return {
        line.ref: line.tip
        for line in every
        if line.tip and line.is_open and not (line.folded and (line.archived or not line.known))
    }


def _reached(repo: Repo, commits: Collection[str], anchors: Collection[str]) -> set[str]:
    """Those of the anchors that the commits reach; neither need exist here."""
    if not commits or not anchors:
        return set()
    wanted = "".join(f"{id}\n" for id in sorted(anchors))
    present = _rev_list(repo, wanted, "--no-walk")
    beyond = _rev_list(repo, wanted + "".join(f"^{id}\n" for id in sorted(set(commits))))
    return (present & set(anchors)) - beyond


def _rev_list(repo: Repo, request: str, *options: str) -> set[str]:
    out = repo.git("rev-list", *options, "--ignore-missing", "--stdin", input=request.encode(), variables=_LOCAL)
    return set(out.decode("ascii", "replace").split())


def waiting(backend: Backend, every: Iterable[Line]) -> list[Event]:
    """The events that a remote lacks, each once, in the order of time."""
    known = [line.known for line in every if line.known and line.key]
    tips = [line.tip for line in every if line.tip and line.is_open and line.key]
    return events_in(backend, tips, known)


def events_in(backend: Backend, tips: Iterable[str], but: Iterable[str]) -> list[Event]:
    """The events of these notes commits that are in none of the others, each once, in the order of time."""
    new, old = list(tips), [tip for tip in but if tip]
    if not new:
        return []
    segments = backend.segments([*new, *old])
    blobs = {blob for tip in new for blob in segments[tip]} - {blob for tip in old for blob in segments[tip]}
    found = {event.id: event for _, data in backend.blobs(blobs) for event in codec.decode_segment(data)[0]}
    return sorted(found.values(), key=lambda event: (event.time, event.id))


# ---- sending and fetching


def send(
    repo: Repo,
    remote: str,
    wanted: Mapping[str, str],
    every: Iterable[Line],
    limit: float,
    forced: Collection[str] = (),
) -> Sent:
    """Push notes commits to the refs they are for, all in one push; only forward, but for `forced` ones.

    One that is refused keeps no other from being sent.
    """
    sent = Sent()
    if not wanted:
        return sent
    chosen = sorted(wanted)[:MOST]
    end = time.monotonic() + limit
    known = {line.ref: line.known if not line.archived else None for line in every}
    _push(repo, remote, {ref: wanted[ref] for ref in chosen}, limit, forced, sent)
    if sent.refused and (retry := there.again(repo, remote, wanted, sent, end)):
        for ref in retry:
            del sent.refused[ref]
        _push(repo, remote, {ref: wanted[ref] for ref in retry}, max(0.1, end - time.monotonic()), forced, sent)
    sent.accepted = {ref: (known.get(ref), tip) for ref, (_, tip) in sent.accepted.items()}
    _track(repo, remote, sent.accepted)
    return sent


def _push(
    repo: Repo, remote: str, wanted: Mapping[str, str], limit: float, forced: Collection[str], sent: Sent
) -> None:
    specs = [f"{'+' * (ref in forced)}{tip}:{ref}" for ref, tip in wanted.items()]
    answer = transport.push(repo, remote, specs, limit)
    results = transport.results(answer)
    said = answer.reason if answer.status else ""
    for ref in wanted:
        if ref not in results:
            continue
        mark, why = results[ref]
        if mark != "!":
            sent.accepted[ref] = (None, wanted[ref])
        else:
            sent.refused[ref] = f"{why} ({said})" if said and "failed to push" not in said else why
    if answer.status is None or (answer.status and not sent.refused):
        sent.problem = answer.reason


def signed(repo: Repo, backend: Backend, remote: str, wanted: Mapping[str, str]) -> dict[str, str]:
    """What to push in place of these notes commits: with `cortex.sign` a signed one on top of each.

    Raises CortexError if git cannot sign.
    """
    if not trust.signs(repo) and not backend.refs(f"{trust.SIGNED}/{remote}"):
        return dict(wanted)
    return {name: trust.signed(repo, backend, remote, name, commit) for name, commit in wanted.items()}


def _track(repo: Repo, remote: str, accepted: Mapping[str, tuple[str | None, str]]) -> None:
    """Keep what the remote has now. Where a fetch was faster it knows better."""
    request = "".join(
        f"update {remotes.tracking(remote, ref)} {new} {old or '0' * len(new)}\n"
        for ref, (old, new) in accepted.items()
        if old != new
    )
    if request:
        args = (*without_hooks(repo), "update-ref", "--stdin", "--no-deref")
        repo.git_status(*args, input=request.encode())


def fetch(repo: Repo, backend: Backend, remote: str, limit: float) -> Came:
    """Fetch what all clones have sent to a remote, into a namespace of its own."""
    end = time.monotonic() + limit
    before = there.tracked(backend, remote)
    answer = transport.fetch(repo, remote, refspecs(remote), limit)
    aside = there.set_aside(repo, backend, before, there.tracked(backend, remote))
    # A remote that answers and still could not be fetched from whole can be sent to.
    left = end - time.monotonic()
    answered = left > 0 and answer.status is not None and there.look(repo, backend, remote, left)
    tidying.drop_covered(repo, backend, remote)
    after = there.tracked(backend, remote)
    moved = {ref: (before.get(ref), tip) for ref, tip in after.items() if before.get(ref) != tip}
    came = Came(moved, answer.reason if answer.status != 0 else "")
    came.aside, came.answered = aside, answered
    return came


def refspecs(remote: str) -> list[str]:
    """What is fetched, and to where. A ref of the remote that would take a tombstone's place is left out."""
    base = f"{keys.REMOTES}/{remote}"
    return [
        f"+{keys.SHARED}/*:{base}/*",
        f"+{refs.PURGED}/*:{base}/purged/*",
        f"^{keys.SHARED}/purged/*",
    ]


def offered(repo: Repo, backend: Backend, remote: str, limit: float) -> tuple[int, str]:
    """How many refs a fetch would bring or move, and what went wrong; asks the remote and changes nothing."""
    answer = transport.listing(repo, remote, (f"{keys.SHARED}/*", f"{refs.PURGED}/*"), limit)
    if answer.status != 0:
        return 0, answer.reason
    have = there.tracked(backend, remote)
    pairs = (line.partition("\t") for line in answer.out.splitlines())
    return sum(have.get(remotes.tracking(remote, name)) != id for id, _, name in pairs if name), ""


def restore(backend: Backend, every: Iterable[Line], keep: Collection[str] = ()) -> list[str]:
    """Bring refs of ours that are gone or behind up to what the remote has of them; returns their names.

    So a clone that was set back to an old state, or whose refs a careless fetch has removed, is whole again
    and can send. `keep` are refs that are meant to be as they are.
    """
    found = []
    for line in every:
        behind = line.known and line.tip != line.known and not line.unsent and not line.sealed
        if behind and line.key and not (line.folded or line.archived) and line.ref not in keep:
            backend.update(line.ref, line.known, line.tip)
            line.tip = line.known
            found.append(line.ref)
    return found


def rejoin(repo: Repo, backend: Backend, every: Iterable[Line], now: float, keep: Collection[str] = ()) -> list[str]:
    """Join refs of ours with what the remote has of them where each has something that the other lacks.

    So is a clone that was set back to an old state and then went on. Returns their names.
    """
    from cortex_git.store.importer import Importer

    found = []
    who = repo.identity().encode("utf-8", "replace")
    head = b"author %s %d +0000\ncommitter %s %d +0000\n" % (who, now, who, now)
    message = b"cortex: joined with what was sent before\n"
    for line in every:
        if not (line.diverged and line.key and line.tip and line.known) or line.ref in keep:
            continue
        here = backend.tree(line.tip)
        missing = {path: blob for path, blob in backend.tree(line.known).items() if path not in here}
        changes = "".join(f"M 100644 {blob} {path}\n" for path, blob in missing.items()).encode()
        with Importer(repo) as importer:
            joined = importer.commit(head, message, [line.tip, line.known], changes)
        backend.update(line.ref, joined, line.tip)
        line.tip, line.diverged = joined, False
        line.unsent.insert(0, (joined, ""))
        found.append(line.ref)
    return found
