"""Where git runs us and who asks: linked work trees, moved clones, CI, others' repositories, history that is gone."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import formats
import pytest
from conftest import TestRepo

from cortex_git.errors import CortexError
from cortex_git.store.repo import Repo, require


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with a memory whose folder is committed on main."""
    repo.commit({"f": "1\n"})
    repo.run("init", "--no-claude")
    repo.git("add", "-A")
    repo.commit(message="Start a memory")
    return repo


def seen(repo: TestRepo, *arguments: str, cwd: Path | None = None) -> set[str]:
    """What `log` shows of decisions."""
    out = repo.run("log", "--json", "--type", "decision", *arguments, cwd=cwd).out
    return {event["content"] for event in json.loads(out)}


def items(repo: TestRepo) -> list[str]:
    return repo.git("ls-tree", "-r", "--name-only", "HEAD", ".cortex/decisions").splitlines()


def complaints(repo: TestRepo) -> str:
    log = Path(require(str(repo.path), os.environ).home, "log")
    return log.read_text() if log.exists() else ""


def linked(repo: TestRepo, branch: str = "side", *options: str) -> TestRepo:
    """A linked work tree beside the repository, with a branch of its own."""
    repo.git("worktree", "add", "-q", *options, "-b", branch, f"../{branch}")
    return TestRepo(repo.path.parent / branch)


# ---- hooks and where they run


def test_hooks_work_in_a_clone_that_was_moved(team: TestRepo) -> None:
    """C10: after its folder was renamed a clone records as before, and is the same clone."""
    before = team.git("config", "cortex.clone")
    moved = TestRepo(team.path.rename(team.path.parent / "moved"))
    moved.run("decide", "Use SQLite")
    moved.commit({"g": "1\n"})

    assert (1, before) == (len(items(moved)), moved.git("config", "cortex.clone"))
    assert "inactive" not in moved.run("doctor", check=False).out
    assert "" == complaints(moved)


def test_a_stale_hooks_path_is_named(team: TestRepo, tmp_path: Path) -> None:
    """C10: where core.hooksPath names a folder that is gone git runs no hook file, and that is said."""
    if formats.reads_hook_settings():
        pytest.skip("this git runs hooks from settings, wherever core.hooksPath leads")
    team.git("config", "core.hooksPath", str(tmp_path / "old/.git/hooks"))

    assert str(tmp_path / "old/.git/hooks") in team.run("doctor", check=False).out


@pytest.mark.parametrize("hooks_path", ["", "relative"])
def test_a_commit_in_a_linked_work_tree_is_recorded(hooks_path: str, team: TestRepo) -> None:
    """C11, C12, C66: hooks run there, also with `init` run there, and write nothing where it does not belong."""
    side = linked(team)
    if hooks_path and not formats.reads_hook_settings():
        # Relative to the root of each work tree: git looks for it there.
        team.git("config", "core.hooksPath", "hooks")
        for tree in (team, side):
            tree.write({"hooks/README": ""})
        assert "core.hooksPath is hooks" in side.run("doctor", check=False).out
        return
    side.run("init", "--no-claude")
    side.run("decide", "Use SQLite")
    before = {path.name for path in side.path.iterdir()} | {path.name for path in team.path.parent.iterdir()}
    side.commit({"g": "1\n"})

    assert (1, {"Use SQLite"}, set()) == (len(items(side)), seen(side), seen(team))
    after = {path.name for path in side.path.iterdir()} | {path.name for path in team.path.parent.iterdir()}
    assert {"g"} == after - before
    assert not list(Path(team.path, ".git/worktrees").rglob("hooks"))
    assert ("", "") == (side.git("status", "--porcelain"), complaints(side))


def test_relative_work_trees(team: TestRepo) -> None:
    """Work trees that are linked by relative paths move along with their repository."""
    if "relative-paths" not in team.git("worktree", "add", "-h", check=False, variables={"LC_ALL": "C"}) + str(
        subprocess.run(["git", "worktree", "add", "-h"], capture_output=True, cwd=team.path).stdout
    ):
        pytest.skip("this git links work trees by absolute paths only")
    linked(team, "side", "--relative-paths")
    assert "true" == team.git("config", "extensions.relativeWorktrees")
    team.path.parent.joinpath("new").mkdir()
    for name in ("repo", "side"):
        (team.path.parent / name).rename(team.path.parent / "new" / name)
    side = TestRepo(team.path.parent / "new/side")
    side.run("decide", "Use SQLite")
    side.commit({"g": "1\n"})

    assert (1, {"Use SQLite"}) == (len(items(side)), seen(side))


def test_variables_of_a_hook_are_not_passed_on(team: TestRepo, tmp_path: Path) -> None:
    """C64: what a linked work tree's git says to its hooks leads no command astray that is about another repository."""
    side = linked(team)
    other = TestRepo.make(tmp_path / "other")
    other.commit({"x": "1"})
    git_dir = side.git("rev-parse", "--absolute-git-dir")
    variables = {"GIT_DIR": git_dir, "GIT_INDEX_FILE": f"{git_dir}/index", "GIT_PREFIX": ""}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        there = Repo.discover(str(other.path), {})
        here = Repo.discover(str(side.path), os.environ)
        assert there is not None
        assert here is not None
        assert other.path.name == Path(os.fsdecode(there.git("rev-parse", "--show-toplevel").strip())).name
        assert "x" == there.git("ls-files").decode().strip()
        assert (git_dir, str(side.path), "side") == (here.git_dir, here.work_tree, here.branch())


def test_each_event_belongs_to_the_callers_work_tree(team: TestRepo) -> None:
    """C67: one process that serves two work trees records under the branch of the one that asks."""
    side = linked(team)
    (side.path / "deep").mkdir()
    team.run("decide", "On the side", cwd=side.path / "deep")
    team.run("decide", "On main")

    assert ({"On main"}, {"On the side"}) == (seen(team), seen(team, cwd=side.path))


def test_no_work_tree_and_no_branch_is_ours(team: TestRepo) -> None:
    """C69, C94: after a day's work there are only the user's work trees, branches and tags."""
    for n in range(3):
        team.run("decide", f"Number {n}")
        team.commit({"f": str(n)})
    team.git("switch", "-qc", "feature")
    team.commit({"g": "1\n"})
    team.run("search", "number")

    assert 1 == len(team.git("worktree", "list").splitlines())
    assert ["refs/heads/feature", "refs/heads/main"] == team.git(
        "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags"
    ).splitlines()


def test_a_branch_that_has_not_adopted_the_folder(team: TestRepo) -> None:
    """C16: a commit on an orphan branch goes through, and no file of ours comes into it or into the work tree."""
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("switch", "-q", "--orphan", "pages")
    team.run("decide", "Use a theme")
    team.commit({"index.html": "x"})

    assert "index.html" == team.git("ls-tree", "-r", "--name-only", "HEAD")
    assert (["index.html"], "") == (sorted(p.name for p in team.path.iterdir() if p.name != ".git"), complaints(team))
    assert {"Use a theme"} == seen(team)


def test_a_hook_runs_in_a_subdirectory_and_through_git_c(team: TestRepo) -> None:
    """`git -C` and a subdirectory make no difference."""
    team.write({"src/deep/h": "1\n"})
    team.run("decide", "Use SQLite", cwd=team.path / "src/deep")
    subprocess.run(["git", "add", "."], cwd=team.path / "src/deep", check=True)
    subprocess.run(["git", "-C", str(team.path / "src"), "commit", "-qm", "x"], cwd="/", check=True)

    assert (1, {"Use SQLite"}) == (len(items(team)), seen(team, cwd=team.path / "src"))


# ---- repositories without a work tree, of others, and read-only


def test_bare_and_mirror_clones_say_what_they_are(team: TestRepo, tmp_path: Path) -> None:
    """Where there is no work tree there is nothing to set up: one line says so, and `verify` asks for a folder."""
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    for kind in ("--bare", "--mirror"):
        team.git("clone", "-q", kind, str(team.path), str(tmp_path / f"c{kind}"))
        clone = TestRepo(tmp_path / f"c{kind}")
        refused = clone.run("init", "--no-claude", check=False)
        assert (1, 1) == (refused.status, refused.err.count("\n"))
        assert "bare" in refused.err
        assert "git cortex init" in clone.run("log", check=False).err


def test_a_bare_repository_with_a_memory_is_read(team: TestRepo, tmp_path: Path) -> None:
    """A bare repository that has linked work trees with a memory answers from its own folder, too."""
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("clone", "-q", "--bare", str(team.path), str(tmp_path / "bare.git"))
    TestRepo(tmp_path / "bare.git").git("worktree", "add", "-q", "-b", "side", "../tree")
    tree = TestRepo(tmp_path / "tree")
    tree.run("init", "--no-claude")

    assert {"Use SQLite"} == seen(tree) == seen(TestRepo(tmp_path / "bare.git"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give a repository to another user")
def test_a_repository_of_another_user_is_left_to_git(team: TestRepo, home: Path) -> None:
    """C91: where git refuses for its owner's sake commands say how to trust it; trusted, all works, without libgit2."""
    team.run("decide", "Use SQLite")
    for path in [team.path, *team.path.rglob("*")]:
        os.chown(path, 65534, 65534, follow_symlinks=False)
    refused = team.run("log", check=False)
    assert (1, 1) == (refused.status, refused.err.count("\n"))
    assert "safe.directory" in refused.err
    with pytest.raises(CortexError, match="another user"):
        Repo.discover(str(team.path / ".git"), os.environ)

    trusted = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": str(team.path)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in trusted.items():
            patch.setenv(name, value)
        assert {"Use SQLite"} == seen(team)
        team.commit({"g": "1\n"})
        assert 1 == len(items(team))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
def test_a_read_only_repository_can_be_read(team: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository on a disk that cannot be written answers all questions and refuses to record in one line."""
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    nobody = 65534
    team.run("search", "SQLite")  # loads what only this user may read
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == 0 and len(path.parts) > 2:
            path.chmod(path.stat().st_mode | 0o055)
    for path in [team.path, *team.path.rglob("*")]:
        os.chown(path, nobody, nobody, follow_symlinks=False)
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o555)
    settings = tmp_path / "gitconfig"
    settings.write_bytes(Path(os.environ["GIT_CONFIG_GLOBAL"]).read_bytes())
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    os.seteuid(nobody)
    try:
        shown, found = team.run("log"), team.run("search", "SQLite")
        refused = team.run("decide", "Use WAL", check=False)
    finally:
        os.seteuid(0)

    assert "Use SQLite" in shown.out
    assert "Use SQLite" in found.out
    assert (1, "") == (refused.status, refused.out)
    assert 1 == refused.err.count("\n")


# ---- CI


def test_a_checkout_in_ci(team: TestRepo, tmp_path: Path) -> None:
    """C93: a detached checkout of depth 1 without notes, as a workflow makes it, can be verified and read."""
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("switch", "-qc", "feature")
    team.run("plan", "set", "Ship it", input="- [ ] Build\n", check=False)
    team.run("decide", "Use WAL")
    sha = team.commit({"h": "1\n"})
    team.git("config", "uploadpack.allowAnySHA1InWant", "true")
    there = TestRepo.make(tmp_path / "work")
    there.git("remote", "add", "origin", f"file://{team.path}")
    there.git(
        "-c", "protocol.version=2", "fetch", "-q", "--no-tags", "--prune", "--no-recurse-submodules", "--depth=1",
        "origin", f"+{sha}:refs/remotes/pull/1/merge",
    )  # fmt: skip
    there.git("checkout", "-q", "--force", "refs/remotes/pull/1/merge")

    assert "0 errors" in there.run("verify").out
    assert "git cortex init" in there.run("log", check=False).err

    there.run("init", "--no-claude", "--yes")
    assert {"Use SQLite", "Use WAL"} == seen(there)
    variables = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(there.path), "GITHUB_HEAD_REF": "feature"}
    found = Repo.discover(str(there.path), {**os.environ, **variables})
    assert found is not None
    assert "feature" == found.branch()
    elsewhere = Repo.discover(str(there.path), {**os.environ, **variables, "GITHUB_WORKSPACE": str(tmp_path)})
    assert elsewhere is not None
    assert elsewhere.branch() is None


# ---- history that is gone


def test_history_that_was_filtered(team: TestRepo) -> None:
    """C105: after every commit was made anew memory is found under the branches' names and in the items."""
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("switch", "-qc", "feature")
    team.run("decide", "Use WAL")
    team.commit({"secret": "1\n"})
    team.git("switch", "-q", "main")
    stream = subprocess.run(
        ["git", "fast-export", "--branches"], cwd=team.path, capture_output=True, check=True
    ).stdout  # fmt: skip
    filtered = stream.replace(b"<ada@example.org>", b"<eve@example.org>")
    subprocess.run(["git", "fast-import", "--force", "--quiet"], cwd=team.path, input=filtered, check=True)
    team.git("reset", "-q", "--hard")
    team.git("reflog", "expire", "--expire=now", "--all")
    team.git("gc", "-q", "--prune=now")

    assert {"Use SQLite"} == seen(team)
    assert {"Use SQLite", "Use WAL"} == seen(team, "--branch", "feature")
    before = items(team)
    team.run("decide", "Use FTS5")
    team.commit({"h": "1\n"})
    assert 1 == len(set(items(team)) - set(before))
    assert ("", "") == (complaints(team), team.git("fsck", "--no-dangling"))


def test_a_fresh_root(team: TestRepo) -> None:
    """C105: a branch whose history was dropped for one new root keeps what stands in its files, and its own memory."""
    team.run("decide", "Use SQLite")
    team.commit({"g": "1\n"})
    team.git("checkout", "-q", "--orphan", "fresh")
    team.git("commit", "-qm", "All in one")
    team.git("branch", "-M", "fresh", "main")
    team.git("reflog", "expire", "--expire=now", "--all")
    team.git("gc", "-q", "--prune=now")

    assert {"Use SQLite"} == seen(team)
    team.run("decide", "Use WAL")
    team.commit({"h": "1\n"})
    assert ({"Use SQLite", "Use WAL"}, 2) == (seen(team), len(items(team)))
    assert "" == complaints(team)
