"""The memory of one repository as commands and servers read and write it."""

from __future__ import annotations

import os

from cortex_git.env import rfc3339
from cortex_git.errors import CortexError
from cortex_git.events import codec, model
from cortex_git.events.redact import redact_event
from cortex_git.projections.items import events_of, item_files, planned
from cortex_git.projections.statuses import Statuses
from cortex_git.store import align, keys, notes, promisor, refs, remotes, spool, steady
from cortex_git.store.head import find
from cortex_git.store.held import advance, changes, has_removed, held
from cortex_git.store.open import open_backend
from cortex_git.store.recall import Recall
from cortex_git.store.repo import require
from cortex_git.store.sieve import Sieve
from cortex_git.views.settled import settle
from cortex_git.views.standing import fold, unique

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cortex_git.config import Config
    from cortex_git.env import Env
    from cortex_git.events.model import Event
    from cortex_git.store.backend import Backend
    from cortex_git.store.held import Change
    from cortex_git.store.listing import Tips
    from cortex_git.store.refs import Tombstones
    from cortex_git.store.repo import Repo
    from cortex_git.views.settled import Settled
    from cortex_git.views.standing import Standing


DELETION = "deletion"
STAYING = (model.PLAN, model.STEP)
"""The types that are seen on their own branch only."""
PATIENCE = 2.0
"""How long a drain waits for another one, in seconds; what it then leaves is taken by the next."""
_AHEAD = 24 * 3600.0
"""So far ahead of the clock, in seconds, a date may be: clocks differ."""
_LIVES = 16
"""How many branches that bore one name after the other are told apart in the files of their plans."""


class Memory:
    """One repository's memory. Every read is aligned with HEAD as it is at that moment."""

    def __init__(self, env: Env, repo: Repo, backend: Backend) -> None:
        self.env = env
        self.repo = repo
        self.backend = backend
        self.config: Config = repo.config()
        self.damaged = 0
        """Entries of segments that were read and are no events."""
        self.has_drained = False
        """Whether something from the spool was stored."""
        self._refs: Tips | None = None
        self._sieve = Sieve(repo, backend, self.refs)
        self._recall = Recall(repo, backend)
        self._changes: dict[tuple[str | None, str | None], Change] = {}
        self._statuses = Statuses(repo, self.contents)

    @classmethod
    def open(cls, env: Env, prefer: str = "pygit2") -> Memory:
        """The memory of the repository that the process is in.

        Raises CortexError if there is none, or if `init` was not run in it.
        """
        repo = require(env.cwd, env.variables)
        repo.may_fetch = promisor.PATIENCE
        if not repo.initialised:
            if "cortex.cloneof" in repo.git_config():
                raise CortexError(
                    "git cortex is not set up here any more; its memory is kept, `git cortex init` brings it back"
                )
            elsewhere = remotes.unknown(repo)
            raise CortexError("this repository has no memory yet; start one with `git cortex init`" + elsewhere)
        return cls(env, repo, open_backend(repo, prefer))

    # ---- reading

    def refs(self) -> Tips:
        """All notes refs with their tips, ours and fetched."""
        if self._refs is None:
            self._refs = notes.all_refs(self.repo, self.backend)
            self._sieve.forget()
        return self._refs

    def refs_stamp(self) -> str:
        """Differs whenever a notes ref does, and costs little while none has moved."""
        return self._refs.stamp if self._refs is not None else refs.stamp(self.repo, self.backend)

    def tip(self, ref: str) -> str | None:
        """The tip of one notes ref; None if there is no such ref. Does not list them all."""
        if self._refs is not None:
            return self._refs.get(ref)
        found = find(self.repo, ref)
        is_folded = found is None and find(self.repo, refs.archive_of(ref)) is not None
        return self.refs().get(ref) if is_folded else found

    def key(self, branch: str | None) -> str:
        """The key of a branch as things stand."""
        key = keys.lookup(self.repo, branch, {})
        # Only a key that is not written down yet must differ from those that were in use before.
        return key.value if key.how in ("known", "renamed") else keys.lookup(self.repo, branch, self.refs()).value

    def forget_refs(self) -> None:
        """Look at the refs anew at the next read."""
        self._refs = None
        self._sieve.forget()

    def drain(self, patience: float = PATIENCE) -> list[str]:
        """Store what waits in the spool; returns what went wrong, a sentence each. Raises CortexError."""
        if not spool.names(self.repo.home):
            return []
        # Loaded here, since most hooks find nothing that waits.
        from cortex_git.capture.drain import drain

        done = drain(self.repo, self.backend, self.config, patience=patience)
        if done.refs is not None:
            self._refs, self.has_drained = done.refs, True
            self._recall.take_in(done.wrote)
        return done.faults

    def write(
        self, events: Mapping[str | None, Sequence[Event]], *, anchored: str = "", left: str | None = None
    ) -> None:
        """Store events by branch, as `Writer.write` does."""
        writer = self.writer()
        writer.write(events, anchored=anchored, left=left)
        self.follow(writer)

    def follow(self, writer: notes.Writer) -> None:
        """Take over the refs as a writer has left them."""
        self._refs = writer.refs
        self._recall.take_in(writer.wrote)
        writer.wrote = []

    def writer(self) -> notes.Writer:
        """A writer that starts from the refs as they were read here. Forget them after using it."""
        return notes.Writer(self.repo, self.backend, self.config, self.refs())

    def position(self, rev: str | None = None) -> tuple[str | None, str | None]:
        """Branch (None: detached) and commit (None: unborn) of HEAD, or of another branch or commit.

        Raises CortexError if there is no such branch or commit.
        """
        if rev is None:
            return self.repo.branch(), self.repo.head()
        if keys.exists(self.repo, rev):
            out = self.repo.git("rev-parse", "--verify", f"refs/heads/{rev}^{{commit}}")
            return rev, out.decode().strip()
        status, out, _ = self.repo.git_status("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}")
        if status:
            raise CortexError(f"there is no branch or commit {rev}; `git branch` lists the branches")
        return None, out.decode().strip()

    def alignment(self, branch: str | None, head: str | None) -> align.Visible:
        """Which refs are seen from there, and up to where."""
        key = keys.lookup(self.repo, branch, self.refs())
        if branch is None:
            key.value = keys.detached(head)
        seen = align.visible(self.repo, self.backend, self.refs(), key.value, head)
        if key.origin:  # a copied branch that was not written to yet sees what its original sees
            original = align.visible(self.repo, self.backend, self.refs(), key.origin, head)
            seen.join(original)
        return seen

    def visible(self, rev: str | None = None) -> list[Event]:
        """All events that a branch sees (by default the one checked out), in the order of time."""
        branch, head = self.position(rev)
        seen = self.alignment(branch, head)
        own: set[str] = set()
        others: set[str] = set()
        segments = self.backend.segments(seen.tips.values())
        for ref, tip in seen.tips.items():
            (own if ref in seen.own else others).update(segments[tip])
        events = list(self.read(own))
        events += (event for event in self.read(others - own) if crosses(event))
        files = self.items(head)
        ever = self.held(head)
        noted = {event.id for event in events}
        # Only files with something that no ref holds are opened; of the rest git's notes have a copy that is not
        # edited by hand.
        unread = {path: blob for path, blob in files.items() if path not in ever or not noted.issuperset(ever[path])}
        contents = self.contents(unread)
        items = [event for event in events_of(contents) if crosses(event)]
        items = self.admitted([*items, *planned(contents, branch, self.namesakes(branch))])
        events += (event for event in items if event.id not in noted)
        gone = self.gone(head, files)
        there = {id for path in files for id in ever.get(path, ())}
        found = [e for e in unique(events) if e.id not in gone and not (is_deletion(e) and e.target in there)]
        settled = self.settled(found, head, files).events
        return unique([*found, *settled]) if settled else found

    def settled(self, events: Iterable[Event], head: str | None, files: Mapping[str, str]) -> Settled:
        """What item files say of how decisions stand, beside these events; `files` are the items at `head`."""
        changes = [event for event in events if event.type in model.STATE_CHANGES]
        written = self._statuses.written(files)
        return settle(changes, written, self._statuses.carried(head or "", written))

    def are_plain(self, files: Mapping[str, str]) -> bool:
        """Whether each decision stands in these files as at its birth."""
        return self._statuses.are_plain(files)

    def everything(self) -> list[Event]:
        """All events of all branches and clones, and the items at HEAD, in the order of time."""
        blobs = {blob for group in self.backend.segments(self.refs().values()).values() for blob in group}
        head = self.repo.head()
        return unique([*self.read(blobs), *self.item_events(self.items(head))])

    def read(self, blobs: Iterable[str]) -> Iterator[Event]:
        """The events in these segments."""
        for _, data in self.blobs(blobs):
            events, bad = codec.decode_segment(data)
            self.damaged += bad
            yield from self.admitted(events)

    def admitted(self, events: Iterable[Event]) -> list[Event]:
        """Those events that may be shown: not what was purged, nor yet what others date more than a day ahead."""
        return self._sieve.pass_on(events, self.horizon())

    @property
    def ahead(self) -> dict[str, str]:
        """Id to time of the events of others that were met and set aside, since they are dated in the future."""
        return self._sieve.ahead

    def horizon(self) -> str:
        """The time after which an event is set aside until its time has come: a day ahead of the clock."""
        return rfc3339(self.env.clock() + _AHEAD)

    def purged(self) -> Tombstones:
        """What was purged, here or in another clone."""
        return self._sieve.purged

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The contents of blobs."""
        return self._recall.blobs(ids)

    def fetch(self, ids: Iterable[str]) -> None:
        """Have blobs at hand that will be asked for in several places."""
        for _ in self.blobs(ids):
            pass

    def is_forward(self, old: str | None, new: str | None) -> bool:
        """Whether the history of `new` holds that of `old`; None is the time before any commit."""
        if old == new or old is None or new is None:
            return old == new or old is None
        return self._is_step(old, new) or old in self.backend.reachable(new, [old])

    def _is_step(self, old: str | None, new: str | None) -> bool:
        """Whether HEAD has just gone from one commit to its only child, or to one that is as good as that."""
        return bool(old and new) and old in steady.before(self.repo, new or "")

    def changes(self, old: str | None, new: str | None) -> Change:
        """How item files differ between two commits; see `held.changes`."""
        if (old, new) not in self._changes:
            self._changes[old, new] = changes(self.repo, old, new, is_parent=self._is_step(old, new))
        return self._changes[old, new]

    def segments_between(self, moved: Mapping[str, tuple[str, str]]) -> dict[str, tuple[list[str], list[str]]]:
        """For each ref and its tips before and after: the segments that came, and those that went."""
        return self._recall.between(moved)

    def segments(self, tips: Mapping[str, str]) -> dict[str, list[str]]:
        """The segments of refs, given the tip of each."""
        return self._recall.segments(tips)

    def items(self, commit: str | None) -> dict[str, str]:
        """Path to blob id of the item files of a commit; None is the time before any."""
        return item_files(self.backend, commit) if commit else {}

    def item_events(self, files: Mapping[str, str]) -> list[Event]:
        """The events that committed item files hold, given path to blob id."""
        return self.admitted(events_of(self.contents(files)))

    def contents(self, files: Mapping[str, str]) -> dict[str, bytes]:
        """Path to content of files, given path to blob id."""
        paths: dict[str, list[str]] = {}
        for path, blob in files.items():
            paths.setdefault(blob, []).append(path)
        return {path: data for blob, data in self.blobs(paths) for path in paths[blob]}

    def held(self, head: str | None) -> dict[str, list[str]]:
        """Every item file that a commit which `head` can reach ever held: path to the ids of its events."""
        return held(self.repo, head, self._ids_of, self.changes)

    def advance(self, head: str) -> None:
        """Follow a commit that was just made with what is known of its past."""
        advance(self.repo, head, self._ids_of, self.changes)

    def _ids_of(self, files: Mapping[str, str]) -> dict[str, list[str]]:
        contents = self.contents(files)
        return {path: [event.id for event in events_of({path: data})] for path, data in contents.items()}

    def gone(self, head: str | None, files: Mapping[str, str]) -> set[str]:
        """Ids whose item was in a commit that `head` can reach and is no longer: how a reviewer rejects one.

        `files` are the items at `head`. While the folder's README is missing, absence says nothing.
        """
        ever = self.held(head)
        missing = {id for path, ids in ever.items() if path not in files for id in ids}
        if not missing or head is None or not self.has_folder(head):
            return set()
        return missing - {id for path in files for id in ever.get(path, ())}

    def namesakes(self, branch: str | None) -> set[str]:
        """The first digits of the keys of other branches that may have borne the name of this one."""
        lives = {keys.key_of_name(branch, life)[:6] for life in range(_LIVES)} if branch else set()
        end = f"/{self.repo.clone}"
        mine = (name for name in self.refs() if name.endswith(end) and not name.startswith(keys.REMOTES))
        ours = {keys.key_in(name)[:6] for name in mine}
        return (lives | ours) - {self.key(branch)[:6]}

    def has_removed(self, head: str | None) -> bool:
        """Whether an item was in a commit that `head` can reach and is no longer; cheaper than to know which."""
        return head is not None and has_removed(self.repo, head)

    def merged(self) -> set[str]:
        """The ids of items that stand on the branch that others build on, if it is checked out: they are accepted."""
        branch, head = self.position()
        if branch is None or branch != self.repo.default_branch():
            return set()
        ever = self.held(head)
        return {id for path in self.items(head) for id in ever.get(path, ())}

    def has_folder(self, commit: str) -> bool:
        """Whether a commit has our folder at all; where it was removed as a whole, no item was rejected by that."""
        # Asked of the tree alone: a sparse partial clone has not got the file itself.
        return not self.repo.git_status("rev-parse", "--verify", "--quiet", f"{commit}:.cortex/README.md")[0]

    def standing(self, rev: str | None = None) -> Standing:
        """Where things stand on a branch."""
        found = fold(self.visible(rev))
        found.accepted |= self.merged()
        return found

    def find(self, prefix: str, among: Sequence[Event] | None = None) -> Event:
        """The event whose id starts with `prefix`.

        Looks at what the branch sees, then everywhere. Raises CortexError if there is none or more than one.
        """
        wanted = prefix.strip().lower()
        if len(wanted) < 4 or set(wanted) - set("0123456789abcdef"):
            raise CortexError(f"{prefix!r} is no id; give at least 4 hex digits of one that `git cortex log` shows")
        if among is not None:
            places: list[Callable[[], Sequence[Event]]] = [lambda: among]
        else:
            places = [self.visible, self.everything]
        for place in places:
            found = [event for event in place() if event.id.startswith(wanted)]
            if len(found) > 1:
                raise CortexError(f"{prefix} is the start of {len(found)} ids: " + ", ".join(e.id for e in found[:5]))
            if found:
                return found[0]
        raise CortexError(f"there is no event {prefix}; `git cortex log --all` lists them")

    # ---- writing

    def record(self, events: Sequence[Event]) -> list[Event]:
        """Store events under the branch that is checked out and return those that it did not hold yet.

        Secrets are taken out first. Raises CortexError if the refs cannot be written.
        """
        branch, head = self.position()
        author = self.repo.author()
        clean = [redact_event(event) for event in events]
        filled = [
            event.replace(
                branch=event.branch or branch or "", commit=event.commit or head or "", author=event.author or author
            )
            for event in clean
        ]
        known = {event.id for event in self.visible()} | self.purged().ids
        new = [event for event in filled if event.id not in known]
        if new:
            self.write({branch: new})
        return new

    def path(self, *parts: str) -> str:
        """A path under our folder in the git directory."""
        return os.path.join(self.repo.home, *parts)


def is_deletion(event: Event) -> bool:
    """Whether this retracts an event because its file was deleted. It counts while the file is not there again."""
    return event.type == model.RETRACTED and event.source.get("by") == DELETION


def crosses(event: Event) -> bool:
    """Whether an event is seen on other branches than its own: all but plans."""
    return event.type not in STAYING
