"""Pages and items through real merges, rebases, cherry-picks and reverts, with the real hooks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import TestRepo

from cortex_git.config import Config
from cortex_git.projections import pages
from cortex_git.projections.items import items_at
from cortex_git.store.open import open_backend
from cortex_git.store.repo import require

EVERYWHERE = '[projections]\npages = "every-branch"\n'


def start(repo: TestRepo, settings: str = "") -> TestRepo:
    """Give a repository a memory whose folder is committed on main."""
    repo.commit({"f": "1\n"})
    repo.run("init")
    if settings:
        repo.write({".cortex/config.toml": settings})
    repo.git("add", "-A")
    repo.commit(message="Start a memory")
    return repo


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with pages on the default branch only."""
    return start(repo)


@pytest.fixture
def everywhere(repo: TestRepo) -> TestRepo:
    """A repository with pages on every branch."""
    return start(repo, EVERYWHERE)


def branch(repo: TestRepo, name: str, at: str, count: int = 3) -> None:
    """Make a branch with some decisions, one a commit."""
    repo.git("switch", "-qc", name, at)
    for number in range(count):
        repo.run("decide", f"{name} decides {number}")
        repo.commit({f"{name}-{number}": "x\n"})


def files_at(repo: TestRepo, rev: str = "HEAD") -> dict[str, bytes]:
    """Path to content of everything under `.cortex/` in a commit."""
    return items_at(open_backend(require(str(repo.path), os.environ), "git"), rev)


def is_regenerated(repo: TestRepo, rev: str = "HEAD", accepted: bool | None = None) -> bool:
    """Whether the pages of a commit are what its items are rendered to."""
    files = files_at(repo, rev)
    footer = pages.footer_of(files[".cortex/decisions.md"])
    assert footer is not None
    rendered = pages.pages(files, Config(), accepted=footer.accepted if accepted is None else accepted)
    return rendered.items() <= files.items()


def untouched(repo: TestRepo) -> bool:
    """Whether index and work tree are what HEAD is, and nothing went wrong in a hook."""
    log = repo.path / ".git" / "cortex" / "log"
    assert not log.exists(), log.read_text()
    return repo.git("status", "--porcelain", "-uall") == ""


def decisions(repo: TestRepo, rev: str = "HEAD") -> int:
    """How many decisions stand in a commit."""
    return len(repo.git("ls-tree", "-r", "--name-only", rev, ".cortex/decisions").splitlines())


def test_pages_on_every_branch_are_rendered_in_the_merge(everywhere: TestRepo) -> None:
    """Pages that both sides changed come out of a merge as the items of both give them, in the merge commit itself."""
    branch(everywhere, "one", "main")
    branch(everywhere, "two", "main")
    everywhere.git("merge", "-q", "--no-edit", "one")

    assert 6 == decisions(everywhere)
    assert is_regenerated(everywhere, accepted=False)
    assert untouched(everywhere)
    everywhere.git("switch", "-q", "main")
    everywhere.commit({"f": "2\n"})
    everywhere.git("merge", "-q", "--no-edit", "one")
    everywhere.git("merge", "-q", "--no-edit", "two")
    assert 6 == decisions(everywhere)
    assert untouched(everywhere)


def test_pages_on_every_branch_are_rendered_in_each_commit_of_a_rebase(everywhere: TestRepo) -> None:
    """Each replayed commit has the pages of its own items."""
    branch(everywhere, "one", "main")
    branch(everywhere, "two", "main")
    everywhere.git("rebase", "-q", "one")

    assert 6 == decisions(everywhere)
    assert all(is_regenerated(everywhere, f"HEAD~{number}", accepted=False) for number in range(3))
    assert untouched(everywhere)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "way", ["--rebase-merges", *(pytest.param(way, marks=SLOW) for way in ("--merge", "--exec=true", "--autosquash"))]
)
def test_pages_survive_every_kind_of_rebase(everywhere: TestRepo, way: str) -> None:
    """Whatever replays the commits."""
    branch(everywhere, "one", "main")
    branch(everywhere, "two", "main", 2)
    branch(everywhere, "three", "two~1", 2)
    everywhere.git("merge", "-q", "--no-edit", "two")
    everywhere.git("rebase", "-q", "-i", way, "one", variables={"GIT_SEQUENCE_EDITOR": ":"})

    assert 7 == decisions(everywhere)
    assert is_regenerated(everywhere, accepted=False)
    assert untouched(everywhere)


def test_cherry_pick_and_revert_render_pages(everywhere: TestRepo) -> None:
    """One commit or several, applied or taken back."""
    branch(everywhere, "one", "main")
    branch(everywhere, "two", "main")
    everywhere.git("cherry-pick", "one~1")

    assert 4 == decisions(everywhere) and is_regenerated(everywhere)
    everywhere.git("cherry-pick", "one~2", "one")
    assert 6 == decisions(everywhere) and is_regenerated(everywhere)
    everywhere.git("revert", "--no-edit", "HEAD~4")
    assert 5 == decisions(everywhere) and is_regenerated(everywhere)
    everywhere.git("revert", "--no-edit", "HEAD~3", "HEAD~2")
    assert 3 == decisions(everywhere) and is_regenerated(everywhere)
    assert untouched(everywhere)


def test_a_criss_cross_merge_renders_pages(everywhere: TestRepo) -> None:
    """With two merge bases git merges these first, and pages are right all the same."""
    branch(everywhere, "one", "main", 2)
    branch(everywhere, "two", "main", 2)
    everywhere.git("branch", "old")
    everywhere.git("merge", "-q", "--no-edit", "one")
    everywhere.run("decide", "two goes on")
    everywhere.git("rm", "-q", next(name for name in files_at(everywhere) if "one-decides-0" in name))
    everywhere.commit({"two-more": "x\n"})
    everywhere.git("switch", "-q", "one")
    everywhere.git("merge", "-q", "--no-edit", "old")
    everywhere.run("decide", "one goes on")
    everywhere.commit({"one-more": "x\n"})
    everywhere.git("merge", "-q", "--no-edit", "two")

    assert 2 == len(everywhere.git("merge-base", "--all", "HEAD^1", "HEAD^2").splitlines())
    assert 5 == decisions(everywhere)
    assert is_regenerated(everywhere, accepted=False)
    assert untouched(everywhere)


def test_two_clones_pull_from_each_other(team: TestRepo, tmp_path: Path) -> None:
    """Pages on main that two people changed are right in the merge that a pull makes, and in a rebasing pull."""
    team.run("decide", "together")
    team.commit({"g": "1\n"})
    mate = TestRepo(tmp_path / "mate")
    team.git("clone", "-q", str(team.path), str(mate.path))
    mate.run("init")
    for number, way in enumerate(("--no-rebase", "--rebase")):
        for repo, text, name in ((team, "Use WAL", "h"), (mate, "Use FTS5", "i")):
            repo.run("decide", f"{text} {number}")
            repo.commit({f"{name}{number}": "1\n"})
        mate.git("pull", "-q", way, "--no-edit")

        assert 3 + 2 * number == decisions(mate)
        assert is_regenerated(mate, accepted=True)
        assert untouched(mate)
        assert "0 errors, 0 notices" in mate.run("verify", "--strict").out
        team.git("pull", "-q", "--ff-only", str(mate.path), "main")


def test_project_commits_what_it_writes_and_nothing_else(team: TestRepo) -> None:
    """`project --commit` mends the pages that a merge on the host has left behind; what else is staged stays so."""
    branch(team, "one", "main")
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "--no-ff", "one")
    team.write({"f": "2\n", "g": "1\n"})
    team.git("add", "g")

    assert 4 == len(team.run("project", "--commit").out.splitlines())
    assert is_regenerated(team)
    assert "M f\nA  g" == team.git("status", "--porcelain").strip()
    assert 4 == len(team.git("show", "--name-only", "--format=", "HEAD").splitlines())
    assert "" == team.run("project", "--commit").out
    assert 2 == team.run("project", "--commit", "--check", check=False).status


def test_project_in_a_checkout_without_a_memory(team: TestRepo, tmp_path: Path) -> None:
    """CI renders the pages of the default branch from a shallow clone without notes, hooks or `init`."""
    branch(team, "one", "main")
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--no-edit", "--no-ff", "one")
    runner = TestRepo(tmp_path / "runner")
    team.git("clone", "-q", "--depth=1", f"file://{team.path}", str(runner.path))

    assert 4 == len(runner.run("project", "--check", check=False).out.splitlines())
    assert 4 == len(runner.run("project", "--commit").out.splitlines())
    assert is_regenerated(runner, accepted=True)
    assert "0 errors, 0 notices" in runner.run("verify", "--strict").out
    assert "" == runner.git("status", "--porcelain")
    assert runner.run("status", check=False).status != 0


@pytest.mark.parametrize("known", [True, False], ids=["driver", "no driver"])
def test_states_that_moved_on_after_a_squash_merge(team: TestRepo, known: bool) -> None:
    """An item that main has as it was born and the branch as superseded: settled here, a conflict on a host."""
    team.git("switch", "-qc", "one")
    team.run("decide", "Use files")
    team.commit({"one": "1\n"})
    team.git("switch", "-q", "main")
    team.git("merge", "-q", "--squash", "one")
    team.git("commit", "-q", "-m", "squashed")
    team.git("switch", "-q", "one")
    (old,) = (event["id"] for event in json.loads(team.run("log", "--json", "--type", "decision").out))
    team.run("supersede", old, "--by", "Use SQLite")
    team.commit({"two": "2\n"})
    if not known:
        (team.path / ".git" / "info" / "attributes").unlink()
    team.git("merge", "-q", "--no-edit", "main", check=known)

    files = {path: data.decode() for path, data in files_at(team).items() if "use-files" in path}
    if known:
        assert ["superseded"] == [text.partition("status: ")[2].partition("\n")[0] for text in files.values()]
        assert untouched(team)
    else:
        assert "<<<<<<< " in "".join(team.read(path) for path in files)


def test_states_that_contradict_each_other_conflict(team: TestRepo) -> None:
    """Two branches that supersede one decision differently are for their people to settle."""
    team.run("decide", "Use files")
    team.commit({"one": "1\n"})
    (old,) = (event["id"] for event in json.loads(team.run("log", "--json", "--type", "decision").out))
    team.git("branch", "one")
    for name, text in (("main", "Use SQLite"), ("one", "Use paper")):
        team.git("switch", "-q", name)
        team.run("supersede", old, "--by", text)
        team.commit({text: "2\n"})
    team.git("merge", "-q", "--no-edit", "main", check=False)

    conflicts = team.git("diff", "--name-only", "--diff-filter=U").splitlines()
    assert 1 == len(conflicts) and "use-files" in conflicts[0]
    assert "<<<<<<< ours" in team.read(conflicts[0])
    assert [] == [name for name in os.listdir(team.path) if name.startswith(".merge_file")]
    assert "conflict" in team.run("verify", check=False).out


def test_init_brings_the_merge_drivers_up_to_date(team: TestRepo) -> None:
    """What an earlier version left is found by doctor and replaced by init; uninstall leaves nothing."""
    attributes = team.path / ".git" / "info" / "attributes"
    right = attributes.read_text()
    attributes.write_text(right.replace("/.cortex/briefing.md", "/.cortex/former.md"))
    team.git("config", "merge.cortex-pages.driver", "true")
    assert "merges do not treat .cortex/" in team.run("doctor", check=False).out
    team.run("init")

    assert sorted(right.splitlines()) == sorted(attributes.read_text().splitlines())
    assert "merges do not treat .cortex/" not in team.run("doctor", check=False).out
    team.run("uninstall")
    assert "merge.cortex" not in team.git("config", "--local", "--list")
    assert not attributes.exists()
