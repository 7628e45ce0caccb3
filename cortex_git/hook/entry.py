"""Where every hook comes in: bounded in time, silent but for its answer, always exit status 0."""

from __future__ import annotations

import _signal
import os

from cortex_git.env import Env
from cortex_git.store.process import GUARD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import NoReturn

    from cortex_git.store.repo import Repo

LIMIT = 10
"""The longest that a hook may take, in seconds."""
_LOG_BYTES = 1024 * 1024


class TimeIsUp(BaseException):
    """A hook ran into its limit. No Exception, so that nothing on the way takes it for a fault of its own."""


def run(arguments: Sequence[str], env: Env) -> int:
    """Run one hook: `claude EVENT [RECORD]` or `git EVENT [ARGUMENT …]`. Returns 0 whatever happens."""
    if len(arguments) < 2 or env.variables.get(GUARD) or env.variables.get("CORTEX_DISABLE"):
        return 0
    repo: Repo | None = None
    try:
        _signal.signal(_signal.SIGALRM, _time_is_up)
        _signal.alarm(LIMIT)
        from cortex_git.setup import clone
        from cortex_git.store.repo import Repo

        repo = Repo.discover(env.cwd, env.variables)
        if repo is not None and repo.initialised:
            clone.settle(repo)
            _dispatch(repo, arguments, env)
    except (Exception, TimeIsUp) as error:
        log(repo, f"{' '.join(arguments[:2])}: {_described(error)}", env)
    finally:
        _signal.alarm(0)
    return 0


def _dispatch(repo: Repo, arguments: Sequence[str], env: Env) -> None:
    source, event, *rest = arguments
    if source == "git":
        from cortex_git.hook import git

        git.run(repo, event, rest, env)
    else:
        from cortex_git.hook import agent

        agent.run(repo, event, rest, env)


def _time_is_up(number: int, frame: FrameType | None) -> NoReturn:
    raise TimeIsUp(f"stopped after {LIMIT} s; what is left waits in the spool")


def _described(error: BaseException) -> str:
    from cortex_git.errors import CortexError

    if isinstance(error, CortexError | TimeIsUp | OSError):
        return f"{error}"
    import traceback

    return "".join(traceback.format_exception(error)).rstrip()


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
