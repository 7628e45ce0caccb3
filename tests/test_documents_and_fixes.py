"""What is written down in a team's documents, what was mended, what a summary says, and under whose name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_structured_sources import events, unit

from cortex_git.capture import calls, claude, transcript
from cortex_git.capture.units import Unit
from cortex_git.events import model
from cortex_git.events.model import Event

TIME = "2026-01-01T00:00:{:02}.000Z"


def edited(path: str, text: str, *, old: str = "", response: Any = None) -> list[Event]:
    """The events of an edit or, without `old`, of a file that was written, but for the one that says so."""
    input = {"file_path": path, "old_string": old, "new_string": text} if old else {"file_path": path, "content": text}
    begun = unit("tool", tool="Edit" if old else "Write", id="t", input=calls.slim(input))
    response = response or ({} if old else {"type": "create", "originalFile": None})
    return [e for e in events(*calls.finish(begun, "", False, response)) if e.type != model.FILE_MODIFIED]


def test_an_added_rule_is_a_preference() -> None:
    """A line that an edit adds to a file of rules is one; what stood there before, headings and code are none."""
    old = "- Always run the tests\n"
    new = (
        old
        + "## Style\n- Never push to main\n- The store is in Rust\n```\nAlways echo this\n```\nSee [MEMORY: x] never"
    )
    (found,) = edited("/r/CLAUDE.md", new, old=old)
    assert (model.PREFERENCE, "Never push to main", ("CLAUDE.md",), "structural") == (
        found.type,
        found.content,
        found.files,
        found.layer,
    )
    assert 0.5 <= found.confidence < 1
    patch = [{"lines": [" a", "-- Use tabs", "+- Use tabs", "+- Use make, because it is there"]}]
    (found,) = edited("/r/docs/AGENTS.md", "x", old="y", response={"structuredPatch": patch})
    assert "Use make, because it is there" == found.content


def test_a_file_of_rules_that_is_written_as_a_whole_is_unsure() -> None:
    """The rules of a new file are kept as candidates: a client reads that file at each start."""
    found = edited("/r/CLAUDE.md", "# Project\n\n- Never push to main\n- Use pnpm, not npm\n")
    assert [0.45, 0.45] == [event.confidence for event in found]


@pytest.mark.parametrize("path", ["/r/.cortex/decisions/a.md", "/elsewhere/CLAUDE.md", "/r/README.md", "/r/adr/x.py"])
def test_other_files_hold_no_rules(path: str) -> None:
    """What the tool itself writes, files of other projects and other documents say nothing here."""
    assert [] == edited(path, "# Use tabs\n\n## Decision\n\n- Never push to main, ever", old="x")


ADR = (
    "# ADR-0007: Store notes\n\nStatus: {}\n\n## Considered Options\n\n- Git notes\n- A database\n\n"
    "## Decision\n\nWe use git notes, because they travel.\n"
)


@pytest.mark.parametrize(
    ("status", "type", "is_sure"),
    [("Accepted", model.DECISION, True), ("Proposed", model.DECISION, False), ("Rejected", model.REJECTED, True)],
)
def test_a_decision_record_is_a_decision(status: str, type: str, is_sure: bool) -> None:
    """A new decision record is the decision that it tells of, with its reason, and as sure as its status."""
    (found,) = edited("/r/docs/adr/0007-store-notes.md", ADR.format(status))
    assert (type, "they travel", is_sure) == (found.type, found.reason, found.confidence >= 0.5)
    assert "Store notes: We use git notes" == found.content
    assert ("Git notes", "A database") == found.alternatives


def test_a_list_of_decisions() -> None:
    """An entry that is added to a list of decisions is one."""
    found = edited(
        "/r/DECISIONS.md", "# Log\n\n- Use SQLite instead of Postgres\n- 2026-01-02: Drop Redis for now", old="# Log"
    )
    assert [("Use SQLite", ("Postgres",)), ("Drop Redis for now", ())] == [(e.content, e.alternatives) for e in found]
    assert {model.DECISION} == {event.type for event in found}


def bash(second: int, command: str, answer: str = "", **fields: Any) -> Unit:
    made = unit("tool", tool="Bash", id=f"b{second}", input={"command": command}, ok=not answer, answer=answer)
    return made.replace(time=TIME.format(second), **fields)


def edit(second: int, path: str) -> Unit:
    made = unit("tool", tool="Edit", id=f"e{second}", input={"file_path": path}, ok=True)
    return made.replace(time=TIME.format(second))


FAILED = "Exit code 1\ncollected 3 items\nE   KeyError: 'id'\n1 failed in 0.1s"


def mended(*units: Unit, memo: dict[str, Any] | None = None) -> list[tuple[str, tuple[str, ...], float]]:
    found = events(*units, memo={} if memo is None else memo)
    return [(event.content, event.files, event.confidence) for event in found if event.type == model.RESOLVED]


def test_a_check_that_fails_and_then_passes_was_mended() -> None:
    """The error, and the files that were edited until the same check passed, are one memory."""
    units = [
        bash(1, "cd /r && pytest -x 2>&1 | tail -5", FAILED),
        edit(2, "/r/a.py"),
        bash(3, "pytest -x", FAILED),
        edit(4, "/r/b.py"),
        bash(5, "pytest -x"),
        bash(6, "pytest -x"),
    ]
    expected = [("KeyError: 'id' — cured in a.py, b.py; `pytest -x` passes", ("a.py", "b.py"), 0.6)]
    assert expected == mended(*units)
    memo: dict[str, Any] = {}
    assert expected == [found for one in units for found in mended(one, memo=memo)]
    assert memo == json.loads(json.dumps(memo))
    # The transcript tells of the same calls once more.
    assert expected == mended(*units, *units)


@pytest.mark.parametrize(
    "units",
    [
        [bash(1, "ls x", FAILED), edit(2, "/r/a"), bash(3, "ls x")],
        [bash(1, "pytest", FAILED), bash(3, "pytest")],
        [bash(1, "pytest", FAILED), edit(2, "/r/a"), bash(3, "make lint")],
        [edit(1, "/r/a"), bash(2, "pytest", FAILED), edit(1, "/r/a"), bash(3, "pytest")],
        [bash(1, "pytest", FAILED, facts={"interrupted": "true"}), edit(2, "/r/a"), bash(3, "pytest")],
        [bash(1, "pytest", FAILED), *[bash(2, "ls")] * 70, edit(4, "/r/a"), bash(5, "pytest")],
    ],
)
def test_nothing_was_mended(units: list[Unit]) -> None:
    """Other commands, no edit, another check, an older edit, an interruption and a failure long ago are no cure."""
    assert [] == mended(*units)


def test_an_error_that_names_nothing_is_unsure() -> None:
    """Where the last words of an error say nothing of what went wrong, the memory is kept but not shown."""
    ((_, _, confidence),) = mended(bash(1, "make", "Exit code 2\nit is over"), edit(2, "/r/a"), bash(3, "make"))
    assert confidence < 0.5


def lines(path: Path, *records: dict[str, Any]) -> list[Unit]:
    path.write_text("".join(json.dumps({"timestamp": TIME.format(1), "sessionId": "s", **r}) + "\n" for r in records))
    return transcript.read(str(path)).units


def test_a_summary_gives_candidates(tmp_path: Path) -> None:
    """What a summary states is kept below what is shown, unless it was said; prompts that it repeats are left out."""
    told = "The root cause is that the cache key ignores the branch, because `key()` only hashes the path."
    text = (
        f"This session is being continued from an earlier one.\n\nAnalysis:\nx\n\nSummary:\n1. Problem:\n- {told}\n"
        "\n6. All user messages:\n- We always use tabs in this repository, never spaces.\n\n7. Current Work:\nnone\n"
    )
    message = {"role": "user", "content": text}
    (summary,) = lines(tmp_path / "s.jsonl", {"type": "user", "isCompactSummary": True, "message": message})
    assert "summary" == summary.kind
    found = events(summary)
    assert [told] == [event.content for event in found]
    assert found[0].confidence < 0.5
    assert "compaction" == found[0].source["tool"]
    (said,) = events(unit("assistant", told), summary)
    assert said.confidence > 0.5


def test_a_teammate_speaks_under_its_name(tmp_path: Path) -> None:
    """The texts of an agent in a team, or of a subagent, are its own; those of a compaction are nobody's."""
    message = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "Found it."}]}
    (said,) = lines(tmp_path / "s.jsonl", {"type": "assistant", "agentName": "reviewer", "message": message})
    assert "claude-code/reviewer" == said.agent
    stop = {"hook_event_name": "SubagentStop", "session_id": "s", "last_assistant_message": "Found it."}
    assert ["claude-code/Explore"] == [u.agent for u in claude.units({**stop, "agent_type": "Explore"}, "", "")]
    assert [] == claude.units({**stop, "agent_type": ""}, "", "")


def test_answers_before_a_question_back() -> None:
    """What was answered before the person asked back is a decision, and nothing else is."""
    questions = [{"question": q, "options": [{"label": "A"}, {"label": "B"}]} for q in ("Which store?", "Which name?")]
    begun = unit("tool", tool="AskUserQuestion", id="q", input=calls.slim({"questions": questions}))
    text = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
        "The user wants to clarify these questions.\n\n    Questions asked:\n"
        '- "Which store?"\n  Answer: A\n- "Which name?"\n  (No answer provided)'
    )
    assert ["Which store? → A"] == [event.content for event in events(*calls.finish(begun, text, True, None))]


def test_what_git_did_is_a_fact_of_the_command() -> None:
    """Of a push the client says that it was one."""
    begun = unit("tool", tool="Bash", id="t", input=calls.slim({"command": "git push"}))
    (done,) = calls.finish(begun, "", False, {"stdout": "", "gitOperation": {"push": {"branch": "main"}}})
    assert {"git": "push"} == done.facts
