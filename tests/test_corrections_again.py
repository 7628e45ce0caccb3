"""Corrections that are made, undone and made again, and what is told to who says again what was taken back."""

from __future__ import annotations

import json

import pytest
from conftest import TestRepo
from corrections import named, shown, start, undo_of


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository with a memory."""
    return start(repo)


@pytest.mark.parametrize(
    "correction", [("supersede", "--by", "New way"), ("edit", "--content", "New way")], ids=["supersede", "edit"]
)
@pytest.mark.parametrize("by", ["--last", "ID"])
def test_a_correction_that_was_undone_can_be_made_again(ready: TestRepo, correction: tuple[str, ...], by: str) -> None:
    """However often a new text takes another's place and that is undone, exactly one of the two counts."""
    ready.run("decide", "Old way")
    old = named(ready, "Old way")
    name, *rest = correction
    for _ in range(3):
        ready.run(name, old, *rest)
        assert {"New way"} == shown(ready)
        ready.run("undo", old if by == "ID" else by)
        assert {"Old way"} == shown(ready)
    done = ready.run(name, old, *rest)
    undone = ready.run("undo", undo_of(done.out))
    ready.run("undo", undo_of(undone.out))
    assert {"New way"} == shown(ready)


def test_a_text_that_was_corrected_further_comes_back_when_it_is_said_again(ready: TestRepo) -> None:
    """What takes a memory's place counts, though an earlier correction of the same words was itself corrected."""
    ready.run("decide", "Alpha")
    first = named(ready, "Alpha")
    ready.run("edit", first, "--content", "Beta")
    ready.run("edit", named(ready, "Beta"), "--content", "Gamma")
    ready.run("undo", first)
    ready.run("edit", first, "--content", "Beta")
    assert {"Beta", "Gamma"} == shown(ready)


def test_a_text_that_was_purged_takes_no_place(ready: TestRepo) -> None:
    """What was purged cannot come back as a correction, and then the old memory goes on counting."""
    ready.run("decide", "Alpha")
    ready.run("edit", named(ready, "Alpha"), "--content", "Beta")
    ready.run("purge", named(ready, "Beta"), "--yes")
    ready.run("undo", named(ready, "Alpha"), check=False)
    again = ready.run("edit", named(ready, "Alpha"), "--content", "Beta", check=False)
    assert (1, "purged") == (again.status, "purged" if "was purged and stays so" in again.err else again.err)
    assert {"Alpha"} == shown(ready)


def test_who_says_again_what_was_taken_back_is_told_how_to_bring_it_back(ready: TestRepo) -> None:
    """Recording a text that was retracted or superseded names the command that brings it back."""
    for text in ("One", "Two"):
        ready.run("decide", text)
    one, two = (named(ready, text) for text in ("One", "Two"))
    ready.run("retract", one)
    ready.run("supersede", two, "--by", "Three")
    said = ready.run("decide", "One", check=False).err
    assert f"{one} says that and was retracted; `git cortex undo {one}` brings it back" in said
    said = ready.run("decide", "Two", check=False).err
    assert f"was superseded by {named(ready, 'Three')}; `git cortex undo {two}`" in said
    ready.run("undo", one)
    assert "known already" in ready.run("decide", "One").out


@pytest.mark.parametrize("by", ["--last", "printed", "plan"])
def test_a_plan_that_was_dropped_comes_back_as_it_was(ready: TestRepo, by: str) -> None:
    """Undoing `plan drop` brings back the last state of the plan, with its ticks; undoing that drops it again."""
    ready.run("plan", "Ship it", "One", "Two")
    ready.run("plan", "add", "Three")
    ready.run("plan", "done", "1")
    ready.run("plan", "add", "Four")
    before = json.loads(ready.run("plan", "--json").out)

    dropped = ready.run("plan", "drop")
    assert dropped.out.startswith(f"[{before['id'][:7]}] plan dropped: Ship it")
    assert "no plan\n" == ready.run("plan").out
    undone = ready.run("undo", {"printed": undo_of(dropped.out), "plan": before["id"]}.get(by, by))
    assert 1 == len(undone.out.splitlines())
    assert before == json.loads(ready.run("plan", "--json").out)

    ready.run("undo", undo_of(undone.out))
    assert "no plan\n" == ready.run("plan").out
