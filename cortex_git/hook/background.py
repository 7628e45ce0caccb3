"""Fetching what others have shared, without anybody waiting for it."""

from __future__ import annotations

import contextlib
import os
import sys

from cortex_git.hook.journal import log
from cortex_git.store import process, remotes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_git.memory import Memory

EVENT = "background-fetch"
"""What the process that fetches is called among the hooks."""
_MOST_OPEN = 64


def start(memory: Memory) -> bool:
    """Have a process of its own fetch from the remotes that memory is shared with, and return at once.

    Returns whether there is one: not if all have been asked within the last minutes, or failed lately.
    """
    repo, now = memory.repo, memory.env.clock()
    due = [name for name in remotes.shared(repo) if remotes.due(repo, name, now)]
    if not due:
        return False
    for name in due:
        remotes.claim(repo, name, now)
    from cortex_git.store.transport import spawn

    # Whoever waits for the end of what this hook writes must not wait for the fetch.
    for descriptor in range(3, _MOST_OPEN):
        with contextlib.suppress(OSError):
            os.set_inheritable(descriptor, False)
    here = {"GIT_DIR": repo.git_dir, **({"GIT_WORK_TREE": repo.work_tree} if repo.work_tree else {})}
    variables = process.environment(here)
    del variables[process.GUARD]
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hookmain.py")
    spawn([sys.executable, "-I", "-S", script, "git", EVENT, *due], variables)
    return True


def fetch(memory: Memory, names: Sequence[str]) -> None:
    """Fetch from these remotes; a failure is in the log and in `git cortex status`."""
    from cortex_git.store import purge, sharing
    from cortex_git.store.transport import FETCH_LIMIT

    for name in names:
        if name not in remotes.shared(memory.repo):
            continue
        came = sharing.fetch(memory.repo, memory.backend, name, FETCH_LIMIT / len(names))
        remotes.note(memory.repo, name, remotes.FETCH, memory.env.clock(), came.problem)
        purge.honour(memory.repo, memory.backend)
        if came.problem:
            log(memory.repo, f"git {EVENT}: {name}: {came.problem}", memory.env)
