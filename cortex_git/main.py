"""The command `git-cortex`: hooks take the short way, everything else is the command line."""

from __future__ import annotations

import sys

from cortex_git.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None, env: Env | None = None) -> int:
    """Run a command and return its exit status.

    0 fine; 1 something the user can mend, or findings of a check; 2 wrong usage; 3 a bug of ours.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    process = env or Env.of_process()
    if given[:1] == ["hook"]:
        from cortex_git.hook.entry import run

        return run(given[1:], process)
    from cortex_git.cli.root import run as run_command

    return run_command(given, process)
