"""Where the files that `init` copies are: in the installed package, else in a checkout."""

from __future__ import annotations

import os

_HERE = os.path.dirname(os.path.realpath(__file__))


def asset_dir(name: str) -> str:
    """The folder `hooks`, `git-hooks` or `.cortex-template`.

    Raises FileNotFoundError if the installation lacks it.
    """
    for root in (os.path.join(_HERE, "_assets"), os.path.dirname(_HERE)):
        path = os.path.join(root, name)
        if os.path.isdir(path):
            return path
    raise FileNotFoundError(name)
