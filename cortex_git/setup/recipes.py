"""The lines that make a hook run ours: those that we put in, and those that a user is asked to add.

All of them do nothing where our shim is not there, so a team may commit them for everybody. They
stay right when an editor or a terminal puts spaces before them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from cortex_git.setup import managers
from cortex_git.setup.program import EVENTS

READS_INPUT = frozenset({"post-rewrite", "pre-push"})
"""Events that git describes on standard input."""
LFS_EVENTS = frozenset({"post-checkout", "post-commit", "post-merge", "pre-push"})
"""Events that git-lfs has a hook for."""
_COMMON = "$(git rev-parse --git-common-dir)"

_KEEPING_INPUT = """\
if [ -x "$cortex" ]; then
    cortex_in=$(cat)
    if [ -n "$cortex_in" ]; then printf '%s\\n' "$cortex_in"; fi | "$cortex" "$@" || :
    if [ -n "$cortex_in" ]; then eval "$(printf 'exec <<END\\n%s\\nEND' '$cortex_in')"; else exec < /dev/null; fi
fi
"""
_LFS = "# git-lfs puts its hook beside no other, so it is called from here.\n"
_LFS_KEEPING_INPUT = f"""\
cortex_in=$(cat)
cortex_tell() {{ if [ -n "$cortex_in" ]; then printf '%s\\n' "$cortex_in"; fi; }}
[ ! -x "$cortex" ] || cortex_tell | "$cortex" "$@" || :
{_LFS}\
[ ! -d "${{0%/*}}/../lfs" ] || cortex_tell | git lfs pre-push "$@" || exit
if [ -n "$cortex_in" ]; then eval "$(printf 'exec <<END\\n%s\\nEND' '$cortex_in')"; else exec < /dev/null; fi
"""


def shell_lines(event: str, common: str = _COMMON, name: str = "") -> str:
    """Lines for a shell script that run our shim, if it is there, and leave standard input as they found it.

    `common` is a shell expression for the common git directory, `name` one for the hook's name
    (by default the event itself).
    """
    return _shim(event, common, name) + (_KEEPING_INPUT if event in READS_INPUT else _PLAIN)


def own_lines(event: str) -> str:
    """Lines for a hook file that is ours alone in git's own folder.

    git-lfs gives up, often silently, where a hook is taken, and then sends no objects at all: so
    where it is in use it is called from here, and a push that it refuses fails as it should.
    """
    common = "${0%/*}/.."
    if event not in LFS_EVENTS:
        return shell_lines(event, common)
    if event in READS_INPUT:
        return _shim(event, common) + _LFS_KEEPING_INPUT
    return shell_lines(event, common) + _LFS + f'[ ! -d "{common}/lfs" ] || git lfs {event} "$@" || :\n'


_PLAIN = '[ ! -x "$cortex" ] || "$cortex" "$@" || :\n'


def _shim(event: str, common: str, name: str = "") -> str:
    return f'cortex="{common}/cortex/git-hooks/{name or event}"\n'


def command(event: str) -> str:
    """One line of shell that runs our shim, if it is there; the hook's arguments are to be put after it."""
    return f'h="{_COMMON}/cortex/git-hooks/{event}"; [ ! -x "$h" ] || "$h"'


def recipe(manager: str, folder: str, events: Sequence[str], work_tree: str) -> str:
    """What the user can add, and where, so that these hooks run ours."""
    if manager == managers.SETTINGS:
        return "Unless that is meant, set it to true.\n"
    if not os.path.isdir(folder):
        return _missing(manager, folder, events, work_tree)
    if manager == "lefthook":
        return _lefthook(events)
    if manager == "simple-git-hooks":
        return _simple_git_hooks(folder)
    if manager in managers.PLACES and manager not in managers.CHAINING:
        head = f"Have {manager} run these, by way of a script of the repository ({managers.PLACES[manager][0]}):\n"
        return head + "".join(f'  {event}:\n    {command(event)} "$@"\n' for event in events)
    files = {event: managers.user_file(manager, folder, event) for event in events}
    texts = _scripts(files, work_tree, "husky" if managers.is_husky_9(folder) else "")
    if manager == "git-lfs":
        texts.append("`git lfs update` will then want to be `git lfs update --manual`.\n")
    return "\n".join(texts)


def _scripts(files: dict[str, str], work_tree: str, runner: str = "") -> list[str]:
    """What to do with each of these hook files, in groups of those that need the same.

    A `runner` has a shell run them, whatever their first line and their mode.
    """
    foreign = [event for event, path in files.items() if not runner and os.path.exists(path) and not _is_shell(path)]
    texts = [f'Have {_shown(files[event], work_tree)} do what this does:\n{command(event)} "$@"\n' for event in foreign]
    for reads in (False, True):
        group = [event for event in files if event not in foreign and (event in READS_INPUT) is reads]
        if group:
            names = ", ".join(_shown(files[event], work_tree) for event in group)
            lines = shell_lines(group[0], name=managers.OWN_NAME)
            where = "at the top of" if runner else "after the first line (#!/bin/sh) of"
            texts.append(f"Add {where} {names}:\n{lines}")
    if not runner and not all(os.path.exists(path) for path in files.values()):
        texts.append("A file that is new must be made executable.\n")
    return texts


def _is_shell(path: str) -> bool:
    return managers.is_shell(Path(path).read_bytes())


def _missing(manager: str, folder: str, events: Sequence[str], work_tree: str) -> str:
    """What to do about a hooks folder that is not there, which git takes without a word for one without hooks."""
    if manager != "husky":
        return "git runs no hook at all here. Make core.hooksPath name the folder that is meant.\n"
    texts = ["Run `npx husky` in this work tree, which makes the folder; until then git runs no hook at all here.\n"]
    files = {event: managers.user_file(manager, folder, event) for event in events}
    lacking = {event: path for event, path in files.items() if not _names_ours(path, event)}
    return "\n".join(texts + (_scripts(lacking, work_tree, manager) if lacking else []))


def _names_ours(path: str, event: str) -> bool:
    return os.path.isfile(path) and managers.runs_ours(Path(path).read_bytes(), event)


def _shown(path: str, work_tree: str) -> str:
    return os.path.relpath(path, work_tree) if path.startswith(work_tree + os.sep) else path


def _lefthook(events: Sequence[str]) -> str:
    lines = ["Add to lefthook.yml, or for this clone alone to lefthook-local.yml, and run `lefthook install`:"]
    for event in events:
        lines += [f"{event}:", "  commands:", "    git-cortex:", f"      run: '{command(event)} {{0}}'"]
        if event in READS_INPUT:
            lines.append("      use_stdin: true")
    return "\n".join(lines) + "\n"


def _simple_git_hooks(folder: str) -> str:
    """Its hooks are the texts of its settings, so whole scripts can be given to it.

    All that it has not yet, since it deletes those hooks of ours that are files.
    """
    files = {event: os.path.join(folder, event) for event in EVENTS}
    events = [
        event
        for event, path in files.items()
        if not (_names_ours(path, event) and managers.of_file(Path(path).read_bytes(), event) == "simple-git-hooks")
    ]
    texts = [json.dumps(event) + ": " + json.dumps(shell_lines(event)) for event in events]
    return (
        'Add to "simple-git-hooks" in package.json, before whatever is there for the same hook, and run '
        "`npx simple-git-hooks`:\n" + ",\n".join(texts) + "\n"
    )
