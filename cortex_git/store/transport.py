"""Talking to a remote: one git in a process group of its own, that asks nobody anything and ends in time.

The user's own way to the remote is kept (ssh command, stored credentials, settings given with `git -c`); whatever
would wait for a person is switched off. At the limit the whole group goes, so that no ssh is left behind.
"""

from __future__ import annotations

import contextlib
import os
import select
import time

from cortex_git.errors import CortexError
from cortex_git.store import process
from cortex_git.store.gitcli import without_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_git.store.repo import Repo

FETCH_LIMIT = 30.0
"""Seconds for a fetch in the background."""
COMMAND_LIMIT = 120.0
"""Seconds for what somebody asked for and waits for."""

_GRACE = 0.2
_TERMINATE, _KILL = 15, 9
_BEAT = 20
_USAGE = 129
# A push or fetch in this very repository goes the way that the caller's own would, settings given by `-c` included.
_KEPT = ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT")
_SSH = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT")
_SILENT = {
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_HTTP_LOW_SPEED_LIMIT": "1",
    "GIT_HTTP_LOW_SPEED_TIME": "30",
}
_PLAIN_FETCH = ("fetch", "--quiet", "--no-tags", "--no-prune", "--recurse-submodules=no", "--refmap=")
_FETCH = ("--no-write-fetch-head", "--no-auto-maintenance", "--no-filter")
_OLD_FETCH = ("--no-auto-gc", "--no-filter")
_PUSH = ("push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")


class Answer:
    """How a git that talked to a remote ended: `status`, None if it ran out of time; what it wrote."""

    __slots__ = ("err", "out", "status")

    def __init__(self, status: int | None, out: bytes, err: bytes) -> None:
        self.status = status
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")

    @property
    def reason(self) -> str:
        """Why it failed, in a line of the remote's or of git's own."""
        if self.status is None:
            return "it did not answer in time"
        return _reason(self.err) or f"git ended with status {self.status}"


def fetch(repo: Repo, remote: str, refspecs: Sequence[str], limit: float) -> Answer:
    """Fetch exactly these, and touch nothing else: no FETCH_HEAD, tag, tracking branch, hook or maintenance."""
    settings = ("fetch.writeCommitGraph=false", "fetch.fsckObjects=true")
    end = time.monotonic() + limit
    answer = _talk(repo, settings, (*_PLAIN_FETCH, *_FETCH, "--", remote, *refspecs), limit)
    if answer.status == _USAGE:
        plain = [spec for spec in refspecs if not spec.startswith("^")]  # known since the same version
        answer = _talk(repo, settings, (*_PLAIN_FETCH, *_OLD_FETCH, "--", remote, *plain), end - time.monotonic())
    return answer


def fetch_objects(repo: Repo, remote: str, ids: Sequence[str], kinds: str, limit: float) -> Answer:
    """Fetch just these objects and, below them, what the filter `kinds` lets through: as git does in partial clones."""
    settings = ("fetch.negotiationAlgorithm=noop", "fetch.writeCommitGraph=false")
    options = (*_PLAIN_FETCH, *_FETCH[:-1], f"--filter={kinds}")
    return _talk(repo, settings, (*options, "--", remote, *ids), limit)


def push(repo: Repo, remote: str, refspecs: Sequence[str], limit: float) -> Answer:
    """Push exactly these: no hook, tag, submodule, option or mirror that the settings may ask for."""
    return _talk(repo, (f"remote.{remote}.mirror=false", "push.pushOption="), (*_PUSH, "--", remote, *refspecs), limit)


def listing(repo: Repo, remote: str, patterns: Iterable[str], limit: float) -> Answer:
    """The refs of a remote as `git ls-remote` lists them."""
    return _talk(repo, (), ("ls-remote", "--quiet", "--", remote, *patterns), limit)


def results(answer: Answer) -> dict[str, tuple[str, str]]:
    """What became of each ref of a push: a mark as git has it (`!` for refused), and why."""
    found: dict[str, tuple[str, str]] = {}
    for line in answer.out.splitlines():
        parts = line.split("\t")
        if len(parts) >= 3 and len(parts[0]) == 1:
            ref = parts[1].rpartition(":")[2]
            if ref not in found or parts[0] == "!":  # a remote may have several places to push to
                found[ref] = (parts[0], parts[2].partition("] (")[2].removesuffix(")"))
    return found


def _reason(err: str) -> str:
    """The line of an error output that says most."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    for start in ("remote: fatal:", "remote: error:", "remote:", "fatal:", "error:"):
        for line in lines:
            if line.startswith(start) and line != "remote:":
                return line.removeprefix("remote:").strip()[:200]
    return lines[0][:200] if lines else ""


def _talk(repo: Repo, settings: Iterable[str], args: Sequence[str], limit: float) -> Answer:
    options = [part for setting in ("credential.interactive=false", *settings) for part in ("-c", setting)]
    place = repo.work_tree or repo.git_dir
    command = ["git", "-C", place, "--no-optional-locks", *without_hooks(repo), *options, *args]
    try:
        return _run(command, _environment(repo), limit)
    except FileNotFoundError:
        raise CortexError("git is not found; install it or add its folder to PATH") from None


def _environment(repo: Repo) -> dict[str, str]:
    variables = process.inherited(_KEPT)
    variables["GIT_DIR"] = repo.git_dir
    if repo.work_tree:
        variables["GIT_WORK_TREE"] = repo.work_tree
    return process.environment({**variables, **_SILENT, **_ssh(process.inherited(_SSH), repo.git_config())})


def _ssh(variables: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """The user's ssh command with orders not to ask; one that is not OpenSSH's is left as it is."""
    command = variables.get("GIT_SSH_COMMAND") or settings.get("core.sshcommand", "")
    if not command:
        program = variables.get("GIT_SSH", "ssh")
        command = "'" + program.replace("'", "'\\''") + "'" if program != "ssh" else program
    variant = variables.get("GIT_SSH_VARIANT") or settings.get("ssh.variant", "")
    name = os.path.basename(command.strip().split(" ")[0].strip("'\""))
    if variant == "ssh" or (variant in ("", "auto") and name in ("ssh", "ssh.exe")):
        return {"GIT_SSH_COMMAND": f"{command} -o BatchMode=yes"}
    return {}


def _run(command: Sequence[str], variables: Mapping[str, str], limit: float) -> Answer:
    end = time.monotonic() + limit
    read_out, write_out = os.pipe()
    read_err, write_err = os.pipe()
    taken: dict[int, bytearray] = {read_out: bytearray(), read_err: bytearray()}
    pid = 0
    status: int | None = None
    try:
        try:
            pid = spawn(command, variables, write_out, write_err)
        finally:
            os.close(write_out)
            os.close(write_err)
        status = _watch(pid, taken, end)
        pid = pid if status is None else 0
    finally:
        if pid:
            _end(pid)
        for descriptor in taken:
            os.close(descriptor)
    return Answer(status, bytes(taken[read_out]), bytes(taken[read_err]))


def spawn(command: Sequence[str], variables: Mapping[str, str], out: int | None = None, err: int | None = None) -> int:
    """Start a program in a session of its own, without a terminal and with nothing to read; returns its id.

    What it writes goes to the descriptors `out` and `err`, or nowhere. Raises OSError.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        places = ((nowhere, 0), (nowhere if out is None else out, 1), (nowhere if err is None else err, 2))
        actions = [(os.POSIX_SPAWN_DUP2, source, target) for source, target in places]
        try:
            return os.posix_spawnp(command[0], list(command), variables, file_actions=actions, setsid=True)
        except NotImplementedError:  # a system that can only give it a group
            return os.posix_spawnp(command[0], list(command), variables, file_actions=actions, setpgroup=0)
    finally:
        os.close(nowhere)


def _watch(pid: int, taken: Mapping[int, bytearray], end: float) -> int | None:
    """Take what a program says until it ends; None if it has not when the time is up.

    Its end counts, not that of its output: a helper that it leaves running may hold that open for hours.
    """
    poll = select.poll()
    for descriptor in taken:
        os.set_blocking(descriptor, False)
        poll.register(descriptor, select.POLLIN)
    beat = 1
    while True:
        _take(poll, taken, beat)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            _take(poll, taken, 0)
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= end:
            return None
        beat = min(2 * beat, _BEAT)


def _take(poll: select.poll, taken: Mapping[int, bytearray], wait: int) -> None:
    """Read all that is there, after waiting at most `wait` milliseconds for the first of it."""
    for descriptor, _ in poll.poll(wait):
        with contextlib.suppress(BlockingIOError):
            while data := os.read(descriptor, 1 << 16):
                taken[descriptor] += data
            poll.unregister(descriptor)


def _end(pid: int) -> None:
    """End a program and all that it has started: first so that git removes its lock files, then for good."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, _TERMINATE)
    end = time.monotonic() + _GRACE
    gone = False
    while not gone and time.monotonic() < end:
        time.sleep(0.005)
        gone = bool(os.waitpid(pid, os.WNOHANG)[0])
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, _KILL)
    if not gone:
        os.waitpid(pid, 0)
