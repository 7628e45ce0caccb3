"""Cases of docs/cases.md that have no other home: names of branches, many events, old work trees, stacked branches."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT, TestRepo
from setting_up import init
from stores import opened, put
from team import Hub, seen
from test_cases_texts import sources, texts

from cortex_git.events import model
from cortex_git.events.codec import encode_segment
from cortex_git.events.model import Event
from cortex_git.store.gitcli import GitBackend
from cortex_git.store.notes import Writer
from cortex_git.store.repo import Repo


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository with a memory and a commit that holds `.cortex/`."""
    init(repo.path)
    repo.git("add", ".cortex")
    repo.commit({"a.txt": "a\n"})
    return repo


def log_of_hooks(repo: TestRepo) -> str:
    """What hooks could say to nobody."""
    path = repo.path / ".git" / "cortex" / "log"
    return path.read_text() if path.exists() else ""


# ---- names of branches

NAMES = ("feature", "Fix", "fix", "a->b", 'say"so"|now', "ä" * 60, "x/" * 50 + "y", "-".join(["long"] * 24))


def test_any_branch_name_travels(tmp_path: Path, home: Path) -> None:
    """Names that differ in case, are long, or that other systems cannot store: refs are short, plain and all arrive."""
    hub = Hub(tmp_path / "hub.git")
    one = hub.clone("one")
    for name in NAMES:
        one.git("switch", "-q", "-c", name, "main")
        one.run("decide", f"Said on {name}")
    one.run("sync")
    for ref in [*hub.refs(), *one.git("for-each-ref", "--format=%(refname)", "refs/cortex").splitlines()]:
        assert re.fullmatch(r"refs/(notes/)?cortex(-\w+)?(/[a-z0-9]+)+", ref) and len(ref) < 80
    other = hub.clone("other")
    other.run("sync")
    assert set(seen(other, "--all")) == {f"Said on {name}" for name in NAMES}


def test_a_name_below_the_name_of_a_deleted_branch(tmp_path: Path, home: Path) -> None:
    """`feature`, deleted, then `feature/x`: written, sent and fetched as if there had never been the other."""
    hub = Hub(tmp_path / "hub.git")
    one, other = hub.clone("one"), hub.clone("other")
    for name in ("feature", "feature/x"):
        one.git("switch", "-q", "-c", name, "main")
        one.run("decide", f"Said on {name}")
        one.git("commit", "-q", "--allow-empty", "-m", name)
        one.run("sync")
        other.run("sync")
        one.git("switch", "-q", "main")
        if name == "feature":
            one.git("branch", "-q", "-D", name)
    assert ["Said on feature", "Said on feature/x"] == seen(other, "--all")


def test_an_abandoned_branch(ready: TestRepo) -> None:
    """After `git branch -D` its memory is seen nowhere by default, is found on demand, and marked; its name is free."""
    ready.git("switch", "-q", "-c", "idea")
    ready.run("decide", "Use blockchain")
    ready.commit({"b.txt": "b\n"})
    ready.git("switch", "-q", "main")
    ready.git("branch", "-q", "-D", "idea")
    assert [] == seen(ready)
    assert ["Use blockchain"] == seen(ready, "--all") == seen(ready, "--branch", "idea")
    assert "Gone:       the branch is no longer there" in ready.run("log", "--all").out
    ready.git("switch", "-q", "-c", "idea")
    assert [] == seen(ready)


# ---- branches upon branches


def test_stacked_branches(ready: TestRepo) -> None:
    """`two` upon `one`, `one` squashed into main, `two` rebased onto it, merged: both decisions at each step, once."""
    ready.git("switch", "-q", "-c", "one")
    ready.run("decide", "The first")
    ready.commit({"one.txt": "1\n"})
    ready.git("switch", "-q", "-c", "two")
    ready.run("decide", "The second")
    ready.commit({"two.txt": "2\n"})
    assert ["The first", "The second"] == seen(ready)
    ready.git("switch", "-q", "main")
    ready.git("merge", "-q", "--squash", "one")
    ready.git("commit", "-q", "-m", "one, squashed")
    assert ["The first"] == seen(ready)
    ready.git("branch", "-q", "-D", "one")
    ready.git("switch", "-q", "two")
    ready.git("rebase", "-q", "--onto", "main", "HEAD~1")
    assert ["The first", "The second"] == seen(ready)
    ready.git("switch", "-q", "main")
    ready.git("merge", "-q", "two")
    assert ["The first", "The second"] == seen(ready)
    assert 2 == len(ready.git("ls-files", ".cortex/decisions").splitlines())


def test_a_stale_work_tree_takes_nothing_back(ready: TestRepo, tmp_path: Path) -> None:
    """A commit in a work tree at an old commit brings its own items alone: merged, main has all that it had."""
    tree = TestRepo(tmp_path / "tree")
    ready.git("worktree", "add", "-q", "-b", "old", str(tree.path))
    for number in range(5):
        ready.run("decide", f"Number {number}")
        ready.commit({f"{number}.txt": "x\n"})
    tree.run("decide", "From long ago")
    tree.commit({"tree.txt": "x\n"})
    assert ["From long ago"] == seen(tree)
    assert 1 == len(tree.git("ls-files", ".cortex/decisions").splitlines())
    ready.git("merge", "-q", "old", "-m", "m")
    assert ["From long ago", *(f"Number {number}" for number in range(5))] == seen(ready)


def test_replayed_commits_are_no_new_ones(ready: TestRepo) -> None:
    """Rebasing ten commits on a detached HEAD writes no event, changes no item, and nothing is under a wrong name."""
    ready.git("switch", "-q", "-c", "topic")
    for number in range(10):
        if number % 3 == 0:
            ready.run("decide", f"Number {number}")
        ready.commit({f"{number}.txt": "x\n"})
    ready.git("switch", "-q", "main")
    ready.commit({"main.txt": "x\n"})
    ready.git("switch", "-q", "topic")

    def everything() -> list[tuple[str, str, str]]:
        events = json.loads(ready.run("export", "--everything", "--all").out)
        return sorted((event["id"], event["type"], event.get("branch", "")) for event in events)

    before, items = everything(), ready.git("ls-files", ".cortex/decisions")
    ready.git("rebase", "-q", "main")
    assert (before, items) == (everything(), ready.git("ls-files", ".cortex/decisions"))
    assert {"topic"} == {branch for _, _, branch in before}
    assert "" == ready.git("status", "--short")


# ---- many events


def many(repo: TestRepo, count: int, size: int) -> None:
    """Store decisions, so many at a time."""
    found = Repo.discover(str(repo.path), {})
    assert found is not None
    writer = Writer(found, GitBackend(found), found.config())
    for first in range(0, count, size):
        times = (f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.000Z" for n in range(first, first + size))
        writer.write({"main": [Event(model.DECISION, f"At {time}", time=time, session="s") for time in times]})


@pytest.mark.parametrize("segments", [1, 50, 100, 300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_what_was_stored_is_read_back(segments: int, ready: TestRepo) -> None:
    """However many notes there are, and after git itself has chosen another fan-out for them, each is read back."""
    ready.run("decide", "The first")
    (ref,) = ready.git("for-each-ref", "--format=%(refname)", "refs/notes/cortex").splitlines()
    times = [f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.000Z" for n in range(segments - 1)]
    blobs = [encode_segment([Event(model.DECISION, f"At {time}", time=time, session="s")]) for time in times]
    put(opened("git", ready.path), *blobs, ref=ref)
    assert segments == len(seen(ready))
    ready.git("notes", f"--ref={ref}", "add", "-m", "a note of somebody's", "HEAD")
    assert segments == len(seen(ready))
    ready.git("notes", f"--ref={ref}", "prune")
    shutil.rmtree(ready.path / ".git" / "cortex" / "cache", ignore_errors=True)
    assert segments == len(seen(ready))


def test_many_events_are_few_objects_and_gc_is_safe(ready: TestRepo, tmp_path: Path) -> None:
    """2,000 events in turns of fifty: few loose objects, and after `git gc --auto` each work tree is sound."""
    tree = tmp_path / "tree"
    ready.git("worktree", "add", "-q", "-b", "other", str(tree))
    many(ready, 2000, 50)
    loose = int(ready.git("count-objects").split()[0])
    assert loose < 1000
    ready.git("-c", "gc.auto=1", "-c", "gc.autoDetach=false", "gc", "--auto", "--quiet")
    for place in (ready.path, tree):
        assert "" == ready.git("-C", str(place), "fsck", "--strict", "--no-dangling")
        assert "" == ready.git("-C", str(place), "status", "--short")
    assert 2000 == len(seen(ready))


def test_a_log_of_everything_lists_few_commits_of_ours(ready: TestRepo) -> None:
    """`git log --all` shows one commit a turn, not one an event, and none with the option that is documented."""
    many(ready, 1000, 50)
    code = len(ready.git("log", "--oneline", "HEAD").splitlines())
    assert 20 + code + 3 >= len(ready.git("log", "--all", "--oneline").splitlines())
    without = ("--exclude=refs/notes/*", "--exclude=refs/cortex/*", "--all", "--oneline")
    assert code == len(ready.git("log", *without).splitlines())


# ---- identity


def test_what_is_derived_can_be_deleted(ready: TestRepo) -> None:
    """All derived files deleted: the same ids, the same answers, nothing doubled."""
    payload = {"session_id": "s", "last_assistant_message": "[MEMORY: decision] Use SQLite", "stop_hook_active": False}
    drain = ready.path / ".git" / "cortex" / "hooks" / "drain"

    def stop() -> None:
        subprocess.run([drain, "Stop"], cwd=ready.path, input=json.dumps(payload).encode(), check=True)

    def answers() -> tuple[str, str, str]:
        found = json.loads(ready.run("search", "sqlite", "--json").out)
        return ready.run("log", "--json").out, ready.run("export", "--everything").out, str(Counter(map(str, found)))

    stop()
    ready.commit({"b.txt": "b\n"})
    before = answers()
    for name in ("cache", "index", "view", "state.json"):
        path = ready.path / ".git" / "cortex" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    stop()
    assert before == answers()
    assert "Traceback" not in log_of_hooks(ready)


def test_nothing_that_is_said_is_ever_run(ready: TestRepo) -> None:
    """Text with `$(…)`, backticks, quotes and dashes passes through hooks, git and files, and is text."""
    hostile = "$(touch pwned) `touch pwned`; touch pwned; \"'|& --upload-pack=touch\\n"
    payload = {"session_id": hostile, "prompt": f"[MEMORY: decision] {hostile}", "cwd": hostile}
    home = ready.path / ".git" / "cortex" / "hooks"
    for shim, event in (("capture", "UserPromptSubmit"), ("drain", "Stop")):
        subprocess.run([home / shim, event], cwd=ready.path, input=json.dumps(payload).encode(), check=True)
    ready.run("decide", hostile, "--reason", hostile, "--topic", "$(touch pwned)")
    ready.git("switch", "-q", "-c", "$(touch${IFS}pwned)")
    ready.commit({"b.txt": "b\n"})
    assert [] == list(ready.path.parent.rglob("pwned"))
    assert hostile.strip() in seen(ready)


def test_no_bit_hides_a_file() -> None:
    """Nothing of ours ever sets skip-worktree or assume-unchanged, which make a modified file block every checkout."""
    found = [(name, text) for name, tree in sources() for _, text in texts(tree)]
    assert [] == [entry for entry in found if re.search(r"^--(no-)?(skip-worktree|assume-unchanged)", entry[1])]
    assert [] == [p for p in (ROOT / "git-hooks").iterdir() if "skip-worktree" in p.read_text()]
