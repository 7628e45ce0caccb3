"""Real clones, driven by git with the real hooks and the real program, and the oracle that is told what happens."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from cortex_git import snapshot
from cortex_git.cli.opening import open_memory
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.main import main
from cortex_git.memory import Memory
from cortex_git.setup.clone import settle
from cortex_git.views.standing import fold

from .driver import Driver, HookCall
from .facts import marks_in, read_all
from .oracle import CloneState, Fact, Oracle

_TYPES = {
    "decision": model.DECISION,
    "rejected": model.REJECTED,
    "learned": model.KNOWLEDGE,
    "preference": model.PREFERENCE,
}
_TEXTS = {
    "decision": "Use m{}z for it",
    "rejected": "Drop m{}z instead",
    "learned": "Know m{}z as a fact",
    "preference": "Prefer m{}z always",
}
CLONES = ("a", "b", "c")


class Wrong(Exception):
    """Something is not as the oracle says."""


class Place:
    """A work tree of a clone."""

    def __init__(self, driver: Driver, clone: str, path: Path) -> None:
        self.driver = driver
        self.clone = clone
        self.path = path

    def git(self, *args: str, check: bool = True, variables: dict[str, str] | None = None) -> str:
        """Run git here."""
        return self.driver.git(self.path, *args, check=check, variables=variables)

    @property
    def git_dir(self) -> Path:
        """The git directory of this work tree."""
        pointer = self.path / ".git"
        return pointer if pointer.is_dir() else Path(pointer.read_text().removeprefix("gitdir: ").strip())

    @property
    def common_dir(self) -> Path:
        """The git directory that all work trees of the clone share."""
        pointer = self.git_dir / "commondir"
        return (self.git_dir / pointer.read_text().strip()).resolve() if pointer.exists() else self.git_dir

    def branch(self) -> str | None:
        """The branch checked out, or the one that is being rebased."""
        line = (self.git_dir / "HEAD").read_text().strip()
        if line.startswith("ref: refs/heads/"):
            return line.removeprefix("ref: refs/heads/")
        for name in ("rebase-merge/head-name", "rebase-apply/head-name"):
            path = self.git_dir / name
            if path.exists() and path.read_text().startswith("refs/heads/"):
                return path.read_text().strip().removeprefix("refs/heads/")
        return None

    def replaying(self) -> bool:
        """Whether a rebase is under way."""
        return any((self.git_dir / name).is_dir() for name in ("rebase-merge", "rebase-apply"))

    def head(self) -> str | None:
        """The commit of HEAD."""
        line = (self.git_dir / "HEAD").read_text().strip()
        if not line.startswith("ref: "):
            return line
        return self.refs().get(line.removeprefix("ref: "))

    def refs(self) -> dict[str, str]:
        """Local branches by full name, with their commits, from git's files."""
        return branches_of(self.common_dir)

    def branches(self) -> dict[str, str]:
        """Local branches with their commits."""
        return {name.removeprefix("refs/heads/"): commit for name, commit in sorted(self.refs().items())}

    def came_from(self) -> str | None:
        """Where HEAD's newest move started, by git's reflog."""
        lines = (self.git_dir / "logs/HEAD").read_text().splitlines()
        old = lines[-1].split(" ")[0]
        return old if old.strip("0") else None

    def last_move(self) -> str:
        """What git says of HEAD's newest move."""
        return (self.git_dir / "logs/HEAD").read_text().splitlines()[-1].partition("\t")[2]


class World:
    """Three clones of one hub, and what becomes of them."""

    def __init__(self, driver: Driver, base: Path, template: Path) -> None:
        self.driver = driver
        self.base = base
        self.oracle = Oracle()
        self.places: dict[str, Place] = {}
        self.marks = 0
        self.ids: dict[int, str] = {}
        self.origins: dict[tuple[str, str], str | None] = {}
        """By clone and branch: the branch that it was made from."""
        self.expected: dict[Path, set[int]] = {}
        """By work tree: the facts whose items the commit that is being made has to hold."""
        self.files = 0
        self.said = ""
        self.faults: list[str] = []
        shutil.copytree(template, base)
        for name in CLONES:
            self.add_place(name, name, base / name)
            self.oracle.clones[name] = CloneState(base / name)
            self.settle_id(name)
        self.oracle.clones["a"].lives["main"] = ("main", 0)  # settled by the commit that began the memory
        driver.watch = self._watch

    def add_place(self, name: str, clone: str, path: Path) -> None:
        """Take note of a work tree."""
        self.places[name] = Place(self.driver, clone, path)

    def settle_id(self, name: str) -> None:
        """Have a copied clone notice that it is one, as any command and any hook does."""
        settle(self.memory(name).repo)

    def run(self, name: str, *args: str) -> str:
        """Run the program in a place and return what it says."""
        env = self.driver.env(self.places[name].path)
        status = main(list(args), env)
        said = "".join(stream.buffer.getvalue().decode() for stream in (env.stdout, env.stderr))
        if status:
            raise Wrong(f"git cortex {' '.join(args)}: exit status {status}: {said}")
        return said

    def memory(self, name: str, backend: str = "git") -> Memory:
        """The memory as a command opens it."""
        return Memory.open(self.driver.env(self.places[name].path), backend)

    def hub_branches(self) -> list[str]:
        """The branches at the hub, but for main."""
        names = (name.removeprefix("refs/heads/") for name in branches_of(self.base / "hub"))
        return sorted(name for name in names if name != "main")

    # ---- hooks

    def _watch(self, call: HookCall) -> Callable[[], None] | None:
        where, (event, *arguments), stdin, variables = call
        place = self._place_at(where, variables)
        if place is None:
            self.faults.append(f"a hook ran in {where}")
            return None
        handler = getattr(self, "_" + event.replace("-", "_"), None)
        return handler(place, arguments, stdin, variables) if handler else None

    def _place_at(self, where: Path, variables: dict[str, str]) -> Place | None:
        for place in self.places.values():
            if where == place.path.resolve() or place.path.resolve() in where.parents:
                return place
        return None

    def _post_checkout(self, place: Place, arguments: list[str], stdin: bytes, variables: dict[str, str]) -> None:
        branch = place.branch()
        if arguments[2] == "0" or branch is None or place.replaying():
            return
        origin = self.origins.get((place.clone, branch))
        self.oracle.first_checkout(place.clone, branch, place.head(), origin)

    def _pre_commit(self, place: Place, arguments: list[str], stdin: bytes, variables: dict[str, str]) -> None:
        self.expected.pop(place.path, None)
        if os.path.basename(variables.get("GIT_INDEX_FILE", "")).startswith("next-index-"):
            return
        if (place.path / ".cortex/README.md").is_file():
            self.expected[place.path] = self.oracle.to_bring(place.clone, place.branch(), place.head())

    def _post_commit(self, place: Place, arguments: list[str], stdin: bytes, variables: dict[str, str]) -> None:
        head = place.head()
        wanted = self.expected.pop(place.path, set())
        if place.replaying() or head is None:
            return
        missing = wanted - self.oracle.commits.items(place.path, head)
        if missing:
            self.faults.append(f"{head[:7]} does not bring {sorted(missing)}")
        self.oracle.committed(place.clone, place.branch(), place.came_from(), head)

    def _post_merge(self, place: Place, arguments: list[str], stdin: bytes, variables: dict[str, str]) -> None:
        head = place.head()
        if arguments[:1] == ["0"] and head is not None and "Merge made by" in place.last_move():
            self.oracle.committed(place.clone, place.branch(), place.came_from(), head)

    def _post_rewrite(self, place: Place, arguments: list[str], stdin: bytes, variables: dict[str, str]) -> None:
        pairs = [(line.split(" ")[0], line.split(" ")[1]) for line in stdin.decode().splitlines()]
        self.oracle.rewritten(place.clone, place.branch(), arguments[0], pairs)

    # ---- what the program is asked

    def note(self, name: str, kind: str) -> int:
        """Have the program record something, as a command does."""
        place = self.places[name]
        self.marks += 1
        with self.driver.installed():
            memory = open_memory(self.driver.env(place.path))
        event = Event(_TYPES[kind], _TEXTS[kind].format(self.marks), time=memory.env.now(), agent="user", layer="user")
        memory.record([event])
        self.ids[self.marks] = event.id
        fact = Fact(self.marks, kind, place.branch() or "", place.head())
        self.oracle.note(place.clone, place.branch(), place.head(), fact)
        return self.marks

    def retract(self, name: str, which: int) -> None:
        """Have somebody take back one of the facts that are seen in a place."""
        place = self.places[name]
        seen = sorted(self.oracle.sees(place.clone, place.branch(), place.head()))
        if seen:
            mark = seen[which % len(seen)]
            self.run(name, "retract", self.ids[mark])
            fact = Fact(0, "retraction", place.branch() or "", place.head(), target=mark)
            self.oracle.note(place.clone, place.branch(), place.head(), fact)

    def check(self, name: str, *, whole: bool = False) -> None:
        """Compare what is seen in a place, with `whole` on every branch of its clone, with what ought to be."""
        if self.faults:
            raise Wrong("; ".join(self.faults))
        place = self.places[name]
        log = place.common_dir / "cortex/log"
        if log.exists():
            raise Wrong(f"{name}: the log says {log.read_text()}")
        with self.driver.installed():
            open_memory(self.driver.env(place.path))  # as each command does
        memory = self.memory(name, "pygit2")  # the hooks use git, and both must see the same
        branch, head = place.branch(), place.head()
        ought = self.oracle.sees(place.clone, branch, head)
        self._compare(f"{name} on {branch}", ought, self._visible(memory, None))
        self._compare(f"{name} on {branch}, the snapshot", ought, _standing_marks(memory))
        if not whole:
            return
        for other, commit in place.branches().items():
            if other != branch:
                ought = self.oracle.sees(place.clone, other, commit)
                self._compare(f"{name} looking at {other}", ought, self._visible(memory, other))
            ought = self.oracle.sees(place.clone, None, commit)
            self._compare(f"{name} looking at the commit of {other}", ought, self._visible(memory, commit))

    def _visible(self, memory: Memory, rev: str | None) -> set[int]:
        events = memory.visible(rev)
        standing = fold(events)
        return {
            mark
            for event in events
            if event.type in _TYPES.values() and not standing.dead(event.id)
            for mark in marks_in(event.content)
        }

    def _compare(self, where: str, ought: Iterable[int], found: Iterable[int]) -> None:
        more, less = sorted(set(found) - set(ought)), sorted(set(ought) - set(found))
        if more or less:
            raise Wrong(f"{where}: leaked or not taken back {more}, lost {less}")

    # ---- between clones

    def own_refs(self, name: str) -> dict[str, str]:
        """The notes refs that a clone writes, with their tips."""
        place = self.places[name]
        clone = place.git("config", "cortex.clone")
        lines = place.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/notes").splitlines()
        return {line.split(" ")[0]: line.split(" ")[1] for line in lines if line.split(" ")[0].endswith("/" + clone)}

    def stored(self, name: str) -> set[int]:
        """The facts that are in a clone's own refs."""
        place = self.places[name]
        tips = self.own_refs(name).values()
        if not tips:
            return set()
        objects = place.git("rev-list", "--objects", *tips, "--")
        blobs = [line.split(" ")[0] for line in objects.splitlines() if " " in line and len(line.split(" ")[1]) > 3]
        return marks_in(read_all(place.path, blobs))

    def sync(self, name: str, *, fetch: bool = False) -> None:
        """Send what a clone has noted to the hub, unless it is only to `fetch`, and fetch what the others have."""
        place = self.places[name]
        # Only for this moment, since each merge and each push would share in the background otherwise.
        place.git("config", "remote.origin.cortexShare", "true")
        self.run(name, "sync", *(["--fetch"] if fetch else []))
        place.git("config", "--unset", "remote.origin.cortexShare")
        if not fetch:
            self.oracle.pushed(place.clone)
        self.oracle.fetched(place.clone)

    def finish(self) -> None:
        """At the end: all agree on what each commit sees, nothing is lost, and every repository is sound."""
        firsts = [name for name, place in self.places.items() if name == place.clone]
        for name in firsts:
            self.sync(name)
        for name in firsts[:-1]:
            self.sync(name, fetch=True)
        for name in self.places:
            self.check(name, whole=name in firsts)
        for name in firsts:
            self._sound(name)

    def _sound(self, name: str) -> None:
        place = self.places[name]
        said = place.git("fsck", "--no-dangling", check=False)
        if said.strip():
            raise Wrong(f"{name}: fsck says {said}")
        noted = {
            fact.mark
            for (_, owner), journal in self.oracle.journals.items()
            if owner == place.clone
            for fact in journal.facts(len(journal.entries))
            if fact.mark
        }
        lost = noted - self.stored(name) if noted else set()
        if lost:
            raise Wrong(f"{name}: {sorted(lost)} are in no ref")


def _standing_marks(memory: Memory) -> set[int]:
    standing = snapshot.standing(memory)
    lists = (standing.decisions, standing.rejected, standing.learned, standing.preferences)
    return {mark for events in lists for event in events for mark in marks_in(event.content)}


def branches_of(repository: Path) -> dict[str, str]:
    """A repository's branches by full name, with their commits, from git's files."""
    found: dict[str, str] = {}
    packed = repository / "packed-refs"
    for line in packed.read_text().splitlines() if packed.exists() else []:
        if line[:1] not in "#^" and " refs/heads/" in line:
            found[line[41:]] = line[:40]
    root = repository / "refs/heads"
    for path in root.rglob("*"):
        if path.is_file():
            found[f"refs/heads/{path.relative_to(root)}"] = path.read_text().strip()
    return found


def make_template(driver: Driver, path: Path) -> None:
    """A hub and three clones with a memory, as each history begins."""
    path.mkdir()
    driver.git(path, "init", "-q", "--bare", "--template=", "hub")
    driver.git(path, "clone", "-q", "--template=", "hub", "a")
    with driver.installed():
        first = path / "a"
        (first / "shared").write_text("0\n")
        driver.git(first, "add", "-A")
        driver.git(first, "commit", "-qm", "Begin")
        driver.git(first, "remote", "set-url", "origin", "../hub")
        _init(driver, first)
        driver.git(first, "add", "-A")
        driver.git(first, "commit", "-qm", "Start a memory")
        driver.git(first, "push", "-q", "-u", "origin", "main")
        for name in CLONES[1:]:
            driver.git(path, "clone", "-q", "--template=", "hub", name)
            driver.git(path / name, "remote", "set-url", "origin", "../hub")
            _init(driver, path / name)
    for name in ("hub", *CLONES):  # fewer files to copy for each history
        driver.git(path / name, "-c", "gc.reflogExpire=never", "gc", "-q", "--prune=now")


def _init(driver: Driver, path: Path) -> None:
    env = driver.env(path)
    if main(["init"], env):
        raise Wrong(f"init failed: {env.stderr.buffer.getvalue().decode()}")
