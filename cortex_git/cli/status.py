"""`git cortex status`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from cortex_git.cli import exchange, text
from cortex_git.cli import plan as plans
from cortex_git.cli.command import Command, color_option, json_option
from cortex_git.cli.opening import open_memory, warn_of_settings
from cortex_git.cli.project import look_ahead, off_reason
from cortex_git.cli.selection import LABELS
from cortex_git.cli.terminal import Screen, one_line, screen, write_json
from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.memory import STAYING, Memory
from cortex_git.pending import Pending, pending
from cortex_git.projections.items import DECISIONS, LEARNED, PLANS
from cortex_git.projections.pages import is_page
from cortex_git.setup import claude, rules
from cortex_git.setup.glance import inactive_hooks
from cortex_git.store import keys, spool
from cortex_git.views.standing import Standing, fold

_SHOWN = 10
_DECIDED = (model.DECISION, model.REJECTED)
_PLURALS = {
    "decision": "decisions",
    "rejected": "rejected approaches",
    "learned": "facts",
    "fixed": "errors solved",
    "preference": "preferences",
    "task": "tasks done",
    "plan": "plans",
    "step": "steps done",
    "file": "files changed",
    "explored": "files read",
    "command": "commands run",
    "session": "sessions",
    "commit": "commits",
}
_SINGULARS = {
    "rejected": "rejected approach",
    "learned": "fact",
    "fixed": "error solved",
    "task": "task done",
    "step": "step done",
    "file": "file changed",
    "explored": "file read",
    "command": "command run",
}


@click.command(cls=Command)
@json_option
@color_option
@click.pass_obj
def status(env: Env, as_json: bool, color: str) -> None:
    """Say how things stand: the branch, its memory, its plan, what the next commit will bring, whether hooks work."""
    memory = open_memory(env)
    warn_of_settings(memory)
    facts = _facts(memory)
    if as_json:
        write_json(env, facts)
        return
    with screen(env, memory.repo.git_config(), color) as out:
        for line in _lines(facts, out):
            out.line(line)


def _facts(memory: Memory) -> dict[str, Any]:
    branch, head = memory.position()
    events = memory.visible()
    standing = fold(events)
    alive = [event for event in events if not standing.dead(event.id)]
    coming, open_events = _coming(memory, standing), _uncommitted(memory, alive, head)
    return {
        "branch": branch,
        "commit": head,
        "key": keys.lookup(memory.repo, branch, memory.refs()).value,
        "counts": _counts(alive, standing),
        "unknown": standing.unknown,
        "withdrawn": sum(standing.dead(event.id) and event.type not in model.STATE_CHANGES for event in events),
        "pinned": sum(event.id in standing.pinned for event in alive),
        "plan": plans.as_dict(standing.plan),
        "next_commit": coming,
        "uncommitted": len(open_events),
        "staying": _staying(open_events, coming),
        "private": sum(event.private and event.type in model.SEMANTIC for event in alive),
        "spool": {"waiting": len(spool.names(memory.repo.home)), "bad": len(spool.bad_names(memory.repo.home))},
        "hooks": _hooks(memory),
        "sharing": exchange.state(memory),
    }


def _coming(memory: Memory, standing: Standing) -> dict[str, Any]:
    """What the next commit on this branch does in `.cortex/`; `off` says why it does nothing there at all."""
    off = off_reason(memory)
    coming = Pending("") if off else pending(memory)
    faults: list[str] = []
    wanted, gone = look_ahead(memory, coming, faults)
    new = {event.id[:7] for event in coming.events}
    paths = {path[-10:-3] for path in wanted if path.startswith(DECISIONS)}
    learned = any(path.startswith(LEARNED) for path in wanted)
    events = [e for e in coming.events if e.id[:7] in paths or (learned and e.type not in _DECIDED)]
    return {
        "off": off,
        "events": [text.as_dict(event, standing) for event in events],
        "states": {id: state for id, (state, _) in coming.states.items() if id[:7] in paths and id[:7] not in new},
        "plan": any(path.startswith(PLANS) for path in wanted),
        "pages": sum(is_page(path) for path in wanted),
        "takes_out": gone,
        "faults": faults,
    }


def _counts(events: list[Event], standing: Standing) -> dict[str, int]:
    counts = dict.fromkeys(_PLURALS, 0)
    for event in events:
        if event.type in LABELS:
            counts[LABELS[event.type]] += 1
    counts["session"] = len(standing.sessions)
    return {name: count for name, count in counts.items() if count}


def _uncommitted(memory: Memory, alive: list[Event], head: str | None) -> list[Event]:
    """The memories that are in this clone's notes only, since no commit holds them."""
    held = {id for ids in memory.held(head).values() for id in ids}
    plan_files = {path: blob for path, blob in memory.items(head).items() if path.startswith(PLANS)}
    held.update(event.id for event in memory.item_events(plan_files))
    return [event for event in alive if event.type in model.SEMANTIC and event.id not in held]


def _staying(events: list[Event], coming: dict[str, Any]) -> dict[str, int]:
    """Of the memories that no commit holds, how many of each kind the next commit does not bring either."""
    brought = {event["id"] for event in coming["events"]}
    left = [event for event in events if event.id not in brought]
    if coming["plan"]:
        left = [event for event in left if event.type not in STAYING or event.private]
    kinds = ["private" if event.private else LABELS[event.type] for event in left]
    return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


def _hooks(memory: Memory) -> dict[str, Any]:
    problem = inactive_hooks(memory.repo) or _claude_problem(memory)
    return {"active": not problem, "problem": problem}


def _claude_problem(memory: Memory) -> str:
    """What keeps the assistant's hooks from working; empty if nothing does."""
    if not rules.wanted(memory.repo):
        return ""
    try:
        found = claude.problems(memory.repo, memory.env)
    except (CortexError, OSError) as error:
        found = [str(error)]
    return f"{found[0]} (`git cortex doctor`)" if found else ""


def _lines(facts: dict[str, Any], out: Screen) -> Iterator[str]:
    where = f"On branch {one_line(facts['branch'])}" if facts["branch"] else "HEAD is detached"
    yield f"{out.paint(where, 'bold')} (key {facts['key']})"
    counts = [f"{count} {_PLURALS[name] if count != 1 else _singular(name)}" for name, count in facts["counts"].items()]
    yield f"Memory: {', '.join(counts) or 'nothing yet'}"
    if facts["withdrawn"]:
        yield f"        {facts['withdrawn']} withdrawn (`git cortex log --withdrawn`)"
    if facts["pinned"]:
        yield f"        {facts['pinned']} pinned"
    if facts["unknown"]:
        unknown = ", ".join(f"{count} {one_line(type)}" for type, count in facts["unknown"].items())
        yield f"        of types that a newer git-cortex knows: {unknown}"
    yield f"Plan: {_plan_line(facts['plan'])}"
    yield from _next_commit(facts["next_commit"], out)
    yield f"Not in a commit yet: {facts['uncommitted']} ({facts['private']} private)"
    others = {kind: count for kind, count in facts["staying"].items() if kind != "private"}
    if others and not facts["next_commit"]["off"]:
        named = (f"{count} {_PLURALS[name] if count != 1 else _singular(name)}" for name, count in others.items())
        yield f"        of them the next commit on this branch does not bring: {', '.join(named)}"
    waiting, bad = facts["spool"]["waiting"], facts["spool"]["bad"]
    yield f"Waiting to be stored: {waiting}" + (f", {bad} set aside (`git cortex doctor`)" if bad else "")
    first, *more = exchange.state_lines(facts["sharing"])
    yield f"Sharing: {first}"
    yield from (f"    {line}" for line in more)
    problem = facts["hooks"]["problem"]
    yield "Hooks: " + (out.paint(one_line(problem), "bad") if problem else out.paint("active", "good"))


def _plan_line(plan: dict[str, Any] | None) -> str:
    if plan is None:
        return "none"
    done = sum(step["done"] for step in plan["steps"])
    now = next((f"; now: {one_line(step['text'])}" for step in plan["steps"] if step["current"]), "")
    return f"{one_line(plan['title'])} ({done} of {len(plan['steps'])} steps done{now})"


def _next_commit(coming: dict[str, Any], out: Screen) -> Iterator[str]:
    if coming["off"]:
        yield f"Next commit: takes no memory along; {coming['off']}"
        return
    events, states = coming["events"], coming["states"]
    yield f"Next commit: {_brought(coming)}"
    for event in events[:_SHOWN]:
        name = LABELS.get(event["type"], event["type"])
        yield f"    {out.paint(event['id'][:7], 'id')} {name}: {one_line(event['content'])[:100]}"
    if len(events) > _SHOWN:
        yield f"    and {len(events) - _SHOWN} more"
    for id, status in list(states.items())[:_SHOWN]:
        yield f"    {out.paint(id[:7], 'id')} becomes {status}"
    if len(states) > _SHOWN:
        yield f"    and {len(states) - _SHOWN} more"
    for path in coming["takes_out"][:_SHOWN]:
        yield f"    takes out {one_line(path)}"
    for fault in coming["faults"]:
        yield f"    {one_line(fault)}"


def _brought(coming: dict[str, Any]) -> str:
    """What the next commit does in `.cortex/`, in words."""
    events, count = coming["events"], len(coming["takes_out"])
    parts = [f"brings {len(events)} into .cortex/" + (", and the plan" if coming["plan"] else "")] if events else []
    if coming["plan"] and not events:
        parts.append("brings the plan into .cortex/")
    if coming["states"]:
        parts.append("changes the status of what is in .cortex/")
    if count:
        parts.append(f"takes {count} file{'s' * (count > 1)} out of .cortex/")
    if not parts and coming["pages"]:
        parts.append("brings the pages of .cortex/, which lag behind the items")
    return "; ".join(parts) or "brings nothing into .cortex/"


def _singular(name: str) -> str:
    return _SINGULARS.get(name, name)
