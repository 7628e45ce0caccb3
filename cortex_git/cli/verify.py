"""`git cortex verify`: a check for CI, from the files alone."""

from __future__ import annotations

import os

import click

from cortex_git import config as settings
from cortex_git.cli.command import Command, color_option, json_option
from cortex_git.cli.terminal import one_line, screen, write_json
from cortex_git.cli.tree import cortex_files
from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.projections.verify import ERROR, Finding
from cortex_git.projections.verify import verify as find_faults
from cortex_git.store.repo import Repo

_NO_CACHE = os.path.join(os.devnull, "none")


@click.command(cls=Command)
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--strict", is_flag=True, help="Notices count as errors, also pages that lag behind.")
@json_option
@color_option
@click.pass_context
def verify(context: click.Context, path: str | None, strict: bool, as_json: bool, color: str) -> None:
    """Check the files in `.cortex/`: whether each is what its events say, and the pages are what the items say.

    Looks at the work tree only, or at the folder PATH: needs no notes, no history, no `init` and no repository, so it
    works in a checkout of depth 1. Ends with status 1 if something is broken.
    """
    env = context.ensure_object(Env)
    root = _root(env, path)
    config, faults = settings.load(os.path.join(root, ".cortex", "config.toml"), _NO_CACHE)
    found = [Finding(ERROR, "settings", ".cortex/config.toml", 1, _short(fault)) for fault in faults]
    files = cortex_files(root)
    found += find_faults(files, config)
    failed = any(strict or finding.level == ERROR for finding in found)
    if as_json:
        write_json(env, [{name: getattr(f, name) for name in Finding.__slots__} for f in found])
    else:
        _print(env, found, len(files), color)
    context.exit(1 if failed else 0)


def _print(env: Env, found: list[Finding], count: int, color: str) -> None:
    with screen(env, {}, color) as out:
        for finding in found:
            level = out.paint(finding.level, "bad" if finding.level == ERROR else "bold")
            out.line(f"{one_line(finding.path)}:{finding.line}: {level}: {one_line(finding.message)}")
        errors = sum(finding.level == ERROR for finding in found)
        out.line(f"{count} files, {errors} errors, {len(found) - errors} notices")


def _root(env: Env, path: str | None) -> str:
    """The folder that holds `.cortex/`. Raises CortexError if there is none."""
    if path is not None:
        root = os.path.join(env.cwd, path)
        if os.path.basename(os.path.normpath(root)) == ".cortex":
            root = os.path.dirname(os.path.normpath(root))
    else:
        repo = Repo.discover(env.cwd, env.variables)
        root = (repo.work_tree if repo else None) or env.cwd
    if not os.path.isdir(os.path.join(root, ".cortex")):
        raise CortexError(f"there is no folder .cortex in {os.path.normpath(root)}; `git cortex init` makes one")
    return root


def _short(fault: str) -> str:
    return fault.removeprefix(".cortex/config.toml").removeprefix(":").strip()
