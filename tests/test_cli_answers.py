"""What commands say about what they did not do, and about what is not as one would think."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TestRepo


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository that is set up, with `.cortex/` committed."""
    repo.write({"a.txt": "a\n"})
    repo.run("init", "--yes", "--no-plugin")
    repo.git("add", "a.txt", ".cortex")
    repo.commit(message="Start")
    return repo


def committed(repo: TestRepo, words: str) -> Path:
    """The file of a decision, which is in a commit."""
    repo.run("decide", words)
    repo.run("project")
    repo.commit(message="With the decision")
    (item,) = (repo.path / ".cortex" / "decisions").glob("*.md")
    return item


def shown(repo: TestRepo, words: str) -> tuple[str, str]:
    """Id and status of a decision as `show` has them."""
    (event,) = (e for e in json.loads(repo.run("log", "--withdrawn", "--json").out) if e["content"] == words)
    return event["id"], json.loads(repo.run("show", event["id"], "--json").out)[0]["status"]


def test_details_that_come_too_late_are_named(ready: TestRepo) -> None:
    """Recording again what is known says which of the new details are not added, and nothing if there are none."""
    ready.run("decide", "Use Postgres", "--over", "MySQL")
    late = ready.run("decide", "Use Postgres", "--because", "we know it", "--over", "MySQL")
    assert "the reason given now will not be added" in late.err
    assert "alternatives" not in late.err
    assert "" == ready.run("decide", "Use Postgres", "--over", "MySQL").err


def test_show_agrees_with_log(ready: TestRepo) -> None:
    """A decision whose file was deleted is deprecated for both; when that is reverted it is accepted again."""
    item = committed(ready, "Use Postgres")
    ready.git("rm", "--quiet", str(item))
    ready.commit(message="Without it")
    id, status = shown(ready, "Use Postgres")
    assert "deprecated" == status
    assert f"{id[:7]} decision   (retracted) Use Postgres\n" in ready.run("log", "--withdrawn", "--oneline").out
    assert "" == ready.run("log").out
    assert "(retracted" in ready.run("search", "postgres", "--withdrawn").out
    ready.git("revert", "--no-edit", "HEAD")
    assert (id, "accepted") == shown(ready, "Use Postgres")
    assert "Use Postgres" in ready.run("search", "postgres").out


def test_what_a_teammate_deleted_is_still_listed(ready: TestRepo, tmp_path: Path) -> None:
    """A clone without the notes of a deleted decision finds it in history."""
    item = committed(ready, "Use Postgres")
    ready.git("rm", "--quiet", str(item))
    ready.commit(message="Without it")
    ready.git("clone", "--quiet", str(ready.path), str(tmp_path / "clone"))
    clone = TestRepo(tmp_path / "clone")
    clone.run("init", "--yes", "--no-plugin")
    assert "deprecated" == shown(clone, "Use Postgres")[1]


def test_status_names_a_plan_only_if_it_changes(ready: TestRepo) -> None:
    """A plan that is committed and unchanged is nothing that a commit brings, and in a commit."""
    ready.run("plan", "Login", "model", "view")
    assert "Next commit: brings the plan into .cortex/\n" in ready.run("status").out
    ready.run("project")
    assert "brings the plan" in ready.run("status").out
    ready.commit(message="With the plan")
    out = ready.run("status").out
    assert "Next commit: brings nothing into .cortex/\n" in out
    assert "Not in a commit yet: 0 (0 private)\nWaiting to be stored: 0\n" in out
    ready.run("plan", "done")
    assert "brings the plan" in ready.run("status").out


def test_a_clone_that_ran_only_init_has_nothing_of_its_own(ready: TestRepo, tmp_path: Path) -> None:
    """What came with the commits is in a commit."""
    ready.run("plan", "Login", "model")
    ready.run("learn", "the parser is slow")
    committed(ready, "Use Postgres")
    ready.git("clone", "--quiet", str(ready.path), str(tmp_path / "clone"))
    clone = TestRepo(tmp_path / "clone")
    clone.run("init", "--yes", "--no-plugin")
    assert "Not in a commit yet: 0 (0 private)\n" in clone.run("status").out


def test_uninstalled_is_not_the_same_as_never_set_up(ready: TestRepo) -> None:
    """After `uninstall` commands say that the memory is kept; after `uninstall --forget` they do not."""
    ready.run("uninstall")
    assert "its memory is kept" in ready.run("log", check=False).err
    ready.run("init", "--yes", "--no-plugin")
    ready.run("uninstall", "--forget", "--yes")
    assert "has no memory yet" in ready.run("log", check=False).err


def test_private_memories_are_marked_and_not_exported(ready: TestRepo) -> None:
    """Each listing marks them, and an export has them on demand only."""
    ready.run("decide", "My secret", "--private")
    for args in (["log"], ["log", "--oneline"], ["search", "secret"], ["search", "secret", "--oneline"]):
        assert "(private)" in ready.run(*args).out
    assert "(private)" in ready.run("show", shown(ready, "My secret")[0]).out
    left = ready.run("export")
    assert ([], "--private" in left.err) == (json.loads(left.out), True)
    assert 1 == len(json.loads(ready.run("export", "--private").out))


def test_a_short_id_is_told_how_long_it_must_be(ready: TestRepo) -> None:
    """Three digits are too few."""
    assert "at least 4 digits" in ready.run("show", "abc", check=False).err


@pytest.mark.parametrize("query", ["type:decisin use", "since:foo use"])
def test_conditions_that_make_no_sense_are_named(query: str, ready: TestRepo) -> None:
    """Where nothing was found, a condition that was taken as words is said."""
    assert f"{query.split()[0]} was taken as words" in ready.run("search", query).err


@pytest.mark.parametrize("args", [["-mongodb", "use"], ["use", "-mongodb"], ["use", "--oneline", "-nosql", "-n5"]])
def test_a_word_with_a_minus_is_no_option(args: list[str], ready: TestRepo) -> None:
    """`-word` excludes, wherever it stands, without `--` before it."""
    ready.run("decide", "Use MongoDB nosql")
    ready.run("decide", "Use Postgres")
    out = ready.run("search", *args).out
    assert ("Use Postgres" in out, "MongoDB" in out) == (True, False)


def test_hooks_of_the_assistant_that_are_off_are_noticed(ready: TestRepo) -> None:
    """`status` calls hooks active only if the assistant's are in place too."""
    path = ready.path / ".claude" / "settings.local.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"disableAllHooks": True}))
    assert "disableAllHooks" in ready.run("status").out
    assert "Hooks: active" not in ready.run("status").out


@pytest.mark.parametrize("args", [["status"], ["learn", "the parser is slow"]])
def test_faults_of_settings_are_one_line(args: list[str], ready: TestRepo) -> None:
    """Settings that do not count are said where they would have counted."""
    with (ready.path / ".cortex" / "config.toml").open("a") as file:
        file.write("\n[nonsense]\nx = 1\n")
    err = ready.run(*args).err
    assert "nonsense" in err
    assert 1 == err.count("\n")


def test_no_answer_is_no_consent(repo: TestRepo) -> None:
    """The end of input at the question of `init` ends it with nothing done."""
    main_end, other_end = pty.openpty()
    os.write(main_end, b"\x04")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "cortex_git", "init", "--no-plugin"]
    ended = subprocess.run(
        command, cwd=repo.path, env=environment, stdin=other_end, stderr=other_end, stdout=subprocess.PIPE
    )
    os.close(other_end)
    os.close(main_end)
    assert 1 == ended.returncode
    assert not (repo.path / ".cortex").exists()


@pytest.mark.parametrize("own", [True, False])
def test_init_speaks_of_hooks_of_your_own_only_where_they_are(own: bool, repo: TestRepo) -> None:
    """The line about hooks does not claim others where there are none."""
    if own:
        hook = repo.path / ".git" / "hooks" / "pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ntrue\n")
        hook.chmod(0o755)
    (line,) = (line for line in repo.run("init", "--yes").out.splitlines() if line.startswith("git hooks: "))
    assert "all in place" in line
    if "settings" not in line:
        assert own is ("beside your own" in line)


def test_usage_errors_name_the_command(ready: TestRepo) -> None:
    """An option without its value leads to the help of its command."""
    assert "see `git cortex decide -h`" in ready.run("decide", "x", "--reason", check=False).err
    assert ready.run("decide", "-h").out == ready.run("help", "decide").out
    assert ready.run("-h").out == ready.run("help").out
    assert "'lgo', did you mean `log`? `git" in ready.run("lgo", check=False).err


def test_an_export_that_cannot_be_written_names_its_file(ready: TestRepo) -> None:
    """The file that was asked for is named, not one that is only there for a moment."""
    assert "git cortex: /nonexistent/x cannot" in ready.run("export", "-o", "/nonexistent/x", check=False).err


def test_files_that_are_not_there_are_said(ready: TestRepo) -> None:
    """A file that is not there is recorded with a warning; a pattern is not looked for."""
    assert "no file nosuchfile" in ready.run("decide", "Use it", "-f", "nosuchfile").err
    assert "" == ready.run("decide", "Use that", "-f", "src/*.c", "-f", "a.txt").err


def test_nothing_is_said_twice(ready: TestRepo) -> None:
    """Lists leave out a reason and alternatives that the text itself says; `show` has all."""
    text = "Let's go with argparse, not click, because it has no dependency."
    ready.run("decide", text, "--because", "it has no dependency.", "--over", "click", "--over", "docopt")
    assert ready.run("log", "--oneline").out.endswith(f"{text}\n")
    out = ready.run("log").out
    assert "Because" not in out
    assert "    Over: docopt\n" in out
    assert "Over: click; docopt" in ready.run("show", shown(ready, text)[0]).out
