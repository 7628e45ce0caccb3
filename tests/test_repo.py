"""Finding the repository, its HEAD and its settings."""

from __future__ import annotations

import os
from pathlib import Path

import formats
import pytest
from conftest import TestRepo

from cortex_git import config
from cortex_git.store.repo import Repo


def discover(path: Path | str, **variables: str) -> Repo | None:
    return Repo.discover(str(path), {**os.environ, **variables})


def found(path: Path | str, **variables: str) -> Repo:
    repo = discover(path, **variables)
    assert repo is not None
    return repo


def test_a_subdirectory_is_the_same_memory(repo: TestRepo) -> None:
    """From anywhere in the work tree the same folders are found."""
    repo.write({"src/deep/file": ""})

    assert (found(repo.path).home, str(repo.path)) == (
        found(repo.path / "src/deep").home,
        found(repo.path / "src").work_tree,
    )


def test_a_linked_work_tree_is_the_same_memory(repo: TestRepo) -> None:
    """A linked work tree shares the memory and has a HEAD of its own."""
    repo.commit()
    repo.git("worktree", "add", "-q", "-b", "other", "../linked")
    linked = found(repo.path.parent / "linked")

    assert found(repo.path).home == linked.home
    assert ("main", "other") == (found(repo.path).branch(), linked.branch())


def test_a_path_may_hold_line_ends(tmp_path: Path, home: Path) -> None:
    """A linked work tree is found where the path of the repository has line ends in it."""
    main = TestRepo.make(tmp_path / "one\ntwo" / "main")
    main.commit()
    main.git("worktree", "add", "-q", "-b", "other", "../linked")
    linked = found(main.path.parent / "linked")

    assert (found(main.path).home, "other") == (linked.home, linked.branch())


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_the_end_of_the_file_that_names_a_git_directory_does_not_count(repo: TestRepo, end: str) -> None:
    """As to git, line ends at the end are no part of the path."""
    repo.commit()
    repo.git("worktree", "add", "-q", "-b", "other", "../linked")
    linked = repo.path.parent / "linked"
    git_dir = repo.path / ".git/worktrees/linked"
    (linked / ".git").write_bytes(os.fsencode(f"gitdir: {git_dir}{end}"))
    (git_dir / "commondir").write_bytes(os.fsencode(f"../..{end}"))

    assert (str(git_dir), found(repo.path).home) == (found(linked).git_dir, found(linked).home)


def test_a_submodule_has_a_memory_of_its_own(repo: TestRepo, tmp_path: Path) -> None:
    """Within a submodule it is the submodule's repository that counts."""
    TestRepo.make(tmp_path / "part").commit({"f": "x"})
    repo.git("submodule", "add", "-q", str(tmp_path / "part"), "part")

    inner = found(repo.path / "part")

    assert str(repo.path / ".git/modules/part") == inner.common_dir
    assert str(repo.path / "part") == inner.work_tree


def test_outside_of_a_repository_nothing_is_found(tmp_path: Path) -> None:
    """A folder that lies in no repository has no memory."""
    assert discover(tmp_path) is None


def test_a_bare_repository_has_no_work_tree(tmp_path: Path, home: Path) -> None:
    """A bare repository is found, from its folder and from one inside it."""
    TestRepo.make(tmp_path / "bare.git", "--bare")

    for place in ("bare.git", "bare.git/refs"):
        assert found(tmp_path / place).work_tree is None


def test_git_says_where_a_hook_runs(repo: TestRepo, tmp_path: Path) -> None:
    """GIT_DIR, which git sets for its hooks, counts more than the working directory."""
    assert (
        str(repo.path / ".git")
        == found(tmp_path, GIT_DIR=str(repo.path / ".git"), GIT_WORK_TREE=str(repo.path)).git_dir
    )


@pytest.mark.parametrize("packed", [False, True])
def test_head_is_what_git_says(repo: TestRepo, packed: bool) -> None:
    """The commit of HEAD is read right from a loose and from a packed ref."""
    sha = repo.commit()
    if packed:
        repo.git("pack-refs", "--all")

    assert sha == found(repo.path).head()


def test_unborn_and_detached_heads_are_told_apart(repo: TestRepo) -> None:
    """An unborn branch has a name and no commit, a detached HEAD a commit and no name."""
    assert ("main", None) == (found(repo.path).branch(), found(repo.path).head())

    sha = repo.commit()
    repo.git("checkout", "-q", "--detach")

    assert (None, sha) == (found(repo.path).branch(), found(repo.path).head())


def test_during_a_rebase_the_branch_is_the_one_that_is_rebased(repo: TestRepo) -> None:
    """While a rebase has stopped at a conflict, HEAD is detached but the branch is known."""
    repo.commit({"f": "1"})
    repo.git("switch", "-qc", "feature")
    repo.commit({"f": "2"})
    repo.git("switch", "-q", "main")
    repo.commit({"f": "3"})
    repo.git("switch", "-q", "feature")
    repo.git("rebase", "-q", "main", check=False)

    assert "feature" == found(repo.path).branch()


def test_the_identity_is_that_of_git(repo: TestRepo) -> None:
    """Name and mail are git's; a repository that knows none gets a stand-in instead of an error."""
    repo.git("config", "user.name", "Grace <Hopper>")
    assert "Grace Hopper <ada@example.org>" == found(repo.path).identity()

    variables = {"GIT_COMMITTER_NAME": "Ci", "GIT_COMMITTER_EMAIL": "ci@example.org"}
    assert ("Ci <ci@example.org>", "Ci") == (
        found(repo.path, **variables).identity(),
        found(repo.path, **variables).author(),
    )


def test_settings_are_read_once_and_again_after_a_change(repo: TestRepo) -> None:
    """A setting takes effect, its cached copy is used, and an edit is seen at once."""
    path, cache = repo.path / "config.toml", repo.path / "cache.json"
    path.write_text("[briefing]\ntokens = 500\n")
    assert 500 == config.load(str(path), str(cache))[0].briefing_tokens
    assert 500 == config.load(str(path), str(cache))[0].briefing_tokens

    path.write_text("[briefing]\ntokens = 1500\n")

    assert 1500 == config.load(str(path), str(cache))[0].briefing_tokens


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[briefing]\ntokens = 'many'\n", "briefing.tokens must be a whole number"),
        ("[projections]\npages = 'sometimes'\n", "projections.pages must be one of default-branch"),
        ("[briefing]\ncolour = 1\n", "there is no setting briefing.colour"),
        ("default_branch = 3\n", "default_branch must be text"),
        ("[capture]\nignore = [1]\n", "capture.ignore must be a list of texts"),
        ("not toml", "cannot be read"),
    ],
)
def test_a_wrong_setting_is_named_and_keeps_its_default(tmp_path: Path, text: str, fault: str) -> None:
    """A mistake in the settings is one sentence, and never stops a hook."""
    (tmp_path / "config.toml").write_text(text)

    loaded, faults = config.load(str(tmp_path / "config.toml"), str(tmp_path / "cache.json"))

    assert fault in faults[0]
    assert 2000 == loaded.briefing_tokens


def test_every_setting_has_a_value_of_its_own_kind() -> None:
    """The defaults pass the check that a file's values must pass."""
    for name in config.SETTINGS:
        value = getattr(config.Config(), name)
        config._checked(name, list(value) if isinstance(value, tuple) else value)


def test_a_packed_head_costs_no_process(repo: TestRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loose or packed, of a branch or detached: HEAD is read from files, and so is whether a branch is there."""
    if formats.FORMAT == "reftable":
        pytest.skip("refs are no files here")
    sha = repo.commit()
    repo.git("branch", "topic")
    repo.git("pack-refs", "--all")
    repo.git("branch", "topic-2")
    here = found(repo.path)
    monkeypatch.setenv("PATH", "/nonexistent")

    assert (sha, "main") == (here.head(), here.branch())
    wanted = {"main": True, "topic": True, "topic-2": True, "top": False, "topic-": False, "opic": False, "": False}
    assert wanted == {name: here.has_ref(f"refs/heads/{name}") for name in wanted}


def test_head_may_be_a_link(repo: TestRepo) -> None:
    """As git wrote it once: a symbolic link to the branch's file."""
    if formats.FORMAT == "reftable":
        pytest.skip("refs are no files here")
    sha = repo.commit()
    (repo.path / ".git/HEAD").unlink()
    (repo.path / ".git/HEAD").symlink_to("refs/heads/main")

    assert ("main", sha, "ref: refs/heads/main") == (
        found(repo.path).branch(), found(repo.path).head(), found(repo.path).head_line()
    )  # fmt: skip


@pytest.mark.parametrize("setting", ["bare = true", "bare", 'worktree = "{path}"', "worktree = ../../elsewhere"])
def test_settings_may_move_the_work_tree(setting: str, repo: TestRepo, tmp_path: Path) -> None:
    """Where the settings say that there is no work tree, or another one, that is what git says."""
    (tmp_path / "elsewhere").mkdir()
    with (repo.path / ".git/config").open("a") as file:
        file.write("[core]\n\t" + setting.format(path=repo.path) + "\n")
    shown = repo.git("rev-parse", "--show-toplevel", check=False).splitlines()
    expected = shown[0] if shown and "bare" not in setting else None

    assert expected == found(repo.path).work_tree


def test_the_default_branch_is_that_of_the_only_remote(repo: TestRepo, tmp_path: Path) -> None:
    """Whatever the remote is called: where there is one, its HEAD counts."""
    repo.commit()
    repo.git("branch", "-m", "main", "trunk/é")
    repo.git("clone", "-q", "--origin", "upstream", str(repo.path), str(tmp_path / "clone"))

    assert "trunk/é" == found(tmp_path / "clone").default_branch()
