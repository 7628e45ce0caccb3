"""The records of a transcript, one JSON object each, as units."""

from __future__ import annotations

import json
import os

from cortex_git.capture import calls, speech
from cortex_git.capture.patterns import DOTALL, lazy
from cortex_git.capture.units import AGENT, ASSISTANT, NOTE, PLAN, PROMPT, SUMMARY, TOOL, Unit, clean, subagent, text_id
from cortex_git.env import rfc3339

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PATIENCE = 4 * 1024 * 1024
_MAX_RESTARTS = 8
_TIME = lazy(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")
_RESTART = lazy(r'\{"(?:parentUuid"|type": ?"(?:user|assistant|queue-operation|attachment)")')
_REPEATED = lazy(r"\n\d+\. \**All user messages.*?(?=\n\d+\. |\Z)", DOTALL)
_SPACE = lazy(r"[\s\ufeff]*")
_decode = json.JSONDecoder().raw_decode


class Records:
    """Folds records into `units`, in the order of the file.

    A tool call becomes a unit when its result comes, or when a person goes on without one.
    """

    def __init__(self, path: str) -> None:
        self.units: list[Unit] = []
        self._path = path
        self._waiting: dict[str, tuple[Unit, int]] = {}
        self._time = ""
        self._kind: str | None = None

    def resume(self, end: int) -> int:
        """Where to go on reading: at `end`, or at the first call that still waits for its result."""
        return min([end, *(start for _, start in self._waiting.values())])

    def objects(self, start: int, text: str, whole: bool) -> tuple[int, bool]:
        """Take in the objects of the line that begins at the byte `start`: there may be several on one.

        Returns where the last good one ends and whether all was good. In a whole line the
        search goes on behind what is broken; in one that is still being written it stops.
        """
        position = end = 0
        restarts = 0
        while True:
            position = _SPACE.match(text, position).end()  # type: ignore[union-attr]
            if position >= len(text):
                return end, not restarts
            try:
                value, position = _decode(text, position)
            except (ValueError, RecursionError):
                found = _RESTART.search(text, position + 1)
                restarts += 1
                if not whole or found is None or restarts > _MAX_RESTARTS:
                    return end, False
                position = found.start()
                continue
            end = position
            if isinstance(value, dict):
                self._record(value, start)

    def _record(self, record: Mapping[str, object], start: int) -> None:
        self._give_up(lambda call, since: since < start - _PATIENCE)
        kind = record.get("type")
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            self._time = _time(record.get("timestamp")) or self._time or self._file_time()
            handler(self, record, start)

    def _assistant(self, record: Mapping[str, object], start: int) -> None:
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else message
        model = message.get("model") if isinstance(message, dict) else ""
        synthetic = record.get("isApiErrorMessage") or model == "<synthetic>"
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if synthetic or not isinstance(content, list):
            return
        for block in content:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "text":
                text = speech.assistant(block.get("text"))
                if text:
                    self.units.append(self._unit(record, ASSISTANT, text=text, id=text_id(text)))
            elif kind == "tool_use":
                self._call(record, block, start)

    def _call(self, record: Mapping[str, object], block: Mapping[str, object], start: int) -> None:
        tool = clean(block.get("name"), 200).partition('"')[0]
        id = clean(block.get("id"), 200)
        call = self._unit(record, TOOL, tool=tool, id=id, input=calls.slim(block.get("input")))
        if id:
            self._waiting[id] = (call, start)
        else:
            self.units.append(calls.alone(call))

    def _user(self, record: Mapping[str, object], start: int) -> None:
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else message
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                self._result(record, block)
        if record.get("isCompactSummary") is True:
            text = _summary(speech.message(content))
            if text:
                self.units.append(self._unit(record, SUMMARY, text=text, id=text_id(text)))
        if not _by_person(record):
            return
        text = speech.message(content)
        if text.strip():
            self._give_up(lambda call, since: call.agent == AGENT)
        self._said(record, text)

    def _said(self, record: Mapping[str, object], text: str) -> None:
        """A person's message: a prompt, an accepted plan, or something to remember."""
        plan = clean(record.get("planContent")).strip()
        if not plan and text.startswith(speech.PLAN_PREFIX):
            plan = clean(text).removeprefix(speech.PLAN_PREFIX).strip()
        if plan:
            self.units.append(self._unit(record, PLAN, text=plan, id=text_id(plan), ok=True))
        elif noted := speech.note(text):
            self.units.append(self._unit(record, NOTE, text=noted))
        elif said := speech.person(text):
            self.units.append(self._unit(record, PROMPT, text=said))

    def _result(self, record: Mapping[str, object], block: Mapping[str, object]) -> None:
        failed = block.get("is_error") is True
        id = clean(block.get("tool_use_id"), 200)
        call, _ = self._waiting.pop(id, (None, 0))
        told = failed or (call is not None and calls.ORDERS in call.input)
        text = clean(speech.message(block.get("content"))).strip() if told else ""
        text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
        response = record.get("toolUseResult")
        if call is None:
            call = self._orphan(record, id, text, response)
        if call is not None:
            self.units += calls.finish(call, text, failed, response)

    def _orphan(self, record: Mapping[str, object], id: str, text: str, response: object) -> Unit | None:
        """The call of a result whose call is not in the file, where the result alone says enough."""
        if isinstance(response, dict) and isinstance(response.get("answers"), dict):
            return self._unit(record, TOOL, tool=calls.QUESTIONS, id=id, input=calls.slim(response))
        return self._unit(record, TOOL, id=id) if calls.refusal_reason(text) else None

    def _queued(self, record: Mapping[str, object], start: int) -> None:
        """A prompt typed while the assistant worked: often its only copy."""
        if record.get("operation") == "enqueue":
            self._said(record, speech.message(record.get("content")))

    def _attachment(self, record: Mapping[str, object], start: int) -> None:
        attachment = record.get("attachment")
        if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
            return
        if attachment.get("commandMode") in ("prompt", None) and _by_person(attachment):
            self._said(record, speech.message(attachment.get("prompt")))

    def _give_up(self, hopeless: Callable[[Unit, int], bool]) -> None:
        """Calls that will get no result any more become units as they are."""
        for id, (call, since) in list(self._waiting.items()):
            if hopeless(call, since):
                self.units.append(calls.alone(call))
                del self._waiting[id]

    def _unit(self, record: Mapping[str, object], kind: str, **fields: object) -> Unit:
        values: dict[str, object] = {
            "time": self._time,
            "session": clean(record.get("sessionId"), 200),
            "agent": self._agent(record) if kind != PROMPT else AGENT,
            "branch": clean(record.get("gitBranch"), 1000),
            "cwd": clean(record.get("cwd"), 4096),
            **fields,
        }
        return Unit(kind, **values)  # type: ignore[arg-type]

    def _agent(self, record: Mapping[str, object]) -> str:
        """Who speaks: in a sidechain the subagent that was started last, or the one whose file this is."""
        if record.get("isSidechain") is not True:
            return subagent(clean(record.get("agentName"), 100))  # one of a team, in a file of its own
        starts = [call for call, _ in self._waiting.values() if call.tool in ("Task", "Agent")]
        kind = clean(starts[-1].input.get("subagent_type"), 100) if starts else ""
        if kind:
            return subagent(kind)
        if self._kind is None:
            self._kind = _kind_of_file(self._path)
        return subagent(self._kind)

    def _file_time(self) -> str:
        try:
            return rfc3339(os.stat(self._path).st_mtime)
        except OSError:
            return rfc3339(0)


_HANDLERS: dict[str, Callable[[Records, Mapping[str, object], int], None]] = {
    "assistant": Records._assistant,
    "user": Records._user,
    "queue-operation": Records._queued,
    "attachment": Records._attachment,
}


def _by_person(record: Mapping[str, object]) -> bool:
    """Whether a message comes from a person, not from the client, a hook or another agent."""
    if any(record.get(name) for name in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSidechain")):
        return False
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    return kind in (None, "human") and record.get("promptSource") != "system"


def _summary(text: str) -> str:
    """What a client's summary of a conversation says for itself, without the prompts that it repeats."""
    begin = next((mark for mark in ("<summary>", "Summary:") if mark in text), "")
    told = clean(text).partition(begin)[2] if begin else clean(text)
    told = told.partition("</summary>")[0].partition("If you need specific details from before compaction")[0]
    return speech.assistant(_REPEATED.sub("\n", told))


def _time(value: object) -> str:
    """A timestamp as an event has it, with milliseconds; empty if it is none."""
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    return f"{found[1]}.{(found[2] or '')[:3]:0<3}Z" if found else ""


def _kind_of_file(path: str) -> str:
    """The kind of subagent that a file is from, as the file beside it says."""
    try:
        with open(path.removesuffix(".jsonl") + ".meta.json", encoding="utf-8") as file:
            values = json.loads(file.read(1 << 16))
    except (OSError, ValueError, RecursionError):
        return "subagent"
    kind = clean(values.get("agentType"), 100) if isinstance(values, dict) else ""
    return kind or "subagent"
