"""How commands begin and end: help, versions, exit statuses, errors, reports of bugs, completion, terminals."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest
from conftest import ROOT, TestRepo

from cortex_git import __version__
from cortex_git.cli.root import cli
from cortex_git.env import Env
from cortex_git.main import main

COMMANDS = cli.list_commands(click.Context(cli))


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository with a commit and a memory."""
    repo.commit({"a.txt": "a\n"})
    repo.run("init", "--yes", "--no-plugin")
    return repo


def env_at(path: Path, stdout: io.TextIOWrapper) -> Env:
    """An Env with this standard output."""
    stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    return Env(dict(os.environ), str(path), lambda: 1767225600.0, io.BytesIO(), stdout, stderr)


def test_the_version_is_one_line(repo: TestRepo) -> None:
    """`--version` names the program and its version, outside of everything that could be wrong."""
    assert f"git-cortex {__version__}\n" == repo.run("--version").out


def test_the_version_imports_no_command(repo: TestRepo) -> None:
    """Neither `--version` nor a usage error imports the store, a command, or any heavy module."""
    code = "import sys; from cortex_git.main import main; main(['--version']); print(*sys.modules, sep='\\n')"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    loaded = set(out.splitlines())
    assert "click" in loaded
    assert not loaded & {"cortex_git.memory", "cortex_git.cli.log", "whoosh", "pygit2", "tomlkit", "model2vec", "mcp"}


def test_log_imports_nothing_heavy(ready: TestRepo) -> None:
    """`git cortex log` loads neither the search engine nor libgit2."""
    code = "import sys; from cortex_git.main import main; main(['log']); print(*sys.modules, sep='\\n')"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ready.path, env=environment, capture_output=True, text=True, check=True)
    assert not set(done.stdout.splitlines()) & {"whoosh", "pygit2", "tomlkit", "model2vec", "mcp", "numpy"}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_each_command_has_help(name: str, option: str, repo: TestRepo) -> None:
    """Every command explains itself, with each of its options, outside of an initialised repository."""
    result = repo.run(name, option)
    assert result.out.startswith(f"Usage: git cortex {name}")
    command = cli.get_command(click.Context(cli), name)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert parameter.help, f"{name} {parameter.opts}"
            assert parameter.opts[0] in result.out


def test_without_a_command_there_is_help(repo: TestRepo) -> None:
    """`git cortex` alone lists the commands and ends as wrong usage does."""
    result = repo.run(check=False)
    assert 2 == result.status
    assert all(f"\n  {name} " in result.out for name in COMMANDS)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["lgo"], "did you mean `log`?"),
        (["frobnicate"], "there is no command 'frobnicate'"),
        (["--frobnicate"], "No such option"),
        (["log", "--frobnicate"], "see `git cortex log -h`"),
        (["log", "--type", "nonsense"], "there is no type 'nonsense'"),
        (["log", "--branch", "x", "--all"], "exclude each other"),
        (["log", "-n", "many"], "not a valid integer"),
        (["log", "--color", "blue"], "blue"),
        (["show"], "Missing argument"),
        (["add", "nonsense", "text"], "there is no type"),
        (["decide"], "Missing argument"),
        (["decide", "   "], "the text is empty"),
        (["decide", "-"], "the text is empty"),
        (["export", "--format", "xml"], "xml"),
        (["completion", "tcsh"], "tcsh"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(args: list[str], said: str, repo: TestRepo) -> None:
    """What makes no sense ends with status 2 and one line on standard error that says why."""
    result = repo.run(*args, check=False)
    assert 2 == result.status
    assert "" == result.out
    assert result.err.startswith("git cortex: ")
    assert said in result.err
    assert 1 == result.err.count("\n")


NEED_MEMORY = [
    ["status"],
    ["log"],
    ["show", "abcdef1"],
    ["search", "word"],
    ["add", "learned", "text"],
    ["decide", "text"],
    ["reject", "text"],
    ["learn", "text"],
    ["plan"],
    ["plan", "done"],
    ["project"],
    ["export"],
]


@pytest.mark.parametrize("args", [*NEED_MEMORY, ["init", "--yes"], ["uninstall"], ["doctor"]], ids=" ".join)
def test_outside_a_repository(args: list[str], repo: TestRepo, tmp_path: Path) -> None:
    """A command that needs a repository says so in one line and ends with status 1."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    result = repo.run(*args, check=False, cwd=elsewhere)
    assert (1, "") == (result.status, result.out)
    assert "is not in a git repository" in result.err
    assert 1 == result.err.count("\n")


@pytest.mark.parametrize("args", NEED_MEMORY, ids=" ".join)
def test_before_init(args: list[str], repo: TestRepo) -> None:
    """A command that needs a memory names the command that starts one."""
    result = repo.run(*args, check=False)
    assert (1, "") == (result.status, result.out)
    assert "git cortex init" in result.err
    assert 1 == result.err.count("\n")


@pytest.mark.parametrize("args", [["status"], ["log"], ["log", "--all"], ["plan"], ["export"], ["doctor"], ["verify"]])
def test_on_an_unborn_branch(args: list[str], repo: TestRepo) -> None:
    """Before the first commit there is a memory already, and every command can look at it."""
    repo.run("init", "--yes", "--no-plugin")
    repo.run("decide", "Use SQLite")
    result = repo.run(*args)
    assert "" == result.err


def test_recording_on_an_unborn_branch(repo: TestRepo) -> None:
    """What is recorded before the first commit is shown."""
    repo.run("init", "--yes", "--no-plugin")
    repo.run("decide", "Use SQLite")
    assert "Use SQLite" in repo.run("log", "--oneline").out


def test_on_a_detached_head(ready: TestRepo) -> None:
    """Without a branch things can be recorded and looked at; `status` says that there is none."""
    ready.git("checkout", "--quiet", "--detach")
    ready.run("decide", "Use SQLite")
    assert "Use SQLite" in ready.run("log", "--oneline").out
    assert "HEAD is detached" in ready.run("status").out
    assert json.loads(ready.run("status", "--json").out)["branch"] is None


def test_in_a_bare_repository(ready: TestRepo, tmp_path: Path) -> None:
    """In a bare repository `init` says where to go, and what needs a work tree does, too."""
    bare = TestRepo.make(tmp_path / "bare.git", "--bare")
    result = bare.run("init", "--yes", check=False)
    assert 1 == result.status
    assert "bare repository" in result.err
    assert 1 == bare.run("log", check=False).status


def test_a_folder_below_is_the_same_memory(ready: TestRepo) -> None:
    """Commands work from any folder of the work tree."""
    below = ready.path / "below"
    below.mkdir()
    ready.run("decide", "Use SQLite", "--file", "x.py", cwd=below)
    (event,) = json.loads(ready.run("log", "--json").out)
    assert ["below/x.py"] == event["files"]


def test_a_bug_leaves_a_report(ready: TestRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that nobody expected ends with status 3 and the path of a report without secrets."""
    monkeypatch.setattr("cortex_git.cli.log.select", lambda *_: 1 / 0)
    result = ready.run("log", "--author", "x y", check=False, variables={"PASSPHRASE": "correct horse battery"})
    assert 3 == result.status
    assert 1 == result.err.count("\n")
    path = Path(result.err.split(" with ")[1].strip())
    assert ready.path / ".git" / "cortex" == path.parent
    assert 0o600 == path.stat().st_mode & 0o777
    report = path.read_text()
    assert "git cortex log --author 'x y'" in report
    assert f"git-cortex {__version__}" in report
    assert "ZeroDivisionError" in report
    assert "correct horse" not in report


def test_a_bug_outside_a_repository_leaves_a_report_too(
    repo: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no repository the report is a temporary file."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("cortex_git.cli.verify._root", lambda *_: 1 / 0)
    result = repo.run("verify", check=False, cwd=tmp_path)
    assert 3 == result.status
    assert tmp_path == Path(result.err.split(" with ")[1].strip()).parent


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt(), 130), (BrokenPipeError(), 141), (click.Abort(), 130)]
)
def test_quiet_ends(error: BaseException, status: int, ready: TestRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither ^C nor a reader who left makes a noise."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("cortex_git.cli.log.select", fail)
    result = ready.run("log", check=False)
    assert (status, "", "") == (result.status, result.out, result.err)


def test_a_reader_who_leaves(ready: TestRepo) -> None:
    """A pipe that is closed early ends the program without a word."""
    for number in range(6):
        ready.run("learn", f"fact {number} " + "x" * 16000)
    command = f"'{sys.executable}' -m cortex_git export | head -c 10; exit ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], cwd=ready.path, env=environment, capture_output=True)
    assert (141, b"") == (done.returncode, done.stderr)


def test_a_full_disk(ready: TestRepo) -> None:
    """Output that cannot be written is one line and status 1, not a traceback."""
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full, which only Linux has")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "cortex_git", "status"]
        done = subprocess.run(command, cwd=ready.path, env=environment, stdout=full, stderr=subprocess.PIPE)
    assert 1 == done.returncode
    assert b"git cortex: No space left on device\n" == done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_no_character_is_too_much_for_the_output(encoding: str, ready: TestRepo) -> None:
    """Whatever the encoding of the output, what it cannot hold is escaped."""
    ready.run("decide", "Nimm Übergrößen 日本語 🎉", "--because", "naïve")
    for args in (["log"], ["log", "--json"], ["export"], ["status"]):
        stdout = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict", write_through=True)
        assert 0 == main(args, env_at(ready.path, stdout))
        text = stdout.buffer.getvalue().decode("utf-8" if args == ["export"] else encoding)  # type: ignore[attr-defined]
        assert "Nimm" in text
        if "--json" in args:
            assert "Nimm Übergrößen 日本語 🎉" == json.loads(text)[0]["content"]


def test_control_characters_reach_no_terminal(ready: TestRepo) -> None:
    """Escape sequences and marks that turn text around are shown, not obeyed."""
    ready.run("learn", "red \x1b[31m and \u202eback\u202c, then \x07\rover\nsecond\tline")
    for args in (["log"], ["log", "--oneline"], ["show", "HEAD"], ["status"]):
        out = ready.run(*args).out
        assert not any(c in out for c in "\x1b\x07\r\u202e\u202c")
    assert "red \\x1b[31m and \\u202eback" in ready.run("log").out


def in_terminal(repo: TestRepo, *args: str, variables: dict[str, str] | None = None) -> str:
    """What a command prints on a terminal."""
    main_end, other_end = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", **(variables or {})}
    process = subprocess.Popen(
        [sys.executable, "-m", "cortex_git", *args], cwd=repo.path, env=environment, stdout=other_end, stdin=other_end
    )
    os.close(other_end)
    out = b""
    while True:
        try:
            piece = os.read(main_end, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.close(main_end)
    assert 0 == process.wait()
    return out.decode().replace("\r\n", "\n")


def test_colour_on_a_terminal_only(ready: TestRepo) -> None:
    """Colour is for terminals, unless it is asked for or forbidden."""
    ready.run("decide", "Use SQLite")
    assert "\x1b[" in in_terminal(ready, "log")
    assert "\x1b[" not in in_terminal(ready, "log", variables={"NO_COLOR": "1"})
    assert "\x1b[" not in in_terminal(ready, "log", "--color=never")
    assert "\x1b[" not in in_terminal(ready, "log", variables={"TERM": "dumb"})
    assert "\x1b[" not in ready.run("log").out
    assert "\x1b[" in ready.run("log", "--color=always").out
    assert "\x1b[" in ready.run("log", variables={"GIT_PAGER_IN_USE": "true"}).out
    ready.git("config", "color.ui", "false")
    assert "\x1b[" not in in_terminal(ready, "log")


def test_the_pager_is_git_s(ready: TestRepo) -> None:
    """A long output goes through the pager that git would use, on a terminal only."""
    ready.run("decide", "Use SQLite")
    paged = {"GIT_PAGER": "sed s/^/paged:/"}
    assert in_terminal(ready, "log", "--color=never", variables=paged).startswith("paged:event ")
    assert not ready.run("log", variables=paged).out.startswith("paged:")
    ready.git("config", "core.pager", "sed s/^/core:/")
    environment = {"GIT_PAGER": "cat"}
    assert in_terminal(ready, "log", "--color=never", variables=environment).startswith("event ")


def test_a_pager_that_leaves_early(ready: TestRepo) -> None:
    """Leaving the pager before the end is no error."""
    for number in range(6):
        ready.run("learn", f"fact {number} " + "x" * 16000)
    assert 1 == in_terminal(ready, "log", "--oneline", variables={"GIT_PAGER": "head -n 1"}).count("\n")


def test_waiting_payloads_that_cannot_be_stored_are_a_warning(ready: TestRepo) -> None:
    """A payload that breaks is set aside with a warning; what was asked for is shown all the same."""
    ready.run("decide", "Use SQLite")
    spool = ready.path / ".git" / "cortex" / "spool"
    (spool / "r.broken").write_bytes(b"no record\n\n")
    result = ready.run("log", "--oneline")
    assert "Use SQLite" in result.out
    assert result.err.startswith("git cortex: warning: r.broken was set aside")
    assert [] == list(spool.glob("r.*"))


def test_a_read_only_git_folder_can_be_read(ready: TestRepo) -> None:
    """Where nothing can be written the memory can still be looked at."""
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    ready.run("decide", "Use SQLite")
    home = ready.path / ".git" / "cortex"
    home.chmod(0o500)
    try:
        assert "Use SQLite" in ready.run("log").out
    finally:
        home.chmod(0o700)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, repo: TestRepo) -> None:
    """There is a script for each shell, and where the shell is here it can read it."""
    script = repo.run("completion", shell).out
    assert "_GIT_CORTEX_COMPLETE=1 git-cortex" in script
    path = repo.path / "script"
    path.write_text(script)
    try:
        done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"{shell} is not here")
    assert "" == done.stderr


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (["lo"], ["log"]),
        (["log", "--one"], ["--oneline"]),
        (["log", "--type", "dec"], ["decision"]),
        (["log", "--type", "decision,rej"], ["decision,rejected"]),
        (["log", "--branch", "ma"], ["main"]),
        (["plan", "dr"], ["drop"]),
        (["completion", "b"], ["bash"]),
        (["log", "--nothing"], []),
    ],
)
def test_completion_answers(words: list[str], answers: list[str], ready: TestRepo) -> None:
    """The last word becomes whatever it could be: commands, options, types, branches."""
    out = ready.run(*words, variables={"_GIT_CORTEX_COMPLETE": "1"}).out
    assert answers == [line.split("\t")[0] for line in out.splitlines()]


def test_completion_in_bash(ready: TestRepo) -> None:
    """bash completes `git-cortex lo` and, as git's own completion calls it, `git cortex log --one`."""
    folder = ready.path / "bin"
    folder.mkdir()
    program = folder / "git-cortex"
    program.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m cortex_git \"$@\"\n")
    program.chmod(0o755)
    script = f"""
        PATH='{folder}':$PATH
        eval "$(git-cortex completion bash)"
        COMP_WORDS=(git-cortex lo); COMP_CWORD=1; _git_cortex_program; echo "${{COMPREPLY[*]}}"
        words=(git cortex log --one); cword=3; cur=--one; __git_cmd_idx=1; _git_cortex; echo "${{COMPREPLY[*]}}"
    """
    done = subprocess.run(["bash", "-c", script], cwd=ready.path, capture_output=True, text=True)
    assert ("log\n--oneline\n", "") == (done.stdout, done.stderr)
