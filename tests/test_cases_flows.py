"""What people do with git all day, with our hooks and without: git says and does the same."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TestRepo
from setting_up import init, uninstall

Step = tuple[str, ...]

BASE = (
    ("write", "f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
    ("add", "f"),
    ("commit", "-m", "f"),
    ("switch", "-c", "topic"),
    ("write", "g", "g\n"),
    ("add", "g"),
    ("commit", "-m", "g"),
    ("write", "h", "h\n"),
    ("add", "h"),
    ("commit", "-m", "h"),
    ("switch", "main"),
)
CONFLICT = (
    ("switch", "topic"),
    ("write", "f", "topic\n"),
    ("commit", "-am", "topic"),
    ("switch", "main"),
    ("write", "f", "main\n"),
    ("commit", "-am", "main"),
)
FLOWS: dict[str, tuple[Step, ...]] = {
    "partial commits": (
        ("write", "f", "2\n"),
        ("write", "g", "3\n"),
        ("add", "g"),
        ("commit", "-m", "x", "-o", "f"),
        ("status", "--short"),
        ("write", "f", "3\n"),
        ("commit", "-m", "y", "-i", "f"),
        ("write", "f", "4\n"),
        ("commit", "-m", "z", "f"),
    ),
    "no-verify": (("commit", "--allow-empty", "--no-verify", "-m", "x"), ("commit", "--allow-empty", "-m", "y")),
    "aborted commits": (
        ("write", "f", "x\n"),
        ("add", "f"),
        ("-c", "core.editor=false", "commit"),
        ("commit", "-m", ""),
        ("status", "--short"),
        ("switch", "-c", "elsewhere"),
        ("reset", "--hard"),
        ("switch", "main"),
    ),
    "nothing to commit": (("commit", "-m", "x"), ("commit", "--amend", "-m", "f")),
    "amend": (("commit", "--amend", "-m", "other"), ("commit", "--amend", "--reset-author", "--no-edit")),
    "cherry-pick": (("cherry-pick", "topic~1", "topic"), ("cherry-pick", "--abort")),
    "cherry-pick with a conflict": (
        *CONFLICT,
        ("cherry-pick", "topic"),
        ("cherry-pick", "--abort"),
        ("cherry-pick", "topic"),
        ("write", "f", "both\n"),
        ("add", "f"),
        ("cherry-pick", "--continue"),
    ),
    "revert": (("merge", "--no-ff", "topic", "-m", "m"), ("revert", "-m", "1", "HEAD"), ("revert", "HEAD")),
    "am": (
        ("format-patch", "-o", "../patches", "main..topic"),
        ("am", "../patches/0001-g.patch", "../patches/0002-h.patch"),
        ("am", "../patches/0001-g.patch"),
        ("am", "--abort"),
    ),
    "bisect": (
        ("switch", "topic"),
        ("bisect", "start"),
        ("bisect", "bad"),
        ("bisect", "good", "main~1"),
        ("bisect", "run", "false"),
        ("bisect", "reset"),
    ),
    "stash": (
        ("write", "f", "x\n"),
        ("write", "new", "x\n"),
        ("stash", "push", "-u", "-m", "s"),
        ("switch", "topic"),
        ("stash", "pop"),
        ("stash",),
        ("switch", "main"),
        ("stash", "branch", "from-stash"),
    ),
    "merge": (("merge", "topic"), ("merge", "topic"), ("reset", "--hard", "HEAD~1"), ("merge", "--squash", "topic")),
    "merge with a conflict": (
        *CONFLICT,
        ("merge", "topic"),
        ("merge", "--abort"),
        ("merge", "topic"),
        ("write", "f", "both\n"),
        ("commit", "-am", "merged"),
    ),
    "rebase": (
        ("commit", "--allow-empty", "-m", "x"),
        ("switch", "topic"),
        ("rebase", "main"),
        ("-c", "sequence.editor=sed -i 2s/pick/fixup/", "rebase", "-i", "HEAD~2"),
        ("rebase", "--onto", "main", "HEAD~1"),
    ),
    "rebase with a conflict": (
        *CONFLICT,
        ("rebase", "topic"),
        ("rebase", "--abort"),
        ("rebase", "topic"),
        ("write", "f", "both\n"),
        ("add", "f"),
        ("-c", "core.editor=true", "rebase", "--continue"),
    ),
    "checkouts": (
        ("write", "f", "x\n"),
        ("checkout", "--", "f"),
        ("checkout", "--detach"),
        ("commit", "--allow-empty", "-m", "detached"),
        ("checkout", "topic"),
        ("checkout", "-"),
        ("switch", "--orphan", "bare"),
        ("commit", "--allow-empty", "-m", "orphan"),
        ("switch", "main"),
        ("branch", "-m", "topic", "renamed"),
        ("branch", "-D", "renamed"),
    ),
    "pushes": (
        ("push", "-u", "origin", "main"),
        ("push", "--dry-run", "origin", "topic"),
        ("push", "origin", "topic", "HEAD:refs/heads/x"),
        ("push", "origin", ":x"),
        ("push", "--tags"),
        ("push",),
        ("commit", "--amend", "-m", "rewritten"),
        ("push", "origin", "main"),
        ("push", "--force", "origin", "main"),
        ("fetch", "origin"),
        ("pull", "--rebase"),
    ),
    "a linked work tree": (
        ("worktree", "add", "../wt", "topic"),
        ("-C", "../wt", "commit", "--allow-empty", "-m", "x"),
        ("-C", "../wt", "rebase", "main"),
        ("worktree", "list"),
        ("worktree", "remove", "../wt"),
    ),
    "a subdirectory": (
        ("write", "sub/dir/x", "x\n"),
        ("-C", "sub/dir", "add", "x"),
        ("-C", "sub/dir", "commit", "-m", "x"),
        ("-C", "sub/dir", "commit", "--amend", "-m", "y"),
        ("-C", "sub", "switch", "-c", "z"),
    ),
    "from outside": (
        ("-C", "..", "--git-dir=repo/.git", "--work-tree=repo", "commit", "--allow-empty", "-m", "x"),
        ("-C", "/", "--git-dir={here}/.git", "--work-tree={here}", "commit", "--allow-empty", "-m", "y"),
    ),
    "a submodule": (
        ("submodule", "add", "../hub.git", "sub"),
        ("commit", "-m", "sub"),
        ("-C", "sub", "commit", "--allow-empty", "-m", "inside"),
        ("add", "sub"),
        ("commit", "-m", "moved"),
    ),
}


ALWAYS = ("partial commits", "pushes", "a linked work tree")
"""What each run of the tests does without a memory to write; the rest is for the long run."""
ALWAYS_WITH_MEMORY = ("partial commits",)


def flows(always: tuple[str, ...]) -> list[object]:
    """All flows, marked as slow but for some."""
    return [flow if flow in always else pytest.param(flow, marks=pytest.mark.slow) for flow in FLOWS]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same repository twice, with its hub: in `ours` with our hooks, in `plain` without, `.cortex/` in both."""
    folder = tmp_path_factory.mktemp("pair")
    patch = pytest.MonkeyPatch()
    patch.setenv("HOME", str(folder))
    ours = TestRepo.make(folder / "ours" / "repo")
    hub = TestRepo.make(folder / "ours" / "hub.git", "--bare")
    init(ours.path)
    ours.git("add", ".cortex")
    ours.commit()
    ours.git("remote", "add", "origin", "../hub.git")
    ours.git("push", "-q", "origin", "main:start")
    hub.git("symbolic-ref", "HEAD", "refs/heads/start")
    shutil.copytree(ours.path.parent, folder / "plain", symlinks=True)
    plain = TestRepo(folder / "plain" / "repo")
    uninstall(plain.path, forget=True)
    assert [] == [p for p in (plain.path / ".git" / "hooks").glob("p*") if p.suffix != ".sample"]
    patch.undo()
    return folder


@pytest.fixture
def twins(pair: Path, tmp_path: Path, home: Path) -> tuple[TestRepo, TestRepo]:
    """A copy of the pair for one test."""
    for name in ("ours", "plain"):
        shutil.copytree(pair / name, tmp_path / name, symlinks=True)
    return TestRepo(tmp_path / "ours" / "repo"), TestRepo(tmp_path / "plain" / "repo")


def take(repo: TestRepo, step: Step, dates: dict[str, str]) -> tuple[int, str, str]:
    """Do one step; returns status and output, in which the place of the repository does not show."""
    if step[0] == "write":
        repo.write({step[1]: step[2]})
        return 0, "", ""
    here = str(repo.path)
    done = subprocess.run(
        ["git", *(word.replace("{here}", here) for word in step)],
        cwd=repo.path,
        env={**os.environ, **dates},
        capture_output=True,
        text=True,
    )
    parent = str(repo.path.parent)
    return done.returncode, done.stdout.replace(parent, "…"), done.stderr.replace(parent, "…")


def look(repo: TestRepo) -> tuple[str, str, str]:
    """What stands on which branch, and what git sees in the work tree."""
    refs = repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/remotes", "refs/tags")
    return refs, repo.git("status", "--porcelain", "--branch"), repo.git("stash", "list", "--format=%gd %T")


@pytest.mark.parametrize("flow", flows(ALWAYS))
def test_with_nothing_to_remember_git_is_as_without_us(flow: str, twins: tuple[TestRepo, TestRepo]) -> None:
    """Status, every word of output, every commit, and what is in the work tree: all the same, step by step."""
    ours, plain = twins
    for step in (*BASE, *FLOWS[flow]):
        dates = ours.dates()
        assert take(plain, step, dates) == take(ours, step, dates), step
        assert look(plain) == look(ours), step


@pytest.mark.parametrize("flow", flows(ALWAYS_WITH_MEMORY))
def test_with_something_to_remember_git_is_not_in_the_way(flow: str, twins: tuple[TestRepo, TestRepo]) -> None:
    """Every step ends as without us, says nothing of us on standard output, and leaves nothing in the work tree."""
    ours, plain = twins
    for number, step in enumerate((*BASE, *FLOWS[flow])):
        ours.run("decide", f"Number {number} was chosen")
        dates = ours.dates()
        wanted, got = take(plain, step, dates), take(ours, step, dates)
        if wanted[0] != got[0]:  # a commit may have something to hold where it would have been empty
            assert step[0] in ("commit", "cherry-pick", "am", "rebase"), (step, wanted, got)
        assert "git cortex" not in got[1] and "Traceback" not in got[2]
        if got[0]:
            ours.run("log")  # what an aborted commit has staged goes with the next hook or command
        for line in ours.git("status", "--porcelain").splitlines():
            assert ".cortex/" not in line or _in_between(ours), (step, line)
    fsck = ("fsck", "--strict", "--no-dangling")  # of a commit without files git says that its tree is missing
    assert plain.git(*fsck, check=False) == ours.git(*fsck, check=False)
    log = ours.path / ".git" / "cortex" / "log"
    assert "Traceback" not in (log.read_text() if log.exists() else "")


def _in_between(repo: TestRepo) -> bool:
    """Whether git itself is in the middle of something."""
    names = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "SQUASH_MSG")
    return any((repo.path / ".git" / name).exists() for name in names)
