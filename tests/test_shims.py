"""The sh shims: what an assistant's hooks and git's hooks run before, or instead of, Python."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, TestRepo, shared

import cortex_git
from cortex_git.setup import program
from cortex_git.store import spool

HOOKS = ROOT / "hooks"
SHELLS = [shell for shell in (["sh"], ["bash"], ["busybox", "sh"]) if shutil.which(shell[0])]
PAYLOAD = b'{"hook_event_name": "PostToolUse", "tool_input": {"command": "ls\\n"}}\n'
# Stands for hookmain: tells what it was started with, through a file named in the environment.
STAND_IN = """\
import json, os, sys
with open(os.environ["SEEN"], "w") as file:
    json.dump({"args": sys.argv[1:], "leader": os.getsid(0) == os.getpid(), "input": sys.stdin.read()}, file)
print("the answer")
print("noise", file=sys.stderr)
sys.exit(int(os.environ.get("STATUS", "0")))
"""


class Shims:
    """A repository whose shims start a stand-in for the program."""

    def __init__(self, repo: TestRepo, folder: Path) -> None:
        self.repo = repo
        self.home = repo.path / ".git" / "cortex"
        self.seen = folder / "seen"
        self.root = folder / "site packages"
        (self.root / "cortex_git").mkdir(parents=True)
        (self.root / "cortex_git" / "hookmain.py").write_text(STAND_IN)
        (self.home / "spool").mkdir(parents=True, mode=0o700)
        program.place(str(self.home))
        self.program(shutil.which("python3") or "python3", str(self.root))

    def program(self, *lines: str) -> None:
        """Write the file that says what the shims start."""
        (self.home / "program").write_text("".join(f"{line}\n" for line in lines))

    def run(
        self,
        *command: str | Path,
        input: bytes = PAYLOAD,
        cwd: Path | None = None,
        variables: dict[str, str] | None = None,
        bare: bool = False,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a shim; `bare` with no environment but the one given."""
        environment = {**({} if bare else os.environ), "SEEN": str(self.seen), **(variables or {})}
        arguments = [str(part) for part in command]
        return subprocess.run(arguments, cwd=cwd or self.repo.path, input=input, env=environment, capture_output=True)

    def capture(self, *, cwd: Path | None = None, input: bytes = PAYLOAD) -> list[spool.Record]:
        """Run the capture shim, which must be silent, and return the records in the spool."""
        done = self.run(HOOKS / "capture", "PostToolUse", input=input, cwd=cwd)
        assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
        return self.records()

    def records(self) -> list[spool.Record]:
        """What is in the spool; nothing but whole records may be there."""
        names = os.listdir(self.home / "spool")
        assert [] == [name for name in names if not name.startswith("r.")]
        records = [spool.read(str(self.home), name) for name in spool.names(str(self.home))]
        return [record for record in records if record is not None]


@pytest.fixture
def shims(repo: TestRepo, tmp_path: Path) -> Shims:
    """The shims in a repository with one commit."""
    repo.commit({"a.txt": "a\n", "folder/b.txt": "b\n"})
    return Shims(repo, tmp_path)


# ---- capture


@pytest.mark.parametrize("shell", SHELLS, ids="-".join)
def test_capture_keeps_the_payload(shell: list[str], shims: Shims) -> None:
    """The record holds the payload untouched, with event, work tree and HEAD, readable by its owner alone."""
    done = shims.run(*shell, HOOKS / "capture", "PostToolUse", cwd=shims.repo.path / "folder")
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    (record,) = shims.records()
    assert ("claude", "PostToolUse", PAYLOAD) == (record.agent, record.event, record.payload)
    assert (os.path.realpath(shims.repo.path), "ref: refs/heads/main") == (record.work_tree, record.head_line)
    assert 0o600 == stat.S_IMODE((shims.home / "spool" / record.name).stat().st_mode)


@pytest.mark.parametrize("payload", [b"", b"\n", b"{", b"\0\xff\n\n\0", b"x" * 1_000_000], ids=len)
def test_capture_changes_no_byte(payload: bytes, shims: Shims) -> None:
    """A payload need not be JSON, nor text, nor anything at all."""
    (record,) = shims.capture(input=payload)
    assert payload == record.payload


def test_capture_in_a_linked_worktree(shims: Shims, tmp_path: Path) -> None:
    """A linked worktree writes to the common spool, with its own path and HEAD."""
    other = tmp_path / "other tree"
    shims.repo.git("worktree", "add", "--quiet", "-b", "topic", str(other))
    (record,) = shims.capture(cwd=other / "folder")
    assert (os.path.realpath(other), "ref: refs/heads/topic") == (record.work_tree, record.head_line)


def test_capture_where_paths_hold_line_ends(tmp_path: Path) -> None:
    """A linked worktree is found where the path of the repository has line ends in it."""
    repo = TestRepo.make(tmp_path / "one\ntwo" / "repo")
    repo.commit({"a.txt": "a\n"})
    (tmp_path / "stand-in").mkdir()
    shims = Shims(repo, tmp_path / "stand-in")
    other = repo.path.parent / "other"
    repo.git("worktree", "add", "--quiet", "-b", "topic", str(other))
    (record,) = shims.capture(cwd=other)
    assert (os.path.realpath(other), "ref: refs/heads/topic", PAYLOAD) == (
        record.work_tree,
        record.head_line,
        record.payload,
    )


def test_capture_in_a_submodule(shims: Shims, tmp_path: Path) -> None:
    """A submodule is a repository of its own: nothing is written to the outer one's spool."""
    inner = TestRepo.make(tmp_path / "inner")
    inner.commit({"c.txt": "c\n"})
    shims.repo.git("submodule", "--quiet", "add", str(inner.path), "sub")
    assert [] == shims.capture(cwd=shims.repo.path / "sub")
    home = shims.repo.path / ".git" / "modules" / "sub" / "cortex"
    (home / "spool").mkdir(parents=True)
    shutil.copy(shims.home / "program", home / "program")
    assert [] == shims.capture(cwd=shims.repo.path / "sub")
    (name,) = os.listdir(home / "spool")
    record = spool.read(str(home), name)
    assert record is not None
    assert os.path.realpath(shims.repo.path / "sub") == record.work_tree


def test_capture_of_a_detached_and_an_unborn_head(shims: Shims) -> None:
    """The line of HEAD is kept as it is."""
    shims.repo.git("checkout", "--quiet", "--detach")
    shims.capture()
    shims.repo.git("checkout", "--quiet", "--orphan", "fresh")
    heads = {record.head_line for record in shims.capture()}
    assert {shims.repo.git("rev-parse", "main"), "ref: refs/heads/fresh"} == heads


def test_capture_follows_git_dir(shims: Shims, tmp_path: Path) -> None:
    """Where GIT_DIR says which repository is meant, the working directory does not."""
    variables = {"GIT_DIR": str(shims.repo.path / ".git"), "GIT_WORK_TREE": str(shims.repo.path)}
    done = shims.run(HOOKS / "capture", "Stop", cwd=tmp_path, variables=variables)
    assert 0 == done.returncode
    assert [os.path.realpath(shims.repo.path)] == [record.work_tree for record in shims.records()]


def test_capture_through_a_link(shims: Shims, tmp_path: Path) -> None:
    """A link to a folder inside the repository leads to the repository."""
    (tmp_path / "link").symlink_to(shims.repo.path / "folder")
    (record,) = shims.capture(cwd=tmp_path / "link")
    assert os.path.realpath(shims.repo.path) == record.work_tree


def test_nothing_is_written_where_nobody_asked(shims: Shims, tmp_path: Path) -> None:
    """No repository, one without `init`, a bare one, one inside an initialised work tree: silent, and no trace."""
    TestRepo.make(tmp_path / "plain")
    TestRepo.make(shims.repo.path / "hub.git", "--bare")
    for folder in (tmp_path, tmp_path / "plain", shims.repo.path / "hub.git"):
        before = sorted(folder.rglob("*"))
        assert [] == shims.capture(cwd=folder)
        assert before == sorted(folder.rglob("*"))


def test_capture_needs_no_environment(shims: Shims) -> None:
    """Without PATH and HOME the payload is kept all the same."""
    done = shims.run(HOOKS / "capture", "PostToolUse", bare=True)
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert 1 == len(shims.records())


def test_capture_stops_when_the_program_is_gone(shims: Shims, tmp_path: Path) -> None:
    """With nothing left that would read the spool it does not grow; with `git-cortex` on PATH it does."""
    shims.program(str(tmp_path / "gone" / "python"), str(shims.root))
    assert [] == shims.capture()
    shims.program(shutil.which("python3") or "", str(tmp_path / "gone"))
    assert [] == shims.capture()
    _fake(tmp_path / "bin" / "git-cortex", "exit 1")
    done = shims.run(HOOKS / "capture", "PostToolUse", variables={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    assert 0 == done.returncode
    assert 1 == len(shims.records())


def test_capture_never_leaves_half_a_record(shims: Shims) -> None:
    """When the disk is full in mid-payload neither a record nor a temporary file stays."""
    limited = 'ulimit -f 100 && exec "$@"'
    done = shims.run("bash", "-c", limited, "-", HOOKS / "capture", "PostToolUse", input=b"x" * 500_000)
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert [] == shims.records()
    shims.run("bash", "-c", limited, "-", HOOKS / "capture", "PostToolUse")
    assert 1 == len(shims.records())


def test_capture_without_a_spool(shims: Shims) -> None:
    """A spool that cannot be written to is nobody's problem."""
    (shims.home / "spool").rmdir()
    (shims.home / "spool").write_text("in the way\n")
    done = shims.run(HOOKS / "capture", "PostToolUse")
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("shell", SHELLS, ids="-".join)
def test_a_missing_spool_is_made_anew(shell: list[str], shims: Shims) -> None:
    """A capture is not lost because somebody removed the folder."""
    (shims.home / "spool").rmdir()
    done = shims.run(*shell, HOOKS / "capture", "PostToolUse")
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert [PAYLOAD] == [record.payload for record in shims.records()]
    assert 0o700 == stat.S_IMODE((shims.home / "spool").stat().st_mode)


def test_only_waiting_records_count(shims: Shims) -> None:
    """What was set aside, and what killed hooks left, does not fill the spool."""
    shims.program(shutil.which("python3") or "", str(shims.root), "1")
    (shims.home / "spool" / "bad").mkdir()
    for path in ("bad/r.x", "tmp.x"):
        (shims.home / "spool" / path).write_bytes(bytes(2_000_000))
    for number in range(40):
        (shims.home / "spool" / f"r.{number}").write_bytes(b"cortex-spool 1\n\n")
    shims.run(HOOKS / "capture", "PostToolUse")
    assert 41 == len(spool.names(str(shims.home)))


@pytest.mark.parametrize("shell", SHELLS, ids="-".join)
def test_a_full_spool_stays_full_until_it_is_not(shell: list[str], shims: Shims) -> None:
    """Once full it takes nothing at any number of records, and takes payloads again as soon as it was read."""
    shims.program(shutil.which("python3") or "", str(shims.root), "1")
    for number in range(40):
        (shims.home / "spool" / f"r.{number}").write_bytes(b"cortex-spool 1\n\n" + os.urandom(40_000))
    shims.run(*shell, HOOKS / "capture", "PostToolUse")
    shims.run(*shell, HOOKS / "drain", "Stop")
    shims.run(*shell, HOOKS / "capture", "PostToolUse")
    assert 41 == len(spool.names(str(shims.home)))
    spool.discard(str(shims.home), spool.names(str(shims.home)))
    for expected in (1, 2):
        shims.run(*shell, HOOKS / "capture", "PostToolUse")
        assert expected == len(shims.records())
    assert not (shims.home / "spool.full").exists()


def test_the_spool_is_capped(shims: Shims) -> None:
    """Beyond its limit, which the third line of `program` gives in MiB, the spool takes no more than a few payloads."""
    shims.program(shutil.which("python3") or "", str(shims.root), "1")
    for number in range(40):
        (shims.home / "spool" / f"r.{number}").write_bytes(b"cortex-spool 1\n\n" + os.urandom(40_000))
    for _ in range(9):
        shims.run(HOOKS / "capture", "PostToolUse")
    assert 40 == len(os.listdir(shims.home / "spool"))
    shims.program(shutil.which("python3") or "", str(shims.root), "64")
    shims.run(HOOKS / "capture", "PostToolUse")
    assert 41 == len(os.listdir(shims.home / "spool"))


def test_forty_at_once_lose_nothing(shims: Shims) -> None:
    """Forty hooks that run at the same time leave forty records."""
    running = []
    for number in range(40):
        process = subprocess.Popen([HOOKS / "capture", "PostToolUse"], stdin=subprocess.PIPE, cwd=shims.repo.path)
        assert process.stdin is not None
        process.stdin.write(b"%d" % number)
        running.append(process)
    for process in running:
        process.communicate()
    assert set(range(40)) == {int(record.payload) for record in shims.records()}


def test_every_recorded_payload_is_kept(shims: Shims) -> None:
    """What the real client was seen to send, of every event, arrives in the spool to the byte."""
    payloads = [path.read_bytes() for path in sorted(shared("claude-client/payloads").glob("*/*.json"))][::7]
    assert payloads
    for payload in payloads:
        shims.capture(input=payload)
    assert sorted(payloads) == sorted(record.payload for record in shims.records())


def test_disabled_by_the_environment(shims: Shims) -> None:
    """CORTEX_DISABLE switches everything off."""
    for command in ((HOOKS / "capture", "Stop"), (HOOKS / "drain", "Stop"), (shims.home / "git-hooks" / "pre-commit",)):
        assert b"" == shims.run(*command, variables={"CORTEX_DISABLE": "1"}).stdout
    assert [] == shims.records()
    assert not shims.seen.exists()


# ---- drain


@pytest.mark.parametrize("shell", SHELLS, ids="-".join)
def test_drain_keeps_the_payload_and_starts_the_program(shell: list[str], shims: Shims) -> None:
    """Python is started with the record's path, and its standard output is the hook's answer."""
    done = shims.run(*shell, HOOKS / "drain", "SessionStart")
    (record,) = shims.records()
    assert (0, b"the answer\n", b"") == (done.returncode, done.stdout, done.stderr)
    expected = str(shims.home / "spool" / record.name)
    assert ["claude", "SessionStart", expected] == json.loads(shims.seen.read_text())["args"]
    assert PAYLOAD == record.payload


def test_drain_hands_on_no_failure(shims: Shims) -> None:
    """An exit status of 2 would make the assistant go on, or erase the user's prompt."""
    done = shims.run(HOOKS / "drain", "Stop", variables={"STATUS": "2"})
    assert (0, b"") == (done.returncode, done.stderr)
    assert shims.seen.exists()


def test_drain_at_the_end_of_a_session_lives_on(shims: Shims) -> None:
    """At SessionEnd the program gets a session of its own, so that the client's end is not its end."""
    os.mkfifo(shims.seen)
    done = shims.run(HOOKS / "drain", "SessionEnd")
    assert (0, b"") == (done.returncode, done.stdout)
    seen = json.loads(shims.seen.read_text())
    assert seen["leader"] or not shutil.which("setsid")
    assert ["claude", "SessionEnd"] == seen["args"][:2]


def test_drain_answers_when_nothing_can_be_written(shims: Shims) -> None:
    """Without a spool the program is started all the same, with the payload on standard input."""
    (shims.home / "spool").rmdir()
    (shims.home / "spool").write_text("in the way\n")
    done = shims.run(HOOKS / "drain", "SessionStart")
    assert (0, b"the answer\n") == (done.returncode, done.stdout)
    seen = json.loads(shims.seen.read_text())
    assert (["claude", "SessionStart"], PAYLOAD.decode()) == (seen["args"], seen["input"])


def test_drain_by_the_command_on_path(shims: Shims, tmp_path: Path) -> None:
    """If the Python that was written down is gone, the command on PATH takes its place."""
    shims.program(str(tmp_path / "gone"), str(shims.root))
    _fake(tmp_path / "bin" / "git-cortex", 'echo "$@"')
    done = shims.run(HOOKS / "drain", "Stop", variables={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    assert done.stdout.startswith(b"hook claude Stop /")


@pytest.mark.parametrize("name", ["capture", "drain"])
def test_a_shim_without_its_library(name: str, tmp_path: Path) -> None:
    """A shim that finds itself half installed ends with 0."""
    shutil.copy(HOOKS / name, tmp_path / name)
    done = subprocess.run([tmp_path / name, "Stop"], input=PAYLOAD, capture_output=True, cwd=tmp_path)
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)


# ---- git's hooks


@pytest.mark.parametrize("shell", SHELLS, ids="-".join)
@pytest.mark.parametrize("event", program.EVENTS)
def test_a_git_hook_starts_the_program(shell: list[str], event: str, shims: Shims) -> None:
    """Arguments and standard input reach the program; what it prints does not reach git."""
    done = shims.run(*shell, shims.home / "git-hooks" / event, "one", "two three", input=b"old new\n")
    assert (0, b"", b"noise\n") == (done.returncode, done.stdout, done.stderr)
    seen = json.loads(shims.seen.read_text())
    assert (["git", event, "one", "two three"], "old new\n") == (seen["args"], seen["input"])


def test_a_git_hook_never_fails(shims: Shims, tmp_path: Path) -> None:
    """A program that crashes, that is gone, or that cannot be found stops no commit."""
    hook = shims.home / "git-hooks" / "pre-commit"
    assert 0 == shims.run(hook, variables={"STATUS": "1"}).returncode
    assert 0 == shims.run(hook, bare=True).returncode
    shims.program(str(tmp_path / "gone"), str(shims.root))
    assert 0 == shims.run(hook).returncode
    _fake(tmp_path / "bin" / "git-cortex", 'echo "$@" >&2; exit 1')
    done = shims.run(hook, variables={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    assert (0, b"hook git pre-commit\n") == (done.returncode, done.stderr)
    (shims.home / "program").unlink()
    assert 0 == shims.run(hook).returncode
    (shims.home / "git-hooks" / "lib.sh").unlink()
    assert 0 == shims.run(hook).returncode


def test_a_git_hook_does_nothing_inside_our_own_git(shims: Shims) -> None:
    """The guard that our own git calls set keeps hooks from starting each other."""
    assert 0 == shims.run(shims.home / "git-hooks" / "post-commit", variables={"CORTEX_HOOK": "1"}).returncode
    assert not shims.seen.exists()


def test_a_git_hook_is_bounded(shims: Shims, tmp_path: Path) -> None:
    """A program that hangs before it can bound itself is ended from outside."""
    _fake(tmp_path / "bin" / "timeout", 'echo "$1" >&2')
    hook = shims.home / "git-hooks" / "pre-push"
    done = shims.run(hook, variables={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    assert 0 < int(done.stderr) <= 15
    assert not shims.seen.exists()


# ---- the plugin


def test_the_plugin_registers_shims_that_exist() -> None:
    """Each hook of the plugin is one of our shims, called with the event that it is registered for."""
    hooks = json.loads((HOOKS / "hooks.json").read_text())["hooks"]
    answering = {"SessionStart", "Stop", "SubagentStop", "PreCompact", "SessionEnd"}
    assert answering | {"UserPromptSubmit", "PostToolUse", "PostToolUseFailure"} == set(hooks)
    for event, groups in hooks.items():
        for group in groups:
            shim = "drain" if event in answering else "capture"
            assert [f'"${{CLAUDE_PLUGIN_ROOT}}"/hooks/{shim} {event}'] == [hook["command"] for hook in group["hooks"]]
            assert os.access(HOOKS / shim, os.X_OK)


def test_the_plugin_has_the_version_of_the_package() -> None:
    """The client takes a new version of the plugin when the package has one."""
    plugin = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    assert cortex_git.__version__ == plugin["version"]
    assert [("git-cortex", "./")] == [(entry["name"], entry["source"]) for entry in market["plugins"]]


@pytest.mark.slow
def test_the_client_accepts_the_plugin(client: Path, home: Path) -> None:
    """Claude Code's own validation finds nothing wrong."""
    done = subprocess.run([client, "plugin", "validate", str(ROOT)], capture_output=True, text=True)
    assert 0 == done.returncode, done.stdout + done.stderr


def _fake(path: Path, script: str) -> None:
    """A command that does what a line of sh says."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
