"""What is common to everything that an assistant's client tells us: one thing that was said or done."""

from __future__ import annotations

from cortex_git.digest import sha256_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

AGENT = "claude-code"

PROMPT = "prompt"
ASSISTANT = "assistant"
TOOL = "tool"
QUESTION = "question"
REFUSAL = "refusal"
PLAN = "plan"
NOTE = "note"
COMMIT = "commit"
SUMMARY = "summary"
SESSION = "session"
STARTED = "started"
ENDED = "ended"
"""The text of a `session` unit."""
KINDS = (PROMPT, ASSISTANT, TOOL, QUESTION, REFUSAL, PLAN, NOTE, COMMIT, SUMMARY, SESSION)

MAX_TEXT = 256 * 1024
"""Of a longer text (in characters) only the beginning is looked at."""


class Unit:
    """One thing said or done.

    `kind` is one of KINDS: a person's own words (`prompt`), an assistant's text, a tool call
    (`tool`), a question of the assistant with the person's `answer`, a tool call that a person
    refused with their words in `answer`, a plan that was accepted, something that a person told
    the client to remember (`note`), the message of a commit that was made (`commit`), what a
    client makes of a conversation that has become too long (`summary`), the start or end of a
    session.

    `time` is RFC 3339 in UTC. `agent` is `claude-code`, or `claude-code/<kind>` for a subagent.
    `id` is that of the message or the tool call. `input` holds what matters of a tool's input.
    `ok` is whether a tool succeeded, None if that is unknown; `answer` is what it said when it
    failed. `facts` are small results: `exit`, `commit`, `task`; of a commit `commit` is its id as
    far as it is known, and `place` a path that git was sent to.
    """

    __slots__ = (
        "agent", "answer", "branch", "cwd", "facts", "id", "input", "kind", "ok", "session", "text", "time", "tool",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        text: str = "",
        *,
        time: str = "",
        session: str = "",
        agent: str = AGENT,
        branch: str = "",
        cwd: str = "",
        id: str = "",
        tool: str = "",
        input: Mapping[str, object] | None = None,
        ok: bool | None = None,
        answer: str = "",
        facts: Mapping[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self.text = text
        self.time = time
        self.session = session
        self.agent = agent
        self.branch = branch
        self.cwd = cwd
        self.id = id
        self.tool = tool
        self.input: Mapping[str, object] = input or {}
        self.ok = ok
        self.answer = answer
        self.facts: Mapping[str, str] = facts or {}

    def replace(self, **changes: object) -> Unit:
        """A copy with some fields changed."""
        fields: dict[str, object] = {name: getattr(self, name) for name in self.__slots__}
        fields.update(changes)
        return Unit(**fields)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unit) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Unit({self.kind} {self.tool} {(self.text or self.answer)[:40]!r})"


def clean(value: object, limit: int = MAX_TEXT) -> str:
    """A text out of foreign JSON: empty if it is no text, without NUL and lone surrogates, not longer than `limit`."""
    if not isinstance(value, str):
        return ""
    text = value[:limit]
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\0", "") if "\0" in text else text


def text_id(text: str) -> str:
    """An id for a message that has none in one of the places where it is met: the same for the same words."""
    return "text:" + sha256_hex(" ".join(text.split()).encode("utf-8", "replace"))[:16]


def subagent(kind: str) -> str:
    """The name of a subagent of this kind as an event has it."""
    return f"{AGENT}/{kind}" if kind else AGENT
