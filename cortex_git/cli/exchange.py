"""What would go to a remote, what went and what came: for the commands that share, and those that mention it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cortex_git.cli.selection import LABELS, SHORTEST
from cortex_git.cli.terminal import one_line
from cortex_git.cli.text import headline
from cortex_git.env import Env
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.memory import Memory
from cortex_git.store import purge, refs, remotes, sharing, there, tidying, transport
from cortex_git.store.repo import Repo

_NEWEST = 5
_NAMED = 6
_SETTINGS = {"structural": "files and commands", "preferences": "preferences"}


@dataclass
class Exchange:
    """How it went with one remote. Counts are of events; `problem` says what could not be done, empty if all was."""

    remote: str
    shared: bool
    sent: int = 0
    came: int = 0
    clones: int = 0
    left: int = 0
    restored: int = 0
    problem: str = ""
    answered: bool = True
    notices: list[str] = field(default_factory=list)


def exchange(memory: Memory, remote: str, *, send: bool = True, limit: float = transport.COMMAND_LIMIT) -> Exchange:
    """Fetch from a remote and, where memory is shared with it, send what it lacks."""
    done = Exchange(remote, remotes.is_shared(memory.repo, remote))
    _fetch(memory, done, limit)
    if done.shared:
        before = {event.id for event in unsent(memory, remote)}
        if send and done.answered:
            _send(memory, done, limit)
        after = {event.id for event in unsent(memory, remote)}
        done.sent, done.left = len(before - after), len(after)
    return done


def look_ahead(memory: Memory, remote: str, *, send: bool = True) -> Exchange:
    """What `exchange` would do, as far as can be told without doing it: `came` counts refs."""
    done = Exchange(remote, remotes.is_shared(memory.repo, remote))
    done.came, done.problem = sharing.offered(memory.repo, memory.backend, remote, transport.COMMAND_LIMIT)
    if done.shared:
        done.left = len(unsent(memory, remote))
        done.sent = done.left if send else 0
    return done


def unsent(memory: Memory, remote: str) -> list[Event]:
    """The events that a remote is not known to have, in the order of time; nothing that was purged."""
    gone = refs.purged(memory.repo).ids
    every = sharing.lines(memory.repo, memory.backend, remote)
    return [event for event in sharing.waiting(memory.backend, every) if event.id not in gone]


def _fetch(memory: Memory, done: Exchange, limit: float) -> None:
    before = dict(memory.refs())
    came = sharing.fetch(memory.repo, memory.backend, done.remote, limit)
    remotes.note(memory.repo, done.remote, remotes.FETCH, memory.env.clock(), came.problem)
    done.answered, done.problem = came.answered, came.problem
    if came.aside:
        done.notices.append(f"{_count(len(came.aside), 'ref')} that lead to no commit were set aside")
    anew = purge.honour(memory.repo, memory.backend).commits
    before = {name: anew.get(tip, tip) for name, tip in before.items()}
    memory.forget_refs()
    new = {name: tip for name, tip in memory.refs().items() if before.get(name) != tip}
    if not memory.repo.clone or not new:
        return
    gone = refs.purged(memory.repo).ids
    events = sharing.events_in(memory.backend, new.values(), before.values())
    done.came = sum(event.id not in gone for event in events)
    done.clones = len({name.rpartition("/")[2] for name in new} - {memory.repo.clone})


def _close(memory: Memory) -> None:
    """Have others know which branches are gone here: what was said last on them comes into view there, too."""
    writer = memory.writer()
    writer.close()
    memory.follow(writer)


def _send(memory: Memory, done: Exchange, limit: float) -> None:
    repo, backend = memory.repo, memory.backend
    _close(memory)
    every = sharing.lines(repo, backend, done.remote)
    anew = purge.rewritten(repo, done.remote)
    if not anew:  # else a ref may be meant to lack something
        alien = there.distrusted(repo, done.remote, every)
        if alien:
            text = f"{_count(len(alien), 'ref')} of this clone that nobody trusted has signed"
            done.notices.append(f"{text}, which {done.remote} has, were not taken over")
        done.restored = len(sharing.restore(backend, every, alien))
        done.restored += len(sharing.rejoin(repo, backend, every, memory.env.clock(), alien))
    wanted = sharing.signed(repo, backend, done.remote, sharing.everything(every))
    sent = sharing.send(repo, done.remote, wanted, every, limit, anew)
    purge.sent(repo, done.remote, sent.accepted)
    tidying.remove_folded(repo, backend, done.remote, every, limit)
    remotes.note(repo, done.remote, remotes.PUSH, memory.env.clock(), sent.complaint)
    memory.forget_refs()
    done.problem = "; ".join(filter(None, [done.problem, sent.complaint]))


def describe(done: Exchange, *, ahead: bool = False) -> str:
    """How it went, or with `ahead` how it would go, as a sentence."""
    parts = []
    if done.shared:
        parts.append(f"{'would send' if ahead else 'sent'} {_events(done.sent)}" if done.sent else "nothing to send")
    if ahead:
        parts.append(f"{_count(done.came, 'ref')} to fetch" if done.came else "nothing new there")
    else:
        parts.append(f"fetched {_events(done.came)} of {_clones(done.clones)}" if done.came else "nothing new there")
    if done.restored:
        parts.append(f"{_count(done.restored, 'ref')} of what was lost here brought back")
    if not done.shared:
        parts.append(f"nothing is sent (`git cortex share {done.remote}` shows what would leave)")
    elif done.left and not ahead:
        parts.append(f"{_events(done.left)} left to send")
    parts += done.notices
    return f"{one_line(done.remote)}: " + ", ".join(parts)


def preview(memory: Memory, remote: str) -> dict[str, Any]:
    """What leaves this clone if memory is shared with a remote."""
    events = unsent(memory, remote)
    types: dict[str, int] = {}
    for event in events:
        types[LABELS.get(event.type, event.type)] = types.get(LABELS.get(event.type, event.type), 0) + 1
    shown = [event for event in events if event.type in model.SEMANTIC][: -_NEWEST - 1 : -1]
    return {
        "remote": remote,
        "places": remotes.places(memory.repo, remote),
        "events": len(events),
        "types": types,
        "branches": sorted({event.branch for event in events if event.branch}),
        "newest": [{"id": event.id, "type": event.type, "title": headline(event)} for event in shown],
        "structural": memory.config.share_structural,
        "preferences": memory.config.share_preferences,
    }


def preview_lines(facts: Mapping[str, Any]) -> list[str]:
    """The preview as people read it."""
    where = ", ".join(map(one_line, facts["places"])) or one_line(facts["remote"])
    branches = [one_line(name) for name in facts["branches"]]
    lines = [f"What would leave this clone for {one_line(facts['remote'])} ({where}): {_events(facts['events'])}"]
    if facts["types"]:
        lines.append("    " + ", ".join(f"{one_line(name)}: {count}" for name, count in facts["types"].items()))
    if branches:
        more = f" and {len(branches) - _NAMED} more" if branches[_NAMED:] else ""
        lines.append(f"    on {', '.join(branches[:_NAMED])}{more}")
    for event in facts["newest"]:
        kind = LABELS.get(event["type"], event["type"]).ljust(10)
        lines.append(f"    {event['id'][:SHORTEST]} {kind} {one_line(event['title'])[:90]}")
    kept = [name for key, name in _SETTINGS.items() if not facts[key]]
    also = [name for key, name in _SETTINGS.items() if facts[key]]
    lines.append(f"What stays: {', '.join([*kept, 'whatever is marked private'])}.")
    if also:
        lines.append(f"What leaves, too, since the settings say so: {', '.join(also)}.")
    lines.append("Whoever can read that repository can then read it, and keeps what was fetched. From then on")
    lines.append("`git push` takes along what belongs to its commits, and `git cortex sync` the rest.")
    return lines


def state(memory: Memory) -> list[dict[str, Any]]:
    """How things stand with each remote that matters here, with the number of events that are left to send."""
    return [
        {**entry, "unsent": len(unsent(memory, entry["remote"])) if entry["shared"] else 0}
        for entry in remotes.state(memory.repo)
    ]


def state_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The same as people read it."""
    if not found:
        return ["off, there is no remote"]
    lines = []
    for entry in found:
        name = one_line(entry["remote"])
        if not entry["shared"]:
            lines.append(f"off; `git cortex share {name}` shows what would leave")
        elif entry["unsent"]:
            lines.append(f"with {name}; unpushed events: {entry['unsent']} (`git cortex sync` sends them now)")
        else:
            lines.append(f"with {name}; unpushed events: 0")
        if entry["never_fetched"] and entry["shared"]:
            lines.append(_never_fetched(name))
        lines += [f"{name}: {one_line(problem)}" for problem in entry["problems"]]
    return lines


def absence(repo: Repo) -> str:
    """Where there may be memory that this clone lacks, and how to get it; empty if it has been looked for."""
    missing = (_never_fetched(one_line(entry["remote"])) for entry in remotes.state(repo) if entry["never_fetched"])
    return next(missing, "")


def say_nothing(env: Env, repo: Repo) -> None:
    """Say on standard error that nothing was found, and where there may be more: an empty list looks like an answer."""
    elsewhere = absence(repo)
    env.stderr.write("git cortex: nothing was found" + (f"; {elsewhere}" if elsewhere else "") + "\n")


def _never_fetched(name: str) -> str:
    return f"memory on {name} was never fetched: run `git cortex sync`"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _events(count: int) -> str:
    return _count(count, "event")


def _clones(count: int) -> str:
    return _count(count, "other clone")
