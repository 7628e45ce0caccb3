"""A finished tool call as units: what was done, what a person answered, refused or accepted."""

from __future__ import annotations

from cortex_git.capture import documents, shell, speech
from cortex_git.capture.patterns import MULTILINE, lazy
from cortex_git.capture.units import COMMIT, PLAN, QUESTION, REFUSAL, TOOL, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cortex_git.capture.units import Unit

QUESTIONS = "AskUserQuestion"
EXIT_PLAN = "ExitPlanMode"
ORDERS = "orders"
"""In the slim input of a call: the commits that its command asks for."""
_REFUSED = ("The user doesn't want to proceed with this tool use", "User rejected tool use", "User rejected")
_SAID = "the user said:\n"
_CLARIFY = "The user wants to clarify these questions"
_PARTLY = lazy(r'^- "(.+)"\n\s+Answer: (.+)$', MULTILINE)
"""A question that was answered before the person went on to ask something back."""
_NOTE_END = "\n\nNote: The user's next message"
_KEPT_TEXTS = (
    "file_path", "path", "notebook_path", "command", "description", "pattern", "url", "query", "skill", "subject",
    "taskId", "status", "subagent_type",
)  # fmt: skip
_GIT = ("push", "merge", "rebase", "pr", "branch")
_DOCUMENT_TEXTS = ("content", "old_string", "new_string", "edits")
_MAX_VALUE = 4000
_MAX_ITEMS = 100


def slim(input: object) -> dict[str, object]:
    """Of a tool's input what an event may be made of, so that a long transcript fits into little memory."""
    if not isinstance(input, dict):
        return {}
    kept: dict[str, object] = {name: clean(input[name], _MAX_VALUE) for name in _KEPT_TEXTS if name in input}
    kept.update((name, input[name]) for name in ("todos", "questions") if isinstance(input.get(name), list))
    if isinstance(input.get("plan"), str):
        kept["plan"] = clean(input["plan"])
    if documents.kind(str(kept.get("file_path", ""))):
        kept.update((name, input[name]) for name in _DOCUMENT_TEXTS if name in input)
    command = input.get("command")
    if isinstance(command, str) and "commit" in command and (orders := shell.orders(clean(command))):
        kept[ORDERS] = orders
    return kept


def finish(call: Unit, text: str, failed: bool, response: object) -> list[Unit]:
    """The units of a call that ended.

    `text` is the result as the model saw it, `response` the client's own structure of it.
    """
    if failed and text.startswith(_REFUSED):
        if call.tool == QUESTIONS and _CLARIFY in text:
            response = {"answers": dict(_PARTLY.findall(text))}
            return [_answered(call, *answer) for answer in _answers(call.input, response)]
        return [call.replace(kind=REFUSAL, ok=False, answer=refusal_reason(text))]
    if call.tool == QUESTIONS and not failed:
        return [_answered(call, *answer) for answer in _answers(call.input, response)]
    if call.tool == EXIT_PLAN and not failed:
        plan = clean(response.get("plan")) if isinstance(response, dict) else ""
        plan = plan or clean(call.input.get("plan"))
        return [call.replace(kind=PLAN, text=plan, ok=True)] if plan else []
    facts = _facts(text, failed, response)
    input = alone(call).input
    if call.tool == "TodoWrite" and isinstance(response, dict) and isinstance(response.get("oldTodos"), list):
        input = {**input, "oldTodos": response["oldTodos"]}
    ok = not failed and "interrupted" not in facts
    answer = clean(text, _MAX_VALUE) if failed else ""
    if not failed and documents.kind(str(input.get("file_path", ""))):
        lines, is_new = documents.added(call.input, response)
        input = {**input, "added": lines, "made": is_new}
    done = call.replace(kind=TOOL, ok=ok, answer=answer, facts=facts, input=input)
    return [done, *_commits(done, call.input.get(ORDERS), text, response)]


def alone(call: Unit) -> Unit:
    """A call without what only its result could make something of."""
    waits = (ORDERS, *_DOCUMENT_TEXTS)
    return call.replace(input={name: value for name, value in call.input.items() if name not in waits})


def _commits(call: Unit, orders: object, text: str, response: object) -> Iterator[Unit]:
    """The commits that a call made: those that git has told of, and those that were to be made without a word."""
    if not isinstance(orders, list):
        return
    output = clean(response.get("stdout")) if isinstance(response, dict) else ""
    told = shell.reported(output or text)
    known = call.facts.get("commit", "")
    left: list[shell.Order] = list(orders)
    if not told and known and len(left) == 1:
        told = [("", known, left[0].subject)]
    made: list[tuple[shell.Order, str]] = []
    for _, sha, subject in told:
        order = next((order for order in left if order.subject == subject), None)
        order = order or next((order for order in left if not order.subject or "$" in order.subject), None)
        if order is not None:
            left.remove(order)
        made.append((_as_told(order, subject), sha))
    if call.ok:
        made += [(order, "") for order in left if order.quiet and order.message]
    for number, (order, sha) in enumerate(made):
        facts = {"commit": sha, "git": "amended" if order.amends else "committed", "place": order.place}
        facts = {name: value for name, value in facts.items() if value}
        id = f"{call.id}#{number}" if number else call.id
        yield call.replace(kind=COMMIT, text=clean(order.message), id=id, input={}, answer="", facts=facts)


def _as_told(order: shell.Order | None, subject: str) -> shell.Order:
    """The order with the subject that git tells: a variable has its value there, and a kept message its words."""
    if order is None:
        return shell.Order(subject, "", False, False)
    if order.subject == subject:
        return order
    body = order.message.strip().partition("\n")[2]
    return shell.Order(f"{subject}\n{body}".rstrip("\n"), order.place, order.amends, order.quiet)


def _answered(call: Unit, question: str, answer: str, detail: Mapping[str, object]) -> Unit:
    return call.replace(kind=QUESTION, text=question, answer=answer, input=detail, ok=True)


def refusal_reason(text: str) -> str:
    """The words with which a person refused a tool call; empty if there are none."""
    _, found, said = text.partition(_SAID)
    if not found or said.lstrip().startswith(_CLARIFY):
        return ""
    return speech.person(said.partition(_NOTE_END)[0])


def _facts(text: str, failed: bool, response: object) -> dict[str, str]:
    facts: dict[str, str] = {}
    if failed:
        head, _, _ = text.removeprefix("Error: ").partition("\n")
        if head.startswith("Exit code ") and head[10:].strip().lstrip("-").isdigit():
            facts["exit"] = head[10:].strip()[:12]
    if not isinstance(response, dict):
        return facts
    if response.get("interrupted") is True:
        facts["interrupted"] = "true"
    commit = _inner(_inner(response, "gitOperation"), "commit")
    sha, kind = clean(commit.get("sha"), 64), clean(commit.get("kind"), 40)
    if sha:
        facts["commit"] = sha
        facts["git"] = kind or "committed"
    else:
        done = next((name for name in _GIT if _inner(_inner(response, "gitOperation"), name)), "")
        facts.update({"git": done} if done else {})
    task = clean(_inner(response, "task").get("id"), 40)
    if task:
        facts["task"] = task
    return facts


def _inner(values: Mapping[str, object], name: str) -> Mapping[str, object]:
    inner = values.get(name)
    return inner if isinstance(inner, dict) else {}


def _answers(input: Mapping[str, object], response: object) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Each question with its answer and, as `header` and `options`, what could be chosen."""
    answers = _inner(response, "answers") if isinstance(response, dict) else {}
    notes = _inner(response, "annotations") if isinstance(response, dict) else {}
    questions = input.get("questions")
    for entry in questions[:_MAX_ITEMS] if isinstance(questions, list) else []:
        if not isinstance(entry, dict):
            continue
        question = clean(entry.get("question"), _MAX_VALUE).strip()
        answer = answers.get(question)
        if isinstance(answer, list):
            answer = ", ".join(item for item in answer if isinstance(item, str))
        said = clean(answer, _MAX_VALUE).strip()
        note = clean(_inner(notes, question).get("notes"), _MAX_VALUE).strip()
        if question and said:
            detail: dict[str, object] = {"header": clean(entry.get("header"), 200), "options": _options(entry)}
            yield question, said, {**detail, "note": note} if note else detail


def _options(entry: Mapping[str, object]) -> list[tuple[str, str]]:
    """Label and description of each choice."""
    options = entry.get("options")
    return [
        (clean(option.get("label"), 400).strip(), clean(option.get("description"), _MAX_VALUE).strip())
        for option in (options[:_MAX_ITEMS] if isinstance(options, list) else [])
        if isinstance(option, dict)
    ]
