"""Hook managers beside us, in every order of installation: both run, or every command says which lines to add."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, TestRepo
from hook_managers import INSTALL, Place, husky, lefthook, lfs, lines_to_add, obey, reads_settings, simple_git_hooks
from setting_up import files, init, problems, repo_at, runs, stand_in, uninstall

from cortex_git.setup import glance
from cortex_git.setup.program import EVENTS

ORDERS = {
    "ours first": ("ours", "theirs"),
    "theirs first": ("theirs", "ours"),
    "ours, theirs, ours": ("ours", "theirs", "ours"),
    "theirs, ours, theirs": ("theirs", "ours", "theirs"),
}
CHAINED = ("pre-commit", "prek")
"""Managers with which nobody has to add anything, whoever came first."""


@pytest.fixture
def place(repo: TestRepo, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A repository with a commit and a remote, in which managers can be installed."""
    repo.commit({"a.txt": "a\n"})
    TestRepo.make(repo.path.parent / "hub.git", "--bare")
    repo.git("remote", "add", "origin", str(repo.path.parent / "hub.git"))
    made = Place(repo)
    monkeypatch.setenv("PATH", f"{made.bin}{os.pathsep}{os.environ['PATH']}")
    return made


def install(place: Place, manager: str, order: str) -> None:
    """Install both, as often and in the order that is asked for."""
    for who in ORDERS[order]:
        if who == "ours":
            init(place.repo.path)
        else:
            INSTALL[manager](place)


def warning(place: Place) -> str:
    """What a command says on standard error about hooks."""
    return hook_warning(place.repo)


def hook_warning(repo: TestRepo) -> str:
    """The same in any work tree."""
    lines = repo.run("log").err.splitlines()
    return "".join(line for line in lines if line.startswith("git cortex: warning: "))


def exercise(place: Place) -> dict[str, str]:
    """Have git run each hook of ours; returns what the program read at each, if it was started."""
    repo = place.repo
    stand_in(repo)
    runs(repo)
    place.ran()
    repo.commit({"b.txt": "b\n"})
    repo.git("switch", "--quiet", "-c", "topic")
    repo.commit({"c.txt": "c\n"})
    repo.git("switch", "--quiet", "main")
    repo.git("merge", "--quiet", "topic")
    repo.git("push", "--quiet", "origin", "main")
    repo.git("commit", "--quiet", "--amend", "-m", "Another message", variables=repo.dates())
    return dict(runs(repo))


@pytest.mark.parametrize(
    ("manager", "order"),
    [
        pytest.param(manager, order, marks=[pytest.mark.slow] * (len(ORDERS[order]) > 2 or manager == "prek"))
        for manager in INSTALL
        for order in ORDERS
    ],
)
def test_both_run_or_the_lines_to_add_are_shown(manager: str, order: str, place: Place) -> None:
    """In whatever order: what the manager runs goes on; ours run, or each command says so until the lines are added."""
    install(place, manager, order)
    if manager in CHAINED and warning(place):
        assert "`git cortex init` puts them in again" in warning(place)
        init(place.repo.path)
    if warning(place):
        assert "inactive" in warning(place) and "`git cortex doctor` shows the lines to add" in warning(place)
        for text in lines_to_add(place.repo.run("doctor", check=False).out):
            obey(place, text)
    assert "" == warning(place)
    assert [] == problems(place.repo.path)

    seen = exercise(place)
    assert set(EVENTS) == set(seen)
    head = place.repo.git("rev-parse", "HEAD@{1}")
    assert seen["pre-push"].split()[1:] == [head, "refs/heads/main", "0" * 40]
    if manager not in CHAINED:  # they tell a hook that was there before them about pushes alone
        assert head in seen["post-rewrite"]
    theirs = place.ran()
    assert "pre-commit" in theirs or manager == "git-lfs"


@pytest.mark.parametrize("manager", INSTALL)
def test_init_changes_nothing_of_a_managers(manager: str, place: Place) -> None:
    """No file of a manager's, and no setting, is another after `init` or after `uninstall`."""
    INSTALL[manager](place)
    folders = [place.hooks, place.repo.path / ".husky"]
    before = {name: data for folder in folders for name, data in files(folder).items()}
    setting = place.repo.git("config", "core.hooksPath", check=False)
    init(place.repo.path)
    after = {name: data for folder in folders for name, data in files(folder).items()}
    assert before.items() <= after.items()
    assert setting == place.repo.git("config", "core.hooksPath", check=False)
    uninstall(place.repo.path)
    assert before == {name: data for folder in folders for name, data in files(folder).items()}


@pytest.mark.parametrize("manager", ["husky", "lefthook", "simple-git-hooks"])
def test_a_session_is_told_when_a_manager_came_later(manager: str, place: Place) -> None:
    """The hook of a session that starts answers with the warning, for the person to see."""
    init(place.repo.path)
    INSTALL[manager](place)
    drain = place.repo.path / ".git" / "cortex" / "hooks" / "drain"
    payload = json.dumps({"session_id": "s", "source": "startup"}).encode()
    done = subprocess.run([drain, "SessionStart"], cwd=place.repo.path, input=payload, capture_output=True)
    if reads_settings(place.repo):
        assert b"" == done.stdout
        return
    assert "inactive" in json.loads(done.stdout)["systemMessage"]


def test_pre_commit_installed_anew_over_ours(place: Place) -> None:
    """`pre-commit install -f` deletes the hooks that were there before: that is noticed, and `init` mends it."""
    install(place, "pre-commit", "theirs first")
    for path in place.hooks.glob("*.legacy"):
        path.unlink()
    if not reads_settings(place.repo):
        assert "`git cortex init` puts them in again" in warning(place)
    init(place.repo.path)
    assert "" == warning(place)
    assert set(EVENTS) == set(exercise(place))


def test_pre_commit_uninstalled(place: Place) -> None:
    """`pre-commit uninstall` puts the hooks back that were there before, among them ours, and they run on."""
    install(place, "pre-commit", "ours first")
    for event in EVENTS:
        (place.hooks / event).unlink()
        if (place.hooks / f"{event}.legacy").exists():
            (place.hooks / f"{event}.legacy").rename(place.hooks / event)
    assert "" == warning(place)
    assert set(EVENTS) == set(exercise(place))


def test_a_block_behind_exec_would_not_run(place: Place) -> None:
    """The framework's file ends in `exec`, so nothing is put behind it, and `init` again puts in nothing twice."""
    install(place, "pre-commit", "theirs, ours, theirs")
    init(place.repo.path)
    for path in place.hooks.iterdir():
        if path.suffix != ".sample":
            assert path.read_text().count(">>> git-cortex") == (path.suffix == ".legacy")


def test_lefthook_that_writes_its_hooks_anew(place: Place) -> None:
    """A changed configuration makes lefthook write its hooks again: what was added to its settings stays active."""
    install(place, "lefthook", "theirs first")
    for text in lines_to_add(place.repo.run("doctor", check=False).out):
        obey(place, text)
    for event in ("pre-commit", "pre-push"):
        (place.hooks / event).unlink()
    lefthook(place)
    assert "" == warning(place)
    assert set(EVENTS) == set(exercise(place))


def test_husky_in_a_work_tree_that_has_no_folder_of_it(place: Place, tmp_path: Path) -> None:
    """`core.hooksPath` is relative and the folder ignored, so a linked work tree has no hook: that is said there."""
    husky(place)
    init(place.repo.path)
    for text in lines_to_add(place.repo.run("doctor", check=False).out):
        obey(place, text)
    place.repo.git("add", ".husky")
    place.repo.commit()
    tree = TestRepo(tmp_path / "tree")
    place.repo.git("worktree", "add", "--quiet", str(tree.path))
    if reads_settings(place.repo):
        assert "" == hook_warning(tree)
        return
    assert "a folder that is not there" in hook_warning(tree)
    (text,) = lines_to_add(tree.run("doctor", check=False).out)
    assert text.startswith("Run `npx husky` in this work tree") and "Add after" not in text
    shutil.copytree(place.repo.path / ".husky" / "_", tree.path / ".husky" / "_")
    assert "" == hook_warning(tree)


def test_no_hook_of_husky_is_fused_with_ours(place: Place) -> None:
    """Generated files have no last line end: they are never touched, and a commit goes through."""
    husky(place)
    before = files(place.repo.path / ".husky" / "_")
    init(place.repo.path)
    place.repo.commit({"b.txt": "b\n"})
    husky(place)
    assert before == files(place.repo.path / ".husky" / "_")
    assert {"pre-commit", "post-commit"} <= place.ran()


def test_what_simple_git_hooks_deletes_is_named(place: Place) -> None:
    """It deletes every hook that is not in its settings, so all of ours are to be added there."""
    init(place.repo.path)
    simple_git_hooks(place)
    if reads_settings(place.repo):
        assert "" == warning(place)
        return
    texts = lines_to_add(place.repo.run("doctor", check=False).out)
    assert set(EVENTS) == {event for event in EVENTS for text in texts if f'"{event}":' in text}


def test_settings_that_nobody_applied_do_not_count(place: Place) -> None:
    """simple-git-hooks reads its settings when it is installed: before that the hooks are still inactive."""
    init(place.repo.path)
    simple_git_hooks(place)
    path = place.repo.path / "package.json"
    path.write_text(json.dumps({"simple-git-hooks": {event: f".git/cortex/git-hooks/{event}" for event in EVENTS}}))
    assert reads_settings(place.repo) or "inactive" in glance.inactive_hooks(repo_at(place.repo.path))


# ---- git-lfs


def test_git_lfs_that_comes_later_sends_its_objects(place: Place) -> None:
    """git-lfs puts its hooks beside no other and says nothing: ours call it, and what it refuses fails the push."""
    if reads_settings(place.repo):
        pytest.skip("this git runs our hooks without files, so git-lfs finds its places free")
    init(place.repo.path)
    (place.repo.path / ".git" / "lfs").mkdir()
    place.hook(place.bin / "git-lfs", f'#!/bin/sh\necho "$@ $(cat)" >> {place.mark}\nexit 7\n')
    stand_in(place.repo)
    commit = place.repo.commit({"b.txt": "b\n"})
    with pytest.raises(AssertionError, match="exit status 1"):
        place.repo.git("push", "--quiet", "origin", "main")
    called = place.mark.read_text()
    assert "post-commit" in called
    assert f"pre-push origin {place.repo.path.parent / 'hub.git'} refs/heads/main {commit}" in called
    assert set(dict(runs(place.repo))) == {"pre-commit", "post-commit", "pre-push"}


@pytest.mark.skipif(not shutil.which("git-lfs"), reason="git-lfs is not here")
@pytest.mark.parametrize("order", ["ours first", "theirs first"])
def test_the_real_git_lfs_sends_its_objects(order: str, place: Place) -> None:
    """With the real program, whoever came first, its objects arrive, its update is as before, and our hooks run."""
    repo = place.repo
    for key, value in (("clean", "git-lfs clean -- %f"), ("smudge", "git-lfs smudge -- %f"), ("required", "true")):
        repo.git("config", f"filter.lfs.{key}", value)
    if order == "theirs first":
        repo.git("lfs", "install", "--local")
    (hook,) = [place.hooks / "pre-push"]
    before = hook.read_bytes() if hook.exists() else b""
    init(repo.path)
    for text in lines_to_add(repo.run("doctor", check=False).out):
        obey(place, text)
    repo.commit({".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.bin": b"\0" * 1000})
    repo.run("decide", "Use SQLite")
    repo.git("push", "--quiet", "origin", "main")
    assert list((repo.path.parent / "hub.git" / "lfs").rglob("*")), "the objects did not arrive"
    assert "" == warning(place)
    repo.git("lfs", "update", "--manual")
    uninstall(repo.path)
    assert not before or hook.read_bytes().endswith(before.partition(b"\n")[2])


def test_uninstall_lets_git_lfs_in_again(place: Place) -> None:
    """Where our hooks called git-lfs, it is asked to put its own there once they are gone."""
    init(place.repo.path)
    (place.repo.path / ".git" / "lfs").mkdir()
    place.hook(place.bin / "git-lfs", f'#!/bin/sh\necho "$@" >> {place.mark}\n')
    uninstall(place.repo.path)
    assert reads_settings(place.repo) or {"update"} <= place.ran()


def test_a_line_for_git_lfs_that_the_user_has_added_is_enough(place: Place) -> None:
    """Who has put git-lfs's line into our file is not given a second one."""
    init(place.repo.path)
    path = place.hooks / "pre-push"
    if path.exists():
        path.write_text(path.read_text() + 'git lfs pre-push "$@"\n')
        init(place.repo.path)
        assert 1 == path.read_text().count("git lfs pre-push")


def test_the_managers_of_this_file_are_known() -> None:
    """Each manager that we know has its row in the table of managers for people."""
    text = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    assert [] == [manager for manager in INSTALL if f"| {manager}" not in text]


def test_lfs_stands_for_the_real_one(place: Place) -> None:
    """The stand-in writes what is recognised as git-lfs's own file."""
    lfs(place)
    (text,) = {finding for finding in init(place.repo.path).attention if "git-lfs" in finding} or {""}
    assert reads_settings(place.repo) or "git-lfs owns the hook" in text
