"""The merge driver that renders pages in merges of this clone; hosts know nothing of it."""

from __future__ import annotations

from cortex_git.projections import pages
from cortex_git.projections.document import FOLDER
from cortex_git.setup import exclude
from cortex_git.store.repo import Repo

DRIVER = "cortex-pages"
_BASE = f"{DRIVER}-base"
_COMMAND = 'h="$(git rev-parse --git-common-dir)/cortex/git-hooks/merge-page"; [ ! -x "$h" ] || "$h"'
SETTINGS = {
    f"merge.{DRIVER}.name": "pages of git-cortex, which are rendered from the items",
    # Without the program our side stays, and the next commit renders it. git before 2.44 leaves the last three as
    # they stand here.
    f"merge.{DRIVER}.driver": f"{_COMMAND} %P %O %A %B %S %X %Y",
    # Of several merge bases git first makes one. It must differ from both sides, or git would take one of them.
    f"merge.{DRIVER}.recursive": _BASE,
    f"merge.{_BASE}.name": "pages of git-cortex in merge bases, which nobody reads",
    f"merge.{_BASE}.driver": ": > %A",
}


def put(repo: Repo) -> None:
    """Have merges in this clone render pages from the items. Raises OSError, CortexError."""
    lines = [f"/{FOLDER}{name} merge={DRIVER}" for name in pages.NAMES]
    exclude.put(repo.common_dir, lines, name=exclude.ATTRIBUTES)
    for name, value in SETTINGS.items():
        if repo.git_config().get(name) != value:
            repo.set_git_config(name, value)


def take(repo: Repo) -> bool:
    """Take that out again; returns whether there was anything. Raises OSError."""
    for name in (DRIVER, _BASE):
        if f"merge.{name}.driver" in repo.git_config():
            repo.git_status("config", "--local", "--remove-section", f"merge.{name}")
    return exclude.take(repo.common_dir, name=exclude.ATTRIBUTES)
