"""Hook payloads of Claude Code become units, whatever they hold."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, shared

from cortex_git.capture import claude
from cortex_git.capture.extract import extract
from cortex_git.capture.units import Unit
from cortex_git.config import Config

TIME = "2026-12-01T01:00:00.000Z"
PAYLOADS = ROOT / "tests" / "data" / "payloads"
WRONG: list[Any] = [None, True, 0, -1.5, "", "\0\ud800", [], {}, [None], {"a": [1]}, [[{}]], 10**30]


def recorded(name: str) -> dict[str, Any]:
    """A payload as the real client gave it."""
    loaded: dict[str, Any] = json.loads((PAYLOADS / f"{name}.json").read_text())
    return loaded


def units(payload: dict[str, Any]) -> list[Unit]:
    return claude.units(payload, TIME, "main")


def one(payload: dict[str, Any]) -> Unit:
    (unit,) = units(payload)
    return unit


def test_a_tool_call_keeps_what_matters() -> None:
    """A call of a tool is one unit with its id, its place and the input that events are made of."""
    unit = one(recorded("edit_and_commit-07-Edit"))
    assert (unit.kind, unit.tool, unit.ok, unit.branch, unit.time) == ("tool", "Edit", True, "main", TIME)
    assert {"file_path": "/home/dev/project/app.py"} == unit.input
    assert unit.id.startswith("toolu_")
    assert "/home/dev/project" == unit.cwd


def test_a_commit_is_known_by_the_clients_own_reading() -> None:
    """What the client says about git in a command's output is kept; the commit is a unit with its message."""
    call, made = units(recorded("edit_and_commit-16-Bash"))
    assert {"commit": "e71062c", "git": "committed"} == call.facts == made.facts
    assert ("tool", "commit", call.id) == (call.kind, made.kind, made.id)


def test_a_failed_command_has_its_exit_status() -> None:
    """A failure holds the exit status and what the command said."""
    unit = one(recorded("failing_tools-03-Bash"))
    assert (False, {"exit": "3"}) == (unit.ok, unit.facts)
    assert "Exit code 3\nout\nerr" == unit.answer


def test_a_prompt_is_a_persons_own_words() -> None:
    """Of a slash command the arguments count; a finished background task is nobody's prompt."""
    assert "world" == one(recorded("terminal_session-08")).text
    assert [] == units(recorded("subagent_background-13"))
    assert [] == units({"hook_event_name": "UserPromptSubmit", "prompt": "/clear"})


def test_compaction_is_told_from_a_subagent() -> None:
    """A compaction ends like a subagent without a type, and says nothing new; a subagent speaks under its name."""
    assert [] == units(recorded("compact_auto-12"))
    unit = one(recorded("subagent_background-12"))
    assert ("assistant", "claude-code/general-purpose") == (unit.kind, unit.agent)
    assert "There are 2 files." in unit.text


def test_transcripts_worth_reading() -> None:
    """A payload names its transcript and that of a real subagent, but not the one of a compaction."""
    payload = recorded("compact_auto-12")
    assert [payload["transcript_path"]] == claude.transcripts(payload)
    payload = recorded("subagent_background-12")
    assert [payload["transcript_path"], payload["agent_transcript_path"]] == claude.transcripts(payload)
    start = {"hook_event_name": "SessionStart", "source": "startup", "transcript_path": "/a.jsonl"}
    assert [] == claude.transcripts(start)
    assert ["/a.jsonl"] == claude.transcripts({**start, "source": "resume"})
    assert [] == claude.transcripts({"transcript_path": ["/a.jsonl"], "agent_transcript_path": 3})


def test_an_answered_question_is_a_unit_of_its_own() -> None:
    """Each question of a call is one unit with the person's answer and the choices there were."""
    questions = [
        {"question": "Which store?", "header": "Store", "options": [{"label": "SQLite", "description": "one file"}]},
        {"question": "Not answered?", "header": "x", "options": None},
    ]
    unit = one(
        {
            "hook_event_name": "PostToolUse",
            "tool_name": "AskUserQuestion",
            "tool_input": {"questions": questions},
            "tool_response": {"answers": {"Which store?": "SQLite"}},
        }
    )
    assert ("question", "Which store?", "SQLite") == (unit.kind, unit.text, unit.answer)
    assert {"header": "Store", "options": [("SQLite", "one file")]} == unit.input


def test_an_accepted_plan_is_the_plan() -> None:
    """ExitPlanMode that succeeded is a plan that a person accepted, as is a prompt that carries one."""
    used = {"hook_event_name": "PostToolUse", "tool_name": "ExitPlanMode", "tool_input": {"plan": "# A\n"}}
    assert ("plan", "# A\n") == (one(used).kind, one(used).text)
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "Implement the following plan:\n\n# B"}
    assert ("plan", "# B") == (one(prompt).kind, one(prompt).text)


def test_sessions_start_and_end() -> None:
    """A session's bounds are units; a compaction starts none."""
    start = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}
    assert ("session", "started", "startup") == (one(start).kind, one(start).text, one(start).answer)
    assert [] == units({**start, "source": "compact"})
    end = {"hook_event_name": "SessionEnd", "session_id": "s", "reason": "clear"}
    assert ("ended", "clear") == (one(end).text, one(end).answer)


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolBatch", "MessageDisplay", "PostCompact", "Unheard", ""])
def test_other_events_say_nothing(event: str) -> None:
    """What only announces or repeats gives no units, and so does an event that is not known."""
    payload = {"hook_event_name": event, "tool_name": "Bash", "compact_summary": "We decided.", "delta": "x"}
    assert [] == units(payload)


def test_injected_text_is_nobodys() -> None:
    """What a hook or the tool itself put before the model is taken out of what people and assistants say."""
    injected = '<system-reminder>[MEMORY: decision] a</system-reminder><cortex-memory branch="m">b</cortex-memory>'
    assert "Yes" == one({"hook_event_name": "UserPromptSubmit", "prompt": injected + "Yes"}).text
    line = "- Use SQLite [accepted, Ada, 2026-12-01, 3fa2c1d]"
    said = one({"hook_event_name": "Stop", "last_assistant_message": f"As decided:\n{line}\nNow on."})
    assert "As decided:\nNow on." == said.text
    assert "mine" == one({"hook_event_name": "UserPromptSubmit", "prompt": "<private>x</private> mine"}).text
    assert [] == units({"hook_event_name": "UserPromptSubmit", "prompt": "Stop hook feedback:\n[x]: do it"})


def test_every_recorded_payload_goes_through() -> None:
    """Each payload of the recorded client gives units and events without an exception."""
    folder = shared("claude-client/payloads")
    count = 0
    for path in sorted(folder.glob("*/*.json")):
        payload = json.loads(path.read_text())
        if isinstance(payload, dict) and "hook_event_name" in payload:
            extract(units(payload), Config(), root="/home/dev/project")
            count += 1
    assert count > 300


def mutated(value: Any, chance: random.Random) -> Any:
    """The value with something in it replaced by something of another type, or left out."""
    value = copy.deepcopy(value)
    place = value
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = chance.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and chance.random() < 0.6:
            place = place[key]
            continue
        if chance.random() < 0.2:
            del place[key]
        else:
            place[key] = chance.choice(WRONG)
        return value


def torture(times: int, seed: int) -> None:
    """Feed mutated payloads."""
    chance = random.Random(seed)
    payloads = [json.loads(path.read_text()) for path in sorted(PAYLOADS.glob("*.json"))]
    payloads.append(
        {
            "hook_event_name": "PostToolUse",
            "tool_name": "AskUserQuestion",
            "tool_use_id": "t",
            "tool_input": {"questions": [{"question": "q", "options": [{"label": "l", "description": "d"}]}]},
            "tool_response": {"answers": {"q": "l"}},
        }
    )
    for _ in range(times):
        payload = chance.choice(payloads)
        for _ in range(chance.randint(1, 3)):
            payload = mutated(payload, chance) or payload
        memo: dict[str, Any] = {}
        extract(units(payload), Config(), memo=memo)
        json.dumps(memo)


def test_wrong_types_never_raise() -> None:
    """A payload with anything in it replaced or missing gives some units, and no exception."""
    torture(500, 1)


@pytest.mark.slow
def test_wrong_types_never_raise_often() -> None:
    """The same, ten thousand times."""
    torture(10_000, 2)


def test_payload_files_are_small() -> None:
    """The recorded payloads that the tests carry stay small."""
    assert sum(path.stat().st_size for path in Path(PAYLOADS).iterdir()) < 30_000
