"""Chooses at random what somebody does next."""

from __future__ import annotations

import random

from .steps import Step
from .world import Place, World

_NEW = ("f1", "f2", "f3", "f4")
_WEIGHTS = {
    "note": 20, "commit": 24, "switch-new": 6, "switch": 12, "merge": 10, "squash": 5, "rebase": 8, "interactive": 6,
    "pick": 5, "revert": 6, "amend": 4, "remove": 5, "reset": 4, "aborted": 2, "partial": 2, "stash": 1, "branch": 2,
    "rename": 3, "copy": 3, "delete": 4, "orphan": 1, "detach": 2, "worktree": 1, "copied-clone": 1, "push": 8,
    "pull": 6, "take": 5, "host": 6, "sync": 6, "collect": 1, "fold": 2, "retract": 5, "unhooked": 5,
    "bisect": 1,
}  # fmt: skip


def choose(world: World, random: random.Random) -> Step:
    """The next step, which mostly makes sense as things stand."""
    names = sorted(world.places)
    for _ in range(50):
        at = random.choice([*names, "a", "a", "a", "a"])
        what = random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        words = _words(what, world, world.places[at], random)
        if words is not None:
            return (what, at, *words)
    return ("commit", "a", "own")


def _words(what: str, world: World, place: Place, random: random.Random) -> list[str] | None:
    """What the step needs to be told; None if it makes no sense now."""
    here = place.branch()
    if what in ("take", "host"):
        there = world.hub_branches()
        more = [random.choice(["merge", "squash", "rebase"])] if what == "host" else []
        return [random.choice(there), *more] if there else None
    branches = sorted(place.branches())
    others = [name for name in branches if name != here]
    free = [name for name in _NEW if name not in branches]
    if what in ("note", "commit", "amend", "remove", "reset", "interactive", "aborted", "partial", "stash", "worktree",
                "orphan", "switch-new", "branch", "retract", "fold", "unhooked", "bisect"):  # fmt: skip
        return _alone(what, here, others, free, random)
    if what in ("detach", "push", "pull", "sync", "collect", "copied-clone", "revert"):
        return _around(what, here, branches, random)
    if not others:
        return None
    other = random.choice(others)
    how = random.choice(["ours", "theirs", "abort"])
    table: dict[str, list[str]] = {
        "switch": [other],
        "merge": [other, how, random.choice(["", "--no-ff", "--no-ff", "--ff-only", "--strategy=ours"])],
        "squash": [other],
        "rebase": [other, how, *random.choice([[], [], ["--onto", random.choice(branches)], ["--force-rebase"]])],
        "pick": [random.choice([other, f"{other}~1"]), how],
        "delete": [other],
        "rename": [random.choice(branches), random.choice(free or ["f9"])],
        "copy": [random.choice(branches), random.choice(free or ["f9"])],
    }
    if what == "rebase" and here == "main" and random.random() < 0.7:
        return None
    if what in ("delete", "rename") and table[what][0] == "main":
        return None
    return table[what]


def _alone(what: str, here: str | None, others: list[str], free: list[str], random: random.Random) -> list[str] | None:
    if what in ("worktree", "orphan", "switch-new", "branch"):
        if not free:
            return None
        name = random.choice(free)
        start = random.choice([*others, "HEAD~1"]) if random.random() < 0.25 else ""
        more = {"orphan": [random.choice(["with", "without"])], "switch-new": [start] if start else []}
        return [name, *more.get(what, [])]
    if what in ("reset", "interactive") and here in (None, "main"):
        return None
    table: dict[str, list[str]] = {
        "note": [random.choice(["decision", "decision", "decision", "rejected", "learned", "preference"])],
        "commit": [random.choice(["own", "own", "shared"]), *random.choice([[], [], [], [], ["--no-verify"]])],
        "amend": [random.choice(["message", "drop"])],
        "remove": [str(random.randrange(9))],
        "unhooked": [random.choice(["commit", "commit", "amend", "rebase"])],
        "retract": [str(random.randrange(9))],
        "reset": [random.choice(["--hard", "--hard", "--soft"]), random.choice(["HEAD~1", "HEAD~2", "main"])],
        "interactive": [random.choice(["squash", "fixup", "swap", "drop"]), str(random.choice([2, 2, 3]))],
    }
    return table.get(what, [])


def _around(what: str, here: str | None, branches: list[str], random: random.Random) -> list[str] | None:
    how = random.choice(["ours", "theirs", "abort"])
    table: dict[str, list[str]] = {
        "detach": [random.choice([*branches, "HEAD", "HEAD~1"])],
        "push": [random.choice(branches)],
        "pull": [random.choice(["--no-rebase", "--rebase"]), how],
        "copied-clone": [random.choice("de")],
        "revert": [random.choice(["HEAD", "HEAD", "HEAD~1"]), how],
    }
    return table.get(what, [])
