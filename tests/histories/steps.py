"""What people do: each step takes a place and a few words, so that a sequence of them can be written down and replayed.

A step that makes no sense as things stand does nothing: so steps can be left out of a sequence.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from cortex_git.cli.opening import open_memory

from .driver import GitFailed
from .world import Place, World, Wrong

Step = tuple[str, ...]
STEPS: dict[str, Callable[..., None]] = {}
_CONFLICT = ("CONFLICT", "could not apply", "after resolving the conflicts")
_KINDS = ("decision", "rejected", "learned", "preference")


def step(function: Callable[..., None]) -> Callable[..., None]:
    """Register a step under its name."""
    STEPS[function.__name__.strip("_").replace("_", "-")] = function
    return function


def play(world: World, taken: Step) -> None:
    """Do one step, leave nothing half done, and look whether everybody sees what they should."""
    name, at, *words = taken
    place = world.places.get(at)
    if place is None:
        return
    world.driver.tick()
    world.said = ""
    world.expected.clear()
    try:
        with world.driver.installed():
            STEPS[name](world, place, *words)
    except GitFailed as error:
        world.said = str(error)
    _settle(place)
    left = place.git("status", "--porcelain", check=False)
    if left and not world.said and name not in ("aborted", "stash"):
        raise Wrong(f"{at}: {' '.join(taken)} left {left!r}")
    if left:
        with world.driver.installed():
            open_memory(world.driver.env(place.path))
        if ".cortex" in place.git("status", "--porcelain", check=False):
            raise Wrong(f"{at}: {' '.join(taken)} left {left!r} after a command, too")
        place.git("reset", "-q", "--hard", check=False)
        place.git("clean", "-qfd", check=False)


def _settle(place: Place) -> None:
    """Give up whatever a step left half done."""
    for state, command in (
        ("rebase-merge", "rebase"), ("rebase-apply", "rebase"), ("MERGE_HEAD", "merge"),
        ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert"),
    ):  # fmt: skip
        if (place.git_dir / "BISECT_LOG").exists():
            place.git("bisect", "reset", check=False)
        if (place.git_dir / state).exists():
            place.git(command, "--abort", check=False)
    if (place.git_dir / "SQUASH_MSG").exists():
        (place.git_dir / "SQUASH_MSG").unlink()


# ---- noting and committing


@step
def _note(world: World, place: Place, kind: str) -> None:
    world.note(_name(world, place), kind)


@step
def _retract(world: World, place: Place, which: str) -> None:
    world.retract(_name(world, place), int(which))


@step
def _fold(world: World, place: Place) -> None:
    """Our own clearing up, of refs of branches that are gone."""
    world.run(place.clone, "gc")
    world.oracle.cleared(place.clone)


def _name(world: World, place: Place) -> str:
    return next(name for name, other in world.places.items() if other is place)


def _change(world: World, place: Place, what: str) -> None:
    """Change files for a commit: one of its own, or one that others change as well."""
    world.files += 1
    if what == "shared":
        (place.path / "shared").write_text(f"{world.files}\n")
        place.git("add", "shared")
    else:
        (place.path / f"f{world.files}").write_text(f"{world.files}\n")
        place.git("add", f"f{world.files}")


@step
def _commit(world: World, place: Place, what: str, *options: str) -> None:
    _change(world, place, what)
    place.git("commit", "-qm", f"Change {world.files}", *options)


@step
def _unhooked(world: World, place: Place, what: str) -> None:
    """A commit, an amend or a rebase of which no hook of ours is told, as when it is made by another git."""
    branch, old = place.branch(), place.head()
    if branch is None or old is None:
        return
    quiet = ("-c", "core.hooksPath=/dev/null")
    if what == "commit":
        _change(world, place, "own")
        place.git(*quiet, "commit", "-qm", f"Quiet {world.files}")
    elif what == "amend":
        world.files += 1
        place.git(*quiet, "commit", "-q", "--amend", "-m", f"Quiet {world.files}")
    else:
        place.git(*quiet, "rebase", "-q", "--force-rebase", "HEAD~1")
    new = place.head()
    if new is not None and new != old:
        world.oracle.unhooked(place.clone, branch, old, new, what)


@step
def _bisect(world: World, place: Place) -> None:
    """Look at older commits for a while; what is carried or written then would be nonsense."""
    before = world.own_refs(place.clone)
    place.git("bisect", "start", "HEAD", "HEAD~3")
    place.git("bisect", "good")
    if before != world.own_refs(place.clone):
        raise Wrong(f"{_name(world, place)}: a bisect wrote to the refs")
    place.git("bisect", "reset")


@step
def _aborted(world: World, place: Place) -> None:
    """A commit that is given up in the editor; its change stays staged for a moment."""
    _change(world, place, "own")
    place.git("commit", "-q", check=False, variables={"GIT_EDITOR": "false"})


@step
def _partial(world: World, place: Place) -> None:
    _change(world, place, "own")
    (place.path / "shared").write_text(f"p{world.files}\n")
    place.git("commit", "-qm", f"Only shared {world.files}", "-o", "shared")
    place.git("commit", "-qm", f"And the rest {world.files}")


@step
def _amend(world: World, place: Place, what: str) -> None:
    """Amend the last commit: its message, or so that an item of it or an older one is dropped."""
    if what == "drop" and not _drop_item(place):
        return
    world.files += 1
    place.git("commit", "-q", "--amend", "-m", f"Amended {world.files}")


@step
def _remove(world: World, place: Place, which: str) -> None:
    """Delete an item in a commit, as a reviewer does."""
    if _drop_item(place, int(which)):
        world.files += 1
        place.git("commit", "-qm", f"Not this one {world.files}")


def _drop_item(place: Place, which: int = 0) -> bool:
    names = place.git("ls-files", "--", ".cortex/decisions", ".cortex/learned").splitlines()
    if not names:
        return False
    place.git("rm", "-q", names[which % len(names)])
    return True


@step
def _stash(world: World, place: Place) -> None:
    _change(world, place, "shared")
    place.git("stash", "-q")
    world.check(_name(world, place))
    place.git("stash", "pop", "-q")


@step
def _reset(world: World, place: Place, how: str, target: str) -> None:
    place.git("reset", "-q", how, target)
    if how == "--soft":
        world.files += 1
        place.git("commit", "-qm", f"Folded {world.files}", "--allow-empty")


# ---- branches


def _made(world: World, place: Place, branch: str, origin: str | None) -> None:
    world.origins[place.clone, branch] = origin


@step
def _switch_new(world: World, place: Place, branch: str, start: str = "") -> None:
    if branch in place.branches():
        return
    origin = (place.branch() or place.head()) if not start else start if start in place.branches() else None
    _made(world, place, branch, origin)
    place.git("switch", "-q", "-c", branch, *([start] if start else []))


@step
def _branch(world: World, place: Place, branch: str) -> None:
    if branch in place.branches():
        return
    _made(world, place, branch, place.branch() or place.head())
    place.git("branch", branch)


@step
def _switch(world: World, place: Place, branch: str) -> None:
    if branch in place.branches():
        place.git("switch", "-q", branch)


@step
def _detach(world: World, place: Place, target: str) -> None:
    place.git("checkout", "-q", "--detach", target)


@step
def _orphan(world: World, place: Place, branch: str, folder: str) -> None:
    if branch in place.branches():
        return
    _made(world, place, branch, None)
    place.git("checkout", "-q", "--orphan", branch)
    if folder == "without":
        place.git("rm", "-qrf", ".")
    world.check(_name(world, place))
    _commit(world, place, "own")


@step
def _delete(world: World, place: Place, branch: str) -> None:
    if branch not in place.branches():
        return
    place.git("branch", "-q", "-D", branch)
    _forget(world, place, branch)


def _forget(world: World, place: Place, branch: str) -> None:
    state = world.oracle.clones[place.clone]
    state.lives.pop(branch, None)
    state.twins.pop(branch, None)
    world.origins.pop((place.clone, branch), None)


@step
def _rename(world: World, place: Place, old: str, new: str) -> None:
    if old not in place.branches() or new in place.branches():
        return
    place.git("branch", "-m", old, new)
    state = world.oracle.clones[place.clone]
    for table in (state.lives, state.twins):
        if old in table:
            table[new] = table.pop(old)
    if (place.clone, old) in world.origins:
        world.origins[place.clone, new] = world.origins.pop((place.clone, old))


@step
def _copy(world: World, place: Place, old: str, new: str) -> None:
    if old not in place.branches() or new in place.branches():
        return
    place.git("branch", "-c", old, new)
    state = world.oracle.clones[place.clone]
    if old in state.lives:
        state.twins[new] = (old, state.lives[old])
    elif old in state.twins:
        state.twins[new] = state.twins[old]
    _made(world, place, new, world.origins.get((place.clone, old)))


# ---- bringing branches together


def _resolve(place: Place, how: str, again: tuple[str, ...]) -> None:
    """Settle the conflicts of a merge, rebase or cherry-pick and go on, as often as need be."""
    for _ in range(9):
        files = place.git("diff", "--name-only", "--diff-filter=U").splitlines()
        for name in files:
            try:
                place.git("checkout", "-q", f"--{how}", "--", name)
                place.git("add", "--", name)
            except GitFailed:
                place.git("rm", "-q", "--", name, check=False)
        try:
            place.git(*again)
        except GitFailed as error:
            if not any(word in str(error) for word in _CONFLICT):
                raise
        else:
            return


def _through(
    world: World,
    place: Place,
    command: tuple[str, ...],
    how: str,
    again: tuple[str, ...],
    **options: dict[str, str],
) -> None:
    """Do something that may stop at conflicts, then look around, and go on or give up."""
    try:
        place.git(*command, **options)
    except GitFailed as error:
        if not any(word in str(error) for word in _CONFLICT):
            raise
        world.check(_name(world, place))
        if how == "abort":
            place.git(command[0] if command[0] != "pull" else again[0], "--abort", check=False)
        else:
            _resolve(place, how, again)


@step
def _merge(world: World, place: Place, branch: str, how: str, option: str = "") -> None:
    if branch in place.branches() and branch != place.branch():
        command = ("merge", "-q", *([option] if option else []), branch)
        _through(world, place, command, how, ("commit", "-q", "--no-edit"))


@step
def _squash(world: World, place: Place, branch: str) -> None:
    if branch not in place.branches() or branch == place.branch():
        return
    place.git("merge", "-q", "--squash", "-X", "theirs", branch)
    world.files += 1
    place.git("commit", "-qm", f"Squashed {world.files}")


@step
def _rebase(world: World, place: Place, target: str, how: str, *options: str) -> None:
    if place.branch() is None or target == place.branch():
        return
    _through(world, place, ("rebase", "-q", *options, target), how, ("rebase", "--continue"))


@step
def _interactive(world: World, place: Place, action: str, count: str) -> None:
    """Rebase the last commits with one of them folded into the one before it, or two of them swapped."""
    edit = {"swap": "1{h;d};2G", "drop": "1s/^pick/drop/"}.get(action, f"2s/^pick/{action}/")
    command = ("rebase", "-q", "-i", f"HEAD~{count}")
    editor = {"GIT_SEQUENCE_EDITOR": f"sed -i '{edit}'"}
    _through(world, place, command, "theirs", ("rebase", "--continue"), variables=editor)


@step
def _pick(world: World, place: Place, target: str, how: str) -> None:
    _through(world, place, ("cherry-pick", target), how, ("cherry-pick", "--continue"))


@step
def _revert(world: World, place: Place, target: str, how: str) -> None:
    """Revert a commit; of a merge, what it brought to the branch."""
    is_merge = " " in place.git("log", "-1", "--format=%P", target)
    main = ("-m", "1") if is_merge else ()
    _through(world, place, ("revert", "--no-edit", *main, target), how, ("revert", "--continue"))


# ---- between clones


@step
def _push(world: World, place: Place, branch: str) -> None:
    if branch in place.branches():
        place.git("push", "-q", "origin", f"{branch}:{branch}")


@step
def _pull(world: World, place: Place, how: str, resolve: str) -> None:
    branch = place.branch()
    if branch is None:
        return
    again = ("rebase", "--continue") if how == "--rebase" else ("commit", "-q", "--no-edit")
    if resolve == "abort" and how != "--rebase":
        again = ("merge",)
    _through(world, place, ("pull", "-q", how, "origin", branch), resolve, again)


@step
def _take(world: World, place: Place, branch: str) -> None:
    """Check out a branch of somebody else's from the hub."""
    place.git("fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
    if branch not in place.branches():
        _made(world, place, branch, None)
        place.git("switch", "-q", branch)


@step
def _sync(world: World, place: Place) -> None:
    world.sync(place.clone)


@step
def _host(world: World, place: Place, branch: str, how: str) -> None:
    """A merge button: the hub merges a branch into main, and no hook runs."""
    work = world.base / "host"
    hub = world.base / "hub"
    if not work.exists():
        world.driver.git(world.base, "clone", "-q", "--template=", "hub", "host")
    run = world.driver.git
    run(work, "fetch", "-q", "--prune", "origin")
    if f"refs/heads/{branch}" not in run(hub, "for-each-ref", "--format=%(refname)").splitlines():
        return
    run(work, "checkout", "-q", "-B", "main", "origin/main")
    world.files += 1
    try:
        if how == "merge":
            run(work, "merge", "-q", "--no-ff", "-m", f"Merge button {world.files}", f"origin/{branch}")
        elif how == "squash":
            run(work, "merge", "-q", "--squash", f"origin/{branch}")
            run(work, "commit", "-qm", f"Squash button {world.files}")
        else:
            run(work, "checkout", "-q", "--detach", f"origin/{branch}")
            run(work, "rebase", "-q", "--force-rebase", "origin/main")
            run(work, "checkout", "-q", "-B", "main")
        run(work, "push", "-q", "origin", "main")
    except GitFailed:
        run(work, "rebase", "--abort", check=False)
        run(work, "reset", "-q", "--hard", check=False)


@step
def _copied_clone(world: World, place: Place, name: str) -> None:
    """The folder of a clone is copied as it is."""
    path = world.base / name
    if path.exists() or (place.path / ".git/worktrees").exists() or place.path != world.places[place.clone].path:
        return
    shutil.copytree(place.path, path, symlinks=True)
    world.oracle.copied(place.clone, name, path)
    for (clone, branch), origin in list(world.origins.items()):
        if clone == place.clone:
            world.origins[name, branch] = origin
    world.add_place(name, name, path)
    world.settle_id(name)


@step
def _worktree(world: World, place: Place, branch: str) -> None:
    """A linked work tree with a new branch; further steps may happen there."""
    name = f"{place.clone}+"
    if name in world.places or branch in place.branches() or not place.path.joinpath(".git").is_dir():
        return
    path = Path(world.base, name)
    _made(world, place, branch, place.branch() or place.head())
    world.add_place(name, place.clone, path)
    try:
        place.git("worktree", "add", "-q", "-b", branch, str(path))
    except GitFailed:
        del world.places[name]
        raise


@step
def _collect(world: World, place: Place) -> None:
    """Throw away whatever nothing refers to."""
    place.git("reflog", "expire", "--expire=now", "--all")
    place.git("gc", "-q", "--prune=now")
    for clone, branch in world.origins:
        if clone == place.clone and branch not in world.oracle.clones[clone].lives:
            world.origins[clone, branch] = None  # which is what the reflog told


__all__ = ["STEPS", "Step", "Wrong", "play"]
