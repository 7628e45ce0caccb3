"""git's hooks where they are hard to get right: folders elsewhere, scripts in other languages.

The cases are those of docs/cases.md; hook managers have a file of their own.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from conftest import TestRepo
from hook_managers import Place, lines_to_add, obey, reads_settings
from setting_up import files, init, problems, repo_at, runs, stand_in, uninstall

from cortex_git.setup import githooks, glance, program

DECIDED = "Use SQLite"


def inactive(repo: TestRepo) -> str:
    """What each command says about hooks that do not run."""
    return glance.inactive_hooks(repo_at(repo.path))


def hook(path: Path, text: str | bytes, mode: int = 0o755) -> Path:
    """Write a hook file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def recorded(repo: TestRepo) -> bool:
    """Whether a commit takes along what was decided just before, and is tied to it."""
    repo.run("decide", DECIDED, "--reason", f"number {repo.commits}")
    repo.commit({f"{repo.commits}.txt": "x\n"})
    return ".cortex/decisions/" in repo.git("show", "--name-only", "--format=", "HEAD")


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository with a memory and a commit that holds `.cortex/`."""
    init(repo.path)
    repo.git("add", ".cortex")
    repo.commit({"a.txt": "a\n"})
    return repo


# ---- folders elsewhere


@pytest.mark.parametrize("folder", [".husky/_", "hooks here", "/absolute", ".git/other"])
def test_hooks_elsewhere_are_run_or_reported(folder: str, repo: TestRepo, tmp_path: Path) -> None:
    """With `core.hooksPath` anywhere, hooks run, or `init`, `doctor` and every command say what to add."""
    path = tmp_path / "absolute" if folder == "/absolute" else repo.path / folder
    path.mkdir(parents=True)
    repo.git("config", "core.hooksPath", str(path) if folder == "/absolute" else folder)
    report = init(repo.path)
    if reads_settings(repo):
        assert recorded(repo)
        return
    assert "core.hooksPath is" in report.attention[0]
    assert "inactive" in inactive(repo) and [] == os.listdir(path)
    for text in lines_to_add(repo.run("doctor", check=False).out):
        obey(Place(repo), text)
    if folder != ".husky/_":  # husky's own files are what calls those beside its folder
        assert "" == inactive(repo)
        assert recorded(repo)


@pytest.mark.parametrize("scope", ["global", "system"])
def test_a_folder_for_all_repositories_stays_untouched(
    scope: str, ready: TestRepo, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of ours gets into a global or system-wide hooks folder, another repository sees nothing, we say so."""
    gate = hook(home / "hooks" / "pre-commit", "#!/bin/sh\necho gate >> ../gate\n")
    text = f'[core]\n\thooksPath = "{home}/hooks"\n'
    config = home / "config"
    config.write_text(text + Path(os.environ["GIT_CONFIG_GLOBAL"]).read_text() if scope == "global" else text)
    if scope == "system":
        monkeypatch.delenv("GIT_CONFIG_NOSYSTEM")
    monkeypatch.setenv(f"GIT_CONFIG_{scope.upper()}", str(config))
    before = files(home)
    init(ready.path)
    other = TestRepo.make(tmp_path / "other")
    other.commit({"a.txt": "a\n"})
    ready.commit({"b.txt": "b\n"})
    assert before == files(home)
    assert "gate\ngate\n" == (gate.parent.parent.parent / "gate").read_text()
    assert not (other.path / ".git" / "cortex").exists()
    assert reads_settings(ready) or str(home / "hooks") in inactive(ready)


def test_a_teams_folder_keeps_all_its_hooks(repo: TestRepo) -> None:
    """`core.hooksPath` is never set or changed, so every hook file of a team's folder still runs, ours or not."""
    for name in ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit"):
        hook(repo.path / ".githooks" / name, f"#!/bin/sh\necho {name} >> ran\n")
    repo.git("config", "core.hooksPath", ".githooks")
    init(repo.path)
    assert ".githooks" == repo.git("config", "core.hooksPath")
    repo.commit({"a.txt": "a\n"})
    assert ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"] == repo.read("ran").split()


def test_init_sets_no_hooks_path(ready: TestRepo) -> None:
    """Managers refuse to install where `core.hooksPath` is set, so it is not."""
    assert "" == ready.git("config", "core.hooksPath", check=False)


@pytest.mark.parametrize("value", ["", "/dev/null", "/nowhere"])
def test_a_hooks_path_that_leads_nowhere_is_named(value: str, ready: TestRepo) -> None:
    """git runs no hook then and says nothing; we say so, and that no lines can help."""
    ready.git("config", "core.hooksPath", value)
    if reads_settings(ready):
        assert recorded(ready)
        return
    assert f"core.hooksPath is {value or 'empty'}, a folder that is not there" in inactive(ready)
    assert "Make core.hooksPath name the folder that is meant" in ready.run("doctor", check=False).out


def test_a_moved_clone_keeps_its_hooks(ready: TestRepo) -> None:
    """Nothing that is installed names the place of the clone."""
    moved = TestRepo(ready.path.parent / "moved")
    ready.path.rename(moved.path)
    assert recorded(moved)
    assert "" == inactive(moved)


def test_a_stranded_absolute_path_is_named(ready: TestRepo) -> None:
    """An absolute `core.hooksPath` that a move has left behind is named by every command."""
    hook(ready.path / ".githooks" / "pre-commit", "#!/bin/sh\n")
    ready.git("config", "core.hooksPath", str(ready.path / ".githooks"))
    moved = TestRepo(ready.path.parent / "moved")
    ready.path.rename(moved.path)
    assert reads_settings(moved) or "a folder that is not there" in inactive(moved)


@pytest.mark.parametrize("where", ["before", "in it"])
def test_a_linked_work_tree_has_its_hooks(where: str, ready: TestRepo, tmp_path: Path) -> None:
    """Whether `init` ran before the work tree was made, or in it, the common hooks folder is the one that counts."""
    if where == "in it":
        uninstall(ready.path)
    tree = TestRepo(tmp_path / "tree")
    ready.git("worktree", "add", "--quiet", "-b", "w", str(tree.path))
    if where == "in it":
        init(tree.path)
    assert recorded(tree)
    assert "" == inactive(tree)
    assert not list((ready.path / ".git" / "worktrees").glob("*/hooks"))
    assert "" == tree.git("status", "--short")


def test_a_hooks_folder_that_is_a_link_is_not_followed(repo: TestRepo) -> None:
    """Where git's folder is a link, the files are somebody's: nothing is written, and the message names the link."""
    folder = repo.path / "scripts"
    folder.mkdir()
    hooks = repo.path / ".git" / "hooks"
    shutil.rmtree(hooks, ignore_errors=True)
    hooks.symlink_to("../scripts")
    report = init(repo.path)
    assert [] == os.listdir(folder)
    assert reads_settings(repo) or f"{hooks} is a link to {folder}" in report.attention[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
def test_a_hooks_folder_without_permission_stops_nothing_else(repo: TestRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that cannot be written is said to be so, with the lines, and no error ends the rest."""
    githooks.install(repo_at(repo.path))  # what is loaded later could not be read by another user
    githooks.uninstall(repo_at(repo.path))
    hook(repo.path / ".git" / "hooks" / "pre-commit", "#!/bin/sh\n")
    modern = reads_settings(repo)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for path in [repo.path.parent, *repo.path.parent.parents][:4]:
        if len(path.parts) > 2:
            path.chmod(path.stat().st_mode | 0o055)
    for path in [repo.path, *repo.path.rglob("*")]:
        os.chown(path, 65534, 65534, follow_symlinks=False)
    (repo.path / ".git" / "hooks").chmod(0o555)
    os.setresuid(65534, 65534, 0)
    try:
        hooks = githooks.install(repo_at(repo.path))
        texts = githooks.advice(repo_at(repo.path), hooks)
    finally:
        os.setresuid(0, 0, 0)
    assert modern or "hooks cannot be written to" in texts[0]
    assert modern or ".git/hooks/pre-commit" in texts[0]


def test_hooks_from_a_template_are_edited_in_the_copy(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `git init` copied from a template is this repository's own; the template, and links into it, stay."""
    template = tmp_path / "template" / "hooks"
    hook(template / "pre-commit", "#!/bin/sh\necho template >> ran\n")
    hook(tmp_path / "shared", "#!/bin/sh\n")
    (template / "post-commit").symlink_to(tmp_path / "shared")
    before = files(template.parent)
    repo = TestRepo.make(tmp_path / "repo", f"--template={template.parent}")
    report = init(repo.path)
    assert before == files(template.parent)
    assert "#!/bin/sh\n" == (tmp_path / "shared").read_text()
    assert reads_settings(repo) or "post-commit is a link to" in "".join(report.attention)
    assert recorded(repo)
    assert "template\n" == repo.read("ran")


# ---- scripts of all kinds

KINDS = {
    "python": "#!/usr/bin/env python3\nopen('ran', 'a').write('x')\n",
    "node": "#!/usr/bin/env node\nrequire('fs').appendFileSync('ran', 'x')\n",
    "perl": "#!/usr/bin/perl\nopen(F, '>>ran'); print F 'x';\n",
    "sh": "#!/bin/sh\nprintf x >> ran\n",
    "sh without a last line end": "#!/bin/sh\nprintf x >> ran",
    "sh -eu": "#!/bin/sh -eu\nprintf x >> ran\n",
    "env bash": "#!/usr/bin/env bash\nprintf x >> ran\n",
    "env -S bash": "#!/usr/bin/env -S bash -euo pipefail\nprintf x >> ran\n",
    "no first line": "printf x >> ran\n",
    "exec": "#!/bin/sh\nexec sh -c 'printf x >> ran'\n",
    "exit": "#!/bin/sh\nprintf x >> ran\nexit 0\n",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_users_hook_of_any_kind_runs_on(kind: str, repo: TestRepo) -> None:
    """The commit goes through and the user's hook has run once; ours too, or the lines to add are shown."""
    words = KINDS[kind].split("\n")[0].removeprefix("#!/usr/bin/").removeprefix("env ").split()
    if kind in ("node", "perl") and not shutil.which(words[0]):
        pytest.skip(f"{kind} is not here")
    path = hook(repo.path / ".git" / "hooks" / "pre-commit", KINDS[kind])
    init(repo.path)
    stand_in(repo)
    repo.commit({"a.txt": "a\n"})
    assert "x" == repo.read("ran")
    ours = "pre-commit" in dict(runs(repo))
    assert ours == (inactive(repo) == "")
    assert ours or KINDS[kind] == path.read_text()
    assert ours or "pre-commit" in "".join(lines_to_add(repo.run("doctor", check=False).out))
    uninstall(repo.path)
    assert KINDS[kind] == path.read_text()


def test_lines_that_were_added_are_not_doubled(repo: TestRepo, tmp_path: Path) -> None:
    """Whoever has our lines in a hook that we do not edit gets no second call from anywhere, after any `init`."""
    line = 'h="$(git rev-parse --git-common-dir)/cortex/git-hooks/pre-commit"; [ ! -x "$h" ] || "$h" "$@"'
    hook(repo.path / ".git" / "hooks" / "pre-commit", f"echo mine >> ran\n{line}\n")
    for _ in range(2):
        init(repo.path)
        stand_in(repo)
        repo.commit({f"{repo.commits}.txt": "a\n"})
        assert 1 == [event for event, _ in runs(repo)].count("pre-commit")
    assert "" == inactive(repo)


# ---- what is not there


def test_a_branch_that_has_not_adopted_it_gets_no_files(ready: TestRepo) -> None:
    """On an orphan branch without `.cortex/` a commit succeeds and adds nothing of ours."""
    ready.git("switch", "-q", "--orphan", "site")
    ready.run("decide", DECIDED)
    ready.commit({"index.html": "x\n"})
    assert "index.html" == ready.git("ls-tree", "-r", "--name-only", "HEAD")
    assert "" == ready.git("status", "--short")


def test_settings_are_read_by_the_git_that_is_used(ready: TestRepo) -> None:
    """Hooks that a newer git keeps as settings are nothing to an older one: each git is asked what it is."""
    uninstall(ready.path)
    for event in program.EVENTS:
        ready.git("config", f"hook.cortex-{event}.command", "true")
        ready.git("config", f"hook.cortex-{event}.event", event)
    (ready.path / ".git" / "cortex").mkdir(exist_ok=True)
    assert reads_settings(ready) or "inactive" in inactive(ready)
    init(ready.path)
    assert ("", []) == (inactive(ready), problems(ready.path))
    in_files = (ready.path / ".git" / "hooks" / "pre-commit").exists()
    in_settings = "" != ready.git("config", "hook.cortex-pre-commit.event", check=False)
    assert (in_settings, in_files) == (reads_settings(ready), not reads_settings(ready))


def test_no_hook_for_single_refs(ready: TestRepo) -> None:
    """There is no `reference-transaction` hook: git runs it for every ref of every fetch."""
    assert "reference-transaction" not in program.EVENTS
    assert not (ready.path / ".git" / "hooks" / "reference-transaction").exists()
