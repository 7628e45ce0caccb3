"""Running git: one place, one environment, one kind of error."""

from __future__ import annotations

import os
import subprocess

from cortex_git.errors import CortexError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GUARD = "CORTEX_HOOK"
"""Set in the environment of every git that we start, so that our own hooks do nothing inside it."""

# Variables by which a calling git points at its own repository and index. They are dropped unless a caller
# means them: inside a hook they would turn a command for one repository into a command for another.
_LOCAL = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
_FIXED = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "LANGUAGE": "", GUARD: "1"}


class GitError(CortexError):
    """git said no. `status` is its exit status, `stderr` what it said."""

    def __init__(self, args: Sequence[str], status: int, stderr: bytes) -> None:
        self.command = list(args)
        self.status = status
        self.stderr = stderr.decode("utf-8", "replace").strip()
        said = self.stderr.splitlines()[-1] if self.stderr else f"exit status {status}"
        super().__init__(f"git {args[0]} failed: {said}")


def environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a git of our own: the caller's without its repository, plus `variables`."""
    values = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    values.update(_FIXED)
    values.update(variables or {})
    return values


def git_status(
    args: Sequence[str], cwd: str, *, input: bytes = b"", variables: Mapping[str, str] | None = None
) -> tuple[int, bytes, bytes]:
    """Run git and return exit status, standard output and standard error.

    Raises CortexError if there is no git to run.
    """
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *args],
            cwd=cwd,
            input=input,
            env=environment(variables),
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise CortexError("git is not found; install it or add its folder to PATH") from None
    return done.returncode, done.stdout, done.stderr


def git(args: Sequence[str], cwd: str, *, input: bytes = b"", variables: Mapping[str, str] | None = None) -> bytes:
    """Run git and return its standard output. Raises GitError if it fails."""
    status, out, err = git_status(args, cwd, input=input, variables=variables)
    if status:
        raise GitError(args, status, err)
    return out
