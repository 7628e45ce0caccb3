"""Writing item files. The same events give the same bytes."""

from __future__ import annotations

import re

from cortex_git.digest import sha256_hex
from cortex_git.events import model
from cortex_git.projections import fields as front
from cortex_git.projections import frontmatter, layout, prose
from cortex_git.projections.document import DECISIONS, LEARNED, LINT_OFF, PLANS, checksum, session_digits
from cortex_git.views.standing import birth_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_git.events.model import Event
    from cortex_git.projections.document import Item
    from cortex_git.views.standing import Plan


def render(
    event: Event,
    *,
    status: str = "",
    supersedes: Iterable[str] = (),
    superseded_by: str = "",
    scope: Iterable[str] = (),
    amends: Iterable[str] = (),
    relates_to: Iterable[str] = (),
) -> tuple[str, bytes]:
    """Path and content of the file of a decision or rejected approach.

    Without a status it is the one that the event is born with; without a scope it is the files
    of the event. The relations are ids.
    """
    body = layout.decision(event)
    title = layout.title(event)
    values = front.of_event(event, scope) | _exact(event, layout.read_decision(body)) | {
        "title": title,
        "status": status or birth_status(event),
        "decision-makers": front.makers(event),
        "supersedes": list(supersedes),
        "superseded-by": superseded_by,
        "amends": list(amends),
        "relates-to": list(relates_to),
    }  # fmt: skip
    name = f"{front.date_of(event)}-{prose.slug(title, layout.WORDS[event.type])}-{event.id[:7]}.md"
    return DECISIONS + name, _document(values, title, body)


def render_learned(events: Sequence[Event]) -> tuple[str, bytes]:
    """Path and content of the file of the facts and fixes that one session adds to one commit.

    Raises ValueError if there are none.
    """
    if not events:
        raise ValueError("no events")
    events = sorted(events, key=model.order)
    body: list[str] = []
    groups = []
    for event in events:
        section = layout.fact(event)
        body += ["", *section] if body else section
        groups.append(front.of_event(event) | _exact(event, layout.read_fact(section, event.type)))
    shared, rest = front.gather(groups)
    first, date = events[0], front.date_of(events[0])
    more = f" and {len(events) - 1} more" if len(events) > 1 else ""
    values = {"id": first.id, "type": "learned", "title": layout.title(first) + more, "date": date}
    # Named after all that it holds: two branches that add to the same facts must not write one file differently.
    name = f"{date}-{session_digits(first.session)}-{sha256_hex(' '.join(e.id for e in events).encode())[:7]}.md"
    return LEARNED + name, _document(values | shared | {"events": rest}, f"Learned on {date}", body)


def render_plan(plan: Plan, key: str, branch: str, ticks: Iterable[Event] = ()) -> tuple[str, bytes]:
    """Path and content of the file of a branch's plan as it stands.

    `key` is a `plan_key`, `ticks` the events that say which steps are done: they stand in
    the file, so that a clone without notes knows them.
    """
    event = plan.event
    ticks = sorted(ticks, key=model.order)
    body = layout.plan(plan, branch)
    shown, _ = layout.read_plan(body, plan.title)
    groups = [front.of_event(tick) | _exact(tick, {}) for tick in ticks]
    values = front.of_event(event) | _exact(event, {"content": shown, "reason": "", "alternatives": []}) | {
        "title": plan.title,
        "status": birth_status(event),
        "decision-makers": front.makers(event),
        "ticks": [front.within(group) for group in groups],
    }  # fmt: skip
    if branch != event.branch:
        values["on-branch"] = branch
    # Named after all that it holds: where the plan has moved on since a squash merge, two files meet and not two
    # states of one.
    digits = sha256_hex(" ".join(e.id for e in (event, *ticks)).encode())[:6]
    path = f"{PLANS}{prose.slug(branch, 'branch')}-{key}-{digits}.md"
    return path, _document(values, plan.title or "Plan", body)


def restate(data: bytes, status: str, superseded_by: str = "") -> bytes:
    """The same decision with another status: the only change that an item ever sees."""
    head, separator, body = data.partition(b"\n---\n")
    head = re.sub(rb"(?m)^superseded[-_]by: .*\n", b"", head)
    head = re.sub(rb"(?m)^status: .*$", b"status: " + status.encode("ascii"), head, count=1)
    if superseded_by:
        # It stands where it would in a new file: before whatever follows it in the order of fields.
        later = "|".join(front.ORDER[front.ORDER.index("superseded-by") + 1 :])
        line = f'superseded-by: "{superseded_by}"\n'.encode("ascii")
        head = re.sub(rb"(?m)^(?:" + later.encode() + rb"):", lambda match: line + match[0], head, count=1)
    return head + separator + body


def rerender(item: Item) -> tuple[str, bytes]:
    """Path and content that a file without faults must have."""
    if item.path.startswith(LEARNED):
        return render_learned(item.events)
    if item.path.startswith(PLANS):
        return render_plan(layout.plan_of(item.event, item.title, item.steps), item.key, item.branch, item.ticks)
    return render(
        item.event,
        status=item.status,
        supersedes=item.supersedes,
        superseded_by=item.superseded_by,
        scope=item.scope,
        amends=item.amends,
        relates_to=item.relates_to,
    )


def _exact(event: Event, shown: Mapping[str, object]) -> dict[str, object]:
    """What of content, reason and alternatives the prose does not give back as it is."""
    real: dict[str, object] = {
        "content": event.content,
        "reason": event.reason,
        "alternatives": list(event.alternatives),
    }
    default: dict[str, object] = {"content": None, "reason": "", "alternatives": []}
    return {name: value for name, value in real.items() if value != shown.get(name, default[name])}


def _document(values: dict[str, object], title: str, body: list[str]) -> bytes:
    head = frontmatter.emit(front.ordered(values))
    text = "\n".join(["", LINT_OFF, "", f"# {prose.heading(title)}", "", *body, ""])
    digits = frontmatter.scalar(checksum(head, text))
    return f"---\n{head}sum: {digits}\n---\n{text}".encode()
