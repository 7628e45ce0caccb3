"""Notes refs: writing segments and anchors under a branch's key.

Each clone writes only its own ref of a key, so that writers never meet; a read is the union
over all of them. Semantic events go to the shared ref, the others to the local one.
"""

from __future__ import annotations

import os
import time

from cortex_git.errors import CortexError
from cortex_git.events import codec, model
from cortex_git.store import align, followed, guard, keys, refs
from cortex_git.store.backend import RefMoved, Update
from cortex_git.store.listing import Tips
from cortex_git.store.lives import known_lives

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cortex_git.config import Config
    from cortex_git.events.model import Event
    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

    Wrote = tuple[str, str | None, str, Sequence[bytes]]

SEGMENT = 200
"""The most events that one blob holds; a longer flush is several blobs."""
_TRIES = 100


def is_shared(event: Event, config: Config) -> bool:
    """Whether an event belongs into the ref that may be pushed."""
    if event.private:
        return False
    if event.type in model.STRUCTURAL:
        return config.share_structural
    if event.type == model.PREFERENCE:
        return config.share_preferences
    return True


def all_refs(repo: Repo, backend: Backend) -> Tips:
    """Every notes ref of every clone, ours and fetched, with its tip; see `refs.all_refs`."""
    guard.settle(repo, backend)
    return refs.all_refs(repo, backend)


class Writer:
    """Writes for one clone."""

    def __init__(self, repo: Repo, backend: Backend, config: Config, refs: Mapping[str, str] | None = None) -> None:
        if not repo.clone:
            raise CortexError("this clone has no id; run `git cortex init`")
        self._repo = repo
        self._backend = backend
        self._config = config
        self.refs = all_refs(repo, backend) if refs is None else Tips.of(refs)
        """All notes refs, kept up to date with what is written here."""
        self.wrote: list[Wrote] = []
        """What was put on refs: the tip before and after, and the segments. Nobody need ask git for these."""

    def key(self, branch: str | None, commit: str | None = None) -> str:
        """The key of a branch, written down if it is new; a copied branch gets what its original sees.

        On a detached HEAD it is that of the commit, of HEAD's own if none is given.
        """
        if branch is None and commit:
            return keys.detached(commit)
        key = keys.lookup(self._repo, branch, self.refs)
        if branch is not None and key.how != "known":
            keys.settle(self._repo, branch, key)
            if key.origin:
                self._seed(branch, key)
            elif key.how == "new":
                self.close({name for life in known_lives(branch, self.refs) for name in life})
        return key.value

    def close(self, among: Collection[str] | None = None) -> None:
        """Say of our shared refs, or of some, whose branch is gone here: by that other clones know that it is over."""
        living = keys.living(self._repo)
        names = self.refs if among is None else among
        mine = {name: self.refs[name] for name in names if self._is_over(name, living)}
        told = align.ended(self._repo, mine) if mine else set()
        names = self._named([mine[ref] for ref in mine.keys() - told])
        self._append({ref: ([], closing_message(names.get(mine[ref], ""))) for ref in sorted(mine.keys() - told)})

    def _is_over(self, name: str, living: set[str]) -> bool:
        key = keys.key_in(name)
        return name == keys.ref(keys.SHARED, key, self._repo.clone) and not keys.is_detached(key) and key not in living

    def _named(self, tips: Sequence[str]) -> dict[str, str]:
        """By notes commit the name of the branch that it was written for."""
        if not tips:
            return {}
        trailer = "%(trailers:key=Cortex-Branch,valueonly,separator=%x20)"
        log = ("-c", "log.showSignature=false", "log", "--no-walk", "--stdin", f"--format=%H {trailer}")
        out = self._repo.git(*log, input="".join(f"{tip}\n" for tip in tips).encode())
        return {
            line[: line.index(" ")]: line.partition(" ")[2].strip() for line in os.fsdecode(out).split("\n") if line
        }

    def write(
        self, events: Mapping[str | None, Sequence[Event]], *, anchored: str = "", left: str | None = None
    ) -> None:
        """Store events, given by branch (None: recorded on a detached HEAD).

        With `anchored` the notes commits also say that all of this, and what is open on these
        branches, belongs to that commit; a detached HEAD came there from the commit `left`.
        Raises CortexError if a ref cannot be written; then some events may be stored, and
        storing all of them again does no harm.
        """
        wanted: dict[str, tuple[str | None, list[Event]]] = {}
        gone = refs.purged(self._repo).ids
        for branch, group in events.items():
            for event in sorted(group, key=model.order):
                if event.id in gone:
                    continue
                key = self.key(branch, event.commit)
                namespace = keys.SHARED if is_shared(event, self._config) else keys.LOCAL
                wanted.setdefault(keys.ref(namespace, key, self._repo.clone), (branch, []))[1].append(event)
        appended = {
            ref: (_segments(group), _message(ref, branch, group, anchored)) for ref, (branch, group) in wanted.items()
        }
        if anchored:
            for branch in events:
                # Not only what is open: when the commits that older anchors name are replaced, this one leads on.
                for ref in self._own(branch, left).keys() - set(wanted):
                    appended[ref] = ([], anchor_message(branch, anchored, self.refs[ref]))
        self._append(appended)
        if not anchored:
            for branch in events:
                followed.note(self._repo, branch)

    def write_under(self, key: str, branch: str | None, events: Sequence[Event]) -> None:
        """Store events under a key as it is, that of a branch which is gone, too; `branch` is its name.

        Where nothing there waits for a commit, they belong to the last one that anything there
        belongs to, so that whoever sees that sees these. Raises CortexError as `write` does.
        """
        wanted: dict[str, list[Event]] = {}
        gone = refs.purged(self._repo).ids
        for event in sorted((event for event in events if event.id not in gone), key=model.order):
            namespace = keys.SHARED if is_shared(event, self._config) else keys.LOCAL
            wanted.setdefault(keys.ref(namespace, key, self._repo.clone), []).append(event)
        self._append(
            {ref: (_segments(group), _message(ref, branch, group, self._last(ref))) for ref, group in wanted.items()}
        )

    def _last(self, ref: str) -> str:
        """The last commit that a ref, or while there is none others of its key, are tied to; empty if more waits."""
        alike = [ref] if ref in self.refs else [n for n in self.refs if keys.key_in(n) == keys.key_in(ref)]
        refs = {name: self.refs[name] for name in alike}
        if keys.is_detached(keys.key_in(ref)) or not refs or align.open_refs(self._repo, refs):
            return ""
        anchors = [found[-1].commit for found in align.anchors(self._repo, refs).values() if found]
        return anchors[0] if anchors else ""

    def open_refs(self, branch: str | None, commit: str | None = None) -> set[str]:
        """Our refs of a branch, or of HEAD detached at a commit, that hold events which no commit is tied to yet."""
        return align.open_refs(self._repo, self._own(branch, commit))

    def _own(self, branch: str | None, commit: str | None) -> dict[str, str]:
        """Our refs of a branch, or of HEAD detached at a commit, with their tips."""
        key = self.key(branch, commit)
        names = (keys.ref(namespace, key, self._repo.clone) for namespace in (keys.SHARED, keys.LOCAL))
        return {name: self.refs[name] for name in names if name in self.refs}

    def mark(self, ref: str, branch: str | None, commit: str, upto: str) -> None:
        """Say that one of our refs up to the notes commit `upto` belongs to `commit`."""
        self._append({ref: ([], anchor_message(branch, commit, upto))})

    def _seed(self, branch: str, key: keys.Key) -> None:
        """Give a copied branch all that is under its original's key: our refs as they are, of others' the events."""
        wanted: dict[str, tuple[list[bytes], str]] = {}
        for namespace in (keys.SHARED, keys.LOCAL):
            origin, ref = (keys.ref(namespace, value, self._repo.clone) for value in (key.origin, key.value))
            if origin in self.refs:
                self._append_at(ref, self.refs[origin])
            others = [n for n in self.refs if keys.key_in(n) == key.origin and not keys.is_ours(self._repo, n)]
            tips = [self.refs[n] for n in others if n.startswith(keys.LOCAL + "/") == (namespace == keys.LOCAL)]
            there = set(self._backend.tree(self.refs[ref]).values()) if ref in self.refs else set()
            new = {blob for group in self._backend.segments(tips).values() for blob in group} - there
            if new:
                blobs = [data for _, data in self._backend.blobs(sorted(new))]
                wanted[ref] = (blobs, f"cortex: what the original of {branch} knows\n\nCortex-Branch: {branch}\n")
        self._append(wanted)

    def _append_at(self, ref: str, tip: str) -> None:
        self._backend.update(ref, tip, self.refs.get(ref))
        self.refs[ref] = tip

    def _append(self, wanted: Mapping[str, tuple[list[bytes], str]]) -> None:
        """Put commits on our refs, again and again while other processes of this clone are faster."""
        left = dict(wanted)
        for _ in range(_TRIES):
            if not left:
                return
            updates = [Update(ref, self.refs.get(ref), blobs, text) for ref, (blobs, text) in left.items()]
            try:
                tips = self._backend.append(updates)
            except RefMoved:
                time.sleep(os.urandom(1)[0] / 255 * 0.02)  # so that two who met do not meet again
                self.refs.follow(all_refs(self._repo, self._backend))
                refs.bring_back(self._backend, {ref: self.refs.get(ref) for ref in left})
                continue
            for update, tip in zip(updates, tips, strict=True):
                self.refs[update.ref] = tip
                self.wrote.append((update.ref, update.old, tip, update.blobs))
            align.note(
                self._repo,
                [(update.ref, update.old, tip, update.message) for update, tip in zip(updates, tips, strict=True)],
            )
            guard.keep(self._repo, self._backend, left)
            return
        raise CortexError("the memory's refs are being written by too many processes at once; it will be tried again")


def _segments(events: Sequence[Event]) -> list[bytes]:
    return [codec.encode_segment(events[at : at + SEGMENT]) for at in range(0, len(events), SEGMENT)]


def _message(ref: str, branch: str | None, events: Sequence[Event], anchored: str) -> str:
    count = f"{len(events)} event{'s' * (len(events) != 1)}"
    lines = [f"cortex: {count} on {branch or 'a detached HEAD'}", ""]
    if branch:
        lines.append(f"Cortex-Branch: {branch}")
    if ref.startswith(keys.SHARED + "/"):  # what never leaves this clone needs no heading for readers
        sessions = sorted({event.session for event in events if event.session})
        lines += [f"Cortex-Session: {_one_line(session)}" for session in sessions]
    if anchored:
        lines.append(f"Cortex-Commit: {anchored}")
    return "\n".join(lines) + "\n"


def anchor_message(branch: str | None, commit: str, upto: str) -> str:
    """The message of a notes commit that ties all before it to a commit."""
    name = f"Cortex-Branch: {branch}\n" if branch else ""
    return f"cortex: anchored at {commit[:12]}\n\n{name}Cortex-Commit: {commit}\nCortex-Upto: {upto}\n"


def closing_message(branch: str) -> str:
    """The message of a notes commit that says that the branch is gone."""
    return f"cortex: {branch or 'the branch'} is gone\n\nCortex-Branch: {branch}\nCortex-Closed: {branch or 'yes'}\n"


def _one_line(text: str) -> str:
    return "".join(c for c in text if c.isprintable())[:200]
