"""Claude Code in one repository: our plugin where the client is there to install it, else hooks in its settings.

Both belong to this machine only, and work from subdirectories and linked worktrees. Never both
at once: each payload would be stored twice, and a session greeted twice.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess  # noqa: TID251 - the client is no git
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cortex_git import assets
from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.setup import settings
from cortex_git.setup.settings import PLUGIN
from cortex_git.store.repo import Repo

MARKETPLACE = "git-cortex"
_PATIENCE = 60
_NESTED = "CLAUDECODE"


def project_root(repo: Repo) -> Path:
    """Where the client looks for a repository's settings, whichever worktree or folder it is started in."""
    if os.path.basename(repo.common_dir) == ".git" and repo.git_config().get("core.bare") != "true":
        return Path(os.path.dirname(repo.common_dir))
    return Path(repo.work_tree or repo.common_dir)


def local_settings(repo: Repo) -> Path:
    """The settings file that is ours to add to. Raises CortexError if it lies elsewhere by way of a link."""
    root = project_root(repo)
    path = root / settings.NAME
    if Path(os.path.realpath(path)) != Path(os.path.realpath(root)) / settings.NAME:
        raise CortexError(f"{path} leads to {os.path.realpath(path)}; make it a file of this work tree and try again")
    return path


def check(repo: Repo) -> None:
    """Raise CortexError if the settings could not be added to."""
    settings.read(local_settings(repo))


def set_up(repo: Repo, env: Env, plugin: bool | None = None) -> str:
    """Make the client run our hooks; returns `plugin` or `settings`.

    `plugin` False never asks the client, True insists on it (CortexError if that fails), None
    takes the plugin where it can be had. Raises OSError, CortexError.
    """
    if plugin is not False:
        if enabled(repo, env) and (not _is_local(repo) or installed_root(env) == _plugin_root()):
            _drop_hooks(repo)
            return "plugin"
        problem = _install_plugin(repo, env)
        if not problem:
            _drop_hooks(repo)
            return "plugin"
        if plugin:
            raise CortexError(f"Claude Code did not install the plugin ({problem}); try `git cortex init` without it")
    take_down_plugin(repo, env)
    if enabled(repo, env):
        return "plugin"  # the user has it for all repositories, or the team for this one
    path = local_settings(repo)
    old = settings.read(path)
    new = settings.with_hooks(old, settings.wanted(repo.home))
    if new != old:
        settings.write(path, new)
    return "settings"


def take_down(repo: Repo, env: Env) -> bool:
    """Take out hooks and plugin; returns whether there were any. Raises OSError, CortexError."""
    plugin = take_down_plugin(repo, env)
    return _drop_hooks(repo) or plugin


def problems(repo: Repo, env: Env) -> list[str]:
    """What keeps the client from running our hooks once, a sentence each, with its cure."""
    files = _settings_files(repo, env)
    found = [
        f"{path} sets disableAllHooks, so Claude Code runs no hook of ours"
        for path, content in files.items()
        if content.get("disableAllHooks") is True
    ]
    local = files[project_root(repo) / settings.NAME]
    if enabled(repo, env):
        root = installed_root(env)
        if root is None or not os.path.isfile(os.path.join(root, ".claude-plugin", "plugin.json")):
            found.append(f"the Claude Code plugin is gone from {root or 'its place'}; run `git cortex init`")
        if settings.has_hooks(local):
            found.append("Claude Code has our hooks twice, as plugin and in its settings; run `git cortex init`")
    elif not settings.runs(local, repo.home):
        found.append("Claude Code's hooks are not in place; run `git cortex init`")
    return found


def enabled(repo: Repo, env: Env) -> bool:
    """Whether our plugin is switched on for this repository, at whatever level."""
    answer = False
    for content in _settings_files(repo, env).values():
        value = _table(content, "enabledPlugins").get(PLUGIN)
        answer = value if isinstance(value, bool) else answer
    return answer


def installed_root(env: Env) -> str | None:
    """The folder that the client loads our plugin from; None if it does not know one."""
    known = _table(_json(_config_dir(env.variables) / "plugins" / "known_marketplaces.json"), MARKETPLACE)
    place = known.get("installLocation")
    return place if isinstance(place, str) else None


def take_down_plugin(repo: Repo, env: Env) -> bool:
    """Take the plugin out of this repository and leave it to others that use it; returns whether it was there."""
    if not _is_local(repo):
        return False
    _client(repo, env, "plugin", "uninstall", PLUGIN, "--scope", "local")
    if not _used_elsewhere(repo, env):
        _client(repo, env, "plugin", "marketplace", "remove", MARKETPLACE, "--scope", "local")
    path = local_settings(repo)
    old = settings.read(path)
    new = dict(old)
    for table, key in (("enabledPlugins", PLUGIN), ("extraKnownMarketplaces", MARKETPLACE)):
        rest = {name: value for name, value in _table(new, table).items() if name != key}
        if rest:
            new[table] = rest
        else:
            new.pop(table, None)
    if new != old:
        settings.write(path, new)
    return True


def _install_plugin(repo: Repo, env: Env) -> str:
    """Have the client install the plugin; returns what went wrong, or an empty text."""
    for arguments in (("marketplace", "add", _plugin_root()), ("install", PLUGIN)):
        problem = _client(repo, env, "plugin", *arguments, "--scope", "local")
        if problem:
            return problem
    return "" if enabled(repo, env) else "it is not switched on"


def _client(repo: Repo, env: Env, *arguments: str) -> str:
    """Run the client's command line; returns what went wrong, or an empty text."""
    program = shutil.which("claude", path=env.variables.get("PATH", ""))
    if program is None:
        return "there is no `claude` on PATH"
    variables = {name: value for name, value in env.variables.items() if name != _NESTED}
    try:
        done = subprocess.run(
            [program, *arguments],
            cwd=project_root(repo),
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    return "" if done.returncode == 0 else (lines or [f"exit status {done.returncode}"])[-1]


def _drop_hooks(repo: Repo) -> bool:
    path = local_settings(repo)
    old = settings.read(path)
    new = settings.without_hooks(old)
    if new != old:
        settings.write(path, new)
    return new != old


def _plugin_root() -> str:
    return os.path.dirname(assets.asset_dir(".claude-plugin"))


def _is_local(repo: Repo) -> bool:
    """Whether the plugin was switched on, or offered, for this repository alone."""
    local = _json(project_root(repo) / settings.NAME)
    return PLUGIN in _table(local, "enabledPlugins") or MARKETPLACE in _table(local, "extraKnownMarketplaces")


def _used_elsewhere(repo: Repo, env: Env) -> bool:
    """Whether the client has the plugin switched on for the user, or in another repository that is still there."""
    plugins = _table(_json(_config_dir(env.variables) / "plugins" / "installed_plugins.json"), "plugins")
    for entry in plugins.get(PLUGIN, []):
        if not isinstance(entry, dict):
            continue
        folder = str(entry.get("projectPath") or _config_dir(env.variables).parent)
        if os.path.realpath(folder) == os.path.realpath(project_root(repo)):
            continue
        names = ("settings.json", "settings.local.json")
        if any(_table(_json(Path(folder, ".claude", name)), "enabledPlugins").get(PLUGIN) for name in names):
            return True
    return False


def _settings_files(repo: Repo, env: Env) -> dict[Path, dict[str, Any]]:
    """The client's settings from the weakest level to the strongest."""
    folder = project_root(repo) / ".claude"
    paths = (_config_dir(env.variables) / "settings.json", folder / "settings.json", folder / "settings.local.json")
    return {path: _json(path) for path in paths}


def _config_dir(variables: Mapping[str, str]) -> Path:
    given = variables.get("CLAUDE_CONFIG_DIR")
    return Path(given) if given else Path(variables.get("HOME", "/"), ".claude")


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _table(content: dict[str, Any], name: str) -> dict[str, Any]:
    value = content.get(name)
    return value if isinstance(value, dict) else {}
