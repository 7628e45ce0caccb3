"""Clones of every shape: whatever git works in, memory is found, read, and committed with the code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import TestRepo

from cortex_git.store.repo import require


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestRepo]:
    """What is cloned: `Use SQLite` and a fact are committed, `Use Oracle` was, and was taken out again."""
    base = tmp_path_factory.mktemp("original")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(base))
        yield made(base / "origin")


@pytest.fixture
def origin(original: TestRepo, tmp_path: Path, home: Path) -> TestRepo:
    """The same, to be changed."""
    shutil.copytree(original.path, tmp_path / "origin", symlinks=True)
    return TestRepo(tmp_path / "origin")


def made(place: Path) -> TestRepo:
    repo = TestRepo.make(place)
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    repo.commit({"f": "1\n", "src/g": "1\n"})
    repo.run("init")
    repo.git("add", "-A")
    repo.commit(message="Start a memory")
    for text in ("Use Oracle", "Use SQLite"):
        repo.run("decide", text)
        repo.commit({"f": text})
    repo.git("rm", "-q", *(name for name in items(repo) if "oracle" in name))
    repo.run("learn", "The tests need a network")
    repo.commit({"f": "3\n"}, "Not Oracle")
    return repo


def items(repo: TestRepo, rev: str = "HEAD") -> list[str]:
    return repo.git("ls-tree", "-r", "--name-only", rev, ".cortex/decisions").splitlines()


def seen(repo: TestRepo, *arguments: str) -> set[str]:
    """What `log` shows of decisions."""
    return {event["content"] for event in json.loads(repo.run("log", "--json", "--type", "decision", *arguments).out)}


def said(repo: TestRepo, event: str, text: str) -> subprocess.CompletedProcess[bytes]:
    """What the assistant's client does with a hook payload."""
    home = require(str(repo.path), os.environ).home
    kind = "capture" if event == "UserPromptSubmit" else "drain"
    payload = json.dumps({"session_id": "s1", "prompt": text, "last_assistant_message": text, "cwd": str(repo.path)})
    return subprocess.run(
        ["sh", f"{home}/hooks/{kind}", event], cwd=repo.path, input=payload.encode(), capture_output=True
    )


def complaints(repo: TestRepo) -> str:
    """What hooks had to say here."""
    log = Path(require(str(repo.path), os.environ).home, "log")
    return log.read_text() if log.exists() else ""


Shape = Callable[[TestRepo, Path], TestRepo]


def cloned(*options: str, **settings: str) -> Shape:
    def make(origin: TestRepo, place: Path) -> TestRepo:
        origin.git(
            "clone",
            "-q",
            *(o.format(place=place, origin=origin.path) for o in options),
            f"file://{origin.path}",
            str(place / "c"),
        )
        repo = TestRepo(place / "c")
        for name, value in settings.items():
            repo.git("config", name.replace("__", "."), value)
        return repo

    return make


def sparse(origin: TestRepo, place: Path) -> TestRepo:
    repo = cloned("--filter=blob:none", "--sparse")(origin, place)
    repo.git("sparse-checkout", "set", "src")
    return repo


def work_tree_of_bare(origin: TestRepo, place: Path) -> TestRepo:
    origin.git("clone", "-q", "--bare", str(origin.path), str(place / "bare.git"))
    TestRepo(place / "bare.git").git("worktree", "add", "-q", "../main", "main")
    return TestRepo(place / "main")


def bare_in_a_folder(origin: TestRepo, place: Path) -> TestRepo:
    origin.git("clone", "-q", "--bare", str(origin.path), str(place / "project/.bare"))
    (place / "project/.git").write_text("gitdir: ./.bare\n")
    TestRepo(place / "project").git("worktree", "add", "-q", "main", "main")
    return TestRepo(place / "project/main")


def submodule(origin: TestRepo, place: Path) -> TestRepo:
    outer = TestRepo.make(place / "outer")
    outer.git("submodule", "--quiet", "add", str(origin.path), "part")
    outer.commit(message="With a part")
    return TestRepo(outer.path / "part")


def through_a_link(origin: TestRepo, place: Path) -> TestRepo:
    repo = cloned()(origin, place)
    (place / "link").symlink_to(repo.path)
    return TestRepo(place / "link")


def odd_folder(origin: TestRepo, place: Path) -> TestRepo:
    return cloned()(origin, place / "a\nb \"c\" 'd' $(e)")


def elsewhere(origin: TestRepo, place: Path) -> TestRepo:
    """The git directory is told the work tree by a setting."""
    repo = cloned("--no-checkout")(origin, place)
    (place / "tree").mkdir()
    repo.git("config", "core.worktree", str(place / "tree"))
    (place / "tree/.git").write_text(f"gitdir: {place}/c/.git\n")
    tree = TestRepo(place / "tree")
    tree.git("reset", "-q", "--hard")
    return tree


def sparse_config(origin: TestRepo, place: Path) -> TestRepo:
    """Work trees with settings of their own, as git makes them for sparse checkouts."""
    repo = cloned(extensions__worktreeConfig="true")(origin, place)
    repo.git("config", "--worktree", "core.sparseCheckout", "false")
    return repo


def grafted(origin: TestRepo, place: Path) -> TestRepo:
    """Others' history stands before ours by `git replace`."""
    repo = cloned()(origin, place)
    root = repo.git("rev-list", "--max-parents=0", "HEAD")
    older = repo.git("commit-tree", "-m", "Older", repo.git("rev-parse", f"{root}^{{tree}}"))
    repo.git("replace", "--graft", root, older)
    return repo


SHAPES: dict[str, Shape] = {
    "plain": cloned(),
    "depth 1": cloned("--depth=1"),
    "single branch": cloned("--single-branch"),
    "another name for origin": cloned("--origin=upstream"),
    "partial": cloned("--filter=blob:none"),
    "treeless": cloned("--filter=tree:0"),
    "sparse and partial": sparse,
    "alternates": cloned("--shared"),
    "reference": cloned("--reference={origin}"),
    "separate git dir": cloned("--separate-git-dir={place}/gitdir"),
    "work tree of a bare repository": work_tree_of_bare,
    "bare repository in a folder": bare_in_a_folder,
    "submodule": submodule,
    "through a link": through_a_link,
    "odd folder": odd_folder,
    "work tree elsewhere": elsewhere,
    "settings of a work tree": sparse_config,
    "no reflogs": cloned(core__logAllRefUpdates="false"),
    "replaced history": grafted,
}


_QUICK = ("depth 1", "partial", "sparse and partial", "bare repository in a folder", "odd folder", "no reflogs")


@pytest.mark.parametrize(
    "shape", [pytest.param(name, marks=[] if name in _QUICK else [pytest.mark.slow]) for name in SHAPES]
)
def test_memory_works_in_a_clone_of_any_shape(shape: str, original: TestRepo, tmp_path: Path, home: Path) -> None:
    """What was committed is known, what was taken out is not, and what is said there is in the next commit."""
    (tmp_path / "place").mkdir()
    repo = SHAPES[shape](original, tmp_path / "place")
    repo.run("init", "--no-claude")
    assert {"Use SQLite"} == seen(repo)

    repo.git("switch", "-qc", "feature")
    said(repo, "UserPromptSubmit", "[MEMORY: decision] Use WAL")
    said(repo, "Stop", "Done.")
    before = set(items(repo))
    repo.commit({"src/h": "1\n"})

    assert {"Use SQLite", "Use WAL"} == seen(repo)
    assert 1 == len(set(items(repo)) - before), complaints(repo)
    assert "" == repo.git("status", "--porcelain")
    assert "" == complaints(repo)


def fetches(trace: Path) -> int:
    """How often git went to a remote, by its own account."""
    lines = trace.read_text().splitlines() if trace.exists() else []
    starts = [json.loads(line) for line in lines if '"event":"start"' in line]
    return sum("fetch" in start["argv"] for start in starts)


@pytest.mark.parametrize("kind", ["--filter=blob:none", "--filter=tree:0"])
def test_a_partial_clone_fetches_at_once(kind: str, origin: TestRepo, tmp_path: Path) -> None:
    """However many items history has held, what is not here comes in a few fetches, once, and no hook waits for it."""
    for n in range(6):
        origin.run("decide", f"Number {n}")
        origin.commit({"f": f"{n}"})
        origin.git("rm", "-q", *(name for name in items(origin) if f"number-{n}" in name))
    origin.commit({"f": "end"})
    clone = cloned(kind)(origin, tmp_path)
    trace = tmp_path / "trace"
    variables = {"GIT_TRACE2_EVENT": str(trace)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_TRACE2_EVENT", str(trace))
        clone.run("init", "--no-claude")
        assert {"Use SQLite"} == seen(clone)
        assert 0 < fetches(trace) <= 4

        trace.unlink()
        assert {"Use SQLite"} == seen(clone)
        clone.run("search", "SQLite")
        assert 0 == fetches(trace)

    clone.write({"f": "here\n"})
    clone.git("commit", "-qam", "Here", variables=variables)
    clone.git("switch", "-qc", "feature", variables=variables)
    assert 0 == fetches(trace)
    assert "" == complaints(clone)


def test_without_a_network_a_partial_clone_does_not_wait_each_time(origin: TestRepo, tmp_path: Path) -> None:
    """What cannot be fetched is left out, and not asked for again by each command; hooks do not even try."""
    clone = cloned("--filter=blob:none")(origin, tmp_path)
    clone.git("remote", "set-url", "origin", str(tmp_path / "gone"))
    clone.run("init", "--no-claude")
    trace = tmp_path / "trace"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_TRACE2_EVENT", str(trace))
        for _ in range(3):
            assert {"Use SQLite"} == seen(clone)
    assert fetches(trace) <= 1

    clone.git("remote", "set-url", "origin", f"file://{origin.path}")
    (tmp_path / "c/.git/cortex/cache/promisor.json").unlink()
    assert {"Use SQLite"} == seen(clone)


def test_pages_of_a_sparse_partial_clone_lose_nothing(origin: TestRepo, tmp_path: Path) -> None:
    """A hook that cannot read all items leaves the pages as they are; `project` fetches what is missing."""
    clone = sparse(origin, tmp_path)
    clone.run("init", "--no-claude")
    clone.run("decide", "Use WAL")
    clone.commit({"src/h": "1\n"})
    clone.run("project")
    shown = clone.git("show", ":.cortex/decisions.md")

    assert ("Use SQLite" in shown, "Use WAL" in shown) in ((True, True), (True, False))
    clone.run("project", "--commit")
    assert "Use SQLite" in clone.git("show", "HEAD:.cortex/decisions.md")


def test_the_settings_of_a_sparse_checkout_are_the_teams(origin: TestRepo, tmp_path: Path) -> None:
    """Settings that the work tree leaves out hold all the same."""
    origin.write({".cortex/config.toml": "[projections]\ncommit = false\n"})
    origin.git("add", "-A")
    origin.commit(message="No files in commits")
    clone = cloned("--sparse")(origin, tmp_path)
    clone.git("sparse-checkout", "set", "src")
    assert not (clone.path / ".cortex").exists()
    clone.run("init", "--no-claude")
    before = items(clone)
    clone.run("decide", "Use WAL")
    clone.commit({"src/h": "1\n"})

    assert before == items(clone)


def test_a_shallow_clone_that_is_deepened_learns_what_was_taken_out(origin: TestRepo, tmp_path: Path) -> None:
    """What was kept of a short history does not stand in the way of the long one."""
    origin.git("remote", "add", "self", str(origin.path))
    clone = cloned("--depth=1")(origin, tmp_path)
    clone.run("init", "--no-claude")
    assert {"Use SQLite"} == seen(clone)
    # The event of the item that was taken out, as a fetch of the team's notes brings it.
    clone.git("fetch", "-q", "origin", "refs/notes/cortex/*:refs/cortex/remotes/origin/*")
    clone.git("fetch", "-q", "--unshallow")

    assert {"Use SQLite"} == seen(clone)


def test_sync_in_a_partial_clone_brings_notes_whole(origin: TestRepo, tmp_path: Path) -> None:
    """C92: the team's notes come with one fetch, and reading them takes no other."""
    origin.git("clone", "-q", "--bare", str(origin.path), str(tmp_path / "hub.git"))
    hub = TestRepo(tmp_path / "hub.git")
    hub.git("config", "uploadpack.allowFilter", "true")
    hub.git("config", "uploadpack.allowAnySHA1InWant", "true")
    origin.git("remote", "add", "hub", str(hub.path))
    origin.run("share", "hub", "--yes")
    for n in range(4):
        origin.run("decide", f"Said only {n}")
        origin.run("sync")
    clone = cloned("--filter=blob:none")(hub, tmp_path)
    clone.run("init", "--no-claude")
    clone.run("sync")
    trace = tmp_path / "trace"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_TRACE2_EVENT", str(trace))
        clone.run("sync")
        assert fetches(trace) <= 2
        trace.unlink()
        assert {"Use SQLite", *(f"Said only {n}" for n in range(4))} == seen(clone)

    assert fetches(trace) <= 1  # what a commit took out again, of which only history knows
