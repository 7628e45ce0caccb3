"""Folding: the refs of branches that are gone become parents of one archive commit, and so one ref.

An archive ref is a line of commits with an empty tree. Each names in `Cortex-Folded` trailers the
keys whose last notes commits are among its parents; readers take them for refs (see `refs.py`), so
nothing that a branch sees depends on whether a ref is folded.
"""

from __future__ import annotations

import contextlib
import os
import re

from cortex_git.errors import CortexError
from cortex_git.store import align, keys, refs
from cortex_git.store.backend import RefMoved
from cortex_git.store.gitcli import without_hooks
from cortex_git.store.importer import Importer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

    Sight = dict[str, dict[str, frozenset[str]]]
    """For each commit the refs that are seen from it, each with its segments."""

_BATCH = 200
"""How many refs one archive commit takes up."""
_LIVES = 64
_KEPT = re.compile(r".*-([0-9a-f]{12})(?:\.[a-z]+)?\.json")


def foldable(repo: Repo, backend: Backend) -> dict[str, str]:
    """This clone's refs of branches that are gone, with their tips."""
    kept = keys.living(repo) | _unsettled(repo)
    found = backend.refs(keys.SHARED, keys.LOCAL)
    return {
        name: tip
        for name, tip in found.items()
        if keys.is_ours(repo, name) and (key := keys.key_in(name)) and key not in kept and not keys.is_detached(key)
    }


def _unsettled(repo: Repo) -> set[str]:
    """Keys that a branch may take up which has none yet, such as one that was restored after it was deleted."""
    names = os.fsdecode(repo.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")).split("\n")
    unborn = repo.branch()
    config = repo.git_config()
    without = {name for name in [*names, unborn] if name and f"branch.{name}.cortexkey" not in config}
    return {keys.key_of_name(name, life) for name in without for life in range(_LIVES)}


def branches(repo: Repo, tips: Iterable[str]) -> list[str]:
    """The names of the branches that notes commits were written for, in order."""
    request = "".join(f"{tip}\n" for tip in tips)
    log = ("-c", "log.showSignature=false", "log", "--stdin", "--no-walk")
    out = repo.git(*log, "--format=%(trailers:key=Cortex-Branch,valueonly,separator=%x20)", input=request.encode())
    return sorted({line for line in out.decode("utf-8", "replace").split("\n") if line})


def sight(repo: Repo, backend: Backend, tips: Mapping[str, str]) -> Sight:
    """What is seen of some refs, which are of no living branch, from each branch and work tree."""
    seen = {head: align.visible(repo, backend, tips, "", head).tips for head in _heads(repo)}
    segments = backend.segments({tip for found in seen.values() for tip in found.values()})
    return {
        head: {name: frozenset(segments[tip]) for name, tip in found.items()} for head, found in sorted(seen.items())
    }


def _heads(repo: Repo) -> set[str]:
    found = set(repo.git("for-each-ref", "--format=%(objectname)", "refs/heads").decode("ascii").split())
    lines = os.fsdecode(repo.git("worktree", "list", "--porcelain")).split("\n")
    found.update(line[5:] for line in lines if line.startswith("HEAD ") and line[5:].strip("0"))
    return found


def fold(repo: Repo, backend: Backend, tips: Mapping[str, str], before: Sight, now: float) -> dict[str, str]:
    """Fold refs at these tips and return those that were; one that was written to meanwhile stays.

    `before` is what was seen of them. Raises CortexError, with every ref in its place, if something
    else would be seen afterwards.
    """
    moved: dict[str, tuple[str | None, str]] = {}
    groups: dict[str, dict[str, str]] = {}
    for name, tip in tips.items():
        groups.setdefault(refs.archive_of(name), {})[name] = tip
    there = backend.refs(*groups)
    known = refs.expanded(repo, there)
    with Importer(repo) as importer:
        for archive, group in groups.items():
            new = {name: tip for name, tip in group.items() if known.get(name) != tip}
            if new:
                moved[archive] = (there.get(archive), _archived(repo, importer, there.get(archive), new, now))
    for archive, (old, new_tip) in moved.items():
        backend.update(archive, new_tip, old)
    read_back = refs.expanded(repo, backend.refs(*groups))
    after = sight(repo, backend, {name: read_back[name] for name in tips if name in read_back})
    if after != before:
        for archive, (old, new_tip) in moved.items():
            backend.update(archive, old, new_tip)
        raise CortexError("folding would change what a branch sees, so nothing was folded; please report this")
    return _remove(repo, backend, tips)


def _archived(repo: Repo, importer: Importer, tip: str | None, group: Mapping[str, str], now: float) -> str:
    """Put archive commits that take up these refs on an archive; returns its new tip."""
    who = f"{repo.identity()} {int(now)} +0000\n".encode("utf-8", "replace")
    head = b"author " + who + b"committer " + who
    # The first one has no parent, so that the first parent of any other is an archive commit.
    at = tip or importer.commit(head, b"cortex: an archive of branches that are gone\n", [])
    names = sorted(group)
    for start in range(0, len(names), _BATCH):
        part = names[start : start + _BATCH]
        lines = [f"Cortex-Folded: {keys.key_in(name)} {group[name]}" for name in part]
        text = "\n".join([f"cortex: {len(part)} refs of branches that are gone", "", *lines]) + "\n"
        at = importer.commit(head, text.encode(), [at, *dict.fromkeys(group[name] for name in part)])
    return at


def _remove(repo: Repo, backend: Backend, tips: Mapping[str, str]) -> dict[str, str]:
    request = "".join(f"delete {name} {tip}\n" for name, tip in tips.items())
    if not repo.git_status(*without_hooks(repo), "update-ref", "--stdin", "--no-deref", input=request.encode())[0]:
        return dict(tips)
    done: dict[str, str] = {}
    for name, tip in tips.items():
        with contextlib.suppress(RefMoved):
            backend.update(name, None, tip)
            done[name] = tip
    return done


def stale_views(repo: Repo) -> list[str]:
    """What is kept under our folder for branches that are gone."""
    kept = keys.living(repo)
    found: list[str] = []
    for folder in ("view", "cache"):
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(os.path.join(repo.home, folder))):
                named = _KEPT.fullmatch(name)
                if named and named[1] not in kept and not keys.is_detached(named[1]):
                    found.append(os.path.join(repo.home, folder, name))
    return found
