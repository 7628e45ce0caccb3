"""What people answer, refuse, accept and commit becomes memory, each once; counted apart from our own reading."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import counting
import pytest
from conftest import SHARED, TestRepo, shared

from cortex_git.capture import shell, transcript
from cortex_git.capture.extract import extract
from cortex_git.capture.units import PROMPT, Unit
from cortex_git.config import Config
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.store import spool

TIME = "2026-01-01T00:00:00.000Z"
FOLDER = SHARED / "transcripts"
NAMES = sorted(path.name for path in FOLDER.glob("*.jsonl.gz"))


def unit(kind: str, text: str = "", **fields: Any) -> Unit:
    return Unit(kind, text, time=TIME, session="s", branch="main", **{"cwd": "/r", **fields})


def events(*units: Unit, memo: dict[str, Any] | None = None) -> list[Event]:
    return extract(units, Config(), author="Ada", root="/r", memo=memo)


def committed(message: str, **fields: Any) -> list[Event]:
    """The events of a commit's message, without the one that only notes the commit."""
    return [event for event in events(unit("commit", message, **fields)) if event.type != model.COMMIT]


@pytest.mark.parametrize("name", NAMES or [pytest.param("", marks=pytest.mark.skip("needs ../shared/transcripts"))])
def test_everything_that_is_counted_becomes_an_event(name: str, tmp_path: Path) -> None:
    """Every answer, reason of a refusal, accepted plan, commit and step of a real transcript is an event."""
    data = gzip.decompress(shared(f"transcripts/{name}").read_bytes())
    path = tmp_path / name.removesuffix(".gz")
    path.write_bytes(data)
    units = transcript.read(str(path)).units
    found: Counter[str] = Counter()
    for event in extract(units, Config(), author="Ada"):
        tool = event.source.get("tool", "")
        found["answer"] += event.type == model.DECISION and tool == "AskUserQuestion"
        found["reason"] += event.type == model.REJECTED and "(refused: " in event.content
        found["accepted"] += event.type == model.PLAN and tool in ("ExitPlanMode", "")
        found["plan"] += event.type == model.PLAN and tool == "TodoWrite"
        found["step"] += event.type == model.STEP
        found["commit"] += event.type == model.COMMIT
    found["typed meanwhile"] = len(_meanwhile(data, units))
    counted = counting.count(data)
    assert {**counted, "summary": 0} == {**+found, "summary": 0}


def _meanwhile(data: bytes, units: list[Unit]) -> list[str]:
    """What was typed while the assistant worked and is a prompt."""
    prompts = {unit.text for unit in units if unit.kind == PROMPT}
    queued = (record for record in counting.records(data) if record.get("operation") == "enqueue")
    return [text for record in queued if (text := record.get("content")) in prompts]


COMMANDS = [
    ("git commit -m 'One thing'", ["One thing"]),
    ('git add -A && git commit -am "A \\"b\\"" -m body && git push', ['A "b"\n\nbody']),
    ('git commit -m "$(cat <<\'EOF\'\nSubject (x)\n\nIt\'s why: "y"\nEOF\n)"', ['Subject (x)\n\nIt\'s why: "y"']),
    ("git commit -F - <<EOF\nHere\n\nbody\nEOF\ngit commit -m two", ["Here\n\nbody", "two"]),
    ("cat > /tmp/m <<'EOF'\nFrom a file\nEOF\ngit commit --file=/tmp/m", ["From a file"]),
    ("echo 'By a pipe' | git commit -F -", ["By a pipe"]),
    ("git commit -F - <<< 'In a word'", ["In a word"]),
    ("git -c user.name=x commit -sm$'a\\n\\nb' --trailer 'Decision=c d'", ["a\n\nb\n\nDecision: c d"]),
    ("(cd sub && FOO=1 git commit --message=m --author 'x <y>' -- file)", ["m"]),
    ("git commit --amend --no-edit", [""]),
    ("git commit --dry-run -m no; git log --grep 'git commit'; echo git commit -m no", []),
    ("python - <<'E'\ngit commit -m no\nE\n# git commit -m no\ngit status", []),
]


@pytest.mark.parametrize(("command", "messages"), COMMANDS)
def test_the_messages_in_a_command(command: str, messages: list[str]) -> None:
    """The messages that a command line gives to git are found in the shapes in which they are given."""
    assert messages == [order.message for order in shell.orders(command)]


@pytest.mark.parametrize("piece", ["\"$(cat <<'A'\n", "'", "\\", "<<a ", '"a"', "$(", "\n\t", "é\0"])
def test_any_command_is_read_quickly(piece: str) -> None:
    """Whatever a command holds and however long it is, reading it ends without an exception."""
    shell.orders("git commit -m " + piece * 20_000)


def call(command: str, stdout: str, failed: bool = False) -> list[Unit]:
    """The units of a finished command."""
    from cortex_git.capture import calls

    begun = unit("tool", tool="Bash", id="t", input=calls.slim({"command": command}))
    return calls.finish(begun, stdout if failed else "", failed, None if failed else {"stdout": stdout})


def noted(units: list[Unit]) -> list[tuple[str, str, str]]:
    """Content, id and place of the commits among the events of units."""
    found = [event for event in events(*units) if event.type == model.COMMIT]
    return [(e.content, e.source.get("commit", ""), e.source.get("elsewhere", "")) for e in found]


def test_a_commit_counts_once_git_has_told_of_it() -> None:
    """Commits are those that git reports, or that were made quietly; a refused one is none."""
    assert [("A", "1a2b3c4", ""), ("B", "2b3c4d5", "")] == noted(
        call("git commit -m A; git commit -m B", "[main 1a2b3c4] A\n 1 file\n[main 2b3c4d5] B\n")
    )
    assert [("A", "", "")] == noted(call("git commit -qm A", ""))
    assert [] == noted(call("git commit -m A", "nothing to commit\n"))
    assert [] == noted(call("git commit -qm A", "Exit code 1\nlint", failed=True))
    assert [("A", "1a2b3c4", "")] == noted(
        call("git commit -m A && ls x", "Exit code 2\n[main 1a2b3c4] A", failed=True)
    )
    assert [("Version 3", "1a2b3c4", "")] == noted(call('git commit -m "Version $V"', "[main 1a2b3c4] Version 3"))
    assert [("A", "1a2b3c4", "true")] == noted(call("cd /tmp/x && git commit -m A", "[main 1a2b3c4] A"))
    assert [("A", "1a2b3c4", "")] == noted(call("cd /r/sub && git commit -m A", "[main 1a2b3c4] A"))


def test_trailers_are_certain() -> None:
    """The trailers of a message are memory of their kinds; others of its block are not, and prose is no trailer."""
    message = (
        "Store notes\n\nSome text.\n\nDecision: use notes instead of a database\n because they travel\n"
        "Rejected: a side branch\nLearned: refs are cheap\nFixed: the lock was left behind\nPreference: tabs in here\n"
        "Next: speed it up\n\nCo-Authored-By: Somebody <a@b>"
    )
    found = committed(message)
    assert [
        (model.DECISION, "use notes", "they travel"),
        (model.REJECTED, "a side branch", ""),
        (model.KNOWLEDGE, "refs are cheap", ""),
        (model.RESOLVED, "the lock was left behind", ""),
        (model.PREFERENCE, "tabs in here", ""),
        (model.KNOWLEDGE, "speed it up", ""),
    ] == [(event.type, event.content, event.reason) for event in found]
    assert {1.0} == {event.confidence for event in found}
    assert ("a database",) == found[0].alternatives
    assert "later" == found[-1].topic
    assert {"Store notes"} == {event.source["subject"] for event in found}


@pytest.mark.parametrize(
    "message",
    [
        "Fix it\n\nFixed: #123",
        "Next: do more",
        "A\n\n- Decision: see below\n- b",
        "A\n\n```\nDecision: not this one\n```",
    ],
)
def test_what_only_looks_like_a_trailer(message: str) -> None:
    """A number of an issue, a subject, a list and code are no trailers."""
    assert [] == [event for event in committed(message) if event.confidence == 1.0]


def test_the_reasons_in_a_message() -> None:
    """What a body gives reasons for is memory, a little surer than in conversation; a list of changes is none."""
    reason = "Use npm install instead of npm ci, because npm ci fails in containers with an old npm."
    (found,) = committed(f"Fix the build\n\n{reason}\n\nSigned-off-by: A <a@b>")
    said = [event for event in events(unit("assistant", reason)) if event.content == found.content]
    assert said[0].confidence <= found.confidence < 1
    assert "git commit" == found.source["tool"]
    assert [] == committed("Tidy\n\n- Rename a to b\n- Move c")


def test_a_commit_elsewhere_says_nothing_of_this_repository() -> None:
    """The message of a commit in another repository is no memory of this one."""
    assert [] == committed("A\n\nDecision: use tabs here", facts={"place": "/tmp/x", "commit": "1a2b3c4"})


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository with a memory and two commits."""
    repo.commit({"f": "1\n"})
    repo.run("init")
    repo.commit({"f": "2\n"})
    return repo


TELLING = "Keep it small\n\nDecision: use notes, because they travel\nNext: speed it up"


def known(repo: TestRepo) -> list[dict[str, Any]]:
    """All events of a repository, oldest first."""
    found: list[dict[str, Any]] = json.loads(repo.run("log", "--everything", "--json").out)
    return found


def test_the_message_of_a_persons_commit_is_memory(ready: TestRepo) -> None:
    """A commit that nobody's tool made tells what its trailers say, as the words of the person who made it."""
    ready.git("commit", "-q", "--allow-empty", "-m", TELLING)
    commit = ready.git("rev-parse", "HEAD")
    found = {event["content"]: event for event in known(ready)}
    decision = found["use notes"]
    assert ("decision_made", "they travel", "user", 1.0) == tuple(
        decision[name] for name in ("type", "reason", "agent", "confidence")
    )
    assert commit == decision["commit"] == found["Keep it small"]["source"]["id"]


def test_a_commit_in_a_session_counts_once(ready: TestRepo) -> None:
    """git's hook and the assistant's own call tell of the same commit and lead to the same events."""
    text = ready.git("commit", "--allow-empty", "-m", TELLING, variables={"CLAUDE_CODE_SESSION_ID": "s"})
    before = known(ready)
    payload = {
        "hook_event_name": "PostToolUse",
        "session_id": "s",
        "cwd": str(ready.path),
        "tool_name": "Bash",
        "tool_use_id": "t",
        "tool_input": {"command": f"git commit --allow-empty -m '{TELLING}'"},
        "tool_response": {"stdout": text, "stderr": "", "interrupted": False},
    }
    home = ready.path / ".git" / "cortex"
    spool.write(
        str(home), "claude", "PostToolUse", str(ready.path), "ref: refs/heads/main", json.dumps(payload).encode()
    )
    after = known(ready)
    assert ["command_run"] == [event["type"] for event in after if event not in before]
    assert {"use notes": 1, "speed it up": 1, "Keep it small": 1} == Counter(
        event["content"] for event in after if event["type"] != "command_run" and event["session"] == "s"
    )


def test_a_commit_with_nothing_to_say_costs_nothing(ready: TestRepo) -> None:
    """A message that only tells what was changed is not asked for and leaves no trace."""
    before = known(ready)
    ready.git("commit", "-q", "--allow-empty", "-m", "Rename a\n\n- b, too\n- c")
    assert before == known(ready)


def test_the_trailers_of_others_commits_are_met_once(ready: TestRepo) -> None:
    """A pulled commit's trailers are memory, unless they are known; what its body says is its author's affair."""
    others = {"CORTEX_DISABLE": "1"}
    text = f"{TELLING.partition('Decision')[0]}We must never use tabs, because make needs them.\n\nDecision: use notes"
    ready.git("checkout", "-q", "-b", "other", variables=others)
    ready.git("commit", "-q", "--allow-empty", "-m", text, variables=others)
    ready.git("commit", "-q", "--allow-empty", "-m", "Two\n\nLearned: refs are cheap", variables=others)
    commit = ready.git("rev-parse", "HEAD~1")
    ready.git("checkout", "-q", "main", variables=others)
    ready.git("commit", "-q", "--allow-empty", "-m", "Three\n\nLearned: refs are cheap")
    ready.git("merge", "-q", "--no-edit", "other")
    ready.git("merge", "-q", "--no-edit", "other")
    found = known(ready)
    assert {"use notes": 1, "refs are cheap": 1} == Counter(e["content"] for e in found if e["type"] != "commit_made")
    (met,) = [event for event in found if event["content"] == "use notes"]
    assert (commit, "", "user") == (met["commit"], met.get("session", ""), met["agent"])
