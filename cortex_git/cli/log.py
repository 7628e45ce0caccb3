"""`git cortex log`."""

from __future__ import annotations

import click

from cortex_git.cli import text
from cortex_git.cli.command import Listing, color_option, json_option
from cortex_git.cli.exchange import say_nothing
from cortex_git.cli.opening import open_to_read
from cortex_git.cli.selection import Selection, is_whole, select, selecting, without_former
from cortex_git.cli.terminal import screen, write_json
from cortex_git.env import Env


@click.command(cls=Listing)
@selecting
@click.option(
    "-n", "--max-count", type=click.IntRange(min=0), metavar="NUMBER", help="At most so many; also as -NUMBER."
)
@click.option("--oneline", is_flag=True, help="One line for each.")
@click.option("--reverse", is_flag=True, help="The oldest first.")
@json_option
@color_option
@click.pass_obj
def log(
    env: Env, selection: Selection, max_count: int | None, oneline: bool, reverse: bool, as_json: bool, color: str
) -> None:
    """Show the memory of this branch, newest first, as `git log` shows commits.

    What was decided, rejected, learned and planned is shown; --type or --everything shows the rest: files, commands,
    sessions, commits. Of a plan it is the newest state, with --all each of them. With --json it is an array of events
    as they are stored, each with its status.
    """
    memory = open_to_read(env)
    found = select(memory, selection)
    events = (found.events if is_whole(selection) else without_former(found.events))[::-1][:max_count]
    if reverse:
        events.reverse()
    if as_json:
        write_json(env, [text.as_dict(event, found.standing) for event in events])
        return
    if not events:
        say_nothing(env, memory.repo)
    with screen(env, memory.repo.git_config(), color, paged=True) as out:
        for number, event in enumerate(events):
            if oneline:
                out.line(text.oneline(event, found.standing, found.short, out))
                continue
            if number:
                out.line()
            for line in text.block(event, found.standing, out, more=found.remarks(event)):
                out.line(line)
