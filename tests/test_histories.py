"""Random histories of several clones: each branch sees exactly what the rules of alignment say, whatever git does."""

from __future__ import annotations

from pathlib import Path

import pytest
from histories.history import Stage
from histories.steps import STEPS

AT_ONCE = 10
"""How many histories one test plays, on one stage."""


def play(folder: Path, first: int, count: int, *, length: int = 22, real: bool = False) -> None:
    """Play histories; what goes wrong is shown by the fewest steps that it needs."""
    stage = Stage(folder / "stage", real=real)
    try:
        for seed in range(first, first + count):
            steps, fault = stage.random(seed, length)
            if fault:
                fewest, said = stage.shortest(steps, 60)
                pytest.fail(f'history {seed}: {fault}\n{said}\npython -m tests.histories --steps "{fewest}"')
    finally:
        stage.close()


@pytest.mark.parametrize("first", range(0, 50, AT_ONCE))
def test_each_branch_sees_what_the_rules_say(tmp_path: Path, home: Path, first: int) -> None:
    """In random histories nothing is lost, nothing leaks, and all clones agree, after each step and at the end."""
    play(tmp_path, first, AT_ONCE)


def test_the_same_holds_with_hooks_in_processes_of_their_own(tmp_path: Path, home: Path) -> None:
    """A history whose hooks start the real Python, as they do for a user, comes to the same."""
    play(tmp_path, 7, 1, real=True)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1500, AT_ONCE))
def test_each_branch_sees_what_the_rules_say_in_many_histories(tmp_path: Path, home: Path, first: int) -> None:
    """The same in five hundred longer histories."""
    play(tmp_path, first, AT_ONCE, length=30)


def test_a_sequence_of_steps_can_be_replayed(tmp_path: Path, home: Path) -> None:
    """Steps that make no sense as things stand are passed over, so that any part of a history can be tried alone."""
    stage = Stage(tmp_path / "stage")
    try:
        assert "" == stage.replay([("switch", "a", "f9"), ("note", "a", "decision"), ("commit", "nobody", "own")])
    finally:
        stage.close()
    assert {"merge", "rebase", "pick", "revert", "amend", "copied-clone", "host", "sync"} <= set(STEPS)
