"""Running git: one place, one environment, one kind of error."""

from __future__ import annotations

import os
import select

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

AS_STORED = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.path.join(os.devnull, "none")}
"""For reading history by its ids: without `git replace` and grafts, which give a commit other parents or files."""


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


def inherited(names: Sequence[str]) -> dict[str, str]:
    """Those of the variables that this process was given."""
    return {name: os.environ[name] for name in names if name in os.environ}


def git_status(
    args: Sequence[str], cwd: str, *, input: bytes = b"", variables: Mapping[str, str] | None = None
) -> tuple[int, bytes, bytes]:
    """Run git and return exit status, standard output and standard error.

    Raises CortexError if there is no git to run.
    """
    command = ["git", "-C", cwd, "--no-optional-locks", *args]
    try:
        return _run(command, environment(variables), input)
    except FileNotFoundError:
        raise CortexError("git is not found; install it or add its folder to PATH") from None


def run_program(command: Sequence[str]) -> tuple[int, bytes, bytes]:
    """Run another program of the system in the same way; one that is not there has status 127."""
    try:
        return _run(command, environment(), b"")
    except OSError:
        return 127, b"", b""


def _run(command: Sequence[str], variables: Mapping[str, str], input: bytes) -> tuple[int, bytes, bytes]:
    """Run a program to its end. What subprocess.run does, whose import alone costs a hook half of Python's start."""
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    read_err, write_err = os.pipe()
    ends = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate((read_in, write_out, write_err))]
    ours = [write_in, read_out, read_err]
    pid = 0
    try:
        try:
            pid = os.posix_spawnp(command[0], list(command), variables, file_actions=ends)
        finally:
            for _, end, _ in ends:
                os.close(end)
        out, err = _talk(input, ours)
        _, status = os.waitpid(pid, 0)
        pid = 0
    finally:
        for end in ours:
            os.close(end)
        if pid:  # out of time, or interrupted
            os.kill(pid, 9)
            os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), out, err


class Conversation:
    """A git that is told something and answers, again and again. An answer is waited for, so each must be short."""

    def __init__(self, args: Sequence[str], cwd: str, variables: Mapping[str, str] | None = None) -> None:
        self._args = args
        read_in, self._in = os.pipe()
        self._out, write_out = os.pipe()
        actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, read_in, 0),
            (os.POSIX_SPAWN_DUP2, write_out, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        command = ["git", "-C", cwd, "--no-optional-locks", *args]
        try:
            self._pid = os.posix_spawnp("git", command, environment(variables), file_actions=actions)
        finally:
            os.close(read_in)
            os.close(write_out)
        self._rest = b""

    def say(self, data: bytes) -> None:
        """Tell it something. Raises GitError if it has ended."""
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._in, left) :]
        except BrokenPipeError:
            raise self._failed(self.kill()) from None

    def line(self) -> bytes:
        """The next line of its answer. Raises GitError if it has ended."""
        while b"\n" not in self._rest:
            data = os.read(self._out, 1 << 16)
            if not data:
                raise self._failed(self.kill())
            self._rest += data
        found, _, self._rest = self._rest.partition(b"\n")
        return found

    def take(self, count: int) -> bytes:
        """So many bytes of its answer. Raises GitError if it has ended."""
        parts = [self._rest]
        left = count - len(self._rest)
        while left > 0:
            data = os.read(self._out, max(left, 1 << 16))
            if not data:
                raise self._failed(self.kill())
            parts.append(data)
            left -= len(data)
        whole = b"".join(parts)
        self._rest = whole[count:]
        return whole[:count]

    def close(self) -> None:
        """Have it end by itself. Raises GitError if it fails."""
        os.close(self._in)
        while os.read(self._out, 1 << 16):
            continue
        status = self._collect()
        if status:
            raise self._failed(status)

    def kill(self) -> int:
        """End it at once, if it has not ended; returns its status."""
        if not self._pid:
            return 1
        os.close(self._in)
        os.kill(self._pid, 9)
        return self._collect()

    def _collect(self) -> int:
        os.close(self._out)
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)

    def _failed(self, status: int) -> GitError:
        return GitError(self._args, status, b"")


def _talk(input: bytes, ours: list[int]) -> tuple[bytes, bytes]:
    """Feed a program and take what it says, all at once so that neither side waits for ever. Closes what is done."""
    write_in, read_out, read_err = ours
    taken: dict[int, list[bytes]] = {read_out: [], read_err: []}
    os.set_blocking(write_in, False)
    watched = select.poll()
    for end in ours:
        watched.register(end, select.POLLOUT if end == write_in else select.POLLIN)
    left = memoryview(input)
    while ours:
        for end, _ in watched.poll():
            if end in taken:
                data = os.read(end, 1 << 16)
                taken[end].append(data)
                done = not data
            else:
                left = left[_write(end, left) :]
                done = not left
            if done:
                watched.unregister(end)
                ours.remove(end)
                os.close(end)
    return b"".join(taken[read_out]), b"".join(taken[read_err])


def _write(end: int, data: memoryview) -> int:
    """Write what a pipe takes now; all of it counts as written if nobody reads any more."""
    try:
        return os.write(end, data) if data else 0
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(data)


def git(args: Sequence[str], cwd: str, *, input: bytes = b"", variables: Mapping[str, str] | None = None) -> bytes:
    """Run git and return its standard output. Raises GitError if it fails."""
    status, out, err = git_status(args, cwd, input=input, variables=variables)
    if status:
        raise GitError(args, status, err)
    return out
