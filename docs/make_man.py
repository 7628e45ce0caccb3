"""Writes the manual page from the commands: `make_man.py FILE`.

The date is fixed, so that the page changes only when a command does; a test compares the two.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from cortex_git import __version__
from cortex_git.cli.root import cli

DATE = "2026-12-01"
_DESCRIPTION = """\
Keeps what was decided, rejected, learned and planned while an AI coding assistant works in a repository, in that
repository's own git: captured by hooks, stored in git notes, committed as Markdown files with the code it belongs to,
and put before the assistant when the next session starts.

Memory follows commits: a branch sees what was recorded on it and on everything that was merged into it.

Run `git cortex init` once in a repository. Nothing else is needed; the commands below look at the memory, correct it
and add to it. Ids may be shortened as far as they stay unambiguous."""
_FILES = [
    (".cortex/", "Decisions, facts and plans as files; part of the repository's commits."),
    (".cortex/config.toml", "The team's settings, each with its meaning."),
    (".git/cortex/", "What hooks have just recorded, views, the search index and the log. Never leaves the clone."),
    ("refs/notes/cortex/, refs/notes/cortex-local/", "The memory itself, as git notes."),
]
_VARIABLES = [
    ("CORTEX_DISABLE", "If set to anything, hooks do nothing."),
    ("NO_COLOR", "If set to anything, output has no colour."),
    ("GIT_PAGER, PAGER", "The pager for long output, chosen as git does."),
]
_STATUS = [
    ("0", "All is well. Hooks always end with it."),
    ("1", "Something that you can mend, said in one line; or a check found something."),
    ("2", "The command was called in a way that makes no sense."),
    ("3", "A bug; the report is in .git/cortex/log."),
    ("130", "Interrupted."),
]


def page() -> str:
    """The manual page in roff."""
    lines = [
        f'.TH GIT\\-CORTEX 1 "{DATE}" "git\\-cortex {__version__}" "Git Manual"',
        ".SH NAME",
        "git\\-cortex \\- memory for AI coding assistants, kept in git",
        ".SH SYNOPSIS",
        ".B git cortex",
        "[\\fIoption\\fR] \\fIcommand\\fR [\\fIargument\\fR ...]",
        ".SH DESCRIPTION",
        *_text(_DESCRIPTION),
        ".SH OPTIONS",
    ]
    context = click.Context(cli, info_name="git cortex")
    lines += _options(context, cli.get_params(context))
    lines.append(".SH COMMANDS")
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None and not command.hidden:
            lines += _command(command, click.Context(command, info_name=name, parent=context))
    for title, entries in (("FILES", _FILES), ("ENVIRONMENT", _VARIABLES), ("EXIT STATUS", _STATUS)):
        lines.append(f".SH {title}")
        lines += _entries(entries)
    lines += [".SH SEE ALSO", ".BR git (1),", ".BR git\\-notes (1)"]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    """A command, and the commands under it if it is a group."""
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".SS {_escaped(context.command_path)} {_escaped(usage)}"
    yield from _text(inspect.cleandoc(command.help or ""))
    # The option for help, the last one, is the same everywhere and stands at the top.
    yield from _options(context, command.get_params(context)[:-1])
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _command(inner, click.Context(inner, info_name=name, parent=context))


def _options(context: click.Context, parameters: list[click.Parameter]) -> list[str]:
    records = (parameter.get_help_record(context) for parameter in parameters)
    return _entries([record for record in records if record])


def _entries(entries: list[tuple[str, str]]) -> list[str]:
    lines: list[str] = []
    for term, meaning in entries:
        lines += [".TP", f"\\fB{_escaped(term)}\\fR", *_text(meaning)]
    return lines


def _text(text: str) -> list[str]:
    """Paragraphs; a block that starts with a \\b line keeps its lines, as click has it."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        kept = paragraph.startswith("\b")
        body = [_escaped(line.strip()) for line in paragraph.removeprefix("\b").strip("\n").splitlines()]
        lines += [".PP"] if lines else []
        lines += [".nf", *body, ".fi"] if kept else body
    return lines


def _escaped(text: str) -> str:
    """Plain text for roff: no character of it is a command."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    return "\\&" + safe if safe.startswith((".", "'")) else safe


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
