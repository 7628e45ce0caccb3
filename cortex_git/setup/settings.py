"""Claude Code's settings file of one repository on one machine, `.claude/settings.local.json`.

Only our own hooks are put in and taken out; everything else keeps its place and, as far as JSON
allows, its looks.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

from cortex_git import assets
from cortex_git.errors import CortexError
from cortex_git.store.locking import write_text

NAME = os.path.join(".claude", "settings.local.json")
PLUGIN = "git-cortex@git-cortex"
_OURS = re.compile(r"/cortex/hooks/(capture|drain)'? [A-Za-z]+$")
_IN_PLUGIN = '"${CLAUDE_PLUGIN_ROOT}"/hooks/'


def wanted(home: str) -> dict[str, Any]:
    """The hooks of the plugin with the shims under our folder `home` in place of the plugin's."""
    text = Path(assets.asset_dir("hooks"), "hooks.json").read_text(encoding="utf-8")
    hooks: dict[str, Any] = json.loads(text)["hooks"]
    for groups in hooks.values():
        for group in groups:
            for hook in group["hooks"]:
                shim, _, event = hook["command"].removeprefix(_IN_PLUGIN).partition(" ")
                hook["command"] = f"{shlex.quote(os.path.join(home, 'hooks', shim))} {event}"
    return hooks


def read(path: Path) -> dict[str, Any]:
    """The settings in a file; empty if there is none. Raises CortexError if they cannot be added to."""
    try:
        settings: dict[str, Any] = json.loads(path.read_bytes() or b"{}")
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise CortexError(f"{path} is no valid JSON ({error}); mend it and try again") from None
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise CortexError(f"{path} does not hold settings as Claude Code reads them; mend it and try again")
    return settings


def with_hooks(settings: dict[str, Any], hooks: dict[str, Any]) -> dict[str, Any]:
    """The settings with these hooks as the only ones of ours."""
    merged = dict(without_hooks(settings))
    merged["hooks"] = dict(merged.get("hooks", {}))
    for event, groups in hooks.items():
        merged["hooks"][event] = [*merged["hooks"].get(event, []), *groups]
    return settings if _same_hooks(settings, merged) else merged


def without_hooks(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without any hook of ours, wherever it points."""
    if not has_hooks(settings):
        return settings
    kept = {event: [group for old in groups if (group := _group(old))] for event, groups in settings["hooks"].items()}
    rest = {event: groups for event, groups in kept.items() if groups or not settings["hooks"][event]}
    return {name: rest if name == "hooks" else value for name, value in settings.items() if name != "hooks" or rest}


def has_hooks(settings: dict[str, Any]) -> bool:
    """Whether a hook of ours is in the settings."""
    return bool(_commands(settings.get("hooks", {})))


def runs(settings: dict[str, Any], home: str) -> bool:
    """Whether all our hooks are in the settings and name the shims under our folder `home`."""
    return _commands(settings.get("hooks", {})) == _commands(wanted(home))


def write(path: Path, settings: dict[str, Any]) -> None:
    """Write settings in the style and with the mode of the file that is there. Raises OSError."""
    old = path.read_bytes().decode("utf-8-sig") if path.exists() else ""
    mode = path.stat().st_mode & 0o7777 if path.exists() else None
    indent = re.search(r"\n([ \t]+)\S", old)
    one_line = "\n" not in old.strip() and old.strip() not in ("", "{}")
    text = json.dumps(
        settings,
        indent=None if one_line else indent[1] if indent else 2,
        separators=(",", ":") if one_line and '": ' not in old else None,
        ensure_ascii=False,
    )
    if old.endswith("\n") or not old:
        text += "\n"
    path.parent.mkdir(exist_ok=True)
    write_text(str(path), text.replace("\n", "\r\n") if "\r\n" in old else text)
    if mode is not None:
        path.chmod(mode)


def _group(group: Any) -> Any:
    """A matcher group without our hooks; None if nothing else was in it."""
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return group
    kept = [hook for hook in group["hooks"] if not _is_ours(hook)]
    if len(kept) == len(group["hooks"]):
        return group
    return {**group, "hooks": kept} if kept else None


def _is_ours(hook: Any) -> bool:
    return isinstance(hook, dict) and bool(_OURS.search(str(hook.get("command", ""))))


def _commands(hooks: Any) -> set[tuple[str, str]]:
    """Event and command of each hook of ours."""
    return {
        (event, hook["command"])
        for event, groups in hooks.items()
        for group in groups
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for hook in group["hooks"]
        if _is_ours(hook)
    }


def _same_hooks(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two settings differ in the order of hooks at most."""

    def flat(settings: dict[str, Any]) -> list[str]:
        hooks = settings.get("hooks", {})
        return sorted(json.dumps([event, group]) for event, groups in hooks.items() for group in groups)

    return flat(one) == flat(other)
