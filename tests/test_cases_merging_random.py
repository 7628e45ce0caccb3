"""Random sequences of git commands on one repository: index and work tree hold nothing but what the user did."""

from __future__ import annotations

import random

import pytest
from conftest import TestRepo
from test_cases_merging import EVERYWHERE, is_regenerated, start
from test_cases_merging_aborted import wait

BRANCHES = ("main", "one", "two", "three")


class Session:
    """One user at work: every file is of one commit only, so whatever conflicts is ours."""

    def __init__(self, repo: TestRepo, choice: random.Random) -> None:
        self.repo = repo
        self.choice = choice
        self.done: list[str] = []
        self.count = 0

    def step(self) -> None:
        """Do something, note it, and check that nothing of ours is left about."""
        actions = (
            self.decide, self.decide, self.learn, self.plan, self.tick, self.commit, self.commit, self.commit_path,
            self.amend, self.abort, self.switch, self.switch, self.merge, self.merge, self.rebase, self.pick,
            self.revert, self.squash, self.stash, self.reset, self.reject, self.look,
        )  # fmt: skip
        action = self.choice.choice(actions)
        self.done.append(action.__name__)
        action()
        assert "" == self.repo.git("status", "--porcelain", "-uall"), self.done
        log = self.repo.path / ".git" / "cortex" / "log"
        assert not log.exists(), (self.done, log.read_text())

    def decide(self) -> None:
        self.repo.run("decide", f"Decision {self.next()}")

    def learn(self) -> None:
        self.repo.run("learn", f"Fact {self.next()}")

    def plan(self) -> None:
        self.repo.run("plan", f"Plan {self.next()}", "a", "b", "c")

    def tick(self) -> None:
        self.repo.run("plan", "done", check=False)

    def commit(self) -> None:
        self.repo.commit({f"file-{self.next()}": "x\n"})

    def commit_path(self) -> None:
        name = f"file-{self.next()}"
        self.repo.write({name: "x\n"})
        self.repo.git("add", name)
        self.git("commit", "-q", "-m", "x", "--", name)

    def amend(self) -> None:
        self.git("commit", "-q", "--amend", "--no-edit", "--allow-empty")

    def abort(self) -> None:
        self.repo.git("commit", "-q", "--allow-empty", check=False, variables={"GIT_EDITOR": "false"})
        if (self.repo.path / ".git" / "cortex" / "watch").exists():
            wait(self.repo)

    def switch(self) -> None:
        self.git("switch", "-q", self.choice.choice(BRANCHES))

    def merge(self) -> None:
        self.git("merge", "-q", "--no-edit", self.choice.choice(("--ff", "--no-ff")), self.choice.choice(BRANCHES))

    def rebase(self) -> None:
        self.git("rebase", "-q", self.choice.choice(BRANCHES))

    def pick(self) -> None:
        rev = f"{self.choice.choice(BRANCHES)}~{self.choice.randrange(2)}"
        if self.is_plain(rev):
            self.git("cherry-pick", "--allow-empty", "--keep-redundant-commits", rev)

    def revert(self) -> None:
        if self.is_plain("HEAD"):
            self.git("revert", "--no-edit", "HEAD")

    def squash(self) -> None:
        self.git("merge", "-q", "--squash", self.choice.choice(BRANCHES))
        self.git("commit", "-q", "--allow-empty", "-m", "squashed")

    def stash(self) -> None:
        name = f"file-{self.next()}"
        self.repo.write({name: "x\n"})
        self.repo.git("add", name)
        self.git("stash", "-q")
        self.git("stash", "pop", "-q")
        self.repo.git("rm", "-qf", name)

    def reset(self) -> None:
        if self.is_plain("HEAD"):
            self.git("reset", "-q", "--hard", "HEAD~1")

    def reject(self) -> None:
        names = self.repo.git("ls-files", ".cortex/decisions").splitlines()
        if len(names) > 1:
            self.repo.git("rm", "-q", self.choice.choice(names))
            self.git("commit", "-q", "-m", "rejected")

    def look(self) -> None:
        self.repo.run("status")
        assert 0 == self.repo.run("verify").status

    def is_plain(self, rev: str) -> bool:
        """Whether there is such a commit after the ones that all begins with, and it is no merge."""
        parents = self.repo.git("rev-parse", f"{rev}^@", check=False).split()
        return (
            len(parents) == 1
            and self.repo.git("merge-base", "--is-ancestor", "root", f"{rev}^", check=False) == ""
            and self.repo.git("rev-list", "--count", f"root..{rev}") != "0"
        )

    def next(self) -> int:
        self.count += 1
        return self.count

    def git(self, *args: str) -> None:
        """Run git. Only what people contradict each other in may conflict: then it is given up."""
        out = self.repo.git(*args, check=False, variables=self.repo.dates())
        conflicts = self.repo.git("diff", "--name-only", "--diff-filter=U").splitlines()
        assert not conflicts, (self.done, args, conflicts, out)


@pytest.mark.parametrize("settings", ["", EVERYWHERE], ids=["default-branch", "every-branch"])
@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 50))])
def test_a_random_sequence(repo: TestRepo, number: int, settings: str) -> None:
    """Whatever is done in whatever order, no command conflicts, nothing is left staged, modified or untracked."""
    start(repo, settings)
    repo.run("decide", "The first of all")
    repo.commit({"g": "1\n"})
    repo.git("tag", "root")
    for name in BRANCHES[1:]:
        repo.git("branch", name)
    session = Session(repo, random.Random(f"{number} {settings}"))
    for _ in range(12):
        session.step()
    session.commit()
    if settings:
        assert is_regenerated(repo), session.done
    assert 0 == repo.run("verify").status
    assert "" == repo.git("fsck", "--strict", "--no-dangling")
