"""Runs git, and answers the real installed hooks from this very process, so that no hook has to start Python."""

from __future__ import annotations

import io
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cortex_git.env import Env
from cortex_git.hook import aftermath
from cortex_git.hook.entry import run as run_hook

_STAND_IN = """#!/bin/sh
case "${{4-}} ${{5-}}" in
    "git pre-commit" | "git pre-push" | "git post-"*) ;;
    *) exec "{python}" "$@" ;;
esac
echo $$ > "{folder}/ask"
read -r answer < "{folder}/answer"
exit 0
"""
_CONFIG = """[user]
	name = Ada Author
	email = ada@example.org
[init]
	defaultBranch = main
[core]
	editor = true
[gc]
	auto = 0
[maintenance]
	auto = false
[advice]
	detachedHead = false
[protocol "file"]
	allow = always
[rerere]
	enabled = false
"""
_EPOCH = 1767225600
_PATIENCE = 60.0

HookCall = tuple[Path, tuple[str, ...], bytes, dict[str, str]]
"""Where a hook runs, its name and arguments, what it has on standard input, and its environment."""


@contextmanager
def _started_by(pid: int) -> Iterator[None]:
    """While this lasts, this process takes another one for its parent, and leaves no process behind.

    What would be left behind acts a moment after git has ended, which is no time that a history could name.
    """
    before = os.getppid, aftermath.watch
    os.getppid, aftermath.watch = (lambda: pid), (lambda repo, env: None)
    try:
        yield
    finally:
        os.getppid, aftermath.watch = before


class GitFailed(Exception):
    """git ended with another status than 0."""


class Driver:
    """One folder of repositories, with a clock of its own that stands still but for `tick`."""

    def __init__(self, base: Path, *, real: bool = False) -> None:
        self.base = base
        self.real = real or not os.path.exists("/proc/self/environ")
        """Whether hooks start the real Python, as they do for a user."""
        self.now = float(_EPOCH)
        self.watch: Callable[[HookCall], Callable[[], None] | None] = lambda call: None
        """Called before each hook; what it returns is called after it."""
        base.mkdir(parents=True, exist_ok=True)
        (base / "home").mkdir(exist_ok=True)
        (base / "gitconfig").write_text(_CONFIG)
        self._ask = self._answer = -1
        if not self.real:
            self._lay_stand_in()

    def _lay_stand_in(self) -> None:
        script = self.base / "python"
        script.write_text(_STAND_IN.format(folder=self.base, python=sys.executable))
        script.chmod(0o755)
        patient = self.base / "timeout"  # the shims bound the time of a hook; on a busy machine that is ours, too
        patient.write_text('#!/bin/sh\nshift\nexec "$@"\n')
        patient.chmod(0o755)
        for name in ("ask", "answer"):
            if not (self.base / name).exists():
                os.mkfifo(self.base / name)
        self._ask = os.open(self.base / "ask", os.O_RDWR | os.O_NONBLOCK)

    def close(self) -> None:
        """Let go of the pipes."""
        if self._ask >= 0:
            os.close(self._ask)
            self._ask = -1

    @contextmanager
    def installed(self) -> Iterator[None]:
        """While this lasts, what `init` writes down as the Python of the hooks is the stand-in."""
        before = sys.executable
        if not self.real:
            sys.executable = str(self.base / "python")
        try:
            yield
        finally:
            sys.executable = before

    def tick(self) -> None:
        """Let a while pass."""
        self.now += 60

    def variables(self) -> dict[str, str]:
        """The environment of a person at the keyboard, in which nothing of the machine shows."""
        moment = f"{int(self.now)} +0000"
        return {
            "PATH": os.pathsep.join([*([] if self.real else [str(self.base)]), os.environ.get("PATH", os.defpath)]),
            "HOME": str(self.base / "home"),
            "GIT_CONFIG_GLOBAL": str(self.base / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_DATE": moment,
            "GIT_COMMITTER_DATE": moment,
            "GIT_EDITOR": "true",
            "GIT_SEQUENCE_EDITOR": "true",
            "GIT_MERGE_AUTOEDIT": "no",
            "TZ": "UTC",
            "LC_ALL": "C",
        }

    def git(self, where: Path, *args: str, check: bool = True, variables: Mapping[str, str] | None = None) -> str:
        """Run git and return what it says, answering its hooks meanwhile. Raises GitFailed."""
        process = subprocess.Popen(
            ["git", *args],
            cwd=where,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**self.variables(), **(variables or {})},
        )
        assert process.stdout is not None
        said = self._serve(process.stdout.fileno())
        process.stdout.close()
        status = process.wait()
        text = said.decode("utf-8", "surrogateescape")
        if check and status:
            raise GitFailed(f"git {' '.join(args)}: exit status {status}\n{text}")
        return text.removesuffix("\n")

    def _serve(self, output: int) -> bytes:
        """Read until everybody who could write to `output` has ended, and answer hooks on the way."""
        said = b""
        waiting = [output, *([self._ask] if self._ask >= 0 else [])]
        while True:
            ready, _, _ = select.select(waiting, [], [], _PATIENCE)
            if not ready:
                raise GitFailed("git hangs")
            if self._ask in ready:
                for pid in os.read(self._ask, 4096).split():
                    self._hook(int(pid))
            if output in ready:
                part = os.read(output, 65536)
                if not part:
                    return said
                said += part

    def _hook(self, pid: int) -> None:
        """Do what the process `pid`, the stand-in for Python, was started for."""
        root = Path("/proc", str(pid))
        words = (root / "cmdline").read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
        arguments = words[words.index("git") :]
        pairs = (root / "environ").read_bytes().decode("utf-8", "surrogateescape").split("\0")
        variables = dict(pair.partition("=")[::2] for pair in pairs if pair)
        cwd = Path(os.readlink(root / "cwd"))
        stdin = b""
        if arguments[1] in ("post-rewrite", "pre-push"):
            with open(root / "fd/0", "rb") as file:
                stdin = file.read()
        after = self.watch((cwd, tuple(arguments[1:]), stdin, variables))
        with _started_by(pid):
            run_hook(arguments, self.env(cwd, variables, stdin))
        if after:
            after()
        self._release(pid)

    def _release(self, pid: int) -> None:
        """Let a stand-in end, unless somebody has ended it already."""
        while os.path.exists(f"/proc/{pid}"):
            try:
                answer = os.open(self.base / "answer", os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # it does not listen yet
                select.select([], [], [], 0.0005)
                continue
            os.write(answer, b"done\n")
            os.close(answer)
            return

    def env(self, cwd: Path, variables: Mapping[str, str] | None = None, stdin: bytes = b"") -> Env:
        """What a command of ours is told of its process."""
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
        return Env(variables or self.variables(), str(cwd), lambda: self.now, io.BytesIO(stdin), *streams)
