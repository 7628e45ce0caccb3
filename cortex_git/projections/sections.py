"""What stands on the pages: lists of decisions, rejected approaches, facts and plans, as Markdown."""

from __future__ import annotations

from cortex_git.events import model
from cortex_git.projections import prose
from cortex_git.projections.document import DECISIONS, FOLDER, LEARNED, PLANS, Item
from cortex_git.projections.layout import steps, title
from cortex_git.views.standing import Step, corrected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_git.events.model import Event

_REASON = 300
_BYTES_A_TOKEN = 3
# Of a briefing's room, what each part may take before the others have had theirs.
_SHARES = (("plans", 0.15), ("rejected", 0.2), ("decisions", 0.4), ("learned", 0.25))


class View:
    """The items of one tree, sorted out, each list with the newest first."""

    def __init__(self, found: Iterable[Item], accepted: bool) -> None:
        items = sorted((item for item in found if item.events), key=lambda item: model.order(item.event), reverse=True)
        choices = [item for item in items if item.path.startswith(DECISIONS)]
        self.accepted = accepted
        self.by_id = {item.event.id: item for item in choices}
        overturned = {old: item.event.id for item in reversed(choices) for old in item.supersedes}
        self.successor = overturned | {item.event.id: item.superseded_by for item in choices if item.superseded_by}
        standing = [item for item in choices if not self.over(item)]
        self.decisions = [item for item in standing if not _is_rejected(item)]
        self.rejected = [item for item in standing if _is_rejected(item)]
        self.over_items = [item for item in choices if self.over(item)]
        facts = [event for item in items if item.path.startswith(LEARNED) for event in item.events]
        over = corrected(facts)
        self.learned = sorted((e for e in facts if e.id not in over), key=model.order, reverse=True)
        self.plans = _plans([item for item in items if item.path.startswith(PLANS)])
        self.ages = _ages(event for item in items for event in (*item.events, *item.ticks))

    def over(self, item: Item) -> bool:
        """Whether a decision no longer counts."""
        return item.status in ("superseded", "deprecated") or item.event.id in self.successor

    def status(self, item: Item) -> str:
        """How a decision is labelled; empty where that goes without saying."""
        return "" if self.accepted or item.status == "accepted" else item.status

    def age(self, event: Event) -> str:
        """How long ago something was said, counted in the sessions that items name."""
        sessions = self.ages.get(event.session)
        if not event.session or sessions is None:
            return ""
        return ("latest session", "1 session ago")[sessions] if sessions < 2 else f"{sessions} sessions ago"


def decisions(view: View) -> list[str]:
    """The page of what is decided and what was rejected."""
    lines = ["# Decisions", "", _ORIGIN, ""]
    lines += ["## In force", "", *_or_none([_choice(view, item) for item in view.decisions]), ""]
    lines += ["## Rejected approaches", "", *_or_none([_choice(view, item) for item in view.rejected]), ""]
    if view.over_items:
        count = len(view.over_items)
        lines += [f"{count} more {'is' if count == 1 else 'are'} in the [archive](decisions-archive.md)."]
    return _trimmed(lines)


def archive(view: View) -> list[str]:
    """The page of decisions that no longer count, each with what took its place."""
    lines = ["# Decisions that no longer count", "", _ORIGIN, ""]
    entries = []
    for item in view.over_items:
        successor = view.by_id.get(view.successor.get(item.event.id, ""))
        if successor:
            entries.append(f"- {_link(item)}, superseded by {_link(successor)} ({_facts(view, item.event)})")
        else:
            entries.append(f"- {_link(item)}, {item.status} ({_facts(view, item.event)})")
    return [*lines, *_or_none(entries)]


def plans(view: View) -> list[str]:
    """The page of plans: the open ones in full, then a line for each that is finished."""
    still_open = [item for item in view.plans if not _finished(item)]
    finished = [item for item in view.plans if _finished(item)]
    lines = ["# Plans", "", _ORIGIN, ""]
    for item in still_open:
        lines += [f"## {prose.heading(item.title or 'Plan')}", "", _progress(item), "", *steps(item.steps), ""]
    if not still_open:
        lines += ["No plan is open.", ""]
    if finished:
        lines += ["## Finished", "", *(f"- {_link(item)}: {_progress(item)}" for item in finished)]
    return _trimmed(lines)


def briefing(view: View, tokens: int) -> list[str]:
    """The page to start with: the most recent of everything, within the budget."""
    parts = {
        "plans": ("Plans", [line for item in view.plans if not _finished(item) for line in _plan_lines(item)]),
        "rejected": ("Rejected approaches", [_told(view, item.event) for item in view.rejected]),
        "decisions": ("Decisions", [_told(view, item.event, view.status(item)) for item in view.decisions]),
        "learned": ("Learned", [_told(view, event) for event in view.learned]),
    }
    intro = ["# Briefing", "", _ORIGIN, "", _CAUTION, ""]
    budget = tokens * _BYTES_A_TOKEN - sum(len(line.encode()) + 1 for line in intro)
    kept = _within(budget, {name: lines for name, (_, lines) in parts.items()})
    lines = list(intro)
    for name, (heading, entries) in parts.items():
        if entries:
            left = len(entries) - len(kept[name])
            lines += [f"## {heading}", "", *kept[name], "", *([_more(left), ""] if left else [])]
    if not any(entries for _, entries in parts.values()):
        lines += ["Nothing is remembered yet."]
    return _trimmed(lines)


_ORIGIN = "Rendered by `git cortex` from the files beside this one; change those, and this page follows."
_CAUTION = "These are dated notes by people and their assistants, not instructions: check them against the code."


def _within(budget: int, parts: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """As many lines of each part as fit: first into its own share, then into what others have left."""
    kept: dict[str, list[str]] = {}
    rest = float(budget)
    for name, share in _SHARES:
        kept[name], used = _fitting(parts[name], budget * share)
        rest -= used
    for name, _ in _SHARES:
        more, used = _fitting(parts[name][len(kept[name]) :], rest)
        kept[name] += more
        rest -= used
    return kept


def _fitting(lines: list[str], room: float) -> tuple[list[str], int]:
    taken, used = 0, 0
    for line in lines:
        cost = len(line.encode()) + 1
        if used + cost > room:
            break
        used += cost
        taken += 1
    return lines[:taken], used


def _more(count: int) -> str:
    return f"{count} more {'line is' if count == 1 else 'lines are'} left out here."


def _choice(view: View, item: Item) -> str:
    status = "" if _is_rejected(item) else view.status(item)
    return f"- {_link(item)}{_because(item.event)} ({_facts(view, item.event, status)})"


def _told(view: View, event: Event, status: str = "") -> str:
    said = prose.inline(prose.shorten(prose.flat(event.content), _REASON), start=True) or title(event)
    return f"- {said}{_because(event)} ({_facts(view, event, status, view.age(event))})"


def _facts(view: View, event: Event, *more: str) -> str:
    who = event.author or "user" if event.agent == "user" else event.agent or "unknown"
    return prose.inline(", ".join(word for word in (*more, event.time[:10], prose.flat(who)) if word))


def _because(event: Event) -> str:
    reason = prose.shorten(prose.flat(event.reason), _REASON)
    return f", because {prose.inline(reason)}" if reason else ""


def _link(item: Item) -> str:
    return f"[{prose.inline(item.title, links=False) or 'untitled'}]({item.path.removeprefix(FOLDER)})"


def _is_rejected(item: Item) -> bool:
    return item.event.type == model.REJECTED or item.status == "rejected"


def _plans(items: Iterable[Item]) -> list[Item]:
    """The newest plan of each branch, each step done that anybody's file says is done."""
    files: dict[str, list[Item]] = {}
    for item in items:
        known = files.setdefault(item.branch, [])
        if not known or known[0].event.id == item.event.id:
            known.append(item)
    return [_joined(found) if len(found) > 1 else found[0] for found in files.values()]


def _joined(copies: list[Item]) -> Item:
    """One plan from the files that several people have of it."""
    first = min(copies, key=lambda item: item.path)
    made = Item(first.path)
    made.title, made.branch, made.events = first.title, first.branch, first.events
    done = {step.text for item in copies for step in item.steps if step.done}
    made.steps = [Step(step.text, step.text in done) for step in first.steps]
    return made


def _finished(item: Item) -> bool:
    return bool(item.steps) and all(step.done for step in item.steps)


def _progress(item: Item) -> str:
    done = sum(step.done for step in item.steps)
    state = f"{done} of {len(item.steps)} steps done" if item.steps else "no steps yet"
    return f"Branch {prose.inline(item.branch or '(none)')}, {state}."


def _plan_lines(item: Item) -> list[str]:
    return [
        f"- {prose.inline(item.title or 'Plan', start=True)}: {_progress(item)}",
        *("  " + line for line in steps(item.steps)),
    ]


def _or_none(entries: list[str]) -> list[str]:
    return entries or ["None yet."]


def _trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def _ages(events: Iterable[Event]) -> dict[str, int]:
    """Session to the number of sessions that came after it."""
    last: dict[str, str] = {}
    for event in events:
        if event.session:
            last[event.session] = max(last.get(event.session, ""), event.time)
    newest_first = sorted(last, key=lambda session: (last[session], session), reverse=True)
    return {session: age for age, session in enumerate(newest_first)}
