"""Random histories of several clones: each branch sees exactly what the rules of alignment say, whatever git does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from histories.history import Stage
from histories.steps import STEPS

AT_ONCE = 10
"""How many histories one test plays, on one stage."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A place in which one history after the other is played."""
    made = Stage(tmp_path_factory.mktemp("histories") / "stage")
    yield made
    made.close()


def play(stage: Stage, first: int, count: int, length: int = 14) -> None:
    """Play histories; what goes wrong is shown by the fewest steps that it needs."""
    for seed in range(first, first + count):
        steps, fault = stage.random(seed, length)
        if fault:
            fewest, said = stage.shortest(steps, 60)
            pytest.fail(f"history {seed}: {fault}\n{said}\npython -m tests.histories --steps {str(fewest)!r}")


@pytest.mark.parametrize("first", range(0, 50, AT_ONCE))
def test_each_branch_sees_what_the_rules_say(stage: Stage, first: int) -> None:
    """In random histories nothing is lost, nothing leaks, and all clones agree, after each step and at the end."""
    play(stage, first, AT_ONCE)


def test_the_same_holds_with_hooks_in_processes_of_their_own(tmp_path: Path, home: Path) -> None:
    """A history whose hooks start the real Python, as they do for a user, comes to the same."""
    stage = Stage(tmp_path / "stage", real=True)
    play(stage, 7, 1)
    stage.close()


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1100, AT_ONCE))
def test_each_branch_sees_what_the_rules_say_in_many_histories(stage: Stage, first: int) -> None:
    """The same in a hundred longer histories."""
    play(stage, first, AT_ONCE, 30)


MINIMAL = {
    "a work tree's new branch takes along what was said where it was made": "a: note decision; worktree f1",
    "a copy sees what is kept in this clone only, too": (
        "a: note preference; worktree f4 / a+: copy f4 f2 / a: switch f2; commit shared"
    ),
    "a commit on a detached HEAD ties what was said at its parent, and nothing else": (
        "a: detach HEAD; note preference; commit own; note decision; detach HEAD~1; commit own"
    ),
    "what one clone says on a detached HEAD is not the other's": "a: detach main; note decision; sync / b: sync",
    "what history ever held does not depend on the way there": (
        "a: note rejected; switch-new f2; amend message; merge main ours --no-ff; rebase main abort --onto main;"
        "commit shared"
    ),
    "a name is free when the branch that bore it was renamed": (
        "a: worktree f3; rename f3 f2; switch-new f3 HEAD~1 / a+: commit own / a: note decision"
    ),
    "the last words on a branch that is gone reach other clones": (
        "a: switch-new f1; note decision; commit own; note learned; switch main; merge f1 ours; push main; delete f1;"
        "sync / b: pull --rebase ours; sync"
    ),
    "what was carried twice is tied once": (
        "a: note decision; switch-new f1; switch-new f2; commit own; switch main; switch-new f3; commit own;"
        "switch f1; switch-new f4"
    ),
    "commits that no hook has seen": (
        "a: switch-new f1; note preference; unhooked commit; note decision; switch main; merge f1 ours; switch f1;"
        "unhooked amend; commit own; note learned; unhooked rebase; unhooked commit; detach HEAD; sync"
    ),
    "a rebase without hooks that leaves nothing of a branch": (
        "b: note decision; unhooked amend; pull --rebase ours; sync / a: sync"
    ),
    "what stays in this clone goes on with rewritten commits, too": (
        "a: note preference; commit own; note decision; commit own; switch-new f1; switch main; reset --hard HEAD~2;"
        "commit own; switch f1; rebase main ours; detach HEAD"
    ),
    "a merge that a rebase flattens": (
        "a: note decision; commit own; note preference; amend message; pull --no-rebase ours; note decision;"
        "commit own; pull --rebase theirs; detach HEAD"
    ),
    "a work tree's new branch where reflogs are gone": "a: note learned; collect; worktree f1",
    "an orphan where reflogs are gone": "a: collect; orphan f4 without",
    "a squash between commits ties nothing": (
        "a: switch-new f1; commit own; switch main; commit own; note decision; squash f1; branch f2;reset --hard HEAD~1"
    ),
    "a merge that keeps one side": (
        "a: switch-new f1; note decision; commit own; switch main; commit own; merge f1 ours --strategy=ours"
    ),
    "a branch made before another was visited": (
        "a: note decision; branch f1; switch-new f2; note rejected; switch f1; commit own"
    ),
}
"""What once went wrong, or nearly: by what has to hold the fewest steps that it takes, place by place."""


@pytest.mark.parametrize("script", MINIMAL.values(), ids=MINIMAL)
def test_what_once_went_wrong(stage: Stage, script: str) -> None:
    """Sequences that random histories came upon, each with a cause of its own."""
    steps = [
        (words[0], at.strip(), *words[1:])
        for part in script.split("/ ")
        for at, _, does in [part.partition(":")]
        for words in map(str.split, does.split(";"))
    ]
    assert "" == stage.replay(steps)


def test_a_sequence_of_steps_can_be_replayed(stage: Stage) -> None:
    """Steps that make no sense as things stand are passed over, so that any part of a history can be tried alone."""
    assert "" == stage.replay([("switch", "a", "f9"), ("note", "a", "decision"), ("commit", "nobody", "own")])
    assert {"merge", "rebase", "pick", "revert", "amend", "copied-clone", "host", "sync"} <= set(STEPS)
