"""The manual page, where `git cortex --help` looks for it.

git never passes `--help` on: it runs `man git-cortex`, which searches beside each folder of PATH.
An installer that links only the command (`uv tool install`) leaves the page where nobody looks.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

PAGE = os.path.join("share", "man", "man1", "git-cortex.1")


def link(variables: Mapping[str, str], prefix: str = sys.prefix) -> str | None:
    """Link the page of the installation at `prefix` beside the command on PATH; returns the link that was made.

    Does nothing, silently, where the page is found already, where there is none, or where the
    folder cannot be written. The link belongs to the installed program, not to one repository.
    """
    page = os.path.join(prefix, PAGE)
    command = shutil.which("git-cortex", path=variables.get("PATH", ""))
    if command is None or not os.path.isfile(page):
        return None
    target = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(command))), PAGE)
    if os.path.exists(target) or not os.path.islink(command):
        return None
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.islink(target):
            os.unlink(target)  # its page is gone
        os.symlink(page, target)
    except OSError:
        return None
    return target
