"""git's hooks beside everything else that wants to run: users' own, managers, other languages, settings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import TestRepo
from setting_up import env_at, files, init, problems, repo_at, runs, stand_in, uninstall

from cortex_git.errors import CortexError
from cortex_git.setup import githooks, glance, health, program


def _hook(repo: TestRepo, name: str, text: str | bytes, mode: int = 0o755) -> Path:
    path = repo.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def _pretend(version: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a git on PATH that says it is of this version."""
    folder.mkdir()
    path, real = folder / "git", shutil.which("git")
    path.write_text(f'#!/bin/sh\ncase "$*" in *version) echo git version {version};; *) exec "{real}" "$@";; esac\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.fixture(autouse=True)
def old_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are what most of this is about, which a git that reads hooks from settings gets only if it hides that."""
    if githooks.version(repo_at(TestRepo.make(tmp_path / "any").path)) >= githooks.CONFIG_HOOKS:
        _pretend("2.53.0", tmp_path / "old git", monkeypatch)


@pytest.fixture
def hub(repo: TestRepo) -> TestRepo:
    """A bare repository that `origin` of the repository names."""
    made = TestRepo.make(repo.path.parent / "hub.git", "--bare")
    repo.git("remote", "add", "origin", str(made.path))
    return made


def test_every_hook_runs(repo: TestRepo, hub: TestRepo) -> None:
    """Commit, checkout, merge, amend and push come to the program, with what git tells them."""
    init(repo.path)
    stand_in(repo)
    first = repo.commit({"a.txt": "a\n"})
    assert [("pre-commit", ""), ("post-commit", "")] == runs(repo)
    repo.git("checkout", "--quiet", "-b", "topic")
    assert [("post-checkout", "")] == runs(repo)
    second = repo.commit({"b.txt": "b\n"})
    repo.git("checkout", "--quiet", "main")
    runs(repo)
    repo.git("merge", "--quiet", "topic")
    assert [("post-merge", "")] == runs(repo)
    repo.git("push", "--quiet", "origin", "main")
    assert [("pre-push", f"refs/heads/main {second} refs/heads/main {'0' * 40}\n")] == runs(repo)
    repo.git("commit", "--quiet", "--amend", "-m", "Another message")
    head = repo.git("rev-parse", "HEAD")
    assert ("post-rewrite", f"{second} {head}\n") == runs(repo)[-1]
    assert first != second


def test_hooks_run_in_a_linked_worktree(repo: TestRepo, tmp_path: Path) -> None:
    """A worktree that is made later needs nothing of its own."""
    init(repo.path)
    repo.commit({"a.txt": "a\n"})
    stand_in(repo)
    tree = TestRepo(tmp_path / "tree")
    repo.git("worktree", "add", "--quiet", str(tree.path))
    tree.commit({"b.txt": "b\n"})
    assert ["post-checkout", "pre-commit", "post-commit"] == [event for event, _ in runs(repo)]


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/sh -e", "/usr/bin/env bash", "/usr/bin/env -S bash -eu"])
def test_a_users_shell_hook_runs_besides(shell: str, repo: TestRepo, hub: TestRepo) -> None:
    """Our block goes after the first line; the user's script still sees its arguments and its whole input."""
    script = f'#!{shell}\nprintf "%s|" "$@" > "$PWD/mine"\ncat >> "$PWD/mine"'
    path = _hook(repo, ".git/hooks/pre-push", script, 0o750)
    init(repo.path)
    stand_in(repo)
    commit = repo.commit({"a.txt": "a\n"})
    runs(repo)
    repo.git("push", "--quiet", "origin", "main")
    told = f"refs/heads/main {commit} refs/heads/main {'0' * 40}\n"
    assert [("pre-push", told)] == runs(repo)
    assert f"origin|{hub.path}|{told}" == repo.read("mine")
    repo.git("push", "--quiet", "origin", "main")
    assert [("pre-push", "")] == runs(repo)
    assert f"origin|{hub.path}|" == repo.read("mine")
    assert path.read_text().startswith(f"#!{shell}\n# >>> git-cortex")
    uninstall(repo.path)
    assert (script, 0o750) == (path.read_text(), path.stat().st_mode & 0o777)


def test_a_users_failing_hook_still_fails(repo: TestRepo) -> None:
    """A gate of the team stays a gate, also behind our block."""
    _hook(repo, ".git/hooks/pre-commit", "#!/bin/sh\necho no >&2\nexit 1\n")
    init(repo.path)
    with pytest.raises(AssertionError, match="no"):
        repo.commit({"a.txt": "a\n"})


def test_a_block_is_brought_up_to_date_in_place(repo: TestRepo) -> None:
    """Lines of an earlier version are replaced where they stand; what the user wrote around them stays."""
    before = "#!/bin/sh\necho before\n# >>> git-cortex (an older remark)\nold line\n# <<< git-cortex\necho after\n"
    path = _hook(repo, ".git/hooks/post-commit", before)
    init(repo.path)
    text = path.read_text()
    assert text.startswith("#!/bin/sh\necho before\n# >>> git-cortex") and text.endswith("git-cortex\necho after\n")
    assert "old line" not in text and "cortex/git-hooks/post-commit" in text
    uninstall(repo.path)
    assert "#!/bin/sh\necho before\necho after\n" == path.read_text()


@pytest.mark.parametrize("script", [b"#!/bin/sh", b"#!/bin/sh\n", b"#!/bin/sh\n\n\ntrue", b"#!/bin/bash\n#\xff\n"])
def test_a_users_hook_gets_back_its_bytes(script: bytes, repo: TestRepo) -> None:
    """Line ends that are missing, empty lines and odd bytes come back as they were."""
    path = _hook(repo, ".git/hooks/pre-commit", script)
    init(repo.path)
    assert script != path.read_bytes()
    assert [] == problems(repo.path)
    uninstall(repo.path)
    assert script == path.read_bytes()


def test_a_file_of_ours_that_the_user_went_on_with_stays(repo: TestRepo) -> None:
    """Only a file that holds nothing else is removed."""
    init(repo.path)
    path = repo.path / ".git" / "hooks" / "post-merge"
    path.write_text(path.read_text() + "echo mine\n")
    uninstall(repo.path)
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
    report = init(repo.path)
    assert (script, mode) == (path.read_bytes(), path.stat().st_mode & 0o777)
    assert "post-commit" in report.lines[2] and "pre-commit" not in report.lines[2]
    (text,) = report.attention
    assert problem in text and "/cortex/git-hooks/" in text
    assert problem in glance.inactive_hooks(repo_at(repo.path))
    uninstall(repo.path)
    assert (script, mode) == (path.read_bytes(), path.stat().st_mode & 0o777)


def test_the_lines_for_a_python_hook_are_a_command_to_run(repo: TestRepo) -> None:
    """Nobody is told to paste shell into another language, and a hook that does as told counts as active."""
    path = _hook(repo, ".git/hooks/pre-commit", "#!/usr/bin/env python3\nprint(1)\n")
    (text,) = init(repo.path).attention
    command = text.splitlines()[2]
    path.write_text(f"#!/usr/bin/env python3\nimport subprocess\nsubprocess.run(['sh', '-c', {command!r}])\n")
    stand_in(repo)
    repo.commit({"a.txt": "a\n"})
    assert ["pre-commit", "post-commit"] == [event for event, _ in runs(repo)]
    assert "" == glance.inactive_hooks(repo_at(repo.path))


def test_a_link_to_a_tracked_script_is_not_followed(repo: TestRepo) -> None:
    """A hook that is a link into the work tree would make a tracked file dirty."""
    repo.commit({"scripts/hook": "#!/bin/sh\n"})
    (repo.path / "scripts" / "hook").chmod(0o755)
    (repo.path / ".git" / "hooks").mkdir(exist_ok=True)
    (repo.path / ".git" / "hooks" / "pre-commit").symlink_to("../../scripts/hook")
    report = init(repo.path)
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
    for part in re.split(r"Add (?:after the first line \(#!/bin/sh\)|at the top) of ", text)[1:]:
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
    before = files(repo.path / ".husky")
    (text,) = init(repo.path).attention
    assert before == files(repo.path / ".husky")
    assert ".husky/_ (husky)" in text and ".husky/_/" not in text
    _add_lines(repo, text)
    assert [] == problems(repo.path)
    stand_in(repo)
    commit = repo.commit({"a.txt": "a\n"})
    repo.git("push", "--quiet", "origin", "main")
    pushed = f"refs/heads/main {commit} refs/heads/main {'0' * 40}\n"
    assert [("pre-commit", ""), ("post-commit", ""), ("pre-push", pushed)] == runs(repo)
    before = files(repo.path / ".husky")
    uninstall(repo.path)
    repo.commit({"a.txt": "b\n"})
    assert before == files(repo.path / ".husky")


def test_a_manager_that_comes_later_is_noticed(repo: TestRepo) -> None:
    """husky after `init`: the next look says that the hooks are inactive and what to add."""
    init(repo.path)
    _husky(repo)
    assert "inactive (core.hooksPath is .husky/_ (husky)); `git cortex doctor`" in glance.inactive_hooks(
        repo_at(repo.path)
    )
    (finding,) = health.check(repo_at(repo.path), env_at(repo.path))
    assert ".husky/pre-commit" in finding.lines
    repo.git("config", program.SILENCE, "ignore")
    assert [] == problems(repo.path)
    assert "" == glance.inactive_hooks(repo_at(repo.path))


def test_lefthook_that_comes_later_is_noticed(repo: TestRepo) -> None:
    """lefthook moves our hook aside and does not call it; lines in its configuration make it active again."""
    before = files(repo.path)
    init(repo.path)
    hooks = repo.path / ".git" / "hooks"
    (hooks / "pre-commit").rename(hooks / "pre-commit.old")
    script = UNTOUCHED["lefthook"][0]
    _hook(repo, ".git/hooks/pre-commit", script)
    (finding,) = health.check(repo_at(repo.path), env_at(repo.path))
    assert "lefthook" in finding.message
    recipe = finding.lines.partition("\n")[2].rpartition("If they are")[0]
    assert recipe.startswith("pre-commit:\n  commands:\n    git-cortex:\n      run: '")
    repo.write({"lefthook.yml": recipe})
    assert [] == problems(repo.path)
    (repo.path / "lefthook.yml").unlink()
    uninstall(repo.path, forget=True)
    (hooks / "pre-commit").unlink()
    assert before == files(repo.path)


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
        init(repo.path)
        (hooks / "pre-commit").rename(hooks / "pre-commit.legacy")
    _hook(repo, ".git/hooks/pre-commit", PRE_COMMIT)
    report = init(repo.path)
    assert [] == report.attention and [] == problems(repo.path)
    assert PRE_COMMIT == (hooks / "pre-commit").read_text()
    stand_in(repo)
    repo.commit({"a.txt": "a\n"})
    assert ["pre-commit", "post-commit"] == [event for event, _ in runs(repo)]
    assert "framework\n" == repo.read("ran")
    (hooks / "pre-commit.legacy").unlink()
    assert "`git cortex init` puts them in again" in glance.inactive_hooks(repo_at(repo.path))
    init(repo.path)
    assert [] == problems(repo.path)
    uninstall(repo.path)
    assert PRE_COMMIT == (hooks / "pre-commit").read_text() and not (hooks / "pre-commit.legacy").exists()


def test_a_teams_own_hooks_folder_goes_on_working(repo: TestRepo) -> None:
    """With `core.hooksPath` in the tree nothing there is edited, the setting stays, and the lines make ours run too."""
    _hook(repo, ".githooks/pre-commit", "#!/bin/sh\necho gate >> ran\n")
    repo.git("config", "core.hooksPath", ".githooks")
    (text,) = init(repo.path).attention
    assert "core.hooksPath is .githooks" in text
    assert ".githooks" == repo.git("config", "core.hooksPath")
    _add_lines(repo, text)
    assert [] == problems(repo.path)
    stand_in(repo)
    repo.commit({"a.txt": "a\n"})
    assert ["pre-commit", "post-commit"] == [event for event, _ in runs(repo)]
    assert "gate\n" == repo.read("ran")


def test_a_global_hooks_folder_is_not_written_to(
    repo: TestRepo, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that serves every repository of the user stays empty of ours, and the message names it."""
    folder = home / "hooks"
    folder.mkdir()
    (home / "config").write_text(f"[core]\n\thooksPath = {folder}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "config"))
    (text,) = init(repo.path).attention
    assert [] == list(folder.iterdir())
    assert f"core.hooksPath is {folder}" in text


def test_a_hooks_path_that_is_gone_is_named(repo: TestRepo) -> None:
    """An absolute setting that a move has stranded makes git run nothing, silently; we say so."""
    init(repo.path)
    repo.git("config", "core.hooksPath", "/nowhere/hooks")
    assert "/nowhere/hooks, a folder that is not there" in glance.inactive_hooks(repo_at(repo.path))


def test_a_hooks_path_that_names_gits_own_folder(repo: TestRepo) -> None:
    """The setting may well say what is the case anyway."""
    repo.git("config", "core.hooksPath", str(repo.path / ".git" / "hooks"))
    assert [] == init(repo.path).attention


@pytest.fixture
def new_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Puts a git on PATH that says it is 2.54 and is otherwise the one that is installed."""
    return lambda: _pretend("2.54.0", tmp_path / "new git", monkeypatch)


def test_a_new_git_gets_settings_in_place_of_files(repo: TestRepo, new_git: Callable[[], None]) -> None:
    """From git 2.54 on hooks are settings, which run beside any manager; files of an older git give way to them."""
    before = files(repo.path)
    _husky(repo)
    init(repo.path)
    repo.git("config", "--unset", "core.hooksPath")
    shutil.rmtree(repo.path / ".husky")
    init(repo.path)
    new_git()
    report = init(repo.path)
    assert "git hooks: all in place, in the repository's settings" == report.lines[2]
    assert [] == problems(repo.path)
    for event in program.EVENTS:
        assert not (repo.path / ".git" / "hooks" / event).exists()
        assert event == repo.git("config", f"hook.cortex-{event}.event")
        command = repo.git("config", f"hook.cortex-{event}.command")
        stand_in(repo)
        subprocess.run(["sh", "-c", f'{command} "$@"', command, "a"], cwd=repo.path, check=True, input=b"in")
        assert [(event, "in")] == runs(repo)
    uninstall(repo.path, forget=True)
    assert before == files(repo.path)


def test_settings_that_were_switched_off_are_noticed(repo: TestRepo, new_git: Callable[[], None]) -> None:
    """`hook.<name>.enabled = false` is the user's word, and is shown."""
    new_git()
    init(repo.path)
    repo.git("config", "hook.cortex-pre-commit.enabled", "false")
    assert "pre-commit is inactive" in glance.inactive_hooks(repo_at(repo.path))


def test_half_a_block_is_not_guessed_at(repo: TestRepo) -> None:
    """A block that has lost its last line is an error that says which line to put back."""
    path = _hook(repo, ".git/hooks/pre-commit", "#!/bin/sh\n# >>> git-cortex\necho mine\n")
    with pytest.raises(CortexError, match="put that line back"):
        init(repo.path)
    assert "echo mine" in path.read_text()


def test_a_look_at_healthy_hooks_starts_nothing(repo: TestRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command looks, so it must cost nothing while all is well: not even one git."""
    init(repo.path)
    opened = repo_at(repo.path)
    opened.git_config()
    monkeypatch.setenv("PATH", "/nowhere")
    assert "" == glance.inactive_hooks(opened)
