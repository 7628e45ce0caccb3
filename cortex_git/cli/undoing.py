"""`git cortex undo`: taking corrections back, or all that a session recorded."""

from __future__ import annotations

import os

import click

from cortex_git.cli import text
from cortex_git.cli.changing import DROP, UNDO, WORDS, Hand, Told, act_of, came_with, latest_about
from cortex_git.cli.command import Command, json_option
from cortex_git.cli.recording import refresh
from cortex_git.cli.selection import SHORTEST
from cortex_git.env import Env
from cortex_git.errors import CortexError, UsageError
from cortex_git.events import codec, model
from cortex_git.events.model import Event
from cortex_git.memory import Memory, is_deletion
from cortex_git.store import keys
from cortex_git.views.standing import Standing, fold

_SESSION = "session"
"""What the source of an undo says that goes wherever that lies which it takes back."""


@click.command(cls=Command)
@click.argument("id", required=False, metavar="[ID]")
@click.option("--last", is_flag=True, help="Take back what the last correcting command on this branch did.")
@click.option("--session", metavar="ID", help="Take back all that this session recorded, on every branch.")
@json_option
@click.pass_obj
def undo(env: Env, id: str | None, last: bool, session: str | None, as_json: bool) -> None:
    """Take back a correction: an accept, retract, supersede, edit, pin or unpin, or an undo itself.

    ID is that of the correction, which each of these commands prints, or that of the memory: then its newest correction
    is taken back. --last may be repeated, to go further back. --session takes what was said and decided in a session
    back on all branches that know of it; what it did to files stays on record.
    """
    if [bool(id), last, session is not None].count(True) != 1:
        raise UsageError("say what to undo: an ID, --last, or --session with the id of a session")
    hand = Hand(env, UNDO)
    if session is not None:
        _undo_session(hand, session.strip())
    else:
        wanted = _last(hand) if last else _meant(hand, id or "")
        if wanted and wanted[0].source.get(_SESSION):
            _undo_everywhere(hand, wanted)
        else:
            _undo(hand, wanted)
    hand.say(as_json)


# ---- one correction


def _meant(hand: Hand, id: str) -> list[Event]:
    """The changes of state that an id stands for. Raises CortexError if it is neither one nor has one."""
    event = hand.find(id)
    if event.type in model.STATE_CHANGES:
        if is_deletion(event):
            raise CortexError(f"{event.id[:SHORTEST]} says that a file was deleted; bring the file back to undo that")
        return act_of(hand, event)
    found = latest_about(hand, hand.memory_of(event.id))
    if not found:
        raise CortexError(f"{event.id[:SHORTEST]} has no correction that could be undone on this branch")
    if found[-1].source.get("by") == DROP:
        return act_of(hand, found[-1])
    return found


def _last(hand: Hand) -> list[Event]:
    """What the last correcting command of this clone did on this branch, but for undoing. Raises CortexError."""
    memory = hand.memory
    key = memory.key(memory.repo.branch())
    refs = [keys.ref(namespace, key, memory.repo.clone) for namespace in (keys.SHARED, keys.LOCAL)]
    tips = [tip for ref in refs if (tip := memory.tip(ref))]
    blobs = {blob for group in memory.backend.segments(tips).values() for blob in group}
    mine = {event.id for event in memory.read(blobs) if event.type in model.STATE_CHANGES}
    in_force = [one for changes in hand.standing.changes.values() for one in changes]
    undoable = [e for e in in_force if e.id in mine and e.source.get("by") != UNDO and not is_deletion(e)]
    newest = max(undoable, key=model.order, default=None)
    if newest is None:
        elsewhere = max(
            (e for e in in_force if e.source.get("by") != UNDO and not is_deletion(e)), key=model.order, default=None
        )
        hint = (
            f"; `git cortex undo {elsewhere.id[:SHORTEST]}` takes back the newest that came from elsewhere"
            if elsewhere
            else ""
        )
        raise CortexError(f"this clone has corrected nothing on this branch that could be undone{hint}")
    act = newest.source.get("act", "")
    return [e for e in undoable if e.id == newest.id or (act and e.source.get("act") == act)]


def _undo(hand: Hand, wanted: list[Event]) -> None:
    """Take changes back on this branch, with what came along with them."""
    here = {event.id for event in hand.seen}
    standing = hand.standing if all(change.id in here for change in wanted) else fold(hand.everything())
    known = {event.id: event for event in hand.known()}
    about: dict[str, tuple[Event, Event]] = {}
    for change in sorted(wanted, key=model.order):
        target = _root(change, known)
        if change.id in standing.retracted:
            hand.tell(target or change, f"{_word(change)} was undone already, nothing changed", None)
            continue
        made = hand.change(model.RETRACTED, change, "undone")
        for event in came_with(hand, change, list(known.values())):
            hand.change(model.RETRACTED, event, "undone")
        about[(target or change).id] = (change, made)
    hand.store()
    after = hand.memory.standing()
    plans = [known[id] for id in about if id in known and known[id].type == model.PLAN]
    former = {plan.id for plan in sorted(plans, key=model.order)[:-1]}
    for id, (change, made) in about.items():
        if id in former:
            continue  # of the states that a plan had the last one tells
        event = known.get(id, change)
        hand.tell(event, f"undone: {_word(change)}; {_state(event, after)}", made)


def _root(change: Event, known: dict[str, Event]) -> Event | None:
    """The memory that a change of state, or the undoing of one, is about in the end."""
    at = known.get(change.target)
    while at is not None and at.type in model.STATE_CHANGES:
        at = known.get(at.target)
    return at


def _word(change: Event) -> str:
    if change.source.get("by") in (UNDO, "unpin"):
        return str(change.source["by"])
    if change.source.get("by") == DROP:
        return "dropped"
    return WORDS.get(change.type, change.type)


def _state(event: Event, standing: Standing) -> str:
    state = text.status(event, standing) or "in force"
    return f"it is {state}{' and pinned' if event.id in standing.pinned else ''}"


# ---- a session


def _undo_session(hand: Hand, start: str) -> None:
    """Take back what a session said and decided. Raises CortexError if there is no such session, or several."""
    events = [event for event in hand.everything() if start and event.session.startswith(start)]
    sessions = sorted({event.session for event in events})
    if len(sessions) != 1:
        many = f"{start!r} is the start of {len(sessions)} sessions: " + ", ".join(sessions[:5])
        raise CortexError(many if sessions else f"there is no session {start!r}; {_sessions(hand.everything())}")
    standing = fold(hand.everything())
    said = [e for e in events if e.type in model.SEMANTIC and not standing.dead(e.id)]
    in_force = {one.id for changes in standing.changes.values() for one in changes}
    corrected = [
        e
        for e in events
        if e.type in model.STATE_CHANGES and e.id in in_force and e.source.get("by") != UNDO and not is_deletion(e)
    ]
    targets = [*said, *corrected]
    if not targets:
        hand.told.append(_nothing(f"session {sessions[0][:8]} has nothing that counts, nothing changed"))
        return
    what = f"took back {_count(len(said), 'memory', 'memories')}"
    what += f" and {_count(len(corrected), 'correction', 'corrections')}" if corrected else ""
    _take_back(hand, targets, f"{what} of session {sessions[0][:8]}")


def _sessions(events: list[Event]) -> str:
    """The sessions that there are, newest first."""
    names = list(dict.fromkeys(event.session for event in reversed(events) if event.session))
    if not names:
        return "none is on record"
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return "there are " + ", ".join(names[:5]) + more


def _undo_everywhere(hand: Hand, wanted: list[Event]) -> None:
    """Take back the taking back of a session, wherever that lies."""
    done = fold(hand.everything()).retracted
    left = [change for change in wanted if change.id not in done]
    if not left:
        hand.told.append(_nothing("that was undone already, nothing changed"))
        return
    _take_back(hand, left, f"brought back {_count(len(left), 'event', 'events')}")


def _take_back(hand: Hand, targets: list[Event], said: str) -> None:
    """Retract events under each key where one of them lies, and on each branch that sees one in another way."""
    memory = hand.memory
    branch, head = memory.position()
    made: dict[str, Event] = {}
    for target in targets:
        event = hand.change(model.RETRACTED, target, "undone")
        event = event.replace(source={**event.source, _SESSION: "yes"}, branch=branch or "", commit=head or "")
        made[target.id] = event.replace(author=memory.repo.author())
    places = _places(memory, set(made))
    writer = memory.writer()
    living = {key: name for name, key in _branches(memory).items()}
    names = []
    for key, ids in places.items():
        name = living.get(key) or _name_of(memory, key)
        writer.write_under(writer.key(name) if key in living else key, name, [made[id] for id in sorted(ids)])
        names.append(name)
    memory.forget_refs()
    refresh(memory)
    on = ", ".join(sorted(name or "a detached HEAD" for name in names)[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    hand.told.append(Told(None, f"{said}, on {on}{more}", next(iter(made.values()))))


def _nothing(said: str) -> Told:
    return Told(None, said, None)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _places(memory: Memory, wanted: set[str]) -> dict[str, set[str]]:
    """For each key the events of these that lie under it or that its branch here sees."""
    found: dict[str, set[str]] = {}
    holding: dict[str, set[str]] = {}
    segments = memory.backend.segments(memory.refs().values())
    for blob, data in memory.blobs({blob for group in segments.values() for blob in group}):
        ids = wanted.intersection(event.id for event in codec.decode_segment(data)[0])
        if ids:
            holding[blob] = ids
    for ref, tip in memory.refs().items():
        for blob in holding.keys() & set(segments[tip]):
            found.setdefault(keys.key_in(ref), set()).update(holding[blob])
    for name, key in _branches(memory).items():
        _, head = memory.position(name)
        tips = memory.alignment(name, head).tips.values()
        ids = {id for group in memory.backend.segments(tips).values() for blob in group for id in holding.get(blob, ())}
        ids |= wanted.intersection(event.id for event in memory.item_events(memory.items(head)))
        if ids:
            found.setdefault(key, set()).update(ids)
    return found


def _branches(memory: Memory) -> dict[str, str]:
    """The branches of this clone that have commits, with their keys."""
    names = os.fsdecode(memory.repo.git("for-each-ref", "--format=%(refname)", "refs/heads")).splitlines()
    short = (name.removeprefix("refs/heads/") for name in names)
    return {name: memory.key(name) for name in short}


def _name_of(memory: Memory, key: str) -> str | None:
    """The name of the branch that a key is of, as its newest notes commit has it; None for a detached HEAD."""
    if keys.is_detached(key):
        return None
    for ref, tip in memory.refs().items():
        if keys.key_in(ref) == key:
            form = "--format=%(trailers:key=Cortex-Branch,valueonly,separator=%x20)"
            return os.fsdecode(memory.repo.git("log", "-1", "--no-show-signature", form, tip)).strip()
    return ""
