"""A cheap look at whether git still runs our hooks, for every command and every session that starts.

Reads a few short files and starts nothing; only where that leaves a doubt, the full check is made.
"""

from __future__ import annotations

import os

from cortex_git.setup.program import EVENTS, SILENCE
from cortex_git.store.locking import keep_json, read_json
from cortex_git.store.process import inherited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.repo import Repo

_GIT = "git.json"


def inactive_hooks(repo: Repo) -> str:
    """One line that says that git hooks have gone inactive, and what to do; empty if all is well."""
    known = repo.git_config()
    if known.get(SILENCE) == "ignore" or all(_is_seen(repo, known, event) for event in EVENTS):
        return ""
    from cortex_git.setup.health import inactive_hooks as look_closely

    return look_closely(repo)


def _is_seen(repo: Repo, known: dict[str, str], event: str) -> bool:
    if f"hook.cortex-{event}.event" in known:
        switched = (f"hook.cortex-{event}.enabled" in known, f"hook.{event}.enabled" in known)
        return not any(switched) and _reads_settings(repo)
    setting = known.get("core.hookspath")
    folder = os.path.join(repo.common_dir, "hooks")
    if setting is not None:
        folder = os.path.join(repo.work_tree or repo.git_dir, os.path.expanduser(setting))
    # What git runs must be there, and it or what a manager has it run must name our shim.
    runs = os.path.join(folder, event)
    names = (runs, runs + ".legacy", os.path.join(os.path.dirname(folder), event))
    return os.access(runs, os.X_OK) and any(_names_shim(path, event) for path in names)


def _reads_settings(repo: Repo) -> bool:
    """Whether the git on PATH runs hooks from settings; it is asked once, and again when it is another one."""
    for folder in inherited(("PATH",)).get("PATH", os.defpath).split(os.pathsep):
        try:
            found = os.stat(os.path.join(folder, "git"))
        except OSError:
            continue
        seen = [folder, found.st_ino, found.st_size, found.st_mtime_ns]
        kept = read_json(os.path.join(repo.home, _GIT))
        if kept.get("seen") != seen:
            from cortex_git.setup.githooks import CONFIG_HOOKS, version

            kept = {"seen": seen, "reads": version(repo) >= CONFIG_HOOKS}
            keep_json(os.path.join(repo.home, _GIT), kept)
        return kept.get("reads") is True
    return False


def _names_shim(path: str, event: str) -> bool:
    try:
        with open(path, "rb") as file:
            text = file.read(64 * 1024)
    except OSError:
        return False
    return f"/cortex/git-hooks/{event}".encode() in text or b"/cortex/git-hooks/${0##*/}" in text
