"""`init` and `uninstall`: what they put into a repository, that it works, and that all of it comes out again."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import TestRepo

from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.setup import clone, exclude, health, manpage, program, rules
from cortex_git.setup.install import Report, init, uninstall
from cortex_git.store.repo import Repo

SETTINGS = ".claude/settings.local.json"
SETTINGS_HOOKS = {
    "SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "PreCompact",
    "SessionEnd",
}  # fmt: skip


def _env(cwd: Path, **variables: str) -> Env:
    streams = [io.TextIOWrapper(io.BytesIO()) for _ in range(2)]
    return Env({**os.environ, **variables}, str(cwd), time.time, io.BytesIO(), *streams)


def _repo(path: Path) -> Repo:
    found = Repo.discover(str(path), {})
    assert found is not None
    return found


def _init(path: Path, **options: Any) -> Report:
    """Run `init` there without a client, as a fresh process would see the repository."""
    options.setdefault("plugin", False)
    return init(_repo(path), _env(path), **options)


def _uninstall(path: Path, **options: Any) -> Report:
    return uninstall(_repo(path), _env(path), **options)


def _problems(path: Path) -> list[str]:
    return [finding.message for finding in health.check(_repo(path), _env(path))]


def _files(folder: Path) -> dict[str, bytes | str]:
    """Everything under a folder but git's objects: content and mode of files, targets of links, folders."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if ".git/objects" in name:
            continue
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = "folder" if path.is_dir() else path.read_bytes() + b"%o" % path.stat().st_mode
    return found


# ---- a repository as a whole


def test_init_says_in_five_lines_what_it_did(repo: TestRepo) -> None:
    """The report has five lines, the last of which says how to undo it, and nothing is left to do."""
    report = _init(repo.path)
    assert (5, []) == (len(report.lines), report.attention)
    assert "git cortex uninstall" in report.lines[-1]
    assert [] == _problems(repo.path)
    assert "" == health.inactive_hooks(_repo(repo.path))


def test_init_leaves_the_work_tree_clean_but_for_its_folder(repo: TestRepo) -> None:
    """git sees the new `.cortex/`, which is for the user to commit, and nothing else; no .gitignore is touched."""
    repo.commit({"a.txt": "a\n"})
    _init(repo.path)
    assert "?? .cortex/" == repo.git("status", "--short")
    assert not (repo.path / ".gitignore").exists()


def test_init_twice_changes_nothing(repo: TestRepo) -> None:
    """A second `init` leaves every file as the first one made it."""
    _init(repo.path)
    before = _files(repo.path)
    _init(repo.path)
    assert before == _files(repo.path)


def test_uninstall_undoes_init_to_the_byte(repo: TestRepo) -> None:
    """After `uninstall` the repository is what it was, but for the id that keeps the memory this clone's own."""
    repo.commit({"a.txt": "a\n"})
    before = _files(repo.path)
    _init(repo.path)
    report = _uninstall(repo.path)
    repo.git("config", "--unset", clone.OWNER)
    assert before == _files(repo.path)
    assert 2 == len(report.lines)


def test_uninstall_keeps_what_was_committed_and_the_clone_id(repo: TestRepo) -> None:
    """The committed folder and the notes refs stay, and a later `init` goes on as the same clone."""
    _init(repo.path)
    repo.git("add", ".cortex")
    head = repo.commit()
    repo.git("update-ref", "refs/notes/cortex/aaaaaaaaaaaa/11111111", head)
    before = repo.git("config", clone.ID)
    report = _uninstall(repo.path)
    assert "" == repo.git("status", "--short")
    assert head == repo.git("rev-parse", "refs/notes/cortex/aaaaaaaaaaaa/11111111")
    assert "git rm -r .cortex" in report.attention[0]
    assert not _repo(repo.path).initialised
    _init(repo.path)
    assert before == repo.git("config", clone.ID)


def test_uninstall_can_forget(repo: TestRepo) -> None:
    """Asked to forget, it deletes the refs and every setting of ours, and no one else's."""
    _init(repo.path)
    head = repo.commit({"a.txt": "a\n"})
    for ref in ("notes/cortex/aaaaaaaaaaaa/11111111", "notes/cortex-local/aaaaaaaaaaaa/11111111", "notes/commits"):
        repo.git("update-ref", f"refs/{ref}", head)
    repo.git("config", "branch.a.b.cortexKey", "aaaaaaaaaaaa a.b")
    _uninstall(repo.path, forget=True)
    assert "refs/notes/commits" == repo.git("for-each-ref", "--format=%(refname)", "refs/notes", "refs/cortex")
    assert "cortex" not in repo.git("config", "--local", "--list")


def test_uninstall_where_nothing_is(repo: TestRepo) -> None:
    """Without an `init` there is nothing to undo, and that is no error."""
    before = _files(repo.path)
    assert "nothing" in _uninstall(repo.path).lines[0]
    assert before == _files(repo.path)


def test_init_from_a_subdirectory_before_the_first_commit(repo: TestRepo) -> None:
    """Anywhere in an unborn repository does."""
    folder = repo.path / "a" / "b"
    folder.mkdir(parents=True)
    init(_repo(folder), _env(folder), plugin=False)
    assert (repo.path / ".cortex").is_dir()
    assert [] == _problems(repo.path)


def test_init_in_a_linked_worktree(repo: TestRepo, tmp_path: Path) -> None:
    """Hooks, spool and client settings are those of the repository; the folder and the rules are this tree's."""
    repo.commit({"a.txt": "a\n"})
    tree = tmp_path / "tree"
    repo.git("worktree", "add", "--quiet", str(tree))
    before = _files(tree)
    _init(tree)
    assert (repo.path / ".git" / "hooks" / "pre-commit").exists()
    assert (repo.path / SETTINGS).exists()
    assert (tree / rules.PATH).exists()
    assert [] == _problems(tree)
    assert "?? .cortex/" == repo.git("-C", str(tree), "status", "--short")
    assert "" == repo.git("status", "--short")
    _uninstall(tree)
    assert before == _files(tree)
    assert not (repo.path / ".claude").exists()


def test_init_in_a_submodule(repo: TestRepo, tmp_path: Path) -> None:
    """A submodule gets its own set-up; the outer repository sees none of it."""
    inner = TestRepo.make(tmp_path / "inner")
    inner.commit({"c.txt": "c\n"})
    repo.git("submodule", "--quiet", "add", str(inner.path), "sub")
    _init(repo.path / "sub")
    assert (repo.path / ".git" / "modules" / "sub" / "hooks" / "pre-commit").exists()
    assert not (repo.path / ".git" / "cortex").exists()
    assert [] == _problems(repo.path / "sub")


def test_init_in_a_bare_repository(repo: TestRepo, tmp_path: Path) -> None:
    """There is nothing to work in, and the error says where to go."""
    hub = TestRepo.make(tmp_path / "hub.git", "--bare")
    before = _files(hub.path)
    with pytest.raises(CortexError, match="bare repository; run `git cortex init` in a clone"):
        _init(hub.path)
    assert before == _files(hub.path)


def test_init_of_an_unknown_agent(repo: TestRepo) -> None:
    """An assistant that we do not know is named, with those that we do."""
    with pytest.raises(CortexError, match="known: claude"):
        _init(repo.path, agents=("hal",))


def test_init_without_an_agent(repo: TestRepo) -> None:
    """With no assistant wanted there is no `.claude` folder, and a later `init` with one is taken back by one without."""
    _init(repo.path, agents=())
    assert not (repo.path / ".claude").exists()
    assert [] == _problems(repo.path)
    _init(repo.path)
    _init(repo.path, agents=())
    assert not (repo.path / rules.PATH).exists()
    assert not json.loads((repo.path / SETTINGS).read_text())


def test_what_cannot_be_written_is_named(repo: TestRepo) -> None:
    """A file in the way of ours is an error that says which."""
    (repo.path / ".git" / "cortex").write_text("in the way\n")
    with pytest.raises(CortexError, match=r"\.git/cortex"):
        _init(repo.path)


def test_what_waits_in_the_spool_is_not_thrown_away(repo: TestRepo) -> None:
    """`uninstall` stops before it changes anything if payloads cannot be stored."""
    _init(repo.path)
    repo.commit({"a.txt": "a\n"})
    (repo.path / ".git" / "cortex" / "lock").mkdir()
    (repo.path / ".git" / "cortex" / "spool" / "r.1").write_bytes(b"cortex-spool 1\nagent claude\nevent Stop\n\n{}")
    before = _files(repo.path)
    with pytest.raises(CortexError):
        _uninstall(repo.path)
    assert before == _files(repo.path)


# ---- the clone's id


def test_a_copied_repository_becomes_another_clone(repo: TestRepo, tmp_path: Path) -> None:
    """`cp -r` takes the configuration along; the copy is found out and gets an id of its own."""
    _init(repo.path)
    original = repo.git("config", clone.ID)
    shutil.copytree(repo.path, tmp_path / "copy", symlinks=True)
    copy = _repo(tmp_path / "copy")
    assert clone.stale(copy) and not clone.stale(_repo(repo.path))
    assert original != clone.settle(copy)
    assert original == clone.settle(_repo(repo.path))


def test_a_moved_repository_stays_the_same_clone(repo: TestRepo, tmp_path: Path) -> None:
    """A move changes nothing: hooks run, and the id stays."""
    _init(repo.path)
    before = repo.git("config", clone.ID)
    moved = TestRepo(tmp_path / "moved" / "here")
    moved.path.parent.mkdir()
    repo.path.rename(moved.path)
    assert before == clone.settle(_repo(moved.path))
    _stand_in(moved)
    moved.commit({"a.txt": "a\n"})
    assert ["pre-commit", "post-commit"] == [event for event, _ in _runs(moved)]
    _init(moved.path)
    assert [] == _problems(moved.path)


# ---- .cortex/


def test_a_teammates_clone_is_picked_up(repo: TestRepo, tmp_path: Path) -> None:
    """Where the folder is committed already, `init` changes nothing in it, not even what the template has besides."""
    _init(repo.path)
    repo.git("add", ".cortex")
    repo.git("rm", "--quiet", "--cached", ".cortex/config.toml")
    repo.commit({".cortex/README.md": "Ours\n"})
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "clone"))
    _init(tmp_path / "clone")
    clone_ = TestRepo(tmp_path / "clone")
    assert "" == clone_.git("status", "--short")
    assert not (clone_.path / ".cortex" / "config.toml").exists()


def test_only_what_is_missing_is_laid(repo: TestRepo) -> None:
    """A file that is there stays as it is."""
    repo.write({".cortex/README.md": "Mine\n"})
    _init(repo.path)
    assert "Mine\n" == repo.read(".cortex/README.md")
    assert (repo.path / ".cortex" / "config.toml").exists()
    _uninstall(repo.path)
    assert ["README.md"] == os.listdir(repo.path / ".cortex")


def test_nothing_is_to_be_committed(repo: TestRepo) -> None:
    """Without consent the folder is ignored and says so in its settings; consent takes both back."""
    before = _files(repo.path)
    _init(repo.path, commit=False)
    assert "" == repo.git("status", "--short")
    assert not _repo(repo.path).config().projections_commit
    _init(repo.path, commit=True)
    assert "?? .cortex/" == repo.git("status", "--short")
    assert _repo(repo.path).config().projections_commit
    _init(repo.path, commit=False)
    _uninstall(repo.path, forget=True)
    assert before == _files(repo.path)


# ---- git hooks


def _stand_in(repo: TestRepo) -> None:
    """Make the shims start a program that notes which hook it is, with what arguments and input."""
    home = repo.path / ".git" / "cortex"
    root = repo.path.parent / "stand-in"
    (root / "cortex_git").mkdir(parents=True, exist_ok=True)
    (root / "cortex_git" / "hookmain.py").write_text(
        f"import sys\nopen({str(home / 'runs')!r}, 'a').write(repr((sys.argv[2], sys.stdin.read())) + '\\n')\n"
    )
    (home / "program").write_text(f"{sys.executable}\n{root}\n")


def _runs(repo: TestRepo) -> list[tuple[str, str]]:
    """Which of our hooks ran since the last call, and what they read."""
    path = repo.path / ".git" / "cortex" / "runs"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [eval(line) for line in lines]


def _hook(repo: TestRepo, name: str, text: str | bytes, mode: int = 0o755) -> Path:
    path = repo.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


@pytest.fixture
def hub(repo: TestRepo) -> TestRepo:
    """A bare repository that `origin` of the repository names."""
    made = TestRepo.make(repo.path.parent / "hub.git", "--bare")
    repo.git("remote", "add", "origin", str(made.path))
    return made


def test_every_hook_runs(repo: TestRepo, hub: TestRepo) -> None:
    """Commit, checkout, merge, amend and push come to the program, with what git tells them."""
    _init(repo.path)
    _stand_in(repo)
    first = repo.commit({"a.txt": "a\n"})
    assert [("pre-commit", ""), ("post-commit", "")] == _runs(repo)
    repo.git("checkout", "--quiet", "-b", "topic")
    assert [("post-checkout", "")] == _runs(repo)
    second = repo.commit({"b.txt": "b\n"})
    repo.git("checkout", "--quiet", "main")
    _runs(repo)
    repo.git("merge", "--quiet", "topic")
    assert [("post-merge", "")] == _runs(repo)
    repo.git("push", "--quiet", "origin", "main")
    assert [("pre-push", f"refs/heads/main {second} refs/heads/main {'0' * 40}\n")] == _runs(repo)
    repo.git("commit", "--quiet", "--amend", "-m", "Another message")
    head = repo.git("rev-parse", "HEAD")
    assert ("post-rewrite", f"{second} {head}\n") == _runs(repo)[-1]
    assert first != second


def test_hooks_run_in_a_linked_worktree(repo: TestRepo, tmp_path: Path) -> None:
    """A worktree that is made later needs nothing of its own."""
    _init(repo.path)
    repo.commit({"a.txt": "a\n"})
    _stand_in(repo)
    tree = TestRepo(tmp_path / "tree")
    repo.git("worktree", "add", "--quiet", str(tree.path))
    tree.commit({"b.txt": "b\n"})
    assert ["post-checkout", "pre-commit", "post-commit"] == [event for event, _ in _runs(repo)]


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/sh -e", "/usr/bin/env bash", "/usr/bin/env -S bash -eu"])
def test_a_users_shell_hook_runs_besides(shell: str, repo: TestRepo, hub: TestRepo) -> None:
    """Our block goes after the first line; the user's script still sees its arguments and its whole input."""
    script = f'#!{shell}\nprintf "%s|" "$@" > "$PWD/mine"\ncat >> "$PWD/mine"'
    path = _hook(repo, ".git/hooks/pre-push", script, 0o750)
    _init(repo.path)
    _stand_in(repo)
    commit = repo.commit({"a.txt": "a\n"})
    _runs(repo)
    repo.git("push", "--quiet", "origin", "main")
    told = f"refs/heads/main {commit} refs/heads/main {'0' * 40}\n"
    assert [("pre-push", told)] == _runs(repo)
    assert f"origin|{hub.path}|{told}" == repo.read("mine")
    repo.git("push", "--quiet", "origin", "main")
    assert [("pre-push", "")] == _runs(repo)
    assert f"origin|{hub.path}|" == repo.read("mine")
    assert path.read_text().startswith(f"#!{shell}\n# >>> git-cortex")
    _uninstall(repo.path)
    assert (script, 0o750) == (path.read_text(), path.stat().st_mode & 0o777)


def test_a_users_failing_hook_still_fails(repo: TestRepo) -> None:
    """A gate of the team stays a gate, also behind our block."""
    _hook(repo, ".git/hooks/pre-commit", "#!/bin/sh\necho no >&2\nexit 1\n")
    _init(repo.path)
    with pytest.raises(AssertionError, match="no"):
        repo.commit({"a.txt": "a\n"})


def test_a_block_is_brought_up_to_date_in_place(repo: TestRepo) -> None:
    """Lines of an earlier version are replaced where they stand; what the user wrote around them stays."""
    before = "#!/bin/sh\necho before\n# >>> git-cortex (an older remark)\nold line\n# <<< git-cortex\necho after\n"
    path = _hook(repo, ".git/hooks/post-commit", before)
    _init(repo.path)
    text = path.read_text()
    assert text.startswith("#!/bin/sh\necho before\n# >>> git-cortex") and text.endswith("git-cortex\necho after\n")
    assert "old line" not in text and "cortex/git-hooks/post-commit" in text
    _uninstall(repo.path)
    assert "#!/bin/sh\necho before\necho after\n" == path.read_text()


@pytest.mark.parametrize("script", [b"#!/bin/sh", b"#!/bin/sh\n", b"#!/bin/sh\n\n\ntrue", b"#!/bin/bash\n#\xff\ntrue\n"])
def test_a_users_hook_gets_back_its_bytes(script: bytes, repo: TestRepo) -> None:
    """Line ends that are missing, empty lines and odd bytes come back as they were."""
    path = _hook(repo, ".git/hooks/pre-commit", script)
    _init(repo.path)
    assert script != path.read_bytes()
    assert [] == _problems(repo.path)
    _uninstall(repo.path)
    assert script == path.read_bytes()


def test_a_file_of_ours_that_the_user_went_on_with_stays(repo: TestRepo) -> None:
    """Only a file that holds nothing else is removed."""
    _init(repo.path)
    path = repo.path / ".git" / "hooks" / "post-merge"
    path.write_text(path.read_text() + "echo mine\n")
    _uninstall(repo.path)
    assert path.read_text().endswith("echo mine\n") and "cortex/git-hooks" not in path.read_text()
    assert not (repo.path / ".git" / "hooks" / "pre-commit").exists()


UNTOUCHED = {
    "python": (b"#!/usr/bin/env python3\nprint(1)\n", 0o755, "no plain shell script"),
    "binary": (b"\x7fELF\0\0\n", 0o755, "no plain shell script"),
    "no first line": (b"echo hi\n", 0o755, "no plain shell script"),
    "CRLF": (b"#!/bin/sh\r\nexit 0\r\n", 0o755, "no plain shell script"),
    "handed on": (b'#!/bin/sh\n# \\\nexec tclsh "$0" ${1+"$@"}\nputs hi\n', 0o755, "no plain shell script"),
    "two languages": (b"#!/bin/sh\n''':'\nexec python3 -\n'''\nprint(1)\n", 0o755, "no plain shell script"),
    "not executable": (b"#!/bin/sh\nexit 1\n", 0o644, "not executable"),
    "lefthook": (b'#!/bin/sh\ncall_lefthook()\n{\n  :\n}\ncall_lefthook run "pre-commit" "$@"\n', 0o755, "lefthook"),
    "husky 4": (b'#!/bin/sh\n# husky\n. "$(dirname "$0")/husky.sh"\n', 0o755, "husky"),
    "simple-git-hooks": (b'#!/bin/sh\nif [ "$SKIP_SIMPLE_GIT_HOOKS" = 1 ]; then exit 0; fi\n', 0o755, "simple-git"),
    "git-lfs": (b'#!/bin/sh\ncommand -v git-lfs >&2 || exit 2\ngit lfs pre-commit "$@"\n', 0o755, "git-lfs"),
}


@pytest.mark.parametrize("case", UNTOUCHED)
def test_a_hook_that_is_not_ours_to_edit(case: str, repo: TestRepo) -> None:
    """Such a hook keeps its bytes and its mode, the other hooks are installed, and the user gets the lines to add."""
    script, mode, problem = UNTOUCHED[case]
    path = _hook(repo, ".git/hooks/pre-commit", script, mode)
    report = _init(repo.path)
    assert (script, mode) == (path.read_bytes(), path.stat().st_mode & 0o777)
    assert "post-commit" in report.lines[2] and "pre-commit" not in report.lines[2]
    (text,) = report.attention
    assert problem in text and "/cortex/git-hooks/" in text
    assert problem in health.inactive_hooks(_repo(repo.path))
    _uninstall(repo.path)
    assert (script, mode) == (path.read_bytes(), path.stat().st_mode & 0o777)


def test_the_lines_for_a_python_hook_are_a_command_to_run(repo: TestRepo) -> None:
    """Nobody is told to paste shell into a script of another language, and a hook that does as told counts as active."""
    path = _hook(repo, ".git/hooks/pre-commit", "#!/usr/bin/env python3\nprint(1)\n")
    (text,) = _init(repo.path).attention
    command = text.splitlines()[2]
    path.write_text(f"#!/usr/bin/env python3\nimport subprocess\nsubprocess.run(['sh', '-c', {command!r}])\n")
    _stand_in(repo)
    repo.commit({"a.txt": "a\n"})
    assert ["pre-commit", "post-commit"] == [event for event, _ in _runs(repo)]
    assert "" == health.inactive_hooks(_repo(repo.path))


def test_a_link_to_a_tracked_script_is_not_followed(repo: TestRepo) -> None:
    """A hook that is a link into the work tree would make a tracked file dirty."""
    repo.commit({"scripts/hook": "#!/bin/sh\n"})
    (repo.path / "scripts" / "hook").chmod(0o755)
    (repo.path / ".git" / "hooks").mkdir(exist_ok=True)
    (repo.path / ".git" / "hooks" / "pre-commit").symlink_to("../../scripts/hook")
    report = _init(repo.path)
    assert "#!/bin/sh\n" == repo.read("scripts/hook")
    assert "is a link to ../../scripts/hook" in report.attention[0]


def _husky(repo: TestRepo) -> None:
    """What `npx husky` leaves behind, version 9: generated files without a last line end, and the setting."""
    for event in program.EVENTS:
        _hook(repo, f".husky/_/{event}", b'#!/usr/bin/env sh\n. "$(dirname "$0")/h"')
    _hook(
        repo,
        ".husky/_/h",
        '#!/usr/bin/env sh\nn=$(basename "$0")\ns=$(dirname "$(dirname "$0")")/$n\n[ ! -f "$s" ] && exit 0\n'
        'sh -e "$s" "$@"\nc=$?\nexit $c\n',
    )
    repo.write({".husky/_/.gitignore": "*"})
    repo.git("config", "core.hooksPath", ".husky/_")


def _add_lines(repo: TestRepo, text: str) -> None:
    """Do what the advice for shell scripts says."""
    for part in text.split("Add after the first line (#!/bin/sh) of ")[1:]:
        names, _, lines = part.partition(":\n")
        body = lines.partition("\n\n")[0] + "\n"
        for name in names.split(", "):
            path = repo.path / name
            old = path.read_text() if path.exists() else "#!/bin/sh\n"
            first, _, rest = old.partition("\n")
            _hook(repo, name, f"{first}\n{body}{rest}")


def test_husky_is_left_alone_and_its_lines_work(repo: TestRepo, hub: TestRepo) -> None:
    """Nothing under `.husky` is touched; with the printed lines in the user's own files every hook runs."""
    _husky(repo)
    before = _files(repo.path / ".husky")
    (text,) = _init(repo.path).attention
    assert before == _files(repo.path / ".husky")
    assert ".husky/_ (husky)" in text and ".husky/_/" not in text
    _add_lines(repo, text)
    assert [] == _problems(repo.path)
    _stand_in(repo)
    commit = repo.commit({"a.txt": "a\n"})
    repo.git("push", "--quiet", "origin", "main")
    pushed = f"refs/heads/main {commit} refs/heads/main {'0' * 40}\n"
    assert [("pre-commit", ""), ("post-commit", ""), ("pre-push", pushed)] == _runs(repo)
    before = _files(repo.path / ".husky")
    _uninstall(repo.path)
    repo.commit({"a.txt": "b\n"})
    assert before == _files(repo.path / ".husky")


def test_a_manager_that_comes_later_is_noticed(repo: TestRepo) -> None:
    """husky after `init`: the next look says that the hooks are inactive and what to add."""
    _init(repo.path)
    _husky(repo)
    assert "inactive (core.hooksPath is .husky/_ (husky)); `git cortex doctor`" in health.inactive_hooks(
        _repo(repo.path)
    )
    (finding,) = health.check(_repo(repo.path), _env(repo.path))
    assert ".husky/pre-commit" in finding.lines
    repo.git("config", health.SILENCE, "ignore")
    assert [] == _problems(repo.path)
    assert "" == health.inactive_hooks(_repo(repo.path))


def test_lefthook_that_comes_later_is_noticed(repo: TestRepo) -> None:
    """lefthook moves our hook aside and does not call it; lines in its configuration make it active again."""
    before = _files(repo.path)
    _init(repo.path)
    hooks = repo.path / ".git" / "hooks"
    (hooks / "pre-commit").rename(hooks / "pre-commit.old")
    script = UNTOUCHED["lefthook"][0]
    _hook(repo, ".git/hooks/pre-commit", script)
    (finding,) = health.check(_repo(repo.path), _env(repo.path))
    assert "lefthook" in finding.message
    recipe = finding.lines.partition("\n")[2].rpartition("If they are")[0]
    assert recipe.startswith("pre-commit:\n  commands:\n    git-cortex:\n      run: '")
    repo.write({"lefthook.yml": recipe})
    assert [] == _problems(repo.path)
    (repo.path / "lefthook.yml").unlink()
    _uninstall(repo.path, forget=True)
    (hooks / "pre-commit").unlink()
    assert before == _files(repo.path)


PRE_COMMIT = """\
#!/usr/bin/env bash
# File generated by pre-commit: https://pre-commit.com
echo framework >> ran
HERE="$(cd "$(dirname "$0")" && pwd)"
[ ! -x "$HERE/pre-commit.legacy" ] || "$HERE/pre-commit.legacy" "$@" || exit
exec true
"""


@pytest.mark.parametrize("first", ["framework", "init"])
def test_pre_commit_runs_us_as_a_legacy_hook(first: str, repo: TestRepo) -> None:
    """Whichever of the two is installed first, both run, and the framework's file is not edited."""
    hooks = repo.path / ".git" / "hooks"
    if first == "init":
        _init(repo.path)
        (hooks / "pre-commit").rename(hooks / "pre-commit.legacy")
    _hook(repo, ".git/hooks/pre-commit", PRE_COMMIT)
    report = _init(repo.path)
    assert [] == report.attention and [] == _problems(repo.path)
    assert PRE_COMMIT == (hooks / "pre-commit").read_text()
    _stand_in(repo)
    repo.commit({"a.txt": "a\n"})
    assert ["pre-commit", "post-commit"] == [event for event, _ in _runs(repo)]
    assert "framework\n" == repo.read("ran")
    (hooks / "pre-commit.legacy").unlink()
    assert "`git cortex init` puts them in again" in health.inactive_hooks(_repo(repo.path))
    _init(repo.path)
    assert [] == _problems(repo.path)
    _uninstall(repo.path)
    assert PRE_COMMIT == (hooks / "pre-commit").read_text() and not (hooks / "pre-commit.legacy").exists()


def test_a_teams_own_hooks_folder_goes_on_working(repo: TestRepo) -> None:
    """With `core.hooksPath` in the tree nothing there is edited, the setting stays, and the lines make ours run too."""
    _hook(repo, ".githooks/pre-commit", "#!/bin/sh\necho gate >> ran\n")
    repo.git("config", "core.hooksPath", ".githooks")
    (text,) = _init(repo.path).attention
    assert "core.hooksPath is .githooks" in text
    assert ".githooks" == repo.git("config", "core.hooksPath")
    _add_lines(repo, text)
    assert [] == _problems(repo.path)
    _stand_in(repo)
    repo.commit({"a.txt": "a\n"})
    assert ["pre-commit", "post-commit"] == [event for event, _ in _runs(repo)]
    assert "gate\n" == repo.read("ran")


def test_a_global_hooks_folder_is_not_written_to(repo: TestRepo, home: Path) -> None:
    """A folder that serves every repository of the user stays empty of ours, and the message names it."""
    folder = home / "hooks"
    folder.mkdir()
    (home / "config").write_text(f"[core]\n\thooksPath = {folder}\n")
    os.environ["GIT_CONFIG_GLOBAL"], kept = str(home / "config"), os.environ["GIT_CONFIG_GLOBAL"]
    try:
        (text,) = _init(repo.path).attention
    finally:
        os.environ["GIT_CONFIG_GLOBAL"] = kept
    assert [] == list(folder.iterdir())
    assert f"core.hooksPath is {folder}" in text


def test_a_hooks_path_that_is_gone_is_named(repo: TestRepo) -> None:
    """An absolute setting that a move has stranded makes git run nothing, silently; we say so."""
    _init(repo.path)
    repo.git("config", "core.hooksPath", "/nowhere/hooks")
    assert "/nowhere/hooks, a folder that is not there" in health.inactive_hooks(_repo(repo.path))


def test_a_hooks_path_that_names_gits_own_folder(repo: TestRepo) -> None:
    """The setting may well say what is the case anyway."""
    repo.git("config", "core.hooksPath", str(repo.path / ".git" / "hooks"))
    assert [] == _init(repo.path).attention


@pytest.fixture
def new_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Puts a git on PATH that says it is 2.54 and is otherwise the one that is installed."""
    real = shutil.which("git")

    def put() -> None:
        path = tmp_path / "new git" / "git"
        path.parent.mkdir()
        path.write_text(f'#!/bin/sh\ncase "$*" in *version) echo git version 2.54.0;; *) exec {real} "$@";; esac\n')
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")

    return put


def test_a_new_git_gets_settings_in_place_of_files(repo: TestRepo, new_git: Callable[[], None]) -> None:
    """From git 2.54 on hooks are settings, which run beside any manager; files of an older git give way to them."""
    before = _files(repo.path)
    _husky(repo)
    _init(repo.path)
    repo.git("config", "--unset", "core.hooksPath")
    shutil.rmtree(repo.path / ".husky")
    _init(repo.path)
    new_git()
    report = _init(repo.path)
    assert "git hooks: all in place, in the repository's settings" == report.lines[2]
    assert [] == _problems(repo.path)
    for event in program.EVENTS:
        assert not (repo.path / ".git" / "hooks" / event).exists()
        assert event == repo.git("config", f"hook.cortex-{event}.event")
        command = repo.git("config", f"hook.cortex-{event}.command")
        _stand_in(repo)
        subprocess.run(["sh", "-c", f'{command} "$@"', command, "a"], cwd=repo.path, check=True, input=b"in")
        assert [(event, "in")] == _runs(repo)
    _uninstall(repo.path, forget=True)
    assert before == _files(repo.path)


def test_settings_that_were_switched_off_are_noticed(repo: TestRepo, new_git: Callable[[], None]) -> None:
    """`hook.<name>.enabled = false` is the user's word, and is shown."""
    new_git()
    _init(repo.path)
    repo.git("config", "hook.cortex-pre-commit.enabled", "false")
    assert "pre-commit is inactive" in health.inactive_hooks(_repo(repo.path))


def test_half_a_block_is_not_guessed_at(repo: TestRepo) -> None:
    """A block that has lost its last line is an error that says which line to put back."""
    path = _hook(repo, ".git/hooks/pre-commit", "#!/bin/sh\n# >>> git-cortex\necho mine\n")
    with pytest.raises(CortexError, match="put that line back"):
        _init(repo.path)
    assert "echo mine" in path.read_text()


# ---- the program


def test_the_program_is_brought_up_to_date(repo: TestRepo) -> None:
    """Any command writes down the program that is running, the limit of the spool, and the shims as they are now."""
    _init(repo.path)
    home = repo.path / ".git" / "cortex"
    lines = (home / "program").read_text().splitlines()
    assert [sys.executable, str(Path(program.__file__).parent.parent.parent), "64"] == lines
    (home / "program").write_text("/gone/python\n/gone\n")
    (home / "hooks" / "capture").write_text("old\n")
    (home / "git-hooks" / "pre-commit").chmod(0o644)
    assert ["the hooks do not find the program any more; run `git cortex init`"] == _problems(repo.path)
    program.refresh(_repo(repo.path))
    assert lines == (home / "program").read_text().splitlines()
    assert (home / "hooks" / "capture").read_text().startswith("#!/bin/sh")
    assert os.access(home / "git-hooks" / "pre-commit", os.X_OK)


def test_nobody_else_can_look_in(repo: TestRepo) -> None:
    """Our folder is the user's alone."""
    _init(repo.path)
    assert 0o700 == (repo.path / ".git" / "cortex").stat().st_mode & 0o777
    assert 0o700 == (repo.path / ".git" / "cortex" / "spool").stat().st_mode & 0o777


# ---- the assistant's rules


def test_rules_teach_and_carry_the_briefing(repo: TestRepo) -> None:
    """The file holds how to mark what matters and, below, the live briefing; it is written only when it changes."""
    _init(repo.path)
    assert rules.TEACHING == repo.read(rules.PATH)
    opened = _repo(repo.path)
    assert rules.write_rules(opened, "## Decisions\n\n- Use SQLite\n")
    assert repo.read(rules.PATH).startswith(rules.TEACHING) and repo.read(rules.PATH).endswith("\n- Use SQLite\n")
    assert not rules.write_rules(opened, "## Decisions\n\n- Use SQLite\n")
    assert rules.carries(opened, "## Decisions\n\n- Use SQLite")
    assert not rules.carries(opened, "## Decisions\n\n- Use Postgres")


def test_rules_are_written_where_they_are_wanted_only(repo: TestRepo, tmp_path: Path) -> None:
    """Not without the assistant, and not through a link that leads out of the work tree."""
    _init(repo.path, agents=())
    assert not rules.write_rules(_repo(repo.path), "text")
    repo.git("config", rules.AGENTS, "claude")
    (tmp_path / "elsewhere").mkdir()
    (repo.path / ".claude").symlink_to(tmp_path / "elsewhere")
    assert not rules.write_rules(_repo(repo.path), "text")
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
