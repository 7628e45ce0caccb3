"""`init` and `uninstall` as a whole: what they put into a repository works, and all of it comes out again."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import formats
import pytest
from conftest import TestRepo
from setting_up import SETTINGS, files, init, problems, repo_at, runs, stand_in, uninstall

from cortex_git.errors import CortexError
from cortex_git.setup import clone, exclude, glance, manpage, program, rules

# ---- a repository as a whole


def test_init_says_in_five_lines_what_it_did(repo: TestRepo) -> None:
    """The report has five lines, the last of which says how to undo it, and nothing is left to do."""
    report = init(repo.path)
    assert (5, []) == (len(report.lines), report.attention)
    assert "git cortex uninstall" in report.lines[-1]
    assert [] == problems(repo.path)
    assert "" == glance.inactive_hooks(repo_at(repo.path))


def test_init_leaves_the_work_tree_clean_but_for_its_folder(repo: TestRepo) -> None:
    """git sees the new `.cortex/`, which is for the user to commit, and nothing else; no .gitignore is touched."""
    repo.commit({"a.txt": "a\n"})
    init(repo.path)
    assert "?? .cortex/" == repo.git("status", "--short")
    assert not (repo.path / ".gitignore").exists()


def test_init_twice_changes_nothing(repo: TestRepo) -> None:
    """A second `init` leaves every file as the first one made it."""
    init(repo.path)
    before = files(repo.path)
    init(repo.path)
    assert before == files(repo.path)


def test_uninstall_undoes_init_to_the_byte(repo: TestRepo) -> None:
    """After `uninstall` the repository is what it was, but for the id that keeps the memory this clone's own."""
    repo.commit({"a.txt": "a\n"})
    before = files(repo.path)
    init(repo.path)
    report = uninstall(repo.path)
    repo.git("config", "--unset", clone.OWNER)
    assert before == files(repo.path)
    assert 2 == len(report.lines)


def test_uninstall_keeps_what_was_committed_and_the_clone_id(repo: TestRepo) -> None:
    """The committed folder and the notes refs stay, and a later `init` goes on as the same clone."""
    init(repo.path)
    repo.git("add", ".cortex")
    head = repo.commit()
    repo.git("update-ref", "refs/notes/cortex/aaaaaaaaaaaa/11111111", head)
    before = repo.git("config", clone.ID)
    report = uninstall(repo.path)
    assert "" == repo.git("status", "--short")
    assert head == repo.git("rev-parse", "refs/notes/cortex/aaaaaaaaaaaa/11111111")
    assert ".cortex/ belongs to the project's files" in report.attention[0]
    assert not repo_at(repo.path).initialised
    init(repo.path)
    assert before == repo.git("config", clone.ID)


def test_uninstall_can_forget(repo: TestRepo) -> None:
    """Asked to forget, it deletes the refs and every setting of ours, and no one else's."""
    init(repo.path)
    head = repo.commit({"a.txt": "a\n"})
    for ref in ("notes/cortex/aaaaaaaaaaaa/11111111", "notes/cortex-local/aaaaaaaaaaaa/11111111", "notes/commits"):
        repo.git("update-ref", f"refs/{ref}", head)
    repo.git("config", "branch.a.b.cortexKey", "aaaaaaaaaaaa a.b")
    uninstall(repo.path, forget=True)
    assert "refs/notes/commits" == repo.git("for-each-ref", "--format=%(refname)", "refs/notes", "refs/cortex")
    assert "cortex" not in repo.git("config", "--local", "--list")
    assert "kept: nothing, this clone has no memory in its refs" == uninstall(repo.path).lines[1]


def test_uninstall_where_nothing_is(repo: TestRepo) -> None:
    """Without an `init` there is nothing to undo, and that is no error."""
    before = files(repo.path)
    assert "nothing" in uninstall(repo.path).lines[0]
    assert before == files(repo.path)


def test_init_from_a_subdirectory_before_the_first_commit(repo: TestRepo) -> None:
    """Anywhere in an unborn repository does."""
    folder = repo.path / "a" / "b"
    folder.mkdir(parents=True)
    init(folder)
    assert (repo.path / ".cortex").is_dir()
    assert [] == problems(repo.path)


def test_init_in_a_linked_worktree(repo: TestRepo, tmp_path: Path) -> None:
    """Hooks, spool and client settings are those of the repository; the folder and the rules are this tree's."""
    repo.commit({"a.txt": "a\n"})
    tree = tmp_path / "tree"
    repo.git("worktree", "add", "--quiet", str(tree))
    before = files(tree)
    init(tree)
    assert formats.reads_hook_settings() or (repo.path / ".git" / "hooks" / "pre-commit").exists()
    assert (repo.path / SETTINGS).exists()
    assert (tree / rules.PATH).exists()
    assert [] == problems(tree)
    assert "?? .cortex/" == repo.git("-C", str(tree), "status", "--short")
    assert "" == repo.git("status", "--short")
    uninstall(tree)
    assert before == files(tree)
    assert not (repo.path / ".claude").exists()


def test_init_in_a_submodule(repo: TestRepo, tmp_path: Path) -> None:
    """A submodule gets its own set-up; the outer repository sees none of it."""
    inner = TestRepo.make(tmp_path / "inner")
    inner.commit({"c.txt": "c\n"})
    repo.git("submodule", "--quiet", "add", str(inner.path), "sub")
    init(repo.path / "sub")
    hook = repo.path / ".git" / "modules" / "sub" / "hooks" / "pre-commit"
    assert formats.reads_hook_settings() or hook.exists()
    assert not (repo.path / ".git" / "cortex").exists()
    assert [] == problems(repo.path / "sub")


def test_init_in_a_bare_repository(repo: TestRepo, tmp_path: Path) -> None:
    """There is nothing to work in, and the error says where to go."""
    hub = TestRepo.make(tmp_path / "hub.git", "--bare")
    before = files(hub.path)
    with pytest.raises(CortexError, match="bare repository; run `git cortex init` in a clone"):
        init(hub.path)
    assert before == files(hub.path)


def test_init_of_an_unknown_agent(repo: TestRepo) -> None:
    """An assistant that we do not know is named, with those that we do."""
    with pytest.raises(CortexError, match="known: claude"):
        init(repo.path, agents=("hal",))


def test_init_without_an_agent(repo: TestRepo) -> None:
    """With no assistant wanted there is no `.claude` folder; an `init` without takes back what one with had put in."""
    init(repo.path, agents=())
    assert not (repo.path / ".claude").exists()
    assert [] == problems(repo.path)
    init(repo.path)
    init(repo.path, agents=())
    assert not (repo.path / rules.PATH).exists()
    assert not json.loads((repo.path / SETTINGS).read_text())


def test_what_cannot_be_written_is_named(repo: TestRepo) -> None:
    """A file in the way of ours is an error that says which."""
    (repo.path / ".git" / "cortex").write_text("in the way\n")
    with pytest.raises(CortexError, match=r"\.git/cortex"):
        init(repo.path)


def test_what_waits_in_the_spool_is_not_thrown_away(repo: TestRepo) -> None:
    """`uninstall` stops before it changes anything if payloads cannot be stored."""
    init(repo.path)
    repo.commit({"a.txt": "a\n"})
    (repo.path / ".git" / "cortex" / "lock").mkdir()
    (repo.path / ".git" / "cortex" / "spool" / "r.1").write_bytes(b"cortex-spool 1\nagent claude\nevent Stop\n\n{}")
    before = files(repo.path)
    with pytest.raises(CortexError):
        uninstall(repo.path)
    assert before == files(repo.path)


# ---- the clone's id


def test_a_copied_repository_becomes_another_clone(repo: TestRepo, tmp_path: Path) -> None:
    """`cp -r` takes the configuration along; the copy is found out and gets an id of its own."""
    init(repo.path)
    original = repo.git("config", clone.ID)
    shutil.copytree(repo.path, tmp_path / "copy", symlinks=True)
    copy = repo_at(tmp_path / "copy")
    assert clone.stale(copy) and not clone.stale(repo_at(repo.path))
    assert original != clone.settle(copy)
    assert original == clone.settle(repo_at(repo.path))


def test_a_moved_repository_stays_the_same_clone(repo: TestRepo, tmp_path: Path) -> None:
    """A move changes nothing: hooks run, and the id stays."""
    init(repo.path)
    before = repo.git("config", clone.ID)
    moved = TestRepo(tmp_path / "moved" / "here")
    moved.path.parent.mkdir()
    repo.path.rename(moved.path)
    assert before == clone.settle(repo_at(moved.path))
    stand_in(moved)
    moved.commit({"a.txt": "a\n"})
    assert ["pre-commit", "post-commit"] == [event for event, _ in runs(moved)]
    init(moved.path)
    assert [] == problems(moved.path)


def test_a_copy_is_undone_alone(repo: TestRepo, tmp_path: Path) -> None:
    """`uninstall` in a copy, or after a move, undoes what is there, and touches nothing where `init` once ran."""
    before = files(repo.path)
    init(repo.path)
    shutil.copytree(repo.path, tmp_path / "copy", symlinks=True)
    original = files(repo.path)
    uninstall(tmp_path / "copy", forget=True)
    assert original == files(repo.path)
    assert set(before) == set(files(tmp_path / "copy"))
    repo.path.rename(tmp_path / "moved")
    uninstall(tmp_path / "moved", forget=True)
    assert before == files(tmp_path / "moved")


# ---- .cortex/


def test_a_teammates_clone_is_picked_up(repo: TestRepo, tmp_path: Path) -> None:
    """Where the folder is committed already, `init` changes nothing in it, not even what the template has besides."""
    init(repo.path)
    repo.git("add", ".cortex")
    repo.git("rm", "--quiet", "--cached", ".cortex/config.toml")
    repo.commit({".cortex/README.md": "Ours\n"})
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "clone"))
    init(tmp_path / "clone")
    clone_ = TestRepo(tmp_path / "clone")
    assert "" == clone_.git("status", "--short")
    assert not (clone_.path / ".cortex" / "config.toml").exists()


def test_only_what_is_missing_is_laid(repo: TestRepo) -> None:
    """A file that is there stays as it is."""
    repo.write({".cortex/README.md": "Mine\n"})
    init(repo.path)
    assert "Mine\n" == repo.read(".cortex/README.md")
    assert (repo.path / ".cortex" / "config.toml").exists()
    uninstall(repo.path)
    assert ["README.md"] == os.listdir(repo.path / ".cortex")


def test_nothing_is_to_be_committed(repo: TestRepo) -> None:
    """Without consent the folder is ignored and says so in its settings; consent takes both back."""
    before = files(repo.path)
    init(repo.path, commit=False)
    assert "" == repo.git("status", "--short")
    assert not repo_at(repo.path).config().projections_commit
    init(repo.path, commit=True)
    assert "?? .cortex/" == repo.git("status", "--short")
    assert repo_at(repo.path).config().projections_commit
    init(repo.path, commit=False)
    uninstall(repo.path, forget=True)
    assert before == files(repo.path)


# ---- the program


def test_the_program_is_brought_up_to_date(repo: TestRepo) -> None:
    """Any command writes down the program that is running, the limit of the spool, and the shims as they are now."""
    init(repo.path)
    home = repo.path / ".git" / "cortex"
    lines = (home / "program").read_text().splitlines()
    assert [sys.executable, str(Path(program.__file__).parent.parent.parent), "64"] == lines
    (home / "program").write_text("/gone/python\n/gone\n")
    (home / "hooks" / "capture").write_text("old\n")
    (home / "git-hooks" / "pre-commit").chmod(0o644)
    assert ["the hooks do not find the program any more; run `git cortex init`"] == problems(repo.path)
    program.refresh(repo_at(repo.path))
    assert lines == (home / "program").read_text().splitlines()
    assert (home / "hooks" / "capture").read_text().startswith("#!/bin/sh")
    assert os.access(home / "git-hooks" / "pre-commit", os.X_OK)


def test_nobody_else_can_look_in(repo: TestRepo) -> None:
    """Our folder is the user's alone."""
    init(repo.path)
    assert 0o700 == (repo.path / ".git" / "cortex").stat().st_mode & 0o777
    assert 0o700 == (repo.path / ".git" / "cortex" / "spool").stat().st_mode & 0o777


# ---- the assistant's rules


def test_rules_teach_and_carry_the_briefing(repo: TestRepo) -> None:
    """The file holds how to mark what matters and, below, the live briefing; it is written only when it changes."""
    init(repo.path)
    assert rules.TEACHING == repo.read(rules.PATH)
    opened = repo_at(repo.path)
    assert rules.write_rules(opened, "## Decisions\n\n- Use SQLite\n")
    assert repo.read(rules.PATH).startswith(rules.TEACHING) and repo.read(rules.PATH).endswith("\n- Use SQLite\n")
    assert not rules.write_rules(opened, "## Decisions\n\n- Use SQLite\n")
    assert rules.carries(opened, "## Decisions\n\n- Use SQLite")
    assert not rules.carries(opened, "## Decisions\n\n- Use Postgres")


def test_rules_are_written_where_they_are_wanted_only(repo: TestRepo, tmp_path: Path) -> None:
    """Not without the assistant, and not through a link that leads out of the work tree."""
    init(repo.path, agents=())
    assert not rules.write_rules(repo_at(repo.path), "text")
    repo.git("config", rules.AGENTS, "claude")
    (tmp_path / "elsewhere").mkdir()
    (repo.path / ".claude").symlink_to(tmp_path / "elsewhere")
    assert not rules.write_rules(repo_at(repo.path), "text")
    assert [] == list((tmp_path / "elsewhere").iterdir())


# ---- ignore lines


@pytest.mark.parametrize("before", [None, b"", b"*.log\n", b"*.log"])
def test_ignore_lines_come_and_go(before: bytes | None, repo: TestRepo) -> None:
    """The user's own lines keep their bytes, and a file that was not there is not there again."""
    path = repo.path / ".git" / "info" / "exclude"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if before is not None:
        path.write_bytes(before)
    common = str(repo.path / ".git")
    assert exclude.put(common, ["/one", "/two"]) and not exclude.put(common, ["/two"])
    assert exclude.put(common, ["/three"], dropped=["/one"])
    assert ["/two", "/three"] == [line for line in path.read_text().splitlines() if line[:1] == "/"]
    assert exclude.take(common)
    assert (before or None) == (path.read_bytes() if path.exists() else None)


# ---- the manual page


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """An installation as `uv tool install` makes it: its folder, and the bin folder that links to its command."""
    prefix, bin = tmp_path / "tools" / "git-cortex", tmp_path / "local" / "bin"
    for path in (prefix / "bin" / "git-cortex", prefix / manpage.PAGE):
        path.parent.mkdir(parents=True)
        path.write_text("")
        path.chmod(0o755)
    bin.mkdir(parents=True)
    (bin / "git-cortex").symlink_to(prefix / "bin" / "git-cortex")
    yield prefix, bin


def test_the_manual_page_is_linked(tool: tuple[Path, Path]) -> None:
    """The page is linked beside the linked command, once, and a link that went stale is replaced."""
    prefix, bin = tool
    target = bin.parent / manpage.PAGE
    assert str(target) == manpage.link({"PATH": str(bin)}, str(prefix))
    assert prefix / manpage.PAGE == target.resolve()
    assert manpage.link({"PATH": str(bin)}, str(prefix)) is None
    target.unlink()
    target.symlink_to("gone")
    assert str(target) == manpage.link({"PATH": str(bin)}, str(prefix))


def test_the_manual_page_is_not_linked_without_need(tool: tuple[Path, Path]) -> None:
    """Not where the command is no link, not where there is no page, and never over a file."""
    prefix, bin = tool
    assert manpage.link({"PATH": str(prefix / "bin")}, str(prefix)) is None
    assert manpage.link({"PATH": "/nowhere"}, str(prefix)) is None
    assert manpage.link({"PATH": str(bin)}, str(bin)) is None
    (bin.parent / "share").write_text("in the way\n")
    assert manpage.link({"PATH": str(bin)}, str(prefix)) is None
