"""An assistant's hooks: store what waits, keep the live view right, and greet a session that starts."""

from __future__ import annotations

import json

from cortex_git import live
from cortex_git.hook import background
from cortex_git.hook.journal import log, store_waiting
from cortex_git.memory import Memory
from cortex_git.met import meet
from cortex_git.projections import stage
from cortex_git.setup.glance import inactive_hooks
from cortex_git.setup.rules import carries
from cortex_git.store import spool
from cortex_git.store.open import open_backend
from cortex_git.tying import catch_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_git.env import Env
    from cortex_git.store.repo import Repo


def run(repo: Repo, event: str, arguments: Sequence[str], env: Env) -> None:
    """Handle an event whose payload the shim put into the spool; without a shim it is on standard input."""
    if arguments[:1] in ([], ["-"]):
        _spool_input(repo, event, env)
    memory = Memory(env, repo, open_backend(repo, "git"))
    catch_up(memory)
    store_waiting(memory, f"claude {event}")
    meet(memory)
    stage.unstage(repo, set())
    if event == "SessionStart":
        _greet(memory, env)
        background.start(memory)
    else:
        # A rules file that changes in mid-session is put before the model once more, beside what it has of it. So it
        # is written when the session ends, and before a compaction, after which it is read anew.
        live.refresh(memory, rules=event in ("SessionEnd", "PreCompact"))
    if memory.has_drained:
        # What was just stored is at hand; the next commit would have to read it again.
        from cortex_git.pending import follow

        follow(memory)


def _spool_input(repo: Repo, event: str, env: Env) -> None:
    payload = env.stdin.read(spool.MAX_PAYLOAD + 1)
    try:
        spool.write(repo.home, "claude", event, repo.work_tree or "", repo.head_line(), payload)
    except OSError as error:  # a session can be greeted all the same
        log(repo, f"claude {event}: the payload could not be kept: {error}", env)


def _greet(memory: Memory, env: Env) -> None:
    """Answer with the briefing, unless the rules file has brought the very same text into the session.

    The file itself is left as it is: the client may be reading it at this moment, and would
    then show both.
    """
    text = live.refresh(memory, rules=False)
    answer: dict[str, object] = {}
    if text and not carries(memory.repo, text):
        answer["hookSpecificOutput"] = {"hookEventName": "SessionStart", "additionalContext": text}
    inactive = inactive_hooks(memory.repo)
    if inactive:
        answer["systemMessage"] = f"git cortex: {inactive}"
    if answer:
        env.stdout.write(json.dumps(answer) + "\n")
        env.stdout.flush()
