"""What status says of the next commit, what the commit says, and commits that have nothing but memory to bring."""

from __future__ import annotations

import json
import subprocess

import pytest
from conftest import TestRepo
from corrections import named, start


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A memory whose folder is committed, with real hooks."""
    return start(repo)


def commit(repo: TestRepo, *args: str) -> tuple[int, str]:
    """How `git commit` ends, and the line that the hook says."""
    done = subprocess.run(["git", "commit", "-qm", "x", *args], cwd=repo.path, capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("git cortex: ")]
    return done.returncode, "".join(lines)


def coming(repo: TestRepo) -> str:
    """What status says of the next commit."""
    lines = [line for line in repo.run("status").out.splitlines() if line.startswith("Next commit: ")]
    return lines[0].removeprefix("Next commit: ")


def prepare(repo: TestRepo, doing: str) -> str:
    """Something for a commit to bring; returns what status is to say."""
    if doing == "plan":
        repo.run("plan", "Ship it", "One")
        return "brings the plan into .cortex/"
    if doing == "fact":
        repo.run("learn", "The moon is rock")
        return "brings 1 into .cortex/"
    repo.run("decide", "Use SQLite")
    if doing == "decision":
        return "brings 1 into .cortex/"
    repo.run("project", "--commit")
    id = named(repo, "Use SQLite")
    if doing == "retract":
        repo.run("retract", id)
        return "changes the status of what is in .cortex/"
    repo.run("purge", id, "--yes")
    return "takes 1 file out of .cortex/"


@pytest.mark.parametrize("doing", ["decision", "fact", "plan", "retract", "purge"])
def test_memory_alone_is_left_to_its_own_command(ready: TestRepo, doing: str) -> None:
    """`git commit` of nothing leaves all as it is and names the command, which does what status says."""
    wanted = prepare(ready, doing)
    assert wanted == coming(ready)
    status, said = commit(ready)
    assert (1, "git cortex: only memory is to be committed; `git cortex project --commit` does that") == (status, said)
    assert "" == ready.git("status", "--porcelain")
    assert wanted == coming(ready)

    before = ready.git("rev-parse", "HEAD")
    ready.run("project", "--commit")
    assert before == ready.git("rev-parse", "HEAD^")
    assert "" == ready.git("status", "--porcelain")
    assert "brings nothing into .cortex/" == coming(ready)


@pytest.mark.parametrize("args", [("--allow-empty",), ("--amend",), ("--fixup=amend:HEAD", "--no-edit"), ("-a",)])
def test_a_commit_that_git_makes_takes_memory_along(ready: TestRepo, args: tuple[str, ...]) -> None:
    """Where git makes the commit anyhow, memory goes along."""
    ready.run("decide", "Use SQLite")
    if args == ("-a",):
        ready.write({"f": "2\n"})
    if "--no-edit" in args:
        done = subprocess.run(["git", "commit", "-q", args[0]], cwd=ready.path, capture_output=True, check=False)
        assert 0 == done.returncode, done.stderr
    else:
        assert 0 == commit(ready, *args)[0]
    assert "use-sqlite" in ready.git("ls-tree", "-r", "--name-only", "HEAD")


def test_what_project_staged_alone_is_committed(ready: TestRepo) -> None:
    """`git cortex project` stages, and then a plain commit has something to commit, a status as well."""
    prepare(ready, "retract")
    ready.run("project")
    assert "changes the status" in coming(ready)
    assert 0 == commit(ready)[0]
    assert "status: deprecated" in ready.git("show", "HEAD:" + ready.git("ls-files", ".cortex/decisions"))


def test_a_first_commit_of_nothing_is_none(repo: TestRepo) -> None:
    """Before the first commit an empty index is nothing to commit, and one with files takes memory along."""
    repo.run("init", "--yes", "--no-plugin")
    repo.run("decide", "Use SQLite")
    assert 1 == commit(repo)[0]
    assert "" == repo.git("ls-files")
    repo.git("add", "-A")
    assert 0 == commit(repo)[0]
    assert "use-sqlite" in repo.git("ls-files")


@pytest.mark.parametrize(
    ("doing", "said"),
    [
        ("decision", "adds .cortex/decisions/"),
        ("plan", "adds .cortex/plans/"),
        ("retract", "changes the status of .cortex/decisions/"),
        ("purge", "takes out .cortex/decisions/"),
    ],
)
def test_a_commit_says_what_it_does_to_each_file(ready: TestRepo, doing: str, said: str) -> None:
    """Files are added, changed or taken out; the pages are summed up."""
    prepare(ready, doing)
    ready.write({"g": "1\n"})
    ready.git("add", "g")
    status, line = commit(ready)
    assert (0, True, True) == (status, line.startswith(f"git cortex: {said}"), line.endswith(".md, and the pages")), (
        line
    )


@pytest.mark.parametrize("why", ["init --no-commit", "projections.commit"])
def test_nothing_is_promised_where_no_commit_takes_memory_along(repo: TestRepo, why: str) -> None:
    """Without the folder, or with `projections.commit = false`, status says that commits bring nothing, and why."""
    if why == "init --no-commit":
        repo.commit({"f": "1\n"})
        repo.run("init", "--no-commit", "--no-plugin")
    else:
        start(repo)
        path = repo.path / ".cortex/config.toml"
        repo.commit({".cortex/config.toml": path.read_text().replace("# commit = true", "commit = false")})
    repo.run("decide", "Use SQLite")
    assert coming(repo).startswith("takes no memory along; ")
    assert [] == json.loads(repo.run("status", "--json").out)["next_commit"]["events"]
