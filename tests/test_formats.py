"""Repositories of formats that libgit2 does not know: a little of each in every run.

`make test-all` runs the whole suite on each; see `formats.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import formats
import pytest
from conftest import TestRepo

from cortex_git.store.gitcli import GitBackend
from cortex_git.store.libgit2 import Libgit2Backend
from cortex_git.store.open import open_backend
from cortex_git.store.repo import require

OPTIONS = {"sha256": "--object-format=sha256", "reftable": "--ref-format=reftable"}


@pytest.fixture(params=["sha256", "reftable"])
def odd(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> TestRepo:
    """A repository of a format that libgit2 does not know, with a memory whose folder is committed on main."""
    if reason := formats.missing(request.param):
        pytest.skip(reason)
    repo = TestRepo.make(tmp_path / "odd", OPTIONS[request.param])
    repo.commit({"f": "1\n"})
    repo.run("init")
    repo.git("add", "-A")
    repo.commit(message="Start a memory")
    return repo


def capture(repo: TestRepo, text: str) -> None:
    """What the assistant's client does with a prompt."""
    payload = json.dumps({"session_id": "s1", "prompt": f"[MEMORY: decision] {text}"})
    common = repo.git("rev-parse", "--path-format=absolute", "--git-common-dir")
    subprocess.run(
        ["sh", f"{common}/cortex/hooks/capture", "UserPromptSubmit"], cwd=repo.path, input=payload.encode(), check=True
    )


def seen(repo: TestRepo, *arguments: str) -> set[str]:
    """What `log` shows of decisions."""
    return {event["content"] for event in json.loads(repo.run("log", "--json", "--type", "decision", *arguments).out)}


def faultless(repo: TestRepo) -> bool:
    """Whether git finds nothing wrong, the work tree is clean and no hook had anything to complain of."""
    log = Path(require(str(repo.path), os.environ).home, "log")
    clean = repo.git("status", "--porcelain") == "" and repo.git("fsck", "--no-dangling") == ""
    assert not log.exists(), log.read_text()
    return clean


def test_memory_follows_the_branches(odd: TestRepo) -> None:
    """What is decided on a branch is committed there and seen there alone, until it is merged."""
    odd.git("switch", "-qc", "feature")
    odd.run("decide", "Use SQLite")
    odd.commit({"g": "1\n"})
    odd.git("switch", "-q", "main")
    assert set() == seen(odd)

    odd.commit({"h": "1\n"})
    odd.git("merge", "-q", "--no-edit", "feature")

    assert {"Use SQLite"} == seen(odd)
    assert "Use SQLite" in odd.read(".claude/rules/cortex-briefing.md")
    assert faultless(odd)


def test_what_was_said_before_the_branch_was_made_goes_with_it(odd: TestRepo) -> None:
    """A branch made by `git switch -c`, and by `git branch` before it is checked out, takes along what is open."""
    odd.run("decide", "Use SQLite")
    odd.git("switch", "-qc", "feature")

    assert {"Use SQLite"} == seen(odd)

    odd.commit({"g": "1\n"})
    odd.git("switch", "-q", "main")
    assert {"Use SQLite"} == seen(odd)
    assert faultless(odd)


def test_a_payload_belongs_to_the_branch_on_which_it_was_written(odd: TestRepo) -> None:
    """The shim, which starts neither Python nor git where it can avoid it, knows the branch also here."""
    odd.git("switch", "-qc", "feature")
    capture(odd, "Use SQLite")
    odd.git("checkout", "-q", "--detach")
    capture(odd, "Use WAL")
    odd.git("switch", "-q", "main")
    capture(odd, "Use FTS5")

    assert {"Use FTS5"} == seen(odd)
    assert {"Use SQLite"} == seen(odd, "--branch", "feature")
    odd.git("checkout", "-q", "--detach")
    assert "Use WAL" in seen(odd)


def test_a_shim_without_git_keeps_the_payload(odd: TestRepo) -> None:
    """Where the shim cannot ask git for the branch, the payload counts for the one that is there when it is read."""
    capture(odd, "Use SQLite")
    [record] = Path(odd.git("rev-parse", "--absolute-git-dir"), "cortex/spool").glob("r.*")
    data = record.read_bytes()
    assert b"\nhead ref: refs/heads/main\n" in data
    record.write_bytes(data.replace(b"\nhead ref: refs/heads/main\n", b"\nhead ref: refs/heads/.invalid\n"))

    assert {"Use SQLite"} == seen(odd)


def test_rebase_amend_and_rename(odd: TestRepo) -> None:
    """Memory stays with commits that are made anew and with a branch that is renamed."""
    odd.git("switch", "-qc", "feature")
    odd.run("decide", "Use SQLite")
    odd.commit({"g": "1\n"})
    odd.git("commit", "-q", "--amend", "-m", "Amended")
    odd.git("switch", "-q", "main")
    odd.commit({"h": "1\n"})
    odd.git("rebase", "-q", "main", "feature")
    odd.git("branch", "-m", "feature", "topic")
    assert {"Use SQLite"} == seen(odd)

    odd.git("switch", "-q", "main")
    odd.git("merge", "-q", "--ff-only", "topic")

    assert {"Use SQLite"} == seen(odd)
    assert faultless(odd)


def test_a_deleted_item_is_rejected(odd: TestRepo) -> None:
    """A decision whose file is removed in a commit does not come back."""
    odd.run("decide", "Use SQLite")
    odd.commit({"g": "1\n"})
    odd.git("rm", "-qr", ".cortex/decisions")
    odd.commit(message="Not this")
    odd.commit({"h": "1\n"})

    assert set() == seen(odd)
    assert "" == odd.git("ls-files", ".cortex/decisions")


def test_linked_work_trees(odd: TestRepo, tmp_path: Path) -> None:
    """A linked work tree has its own HEAD and the same memory, and its hooks run."""
    odd.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    linked = TestRepo(tmp_path / "linked")
    capture(linked, "Use SQLite")
    linked.commit({"g": "1\n"})

    assert ({"Use SQLite"}, set()) == (seen(linked), seen(odd))
    assert 1 == len(linked.git("ls-files", ".cortex/decisions").splitlines())
    assert faultless(odd)
    assert faultless(linked)


def test_an_unborn_and_an_orphan_branch(odd: TestRepo, tmp_path: Path) -> None:
    """What is said before a branch has a commit is in its first one."""
    odd.git("switch", "-q", "--orphan", "fresh")
    odd.run("decide", "Use SQLite")

    assert {"Use SQLite"} == seen(odd)

    odd.commit({"g": "1\n"})
    assert {"Use SQLite"} == seen(odd)


def test_the_default_branch_is_the_remotes(odd: TestRepo, tmp_path: Path) -> None:
    """A clone learns the default branch from its remote: there what is committed counts as accepted."""
    odd.run("decide", "Use SQLite")
    odd.commit({"g": "1\n"})
    odd.git("branch", "-m", "main", "trunk")
    odd.git("clone", "-q", str(odd.path), str(tmp_path / "clone"))
    clone = TestRepo(tmp_path / "clone")
    clone.run("init")

    assert "trunk" == require(str(clone.path), os.environ).default_branch()
    assert {"Use SQLite"} == seen(clone)


def test_git_is_asked_for_head_once(odd: TestRepo, tmp_path: Path) -> None:
    """While no ref moves, HEAD is asked for once, however often it is needed; a commit or a switch is seen at once."""
    repo = require(str(odd.path), os.environ)
    first, line = repo.head(), repo.head_line()
    trace = tmp_path / "trace"
    old = os.environ.get("PATH", "")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text(f'#!/bin/sh\necho x >>"{trace}"\nPATH="{old}" exec git "$@"\n')
    (tmp_path / "bin/git").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path / 'bin'}:{old}")
        assert [first, line, "main"] * 3 == [repo.head(), repo.head_line(), repo.branch()] * 3
    assert not trace.exists()

    second = odd.commit({"g": "1\n"})
    assert second == repo.head()
    odd.git("switch", "-qc", "feature")
    assert "feature" == repo.branch()
    odd.git("checkout", "-q", "--detach")
    assert (None, second) == (repo.branch(), repo.head_line())


def test_libgit2_is_not_taken_for_a_partial_clone(tmp_path: Path, repo: TestRepo) -> None:
    """libgit2 opens a partial clone, and then takes for missing what git would fetch."""
    repo.commit({"a": "1"})
    for settings in ({"remote.origin.promisor": "true"}, {"extensions.partialClone": "origin"}):
        for name, value in settings.items():
            repo.git("config", name, value)
        assert isinstance(open_backend(require(str(repo.path), os.environ)), GitBackend)
        for name in settings:
            repo.git("config", "--unset", name)

    if not formats.FORMAT:
        assert isinstance(open_backend(require(str(repo.path), os.environ)), Libgit2Backend)


@pytest.mark.skipif(not formats.reads_hook_settings(), reason="this git reads no hooks from its settings")
def test_hooks_from_settings_run_beside_a_manager(repo: TestRepo, tmp_path: Path) -> None:
    """Where git has hooks in its settings ours are there, and run whatever core.hooksPath says, in every work tree."""
    repo.commit({"f": "1\n"})
    repo.write({".husky/_/pre-commit": f"#!/bin/sh\necho theirs >>'{tmp_path}/ran'\n"})
    (repo.path / ".husky/_/pre-commit").chmod(0o755)
    repo.git("config", "core.hooksPath", ".husky/_")
    repo.run("init", "--no-claude")
    repo.git("add", "-A")
    repo.commit(message="Start a memory")
    assert "pre-commit" == repo.git("config", "hook.cortex-pre-commit.event")
    assert not [path for path in (repo.path / ".git/hooks").iterdir() if path.suffix != ".sample"]

    repo.run("decide", "Use SQLite")
    repo.commit({"g": "1\n"})
    assert 1 == len(repo.git("ls-files", ".cortex/decisions").splitlines())
    assert "theirs\n" * 2 == (tmp_path / "ran").read_text()

    repo.git("worktree", "add", "-q", "-b", "side", "../side")
    side = TestRepo(repo.path.parent / "side")
    side.run("decide", "Use WAL")
    side.commit({"h": "1\n"})
    assert 2 == len(side.git("ls-files", ".cortex/decisions").splitlines())
    assert faultless(side)
    assert "inactive" not in repo.run("doctor", check=False).out
