"""Corrections that are made, undone and made again, and what is told to who says again what was taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import TestRepo
from corrections import ASSISTANT, named, shown, start, undo_of


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


def test_an_edited_fact_is_gone_from_pages_and_for_readers_without_notes(ready: TestRepo, tmp_path: Path) -> None:
    """The file of the new fact says what it corrects: that is enough for the pages and for a clone of the commits."""
    ready.run("learn", "The moon is cheese")
    ready.run("project", "--commit")
    ready.run("edit", named(ready, "The moon is cheese"), "--content", "The moon is rock")
    ready.run("project", "--commit")
    assert "rock" in ready.read(".cortex/briefing.md")
    assert "cheese" not in ready.read(".cortex/briefing.md")

    ready.git("clone", "-q", ".", str(tmp_path / "other"))
    other = TestRepo(tmp_path / "other")
    other.run("init", "--yes", "--no-plugin")
    assert {"The moon is rock"} == shown(other)
    assert ["The moon is rock"] == [
        hit["content"] for hit in json.loads(other.run("search", "moon", "--json").out)["hits"]
    ]

    ready.run("undo", "--last")
    assert {"The moon is cheese"} == shown(ready)


def test_an_unknown_session_is_answered_with_those_there_are(ready: TestRepo) -> None:
    """`undo --session` names the sessions that it knows."""
    assert "none is on record" in ready.run("undo", "--session", "abc", check=False).err
    ready.run("decide", "Use Redis", variables=ASSISTANT)
    assert "there are 11112222-3333" in ready.run("undo", "--session", "abc", check=False).err


def test_a_correction_that_was_merged_is_named_when_there_is_no_own_one(ready: TestRepo) -> None:
    """`undo --last` has nothing to undo on main after a merge, and names the id that would undo what came."""
    ready.run("decide", "Use SQLite")
    ready.run("project", "--commit")
    ready.git("switch", "-qc", "feature")
    done = ready.run("retract", named(ready, "Use SQLite"))
    ready.run("project", "--commit")
    ready.git("switch", "-q", "main")
    ready.git("merge", "-q", "--no-edit", "feature")
    said = ready.run("undo", "--last", check=False)
    assert (1, True) == (said.status, f"`git cortex undo {undo_of(done.out)}`" in said.err)
    ready.run("undo", undo_of(done.out))
    assert {"Use SQLite"} == shown(ready)


def test_a_plan_is_listed_once(ready: TestRepo) -> None:
    """`log` and the exported page show the newest state of a plan, with --all the former ones as well."""
    ready.run("plan", "Ship it", "One")
    ready.run("plan", "add", "Two")
    ready.run("plan", "Another plan", "One")
    for command in (["log", "--oneline"], ["export", "--format", "markdown"]):
        assert 1 == ready.run(*command).out.count("Ship it")
        assert 1 == ready.run(*command).out.count("Another plan")
        assert 2 == ready.run(*command, "--all").out.count("Ship it")
