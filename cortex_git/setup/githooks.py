"""git's hooks: ours beside everything else that wants to run, and nobody else's touched.

On git 2.54 and newer they are settings of the repository, which git runs besides whatever the
hooks folder holds. Before, a marked block goes right after the first line of a shell script
in git's own hooks folder, or into a file of our own there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cortex_git.setup import blocks, managers, recipes
from cortex_git.setup.program import EVENTS
from cortex_git.store.repo import Repo

HEADER = b"#!/bin/sh\n# This file was made by `git cortex init`.\n"
CONFIG_HOOKS = (2, 54)
"""The first version of git that runs hooks from its configuration."""


@dataclass(frozen=True)
class Hook:
    """One of our hooks as it stands.

    `path` is the file that git runs, or would run; empty for a setting. Where the hook is not
    active, `problem` says why, and `mendable` whether `install` can change it.
    """

    event: str
    active: bool
    path: str
    manager: str = ""
    problem: str = ""
    mendable: bool = False


def install(repo: Repo) -> list[Hook]:
    """Put our hooks in wherever that is safe and say how each of them stands. Raises OSError, GitError."""
    folder = hooks_folder(repo)
    if version(repo) >= CONFIG_HOOKS:
        _remove_blocks(repo)
        for event in EVENTS:
            # A file with our lines in it, which somebody put there, would run the hook a second time.
            _configure(repo, event, not _inspect_file(repo, folder, event).active)
    else:
        _remove_settings(repo)
        if _is_ours(repo, folder):
            for event in EVENTS:
                _install_file(folder, event)
    return inspect(repo)


def inspect(repo: Repo) -> list[Hook]:
    """How our hooks stand now; changes nothing."""
    folder = hooks_folder(repo)
    if version(repo) < CONFIG_HOOKS:
        return [_inspect_file(repo, folder, event) for event in EVENTS]
    return [_inspect_setting(repo, event) or _inspect_file(repo, folder, event) for event in EVENTS]


def uninstall(repo: Repo) -> bool:
    """Take out what `install` put in, to the byte; returns whether there was anything. Raises OSError, GitError."""
    settings = _remove_settings(repo)
    blocks_removed = _remove_blocks(repo)
    if blocks_removed and os.path.isdir(os.path.join(repo.common_dir, "lfs")):
        repo.git_status("lfs", "update")  # it found its places taken by ours until now
    return blocks_removed or settings


def advice(repo: Repo, hooks: Iterable[Hook]) -> list[str]:
    """For each group of hooks that are not active: why, and the exact lines that change it."""
    groups: dict[tuple[str, str, str], list[Hook]] = {}
    for hook in hooks:
        if not hook.active:
            groups.setdefault((hook.manager, os.path.dirname(hook.path), hook.problem), []).append(hook)
    texts = []
    for (manager, folder, problem), group in groups.items():
        events = [hook.event for hook in group]
        text = f"git does not run our {', '.join(events)}: {problem}."
        if group[0].mendable:
            texts.append(f"{text} `git cortex init` mends that.\n")
        else:
            texts.append(f"{text}\n{recipes.recipe(manager, folder, events, repo.work_tree or folder)}")
    return texts


def hooks_folder(repo: Repo) -> str:
    """The folder that git looks for hook files in."""
    status, out, _ = repo.git_status("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    # git does not say so, but with an empty core.hooksPath it finds no hook.
    return os.fsdecode(out).rstrip("\n") if not status else os.path.join(os.devnull, "hooks")


def version(repo: Repo) -> tuple[int, int]:
    """The version of the git on PATH."""
    found = re.search(rb"(\d+)\.(\d+)", repo.git("version"))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _is_ours(repo: Repo, folder: str) -> bool:
    """Whether it is git's own folder in this repository: no other is written to."""
    return os.path.realpath(folder) == os.path.join(os.path.realpath(repo.common_dir), "hooks")


# ---- settings


def _inspect_setting(repo: Repo, event: str) -> Hook | None:
    """How the hook stands in the settings; None if it is not there, or not as it should be."""
    if not _configured(repo, event):
        return None
    for name in (f"hook.{event}.enabled", f"hook.cortex-{event}.enabled"):
        if repo.git_config().get(name, "true").lower() in ("false", "no", "off", "0"):
            return Hook(event, False, "", managers.SETTINGS, f"{name} is off")
    return Hook(event, True, "")


def _configured(repo: Repo, event: str) -> bool:
    known = repo.git_config()
    name = f"hook.cortex-{event}"
    return (known.get(f"{name}.command"), known.get(f"{name}.event")) == (recipes.command(event), event)


def _configure(repo: Repo, event: str, wanted: bool) -> None:
    if not wanted:
        _remove_setting(repo, event)
    elif not _configured(repo, event):
        # The command first, for the same reason as in _remove_setting.
        repo.set_git_config(f"hook.cortex-{event}.command", recipes.command(event))
        repo.set_git_config(f"hook.cortex-{event}.event", event)


def _remove_settings(repo: Repo) -> bool:
    return any([_remove_setting(repo, event) for event in EVENTS])


def _remove_setting(repo: Repo, event: str) -> bool:
    if f"hook.cortex-{event}.command" not in repo.git_config():
        return False
    for key in ("event", "command"):  # in this order: git refuses to run with an event that has no command
        repo.set_git_config(f"hook.cortex-{event}.{key}", None)
    return True


# ---- files


def _install_file(folder: str, event: str) -> None:
    path = Path(folder, event)
    if _owner(path, event) in managers.CHAINING:
        path = Path(folder, event + ".legacy")
    old = _read(path) if os.path.lexists(path) else HEADER
    made_here = blocks.take(old) == HEADER
    if _is_locked(path) or (_obstacle(path, event) and not made_here):
        return
    at = len(HEADER) if old.startswith(HEADER) else old.index(b"\n") + 1 if b"\n" in old else len(old)
    new = blocks.put(old, _lines(old, event), at)
    path.parent.mkdir(exist_ok=True)
    if made_here:
        _replace(path, new, 0o777 & ~_umask())
    elif new != old:
        _replace(path, new, path.stat().st_mode & 0o7777)


def _lines(old: bytes, event: str) -> str:
    """What to put into a file: where its head is ours git-lfs could not put its own line in, so ours calls it."""
    alone = old.startswith(HEADER) and b"git lfs" not in blocks.take(old)
    return recipes.own_lines(event) if alone else recipes.shell_lines(event, "${0%/*}/..")


def _inspect_file(repo: Repo, folder: str, event: str) -> Hook:
    path = Path(folder, event)
    manager = _owner(path, event) if _is_ours(repo, folder) else managers.of_folder(folder) or _owner(path, event)
    if _runs_ours(repo, path, manager, event):
        return Hook(event, True, str(path), manager)
    if not _is_ours(repo, folder):
        return Hook(event, False, str(path), manager, _elsewhere(repo, folder, manager))
    target = Path(folder, event + ".legacy") if manager in managers.CHAINING else path
    problem = _obstacle(target, event)
    if not path.exists() and any(_owner(Path(folder, other), other) in managers.SWEEPING for other in EVENTS):
        manager = "simple-git-hooks"
        problem = f"{manager} deletes every hook that is not in its settings"
    return Hook(event, False, str(path), manager, problem or "the hook is missing", mendable=not problem)


def _elsewhere(repo: Repo, folder: str, manager: str) -> str:
    setting = repo.git_config().get("core.hookspath")
    if setting is None:
        return f"{os.path.join(repo.common_dir, 'hooks')} is a link to {folder}"
    owner = f" ({manager})" if manager else ""
    missing = "" if os.path.isdir(folder) else ", a folder that is not there"
    return f"core.hooksPath is {setting or 'empty'}{owner}{missing}"


def _runs_ours(repo: Repo, path: Path, manager: str, event: str) -> bool:
    """Whether git, or the manager that it calls, comes to our shim."""
    if not os.access(path, os.X_OK):
        return False
    if managers.runs_ours(_read(path), event) or managers.configured(manager, repo.work_tree or "", event):
        return True
    if manager in managers.CHAINING:
        legacy = Path(f"{path}.legacy")
        return os.access(legacy, os.X_OK) and managers.runs_ours(_read(legacy), event)
    if manager == "husky":
        return managers.runs_ours(_read(Path(managers.user_file(manager, str(path.parent), event))), event)
    return False


def _owner(path: Path, event: str) -> str:
    return managers.of_file(_read(path), event)


def _obstacle(path: Path, event: str) -> str:
    """Why a hook file must not be edited; empty if it may be, or if there is none."""
    if _is_locked(path):
        return f"{path.parent} cannot be written to"
    if path.is_symlink():
        return f"{path.name} is a link to {os.readlink(path)}"
    if not path.exists():
        return ""
    data = _read(path)
    manager = managers.of_file(data, event)
    if manager:
        return f"{manager} owns the hook and writes it anew when it likes"
    if not os.access(path, os.X_OK):
        return f"{path.name} is not executable, so git ignores it (make it executable if it is meant to run)"
    if not managers.is_shell(data):
        return f"{path.name} is no plain shell script"
    return ""


def _is_locked(path: Path) -> bool:
    return path.parent.is_dir() and not os.access(path.parent, os.W_OK)


def _remove_blocks(repo: Repo) -> bool:
    """Take our blocks out of git's own hooks folder, also out of files that a manager has moved aside."""
    removed = False
    for event in EVENTS:
        for name in (event, event + ".legacy", event + ".old"):
            path = Path(repo.common_dir, "hooks", name)
            old = _read(path) if not path.is_symlink() else b""
            new = blocks.take(old)
            if new == old:
                continue
            removed = True
            if new == HEADER:
                path.unlink()
            else:
                _replace(path, new, path.stat().st_mode & 0o7777)
    return removed


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Put a hook in place whole, since git may run it at this moment."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
