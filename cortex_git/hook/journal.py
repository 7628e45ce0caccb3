"""What every hook does: note what went wrong, and store what waits."""

from __future__ import annotations

import os

from cortex_git.errors import CortexError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.env import Env
    from cortex_git.memory import Memory
    from cortex_git.store.repo import Repo

_LOG_BYTES = 1024 * 1024


def store_waiting(memory: Memory, event: str) -> None:
    """Store what waits in the spool, and carry to a new branch what was said before; faults are in the log."""
    from cortex_git.store import carry  # a commit that passes at once loads this module, too

    branch = carry.due(memory.repo)  # asked first, since what waits may be of that branch and then makes it known
    try:
        faults = memory.drain()
        if branch is not None:
            carry.carry_over(memory.repo, memory.backend, memory.config, branch)
            memory.forget_refs()
    except CortexError as error:  # what waits goes on waiting; what is stored can be shown all the same
        faults = [str(error)]
    for fault in faults:
        log(memory.repo, f"{event}: {fault}", memory.env)


def log(repo: Repo | None, text: str, env: Env) -> None:
    """Add an entry to the log under the git directory; the log starts anew when it has grown long."""
    if repo is None:
        return
    path = os.path.join(repo.home, "log")
    try:
        if os.path.exists(path) and os.path.getsize(path) > _LOG_BYTES:
            os.replace(path, path + ".old")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as file:
            file.write(f"{env.now()} {text}\n")
    except OSError:
        return  # nothing is left to tell it to
