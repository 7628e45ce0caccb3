"""After a commit that was given up: what it left staged is taken back by itself, before it is in anybody's way.

No hook runs when a commit is given up: another hook refuses, the message is empty, the editor or
git itself is killed. So a process that waits for the end of git stays behind whenever something
was staged.
"""

from __future__ import annotations

import fcntl
import os
import time

from cortex_git.hook.journal import log
from cortex_git.projections import stage
from cortex_git.store import lineage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.env import Env
    from cortex_git.store.repo import Repo

LIMIT = 4 * 3600.0
"""How long a message may be written, in seconds; what a commit leaves after that is taken back by the next hook."""
_GRACE = 0.2
"""What comes next in a script right after the commit has the index for itself, in seconds."""


def watch(repo: Repo, env: Env) -> None:
    """Leave a process behind that takes back what was staged, should this commit not be made.

    While it is there it holds a shared lock on the file `cortex/watch` of the work tree's git directory.
    """
    calling = lineage.calling_git()
    if calling is None:
        return
    place = os.path.join(repo.git_dir, "cortex", "watch")
    held = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    if os.fork() == 0:
        try:
            _leave(held)
            if lineage.outlive(calling.mark, LIMIT):
                time.sleep(_GRACE)
                stage.unstage(repo, set())
        except BaseException as error:
            log(repo, f"after a commit: {error}", env)
        finally:
            os._exit(0)
    os.close(held)


def _leave(kept: int) -> None:
    """Leave the caller: its session, its streams (somebody may wait for their end) and whatever else is open."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    os.closerange(3, kept)
    os.closerange(kept + 1, 256)
