"""Opening the memory for a command: first whatever hooks have left is stored, so that it is seen."""

from __future__ import annotations

import contextlib
import tempfile

import click

from cortex_git.cli.terminal import warn
from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.memory import Memory
from cortex_git.projections import stage
from cortex_git.projections.items import item_files
from cortex_git.setup import clone, program
from cortex_git.setup.glance import inactive_hooks
from cortex_git.store import carry
from cortex_git.store.open import open_backend
from cortex_git.store.repo import require
from cortex_git.tying import catch_up

PATIENCE = 0.5
"""How long a command waits for a drain that another process does, in seconds."""


def open_memory(env: Env) -> Memory:
    """The memory of the repository that the process is in, with all that waited in the spool.

    Raises CortexError if there is none. What cannot be stored now is a warning: it waits on.
    """
    memory = Memory.open(env, "git")
    with contextlib.suppress(OSError):  # a folder that cannot be written stops nobody from reading
        clone.settle(memory.repo)
        program.refresh(memory.repo)
    with contextlib.suppress(CortexError):
        catch_up(memory)
    _drain(memory)
    with contextlib.suppress(CortexError):
        stage.unstage(memory.repo, set())
    inactive = inactive_hooks(memory.repo)
    if inactive:
        warn(env, inactive)
    return memory


def open_to_read(env: Env) -> Memory:
    """As `open_memory`; in a clone without `init` the memory that its commits hold, if they hold any.

    Nothing is written into the repository then: what is derived lies in a folder that goes away with the command.
    Raises CortexError if there is no memory at all.
    """
    return _committed(env) or open_memory(env)


def _committed(env: Env) -> Memory | None:
    repo = require(env.cwd, env.variables)
    head = None if repo.initialised or "cortex.cloneof" in repo.git_config() else repo.head()
    backend = open_backend(repo, "git")
    if head is None or not item_files(backend, head):
        return None
    folder = tempfile.TemporaryDirectory(prefix="git-cortex-")
    click.get_current_context().call_on_close(folder.cleanup)
    repo.home = folder.name
    warn(env, "this is what was committed; `git cortex init`, then `git cortex sync`, brings the rest")
    return Memory(env, repo, backend)


def warn_of_settings(memory: Memory) -> None:
    """One line about settings that are not as they should be, and so do not count."""
    faults = memory.repo.faults()
    if faults:
        more = f"; and {len(faults) - 1} more, `git cortex doctor` lists them" if faults[1:] else ""
        warn(memory.env, faults[0] + more)


def _drain(memory: Memory) -> None:
    branch = carry.due(memory.repo)
    try:
        faults = memory.drain(PATIENCE)
        if branch is not None:
            carry.carry_over(memory.repo, memory.backend, memory.config, branch)
            memory.forget_refs()
    except CortexError as error:
        warn(memory.env, f"what hooks have recorded since is not shown: {error}")
        return
    for fault in faults[:3]:
        warn(memory.env, fault)
    if len(faults) > 3:
        warn(memory.env, f"and {len(faults) - 3} more; `git cortex doctor` says what to do")
