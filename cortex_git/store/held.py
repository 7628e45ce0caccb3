"""Which item files the history of HEAD has ever held: what was there and is gone was taken out on purpose."""

from __future__ import annotations

import os

from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from cortex_git.store.repo import Repo

    IdsOf = Callable[[Mapping[str, str]], Mapping[str, list[str]]]

FOLDERS = (".cortex/decisions", ".cortex/learned")
"""Where items lie. Plans are left out: a plan's file belongs to its branch and comes and goes with it."""
_ENTRIES = 16


def held(repo: Repo, head: str | None, ids_of: IdsOf) -> dict[str, list[str]]:
    """Path to the ids of the events in it, of every item file in the history of `head`.

    `ids_of` reads files (path to blob id) and says which ids each holds. The answer is kept by
    commit and brought forward by the commits since; the whole history is read only once.
    """
    if head is None:
        return {}
    path = os.path.join(repo.home, "cache", "held.json")
    kept: dict[str, Any] = read_json(path)
    if head in kept:
        return dict(kept[head])
    base = next((old for old in reversed(kept) if _is_ancestor(repo, old, head)), None)
    found: dict[str, list[str]] = dict(kept[base]) if base else {}
    added = {name: blob for name, blob in _added(repo, head, base).items() if name not in found}
    found.update(ids_of(added) if added else {})
    kept[head] = found
    if base:
        del kept[base]
    for old in list(kept)[:-_ENTRIES]:
        del kept[old]
    keep_json(path, kept)
    return found


def _is_ancestor(repo: Repo, commit: str, head: str) -> bool:
    return repo.git_status("merge-base", "--is-ancestor", commit, head)[0] == 0


def _added(repo: Repo, head: str, base: str | None) -> dict[str, str]:
    span = [head, f"^{base}"] if base else [head]
    out = repo.git(
        "-c", "log.showSignature=false", "log", "--full-history", "-m", "--no-renames", "--diff-filter=A", "--raw",
        "--no-abbrev", "-z", "--format=", *span, "--", *FOLDERS,
    )  # fmt: skip
    # `:mode mode old new A`, NUL, path, NUL, and so on; newest first, so that the first version comes last.
    fields = os.fsdecode(out).split("\0")
    found: dict[str, str] = {}
    for meta, name in zip(fields[::2], fields[1::2], strict=False):
        if meta.strip().startswith(":"):
            found[name] = meta.split()[3]
    return found
