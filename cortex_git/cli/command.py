"""Commands whose help goes through Env, like everything else that is printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import click

from cortex_git.env import Env

SETTINGS: Mapping[str, Any] = {"max_content_width": 100}
_NUMBER = re.compile(r"-(\d+)")


class Command(click.Command):
    """A command with `-h` as well as `--help`."""

    _help: click.Option | None = None

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """The one help option of this command."""
        if self._help is None:
            self._help = click.Option(
                ["-h", "--help"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                help="Show this text and end.",
                callback=_show_help,
            )
        return self._help

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; an error knows which command it is about."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise


class Listing(Command):
    """A command that takes `-5` for `-n 5`, as `git log` does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, up to `--` with numbers as git has them."""
        end = args.index("--") if "--" in args else len(args)
        spelled = [_NUMBER.sub(r"--max-count=\1", arg) if _NUMBER.fullmatch(arg) else arg for arg in args[:end]]
        return super().parse_args(ctx, spelled + args[end:])


class Group(Command, click.Group):
    """A command with commands under it."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order in which they were added."""
        return list(self.commands)


def show_help(context: click.Context) -> None:
    """Print the help of a command."""
    env = context.find_object(Env)
    if env is not None:
        env.stdout.write(context.get_help() + "\n")


def _show_help(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        show_help(context)
        context.exit()


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
color_option = click.option(
    "--color",
    type=click.Choice(["always", "never", "auto"]),
    default="auto",
    metavar="WHEN",
    help="Use colour `always`, `never` or, without this option, on a terminal only.",
)
