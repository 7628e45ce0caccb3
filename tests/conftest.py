"""A repository to test in, and an environment in which nothing of the machine shows."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import formats
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
NAME, MAIL = "Ada Author", "ada@example.org"
_DROPPED = ("GIT_", "CORTEX_", "CLAUDE", "XDG_", "LC_", "PYTHON", "ANTHROPIC_")
_KEPT = ("CLAUDE_CLI",)
_PROGRAMS = ("claude", "git-cortex")
_NO_CLIENT = "CLAUDE_CLI names no Claude Code client"
_FIRST_COMMIT = 1767225600  # 2026-01-01T00:00:00Z; each further commit is a minute later

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("repeatable")


def shared(path: str) -> Path:
    """A file or folder of the material beside the project, or a skip that says what is missing."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"needs ../shared/{path}, which is not here")
    return found


class Result:
    """How a command ended: `status`, and what it wrote to `out` and `err`."""

    def __init__(self, args: tuple[str, ...], status: int, out: str, err: str) -> None:
        self.args = args
        self.status = status
        self.out = out
        self.err = err

    def __repr__(self) -> str:
        return f"git-cortex {' '.join(self.args)}: exit status {self.status}\n{self.out}{self.err}"


class TestRepo:
    """A git repository in a temporary folder; `path` is its work tree, where every command runs."""

    __test__ = False

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self.clock = clock
        self.commits = 0

    @classmethod
    def make(cls, path: Path, *options: str) -> TestRepo:
        """A new, empty repository; `options` are those of `git init`."""
        path.mkdir(parents=True, exist_ok=True)
        made = cls(path)
        made.git("init", "--quiet", *options)
        for name, value in formats.settings(options):
            made.git("config", name, value)
        return made

    def git(
        self, *args: str, input: str = "", check: bool = True, variables: Mapping[str, str] | None = None
    ) -> str:
        """Run git here and return its output without the last line end; `variables` join the environment."""
        done = subprocess.run(
            ["git", *formats.arguments(args)],
            cwd=self.path,
            input=input.encode("utf-8", "surrogateescape"),
            capture_output=True,
            env={**os.environ, **(variables or {})},
        )
        out, err = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(args)}: exit status {done.returncode}\n{out}{err}")
        return out.removesuffix("\n")

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files into the work tree, making folders as needed."""
        for name, content in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())

    def read(self, name: str) -> str:
        """The text of a file in the work tree."""
        return (self.path / name).read_text(encoding="utf-8")

    def commit(self, files: Mapping[str, str | bytes] | None = None, message: str = "A change") -> str:
        """Write and stage files, commit them (an empty commit if there are none) and return the commit's id."""
        self.write(files or {})
        if files:
            self.git("add", "--", *files)
        self.git("commit", "--quiet", "--allow-empty", "-m", message, variables=self.dates())
        return self.git("rev-parse", "HEAD")

    def dates(self) -> dict[str, str]:
        """Variables that give the next commit a date of its own, the same in every run."""
        moment = f"{_FIRST_COMMIT + 60 * self.commits} +0000"
        self.commits += 1
        return {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}

    def run(
        self,
        *args: str,
        input: str | bytes = b"",
        check: bool = True,
        variables: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Result:
        """Run `git-cortex` in this process; unless `check` is false, its exit status must be 0."""
        from cortex_git.env import Env
        from cortex_git.main import main

        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
        stdin = io.BytesIO(input if isinstance(input, bytes) else input.encode())
        env = Env({**os.environ, **(variables or {})}, str(cwd or self.path), self.clock, stdin, *streams)
        status = main(list(args), env)
        out, err = (stream.buffer.getvalue().decode() for stream in streams)  # type: ignore[attr-defined]
        return self._ended(Result(args, status, out, err), check)

    def process(
        self,
        *args: str,
        input: str | bytes = b"",
        check: bool = True,
        variables: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Result:
        """Run `git-cortex` in a process of its own; otherwise as `run`."""
        done = subprocess.run(
            [sys.executable, "-m", "cortex_git", *args],
            cwd=cwd or self.path,
            input=input if isinstance(input, bytes) else input.encode(),
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(variables or {})},
        )
        out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        return self._ended(Result(args, done.returncode, out, err), check)

    @staticmethod
    def _ended(result: Result, check: bool) -> Result:
        if check and result.status != 0:
            raise AssertionError(repr(result))
        return result


def _bare_path() -> str:
    """PATH without folders that hold an installed git-cortex or an assistant: `init` and hooks would differ by them."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    system = {"/bin", "/usr/bin"}
    return os.pathsep.join(f for f in folders if f in system or not any(Path(f, name).exists() for name in _PROGRAMS))


@pytest.fixture(scope="session", autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For the whole run: no setting of the machine or the user reaches a test, and no test their home.

    The home is a file until a test asks for the fixture `home` or `repo`, so whatever would read
    or write the user's own settings fails.
    """
    base = tmp_path_factory.mktemp("environment")
    (base / "no-home").write_text("a test that needs a home asks for the fixture `home` or `repo`\n")
    (base / "gitconfig").write_text(
        f"[user]\n\tname = {NAME}\n\temail = {MAIL}\n[init]\n\tdefaultBranch = main\n[core]\n\teditor = true\n"
        "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[protocol \"file\"]\n\tallow = always\n"
        + formats.CONFIG.get(formats.FORMAT, "")
    )
    patch = pytest.MonkeyPatch()
    for name in list(os.environ):
        if name.startswith(_DROPPED) and name not in _KEPT:
            patch.delenv(name)
    for name in ("LANG", "LANGUAGE", "PAGER", "EDITOR", "VISUAL", "NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR"):
        patch.delenv(name, raising=False)
    fixed = {
        "HOME": str(base / "no-home"),
        "GIT_CONFIG_GLOBAL": str(base / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "PATH": _bare_path(),
        "TZ": "UTC",
        "LC_ALL": "C",
        **formats.VARIABLES.get(formats.FORMAT, {}),
    }
    for name, value in fixed.items():
        patch.setenv(name, value)
    time.tzset()
    yield
    patch.undo()
    time.tzset()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, empty and of this test alone."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> TestRepo:
    """An empty repository on the branch `main`, before `git cortex init`."""
    return TestRepo.make(tmp_path / "repo")


@pytest.fixture
def client() -> Path:
    """The real Claude Code client that CLAUDE_CLI names, or a skip that the summary repeats loudly."""
    path = os.environ.get("CLAUDE_CLI")
    if not path:
        pytest.skip(_NO_CLIENT)
    return Path(path)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Where the installed git cannot do the format that is asked for, say so loudly instead of failing everywhere."""
    if formats.FORMAT and (reason := formats.missing()):
        pytest.exit(f"THE TESTS WITH {formats.FORMAT} REPOSITORIES WERE NOT RUN: {reason}", returncode=0)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With a format asked for, only what works in a repository is worth another run."""
    if not formats.FORMAT:
        return
    kept = [item for item in items if {"repo", "home"} & set(getattr(item, "fixturenames", ()))]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly that the end-to-end tests were not run."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "CLAUDE_CLI" in str(report.longrepr)]
    if skipped:
        text = f"{len(skipped)} TESTS WITH THE REAL CLIENT WERE NOT RUN: {_NO_CLIENT}"
        terminalreporter.write_sep("!", text, red=True, bold=True)
