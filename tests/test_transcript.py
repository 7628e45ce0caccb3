"""Transcripts are read as far as they are whole, from where the last reading ended, whatever lines they hold."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, shared

from cortex_git.capture import claude, transcript
from cortex_git.capture.extract import extract
from cortex_git.capture.units import Unit
from cortex_git.config import Config
from cortex_git.events.model import Event

Record = dict[str, Any]


def record(type: str, **fields: Any) -> Record:
    base = {"parentUuid": None, "isSidechain": False, "cwd": "/r", "sessionId": "s1", "gitBranch": "main"}
    return {**base, "type": type, "uuid": "u", "timestamp": "2026-01-01T00:00:00.000Z", **fields}


def says(text: str, **fields: Any) -> Record:
    return record("assistant", message={"model": "m", "content": [{"type": "text", "text": text}]}, **fields)


def calls(tool: str, id: str, **input: Any) -> Record:
    block = {"type": "tool_use", "id": id, "name": tool, "input": input}
    return record("assistant", message={"model": "m", "content": [block]})


def gives(id: str, text: str = "done", error: bool = False, response: Any = None) -> Record:
    block = {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": error}
    return record("user", message={"role": "user", "content": [block]}, toolUseResult=response)


def asks(content: Any, **fields: Any) -> Record:
    return record("user", message={"role": "user", "content": content}, **fields)


REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)
SESSION = [
    asks("Use SQLite for the store, not Postgres."),
    says("Two ways are open."),
    calls("Read", "t1", file_path="/r/a.py"),
    calls("Bash", "t2", command="make test"),
    gives("t1"),
    gives("t2", "Exit code 2\nboom", error=True, response="Error: Exit code 2\nboom"),
    calls("Edit", "t3", file_path="/r/a.py", old_string="a", new_string="b"),
    gives("t3", REFUSED + "keep the old name", error=True),
    calls("TaskCreate", "t4", subject="First"),
    gives("t4", response={"task": {"id": "1", "subject": "First"}}),
    calls("TaskCreate", "t5", subject="Second"),
    gives("t5", response={"task": {"id": "2", "subject": "Second"}}),
    calls("TaskUpdate", "t6", taskId="1", status="completed"),
    gives("t6", response={"success": True}),
    record("queue-operation", operation="enqueue", content="always use tabs"),
    says("Which color should the button have?"),
    asks("yes, the accordion"),
    says("[MEMORY: decision] Use tabs over spaces, because the linter wants it."),
]


def line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def write(path: Path, records: Iterable[Any]) -> Path:
    path.write_bytes(b"".join(value if isinstance(value, bytes) else line(value) for value in records))
    return path


def read(path: Path, offset: int = 0) -> transcript.Reading:
    return transcript.read(str(path), offset)


def units(path: Path, *records: Any) -> list[Unit]:
    return read(write(path, records)).units


def events(found: Iterable[Unit], memo: dict[str, Any] | None = None) -> list[Event]:
    return extract(list(found), Config(), author="Ada", root="/r", memo=memo)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s1.jsonl"


def test_a_session_in_the_order_of_the_file(path: Path) -> None:
    """What was said and done comes out in order, a call where its result came, and nothing is left over."""
    reading = read(write(path, SESSION))
    kinds = [unit.kind for unit in reading.units]
    assert [
        "prompt",
        "assistant",
        *["tool"] * 2,
        "refusal",
        *["tool"] * 3,
        "prompt",
        "assistant",
        "prompt",
        "assistant",
    ] == kinds
    assert ([], path.stat().st_size) == (reading.faults, reading.offset)
    read_file, command = reading.units[2:4]
    assert ("Read", True, "main", "/r", "s1") == (
        read_file.tool,
        read_file.ok,
        read_file.branch,
        read_file.cwd,
        read_file.session,
    )
    assert (False, {"exit": "2"}) == (command.ok, command.facts)
    assert "keep the old name" == reading.units[4].answer


def test_an_incomplete_last_line_is_left(path: Path) -> None:
    """However a file is cut, the reading ends before what is not whole, and goes on when the rest is there."""
    whole = line(says("One.")) + line(says("Zwei ä ☃."))
    first = len(line(says("One.")))
    for cut in range(first + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        reading = read(path)
        assert (["One."], first, []) == ([unit.text for unit in reading.units], reading.offset, reading.faults)
    path.write_bytes(whole)
    assert ["Zwei ä ☃."] == [unit.text for unit in read(path, first).units]


def test_a_missing_final_newline_is_no_incomplete_line(path: Path) -> None:
    """A last line that is a whole object counts, with or without its end, and the next one follows it anyhow."""
    path.write_bytes(line(says("One.")).rstrip(b"\n"))
    reading = read(path)
    assert ["One."] == [unit.text for unit in reading.units]
    assert path.stat().st_size == reading.offset
    for between in (b"", b"\n", b"\r\n"):
        path.write_bytes(line(says("One.")).rstrip(b"\n") + between + line(says("Two.")))
        assert (["Two."], []) == ([unit.text for unit in read(path, reading.offset).units], read(path).faults)


def test_two_objects_on_a_line(path: Path) -> None:
    """Objects that share a line are all read, also when the first is bookkeeping."""
    summary = line({"type": "summary", "summary": "x", "leafUuid": "y"}).strip()
    assert ["A.", "B."] == [u.text for u in units(path, line(says("A.")).strip() + summary + line(says("B.")))]
    assert ["C."] == [u.text for u in units(path, summary + line(says("C.")))]


@pytest.mark.parametrize(
    "bad",
    [
        b"// a comment\n",
        b"[1, 2]\n",
        b'"text"\n',
        b"null\n",
        b"12\n",
        b'{"type": null}\n',
        b"{\n",
        b"}\n",
        b"\xff\xfe\n",
        b'{"type":"user"}\n',
        b'{"type":["user"],"x":"user"}\n',
        b'{"type":"user","message":"user"}\n',
        b"\n\n \n",
        b'{"type":"assistant","message":{"content":7}}\n',
        b"[" * 100_000 + b'"user"\n',
        b'{"a":"user","n":' + b"9" * 9000 + b"}\n",
        b'{"type":"user","mess' + b"\n",
        b'\xef\xbb\xbf{"type":"x"}\n',
        b'{"type":"user","message":{"content":"\\ud800"}}\n',
    ],
)
def test_a_bad_line_costs_its_neighbours_nothing(path: Path, bad: bytes) -> None:
    """Whatever a line holds, the ones before and after it are read."""
    found = units(path, says("Before."), bad, says("After."))
    assert ["Before.", "After."] == [unit.text for unit in found if unit.kind == "assistant"]
    for unit in found:
        unit.text.encode()


def test_a_broken_beginning_does_not_swallow_what_follows_on_its_line(path: Path) -> None:
    """After a write that was cut off, the object that was appended to it is found."""
    found = units(path, b'{"parentUuid":"1","type":"user","mess' + line(says("Late.")), says("Later."))
    assert ["Late.", "Later."] == [unit.text for unit in found]
    assert 1 == len(read(path).faults)


def test_a_line_that_is_too_long_is_passed_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line beyond all measure is skipped and said to be a fault; its neighbours are read."""
    monkeypatch.setattr(transcript, "MAX_LINE", 1000)
    reading = read(write(path, [says("One."), says("x" * 5000), says("Two.")]))
    assert (["One.", "Two."], 1) == ([unit.text for unit in reading.units], len(reading.faults))
    assert path.stat().st_size == reading.offset


def test_long_lines_and_images_are_read(path: Path) -> None:
    """A line of megabytes with a picture in it is no obstacle to the words beside it."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 500_000}}
    found = units(path, asks([{"type": "text", "text": "See [Image #1] here"}, image]), says("Seen."))
    assert ["See  here", "Seen."] == [unit.text for unit in found]


@pytest.mark.parametrize(
    "content",
    [
        "<task-notification>\n<task-id>a</task-id>done</task-notification>",
        "<local-command-stdout>We decided to use X</local-command-stdout>",
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
        "<bash-input>ls</bash-input>",
        "<teammate-message>use X</teammate-message>",
        "<system-reminder>Contents of CLAUDE.md: always use X</system-reminder>",
        "[Request interrupted by user for tool use]",
        "(no content)",
        "",
        "This session is being continued from a previous conversation that ran out of context. We use X.",
        "Caveat: The messages below were generated by the user while running local commands.",
        "Stop hook feedback:\n- [stop.sh]: always use X",
        '<cortex-memory branch="main">\nDecisions: use X',
    ],
)
def test_what_no_person_said_is_no_prompt(path: Path, content: str) -> None:
    """Messages that the client, a hook or another agent made are nobody's words, as text or as blocks."""
    assert [] == units(path, asks(content))
    assert [] == units(path, asks([{"type": "text", "text": content}]))


@pytest.mark.parametrize(
    "fields",
    [
        {"isMeta": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
        {"isSidechain": True},
        {"origin": {"kind": "task-notification"}},
        {"promptSource": "system"},
    ],
)
def test_marked_messages_are_no_prompts(path: Path, fields: Record) -> None:
    """What the client marks as not typed by a person is no prompt."""
    assert [] == [unit for unit in units(path, asks("Always use X.", **fields)) if unit.kind != "summary"]
    assert 1 == len(units(path, asks("Always use X.", origin={"kind": "human"}, promptSource="typed")))


def test_prompts_typed_meanwhile(path: Path) -> None:
    """A prompt that exists only as a queue entry or as a queued command is a prompt; what was dequeued is not."""
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": [{"type": "text", "text": "B"}]}
    found = units(
        path,
        record("queue-operation", operation="enqueue", content="A"),
        record("queue-operation", operation="popAll", content="A"),
        record("queue-operation", operation="enqueue", content="<task-notification>x</task-notification>"),
        record("attachment", attachment=queued),
        record("attachment", attachment={**queued, "commandMode": "task-notification"}),
        record("attachment", attachment={"type": "hook_additional_context", "content": ["queued_command"]}),
    )
    assert ["A", "B"] == [unit.text for unit in found]
    assert {"prompt"} == {unit.kind for unit in found}


def test_slash_commands_and_notes(path: Path) -> None:
    """Of a slash command the arguments are a person's words, and what they had remembered is a note."""
    command = "<command-message>hello</command-message>\n<command-name>/hello</command-name>"
    command += "\n<command-args>world</command-args>"
    found = units(path, asks(command), asks("<user-memory-input>Always use tabs</user-memory-input>"))
    assert [("prompt", "world"), ("note", "Always use tabs")] == [(unit.kind, unit.text) for unit in found]


def test_plans_and_questions(path: Path) -> None:
    """An accepted plan, a plan given as a prompt, and each answer to a question are units of their own."""
    question = {"question": "Which?", "header": "H", "options": [{"label": "A", "description": "a"}]}
    found = units(
        path,
        calls("ExitPlanMode", "p", plan="# Old"),
        gives("p", "ok", response={"plan": "# New\n- a\n- b"}),
        asks("Implement the following plan:\n\n# Given", planContent="# Given"),
        calls("AskUserQuestion", "q", questions=[question]),
        gives("q", "ok", response={"questions": [question], "answers": {"Which?": "A"}}),
        gives("gone", "ok", response={"questions": [question], "answers": {"Which?": "B"}}),
    )
    assert [
        ("plan", "# New\n- a\n- b", ""),
        ("plan", "# Given", ""),
        ("question", "Which?", "A"),
        ("question", "Which?", "B"),
    ] == [(unit.kind, unit.text, unit.answer) for unit in found]


def test_what_the_client_says_for_the_model_is_nobodys(path: Path) -> None:
    """Synthetic messages and API errors are not the assistant's words; thinking is not either."""
    error = record("assistant", message={"model": "<synthetic>", "content": [{"type": "text", "text": "API down"}]})
    thinking = record("assistant", message={"model": "m", "content": [{"type": "thinking", "thinking": "hm"}]})
    assert [] == units(path, error, thinking, says("API Error: 529", isApiErrorMessage=True), says("\n\n"))


def test_subagents_speak_under_their_name(path: Path) -> None:
    """A subagent's words carry its kind: of the call that started it, or of the file beside its own."""
    found = units(path, calls("Task", "t", subagent_type="Explore", description="d"), says("In.", isSidechain=True))
    assert [("In.", "claude-code/Explore")] == [(unit.text, unit.agent) for unit in found]
    assert "claude-code/subagent" == units(path, says("Own.", isSidechain=True))[0].agent
    path.with_suffix(".meta.json").write_text('{"agentType": "general-purpose"}')
    assert "claude-code/general-purpose" == units(path, says("Own.", isSidechain=True))[0].agent


def test_a_call_waits_for_its_result(path: Path) -> None:
    """Reading stops before a call that has no result yet; without one it counts when a person goes on."""
    reading = read(write(path, [says("Go."), calls("Bash", "t", command="make")]))
    assert ["Go."] == [unit.text for unit in reading.units]
    assert len(line(says("Go."))) == reading.offset
    found = units(path, calls("Bash", "t", command="make"), asks("Go on"))
    assert [("tool", None), ("prompt", None)] == [(unit.kind, unit.ok) for unit in found]


def test_times(path: Path) -> None:
    """Times come out in one form; a record without one has that of the record before."""
    found = units(
        path,
        says("a", timestamp="2026-01-01T00:00:00Z"),
        says("b", timestamp=None),
        says("c", timestamp="2026-01-01T00:00:01.1234567Z"),
        says("d", timestamp="yesterday"),
    )
    first, last = "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.123Z"
    assert [first, first, last, last] == [unit.time for unit in found]
    assert units(path, says("a", timestamp=7))[0].time.endswith("Z")


def test_an_offset_beyond_the_end_means_another_file(path: Path) -> None:
    """A file that is shorter than what was read of it is read from its start."""
    assert ["One."] == [unit.text for unit in read(write(path, [says("One.")]), 10_000).units]


def test_in_pieces_as_at_once(path: Path) -> None:
    """However a growing file is cut into readings, the events are those of reading it at once."""
    whole = write(path, SESSION).read_bytes()
    expected = {event.id for event in events(read(path).units)}
    chance = random.Random(5)
    for _ in range(60):
        cuts = sorted(chance.sample(range(len(whole)), chance.randint(1, 8)))
        memo: dict[str, Any] = {}
        found: set[str] = set()
        offset = 0
        for cut in [*cuts, len(whole)]:
            path.write_bytes(whole[:cut])
            reading = read(path, offset)
            assert offset <= reading.offset <= cut or reading.offset <= cut
            offset = reading.offset
            memo = json.loads(json.dumps(memo))
            found |= {event.id for event in events(reading.units, memo)}
        assert expected == found


def growing(name: str) -> list[bytes]:
    folder = shared("transcripts")
    return [gzip.decompress(file.read_bytes()) for file in sorted(folder.glob(f"growing-{name}-*.jsonl.gz"))]


@pytest.mark.parametrize("name", ["2.0.76-198393f2", "2.1.12-cc432c40"])
def test_growing_snapshots_one_by_one(name: str, path: Path) -> None:
    """Reading the stored snapshots of a growing session one by one gives the events that reading the last gives.

    A snapshot that is not a continuation of the one before is another file, and read from its start.
    """
    snapshots = growing(name)
    memo: dict[str, Any] = {}
    found: dict[str, Event] = {}
    expected: set[str] = set()
    before, offset = b"", 0
    for number, snapshot in enumerate(snapshots):
        continues = snapshot.startswith(before)
        path.write_bytes(snapshot)
        reading = read(path, offset if continues else 0)
        found.update((event.id, event) for event in events(reading.units, memo))
        offset, before = reading.offset, snapshot
        if number + 1 == len(snapshots) or not snapshots[number + 1].startswith(snapshot):
            expected |= {event.id for event in events(read(path).units)}
    assert len(snapshots) > 4
    assert expected == found.keys()
    if name.startswith("2.1.12"):
        assert expected == {event.id for event in events(read(path).units)}


def test_every_stored_transcript_goes_through(path: Path) -> None:
    """Each of the real transcripts is read to its end, with at most a line or two that are no JSON."""
    texts = 0
    for file in sorted(shared("transcripts").glob("*.jsonl.gz")):
        path.write_bytes(gzip.decompress(file.read_bytes()))
        reading = read(path)
        assert path.stat().st_size == reading.offset
        assert len(reading.faults) <= 2
        assert events(reading.units)
        texts += sum(unit.kind == "assistant" for unit in reading.units)
    assert texts > 800


def test_recorded_sessions_say_the_same_in_payloads_and_transcript() -> None:
    """The calls of a recorded session lead to the same events by way of its hooks and of its transcript."""
    folder = shared("claude-client/payloads")
    by_session: dict[str, list[Record]] = {}
    for file in sorted(folder.glob("*/*.json"), key=lambda file: [int(x) for x in file.stem.split("-") if x.isdigit()]):
        payload = json.loads(file.read_text())
        if isinstance(payload, dict) and payload.get("hook_event_name"):
            by_session.setdefault(payload["session_id"], []).append(payload)
    compared = 0
    for session, payloads in by_session.items():
        files = [file for file in (folder / "transcripts").rglob("*.jsonl") if session in str(file)]
        said = [unit for payload in payloads for unit in claude.units(payload, "2026-12-01T00:00:00.000Z", "main")]
        written = [unit for file in files for unit in read(file).units]
        if not files or any(payload["hook_event_name"] == "PermissionDenied" for payload in payloads):
            continue
        hooked = {event.id for event in events(unit for unit in said if unit.kind != "session")}
        assert hooked == {event.id for event in events(written)}
        compared += len(hooked)
    assert compared > 30


def mutated(data: bytes, chance: random.Random, words: list[bytes]) -> bytes:
    """The bytes with one thing changed: bytes lost, doubled, replaced, or a value of another type put in."""
    start = chance.randrange(len(data))
    end = min(len(data), start + chance.choice((1, 2, 8, 64, 500)))
    put = chance.choice((b"", data[start:end] * 2, bytes([chance.randrange(256)]), chance.choice(words), b"\n", b"}{"))
    return data[:start] + put + data[end:]


def torture(path: Path, times: int, seed: int) -> None:
    """Read mutated sessions; a good line after them is never lost."""
    chance = random.Random(seed)
    words = [
        b"null",
        b"[]",
        b"{}",
        b'"user"',
        b"true",
        b"1e999",
        b"-1",
        b'"type":"user",',
        b'"\\ud800"',
        b"\xff",
        b"\\u0000",
        b'{"type":"text","text":7}',
        b'"content":',
        b"[" * 3000,
        b"<a-b>",
        b"[MEMORY: ",
        b"```",
        b'"message":null,',
    ]
    last = line(says("[MEMORY: learned] the end"))
    whole = [line(value) for value in SESSION]
    for _ in range(times):
        lines = [mutated(data, chance, words) if chance.random() < 0.3 else data for data in whole]
        chance.shuffle(lines)
        path.write_bytes(b"".join(lines) + b"\n" + last)
        memo: dict[str, Any] = {}
        found = events(read(path).units, memo)
        json.dumps(memo)
        assert any(event.content == "the end" for event in found)


def test_mutated_lines_never_raise(path: Path) -> None:
    """Transcripts with anything in them changed are read without an exception and without losing good lines."""
    torture(path, 500, 1)


@pytest.mark.slow
def test_mutated_lines_never_raise_often(path: Path) -> None:
    """The same, ten thousand times."""
    torture(path, 10_000, 2)


@pytest.mark.slow
def test_a_transcript_of_33_mb_fits_into_little_memory(path: Path) -> None:
    """Extraction of a transcript of 33 MB needs less than 150 MB."""
    sources = [gzip.decompress(file.read_bytes()) for file in sorted(shared("transcripts").glob("2.*.jsonl.gz"))]
    with path.open("wb") as file:
        turn = 0
        while file.tell() < 33_000_000:
            for data in sources:
                file.write(data.replace(b"toolu_", b"toolu_%d" % turn).rstrip(b"\n") + b"\n")
            turn += 1
    code = (
        "import sys\nfrom cortex_git.capture.transcript import read\n"
        "from cortex_git.capture.extract import extract\nfrom cortex_git.config import Config\n"
        "extract(read(sys.argv[1]).units, Config())\n"
        # Not ru_maxrss, which starts with the size of the process that we were forked from.
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, cwd=ROOT, check=True)
    assert int(done.stdout) < 150 * 1024
