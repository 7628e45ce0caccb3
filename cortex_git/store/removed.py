"""Item files that commits took out: which of them a commit's history has taken out and it has not.

A file that some commit added and a later one has not was taken out somewhere in between. So it is
enough to know the few commits that took something out; each commit is looked at once for that,
whatever branch it was reached from.
"""

from __future__ import annotations

import os

from cortex_git.store.gitcli import GitBackend
from cortex_git.store.locking import keep_json, read_json
from cortex_git.store.process import AS_STORED
from cortex_git.store.reach import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cortex_git.store.repo import Repo

_LOG = (
    "-c", "log.showSignature=false", "log", "--ignore-missing", "--stdin", "--full-history", "-m", "--no-renames",
    "--diff-filter=D", "--raw", "--no-abbrev", "-z", "--format=%x00%H",
)  # fmt: skip
_LATEST = 32


def removed(repo: Repo, commit: str, folders: Sequence[str]) -> set[str]:
    """The files in these folders that commits which `commit` can reach took out, and that it has not."""
    path = os.path.join(repo.home, "cache", "removed.json")
    about = [*folders, cut(repo)]
    kept: dict[str, Any] = read_json(path)
    if kept.get("about") != about:
        kept = {"about": about, "seen": [], "latest": [], "taken": {}, "at": {}}
    if commit not in kept["at"]:
        if commit not in kept["seen"] and commit not in kept["latest"]:
            _scan(repo, commit, kept, folders)
        kept["at"][commit] = sorted(_missing(repo, commit, kept["taken"], folders))
        kept["at"] = {at: kept["at"][at] for at in list(kept["at"])[-_LATEST:]}
        keep_json(path, kept)
    return set(kept["at"][commit])


def _scan(repo: Repo, commit: str, kept: dict[str, Any], folders: Sequence[str]) -> None:
    """Look at what `commit` and the branches can reach and nobody has looked at yet."""
    tips = sorted(set(repo.git("for-each-ref", "--format=%(objectname)", "refs/heads").decode("ascii").split()))
    known = {*kept["seen"], *kept["latest"]}
    request = [*(tip for tip in (*tips, commit) if tip not in known), *(f"^{tip}" for tip in sorted(known))]
    out = repo.git(*_LOG, "--", *folders, input=_lines(request), variables=AS_STORED)
    at = meta = ""
    for field in os.fsdecode(out).split("\0"):
        text = field.strip("\n")
        if text.startswith(":"):
            meta = text
        elif meta:
            commits = kept["taken"].setdefault(text, [])
            if at not in commits:
                commits.append(at)
            meta = ""
        elif text:
            at = text
    kept["seen"] = tips
    kept["latest"] = [*kept["latest"], commit][-_LATEST:]


def _missing(repo: Repo, commit: str, taken: dict[str, list[str]], folders: Sequence[str]) -> set[str]:
    if not taken:
        return set()
    out = repo.git("ls-tree", "-r", "-z", "--full-tree", "--name-only", commit, "--", *folders, variables=AS_STORED)
    absent = taken.keys() - set(os.fsdecode(out).split("\0"))
    if not absent:
        return set()
    reached = GitBackend(repo).reachable(commit, {at for name in absent for at in taken[name]})
    return {name for name in absent if not reached.isdisjoint(taken[name])}


def _lines(parts: Sequence[str]) -> bytes:
    return "".join(f"{part}\n" for part in parts).encode("ascii")
