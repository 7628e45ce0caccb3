"""Where every hook comes in: bounded in time, silent but for its answer, always exit status 0."""

from __future__ import annotations

import _signal

from cortex_git.hook.journal import log
from cortex_git.store import steady
from cortex_git.store.process import GUARD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import NoReturn

    from cortex_git.env import Env
    from cortex_git.store.repo import Repo

LIMIT = 10
"""The longest that a hook may take, in seconds."""
_WAITED_FOR = 6
"""The same for git's hooks, which keep somebody waiting; all but `post-rewrite`, whose work no later hook can do."""

_UNWAITED = 60
"""The same for what runs beside everything else."""


class TimeIsUp(BaseException):
    """A hook ran into its limit. No Exception, so that nothing on the way takes it for a fault of its own."""


def run(arguments: Sequence[str], env: Env) -> int:
    """Run one hook: `claude EVENT [RECORD]` or `git EVENT [ARGUMENT …]`. Returns 0 whatever happens."""
    if len(arguments) < 2 or env.variables.get(GUARD) or env.variables.get("CORTEX_DISABLE"):
        return 0
    repo: Repo | None = None
    try:
        _signal.signal(_signal.SIGALRM, _time_is_up)
        _signal.alarm(_limit(*arguments[:2]))
        if arguments[0] == "git" and steady.passes(arguments[1], env.variables, env.cwd):
            return 0
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


def _limit(source: str, event: str) -> int:
    if event == "background-fetch":
        return _UNWAITED
    return _WAITED_FOR if source == "git" and event != "post-rewrite" else LIMIT


def _dispatch(repo: Repo, arguments: Sequence[str], env: Env) -> None:
    source, event, *rest = arguments
    if source == "git":
        from cortex_git.hook import git

        git.run(repo, event, rest, env)
    else:
        from cortex_git.hook import agent

        agent.run(repo, event, rest, env)


def _time_is_up(number: int, frame: FrameType | None) -> NoReturn:
    raise TimeIsUp("stopped, since it took too long; what is left waits in the spool")


def _described(error: BaseException) -> str:
    from cortex_git.errors import CortexError

    if isinstance(error, CortexError | TimeIsUp | OSError):
        return f"{error}"
    import traceback

    return "".join(traceback.format_exception(error)).rstrip()
