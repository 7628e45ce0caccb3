"""Names that people give to branches, folders and work trees, and what other systems make of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import formats
import pytest
from conftest import TestRepo

from cortex_git.store.repo import require

NAMES = {
    "arrow": "a->b",
    "pipe": "a|b",
    "quotes": 'it\'s-"so"',
    "shell": "$(touch-pwned);`x`&&y",
    "dots and equals": "v1.2=x.y",
    "percent": "100%s%20",
    "unicode": "фича/日本語-é",
    "decomposed": "caf" + "e\u0301",
    "space-like": "a\u00a0b\u2028c\u0085d",
    "right to left": "abc\u202egnp",
    "long": "x" * 240,
    "long in bytes": "日" * 80,
    "hash": "#12-fix",
    "at": "@",
    "at within": "me@home",
    "hex": "deadbeef",
    "like a detached head": "HEAD-1",
    "no UTF-8": os.fsdecode(b"caf\xe9"),
    "like our refs": "cortex/remotes/x",
    "brackets": "a]b(c)",
    "comma": "a,b",
}


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with a memory whose folder is committed on main."""
    repo.commit({"f": "1\n"})
    repo.run("init", "--no-claude")
    repo.git("add", "-A")
    repo.commit(message="Start a memory")
    return repo


def seen(repo: TestRepo, *arguments: str) -> set[str]:
    """What `log` shows of decisions."""
    return {event["content"] for event in json.loads(repo.run("log", "--json", "--type", "decision", *arguments).out)}


def own(repo: TestRepo) -> list[str]:
    """All refs of ours."""
    return repo.git("for-each-ref", "--format=%(refname)", "refs/notes", "refs/cortex").splitlines()


def complaints(repo: TestRepo) -> str:
    log = Path(require(str(repo.path), os.environ).home, "log")
    return log.read_text(errors="replace") if log.exists() else ""


def capture(repo: TestRepo, text: str) -> None:
    """What the assistant's client does with a prompt."""
    home = require(str(repo.path), os.environ).home
    payload = json.dumps({"session_id": "s1", "prompt": f"[MEMORY: decision] {text}"})
    command = ["sh", f"{home}/hooks/capture", "UserPromptSubmit"]
    subprocess.run(command, cwd=repo.path, input=payload.encode(), check=True)


_QUICK = ("arrow", "shell", "unicode", "long", "no UTF-8", "at", "space-like")


@pytest.mark.parametrize("kind", [pytest.param(k, marks=[] if k in _QUICK else [pytest.mark.slow]) for k in NAMES])
def test_a_branch_may_have_any_name(kind: str, team: TestRepo) -> None:
    """C73, C75: whatever git allows as a name works: a switch, a capture, a commit, a rebase, a rename, a merge."""
    name = NAMES[kind]
    team.git("switch", "-qc", name)
    capture(team, "Use SQLite")
    assert ({"Use SQLite"}, name) == (seen(team), require(str(team.path), os.environ).branch())
    team.commit({"g": "1\n"})
    team.git("switch", "-q", "main")
    assert set() == seen(team)
    assert {"Use SQLite"} == seen(team, "--branch", name)

    team.commit({"h": "1\n"})
    team.git("rebase", "-q", "main", f"refs/heads/{name}" if kind in ("at", "hex") else name, check=False)
    team.git("switch", "-q", name)
    team.git("branch", "-m", "plain")
    assert {"Use SQLite"} == seen(team)
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "plain")

    assert ({"Use SQLite"}, "") == (seen(team), complaints(team))
    assert "" == team.git("status", "--porcelain")
    assert not (team.path / "pwned").exists()
    assert all(re.fullmatch(r"refs/notes/cortex(-local)?/[0-9a-f]{12}/[0-9a-f]{8}", ref) for ref in own(team))
    # Names of files that Windows and macOS can have, whatever the branch is called.
    for path in team.git("ls-tree", "-r", "-z", "--name-only", "HEAD", ".cortex").split("\0"):
        assert re.fullmatch(r"[A-Za-z0-9._/-]*", path), path
        assert len(path) < 150


def test_a_branch_in_the_place_of_a_folder(team: TestRepo, tmp_path: Path) -> None:
    """C71: `feature`, deleted, and then `feature/x`: here, in the remote, and in another clone."""
    team.git("clone", "-q", "--bare", str(team.path), str(tmp_path / "hub.git"))
    team.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    team.run("share", "origin", "--yes")
    for name, text in (("feature", "Use SQLite"), ("feature/x", "Use WAL")):
        team.git("switch", "-q", "-c", name, "main")
        team.run("decide", text)
        team.commit({"g": text})
        team.git("push", "-q", "origin", name)
        assert {text} == seen(team)
        team.git("switch", "-q", "main")
        team.git("branch", "-qD", name)
        team.git("push", "-q", "origin", f":{name}") if name == "feature" else None
    team.run("sync")
    team.git("clone", "-q", str(tmp_path / "hub.git"), str(tmp_path / "other"))
    other = TestRepo(tmp_path / "other")
    other.run("init", "--no-claude")
    other.run("sync")
    other.git("switch", "-q", "feature/x")

    assert {"Use WAL"} == seen(other)
    assert ("", "") == (complaints(team), complaints(other))


@pytest.mark.skipif(formats.FORMAT == "reftable", reason="clones by copying packed files")
def test_names_that_differ_in_case(team: TestRepo) -> None:
    """C72: `Fix` and `fix` are two branches with two memories, under refs that no file system confuses."""
    for name, text in (("Fix", "Use SQLite"), ("fix", "Use WAL")):
        team.git("switch", "-q", "-c", name, "main")
        team.run("decide", text)
        team.commit({"g": text})

    assert {"Use WAL"} == seen(team)
    team.git("switch", "-q", "Fix")
    assert {"Use SQLite"} == seen(team)
    assert len({ref.lower() for ref in own(team)}) == len(own(team))
    assert [ref for ref in own(team) if ref != ref.lower()] == []


@pytest.mark.parametrize("name", ["HEAD", "-f", "--help"])
def test_names_that_only_plumbing_makes(name: str, team: TestRepo) -> None:
    """A branch called HEAD or like an option, which `git branch` refuses, stops neither commits nor commands."""
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("update-ref", f"refs/heads/{name}", "HEAD")
    team.git("symbolic-ref", "HEAD", f"refs/heads/{name}")
    team.commit({"h": "1\n"})

    assert {"Use SQLite"} == seen(team)
    team.run("decide", "Use WAL")
    team.commit({"i": "1\n"})
    assert {"Use SQLite", "Use WAL"} == seen(team)
    assert "" == complaints(team)
    assert 0 == team.run("status").status


def test_a_tag_of_the_same_name(team: TestRepo) -> None:
    """A tag that is called as the branch is confuses nobody."""
    team.git("switch", "-qc", "v1")
    team.git("tag", "v1", "HEAD~1")
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})

    assert ("v1", {"Use SQLite"}) == (require(str(team.path), os.environ).branch(), seen(team))
    team.git("switch", "-q", "main")
    assert {"Use SQLite"} == seen(team, "--branch", "v1")
    assert "" == complaints(team)


def test_a_branch_that_stands_for_another(team: TestRepo) -> None:
    """A symbolic ref, such as `master` for `main`, leads to a commit."""
    team.git("symbolic-ref", "refs/heads/master", "refs/heads/main")
    team.git("symbolic-ref", "HEAD", "refs/heads/master")
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})

    assert {"Use SQLite"} == seen(team)
    assert team.git("rev-parse", "HEAD") == require(str(team.path), os.environ).head()
    assert "" == complaints(team)


def test_a_renamed_a_copied_and_an_overwritten_branch(team: TestRepo) -> None:
    """C76: memory follows `branch -m`, `-c` and `-M` over a branch that was there, none of which runs a hook."""
    team.git("switch", "-qc", "a")
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("branch", "-m", "a", "b")
    assert {"Use SQLite"} == seen(team)

    team.git("branch", "-c", "b", "c")
    team.git("switch", "-q", "c")
    team.run("decide", "Only on c")
    assert {"Use SQLite", "Only on c"} == seen(team)
    team.commit({"h": "1\n"})
    team.git("switch", "-q", "b")
    assert {"Use SQLite"} == seen(team)

    team.git("switch", "-q", "c")
    team.git("branch", "-M", "c", "b")
    assert {"Use SQLite", "Only on c"} == seen(team)
    team.run("decide", "After all")
    assert {"Use SQLite", "Only on c", "After all"} == seen(team)
    assert "" == complaints(team)


def test_paths_that_are_no_text(team: TestRepo) -> None:
    """A file whose name is no UTF-8, or holds line ends and tabs, is worked on like any other."""
    for name in (b"caf\xe9", b"a\nb", b"c\td", b'q"u"o'):
        (team.path / os.fsdecode(name)).write_text("x")
    payload = {"session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": "Write", "tool_use_id": "t1"}
    data = json.dumps({**payload, "tool_input": {"file_path": str(team.path) + "/a\nb"}, "tool_response": {}})
    home = require(str(team.path), os.environ).home
    subprocess.run(["sh", f"{home}/hooks/capture", "PostToolUse"], cwd=team.path, input=data.encode(), check=True)
    team.run("decide", "Use SQLite")
    team.git("add", "-A")
    team.git("commit", "-qm", os.fsdecode(b"Latin caf\xe9"))

    assert {"Use SQLite"} == seen(team)
    assert ("", "") == (team.git("status", "--porcelain"), complaints(team))
