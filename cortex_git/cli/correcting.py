"""`git cortex accept`, `retract`, `supersede`, `edit`, `pin` and `unpin`: correcting what is remembered.

Nothing is ever changed in place: each correction is an event of its own, which crosses branches
and clones as any other does, and which `git cortex undo` takes back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from cortex_git.cli.changing import WORDS, Hand, in_force
from cortex_git.cli.command import Command, json_option
from cortex_git.cli.recording import Details, read_text
from cortex_git.cli.selection import SHORTEST
from cortex_git.cli.terminal import warn
from cortex_git.env import Env
from cortex_git.errors import CortexError, UsageError
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.projections.document import LEARNED

_IDS = click.argument("ids", nargs=-1, required=True, metavar="ID…")
_REASON = click.option("-b", "--because", "--reason", "reason", default="", metavar="TEXT", help="The reason.")
_OVER = click.option("--over", "alternatives", multiple=True, metavar="TEXT", help="What else was considered; may be repeated.")  # noqa: E501 # fmt: skip
_TOPIC = click.option("--topic", metavar="WORDS", help="What it is about, in a word or two.")
_FILES = click.option("-f", "--file", "--files", "files", multiple=True, metavar="PATH", help="A file that it is about; may be repeated.")  # noqa: E501 # fmt: skip
_PLANS = (model.PLAN, model.STEP)


def _each(command: str) -> Callable[[Callable[[Hand, Event, str], None]], Callable[..., None]]:
    """A command that does one thing to each of the memories it is given."""

    def decorate(function: Callable[[Hand, Event, str], None]) -> Callable[..., None]:
        @functools.wraps(function)
        def call(env: Env, ids: tuple[str, ...], as_json: bool, reason: str = "") -> None:
            hand = Hand(env, command)
            events = {event.id: event for event in map(hand.memory_of, ids)}
            for event in events.values():
                function(hand, event, reason.strip())
            hand.finish(as_json)

        return call

    return decorate


@click.command(cls=Command)
@_IDS
@_REASON
@json_option
@click.pass_obj
@_each("accept")
def accept(hand: Hand, event: Event, reason: str) -> None:
    """Accept decisions that an assistant made by itself: until a person says so, they are proposals.

    What stands on the default branch counts as accepted there without a word.
    """
    short = event.id[:SHORTEST]
    if event.type != model.DECISION:
        raise CortexError(f"{short} is no decision; only a decision is proposed and then accepted")
    if hand.standing.dead(event.id):
        raise CortexError(f"{short} no longer counts; `git cortex undo {short}` brings it back")
    if hand.standing.status(event) == "accepted":
        hand.tell(event, "is accepted already, nothing changed", None)
    else:
        hand.tell(event, "accepted", hand.change(model.ACCEPTED, event, "accepted", reason))


@click.command(cls=Command)
@_IDS
@_REASON
@json_option
@click.pass_obj
@_each("retract")
def retract(hand: Hand, event: Event, reason: str) -> None:
    """Take memories back: they no longer count, and are shown only where one asks for what was withdrawn.

    A decision in `.cortex/` gets the status `deprecated` with the next commit. Where another one takes its place, use
    `git cortex supersede`; to remove a text itself, `git cortex purge`.
    """
    if hand.standing.dead(event.id):
        state = "superseded" if event.id in hand.standing.superseded else "retracted"
        hand.tell(event, f"is {state} already, nothing changed", None)
    else:
        hand.tell(event, "retracted", hand.change(model.RETRACTED, event, "retracted", reason))
        _warn_of_file(hand, event)


@click.command(cls=Command)
@click.argument("old", metavar="OLD")
@click.argument("new", required=False, metavar="[NEW]")
@click.option("--by", "words", metavar="TEXT", help="Record this as what takes its place, in place of naming NEW.")
@_REASON
@_OVER
@_TOPIC
@_FILES
@json_option
@click.pass_obj
def supersede(
    env: Env, /, old: str, new: str | None, words: str | None, as_json: bool, reason: str, **given: Any
) -> None:
    """Put one memory in the place of another, which no longer counts and says by what it was superseded.

    NEW is the id of what there is already; with --by it is recorded now, as of the type and about the files of OLD. The
    reason is that of the new one.
    """
    if (new is None) == (words is None):
        raise UsageError("give the id of what takes its place, or its text with --by")
    hand = Hand(env, "supersede")
    event = _replaceable(hand, old)
    if new is not None:
        if any(given.values()):
            raise UsageError("--over, --topic and --file are about a new text; give it with --by")
        _replace(hand, event, hand.memory_of(new), reason)
    else:
        content = read_text(env, [words or ""])
        there = next((one for one in hand.seen if _says(hand, one, event, content)), None)
        if there is not None:
            _replace(hand, event, there, reason)
        else:
            _replace_by(hand, event, content, _details(event, reason=reason, **given))
    hand.finish(as_json)


@click.command(cls=Command)
@click.argument("id", metavar="ID")
@click.option(
    "--content", "--text", "words", metavar="TEXT", help="What it is to say; `-` reads it from standard input."
)
@click.option("-b", "--because", "--reason", "reason", metavar="TEXT", help="The reason; empty for none.")
@_OVER
@_TOPIC
@_FILES
@json_option
@click.pass_obj
def edit(env: Env, /, id: str, words: str | None, reason: str | None, as_json: bool, **given: Any) -> None:
    """Correct the text of a memory, its reason or what else was considered.

    Without an option the editor that git uses is opened on them. The corrected memory is a new one of the same type and
    about the same files, and takes the place of the old one; `git cortex undo` brings that back. --over and --file, if
    given, stand in place of all there were.
    """
    hand = Hand(env, "edit")
    event = _replaceable(hand, id)
    if words is None and reason is None and not any(value for value in given.values()) and given["topic"] is None:
        from cortex_git.cli.editing import ask

        asked = ask(hand.memory.repo, env, event)
        content, details = asked.content, _details(event, reason=asked.reason, alternatives=asked.alternatives)
    else:
        content = event.content if words is None else read_text(env, [words])
        wanted = {"alternatives": given["alternatives"] or event.alternatives}
        details = _details(event, reason=event.reason if reason is None else reason, **{**given, **wanted})
    _replace_by(hand, event, content, details)
    hand.finish(as_json)


@click.command(cls=Command)
@_IDS
@json_option
@click.pass_obj
@_each("pin")
def pin(hand: Hand, event: Event, reason: str) -> None:
    """Keep memories at the top of the briefing, however old they become."""
    if hand.standing.dead(event.id):
        raise CortexError(
            f"{event.id[:SHORTEST]} no longer counts; `git cortex undo {event.id[:SHORTEST]}` brings it back"
        )
    if event.id in hand.standing.pinned:
        hand.tell(event, "is pinned already, nothing changed", None)
    else:
        hand.tell(event, "pinned", hand.change(model.PINNED, event, "pinned"))


@click.command(cls=Command)
@_IDS
@json_option
@click.pass_obj
@_each("unpin")
def unpin(hand: Hand, event: Event, reason: str) -> None:
    """Pin memories no longer."""
    pins = in_force(hand.standing, event.id, model.PINNED)
    made = [hand.change(model.RETRACTED, one, "no longer pinned") for one in pins]
    if made:
        hand.tell(event, "no longer pinned", made[-1])
    else:
        hand.tell(event, "is not pinned, nothing changed", None)


def _warn_of_file(hand: Hand, event: Event) -> None:
    """Say which file of facts goes on telling what was retracted: nothing in it says how its facts stand."""
    _, head = hand.memory.position()
    files, ever = hand.memory.items(head), hand.memory.held(head)
    for path in files:
        if path.startswith(LEARNED) and event.id in ever.get(path, ()):
            warn(
                hand.memory.env, f"{path} goes on saying it to who has no notes; delete the file in a commit if need be"
            )


def _replaceable(hand: Hand, id: str) -> Event:
    """The memory that an id names, if another can take its place. Raises CortexError."""
    event = hand.memory_of(id)
    short = event.id[:SHORTEST]
    if event.type in _PLANS:
        raise CortexError(f"{short} is part of a plan; `git cortex plan` changes plans")
    if event.id in hand.standing.superseded:
        by = hand.standing.superseded[event.id][:SHORTEST]
        raise CortexError(f"{short} is superseded already, by {by}; correct that, or first `git cortex undo {short}`")
    if hand.standing.dead(event.id):
        raise CortexError(f"{short} is {WORDS[model.RETRACTED]}; `git cortex undo {short}` brings it back")
    return event


def _says(hand: Hand, one: Event, old: Event, content: str) -> bool:
    return (one.type, one.content) == (old.type, content) and one.id != old.id and not hand.standing.dead(one.id)


def _details(
    old: Event,
    *,
    reason: str,
    alternatives: tuple[str, ...] = (),
    topic: str | None = None,
    files: tuple[str, ...] = (),
) -> Details:
    """The details of a new text: as given, topic and files as they were where nothing was said."""
    return Details(reason, alternatives, old.topic if topic is None else topic, files)


def _replace_by(hand: Hand, old: Event, content: str, details: Details) -> None:
    """Have a new text take the place of a memory, unless it is the same."""
    new = hand.successor(old, content, details)
    if not details.files:
        new = new.replace(files=old.files)
    said = ("content", "reason", "alternatives", "topic", "files")
    if all(getattr(new, name) == getattr(old, name) for name in said):
        hand.tell(old, "says that already, nothing changed", None)
        return
    hand.bring_back(new)
    hand.add(new)
    if old.id in hand.standing.pinned:
        hand.change(model.PINNED, new, "pinned")
    _tell(hand, old, new, hand.change(model.SUPERSEDED, old, new.id))


def _replace(hand: Hand, old: Event, new: Event, reason: str) -> None:
    """Have a memory that is there take the place of another. Raises CortexError where that makes no sense."""
    if new.id == old.id:
        raise CortexError("a memory cannot take its own place; name two of them")
    if hand.standing.dead(new.id):
        raise CortexError(f"{new.id[:SHORTEST]} no longer counts; it cannot take the place of another")
    if new.type in _PLANS:
        raise CortexError(f"{new.id[:SHORTEST]} is part of a plan; it cannot take the place of a memory")
    _tell(hand, old, new, hand.change(model.SUPERSEDED, old, new.id, reason.strip()))


def _tell(hand: Hand, old: Event, new: Event, change: Event) -> None:
    from cortex_git.cli import text

    hand.tell(old, f"superseded by {new.id[:SHORTEST]}, {text.headline(new)!r}", change, new)
