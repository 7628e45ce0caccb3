"""What the shims need in the repository: where the program is, and copies of themselves.

Copies, since a hook that names a file of the Python environment would fail as soon as that
environment is moved or upgraded.
"""

from __future__ import annotations

import os
import sys

from cortex_git import assets
from cortex_git.store.locking import write_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.repo import Repo

EVENTS = ("pre-commit", "post-commit", "post-checkout", "post-merge", "post-rewrite", "pre-push")
"""The git hooks that we take part in."""
SILENCE = "cortex.hooks"
"""Set to `ignore` by who has our hooks run in a way that cannot be seen from here."""
HUNG = "hung"
"""Left under our folder by a hook that had to stop the program; other hooks do without it for a while."""
SHIMS = {"hooks": ("lib.sh", "capture", "drain"), "git-hooks": ("lib.sh", "merge-page", *EVENTS)}
"""The folders of shims under our folder in the common git directory, and what is in them."""


def refresh(repo: Repo) -> None:
    """Make the file `program` and the shims those of the package that is running. Raises OSError.

    Costs a few short reads if they are already, so any command may call it.
    """
    place(repo.home)
    path = os.path.join(repo.home, "program")
    root = os.path.dirname(os.path.dirname(os.path.abspath(assets.__file__)))
    text = f"{sys.executable}\n{root}\n{repo.config().spool_max_mib}\n"
    if _read(path) != os.fsencode(text):
        write_text(path, text)
    hung = os.path.join(repo.home, HUNG)
    if os.path.exists(hung):
        os.unlink(hung)


def place(home: str) -> None:
    """Copy the shims, executable, where they are missing or differ."""
    for folder, names in SHIMS.items():
        source = assets.asset_dir(folder)
        target = os.path.join(home, folder)
        os.makedirs(target, mode=0o700, exist_ok=True)
        for name in names:
            data = _read(os.path.join(source, name))
            path = os.path.join(target, name)
            if data is not None and (data != _read(path) or not os.access(path, os.X_OK)):
                write_text(path, data.decode())
                os.chmod(path, 0o755)


def current(home: str) -> bool:
    """Whether the program that the shims would start is there."""
    lines = os.fsdecode(_read(os.path.join(home, "program")) or b"").splitlines()
    if len(lines) < 2:
        return False
    return os.access(lines[0], os.X_OK) and os.path.isfile(os.path.join(lines[1], "cortex_git", "hookmain.py"))


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
