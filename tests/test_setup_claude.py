"""Claude Code's side of `init`: the plugin where the client is there, else hooks in the local settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, TestRepo
from setting_up import SETTINGS, env_at, files, init, problems, uninstall

from cortex_git.errors import CortexError
from cortex_git.setup import claude, settings

EVENTS = {
    "SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "PreCompact",
    "SessionEnd",
}  # fmt: skip
PLUGIN, MARKETPLACE = "git-cortex@git-cortex", "git-cortex"
# Does to its files what the real client was seen to do; FAILS in its environment makes it fail.
CLIENT = f"""\
import json, os, pathlib, sys
if os.environ.get("FAILS"):
    sys.exit("error: unknown option")
config = pathlib.Path(os.environ["HOME"], ".claude", "plugins")
config.mkdir(parents=True, exist_ok=True)
local = pathlib.Path(".claude", "settings.local.json")
def change(path, action):
    content = json.loads(path.read_text()) if path.exists() else {{}}
    action(content)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\\n")
here = os.getcwd()
match sys.argv[2:]:
    case ["marketplace", "add", root, "--scope", "local"]:
        source = {{"source": {{"source": "directory", "path": root}}}}
        change(local, lambda c: c.setdefault("extraKnownMarketplaces", {{}}).update({{"{MARKETPLACE}": source}}))
        change(config / "known_marketplaces.json", lambda c: c.update({{"{MARKETPLACE}": {{"installLocation": root}}}}))
    case ["install", "{PLUGIN}", "--scope", "local"]:
        change(local, lambda c: c.setdefault("enabledPlugins", {{}}).update({{"{PLUGIN}": True}}))
        entry = {{"scope": "local", "projectPath": here}}
        change(config / "installed_plugins.json",
               lambda c: c.setdefault("plugins", {{}}).setdefault("{PLUGIN}", []).append(entry))
    case ["uninstall", "{PLUGIN}", "--scope", "local"]:
        change(local, lambda c: c["enabledPlugins"].pop("{PLUGIN}"))
        def drop(content):
            entries = content["plugins"]["{PLUGIN}"]
            content["plugins"]["{PLUGIN}"] = [entry for entry in entries if entry["projectPath"] != here]
        change(config / "installed_plugins.json", drop)
    case ["marketplace", "remove", "{MARKETPLACE}", "--scope", "local"]:
        change(local, lambda c: c["extraKnownMarketplaces"].pop("{MARKETPLACE}"))
        change(config / "known_marketplaces.json", lambda c: c.clear())
        change(config / "installed_plugins.json", lambda c: c["plugins"].clear())
    case other:
        sys.exit(f"unexpected: {{other}}")
"""


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """A stand-in for the client, on PATH."""
    path = tmp_path / "bin" / "claude"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\n{CLIENT}")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path


def _settings(repo: TestRepo) -> dict[str, Any]:
    return json.loads(repo.read(SETTINGS))


# ---- hooks in the settings


def test_every_event_gets_a_shim_of_the_repository(repo: TestRepo) -> None:
    """Each hook names, by its absolute path, a shim that is there, and the event it is for."""
    init(repo.path)
    hooks = _settings(repo)["hooks"]
    assert EVENTS == set(hooks)
    for event, (group,) in hooks.items():
        (hook,) = group["hooks"]
        path, _, named = hook["command"].rpartition(" ")
        assert event == named and os.path.isabs(path) and os.access(path, os.X_OK)


def test_a_path_with_quotes_and_spaces(tmp_path: Path, home: Path) -> None:
    """The command survives the shell that the client gives it to."""
    repo = TestRepo.make(tmp_path / "it's a 'repo' $HOME")
    init(repo.path)
    command = _settings(repo)["hooks"]["PostToolUse"][0]["hooks"][0]["command"]
    subprocess.run(["sh", "-c", command], cwd=repo.path, input=b"{}", check=True)
    assert 1 == len(os.listdir(repo.path / ".git" / "cortex" / "spool"))
    init(repo.path)
    assert 1 == len(_settings(repo)["hooks"]["PostToolUse"])
    uninstall(repo.path)
    assert not (repo.path / SETTINGS).exists()


OWN = {
    "two spaces": '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls)"]\n  }\n}\n',
    "tabs": '{\n\t"model": "opus"\n}',
    "one line": '{"model":"opus","env":{"Ä":"é"}}\n',
    "CRLF": '{\r\n    "model": "opus"\r\n}\r\n',
    "empty": "{}\n",
    "hooks": '{\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}], "Setup": []}\n}\n',
}


@pytest.mark.parametrize("case", OWN)
def test_the_users_settings_stay(case: str, repo: TestRepo) -> None:
    """What is in the file keeps its order and style while our hooks are in it, and its bytes when they are gone."""
    text = OWN[case]
    repo.write({SETTINGS: text.encode()})
    (repo.path / SETTINGS).chmod(0o600)
    init(repo.path)
    new = (repo.path / SETTINGS).read_bytes().decode()
    own = {name: value for name, value in json.loads(new).items() if name != "hooks"}
    assert own == {name: value for name, value in json.loads(text).items() if name != "hooks"}
    assert _style(text) == _style(new) or case == "empty"
    assert 0o600 == (repo.path / SETTINGS).stat().st_mode & 0o777
    assert SETTINGS not in (repo.path / ".git" / "info" / "exclude").read_text()
    if case == "hooks":
        assert "say done" == json.loads(new)["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert [] == problems(repo.path)
    uninstall(repo.path)
    assert text.encode() == (repo.path / SETTINGS).read_bytes()


def _style(text: str) -> tuple[str, str, bool]:
    """How a file of JSON looks: its line end, its indentation, whether it ends with a line end."""
    first = text.partition("\n")[2]
    return "\r\n" if "\r\n" in text else "\n", first[: len(first) - len(first.lstrip())], text.endswith("\n")


def test_settings_that_changed_since_keep_the_change(repo: TestRepo) -> None:
    """What the user adds after `init` is not taken away with our hooks."""
    repo.write({SETTINGS: '{"model": "opus"}\n'})
    init(repo.path)
    changed = _settings(repo) | {"theme": "dark"}
    changed["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "say done"})
    repo.write({SETTINGS: json.dumps(changed)})
    uninstall(repo.path)
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}
    assert {"model": "opus", "theme": "dark", "hooks": hooks} == _settings(repo)


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"a": 1,}'])
def test_settings_that_are_broken_change_nothing(text: str, repo: TestRepo) -> None:
    """A file that cannot be added to is an error that names it, before anything is touched."""
    repo.write({SETTINGS: text})
    before = files(repo.path)
    with pytest.raises(CortexError, match=r"settings\.local\.json"):
        init(repo.path)
    assert before == files(repo.path)


def test_settings_elsewhere_are_not_ours(repo: TestRepo, tmp_path: Path) -> None:
    """A link that leads out of the repository is not followed."""
    (tmp_path / "elsewhere.json").write_text("{}\n")
    (repo.path / ".claude").mkdir()
    (repo.path / SETTINGS).symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(CortexError, match=r"leads to .*elsewhere\.json"):
        init(repo.path)
    assert "{}\n" == (tmp_path / "elsewhere.json").read_text()


def test_a_moved_repository_is_noticed_and_mended(repo: TestRepo, tmp_path: Path) -> None:
    """Hooks that name the old place are found, and `init` replaces them."""
    init(repo.path)
    repo.path.rename(tmp_path / "moved")
    moved = TestRepo(tmp_path / "moved")
    assert ["Claude Code's hooks are not in place; run `git cortex init`"] == problems(moved.path)
    init(moved.path)
    assert [] == problems(moved.path)
    assert 1 == len(_settings(moved)["hooks"]["Stop"])


def test_hooks_that_are_switched_off_are_noticed(repo: TestRepo) -> None:
    """`disableAllHooks` at any level is reported with the file that sets it."""
    init(repo.path)
    repo.write({".claude/settings.json": '{"disableAllHooks": true}'})
    (problem,) = problems(repo.path)
    assert ".claude/settings.json sets disableAllHooks" in problem


# ---- the plugin


def test_the_plugin_is_installed_for_this_repository(repo: TestRepo, on_path: Path) -> None:
    """With the client there, it installs the plugin, at the level of this repository and machine, and no hook twice."""
    repo.commit({"a.txt": "a\n"})
    before = files(repo.path)
    report = init(repo.path, plugin=None)
    assert "the plugin git-cortex" in report.lines[3]
    assert "hooks" not in _settings(repo)
    assert str(ROOT) == claude.installed_root(env_at(repo.path))
    assert [] == problems(repo.path)
    assert "?? .cortex/" == repo.git("status", "--short")
    first = files(repo.path)
    init(repo.path, plugin=None)
    assert first == files(repo.path)
    uninstall(repo.path)
    repo.git("config", "--unset", "cortex.cloneOf")
    assert before == files(repo.path)


def test_other_repositories_keep_the_plugin(repo: TestRepo, on_path: Path, tmp_path: Path) -> None:
    """The client drops a plugin from all repositories together with its marketplace, so that goes with the last one."""
    other = TestRepo.make(tmp_path / "other")
    init(repo.path, plugin=None)
    init(other.path, plugin=None)
    uninstall(repo.path)
    assert [] == problems(other.path)
    assert not (repo.path / ".claude").exists()
    uninstall(other.path)
    assert claude.installed_root(env_at(other.path)) is None


def test_settings_when_the_client_cannot_install(
    repo: TestRepo, on_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that is too old for it leaves us with hooks in the settings, unless the plugin was insisted on."""
    monkeypatch.setenv("FAILS", "1")
    assert f"hooks in {SETTINGS}" in init(repo.path, plugin=None).lines[3]
    assert [] == problems(repo.path)
    with pytest.raises(CortexError, match="unknown option"):
        init(repo.path, plugin=True)


def test_never_both(repo: TestRepo, on_path: Path) -> None:
    """Going from one way to the other takes the first one out, and both at once are noticed."""
    init(repo.path, plugin=False)
    init(repo.path, plugin=True)
    assert "hooks" not in _settings(repo)
    assert [] == problems(repo.path)
    both = settings.with_hooks(_settings(repo), settings.wanted(str(repo.path / ".git" / "cortex")))
    repo.write({SETTINGS: json.dumps(both)})
    assert ["Claude Code has our hooks twice, as plugin and in its settings; run `git cortex init`"] == problems(
        repo.path
    )
    init(repo.path, plugin=False)
    assert {"hooks"} == set(_settings(repo))
    assert [] == problems(repo.path)


def test_a_plugin_of_the_users_own_is_enough(repo: TestRepo, home: Path) -> None:
    """Where the user has the plugin for all repositories, nothing is added to the settings of this one."""
    plugins = home / ".claude" / "plugins"
    plugins.mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text(json.dumps({"enabledPlugins": {PLUGIN: True}}))
    (plugins / "known_marketplaces.json").write_text(json.dumps({MARKETPLACE: {"installLocation": str(ROOT)}}))
    for plugin in (None, False):
        init(repo.path, plugin=plugin)
        assert not (repo.path / SETTINGS).exists()
        assert [] == problems(repo.path)
    (plugins / "known_marketplaces.json").write_text(json.dumps({MARKETPLACE: {"installLocation": "/gone"}}))
    assert ["the Claude Code plugin is gone from /gone; run `git cortex init`"] == problems(repo.path)


def test_the_plugin_from_a_linked_worktree(repo: TestRepo, on_path: Path, tmp_path: Path) -> None:
    """The client looks in the main work tree, wherever it is started; so that is where the plugin is installed."""
    repo.commit({"a.txt": "a\n"})
    repo.git("worktree", "add", "--quiet", str(tmp_path / "tree"))
    init(tmp_path / "tree", plugin=None)
    assert {PLUGIN: True} == _settings(repo)["enabledPlugins"]
    assert not (tmp_path / "tree" / SETTINGS).exists()


@pytest.mark.slow
def test_the_real_client_runs_every_hook_once(
    client: Path, repo: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client itself installs the plugin, lists it with its hooks, and takes it out again to the byte."""
    repo.commit({"a.txt": "a\n"})
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(client)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    for name in ("DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "IS_SANDBOX"):
        monkeypatch.setenv(name, "1")
    before = files(repo.path)
    other = TestRepo.make(tmp_path / "other")
    init(other.path, plugin=True)
    init(repo.path, plugin=True)
    listed = subprocess.run([client, "plugin", "list", "--json"], cwd=repo.path, capture_output=True, check=True)
    paths = {entry.get("projectPath") for entry in json.loads(listed.stdout) if entry["id"] == PLUGIN}
    assert {os.path.realpath(repo.path), os.path.realpath(other.path)} == paths
    assert [] == problems(repo.path) == problems(other.path)
    uninstall(repo.path)
    repo.git("config", "--unset", "cortex.cloneOf")
    assert before == files(repo.path)
    assert [] == problems(other.path)
