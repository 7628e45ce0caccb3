"""What each branch must see, worked out from what was done and from the commits alone.

It follows the rules of alignment in its own way: every clone keeps a journal for each life of
a branch name, in which facts are noted and tied to commits. It reads git's commits and files;
it reads no notes ref and uses nothing of the code that it judges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .facts import Commits

Life = tuple[str, int]
"""A branch name, and the how manieth branch that bore it; what is noted while HEAD is detached is of `(commit, -1)`."""
ITEMS = ("decision", "rejected", "learned")


@dataclass(frozen=True)
class Fact:
    """Something noted: a decision and so on, or, with a target, the end of one."""

    mark: int
    kind: str
    branch: str = ""
    commit: str | None = None
    target: int = 0

    @property
    def local(self) -> bool:
        """Whether it never leaves its clone."""
        return self.kind == "preference"


@dataclass(frozen=True)
class Tie:
    """All of a journal's first `upto` entries belong to a commit."""

    commit: str
    upto: int


@dataclass
class Journal:
    """What one clone noted under one life of a name."""

    entries: list[Fact | Tie] = field(default_factory=list)
    closed: int = 0
    """From which length on it is known to be of a branch that is gone; 0: not."""

    def ties(self, length: int) -> list[Tie]:
        """The ties among the first entries."""
        return [entry for entry in self.entries[:length] if isinstance(entry, Tie)]

    def facts(self, upto: int, start: int = 0) -> list[Fact]:
        """The facts among some entries."""
        return [entry for entry in self.entries[start:upto] if isinstance(entry, Fact)]

    def tied(self) -> int:
        """How far it is tied to any commit."""
        return max((tie.upto for tie in self.ties(len(self.entries))), default=0)

    def open(self) -> list[Fact]:
        """The facts that no commit is tied to yet."""
        return self.facts(len(self.entries), self.tied())


class Part:
    """As much of a journal as a clone has."""

    def __init__(self, journal: Journal, at: tuple[Life, str], length: int, with_local: bool) -> None:
        self.life, self.owner = at
        self.length = length
        self.closed = 0 < journal.closed <= length
        self._journal = journal
        self._with_local = with_local

    def ties(self) -> list[Tie]:
        """The ties in it."""
        return self._journal.ties(self.length)

    def facts(self, upto: int | None = None) -> set[Fact]:
        """The facts in it, or in the first entries of it."""
        found = self._journal.facts(self.length if upto is None else upto)
        return {fact for fact in found if self._with_local or not fact.local}


class CloneState:
    """What one clone knows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lives: dict[str, Life] = {}
        """The life that each of its branches leads, as far as that was settled."""
        self.twins: dict[str, tuple[str, Life]] = {}
        """Branches made by `branch -c` that were not settled yet: whose copy they are."""
        self.known: dict[tuple[Life, str], int] = {}
        """How much of others' journals was fetched."""
        self.inherited: dict[tuple[Life, str], int] = {}
        """How much of another clone's journals, local facts too, came along as this was copied from it."""
        self.branches: set[str] = set()


class Oracle:
    """The whole world as it ought to be."""

    def __init__(self) -> None:
        self.commits = Commits()
        self.clones: dict[str, CloneState] = {}
        self.journals: dict[tuple[Life, str], Journal] = {}
        self.hub: dict[tuple[Life, str], int] = {}
        self.followed: set[tuple[str, str | None]] = set()
        """By clone and branch: where our programs would notice that a commit was made without them."""

    # ---- lives of names

    def life(self, clone: str, branch: str | None, head: str | None) -> Life:
        """Which life of its name a branch leads, or would lead if it were written to now."""
        state = self.clones[clone]
        if branch is None:
            return (head or "", -1)
        if branch in state.lives:
            return state.lives[branch]
        if branch in state.twins:
            _, life = state.twins[branch]
            if life not in state.lives.values() and branch == min(t for t in state.twins if state.twins[t][1] == life):
                return life  # the original is gone, and this is its heir
        mine = {life for (life, owner), journal in self.journals.items() if owner == clone and journal.entries}
        mine |= {*state.lives.values(), *(life for _, life in state.twins.values())}
        others = {life for life, _ in [*state.known, *state.inherited]}
        lives = sorted((life for life in others - mine if life[0] == branch), reverse=True)
        reach = self.commits.reach(state.path, head)
        for life in lives:
            if any(tie.commit in reach for part in self._others(clone, life) for tie in part.ties()):
                return life
        for life in lives:
            if not any(part.closed for part in self._others(clone, life)):
                return life
        return (branch, max((number for name, number in mine | others if name == branch), default=-1) + 1)

    def _others(self, clone: str, life: Life) -> list[Part]:
        return [part for part in self._parts(clone) if part.life == life and part.owner != clone]

    def settle(self, clone: str, branch: str | None, head: str | None) -> Life:
        """A branch's life, fixed from now on; a copy takes over what its original sees."""
        state = self.clones[clone]
        life = self.life(clone, branch, head)
        if branch is None or branch in state.lives:
            return life
        origin = state.twins.pop(branch, None)
        if origin is not None and origin[1] != life:
            self._seed(clone, origin[1], life)
        state.lives[branch] = life
        for (old, owner), journal in self.journals.items():
            living = {*state.lives.values(), *(life for _, life in state.twins.values())}
            if owner == clone and old[0] == branch and old not in living:
                journal.closed = journal.closed or len(journal.entries)
        return life

    def _seed(self, clone: str, origin: Life, life: Life) -> None:
        source = self.journals.get((origin, clone))
        if source:
            self.journals[life, clone] = Journal(list(source.entries))
        for part in self._others(clone, origin):
            own = self.journals.setdefault((life, clone), Journal())
            there = set(own.facts(len(own.entries)))
            own.entries += [fact for fact in part.facts() if fact not in there]

    def journal(self, clone: str, life: Life) -> Journal:
        """What a clone noted under a life."""
        return self.journals.setdefault((life, clone), Journal())

    # ---- what happens

    def note(self, clone: str, branch: str | None, head: str | None, fact: Fact) -> None:
        """A fact is noted on a branch."""
        self.followed.add((clone, branch))
        self.journal(clone, self.settle(clone, branch, head)).entries.append(fact)

    def first_checkout(self, clone: str, branch: str, head: str | None, origin: str | None) -> None:
        """A branch is checked out that has no life yet: it takes along what is open where it was made."""
        state = self.clones[clone]
        if branch in state.lives:
            return
        if branch in state.twins:
            return
        taken: list[Fact] = []
        if origin is not None:
            # A copy that was not written to yet has what its own original has.
            life = state.twins[origin][1] if origin in state.twins else self.life(clone, origin, head)
            life = (origin, -1) if len(origin) == 40 else life
            source = self.journals.get((life, clone), Journal())
            mine = [journal for (_, owner), journal in self.journals.items() if owner == clone]
            tied = {fact for journal in mine for fact in journal.facts(journal.tied())}
            taken = [fact for fact in source.open() if fact not in tied]
        life = self.settle(clone, branch, head)
        if taken:
            self.followed.add((clone, branch))
            self.journal(clone, life).entries += taken

    def committed(self, clone: str, branch: str | None, old: str | None, new: str) -> None:
        """A commit was made on a branch: what was noted until now belongs to it, and what it deletes is taken back."""
        self.followed.add((clone, branch))
        life = self.settle(clone, branch, old if branch is None else new)
        dropped = self._dropped(clone, branch, old, new)
        journal = self.journals.get((life, clone), Journal())
        if journal.open() or dropped:
            journal = self.journal(clone, life)
            journal.entries += dropped
            journal.entries.append(Tie(new, len(journal.entries)))

    def _dropped(self, clone: str, branch: str | None, old: str | None, new: str) -> list[Fact]:
        where = self.clones[clone].path
        if old is None or not self.commits.has_folder(where, new):
            return []
        gone = self.commits.items(where, old) - self.commits.items(where, new)
        return [Fact(0, "deletion", branch or "", new, target=mark) for mark in sorted(gone)]

    def rewritten(self, clone: str, branch: str | None, how: str, pairs: list[tuple[str, str]]) -> None:
        """Commits took the place of others."""
        self.followed.add((clone, branch))
        mine = [journal for (_, owner), journal in self.journals.items() if owner == clone]
        for old, new in pairs:
            for journal in mine:
                upto = [tie.upto for tie in journal.ties(len(journal.entries)) if tie.commit == old]
                if upto:
                    journal.entries.append(Tie(new, max(upto)))
            dropped = self._dropped(clone, branch, old, new) if how == "amend" else []
            if dropped:
                journal = self.journal(clone, self.settle(clone, branch, new))
                journal.entries += dropped
                journal.entries.append(Tie(new, len(journal.entries)))

    def unhooked(self, clone: str, branch: str, old: str, new: str, what: str) -> None:
        """A commit was made of which no hook was told: the next of our programs to run makes up for that.

        It knows the branches that were written to, by the commit that they were last seen at.
        """
        if (clone, branch) not in self.followed:
            return
        journal = self.journals.get((self.life(clone, branch, new), clone), Journal())
        tied = max(journal.ties(len(journal.entries)), key=lambda tie: tie.upto, default=None)
        if what != "rebase":
            self.committed(clone, branch, old, new)
        now = journal.ties(len(journal.entries))
        if what != "commit" and tied and not any(tie.commit == new and tie.upto >= tied.upto for tie in now):
            journal.entries.append(Tie(new, tied.upto))

    def to_bring(self, clone: str, branch: str | None, head: str | None) -> set[int]:
        """The facts whose items the next full commit on a branch has to add."""
        if branch is None:
            return set()
        life = self.life(clone, branch, head)
        journal = self.journals.get((life, clone), Journal())
        dead = self._dead(self._seen(clone, branch, head), clone, head)
        marks = {fact.mark for fact in journal.facts(len(journal.entries)) if fact.kind in ITEMS}
        return marks - dead - self.commits.ever(self.clones[clone].path, head)

    # ---- between clones

    def copied(self, old: str, new: str, path: Path) -> None:
        """A clone's folder was copied as it is."""
        source, state = self.clones[old], CloneState(path)
        state.lives, state.twins = dict(source.lives), dict(source.twins)
        state.known, state.inherited = dict(source.known), dict(source.inherited)
        for (life, owner), journal in self.journals.items():
            if owner == old and journal.entries:
                state.inherited[life, old] = len(journal.entries)
        self.clones[new] = state
        self.followed |= {(new, branch) for clone, branch in self.followed if clone == old}

    def pushed(self, clone: str) -> None:
        """All that a clone has noted is at the hub, also which of its branches are gone."""
        self.cleared(clone)
        for (life, owner), journal in self.journals.items():
            if owner == clone and any(not (isinstance(e, Fact) and e.local) for e in journal.entries):
                self.hub[life, owner] = len(journal.entries)

    def cleared(self, clone: str) -> None:
        """A clone has said which of its branches are gone."""
        state = self.clones[clone]
        living = {*state.lives.values(), *(life for _, life in state.twins.values())}
        for (life, owner), journal in self.journals.items():
            if owner == clone and life not in living and life[1] >= 0:
                journal.closed = journal.closed or len(journal.entries)

    def fetched(self, clone: str) -> None:
        """All that is at the hub is known to a clone."""
        self.clones[clone].known.update(self.hub)

    # ---- what is seen

    def _parts(self, clone: str) -> list[Part]:
        """What a clone knows of each journal."""
        state = self.clones[clone]
        own = {at: len(journal.entries) for at, journal in self.journals.items() if at[1] == clone}
        whole = [*own.items(), *state.inherited.items()]
        found = [Part(self.journals[at], at, length, True) for at, length in whole]
        return found + [Part(self.journals[at], at, length, False) for at, length in state.known.items()]

    def _seen(self, clone: str, branch: str | None, head: str | None) -> set[Fact]:
        state = self.clones[clone]
        life = self.life(clone, branch, head)
        origin = state.twins[branch][1] if branch in state.twins else life
        reach = self.commits.reach(state.path, head)
        seen: set[Fact] = set()
        for part in self._parts(clone):
            if part.life in (life, origin) and (branch is not None or part.owner == clone):
                seen |= part.facts()
                continue
            there = part.facts(self._reached(clone, part, reach))
            seen |= {fact for fact in there if fact.kind != "plan"}
        return seen

    def _reached(self, clone: str, part: Part, reach: frozenset[str]) -> int:
        """Up to where the journal of another branch is seen."""
        ties = part.ties()
        if not ties:
            return 0
        state = self.clones[clone]
        living = {*state.lives.values(), *(life for _, life in state.twins.values())}
        finished = part.owner == clone and part.life not in living and part.life[1] >= 0
        if (finished or part.closed) and ties[-1].commit in reach:
            return part.length
        return max((tie.upto for tie in ties if tie.commit in reach), default=0)

    def _dead(self, seen: set[Fact], clone: str, head: str | None) -> set[int]:
        where = self.clones[clone].path
        there = self.commits.items(where, head)
        dead = {fact.target for fact in seen if fact.kind == "deletion"} - there
        # A file says how its fact stands once a commit has made it say so; until then what people said counts.
        dead |= self.commits.over(where, head)
        for fact in seen:
            if fact.kind == "retraction" and fact.target in there:
                assert head is not None
                if not self.commits.carried(where, fact.target, fact.commit, head):
                    dead.add(fact.target)
            elif fact.kind == "retraction":
                dead.add(fact.target)
        if self.commits.has_folder(where, head):
            dead |= self.commits.ever(where, head) - there
        return dead

    def sees(self, clone: str, branch: str | None, head: str | None) -> set[int]:
        """The facts that count on a branch (None: on a detached HEAD) at a commit."""
        seen = self._seen(clone, branch, head)
        marks = {fact.mark for fact in seen if not fact.target}
        marks |= self.commits.items(self.clones[clone].path, head)
        return marks - self._dead(seen, clone, head)
