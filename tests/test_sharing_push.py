"""The memory of a push: it goes along with its commits, and is never in the way of the push itself."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import TestRepo
from team import Hub, decide, opened, push, seen
from test_light_imports import _heavy, _imports

from cortex_git.hook.push import Pushed, asks_for_dry_run
from cortex_git.store import remotes

FEWEST = 10.0
"""Seconds that a push with a hanging remote may take at the most here; the hook's own limit is 3."""


@pytest.fixture
def hub(tmp_path: Path, home: Path) -> Hub:
    """A hub with one commit on main."""
    return Hub(tmp_path / "hub")


@pytest.fixture
def clone(hub: Hub) -> TestRepo:
    """A clone that shares with the hub, with a decision in a commit that is not pushed yet."""
    made = hub.clone("a")
    decide(made, "Use SQLite")
    made.commit({"g": "1\n"})
    return made


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    listener = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                held.append(listener.accept()[0])
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()
    for connection in held:
        connection.close()


def hook(repo: TestRepo, remote: str = "origin") -> subprocess.CompletedProcess[str]:
    """Run the pre-push hook for a push of main, as git would; the code's own push cannot hang then."""
    head = repo.git("rev-parse", "HEAD")
    shim = Path(opened(repo).home, "git-hooks", "pre-push")
    return subprocess.run(
        [str(shim), remote, "somewhere"],
        cwd=repo.path,
        input=f"refs/heads/main {head} refs/heads/main {'0' * 40}\n",
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_memory_goes_with_the_commits_that_are_pushed(hub: Hub, clone: TestRepo) -> None:
    """A push sends what belongs to its commits; what was said since, and other branches, stay until theirs."""
    clone.git("switch", "-qc", "other")
    decide(clone, "Use TOML")
    clone.commit({"h": "1\n"})
    clone.git("switch", "-q", "main")
    decide(clone, "Use Rust")
    assert 0 == push(clone).returncode
    assert ["A change", "Use SQLite"] == hub.contents()

    push(clone, "origin", "other")
    assert ["A change", "A change", "Use SQLite", "Use TOML"] == hub.contents()


def test_two_clones_write_about_one_commit(hub: Hub, clone: TestRepo) -> None:
    """Memory of two clones on the same branch and commit is all there, in a third."""
    push(clone)
    other = hub.clone("b")
    decide(other, "Use TOML")
    other.run("sync")
    third = hub.clone("c")
    assert ["Use SQLite", "Use TOML"] == seen(third)


def test_a_finished_branch_is_sent_whole_with_its_merge(hub: Hub, clone: TestRepo) -> None:
    """A branch that was merged and deleted before it was pushed goes with the merge, the last words included."""
    clone.git("switch", "-qc", "feature")
    decide(clone, "Use TOML")
    clone.commit({"h": "1\n"})
    decide(clone, "Use Rust")
    clone.git("switch", "-q", "main")
    clone.git("merge", "-q", "--no-edit", "feature")
    clone.git("branch", "-D", "feature")
    push(clone)
    assert {"Use SQLite", "Use TOML", "Use Rust"} <= set(hub.contents())


def test_a_dry_run_sends_nothing(hub: Hub, clone: TestRepo) -> None:
    """However `--dry-run` is spelled, also by an alias, nothing leaves."""
    clone.git("config", "alias.pretend", "push -n")
    for words in ("push --dry-run", "push -qn", "-c push.default=current push --dry", "pretend"):
        subprocess.run(["git", *words.split()], cwd=clone.path, check=True, capture_output=True)
    assert {} == hub.refs()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("-n", True),
        ("--dry-run origin main", True),
        ("-fn origin", True),
        ("origin --dry-run", True),
        ("--dry-run --no-dry-run", False),
        ("origin main", False),
        ("-o n", False),
        ("-on", False),
        ("-fo n origin", False),
        ("--push-option -n", False),
        ("--repo=-n", False),
        ("--delete origin x", False),
        ("origin -- -n", False),
        ("", False),
    ],
)
def test_a_dry_run_is_known_by_its_arguments(arguments: str, expected: bool) -> None:
    """The option is found among those of `git push`, and nothing else is taken for it."""
    assert expected == asks_for_dry_run(arguments.split())


def test_deletions_tags_and_nothing_new(hub: Hub, clone: TestRepo) -> None:
    """Deleting a branch there sends nothing, a push with nothing to push neither; a tag sends what it reaches."""
    clone.git("push", "-q", "--no-verify", "origin", "main", "main:gone")
    push(clone, "origin", ":gone")
    push(clone)
    assert {} == hub.refs()
    clone.git("tag", "-am", "one", "v1")
    push(clone, "origin", "v1")
    assert ["A change", "Use SQLite"] == hub.contents()


def test_a_remote_that_is_not_named_gets_nothing(hub: Hub, clone: TestRepo, tmp_path: Path) -> None:
    """A push to another remote, or to a bare address, takes no memory along."""
    public = Hub(tmp_path / "elsewhere" / "public")
    clone.git("remote", "add", "pub", str(public.path))
    assert 0 == push(clone, "-f", "pub", "main").returncode
    assert 0 == push(clone, str(hub.path), "main:other").returncode
    assert {} == public.refs() and {} == hub.refs()


def test_a_rejected_push_harms_nothing(hub: Hub, clone: TestRepo) -> None:
    """Where the code is refused since others were faster, memory may be there already; pull, push, and all is well."""
    other = hub.clone("b")
    other.commit({"o": "1\n"})
    push(other)
    assert 0 != push(clone).returncode
    clone.git("pull", "-q", "--rebase")
    assert 0 == push(clone).returncode
    other.git("pull", "-q")
    other.run("sync")
    assert ["Use SQLite"] == seen(other)


def test_a_server_that_refuses_memory_is_left_alone(hub: Hub, clone: TestRepo) -> None:
    """The push succeeds with one warning; the next pushes do not try again, status says why, sync does try."""
    attempts = hub.refuse_notes()
    done = push(clone)
    assert 0 == done.returncode
    warnings = [line for line in done.stderr.splitlines() if line.startswith("git cortex")]
    assert 1 == len(warnings) and "notes are not welcome" in warnings[0]
    assert hub.refs("refs/heads/main")["refs/heads/main"] == clone.git("rev-parse", "HEAD")
    for n in range(3):
        clone.commit({"g": f"{n + 2}\n"})
        assert "git cortex" not in push(clone).stderr
    assert 1 == len(attempts.read_text().splitlines())
    assert "the last push failed" in clone.run("status").out

    asked = clone.run("sync", check=False)
    assert 1 == asked.status and "notes are not welcome" in asked.err
    (hub.path / "hooks" / "pre-receive").unlink()
    clone.run("sync")
    assert "failed" not in clone.run("status").out
    assert "Use SQLite" in hub.contents()


def test_what_is_refused_keeps_nothing_else_back(hub: Hub, clone: TestRepo) -> None:
    """Where a server refuses one ref and takes another, the other is there."""
    clone.git("switch", "-qc", "other")
    decide(clone, "Use TOML")
    clone.commit({"h": "1\n"})
    keys = [clone.git("config", f"branch.{name}.cortexKey").split()[0] for name in ("main", "other")]
    hook = hub.path / "hooks" / "update"
    hook.write_text(f"#!/bin/sh\ncase $1 in *{keys[0]}*) exit 1;; esac\n")
    hook.chmod(0o755)
    said = clone.run("sync", check=False)

    assert 1 == said.status and "1 of 2 refs were refused" in said.err
    assert [keys[1]] == [ref.split("/")[3] for ref in hub.refs()]


def test_back_off_grows_and_ends(clone: TestRepo) -> None:
    """After each failure the remote rests for longer, at most a day; a success ends it, and a clock that jumps too."""
    repo = opened(clone)
    rests = []
    for _ in range(5):
        remotes.note(repo, "origin", remotes.PUSH, 1000.0, "refused")
        rests.append(remotes.last(repo, "origin", remotes.PUSH)["until"] - 1000.0)
    assert [600, 3600, 21600, 86400, 86400] == rests
    assert remotes.resting(repo, "origin", remotes.PUSH, 1001.0)
    assert not remotes.resting(repo, "origin", remotes.PUSH, 1000.0 - 86401)
    remotes.note(repo, "origin", remotes.PUSH, 1002.0)
    assert not remotes.resting(repo, "origin", remotes.PUSH, 1003.0)


def hanging_ssh(folder: Path) -> str:
    """A program in place of ssh that hangs, as does what it starts, and leaves both their numbers."""
    script = folder / "hanging-ssh"
    script.write_text(f"#!/bin/sh\necho $$ >> '{folder}/pids'\nsleep 300 &\necho $! >> '{folder}/pids'\nwait\n")
    script.chmod(0o755)
    return str(script)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").exists() and ") Z " not in Path(f"/proc/{pid}/stat").read_text()


def test_an_ssh_that_hangs_is_ended_with_all_it_started(
    clone: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hook gives up in time, warns once, rests, and leaves no process behind."""
    monkeypatch.setenv("GIT_SSH_COMMAND", hanging_ssh(tmp_path))
    clone.git("remote", "set-url", "origin", "git@example.org:p.git")
    start = time.monotonic()
    done = hook(clone)
    took = time.monotonic() - start

    assert 0 == done.returncode and "" == done.stdout
    assert "it did not answer in time" in done.stderr and took < FEWEST
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) >= 2 and not any(alive(pid) for pid in pids)
    assert remotes.resting(opened(clone), "origin", remotes.PUSH, time.time())
    assert "" == hook(clone).stderr


def test_a_server_that_never_answers_is_not_waited_for(clone: TestRepo, silent_port: int) -> None:
    """A connection that is taken and never answered ends at the limit."""
    clone.git("remote", "set-url", "origin", f"git://127.0.0.1:{silent_port}/p.git")
    start = time.monotonic()
    done = hook(clone)
    assert "it did not answer in time" in done.stderr and time.monotonic() - start < FEWEST


def test_nobody_is_asked_for_a_password(clone: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ssh is told not to ask, with the user's own options kept; programs that ask are replaced by one that does not."""
    program = tmp_path / "ssh"
    shown = "$GIT_ASKPASS $SSH_ASKPASS $GIT_TERMINAL_PROMPT $*"
    program.write_text(f'#!/bin/sh\necho "{shown}" > {tmp_path}/asked\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("GIT_ASKPASS", "an-asking-program")
    clone.git("config", "core.sshCommand", f"{program} -i key")
    clone.git("remote", "set-url", "origin", "git@example.org:p.git")
    hook(clone)
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("false false 0 -i key -o BatchMode=yes ")


def test_a_credential_helper_finds_no_terminal(clone: TestRepo, tmp_path: Path) -> None:
    """A helper that reads from the terminal gets none, so that it fails instead of waiting."""
    from cortex_git.store import transport

    out = tmp_path / "out"
    with open(out, "wb") as file:
        pid = transport.spawn(["sh", "-c", "(: < /dev/tty) 2> /dev/null && echo terminal; cat; ps -o tty= -p $$"],
                              dict(os.environ), file.fileno())
    os.waitpid(pid, 0)
    assert "?" == out.read_text().strip()


def test_an_output_that_stays_open_is_not_waited_for(clone: TestRepo) -> None:
    """A helper that git leaves running, such as an ssh that is kept for the next time, keeps nobody waiting."""
    from cortex_git.store import transport

    answer = transport._run(["sh", "-c", "sleep 300 & echo said"], dict(os.environ), 60)
    assert (0, "said\n") == (answer.status, answer.out)


def test_a_mirror_push_is_warned_of_and_left_alone(hub: Hub, clone: TestRepo, tmp_path: Path) -> None:
    """`push --mirror` carries refs that are meant to stay, so there is a warning; and it is not raced against."""
    clone.run("decide", "--private", "Sell the company")
    TestRepo.make(tmp_path / "mirror", "--bare")
    clone.git("remote", "add", "--mirror=push", "copy", str(tmp_path / "mirror"))
    clone.git("config", "remote.copy.cortexShare", "true")
    done = push(clone, "copy")
    assert 0 == done.returncode, done.stderr
    assert "meant to stay here" in done.stderr


def test_notes_that_are_pushed_by_hand_are_not_raced_against(hub: Hub, clone: TestRepo) -> None:
    """A push of the notes refs themselves succeeds: the hook moves none of them meanwhile."""
    done = push(clone, "origin", "main", "refs/notes/cortex/*")
    assert 0 == done.returncode, done.stderr
    assert "Use SQLite" in hub.contents()


def test_the_hook_imports_nothing_heavy(hub: Hub, clone: TestRepo) -> None:
    """A push that sends memory loads none of the slow modules."""
    head = clone.git("rev-parse", "HEAD")
    line = f"refs/heads/main {head} refs/heads/main {'0' * 40}\n".encode()
    modules = _imports("git", "pre-push", "origin", str(hub.path), cwd=clone.path, input=line)
    assert "cortex_git.store.transport" in modules and set() == _heavy(modules)
    assert "Use SQLite" in hub.contents()


def test_what_git_says_of_a_push_is_read(clone: TestRepo) -> None:
    """Commits are taken from branches and tags, none from deletions or notes."""
    one, zero = "1" * 40, "0" * 40
    read = Pushed([
        f"refs/heads/a {one} refs/heads/a {zero}",
        f"(delete) {zero} refs/heads/b {one}",
        f"refs/notes/cortex/k/c {one} refs/notes/cortex/k/c {zero}",
        "nonsense",
        "",
    ])
    assert ([one], True, False) == (read.commits, read.notes, read.local)


def test_our_own_push_runs_no_hook(hub: Hub) -> None:
    """The user's own pre-push hook runs once for a push, not once more for its memory."""
    clone = hub.empty_clone("b")
    own = clone.path / ".git" / "hooks" / "pre-push"
    own.write_text(f"#!/bin/sh\necho run >> '{clone.path}/runs'\n")
    own.chmod(0o755)
    clone.run("init", "--yes", "--no-claude")
    clone.run("share", "--yes")
    decide(clone, "Use TOML")
    clone.commit({"h": "1\n"})
    push(clone)
    assert "run\n" == (clone.path / "runs").read_text()
    assert "Use TOML" in hub.contents()


def test_settings_for_pushes_do_not_reach_ours(hub: Hub, clone: TestRepo) -> None:
    """Push options, tags that follow, submodule checks and signed pushes of the user's settings are for code."""
    settings = {"push.pushOption": "ci.skip", "push.followTags": "true", "push.recurseSubmodules": "check"}
    for name, value in {**settings, "push.gpgSign": "true", "remote.origin.push": "refs/heads/*:refs/heads/*"}.items():
        clone.git("config", name, value)
    clone.git("tag", "-am", "one", "v1")
    clone.run("sync")
    assert "Use SQLite" in hub.contents()
    assert {} == hub.refs("refs/tags")


def test_without_a_git_to_be_seen_memory_is_sent(hub: Hub, clone: TestRepo) -> None:
    """The hook that is run by something else than git, such as a hook manager, sends."""
    assert 0 == hook(clone).returncode
    assert ["A change", "Use SQLite"] == hub.contents()


def test_an_absent_python_never_fails_a_push(clone: TestRepo) -> None:
    """With the program gone the push goes through."""
    home = Path(opened(clone).home)
    (home / "program").write_text("/nowhere/python\n/nowhere\n64\n")
    assert 0 == push(clone).returncode
