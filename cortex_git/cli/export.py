"""`git cortex export`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from cortex_git.cli import text
from cortex_git.cli.command import Command
from cortex_git.cli.opening import open_to_read
from cortex_git.cli.selection import Selected, Selection, is_whole, select, selecting, without_former
from cortex_git.cli.terminal import warn
from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.events import codec, model
from cortex_git.events.model import Event
from cortex_git.projections.prose import inline
from cortex_git.store.locking import write_text

_SECTIONS = {
    model.DECISION: "Decisions",
    model.REJECTED: "Rejected approaches",
    model.KNOWLEDGE: "Learned",
    model.RESOLVED: "Errors solved",
    model.PREFERENCE: "Preferences",
    model.PLAN: "Plans",
    model.STEP: "Steps done",
    model.TASK: "Tasks done",
}


@click.command(cls=Command)
@selecting
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "jsonl", "markdown"]),
    default="json",
    show_default=True,
    help="An array with one event a line, one event a line, or a document.",
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option("-o", "--output", metavar="FILE", help="Write to this file, in place of standard output.")
@click.option("--private", is_flag=True, help="Take private memories along, which are left out otherwise.")
@click.pass_obj
def export(env: Env, selection: Selection, form: str, output: str | None, private: bool) -> None:
    """Print the memory of this branch, oldest first, for other programs or people.

    JSON holds each event exactly as it is stored. As in `git cortex log`, --type or --everything tells which.
    """
    found = select(open_to_read(env), selection)
    if form == "markdown" and not is_whole(selection):
        found.events = without_former(found.events)
    if not private:
        _leave_private_out(env, found)
    content = "".join(_FORMS[form](found))
    if output is None or output == "-":
        _write(env, content)
    else:
        try:
            write_text(os.path.join(env.cwd, output), content)
        except OSError as error:
            raise CortexError(f"{output} cannot be written: {error.strerror}") from None


def _leave_private_out(env: Env, found: Selected) -> None:
    shared = [event for event in found.events if not event.private]
    if len(shared) < len(found.events):
        warn(env, f"{len(found.events) - len(shared)} private left out; `--private` takes them along")
    found.events = shared


def _write(env: Env, content: str) -> None:
    """Print in UTF-8, which programs expect, whatever the terminal's encoding is."""
    env.stdout.flush()
    raw = getattr(env.stdout, "buffer", None)
    if raw is None:
        env.stdout.write(content)
    else:
        raw.write(content.encode("utf-8", "replace"))
        raw.flush()


def _json(found: Selected) -> Iterator[str]:
    yield codec.encode_segment(found.events).decode()


def _jsonl(found: Selected) -> Iterator[str]:
    for event in found.events:
        yield codec.encode_segment([event]).decode()[1:-2] + "\n"


def _markdown(found: Selected) -> Iterator[str]:
    yield "# Memory\n"
    groups: dict[str, list[Event]] = {name: [] for name in _SECTIONS.values()}
    for event in found.events:
        name = _SECTIONS.get(event.type) or text.label(event).capitalize()
        groups.setdefault(name, []).append(event)
    for name, events in groups.items():
        if events:
            yield f"\n## {inline(name)}\n\n"
        for event in events:
            yield from _entry(event, found)


def _entry(event: Event, found: Selected) -> Iterator[str]:
    state = text.flag(event, found.standing, found.short) or text.status(event, found.standing)
    pinned = "pinned" if event.id in found.standing.pinned else ""
    said = event.author if event.agent == "user" and event.author else event.agent
    facts = ", ".join(part for part in (state, pinned, said, event.time[:10], found.short(event.id)) if part)
    lines = [inline(line) for line in event.content.splitlines() if line.strip()] or ["(nothing)"]
    yield f"- **{lines[0]}** ({inline(facts)})\n"
    yield from (f"  {line}\n" for line in lines[1:])
    details = [
        ("Because", " ".join(event.reason.split())),
        ("Over", "; ".join(" ".join(choice.split()) for choice in event.alternatives)),
        ("Files", ", ".join(event.files)),
        ("Withdrawn", "; ".join(_withdrawn(event, found))),
    ]
    yield from (f"  {name}: {inline(value)}\n" for name, value in details if value)


def _withdrawn(event: Event, found: Selected) -> Iterator[str]:
    """Who took it back, and why."""
    for change in found.standing.changes.get(event.id, ()):
        if change.type in (model.RETRACTED, model.SUPERSEDED) and text.who(change):
            because = f", because {text.why(change)}" if text.why(change) else ""
            yield f"{text.who(change)}, {change.time[:10]}{because}"


_FORMS = {"json": _json, "jsonl": _jsonl, "markdown": _markdown}
