"""What events and item files together say of how a decision stands, and which file lags behind.

A file says how its decision stands in the commit that holds it. A change of state that some
commit since has carried into the file is settled there: whatever the file says now came later,
by whomever, with or without notes. A change that no commit has carried yet counts on top.
"""

from __future__ import annotations

from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.views.standing import in_force

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    State = tuple[str, str]
    """A status, and for `superseded` the id of the successor."""
    Carried = Callable[[str, Event, Collection[State], bool], bool]

IN_FILE = "file"
"""In the source of a change of state that no event says: it was read off an item file."""
_DEPRECATED = ("deprecated", "")
_STATES = (model.ACCEPTED, model.RETRACTED, model.SUPERSEDED)


class Written:
    """How the file of a decision stands: `state` is what it says, `birth` the status that the event was born with."""

    __slots__ = ("birth", "id", "path", "state", "time")

    def __init__(self, id: str, path: str, birth: str, time: str, state: State) -> None:
        self.id = id
        self.path = path
        self.birth = birth
        self.time = time
        self.state = state


class Settled:
    """`events` join those that were read, `lagging` says of ids what their files ought to say.

    `disputed` are the ids whose events and file differ, so that it matters what commits have carried.
    `is_plain` says whether each file says what it said at its birth.
    """

    __slots__ = ("disputed", "events", "is_plain", "lagging")

    def __init__(self, *, is_plain: bool) -> None:
        self.is_plain = is_plain
        self.events: list[Event] = []
        self.lagging: dict[str, State] = {}
        self.disputed: set[str] = set()


def settle(changes: Iterable[Event], files: Mapping[str, Written], carried: Carried) -> Settled:
    """What the files add to the changes of state that are seen.

    `carried(id, change, states, into)` tells whether a commit since that change has taken the
    file of `id` into one of the states, or out of them.
    """
    found = Settled(is_plain=all(file.state == (file.birth, "") for file in files.values()))
    known = list(changes)
    groups = _by_decision(known, files)
    about: dict[str, list[Event]] = {}
    for change in known:
        about.setdefault(change.target, []).append(change)
    looked_at = [id for id, file in files.items() if id in groups or file.state != (file.birth, "")]
    for id in looked_at:
        file, group = files[id], groups.get(id, {})
        if group and not _agrees(_state(file, group, files), file.state):
            found.disputed.add(id)
            group = {key: change for key, change in group.items() if _is_carried(file, change, group, carried)}
        if not _agrees(_state(file, group, files), file.state):
            for event, states, into in _corrections(file, group):
                while answers := about.get(event.id):
                    found.disputed.add(id)
                    if not any(carried(id, answer, states, into) for answer in answers):
                        break
                    # What was said against it is settled, too: the file says so anew.
                    event = event.replace(time=model.later(event.time), id="")
                found.events.append(event)
    # An undo may be about what only a file says.
    groups = _by_decision([*known, *found.events], files) if found.events else groups
    for id in looked_at:
        file, raw = files[id], _flags(groups.get(id, {}))
        state = _state(file, groups.get(id, {}), files)
        if state != file.state:
            found.lagging[id] = raw if raw[0] == "superseded" else state
    return found


def status_of(birth: str, changes: Iterable[Event]) -> State:
    """The status after these changes of one decision's state, with the successor it may have."""
    status, successor = _flags({change.id: change for change in changes})
    if status == "accepted" and birth == "rejected":
        status = ""
    return status or birth, successor


def _by_decision(changes: Iterable[Event], files: Mapping[str, Written]) -> dict[str, dict[str, Event]]:
    """For each decision the changes of its status, and the undoing of them, by id."""
    by_id = {change.id: change for change in changes}
    groups: dict[str, dict[str, Event]] = {}
    for change in by_id.values():
        first = change
        seen = {change.id}
        while first.target in by_id and first.target not in seen:
            first = by_id[first.target]
            seen.add(first.id)
        if first.type in _STATES and first.target in files:
            groups.setdefault(first.target, {})[change.id] = change
    return groups


def _flags(group: Mapping[str, Event]) -> State:
    """The status that these changes add up to, empty if none is in force."""
    found = ("", "")
    for change in in_force(group.values())[0]:
        if change.type == model.SUPERSEDED:
            found = ("superseded", change.content)
        elif change.type == model.RETRACTED and change.target not in group and found[0] != "superseded":
            found = _DEPRECATED
        elif change.type == model.ACCEPTED and not found[0]:
            found = ("accepted", "")
    return found


def _state(file: Written, group: Mapping[str, Event], files: Mapping[str, Written]) -> State:
    """What a file ought to say. A successor that has no file beside it is not named."""
    status, successor = status_of(file.birth, group.values())
    return _DEPRECATED if status == "superseded" and successor not in files else (status, successor)


def _agrees(wanted: State, written: State) -> bool:
    return wanted == written or (wanted[0] == "superseded" and written == _DEPRECATED)


def _is_carried(file: Written, change: Event, group: Mapping[str, Event], carried: Carried) -> bool:
    """Whether a commit has done to the file what a change says; an undo leads out of the state again."""
    into = True
    first = change
    while first.target in group:
        first = group[first.target]
        into = not into
    return carried(file.id, change, _states(first), into)


def _states(change: Event) -> list[State]:
    """What a file may say after a change of state."""
    if change.type == model.ACCEPTED:
        return [("accepted", "")]
    return [_DEPRECATED] if change.type == model.RETRACTED else [("superseded", change.content), _DEPRECATED]


def _corrections(file: Written, group: Mapping[str, Event]) -> Iterable[tuple[Event, list[State], bool]]:
    """Changes of state that bring what the events say to what the file says.

    Each with the states that undoing it would lead into or, if the last says false, out of.
    """
    status, successor = file.state
    there = False
    for change in in_force(group.values())[0]:
        if change.target in group:
            continue
        wanted = {
            model.ACCEPTED: status != file.birth or status == "accepted",
            model.RETRACTED: status in ("deprecated", "superseded"),
            model.SUPERSEDED: status == "superseded" and change.content == successor,
        }[change.type]
        there = there or (wanted and _says(change, status))
        if not wanted:
            yield _read_off(model.RETRACTED, "", model.later(change.time), change.id), _states(change), True
    if not there and status != file.birth:
        type = {"accepted": model.ACCEPTED, "superseded": model.SUPERSEDED}.get(status, model.RETRACTED)
        made = _read_off(type, successor, file.time, file.id)
        yield made, _states(made), False


def _says(change: Event, status: str) -> bool:
    return change.type == {"accepted": model.ACCEPTED, "superseded": model.SUPERSEDED}.get(status, model.RETRACTED)


def _read_off(type: str, content: str, time: str, target: str) -> Event:
    return Event(type, content, time=time, agent="", target=target, layer="structural", source={"by": IN_FILE})
