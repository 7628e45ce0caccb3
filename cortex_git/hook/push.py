"""Before a push: the memory that belongs to the commits goes along, to remotes that it is shared with.

Everything here is done within three seconds, and nothing of it can fail the push. The hook cannot know whether
the push itself will succeed: memory of commits that the remote then refuses is there a little early.
"""

from __future__ import annotations

import _signal
import time

from cortex_git.errors import CortexError
from cortex_git.hook.entry import TimeIsUp
from cortex_git.hook.journal import log, store_waiting
from cortex_git.store import keys, lineage, purge, remotes, sharing
from cortex_git.tying import catch_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_git.memory import Memory
    from cortex_git.store.sharing import Sent

LIMIT = 2.9
"""The longest that a push waits for its memory, in seconds …"""
_NETWORK = 2.6
"""… and when a remote has to have answered for that."""
_LATE = "it did not answer in time"
_WITH_VALUE = ("--repo", "--push-option", "--receive-pack", "--exec")
_OURS = (keys.LOCAL + "/", "refs/cortex/")


class Pushed:
    """What git says that it will push: the commits, and whether notes or refs of ours are among them."""

    __slots__ = ("commits", "local", "notes")

    def __init__(self, lines: Iterable[str]) -> None:
        self.commits: list[str] = []
        self.local = False
        self.notes = False
        for line in lines:
            words = line.split(" ")
            if len(words) != 4 or not words[1].strip("0"):
                continue  # nothing of a branch that is deleted there
            self.local = self.local or words[0].startswith(_OURS) or words[2].startswith(_OURS)
            self.notes = self.notes or words[2].startswith("refs/notes/")
            if not words[2].startswith(("refs/notes/", "refs/cortex/")):
                self.commits.append(words[1])


def pre_push(memory: Memory, arguments: Sequence[str]) -> None:
    """Send what belongs to the commits that are being pushed; say on one line if that could not be done."""
    start = time.monotonic()
    pushed = Pushed(memory.env.stdin.read().decode("utf-8", "surrogateescape").splitlines())
    remote = arguments[0] if arguments else ""
    if pushed.local:
        _warn(memory, f"this push takes refs along that are meant to stay here ({keys.LOCAL}, refs/cortex)")
    # A push that moves notes itself has told the remote what it expects to find there.
    if not pushed.commits or pushed.notes or remote not in remotes.shared(memory.repo):
        return
    now = memory.env.clock()
    if remotes.resting(memory.repo, remote, remotes.PUSH, now) or is_dry_run():
        return
    _signal.setitimer(_signal.ITIMER_REAL, max(0.1, LIMIT - (time.monotonic() - start)))
    try:
        sent = _send(memory, remote, pushed.commits, start + _NETWORK)
        problem = sent.complaint if sent else ""
    except TimeIsUp:
        sent, problem = None, _LATE
    except CortexError as error:
        sent, problem = None, str(error)
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
    if sent or problem:
        remotes.note(memory.repo, remote, remotes.PUSH, now, problem)
    if problem:
        _warn(memory, f"memory was not sent to {remote}: {problem}; `git cortex sync {remote}` tries again")
        log(memory.repo, f"git pre-push: {remote}: {problem}", memory.env)


def _send(memory: Memory, remote: str, commits: Sequence[str], deadline: float) -> Sent | None:
    """Send what belongs to these commits; None if there is nothing."""
    catch_up(memory)
    store_waiting(memory, "git")
    every = sharing.lines(memory.repo, memory.backend, remote)
    wanted = sharing.belonging(memory.repo, every, commits)
    if not wanted:
        return None
    if purge.is_due(memory.repo):
        raise CortexError("something was purged in another clone and is still in this one")
    wanted = sharing.signed(memory.repo, memory.backend, remote, wanted)
    anew = purge.rewritten(memory.repo, remote)
    sent = sharing.send(memory.repo, remote, wanted, every, max(0.1, deadline - time.monotonic()), anew)
    purge.sent(memory.repo, remote, sent.accepted)
    return sent


def _warn(memory: Memory, text: str) -> None:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    memory.env.stderr.write(f"git cortex: warning: {line}\n")


def is_dry_run() -> bool:
    """Whether the git that runs us was told to push nothing; False where the system does not show how it was called."""
    calling = lineage.calling_git()
    args = list(calling.args) if calling else []
    return "push" in args and asks_for_dry_run(args[args.index("push") + 1 :])


def asks_for_dry_run(arguments: Sequence[str]) -> bool:
    """Whether these are arguments of `git push` with which it only pretends."""
    found = False
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            break
        if argument in _WITH_VALUE:
            next(rest, "")
        elif argument.startswith("--dr") and "--dry-run".startswith(argument):
            found = True
        elif argument == "--no-dry-run":
            found = False
        elif argument.startswith("-") and not argument.startswith("--"):
            flags, with_value, value = argument[1:].partition("o")
            found = found or "n" in flags
            if with_value and not value:
                next(rest, "")
    return found
