"""Recording by hand: add, decide, reject, learn, plan."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import NAME, TestRepo

from cortex_git.events.model import event_id

TYPES = {
    "decision": "decision_made",
    "rejected": "approach_rejected",
    "plan": "plan_created",
    "step": "plan_step_completed",
    "learned": "knowledge_acquired",
    "fixed": "error_resolved",
    "preference": "preference_noted",
    "task": "task_completed",
}


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository with a commit and a memory, and a clock that goes on by a second at each look."""
    repo.commit({"a.txt": "a\n"})
    repo.run("init", "--yes", "--no-plugin")
    seconds = iter(range(1767225600, 1767325600))
    repo.clock = lambda: float(next(seconds))
    return repo


def events(repo: TestRepo, *args: str) -> list[dict[str, Any]]:
    """What `log --json` shows."""
    found: list[dict[str, Any]] = json.loads(repo.run("log", "--json", *args).out)
    return found


def test_a_decision_with_all_its_details(ready: TestRepo) -> None:
    """Everything that was said of a decision is stored, with who, where and when."""
    result = ready.run(
        "decide", "Use SQLite", "for storage", "--because", "one writer", "--over", "Postgres", "--over", "flat files",
        "--topic", "storage", "--file", "src/store/*", "--file", "a.txt",
    )  # fmt: skip
    (event,) = events(ready)
    assert f"[{event['id'][:7]}] decision: Use SQLite for storage\n" == result.out
    assert {
        "type": "decision_made",
        "content": "Use SQLite for storage",
        "reason": "one writer",
        "alternatives": ["Postgres", "flat files"],
        "topic": "storage",
        "files": ["src/store/*", "a.txt"],
        "agent": "user",
        "author": NAME,
        "branch": "main",
        "commit": ready.git("rev-parse", "HEAD"),
        "confidence": 1.0,
        "layer": "user",
        "status": "accepted",
    }.items() <= event.items()
    assert event["time"].startswith("2026-01-01T00:00:")
    assert "session" not in event


@pytest.mark.parametrize(("name", "type"), TYPES.items())
def test_add_knows_every_type(name: str, type: str, ready: TestRepo) -> None:
    """`add` records each type by its short name and by its full one."""
    ready.run("add", name, "some text")
    ready.run("add", type, "other text")
    assert [type, type] == [event["type"] for event in events(ready)]


@pytest.mark.parametrize(
    ("args", "type"),
    [
        (["reject", "MongoDB", "--because", "no transactions"], "approach_rejected"),
        (["learn", "the parser is slow"], "knowledge_acquired"),
        (["learn", "the parser hung: a loop", "--fixed"], "error_resolved"),
    ],
)
def test_the_other_commands(args: list[str], type: str, ready: TestRepo) -> None:
    """`reject` and `learn` record what their names say."""
    ready.run(*args)
    (event,) = events(ready)
    assert (type, args[1]) == (event["type"], event["content"])


def test_the_text_may_come_from_standard_input(ready: TestRepo) -> None:
    """`-` reads the text, of any length and in any encoding."""
    ready.run("decide", "-", input="Use SQLite\n\nBecause of the writers.\n")
    ready.run("learn", "-", input=b"caf\xe9 \xff")
    ready.run("learn", "-", input="x" * 100_000)
    long, odd, decision = events(ready)
    assert "Use SQLite\n\nBecause of the writers." == decision["content"]
    assert "caf� �" == odd["content"]
    assert 16 * 1024 >= len(long["content"].encode())


@pytest.mark.parametrize("text", ["", " ", "\n\t", "-"])
@pytest.mark.parametrize("command", [["decide"], ["reject"], ["learn"], ["add", "learned"], ["plan", "new"]])
def test_empty_text_is_wrong_usage(command: list[str], text: str, ready: TestRepo) -> None:
    """Nothing is recorded for nothing."""
    result = ready.run(*command, text, check=False, input=" \n")
    assert 2 == result.status
    assert "the text is empty" in result.err
    assert [] == events(ready, "--everything")


def test_what_is_known_is_not_recorded_twice(ready: TestRepo) -> None:
    """Saying the same thing again changes nothing and is said."""
    ready.run("decide", "Use SQLite")
    again = ready.run("decide", "Use SQLite")
    assert again.out.endswith("decision: Use SQLite (known already)\n")
    assert "" == again.err
    assert 1 == len(events(ready))
    assert json.loads(ready.run("decide", "Use SQLite", "--json").out)["new"] is False
    assert json.loads(ready.run("decide", "Use DuckDB", "--json").out)["new"] is True


def test_what_was_deleted_in_a_commit_stays_away_and_that_is_said(ready: TestRepo) -> None:
    """A decision whose file a commit deleted cannot be brought back by the same words, and nobody is told it was."""
    ready.run("decide", "Use SQLite")
    ready.git("add", ".cortex")
    ready.run("project")
    ready.commit(message="With the decision")
    (item,) = (ready.path / ".cortex" / "decisions").glob("*.md")
    ready.git("rm", "--quiet", str(item))
    ready.commit(message="Rejected in review")
    assert [] == events(ready)
    again = ready.run("decide", "Use SQLite", check=False)
    assert (1, "") == (again.status, again.out)
    assert "was taken out by deleting its file in a commit" in again.err
    assert 1 == again.err.count("\n")


def test_an_assistant_s_decision_is_a_proposal(ready: TestRepo) -> None:
    """Run inside a session of Claude Code, a command records for that session, and a person has still to agree."""
    ready.run("decide", "Use SQLite", variables={"CLAUDE_CODE_SESSION_ID": "session-1"})
    (event,) = events(ready)
    assert ("claude-code", "session-1", "proposed") == (event["agent"], event["session"], event["status"])


def test_private_memories_stay_in_this_clone(ready: TestRepo) -> None:
    """A private decision is in no shared ref and in no commit."""
    ready.run("decide", "Use SQLite", "--private")
    assert ["private"] == events(ready)[0]["marks"]
    assert "" == ready.git("for-each-ref", "refs/notes/cortex")
    assert json.loads(ready.run("status", "--json").out)["next_commit"]["events"] == []


def test_arguments_that_are_no_utf_8(ready: TestRepo) -> None:
    """Bytes that are no text are replaced before the id is made, so that it stays right."""
    ready.run("decide", "caf\udce9", "--because", "\udcff")
    (event,) = events(ready)
    assert ("caf\ufffd", "\ufffd") == (event["content"], event["reason"])
    assert event["id"] == event_id("decision_made", "caf\ufffd", "")


def test_secrets_are_taken_out(ready: TestRepo) -> None:
    """A secret in the text is stored nowhere and not shown back."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    result = ready.run("learn", f"the token is {secret}")
    assert secret not in result.out
    assert secret not in ready.run("log", "--json").out
    assert "" == result.err


def test_files_outside_the_repository_are_wrong_usage(ready: TestRepo) -> None:
    """A file that cannot be named from the root of the work tree is no file of this project."""
    result = ready.run("decide", "Use SQLite", "--file", "../other.py", check=False)
    assert 2 == result.status
    assert "outside the repository" in result.err


def test_the_live_briefing_has_it_at_once(ready: TestRepo) -> None:
    """What was recorded is in the rules file that the next session reads."""
    ready.run("decide", "Use SQLite for storage")
    assert "Use SQLite for storage" in ready.read(".claude/rules/cortex-briefing.md")


def test_an_id_collision_is_told_apart(ready: TestRepo) -> None:
    """An id that is no longer unambiguous at seven digits is shown with more."""
    from cortex_git.cli.selection import id_lengths
    from cortex_git.events.model import Event

    made = [Event("decision_made", "x", time="t", id=id) for id in ("a" * 16, "a" * 8 + "b" * 8, "c" * 16)]
    assert {"a" * 16: 9, "a" * 8 + "b" * 8: 9} == id_lengths(made)


# ---- plans


def steps(repo: TestRepo) -> list[tuple[str, bool, bool]]:
    """The steps of the plan: text, done, current."""
    shown = json.loads(repo.run("plan", "--json").out)
    return [(step["text"], step["done"], step["current"]) for step in shown["steps"]]


def test_a_plan_from_beginning_to_end(ready: TestRepo) -> None:
    """A plan is made, its steps are done one by one, in any order, and steps are added."""
    assert "no plan\n" == ready.run("plan").out
    made = ready.run("plan", "Add a login", "model", "view", "--step", "write tests")
    assert "Add a login (0 of 3 steps done)\n1. [ ] model  <- current\n" in made.out
    ready.run("plan", "done")
    assert [("model", True, False), ("view", False, True), ("write tests", False, False)] == steps(ready)
    ready.run("plan", "done", "TESTS")
    ready.run("plan", "add", "documents")
    assert [True, False, True, False] == [done for _, done, _ in steps(ready)]
    ready.run("plan", "done", "2")
    ready.run("plan", "done", "docu")
    assert "(4 of 4 steps done)" in ready.run("plan").out
    assert "no step is left to do" in ready.run("plan", "done", check=False).err


def test_a_plan_that_is_dropped_brings_no_older_one_back(ready: TestRepo) -> None:
    """After `plan drop` there is no plan, whatever came before it."""
    ready.run("plan", "First plan", "a")
    ready.run("plan", "Second plan", "b")
    ready.run("plan", "drop", "--because", "another way")
    assert "no plan\n" == ready.run("plan").out
    assert "null\n" == ready.run("plan", "--json").out
    ready.run("plan", "Third plan")
    assert "Third plan" in ready.run("plan").out


def test_a_plan_from_standard_input(ready: TestRepo) -> None:
    """The first line is the title, each further one a step, with or without the marks of a list."""
    ready.run("plan", "new", "-", input="Add a login\n\n- [x] model\n- [ ] view\n* tests\ndocuments\n")
    assert [("model", True), ("view", False), ("tests", False), ("documents", False)] == [s[:2] for s in steps(ready)]


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (["plan", "done", "9"], 1, "there is no step '9'"),
        (["plan", "done", "0"], 1, "there is no step '0'"),
        (["plan", "done", "zzz"], 1, "there is no step 'zzz'"),
        (["plan", "done", "mod"], 1, "is in 2 steps"),
        (["plan", "doen", "1"], 2, "did you mean `git cortex plan done`?"),
        (["plan", "--branch", "main", "done"], 2, "leave --branch away"),
        (["plan", "--branch", "nowhere"], 1, "there is no branch or commit nowhere"),
        (["plan", "add"], 2, "Missing argument"),
    ],
)
def test_steps_that_are_not_there(args: list[str], status: int, said: str, ready: TestRepo) -> None:
    """What names no step, or more than one, changes nothing."""
    ready.run("plan", "Add a login", "model", "view of the model", "write tests")
    before = steps(ready)
    result = ready.run(*args, check=False)
    assert status == result.status
    assert said in result.err
    assert before == steps(ready)


@pytest.mark.parametrize("args", [["done"], ["add", "x"], ["drop"]])
def test_without_a_plan_there_is_nothing_to_change(args: list[str], ready: TestRepo) -> None:
    """A plan has to be started first."""
    result = ready.run("plan", *args, check=False)
    assert 1 == result.status
    assert "this branch has no plan" in result.err


def test_plans_stay_on_their_branch(ready: TestRepo) -> None:
    """Another branch has another plan, and can be asked for."""
    ready.run("plan", "Main plan", "a")
    ready.commit(message="tie it")
    ready.git("checkout", "--quiet", "--orphan", "other")
    ready.run("plan", "Other plan", "b")
    assert "Other plan" in ready.run("plan").out
    assert "Main plan" in ready.run("plan", "--branch", "main").out
    assert "Main plan" in ready.run("plan", "show", "--branch", "main").out
