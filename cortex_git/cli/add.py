"""`git cortex add`, `decide`, `reject` and `learn`: recording by hand."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from cortex_git.cli.command import Command, json_option
from cortex_git.cli.opening import open_memory
from cortex_git.cli.recording import Details, read_text, record
from cortex_git.cli.selection import Types
from cortex_git.env import Env
from cortex_git.errors import UsageError
from cortex_git.events import model

_TEXT = click.argument("words", nargs=-1, required=True, metavar="TEXT")
_OPTIONS = [
    click.option("-b", "--because", "--reason", "reason", default="", metavar="TEXT", help="The reason."),
    click.option(
        "--over", "alternatives", multiple=True, metavar="TEXT", help="What it was chosen over; may be repeated."
    ),
    click.option("--topic", default="", metavar="WORDS", help="What it is about, in a word or two."),
    click.option(
        "-f",
        "--file",
        "--files",
        "files",
        multiple=True,
        metavar="PATH",
        help="A file, folder or pattern that it is about; may be repeated.",
    ),
    click.option("--private", is_flag=True, help="Never leaves this clone, not in a commit either."),
    json_option,
]


def _recording(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the text and the details of what it records, the latter as one argument `details`."""

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> None:
        details = Details(**{name: given.pop(name) for name in Details._fields})
        function(*args, details=details, **given)

    decorated: Callable[..., None] = call
    for option in [*reversed(_OPTIONS), _TEXT]:
        decorated = option(decorated)
    return decorated


@click.command(cls=Command)
@click.argument("type", type=Types(model.SEMANTIC), metavar="TYPE")
@_recording
@click.pass_obj
def add(env: Env, type: frozenset[str], words: tuple[str, ...], details: Details) -> None:
    """Record a memory of any type.

    TYPE is one of decision, rejected, plan, step, learned, fixed, preference, task; steps and tasks are done ones. A
    TEXT of `-` is read from standard input.
    """
    if len(type) != 1:
        raise UsageError("give one type; see `git cortex add -h`")
    _record(env, next(iter(type)), words, details)


@click.command(cls=Command)
@_recording
@click.pass_obj
def decide(env: Env, words: tuple[str, ...], details: Details) -> None:
    """Record a decision.

    For example: git cortex decide "Use SQLite for storage" --because "one writer" --over Postgres --over "flat files".
    A TEXT of `-` is read from standard input. What a person records is accepted at once; run by an assistant, it is a
    proposal.
    """
    _record(env, model.DECISION, words, details)


@click.command(cls=Command)
@_recording
@click.pass_obj
def reject(env: Env, words: tuple[str, ...], details: Details) -> None:
    """Record an approach that was tried or considered and rejected, so that nobody proposes it again unawares.

    For example: git cortex reject "MongoDB" --because "no transactions across documents". A TEXT of `-` is read from
    standard input.
    """
    _record(env, model.REJECTED, words, details)


@click.command(cls=Command)
@click.option("--fixed", is_flag=True, help="It is an error with its cure.")
@_recording
@click.pass_obj
def learn(env: Env, words: tuple[str, ...], details: Details, fixed: bool) -> None:
    """Record a fact about this code base, or with --fixed how an error was solved.

    A TEXT of `-` is read from standard input.
    """
    _record(env, model.RESOLVED if fixed else model.KNOWLEDGE, words, details)


def _record(env: Env, type: str, words: tuple[str, ...], details: Details) -> None:
    content = read_text(env, words)
    record(open_memory(env), type, content, details)
