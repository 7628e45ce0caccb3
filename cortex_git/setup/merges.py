"""The merge drivers for pages and items in merges of this clone; hosts know nothing of them."""

from __future__ import annotations

from cortex_git.projections import pages
from cortex_git.projections.document import DECISIONS, FOLDER
from cortex_git.setup import exclude
from cortex_git.store.repo import Repo

_PAGES, _BASES, _ITEMS = "cortex-pages", "cortex-pages-base", "cortex-items"
_SHIM = 'h="$(git rev-parse --git-common-dir)/cortex/git-hooks/merge-page"; [ ! -x "$h" ] || "$h"'
ATTRIBUTES = [
    *(f"/{FOLDER}{name} merge={_PAGES}" for name in pages.NAMES),
    f"/{DECISIONS}*.md merge={_ITEMS}",
]
SETTINGS = {
    f"merge.{_PAGES}.name": "pages of git-cortex, which are rendered from the items",
    # Without the program our side stays, and the next commit renders it. git before 2.44 leaves the last three as
    # they stand here.
    f"merge.{_PAGES}.driver": f"{_SHIM} %P %O %A %B %S %X %Y",
    # Of several merge bases git first makes one. It must differ from both sides, or git would take one of them.
    f"merge.{_PAGES}.recursive": _BASES,
    f"merge.{_BASES}.name": "pages of git-cortex in merge bases, which nobody reads",
    f"merge.{_BASES}.driver": ": > %A",
    f"merge.{_ITEMS}.name": "items of git-cortex, of which only the status ever changes",
    # As git merges text; then our side's file is gone if the conflict could be settled.
    f"merge.{_ITEMS}.driver": (
        "cp %A %A.ours; if git merge-file -q -L ours -L base -L theirs %A %O %B; then rm -f %A.ours; "
        f"else {_SHIM} %P %O %A.ours %B; [ ! -e %A.ours ] || {{ rm -f %A.ours; exit 1; }}; fi"
    ),
}


def put(repo: Repo) -> None:
    """Have merges in this clone render pages from the items and settle states. Raises OSError, CortexError."""
    outdated = [line for line in exclude.lines(repo.common_dir, exclude.ATTRIBUTES) if line not in ATTRIBUTES]
    exclude.put(repo.common_dir, ATTRIBUTES, outdated, exclude.ATTRIBUTES)
    for name, value in SETTINGS.items():
        if repo.git_config().get(name) != value:
            repo.set_git_config(name, value)


def missing(repo: Repo) -> list[str]:
    """What of that is not in place, or is from an earlier version: lines and settings."""
    there = exclude.lines(repo.common_dir, exclude.ATTRIBUTES)
    settings = [name for name, value in SETTINGS.items() if repo.git_config().get(name) != value]
    return settings + sorted(set(ATTRIBUTES).symmetric_difference(there))


def take(repo: Repo) -> bool:
    """Take that out again; returns whether there was anything. Raises OSError."""
    for name in (_PAGES, _BASES, _ITEMS):
        if f"merge.{name}.driver" in repo.git_config():
            repo.git_status("config", "--local", "--remove-section", f"merge.{name}")
    return exclude.take(repo.common_dir, name=exclude.ATTRIBUTES)
