"""Setting up and checking: init, uninstall, status, doctor, verify, project."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, TestRepo


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository with a memory whose folder is committed."""
    repo.commit({"a.txt": "a\n"})
    repo.run("init", "--yes", "--no-plugin")
    repo.git("add", ".cortex")
    repo.commit(message="Start the memory")
    return repo


def status(repo: TestRepo) -> dict[str, Any]:
    """What `status --json` says."""
    found: dict[str, Any] = json.loads(repo.run("status", "--json").out)
    return found


def complaints(repo: TestRepo) -> list[str]:
    """The messages of what `doctor` calls a problem."""
    found = json.loads(repo.run("doctor", "--json", check=False).out)
    return [complaint["message"] for complaint in found if complaint["level"] == "problem"]


def test_init_says_what_it_did_and_how_to_undo_it(repo: TestRepo) -> None:
    """A few lines, the last of which names the command that undoes it; a second time does no harm."""
    first = repo.run("init", "--yes", "--no-plugin").out.splitlines()
    assert 5 == len(first)
    assert "git cortex uninstall" in first[-1]
    again = json.loads(repo.run("init", "--yes", "--no-plugin", "--json").out)
    assert 5 == len(again["lines"])


def test_init_without_claude_and_without_commits(repo: TestRepo) -> None:
    """Both may be left out; they are said to be."""
    out = repo.run("init", "--no-commit", "--no-claude").out
    assert "Claude Code: not set up" in out
    assert not (repo.path / ".claude").exists()
    assert "" == repo.git("status", "--porcelain")


@pytest.mark.parametrize(("answer", "ignored"), [("n", True), ("", False), ("what?\ny", False)])
def test_init_asks_before_anything_is_committed(answer: str, ignored: bool, repo: TestRepo) -> None:
    """On a terminal `init` says what commits will take along, and keeps them free of it when told so."""
    main_end, other_end = pty.openpty()
    os.write(main_end, f"{answer}\n".encode())
    command = [sys.executable, "-m", "cortex_git", "init", "--no-plugin"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=repo.path, env=environment, stdin=other_end, stderr=other_end, stdout=subprocess.PIPE
    )
    os.close(other_end)
    process.communicate()
    said = os.read(main_end, 65536).decode()
    os.close(main_end)
    assert 0 == process.returncode
    assert "Commit memories under .cortex/? [Y/n]" in said
    assert repo.git("status", "--porcelain", ".cortex") == ("" if ignored else "?? .cortex/")


def test_init_shows_a_teammate_s_memory(ready: TestRepo, tmp_path: Path) -> None:
    """In a clone of a repository with items, the first session is greeted with them."""
    ready.run("decide", "Use SQLite for storage")
    ready.run("project")
    ready.commit(message="With a decision")
    ready.git("clone", "--quiet", str(ready.path), str(tmp_path / "clone"))
    clone = TestRepo(tmp_path / "clone")
    clone.run("init", "--yes", "--no-plugin")
    assert "Use SQLite for storage" in clone.read(".claude/rules/cortex-briefing.md")
    assert "Use SQLite for storage" in clone.run("log").out


def test_uninstall_keeps_the_memory(ready: TestRepo) -> None:
    """After `uninstall` the memory is there again as soon as `init` is run."""
    ready.run("decide", "Use SQLite")
    assert "kept: the memory" in ready.run("uninstall").out
    assert "git cortex init" in ready.run("log", check=False).err
    ready.run("init", "--yes", "--no-plugin")
    assert "Use SQLite" in ready.run("log").out


def test_uninstall_forgets_only_when_that_is_certain(ready: TestRepo) -> None:
    """The memory is deleted with --forget and --yes, and not with --forget alone where nobody can be asked."""
    ready.run("decide", "Use SQLite")
    assert 2 == ready.run("uninstall", "--forget", check=False).status
    assert "Use SQLite" in ready.run("log").out
    ready.run("uninstall", "--forget", "--yes")
    assert "" == ready.git("for-each-ref", "refs/notes")


def test_status_counts(ready: TestRepo) -> None:
    """`status` names the branch, its memory, the plan, what the next commit brings, the spool, the hooks."""
    ready.run("decide", "Use SQLite")
    ready.run("learn", "the parser is slow")
    ready.run("decide", "My secret", "--private")
    ready.run("plan", "Add a login", "model", "view")
    found = status(ready)
    assert ("main", ready.git("rev-parse", "HEAD")) == (found["branch"], found["commit"])
    assert 12 == len(found["key"])
    assert {"decision": 2, "learned": 1, "plan": 1} == {
        name: count for name, count in found["counts"].items() if name != "commit"
    }
    assert "Add a login" == found["plan"]["title"]
    assert {"Use SQLite", "the parser is slow"} == {event["content"] for event in found["next_commit"]["events"]}
    assert found["next_commit"]["plan"] is True
    assert {"waiting": 0, "bad": 0} == found["spool"]
    assert 1 == found["private"]
    assert {"active": True, "problem": ""} == found["hooks"]
    out = ready.run("status").out
    assert out.startswith(f"On branch main (key {found['key']})\nMemory: 2 decisions, 1 fact, ")
    assert "Plan: Add a login (0 of 2 steps done; now: model)\n" in out
    assert "Next commit: brings 2 into .cortex/, and the plan\n" in out
    assert "Hooks: active\n" in out


def test_status_of_nothing(repo: TestRepo) -> None:
    """An empty memory is nothing to worry about."""
    repo.run("init", "--yes", "--no-plugin")
    out = repo.run("status").out
    assert "Memory: nothing yet\n" in out
    assert "Plan: none\n" in out
    assert "Next commit: brings nothing into .cortex/\n" in out


def test_hooks_that_went_away_are_noticed(ready: TestRepo) -> None:
    """`status` says that hooks are inactive, and `doctor` how to mend it."""
    shutil.rmtree(ready.path / ".git" / "hooks")
    for line in ready.git("config", "--get-regexp", "^hook\\.", check=False).splitlines():
        ready.git("config", "--unset-all", line.split(" ")[0], check=False)
    found = status(ready)["hooks"]
    assert found["active"] is False
    assert "inactive" in found["problem"]
    assert "inactive" in ready.run("status").out
    result = ready.run("doctor", check=False)
    assert 1 == result.status
    assert "git cortex init" in result.out
    ready.run("init", "--yes", "--no-plugin")
    assert status(ready)["hooks"]["active"] is True


def test_doctor_is_content(ready: TestRepo) -> None:
    """Right after `init` nothing is wrong."""
    result = ready.run("doctor")
    assert "all is well\n" == result.out
    assert [] == json.loads(ready.run("doctor", "--json").out)


def test_doctor_before_init(repo: TestRepo) -> None:
    """A repository that is not set up is told how to be."""
    result = repo.run("doctor", check=False)
    assert (1, "problem: this repository is not set up: git cortex init\n") == (result.status, result.out)


def test_doctor_finds_what_is_broken(ready: TestRepo) -> None:
    """Settings, set-aside payloads, stale locks, damaged entries: each is said, with what to do."""
    ready.run("decide", "Use SQLite")
    ready.write({".cortex/config.toml": "briefing = 3\n"})
    home = ready.path / ".git" / "cortex"
    (home / "spool" / "r.broken").write_text("nonsense")
    ref = ready.git("for-each-ref", "--format=%(refname)", "refs/notes/cortex")
    (ready.path / ".git" / (ref + ".lock")).write_text("")
    found = "\n".join(complaints(ready))
    assert "there is no setting briefing" in found
    assert "1 payloads could not be used" in found
    assert "a ref is locked" in found
    assert 1 == ready.run("doctor", check=False).status


def test_doctor_reads_a_damaged_segment(ready: TestRepo) -> None:
    """One bad entry in the store is counted, and nothing else is lost."""
    ready.run("decide", "Use SQLite")
    ref = ready.git("for-each-ref", "--format=%(refname)", "refs/notes/cortex")
    blob = ready.git("hash-object", "-w", "--stdin", input='[{"v":1,"id":"no"}]\n')
    tree = ready.git("ls-tree", ref).splitlines()
    folder = ready.git("mktree", input=f"100644 blob {blob}\t{blob[2:]}\n")
    tree = [line for line in tree if not line.endswith("\t" + blob[:2])] + [f"040000 tree {folder}\t{blob[:2]}"]
    new = ready.git("mktree", input="\n".join(tree) + "\n")
    ready.git("update-ref", ref, ready.git("commit-tree", new, "-p", ref, "-m", "damage"))
    assert ["1 stored entries are damaged and left out; the others are read"] == complaints(ready)
    assert "Use SQLite" in ready.run("log").out


def test_doctor_shows_what_hooks_wrote_down(ready: TestRepo) -> None:
    """The end of the log is a notice and no reason for status 1."""
    (ready.path / ".git" / "cortex" / "log").write_text("2026-01-01 claude Stop: something\n")
    result = ready.run("doctor")
    assert "claude Stop: something" in result.out
    assert "all is well" in result.out


# ---- files


def test_project_writes_what_a_commit_would_bring(ready: TestRepo) -> None:
    """`project` writes and stages; then there is nothing left to do."""
    ready.run("decide", "Use SQLite")
    assert 1 == ready.run("project", "--check", check=False).status
    written = ready.run("project").out.splitlines()
    assert any(path.startswith(".cortex/decisions/") for path in written)
    assert set(written) <= set(ready.git("diff", "--cached", "--name-only").splitlines())
    ready.commit(message="With the decision")
    assert "" == ready.run("project").out
    assert "" == ready.run("project", "--check").out
    assert {"written": []} == json.loads(ready.run("project", "--json").out)


def test_project_mends_pages_that_were_edited(ready: TestRepo) -> None:
    """A page that somebody changed is rendered anew from the items."""
    ready.run("decide", "Use SQLite")
    ready.run("project")
    ready.commit(message="With the decision")
    page = ready.read(".cortex/decisions.md")
    ready.write({".cortex/decisions.md": page.replace("SQLite", "Postgres")})
    assert ".cortex/decisions.md\n" == ready.run("project", "--check", check=False).out
    ready.run("project")
    assert page == ready.read(".cortex/decisions.md")


def test_project_where_no_files_are_wanted(ready: TestRepo) -> None:
    """On a branch without the folder, or with the setting off, nothing is written and one line says why."""
    ready.write({".cortex/config.toml": "[projections]\ncommit = false\n"})
    assert "projections.commit is off" in ready.run("project", check=False).err
    ready.git("rm", "-r", "-f", "--quiet", ".cortex")
    assert "no .cortex/README.md" in ready.run("project", check=False).err


def test_verify_from_a_shallow_clone(ready: TestRepo, tmp_path: Path) -> None:
    """A checkout of depth 1 without notes and without `init` is enough, and an edited item is found."""
    ready.run("decide", "Use SQLite")
    ready.run("project")
    ready.commit(message="With the decision")
    ready.git("clone", "--quiet", "--depth", "1", f"file://{ready.path}", str(tmp_path / "clone"))
    clone = TestRepo(tmp_path / "clone")
    assert clone.run("verify", "--strict").out.endswith(" files, 0 errors, 0 notices\n")
    (item,) = (clone.path / ".cortex" / "decisions").glob("*.md")
    item.write_text(item.read_text().replace("SQLite", "Postgres"))
    result = clone.run("verify", check=False)
    assert 1 == result.status
    assert f".cortex/decisions/{item.name}:" in result.out
    found = json.loads(clone.run("verify", "--json", check=False).out)
    assert {"level", "rule", "path", "line", "message"} == set(found[0])
    assert not (clone.path / ".git" / "cortex").exists()


def test_verify_without_a_repository(ready: TestRepo, tmp_path: Path) -> None:
    """A plain folder can be checked; one without memory is an error."""
    shutil.copytree(ready.path / ".cortex", tmp_path / "plain" / ".cortex")
    for name in ("plain", "plain/.cortex"):
        assert 0 == ready.run("verify", name, cwd=tmp_path).status
    result = ready.run("verify", "nowhere", cwd=tmp_path, check=False)
    assert (1, 1) == (result.status, result.err.count("\n"))


def test_a_lagging_page_is_an_error_only_when_strict(ready: TestRepo) -> None:
    """After a merge on the host pages lag; that is a notice unless --strict is given."""
    ready.run("decide", "Use SQLite")
    ready.run("project")
    (item,) = (ready.path / ".cortex" / "decisions").glob("*.md")
    item.unlink()
    assert 0 == ready.run("verify").status
    assert 1 == ready.run("verify", "--strict", check=False).status


def test_wrong_settings_are_found(ready: TestRepo) -> None:
    """A setting that there is not is an error of its file."""
    ready.write({".cortex/config.toml": "nonsense = 1\n"})
    result = ready.run("verify", check=False)
    assert 1 == result.status
    assert ".cortex/config.toml:1: error: there is no setting nonsense\n" in result.out
