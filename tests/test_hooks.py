"""The hooks as they run: nothing is lost, nothing is doubled, and nobody is disturbed."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import formats
import pytest
from conftest import ROOT, TestRepo, shared

from cortex_git.errors import CortexError
from cortex_git.store import spool
from cortex_git.store.notes import Writer
from cortex_git.store.repo import Repo

SPOOLED = ["PostToolUse", "PostToolUseFailure", "UserPromptSubmit"]
DRAINED = ["Stop", "SubagentStop", "PreCompact", "SessionEnd", "SessionStart"]


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository with a memory and one commit."""
    repo.commit({"f": "1\n"})
    repo.run("init")
    return repo


def home(repo: TestRepo) -> str:
    found = Repo.discover(str(repo.path), os.environ)
    assert found is not None
    return found.home


def command(repo: TestRepo, event: str) -> list[str]:
    """What the assistant's client runs for an event."""
    kind = "capture" if event in SPOOLED else "drain"
    return ["sh", str(Path(home(repo), "hooks", kind)), event]


def fire(
    repo: TestRepo, event: str, payload: bytes | dict[str, object], **variables: str
) -> subprocess.CompletedProcess[bytes]:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    env = {**os.environ, **variables}
    return subprocess.run(command(repo, event), cwd=repo.path, input=data, env=env, capture_output=True, timeout=60)


def said(text: str, session: str = "s1", **more: object) -> dict[str, object]:
    return {"session_id": session, "cwd": "/", "last_assistant_message": text, "stop_hook_active": False, **more}


def contents(repo: TestRepo, *arguments: str) -> list[str]:
    return [event["content"] for event in json.loads(repo.run("log", "--json", *arguments).out)]


def log(repo: TestRepo) -> str:
    path = Path(home(repo), "log")
    return path.read_text() if path.exists() else ""


def test_forty_hooks_at_once_lose_nothing(ready: TestRepo) -> None:
    """Forty turns that end at the same moment are all remembered, each once."""
    processes = []
    for n in range(40):
        process = subprocess.Popen(
            command(ready, "Stop"), cwd=ready.path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(said(f"[MEMORY: decision] Number {n} was chosen", f"s{n}")).encode())
        process.stdin.close()
        processes.append(process)
    assert {0} == {process.wait(60) for process in processes}

    assert {f"Number {n} was chosen": 1 for n in range(40)} == Counter(contents(ready, "--type", "decision"))
    assert "Traceback" not in log(ready)


def kill_drains(repo: TestRepo, times: int, seed: int) -> None:
    """Kill a drain at a random moment, again and again; then let one finish."""
    dice = random.Random(seed)
    wanted = set()
    for n in range(times):
        for k in range(3):
            text = f"Choice {n}.{k}"
            wanted.add(text)
            payload = json.dumps(said(f"[MEMORY: decision] {text}", f"s{n}")).encode()
            spool.write(home(repo), "claude", "Stop", str(repo.path), "ref: refs/heads/main", payload)
        hookmain = [sys.executable, "-I", "-S", str(ROOT / "cortex_git/hookmain.py"), "claude", "Stop", "r.none"]
        process = subprocess.Popen(hookmain, cwd=repo.path, stdout=subprocess.DEVNULL)
        time.sleep(dice.uniform(0, 0.12))
        process.send_signal(signal.SIGKILL)
        process.wait()
    found = Counter(contents(repo, "--type", "decision"))

    assert dict.fromkeys(wanted, 1) == found
    assert [] == spool.names(home(repo))
    assert "" == repo.git("fsck", "--strict", "--no-dangling")


def test_a_killed_drain_loses_and_doubles_nothing(ready: TestRepo) -> None:
    """Killed at 20 random points, the drain's work is whole after the next one."""
    kill_drains(ready, 20, 1)


@pytest.mark.slow
def test_a_drain_killed_200_times_loses_and_doubles_nothing(ready: TestRepo) -> None:
    """The same, 200 times."""
    kill_drains(ready, 200, 2)


def test_a_payload_that_breaks_stops_nothing_else(ready: TestRepo) -> None:
    """What cannot be read is set aside and named in the log; its neighbours are stored."""
    for payload in (b"{", b"[]", json.dumps(said("[MEMORY: decision] Use SQLite")).encode(), b"\xff\xfe"):
        spool.write(home(ready), "claude", "Stop", str(ready.path), "ref: refs/heads/main", payload)

    assert 0 == fire(ready, "Stop", said("done")).returncode

    assert ["Use SQLite"] == contents(ready)
    assert 3 == len(spool.bad_names(home(ready)))
    assert 3 == log(ready).count("set aside")


BAD = {
    "empty": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "null": b"null",
    "wrong types": b'{"session_id":[],"tool_name":{},"tool_input":7,"prompt":null,"last_assistant_message":[1]}',
    "not UTF-8": b'{"session_id":"\xff\xfe","prompt":"\xff"}',
    "NUL": b"\0" * 1000,
    "deep": b"[" * 100_000,
    "huge": b'{"session_id":"s","prompt":"' + b"x" * 50_000_000 + b'"}',
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_no_trouble_for_the_caller(ready: TestRepo, name: str) -> None:
    """Whatever a client sends, the hook is silent, ends with 0, and the next good payload is stored."""
    for event in ("PostToolUse", "Stop"):
        done = fire(ready, event, BAD[name])
        assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    fire(ready, "Stop", said("[MEMORY: decision] Use SQLite"))

    assert ["Use SQLite"] == contents(ready, "--type", "decision")
    assert "Traceback" not in log(ready)


@pytest.mark.parametrize("event", [*SPOOLED, *DRAINED])
def test_where_nothing_was_initialised_nothing_happens(repo: TestRepo, tmp_path: Path, event: str) -> None:
    """In a repository without a memory, and outside of any, the hooks leave no trace."""
    kind = "capture" if event in SPOOLED else "drain"
    before = sorted((repo.path / ".git").rglob("*"))
    for place in (repo.path, tmp_path):
        done = subprocess.run(["sh", str(ROOT / "hooks" / kind), event], cwd=place, input=b"{}", capture_output=True)
        assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)

    assert before == sorted((repo.path / ".git").rglob("*"))


def test_a_prompt_and_its_tools_are_remembered_at_the_end_of_the_turn(ready: TestRepo) -> None:
    """Payloads that were only spooled come into the memory with the next drain, in order."""
    fire(ready, "UserPromptSubmit", {"session_id": "s1", "prompt": "[MEMORY: decision] Use SQLite"})
    fire(
        ready,
        "PostToolUse",
        {
            "session_id": "s1",
            "tool_name": "Bash",
            "tool_use_id": "t1",
            "tool_input": {"command": "make test"},
            "tool_response": {},
        },
    )
    fire(ready, "Stop", said("Done."))

    assert {"Use SQLite", "make test"} <= set(contents(ready, "--type", "decision", "--type", "command"))


def test_a_payload_belongs_to_the_branch_on_which_it_was_written(ready: TestRepo) -> None:
    """A drain after `git switch` stores what was said before under the branch of that time."""
    ready.git("switch", "-qc", "feature")
    fire(ready, "UserPromptSubmit", {"session_id": "s1", "prompt": "[MEMORY: decision] Use SQLite"})
    ready.git("switch", "-q", "main")
    fire(ready, "Stop", said("Done."))

    assert ([], ["Use SQLite"]) == (contents(ready), contents(ready, "--branch", "feature"))


def test_the_last_message_is_taken_once(ready: TestRepo, tmp_path: Path) -> None:
    """A final message that comes with the payload first and in the transcript later is one event."""
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text("")
    text = "[MEMORY: decision] Use SQLite"
    fire(ready, "Stop", said(text, transcript_path=str(transcript)))
    line = {
        "type": "assistant", "uuid": "u1", "sessionId": "s1", "gitBranch": "main",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": "assistant", "model": "m", "content": [{"type": "text", "text": text}]},
    }  # fmt: skip
    transcript.write_text(json.dumps(line) + "\n")
    fire(ready, "SessionEnd", {"session_id": "s1", "transcript_path": str(transcript), "reason": "other"})
    fire(ready, "Stop", said("Done.", transcript_path=str(transcript)))

    assert [text.removeprefix("[MEMORY: decision] ")] == contents(ready, "--type", "decision")


def test_what_an_interrupted_session_left_is_found_by_the_next(ready: TestRepo) -> None:
    """A session that died without Stop is drained when the next one starts, and is in its briefing."""
    fire(ready, "UserPromptSubmit", {"session_id": "dead", "prompt": "[MEMORY: decision] Use SQLite"})

    answer = json.loads(fire(ready, "SessionStart", {"session_id": "s2", "source": "startup"}).stdout)

    assert "Use SQLite" in answer["hookSpecificOutput"]["additionalContext"]


def test_a_briefing_comes_once(ready: TestRepo) -> None:
    """What the rules file has brought already is not said again; what is newer is."""
    fire(ready, "Stop", said("[MEMORY: decision] Use SQLite"))
    fire(ready, "PreCompact", {"session_id": "s1", "trigger": "manual"})
    assert "Use SQLite" in ready.read(".claude/rules/cortex-briefing.md")
    assert b"" == fire(ready, "SessionStart", {"session_id": "s2", "source": "startup"}).stdout

    (ready.path / ".claude/rules/cortex-briefing.md").unlink()

    assert b"Use SQLite" in fire(ready, "SessionStart", {"session_id": "s3", "source": "startup"}).stdout
    assert not (ready.path / ".claude/rules/cortex-briefing.md").exists()


def test_the_rules_file_stays_as_it_is_while_a_session_runs(ready: TestRepo) -> None:
    """Neither the end of a turn nor the assistant's own commit changes what the client would then show twice."""
    before = ready.read(".claude/rules/cortex-briefing.md")
    fire(ready, "Stop", said("[MEMORY: decision] Use SQLite"))
    ready.git("commit", "-q", "--allow-empty", "-m", "In a session", variables={"CLAUDE_CODE_SESSION_ID": "s1"})

    assert before == ready.read(".claude/rules/cortex-briefing.md")


def of_decisions(folder: Path, count: int) -> Path:
    """A transcript of one session in which an assistant decides so many times."""
    transcript = folder / "s1.jsonl"
    with transcript.open("w") as file:
        for n in range(count):
            text = f"[MEMORY: decision] Number {n} was chosen"
            message = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": text}]}
            line = {"type": "assistant", "uuid": f"u{n}", "sessionId": "s1", "gitBranch": "main", "message": message}
            file.write(json.dumps(line | {"timestamp": f"2026-01-01T00:00:{n:02}.000Z"}) + "\n")
    return transcript


def test_a_long_transcript_is_taken_in_piece_by_piece(
    ready: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one drain has no time for waits for the next, and in the end nothing is missing or doubled."""
    transcript = of_decisions(tmp_path, 30)
    monkeypatch.setattr("cortex_git.capture.drain.BUDGET", 0.0)
    monkeypatch.setattr("cortex_git.capture.drain._PIECE", 500)
    payload = json.dumps(said("Done.", transcript_path=str(transcript))).encode()
    spool.write(home(ready), "claude", "Stop", str(ready.path), "ref: refs/heads/main", payload)

    first = contents(ready, "--type", "decision")
    drains = 1
    while spool.names(home(ready)):
        contents(ready)
        drains += 1

    assert 1 <= len(first) < 30
    assert 2 < drains < 30
    assert {f"Number {n} was chosen": 1 for n in range(30)} == Counter(contents(ready, "--type", "decision"))


def test_a_piece_that_could_not_be_stored_is_stored_later(
    ready: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a ref cannot be written in the middle of a transcript, the drain stops there and the next one goes on."""
    transcript = of_decisions(tmp_path, 12)
    monkeypatch.setattr("cortex_git.capture.drain._PIECE", 500)
    write, calls = Writer.write, []

    def refuse_once(self: Writer, *arguments: object, **options: object) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise CortexError("a lock is in the way")
        write(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "write", refuse_once)
    payload = json.dumps(said("Done.", transcript_path=str(transcript))).encode()
    spool.write(home(ready), "claude", "Stop", str(ready.path), "ref: refs/heads/main", payload)

    assert "a lock is in the way" in ready.run("log").err
    assert 1 == len(spool.names(home(ready)))

    assert {f"Number {n} was chosen": 1 for n in range(12)} == Counter(contents(ready, "--type", "decision"))


DAMAGE = {
    "cut off": lambda data: data[: len(data) // 2],
    "deeply nested": lambda data: b"[" * 100_000,
    "of wrong types": lambda data: data.replace(b":", b':[7],"x":', 1),
    "changed within": lambda data: data.replace(b"Use SQLite", b"Use Oracle"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_kept_for_speed_may_be_damaged(ready: TestRepo, damage: str) -> None:
    """Every file that is derived is made anew when it is not as it was written: nothing fails, nothing changes."""
    fire(ready, "Stop", said("[MEMORY: decision] Use SQLite"))
    ready.commit({"g": "1\n"})
    contents(ready)
    for path in Path(home(ready)).rglob("*.json"):
        if path.parent.name != "index":
            path.write_bytes(DAMAGE[damage](path.read_bytes()))

    fire(ready, "Stop", said("[MEMORY: decision] Use WAL"))
    ready.commit({"h": "1\n"})

    assert {"Use SQLite", "Use WAL"} == set(contents(ready, "--type", "decision"))
    assert 2 == len(ready.git("ls-files", ".cortex/decisions").splitlines())
    assert "Traceback" not in log(ready)


def test_a_folder_in_place_of_a_file_stops_nothing(ready: TestRepo) -> None:
    """Even where the state cannot be written over, what was said is stored."""
    for name in ("state.json", "cache/anchors.json", "view/common.json"):
        path = Path(home(ready), name)
        path.unlink(missing_ok=True)
        path.mkdir(parents=True)

    fire(ready, "Stop", said("[MEMORY: decision] Use SQLite"))

    assert ["Use SQLite"] == contents(ready, "--type", "decision")
    assert [] == spool.names(home(ready))


def test_somebody_elses_malicious_segment_stops_nothing(ready: TestRepo) -> None:
    """A notes blob that is nested without end is passed over, and what stands beside it is read."""
    fire(ready, "Stop", said("[MEMORY: decision] Use SQLite"))
    [ref] = ready.git("for-each-ref", "--format=%(refname)", "refs/notes/cortex").splitlines()
    blob = ready.git("hash-object", "-w", "--stdin", input="[" * 200_000)
    ready.git("notes", f"--ref={ref}", "add", "-C", blob, blob)

    assert ["Use SQLite"] == contents(ready, "--type", "decision")
    ready.commit({"g": "1\n"})
    assert 1 == len(ready.git("ls-files", ".cortex/decisions").splitlines())


def test_switching_branches_switches_the_context(ready: TestRepo) -> None:
    """After a checkout the rules file holds the memory of the branch that is checked out now."""
    ready.git("switch", "-qc", "feature")
    fire(ready, "Stop", said("[MEMORY: decision] Use SQLite"))
    ready.git("commit", "-q", "--allow-empty", "-m", "By hand")
    rules = ".claude/rules/cortex-briefing.md"
    assert "Use SQLite" in ready.read(rules)

    ready.git("switch", "-q", "main")
    assert "Use SQLite" not in ready.read(rules)

    ready.git("switch", "-q", "feature")
    assert "Use SQLite" in ready.read(rules)


def test_a_commit_says_what_it_takes_along(ready: TestRepo) -> None:
    """One line names the first items that a commit brings, and how many files there are beside them."""
    for number in range(5):
        ready.run("decide", f"Use SQLite {number}")
    ready.write({"g": "1\n"})
    ready.git("add", "g")

    done = subprocess.run(["git", "commit", "-qm", "x"], cwd=ready.path, capture_output=True, text=True)

    [line] = [line for line in done.stderr.splitlines() if line.startswith("git cortex: ")]
    assert line.startswith("git cortex: adds .cortex/decisions/")
    assert line.endswith(" and 1 more file, and the pages")


def test_the_commands_are_not_needed_for_capturing(ready: TestRepo) -> None:
    """With an empty PATH hooks still keep what was said, and a commit succeeds."""
    program = Path(home(ready), "program").read_text()
    done = subprocess.run(
        ["/bin/sh", *command(ready, "Stop")[1:]],
        cwd=ready.path,
        env={"HOME": "/"},
        capture_output=True,
        input=json.dumps(said("[MEMORY: decision] Use SQLite")).encode(),
    )

    assert 0 == done.returncode
    assert ["Use SQLite"] == contents(ready)
    assert program == Path(home(ready), "program").read_text()


def test_without_the_program_nothing_is_blocked_and_nothing_piles_up(ready: TestRepo) -> None:
    """When the installation is gone, commits succeed and hooks stop writing."""
    Path(home(ready), "program").write_text("/nonexistent/python\n/nonexistent\n")
    assert 0 == fire(ready, "UserPromptSubmit", {"session_id": "s1", "prompt": "x"}).returncode

    ready.write({"g": "1\n"})
    ready.git("add", "g")
    ready.git("commit", "-qm", "Goes through")

    assert [] == spool.names(home(ready))


def test_a_locked_ref_is_named_and_nothing_is_lost(ready: TestRepo) -> None:
    """A stale lock is reported, not deleted; the events wait in the spool and are stored once it is gone."""
    fire(ready, "Stop", said("[MEMORY: decision] First"))
    [ref] = ready.git("for-each-ref", "--format=%(refname)", "refs/notes/cortex").splitlines()
    lock = formats.lock_of(ready.path / ".git", ref)
    lock.write_text("")

    assert 0 == fire(ready, "Stop", said("[MEMORY: decision] Second", "s2")).returncode
    assert ".lock" in log(ready)
    assert lock.exists()
    assert [] != spool.names(home(ready))

    lock.unlink()
    assert {"First", "Second"} == set(contents(ready))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
def test_a_read_only_git_directory_is_no_trouble(ready: TestRepo) -> None:
    """Where nothing can be written, hooks end with 0 and commands say so in one line."""
    nobody = 65534
    folder = Path(home(ready))
    commands = [command(ready, event) for event in ("PostToolUse", "Stop", "SessionStart")]
    for parent in [ready.path, *ready.path.parents][:5]:
        if parent.stat().st_uid == 0 and parent != Path("/tmp") and len(parent.parts) > 2:
            parent.chmod(parent.stat().st_mode | 0o055)
    for path in [ready.path, *ready.path.rglob("*")]:
        os.chown(path, nobody, nobody, follow_symlinks=False)
    for path in [folder, *folder.rglob("*"), ready.path / ".git" / "refs" / "notes"]:
        if path.exists():
            path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    payload = json.dumps(said("[MEMORY: decision] Use SQLite")).encode()

    for line in commands:
        done = subprocess.run(line, cwd=ready.path, input=payload, capture_output=True, user=nobody, group=nobody)
        assert (0, b"") == (done.returncode, done.stderr)


def test_a_full_disk_is_no_trouble(ready: TestRepo) -> None:
    """Where no byte can be written, hooks are silent and end with 0, and no half record is left."""
    payload = json.dumps(said("[MEMORY: decision] Use SQLite")).encode()
    for event in ("PostToolUse", "Stop"):
        line = 'ulimit -f 0; exec "$@"'
        done = subprocess.run(
            ["sh", "-c", line, "sh", *command(ready, event)], cwd=ready.path, input=payload, capture_output=True
        )
        assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)

    assert [] == spool.names(home(ready))


def test_every_recorded_payload_goes_through(ready: TestRepo) -> None:
    """Each payload that the real client sent is taken without a fault."""
    folder = shared("claude-client/payloads")
    count = 0
    for path in sorted(folder.rglob("*.json")):
        data = json.loads(path.read_bytes())
        if not isinstance(data, dict):
            continue
        payload = json.dumps(data.get("payload", data)).encode()
        spool.write(home(ready), "claude", path.parent.name, str(ready.path), "ref: refs/heads/main", payload)
        count += 1
    assert 0 == fire(ready, "Stop", said("Done.")).returncode

    assert 300 < count
    assert ([], []) == (spool.names(home(ready)), spool.bad_names(home(ready)))
    assert "Traceback" not in log(ready)
