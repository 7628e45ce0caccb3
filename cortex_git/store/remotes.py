"""The remotes of this clone: which of them memory is shared with, and how the last exchange with each went.

Sharing is a setting of the clone alone, `remote.<name>.cortexShare`: git moves it when the remote is renamed and
drops it when the remote is removed. No refspec is ever configured: a fetch that writes refs/notes destroys what was
not sent yet, and a push refspec keeps plain `git push` from pushing the code.
"""

from __future__ import annotations

import os
import re

from cortex_git.digest import sha256_hex
from cortex_git.errors import CortexError
from cortex_git.store import keys
from cortex_git.store.backend import check_ref
from cortex_git.store.locking import keep_json, read_json
from cortex_git.store.refs import PURGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cortex_git.store.repo import Repo

PUSH, FETCH = "push", "fetch"
FETCH_EVERY = 300.0
"""Seconds between two fetches in the background."""

_TRUE = ("true", "yes", "on", "1")
_REST = (600.0, 3600.0, 6 * 3600.0, 24 * 3600.0)
_SECRET = re.compile(r"(?<=://)[^/@\s]*@")


def known(repo: Repo) -> list[str]:
    """The names of all remotes, in the order of the settings."""
    ends = (".url", ".pushurl")
    names = (name.removeprefix("remote.") for name in repo.git_config_but_branches() if name.startswith("remote."))
    return list(dict.fromkeys(name.rpartition(".")[0] for name in names if name.endswith(ends)))


def shared(repo: Repo) -> list[str]:
    """The remotes that memory is shared with."""
    return [name for name in known(repo) if is_shared(repo, name)]


def is_shared(repo: Repo, name: str) -> bool:
    """Whether memory is shared with a remote of this name."""
    return repo.git_config().get(f"remote.{name}.cortexshare", "").lower() in _TRUE


def set_shared(repo: Repo, name: str, on: bool) -> None:
    """Share with a remote, or no more. Raises GitError."""
    repo.set_git_config(f"remote.{name}.cortexShare", "true" if on else None)


def preferred(repo: Repo) -> str:
    """The remote that is meant where none is named: the branch's own, else origin, else the only one; else empty."""
    names = known(repo)
    config = repo.git_config()
    branch = repo.branch()
    own = config.get(f"branch.{branch}.remote", "") if branch else ""
    for name in (own, "origin"):
        if name in names:
            return name
    return names[0] if len(names) == 1 else ""


def chosen(repo: Repo, name: str | None) -> str:
    """The remote of that name, or the preferred one. Raises CortexError if there is none."""
    names = known(repo)
    found = name or preferred(repo)
    if found in names:
        return found
    if name:
        there = f"there are {', '.join(names)}" if names else "there is none; `git remote add` adds one"
        raise CortexError(f"there is no remote {name}; {there}")
    if names:
        raise CortexError(f"there are several remotes; name one of {', '.join(names)}")
    raise CortexError("this repository has no remote; `git remote add` adds one")


def places(repo: Repo, name: str) -> list[str]:
    """Where a push to this remote goes, without passwords."""
    status, out, _ = repo.git_status("remote", "get-url", "--push", "--all", name)
    return [_SECRET.sub("", url) for url in os.fsdecode(out).split("\n") if url] if not status else []


def tracking(remote: str, ref: str) -> str:
    """Where a shared ref of ours is kept as that remote has it; tombstones, too."""
    if ref.startswith(PURGED + "/"):
        return f"{keys.REMOTES}/{remote}/purged{ref.removeprefix(PURGED)}"
    return f"{keys.REMOTES}/{remote}{ref.removeprefix(keys.SHARED)}"


def unknown(repo: Repo) -> str:
    """What to say to who has no memory here yet: where there may be some. Empty without a remote."""
    name = preferred(repo)
    if not name:
        return ""
    return f", then `git cortex sync`: {name} may hold the team's memory, which was never fetched"


# ---- how it went


def last(repo: Repo, remote: str, what: str) -> dict[str, Any]:
    """What is known of the last push or fetch: `at`, and after failures `said`, `failures`, `until`; may be empty."""
    entry = read_json(_path(repo)).get(f"{what} {remote}")
    return entry if isinstance(entry, dict) else {}


def note(repo: Repo, remote: str, what: str, now: float, problem: str = "") -> None:
    """Keep how a push or fetch went: after a failure hooks leave the remote alone, each time for longer."""
    kept = read_json(_path(repo))
    entry: dict[str, Any] = {"at": now}
    if what == FETCH:
        earlier = last(repo, remote, what).get("place", "")
        entry["place"] = earlier if problem and earlier else _place(repo, remote)
    if problem:
        failures = int(last(repo, remote, what).get("failures", 0)) + 1
        rest = _REST[min(failures, len(_REST)) - 1]
        done = last(repo, remote, what).get("done", 0)
        entry.update(failures=failures, until=now + rest, said=problem, done=done)
    else:
        entry["done"] = now
    kept[f"{what} {remote}"] = entry
    keep_json(_path(repo), kept)


def is_same_place(repo: Repo, remote: str) -> bool:
    """Whether a remote lies where it did when it was last fetched from; what is kept of another says nothing of it."""
    place = _place(repo, remote)
    return str(last(repo, remote, FETCH).get("place", place)) == place


def _place(repo: Repo, remote: str) -> str:
    """What tells two places apart, without the address, which may hold a password."""
    return sha256_hex(repo.git_config().get(f"remote.{remote}.url", "").encode("utf-8", "surrogateescape"))[:16]


def check_name(name: str) -> None:
    """Raises CortexError if a remote has a name that cannot be part of a ref's, under which its memory would lie."""
    try:
        check_ref(f"{keys.REMOTES}/{name}/x")
    except CortexError:
        raise CortexError(
            f"the name of the remote {name!r} cannot be part of a ref; `git remote rename` gives it another"
        ) from None


def claim(repo: Repo, remote: str, now: float) -> None:
    """Keep that a fetch is about to be tried, so that nobody else tries it beside."""
    kept = read_json(_path(repo))
    kept[f"{FETCH} {remote}"] = {**last(repo, remote, FETCH), "at": now}
    keep_json(_path(repo), kept)


def resting(repo: Repo, remote: str, what: str, now: float) -> bool:
    """Whether a hook leaves a remote alone now, since it has failed shortly before."""
    until = float(last(repo, remote, what).get("until", 0))
    return now < until <= now + _REST[-1]


def due(repo: Repo, remote: str, now: float) -> bool:
    """Whether a fetch in the background may be tried."""
    at = float(last(repo, remote, FETCH).get("at", 0))
    return not resting(repo, remote, FETCH, now) and not now - FETCH_EVERY < at <= now


def never_fetched(repo: Repo, remote: str) -> bool:
    """Whether nothing was ever fetched from a remote, as far as can be told without asking it."""
    if last(repo, remote, FETCH).get("done"):
        return False
    return not os.path.isdir(os.path.join(repo.common_dir, keys.REMOTES, remote)) and not repo.git(
        "for-each-ref", "--count=1", f"{keys.REMOTES}/{remote}/"
    )


def state(repo: Repo) -> list[dict[str, Any]]:
    """How things stand with each remote that matters here: those shared with, else the preferred one."""
    names = shared(repo)
    return [
        {
            "remote": name,
            "shared": name in names,
            "never_fetched": never_fetched(repo, name),
            "problems": [
                f"the last {what} failed: {entry['said']}"
                for what in (PUSH, FETCH)
                if (entry := last(repo, name, what)).get("said")
            ],
        }
        for name in names or filter(None, [preferred(repo)])
    ]


def forget(repo: Repo, remote: str) -> None:
    """Drop what is kept about a remote."""
    kept = read_json(_path(repo))
    keep_json(_path(repo), {name: entry for name, entry in kept.items() if name.partition(" ")[2] != remote})


def _path(repo: Repo) -> str:
    return os.path.join(repo.home, "sharing.json")
