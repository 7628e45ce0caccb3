"""`git cortex`: finds the command, and says how it ended.

Each command is imported when it is run, so that none pays for another.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import click

from cortex_git import __version__
from cortex_git.cli.command import SETTINGS, Group, show_help
from cortex_git.cli.terminal import one_line
from cortex_git.env import Env
from cortex_git.errors import CortexError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FINE, MENDABLE, USAGE, BUG, INTERRUPTED, READER_GONE = 0, 1, 2, 3, 130, 141
"""Exit statuses; the last is what a shell says of a program that wrote to a reader who had left."""
COMPLETE = "_GIT_CORTEX_COMPLETE"
"""Set by the scripts for shell completion: answer with what the last argument could become."""
_SECTIONS = {
    "Set up": {
        "init": ("setting_up", "Set this repository up; may be repeated."),
        "uninstall": ("setting_up", "Undo exactly that; the memory stays."),
    },
    "Look": {
        "status": ("status", "Branch, memory, plan, next commit, hooks."),
        "log": ("log", "The memory, newest first, as `git log` shows commits."),
        "show": ("show", "One memory in full, or those of a commit."),
        "search": ("search", "Find memories by words."),
        "export": ("export", "The memory as JSON or Markdown."),
    },
    "Record": {
        "decide": ("add", "A decision."),
        "reject": ("add", "An approach that was rejected."),
        "learn": ("add", "A fact, or how an error was solved."),
        "plan": ("plan", "Show or change the plan and its current step."),
        "add": ("add", "A memory of any type."),
    },
    "Share": {
        "share": ("sharing", "Share the memory with a remote, after a look at what leaves."),
        "unshare": ("sharing", "Stop that."),
        "sync": ("sharing", "Fetch others' memory, send what is left of this clone's."),
    },
    "Correct": {
        "accept": ("correcting", "Accept what an assistant decided."),
        "retract": ("correcting", "Take a memory back."),
        "supersede": ("correcting", "Put one memory in the place of another."),
        "edit": ("correcting", "Correct a memory in your editor."),
        "pin": ("correcting", "Keep a memory at the top of the briefing."),
        "unpin": ("correcting", "No longer do that."),
        "undo": ("undoing", "Take a correction back, or all that a session recorded."),
    },
    "Files and checks": {
        "project": ("project", "Write and stage the files in `.cortex/` now."),
        "verify": ("verify", "Check `.cortex/` in a checkout alone, for CI."),
        "doctor": ("doctor", "What is wrong with the set-up, and the cure."),
        "gc": ("upkeep", "Fold away the refs of branches that are gone."),
        "purge": ("upkeep", "Remove memories for good, and keep them away."),
        "completion": ("completion", "The completion script of a shell."),
    },
}
"""The commands by section: the module of each, and what it does in a few words.

They stand here so that help and completion need not import what they name.
"""
_COMMANDS = {name: entry for section in _SECTIONS.values() for name, entry in section.items()}


class _Root(Group):
    """The commands by name, each imported from its module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of use."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in _COMMANDS:
            return None
        found = getattr(importlib.import_module(f"cortex_git.cli.{_COMMANDS[cmd_name][0]}"), cmd_name)
        return found if isinstance(found, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands in the help, by section."""
        for title, section in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(10), summary) for name, (_, summary) in section.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """The commands, and for a dash the options."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        known = _COMMANDS.items()
        return [CompletionItem(name, help=about) for name, (_, about) in known if name.startswith(incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments start with, or what was perhaps meant; after `help` its help."""
        if args[0] == "help":
            if not args[1:]:
                show_help(ctx)
                ctx.exit()
            args = [*args[1:], "-h"]
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], _COMMANDS, 1)
            meant = f", did you mean `{near[0]}`?" if near else ";"
            raise UsageError(f"there is no command {args[0]!r}{meant} `git cortex -h` lists them")
        return super().resolve_command(ctx, args)


def _show_version(context: click.Context, option: click.Parameter, value: bool) -> None:
    env = context.find_object(Env)
    if value and env is not None and not context.resilient_parsing:
        env.stdout.write(f"git-cortex {__version__}\n")
        context.exit()


@click.group(cls=_Root, context_settings=dict(SETTINGS), invoke_without_command=True, subcommand_metavar="COMMAND …")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and end.",
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Memory for AI coding assistants, kept in the repository's own git.

    `git cortex init` sets a repository up; from then on memory comes by itself, and these commands look at it,
    add to it and check it. `git cortex help COMMAND` explains one of them.
    """
    if context.invoked_subcommand is None:
        show_help(context)
        context.exit(USAGE)


def run(arguments: Sequence[str], env: Env) -> int:
    """Run a command and return its exit status; an error is one line on standard error, a bug a report file."""
    for stream in (env.stdout, env.stderr):
        _tolerate(stream)
    try:
        status = _invoke(list(arguments), env)
        env.stdout.flush()
    except click.UsageError as error:
        return _failed(env, _usage(error), USAGE)
    except UsageError as error:
        return _failed(env, str(error), USAGE)
    except (CortexError, click.ClickException) as error:
        return _failed(env, str(error), MENDABLE)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _drop(env.stdout)
        return READER_GONE
    except OSError as error:  # a full disk, a folder without permission: nothing of ours to report
        _drop(env.stdout)
        where = f"{error.filename}: " if error.filename else ""
        return _failed(env, f"{where}{error.strerror or error}", MENDABLE)
    except Exception as error:
        from cortex_git.cli.report import write_report

        where = write_report(arguments, error, env)
        return _failed(env, f"this is a bug ({type(error).__name__}); please report it with {where}", BUG)
    return status


def _invoke(arguments: list[str], env: Env) -> int:
    if COMPLETE in env.variables:
        from cortex_git.cli.completion import answer

        answer(cli, arguments, env)
        return FINE
    try:
        with cli.make_context("git cortex", arguments, obj=env) as context:
            cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return FINE


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "git cortex"
    return f"{error.format_message().rstrip('.')}; see `{path} -h`"


def _failed(env: Env, message: str, status: int) -> int:
    with contextlib.suppress(OSError, ValueError):
        env.stdout.flush()
    with contextlib.suppress(OSError, ValueError):
        env.stderr.write(f"git cortex: {one_line(message)}\n")
    return status


def _tolerate(stream: TextIO) -> None:
    """Let no character be one that the stream cannot write."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]


def _drop(stream: TextIO) -> None:
    """Send what is left in a stream nowhere, lest the interpreter fail on it once more at its end."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
