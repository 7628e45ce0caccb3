"""The bodies of items: how events are laid out as Markdown, and how that is read back."""

from __future__ import annotations

import re

from cortex_git.events import model
from cortex_git.projections import prose
from cortex_git.views.standing import Plan, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_git.events.model import Event

WORDS = {
    model.DECISION: "decision",
    model.REJECTED: "rejected",
    model.KNOWLEDGE: "fact",
    model.RESOLVED: "fix",
    model.PREFERENCE: "preference",
    model.PLAN: "plan",
}
"""What each type of event is called where it has no words of its own."""
_CONTEXT, _OPTIONS, _OUTCOME = "Context and Problem Statement", "Considered Options", "Decision Outcome"
_LEADS = {model.RESOLVED: "Fixed: ", model.PREFERENCE: "Preferred: "}
_BRIEF = 160
_SHORT_REASON = 400
_EMPTY = "(nothing)"


def title(event: Event) -> str:
    """The title of an event: the first sentence of its content, shortened, or the name of its type."""
    return prose.title_of(event.content) or WORDS.get(event.type, event.type).capitalize()


def decision(event: Event) -> list[str]:
    """The body of a decision or rejected approach, with the headings of MADR; sections without content are left out."""
    head, details = _brief(event)
    inline_reason = bool(event.reason) and _fits(event.reason, _SHORT_REASON)
    sections: dict[str, list[str]] = {}
    if event.reason and not inline_reason:
        sections[_CONTEXT] = prose.block(event.reason)
    if event.alternatives:
        options = (prose.inline(text, start=True) or _EMPTY for text in (head, *event.alternatives))
        sections[_OPTIONS] = prose.bullets(options)
    lead = "Rejected" if event.type == model.REJECTED else "Chosen option"
    end = f", because {prose.inline(event.reason)}" if inline_reason else "."
    sections[_OUTCOME] = [f'{lead}: "{prose.inline(head)}"{end}', *(["", *details] if details else [])]
    body: list[str] = []
    for name, lines in sections.items():
        body += [*([""] if body else []), f"## {name}", "", *lines]
    return body


def read_decision(body: Sequence[str]) -> dict[str, object]:
    """Content, reason and alternatives as the body of a decision shows them."""
    sections = _sections(body)
    outcome = sections.get(_OUTCOME, [])
    pattern = r'(?:Chosen option|Rejected): "(.*)"(?:, because (.*)|\.)'
    match = re.fullmatch(pattern, outcome[0][0]) if outcome else None
    content, reason = (match[1], match[2] or "") if match else ("", "")
    options = [line.removeprefix("- ") for lines in sections.get(_OPTIONS, []) for line in lines]
    context = sections.get(_CONTEXT)
    return {
        "content": _joined(outcome[1:]) if len(outcome) > 1 else prose.read_inline(content),
        "reason": _joined(context) if context else prose.read_inline(reason),
        "alternatives": [prose.read_inline(option) for option in options[1:]],
    }


def fact(event: Event) -> list[str]:
    """The section of a fact or fix in the file of its session."""
    head, details = _brief(event)
    lines = [f"## {prose.heading(_LEADS.get(event.type, '') + head)}"]
    if details:
        lines += ["", *details]
    if event.reason and _fits(event.reason, _SHORT_REASON):
        lines += ["", f"Because: {prose.inline(event.reason)}"]
    elif event.reason:
        lines += ["", "Because:", "", *prose.block(event.reason)]
    return lines


def read_fact(section: Sequence[str], type: str) -> dict[str, object]:
    """Content and reason as the section of a fact shows them."""
    ((name, blocks),) = _sections(section).items()
    cut = next((at for at, lines in enumerate(blocks) if lines[0].startswith("Because:")), len(blocks))
    reason = ""
    if cut < len(blocks):
        said = prose.read_inline(blocks[cut][0].removeprefix("Because:").removeprefix(" "))
        reason = said or _joined(blocks[cut + 1 :])
    content = _joined(blocks[:cut]) if cut else prose.read_inline(name).removeprefix(_LEADS.get(type, ""))
    return {"content": content, "reason": reason}


def split_facts(body: Sequence[str]) -> list[list[str]]:
    """The sections of a file of facts."""
    found: list[list[str]] = []
    for lines in _blocks(body):
        if lines[0].startswith("## "):
            found.append(lines)
        elif found:
            found[-1] += ["", *lines]
        else:
            raise ValueError("there is text before the first heading")
    return found


def plan(plan: Plan, branch: str) -> list[str]:
    """The body of a plan: what it is for, and a box for each step."""
    done = sum(step.done for step in plan.steps)
    state = f"{done} of {len(plan.steps)} steps done." if plan.steps else "No steps yet."
    lines = [f"Plan of the branch {prose.inline(branch or '(no branch)')}: {state}"]
    if plan.steps:
        lines += ["", *steps(plan.steps)]
    return lines


def steps(steps: Sequence[Step]) -> list[str]:
    """A task list."""
    return [f"- [{'x' if step.done else ' '}] {prose.inline(step.text, start=True) or _EMPTY}" for step in steps]


def read_plan(body: Sequence[str], title: str) -> tuple[str, list[Step]]:
    """The content of a plan as its body shows it, and its steps."""
    marked = [line for line in body if line.startswith(("- [x] ", "- [ ] "))]
    found = [Step(prose.read_inline(line[6:]), line[3] == "x") for line in marked]
    return "\n".join([title, *(f"- [{'x' if step.done else ' '}] {step.text}" for step in found)]), found


def plan_of(event: Event, title: str, steps: list[Step]) -> Plan:
    """A plan put together from what its file holds."""
    return Plan(event, title, steps)


def _brief(event: Event) -> tuple[str, list[str]]:
    """The content itself if it is short, else its title and the whole of it as a block."""
    if event.content and _fits(event.content, _BRIEF):
        return event.content, []
    return title(event), prose.block(event.content) if event.content else []


def _fits(text: str, limit: int) -> bool:
    return len(text) <= limit and "\n" not in text and prose.read_inline(prose.inline(text)) == text


def _sections(body: Sequence[str]) -> dict[str, list[list[str]]]:
    """Heading to the blocks under it."""
    found: dict[str, list[list[str]]] = {}
    name = ""
    for lines in _blocks(body):
        if lines[0].startswith("## "):
            name = lines[0].removeprefix("## ")
            found[name] = []
        else:
            found.setdefault(name, []).append(lines)
    return found


def _blocks(body: Sequence[str]) -> Iterator[list[str]]:
    lines = list(body)
    at = 0
    while at < len(lines):
        if lines[at] == "":
            at += 1
            continue
        end = prose.take_block(lines, at)
        yield lines[at:end]
        at = end


def _joined(blocks: Sequence[Sequence[str]]) -> str:
    lines: list[str] = []
    for block in blocks:
        lines += ["", *block] if lines else block
    return prose.read_block(lines)
