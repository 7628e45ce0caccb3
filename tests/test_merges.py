"""Two branches with decisions of their own, merged in every way that git knows: no conflict, and what ought to be.

The commits are those that pre-commit makes, written by `git fast-import`; everything else is plain git. What hosts do
is done in a bare repository, without attributes and drivers.
"""

from __future__ import annotations

import os
import random
import re

import pytest
from conftest import TestRepo
from items_data import decision, fact, rejected

from cortex_git.config import Config
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.projections import items, pages
from cortex_git.projections.items import items_at
from cortex_git.store.open import open_backend
from cortex_git.store.repo import require
from cortex_git.views.standing import Plan, parse_plan

MODES = ("default-branch", "every-branch", "off")
PAGES = {".cortex/" + name for name in pages.NAMES}
ALL, SOME = 200, 40

Files = dict[str, bytes]


class Trial:
    """One repository in one mode; each trial begins at a root of its own."""

    def __init__(self, repo: TestRepo, mode: str) -> None:
        self.repo = repo
        self.mode = mode
        self.choice = random.Random()
        self.name = ""
        self.files: dict[str, Files] = {}
        self.every: Files = {}
        repo.commit({"seed": "1\n"})
        repo.run("init")
        repo.git("config", "core.hooksPath", os.devnull)
        repo.git("config", "merge.conflictStyle", "merge")
        self.host = TestRepo.make(repo.path.parent / "host", "--bare")
        (self.host.path / "objects" / "info" / "alternates").write_text(f"{repo.path / '.git' / 'objects'}\n")

    def begin(self, number: int) -> None:
        """A root with a memory on `main`, and branches `one` and `two` with three decisions each."""
        self.choice = random.Random(f"{self.mode} {number}")
        self.repo.git("switch", "-q", "--detach")
        self.repo.git("clean", "-fdxq")
        self.repo.git("branch", "-q", "-D", "old", check=False)
        stream: list[bytes] = []
        root = {".cortex/README.md": b"What this is\n", ".cortex/config.toml": self._settings(), "f": b"0\n"}
        root |= self.items("main", self.choice.randrange(3))
        self.files = {"main": self.rendered(root, accepted=True)}
        self.every = {}
        stream += self._commit("main", None, self.files["main"], {})
        for branch in ("one", "two"):
            self.files[branch] = dict(self.files["main"])
            for start in ("main", "", ""):
                stream += self._step(branch, start)
        self.repo.git("fast-import", "--quiet", "--force", input=b"".join(stream).decode())
        self.repo.git("switch", "-q", "main")

    def grow(self, branch: str) -> None:
        """One more commit on a branch, with a decision."""
        self.files[branch] = self.at(branch)
        stream = self._step(branch, f"{branch}^0")
        self.repo.git("switch", "-q", "--detach")
        self.repo.git("fast-import", "--quiet", "--force", input=b"".join(stream).decode())

    def items(self, branch: str, count: int) -> Files:
        """New items of a branch: decisions of both kinds, perhaps facts and a plan."""
        word = self.choice.randrange(1 << 40)
        make = self.choice.choice((decision, rejected))
        hour = self.choice.randrange(24)
        common = {"session": f"{word:x}", "time": f"2026-12-01T{hour:02}:11:12.345Z", "branch": branch}
        found = [items.render(make(f"{branch} {word:x} {number}", **common)) for number in range(count)]
        if count and self.choice.random() < 0.5:
            found.append(items.render_learned([fact(f"{branch} knows {word:x}", **common)]))
        if count and self.choice.random() < 0.5:
            title, steps = parse_plan(f"Plan {word:x}\n- [x] a\n- [ ] b")
            event = Event(model.PLAN, f"Plan {word:x}\n- [x] a\n- [ ] b", **common)  # type: ignore[arg-type]
            found.append(items.render_plan(Plan(event, title, steps), "abcdef-012345", branch))
        self.every |= dict(found)
        return dict(found)

    def plan_gone(self, files: Files, branch: str, new: Files) -> Files:
        """Without the file of a branch's plan that a new one has taken the place of, which may be gone already."""
        plans = [path for path in new if path.startswith(items.PLANS)]
        return {path: data for path, data in files.items() if not plans or not path.startswith(items.PLANS + branch)}

    def rendered(self, files: Files, *, accepted: bool) -> Files:
        """The files of a commit with its pages, where a branch has pages."""
        if self.mode == "off" or not (accepted or self.mode == "every-branch"):
            return files
        return {**files, **pages.pages(files, Config(), accepted=accepted)}

    def at(self, rev: str) -> Files:
        """The files of ours in a commit, or in a tree on the host."""
        place = self.host.path if len(rev) >= 40 else self.repo.path
        return items_at(open_backend(require(str(place), os.environ), "git"), rev)

    def check(self, rev: str, wanted: set[str], *, fresh: bool) -> None:
        """A tree holds exactly these items, whole, and pages of them (`fresh`), or of what was there before."""
        found = self.at(rev)
        every = self.every
        there = {path for path in found if items.is_item(path)}
        assert wanted - there == set()
        # Only former files of a plan may be left where a squash merge has brought them.
        assert all(path.startswith(items.PLANS) and path in every for path in there - wanted)
        assert all(data == every[path] for path, data in found.items() if path in every)
        assert not [path for path, data in found.items() if re.search(b"(?m)^(<{7}|>{7}|={7})", data)]
        footers = [footer for path in PAGES if path in found and (footer := pages.footer_of(found[path]))]
        assert len(footers) == (4 if PAGES <= set(found) else 0)
        if fresh and self.mode == "every-branch":
            rendered = pages.pages(found, Config(), accepted=footers[0].accepted)
            assert {path: found[path] for path in PAGES} == rendered
        assert self.mode == "off" or not any(footer.edited for footer in footers)

    def union(self, *names: str) -> set[str]:
        """The items that stand in any of these branches as they were made, without plans that have moved on."""
        found = {path for name in names for path in self.files[name] if items.is_item(path)}
        return {path for path in found if not any(self._is_former(path, name) for name in names)}

    def _is_former(self, path: str, branch: str) -> bool:
        return path.startswith(f"{items.PLANS}{branch}-") and path not in self.files[branch]

    def git(self, *args: str) -> str:
        """Run git, which must not end in a conflict."""
        return self.repo.git(*args, variables=self.repo.dates())

    def clean(self) -> None:
        """Neither index nor work tree differs from HEAD."""
        assert "" == self.repo.git("status", "--porcelain")
        log = self.repo.path / ".git" / "cortex" / "log"
        assert not log.exists(), log.read_text()

    def _settings(self) -> bytes:
        return f'[projections]\npages = "{self.mode}"\n'.encode()

    def _step(self, branch: str, start: str) -> list[bytes]:
        before = self.files[branch]
        new = self.items(branch, 1)
        after = {**self.plan_gone(before, branch, new), **new, f"{branch}-{len(before)}": b"x\n"}
        self.files[branch] = self.rendered(after, accepted=False) if self.mode == "every-branch" else after
        return self._commit(branch, start, self.files[branch], before)

    def _commit(self, branch: str, start: str | None, files: Files, before: Files) -> list[bytes]:
        head = f"commit refs/heads/{branch}\ncommitter A <a@b> {1767225600 + self.repo.commits} +0000\ndata 2\nx\n"
        self.repo.commits += 1
        begin = f"from refs/heads/{start}\n" if start else "deleteall\n" if start is None else ""
        out = [(head + begin).encode()]
        for path, data in files.items():
            if before.get(path) != data:
                out.append(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")
        out += [f"D {path}\n".encode() for path in before if path not in files]
        return out


@pytest.fixture(params=MODES)
def trial(request: pytest.FixtureRequest, repo: TestRepo) -> Trial:
    """A repository for trials in each mode of pages."""
    return Trial(repo, request.param)


def plain(trial: Trial) -> None:
    """Both are merged to main, one after the other."""
    trial.git("merge", "-q", "--no-edit", *trial.choice.choice(([], ["--no-ff"])), "one")
    trial.git("merge", "-q", "--no-edit", "two")
    trial.check("HEAD", trial.union("one", "two"), fresh=True)


def rebased(trial: Trial) -> None:
    """One is merged, the other rebased on it and merged."""
    trial.git("merge", "-q", "--no-edit", "one")
    trial.git("rebase", "-q", *trial.choice.choice(([], ["--rebase-merges"], ["--force-rebase"])), "main", "two")
    trial.check("two~1", trial.union("one", "two") - _newest(trial, "two"), fresh=True)
    trial.git("switch", "-q", "main")
    trial.git("merge", "-q", "--ff-only", "two")
    trial.check("HEAD", trial.union("one", "two"), fresh=True)


def _newest(trial: Trial, branch: str) -> set[str]:
    """The items that the last commit of a branch has added."""
    out = trial.repo.git("show", "--format=", "--name-only", "--no-renames", "--diff-filter=A", branch)
    return {path for path in out.splitlines() if items.is_item(path)}


def squashed(trial: Trial) -> None:
    """A branch is squashed to main and goes on; then it takes main in, by merge or rebase, and is squashed again."""
    for branch in ("one", "two"):
        trial.git("merge", "-q", "--squash", branch)
        trial.git("commit", "-q", "-m", "squashed")
    trial.grow("one")
    trial.git("switch", "-q", "one")
    trial.git(*trial.choice.choice((("merge", "-q", "--no-edit"), ("rebase", "-q"))), "main")
    trial.check("HEAD", trial.union("one", "two"), fresh=True)
    trial.git("switch", "-q", "main")
    trial.git("merge", "-q", "--squash", "one")
    trial.git("commit", "-q", "-m", "squashed again")
    trial.check("HEAD", trial.union("one", "two"), fresh=False)


def reverted(trial: Trial) -> None:
    """A merge is reverted, and then its revert."""
    trial.git("merge", "-q", "--no-edit", "--no-ff", "one")
    trial.git("merge", "-q", "--no-edit", "two")
    trial.git("revert", "--no-edit", "-m", "1", "HEAD~1")
    trial.check("HEAD", trial.union("two"), fresh=True)
    trial.git("revert", "--no-edit", "HEAD")
    trial.check("HEAD", trial.union("one", "two"), fresh=True)


def crossed(trial: Trial) -> None:
    """Each takes in the other as it was, and then both are merged."""
    trial.git("branch", "old", "one")
    trial.git("switch", "-q", "one")
    trial.git("merge", "-q", "--no-edit", "two")
    trial.git("switch", "-q", "two")
    trial.git("merge", "-q", "--no-edit", "old")
    for branch in ("one", "two"):
        trial.grow(branch)
        trial.git("switch", "-q", branch)
    trial.git("merge", "-q", "--no-edit", "one")
    trial.check("HEAD", trial.union("one", "two"), fresh=True)


def renamed(trial: Trial) -> None:
    """A branch is renamed and its name is taken by another one before both are merged."""
    trial.git("branch", "-m", "one", "old")
    trial.git("branch", "-m", "two", "one")
    trial.git("merge", "-q", "--no-edit", "old")
    trial.git("merge", "-q", "--no-edit", "one")
    trial.check("HEAD", trial.union("one", "two"), fresh=True)


def at_once(trial: Trial) -> None:
    """An octopus: git runs no driver there, so pages on every branch are left out of it."""
    if trial.mode != "every-branch":
        trial.git("merge", "-q", "--no-edit", "one", "two")
        trial.check("HEAD", trial.union("one", "two"), fresh=True)


def picked(trial: Trial) -> None:
    """Commits are picked one by one, some of them twice."""
    trial.git("cherry-pick", "one~2", "one~1")
    trial.git("cherry-pick", "two~3..two")
    trial.git("merge", "-q", "--no-edit", "one")
    trial.check("HEAD", trial.union("one", "two"), fresh=True)


def hosted(trial: Trial) -> None:
    """As a host merges: in a bare repository without attributes. Only pages on every branch conflict there."""
    tips = (trial.repo.git("rev-parse", name) for name in ("one", "two"))
    options = ("--write-tree", "--name-only", "-z", "--no-messages")
    out = trial.host.git("merge-tree", *options, *tips, check=False)
    tree, *conflicts = out.rstrip("\0").split("\0")

    assert set(conflicts) <= (PAGES if trial.mode == "every-branch" else set())
    assert trial.union("one", "two") <= set(trial.at(tree))
    if not conflicts:
        trial.check(tree, trial.union("one", "two"), fresh=True)


OFTEN = (plain, rebased, squashed, hosted)
WAYS = (plain, rebased, squashed, reverted, crossed, renamed, at_once, picked, hosted)


@pytest.mark.parametrize("way", OFTEN, ids=lambda way: way.__name__)
def test_no_way_of_merging_conflicts(trial: Trial, way: object) -> None:
    """A few trials of each way, in each mode."""
    assert callable(way)
    trial.begin(0)
    way(trial)
    trial.clean()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_no_way_of_merging_conflicts_in_200_trials(trial: Trial, way: object) -> None:
    """Two hundred trials of merging, rebasing and merging as a host does, and forty of what is rarer or takes long."""
    assert callable(way)
    is_quick = trial.mode != "every-branch" or way is hosted
    for number in range(ALL if way in (plain, rebased, hosted) and is_quick else SOME):
        trial.begin(number)
        way(trial)
        trial.clean()
