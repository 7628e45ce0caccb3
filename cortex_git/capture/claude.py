"""A payload of one of Claude Code's hooks as units. Pure, and wrong types never raise."""

from __future__ import annotations

from cortex_git.capture import calls, speech
from cortex_git.capture.units import (
    ASSISTANT,
    ENDED,
    PLAN,
    PROMPT,
    SESSION,
    STARTED,
    TOOL,
    Unit,
    clean,
    subagent,
    text_id,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Handler = Callable[[Mapping[str, object], Unit], list[Unit]]


def units(payload: Mapping[str, object], time: str, branch: str) -> list[Unit]:
    """What one payload says; `time` (RFC 3339) is when it came and `branch` what was checked out then.

    Payloads that only announce what another one will report (PreToolUse, PostToolBatch,
    MessageDisplay, …) say nothing.
    """
    handler = _HANDLERS.get(clean(payload.get("hook_event_name"), 40))
    if handler is None:
        return []
    base = Unit(
        TOOL,
        time=time,
        session=clean(payload.get("session_id"), 200),
        agent=subagent(clean(payload.get("agent_type"), 100)),
        branch=branch,
        cwd=clean(payload.get("cwd"), 4096),
    )
    return handler(payload, base)


def transcripts(payload: Mapping[str, object]) -> list[str]:
    """The transcript files that a payload names and that may hold something new.

    A session that starts has only what was read before, except when it is resumed. A
    compaction poses as a subagent without a type; its file holds a summary, which is an echo.
    """
    event = payload.get("hook_event_name")
    if event == "SessionStart" and payload.get("source") != "resume":
        return []
    names = ["transcript_path"]
    if event == "SubagentStop" and payload.get("agent_type"):
        names.append("agent_transcript_path")
    paths = (payload.get(name) for name in names)
    return [path for path in paths if isinstance(path, str) and path.endswith(".jsonl") and "\0" not in path]


def _prompt(payload: Mapping[str, object], base: Unit) -> list[Unit]:
    raw = clean(payload.get("prompt")).strip()
    if raw.startswith(speech.PLAN_PREFIX):
        plan = raw.removeprefix(speech.PLAN_PREFIX).strip()
        return [base.replace(kind=PLAN, text=plan, id=text_id(plan))] if plan else []
    text = speech.person(raw)
    return [base.replace(kind=PROMPT, text=text)] if text else []


def _used(payload: Mapping[str, object], base: Unit) -> list[Unit]:
    call = _call(payload, base)
    return calls.finish(call, "", False, payload.get("tool_response")) if call else []


def _failed(payload: Mapping[str, object], base: Unit) -> list[Unit]:
    call = _call(payload, base)
    response = {"interrupted": True} if payload.get("is_interrupt") is True else None
    return calls.finish(call, clean(payload.get("error")), True, response) if call else []


def _call(payload: Mapping[str, object], base: Unit) -> Unit | None:
    tool = clean(payload.get("tool_name"), 200)
    if not tool:
        return None
    id = clean(payload.get("tool_use_id"), 200)
    return base.replace(tool=tool, id=id, input=calls.slim(payload.get("tool_input")))


def _stop(payload: Mapping[str, object], base: Unit) -> list[Unit]:
    text = speech.assistant(payload.get("last_assistant_message"))
    return [base.replace(kind=ASSISTANT, text=text, id=text_id(text))] if text else []


def _subagent_stop(payload: Mapping[str, object], base: Unit) -> list[Unit]:
    """A compaction ends as a subagent without a type, with the summary as its message: nothing new."""
    return _stop(payload, base) if payload.get("agent_type") else []


def _started(payload: Mapping[str, object], base: Unit) -> list[Unit]:
    source = clean(payload.get("source"), 40) or "startup"
    return [] if source == "compact" else [base.replace(kind=SESSION, text=STARTED, answer=source)]


def _ended(payload: Mapping[str, object], base: Unit) -> list[Unit]:
    return [base.replace(kind=SESSION, text=ENDED, answer=clean(payload.get("reason"), 40) or "other")]


_HANDLERS: dict[str, Handler] = {
    "PostToolUse": _used,
    "PostToolUseFailure": _failed,
    "SessionEnd": _ended,
    "SessionStart": _started,
    "Stop": _stop,
    "SubagentStop": _subagent_stop,
    "UserPromptSubmit": _prompt,
}
