"""The notes refs that are kept are those that git lists, whatever moved them."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import TestRepo
from formats import FORMAT

from cortex_git.store import keys
from cortex_git.store.gitcli import GitBackend
from cortex_git.store.listing import PREFIXES, Listing, Tips
from cortex_git.store.repo import Repo, require

COMMITS = 3


@pytest.fixture
def listed(repo: TestRepo) -> Repo:
    """A repository in which memory is kept."""
    for number in range(COMMITS):
        repo.commit({"a.txt": f"{number}\n"})
    repo.run("init", "--yes", "--no-plugin")
    return require(str(repo.path), os.environ)


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A function that gives the git commands that were started since it was called before."""
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))

    def since() -> list[str]:
        lines = trace.read_text().splitlines() if trace.exists() else []
        trace.unlink(missing_ok=True)
        events = (json.loads(line) for line in lines)
        return [" ".join(event["argv"]) for event in events if event["event"] == "start"]

    return since


def _listing(repo: Repo) -> Listing:
    return Listing(repo, GitBackend(repo))


def _by_git(repo: Repo) -> tuple[dict[str, str], dict[str, str]]:
    found = GitBackend(repo).refs(*PREFIXES)
    tips = {name: tip for name, tip in found.items() if keys.key_in(name)}
    return tips, {name: tip for name, tip in found.items() if name not in tips}


def _check(repo: Repo) -> Tips:
    listing = _listing(repo)
    tips, others = listing.tips(), listing.others
    assert (dict(tips), others) == _by_git(repo)
    assert listing.stamp == tips.stamp
    return tips


def _names(repo: Repo) -> list[str]:
    some = [keys.key_of_name(f"branch-{number}") for number in range(4)]
    names = [keys.ref(space, key, repo.clone) for space in (keys.SHARED, keys.LOCAL) for key in some]
    names += [keys.ref(keys.SHARED, key, "0badcafe") for key in some[:2]]
    names += [f"{keys.REMOTES}/{remote}/{key}/0badcafe" for remote in ("origin", "a/b") for key in some]
    names += [f"{keys.SHARED}/archive/{repo.clone}", f"{keys.SHARED}-purged/{repo.clone}"]
    return [*names, f"{keys.REMOTES}/origin/purged/0badcafe", f"{keys.SHARED}/odd"]


def test_what_is_kept_is_what_git_lists_after_any_change(repo: TestRepo, listed: Repo) -> None:
    """After each of many updates, removals and packings in quick succession the listing is the one that git gives."""
    rng = random.Random(7)
    commits = repo.git("rev-list", "HEAD").split()
    names = _names(listed)
    seen: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for _ in range(60):
        action = rng.random()
        if action < 0.7:
            repo.git("update-ref", rng.choice(names), rng.choice(commits))
        elif action < 0.85:
            repo.git("update-ref", "-d", rng.choice(names))
        elif action < 0.95:
            repo.git("pack-refs", "--all")
        stamp = _check(listed).stamp
        state = _by_git(listed)
        assert seen.setdefault(stamp, state) == state


def test_a_pack_moves_no_ref(repo: TestRepo, listed: Repo) -> None:
    """Packing loose refs leaves the stamp as it is, so that nothing is made anew."""
    names = _names(listed)
    repo.git("update-ref", names[0], "HEAD")
    _check(listed)
    repo.git("update-ref", names[1], "HEAD")
    before = _check(listed).stamp
    repo.git("pack-refs", "--all")
    assert _check(listed).stamp == before


def test_many_refs_that_move_at_once_are_listed_anew(repo: TestRepo, listed: Repo) -> None:
    """A fetch of more refs than are kept apart is seen, and so is their removal."""
    _check(listed)
    head = repo.git("rev-parse", "HEAD")
    theirs = [f"{keys.REMOTES}/origin/{keys.key_of_name(str(number))}/0badcafe" for number in range(450)]
    repo.git("update-ref", "--stdin", input="".join(f"create {name} {head}\n" for name in theirs))
    assert len(_check(listed)) == 450
    repo.git("update-ref", "--stdin", input="".join(f"delete {name}\n" for name in theirs))
    assert len(_check(listed)) == 0


@pytest.mark.skipif(FORMAT == "reftable", reason="refs in tables are listed by git whenever a table changes")
def test_no_git_is_started_while_nothing_moved(repo: TestRepo, listed: Repo, started: Callable[[], list[str]]) -> None:
    """The second look at refs in files starts no process, and neither does one after our own ref has moved."""
    listed.git_config()
    own = keys.ref(keys.SHARED, keys.key_of_name("main"), listed.clone)
    commits = repo.git("rev-list", "HEAD").split()
    repo.git("update-ref", own, commits[0])
    _listing(listed)
    started()
    assert _listing(listed).tips()[own] == commits[0]
    assert not started()
    repo.git("update-ref", own, commits[1])
    started()
    assert _listing(listed).tips()[own] == commits[1]
    assert not started()


def test_nothing_is_written_while_nothing_moved(repo: TestRepo, listed: Repo) -> None:
    """Once the times are old enough to prove something, a look leaves the files as they are."""
    repo.git("update-ref", keys.ref(keys.SHARED, keys.key_of_name("main"), listed.clone), "HEAD")
    while -1 in (_listing(listed)._read_folders() or {}).values():
        pass  # a tick of the file system's clock
    cache = Path(listed.home, "cache")
    before = {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in cache.iterdir()}
    _listing(listed).tips()
    assert {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in cache.iterdir()} == before


@pytest.mark.parametrize("name", ["listing.json", "listing-tips.json", "listing-folders.json"])
@pytest.mark.parametrize("damage", ["gone", "cut off", "of an earlier time"])
def test_damage_is_no_harm(repo: TestRepo, listed: Repo, name: str, damage: str) -> None:
    """Whichever of the files is lost, cut off or from another moment: the refs are those that there are."""
    names = _names(listed)
    repo.git("update-ref", names[0], "HEAD")
    repo.git("pack-refs", "--all")
    _check(listed)
    path = Path(listed.home, "cache", name)
    old = path.read_bytes()
    repo.git("update-ref", names[1], "HEAD~1")
    repo.git("pack-refs", "--all")
    _check(listed)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(old if damage == "of an earlier time" else path.read_bytes()[:-2])
    _check(listed)
    repo.git("update-ref", names[0], "HEAD~2")
    _check(listed)


def test_refs_are_listed_where_nothing_can_be_kept(repo: TestRepo, listed: Repo) -> None:
    """Without a folder to keep anything in, the refs are asked of git each time, and no folder is made."""
    repo.git("update-ref", _names(listed)[0], "HEAD")
    shutil.rmtree(listed.home)
    _check(listed)
    assert not os.path.exists(listed.home)


def test_refs_that_were_moved_here_count_as_listed(repo: TestRepo, listed: Repo) -> None:
    """Who moves a ref and notes its new tip has the stamp that the next look finds, with and without its own key."""
    names = _names(listed)
    for name in names[:3]:
        repo.git("update-ref", name, "HEAD")
    tips = _check(listed)
    key = keys.key_in(names[0])
    before, apart = tips.stamp, tips.stamp_without(key)
    repo.git("update-ref", names[0], "HEAD~1")
    tips[names[0]] = repo.git("rev-parse", "HEAD~1")
    now = _check(listed)
    assert now.stamp == tips.stamp != before
    assert now.stamp_without(key) == tips.stamp_without(key) == apart
    assert now.stamp_without(keys.key_in(names[1])) != tips.stamp
