"""The folds: what events add up to."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.views import essence as essences
from cortex_git.views.essence import essence
from cortex_git.views.standing import Step, fold, parse_plan, render_plan


def at(n: int) -> str:
    return f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.000Z"


def event(type: str, content: str, n: int = 0, **fields: object) -> Event:
    return Event(type, content, time=at(n), **fields)  # type: ignore[arg-type]


def test_newest_first() -> None:
    """Decisions are listed with the newest first."""
    standing = fold([event(model.DECISION, str(n), n) for n in range(3)])

    assert ["2", "1", "0"] == [decision.content for decision in standing.decisions]


def test_what_was_retracted_is_left_out() -> None:
    """A retracted decision is in no list, and its state says so."""
    decision = event(model.DECISION, "Use Redis")
    standing = fold([event(model.RETRACTED, "", 1, target=decision.id), decision])

    assert [] == standing.decisions
    assert "deprecated" == standing.status(decision)


def test_what_was_superseded_names_what_took_its_place() -> None:
    """A superseded decision gives way to the new one."""
    old, new = event(model.DECISION, "Use Redis"), event(model.DECISION, "Use SQLite", 1)
    standing = fold([old, new, event(model.SUPERSEDED, new.id, 2, target=old.id)])

    assert [new] == standing.decisions
    assert {old.id: new.id} == standing.superseded


def test_an_assistants_own_decision_is_proposed_until_accepted() -> None:
    """What a person said is accepted at once; what an assistant said when a person says so."""
    mine = event(model.DECISION, "Use tabs", agent="user")
    its = event(model.DECISION, "Use spaces", agent="claude-code")

    assert ["accepted", "proposed"] == [fold([mine, its]).status(e) for e in (mine, its)]
    assert "accepted" == fold([its, event(model.ACCEPTED, "", 1, target=its.id)]).status(its)


def test_a_plan_shows_its_first_open_step_as_current() -> None:
    """Steps that were completed after the plan was made are done, and the next one is current."""
    plan = event(model.PLAN, "Ship it\n- [x] design\n- [ ] Build it.\n- [ ] test", 1)
    standing = fold([plan, event(model.STEP, "build it", 2)])

    assert standing.plan is not None
    assert "Ship it" == standing.plan.title
    assert [(True, False), (True, False), (False, True)] == [(s.done, s.current) for s in standing.plan.steps]


def test_a_step_done_before_a_new_plan_does_not_count_for_it() -> None:
    """A new plan starts with its own state."""
    events = [event(model.STEP, "test", 1), event(model.PLAN, "Again\n- [ ] test", 2)]

    plan = fold(events).plan

    assert plan is not None
    assert [False] == [step.done for step in plan.steps]


@given(st.text(max_size=30), st.lists(st.tuples(st.text(min_size=1, max_size=20), st.booleans()), max_size=4))
def test_a_plan_reads_back_as_it_was_rendered(title: str, steps: list[tuple[str, bool]]) -> None:
    """Title and steps survive as one line each."""
    flat = [(" ".join(text.split()), done) for text, done in steps]
    wanted = [(text, done) for text, done in flat if text]

    found = parse_plan(render_plan("Plan " + title, [Step(text, done) for text, done in wanted]))

    assert (" ".join(["Plan", *title.split()]), wanted) == (found[0], [(s.text, s.done) for s in found[1]])


def test_types_of_a_newer_version_are_counted() -> None:
    """An unknown type does not disturb the fold and is not silently dropped."""
    assert {"dream_recorded": 2} == fold([event("dream_recorded", str(n)) for n in range(2)]).unknown


def test_sessions_are_told_apart() -> None:
    """Each session knows when it was first and last heard of and how much is remembered of it."""
    events = [
        event(model.SESSION_STARTED, "startup", 0, session="a", agent="claude-code"),
        event(model.DECISION, "x", 5, session="a", agent="user"),
        event(model.KNOWLEDGE, "y", 9, session="b", agent="codex"),
    ]

    found = [(s.id, s.agent, s.started, s.ended, s.events) for s in fold(events).sessions]

    assert [("b", "codex", at(9), at(9), 1), ("a", "claude-code", at(0), at(5), 1)] == found


def everything(count: int, seed: int) -> list[Event]:
    dice = random.Random(seed)
    types = sorted(model.TYPES)
    made = [event(dice.choice(types), f"content {n}", dice.randrange(5000), session=f"s{n % 7}") for n in range(count)]
    ids = [e.id for e in made if e.type in model.SEMANTIC]
    return [e.replace(target=dice.choice(ids), id="") if e.type in model.STATE_CHANGES else e for e in made]


def test_the_order_of_events_does_not_matter() -> None:
    """A shuffled store folds to the same state."""
    events = everything(400, 1)
    shuffled = random.Random(2).sample(events, len(events))

    assert [e.id for e in fold(events).decisions] == [e.id for e in fold(shuffled).decisions]
    assert essence(events) == essence(shuffled)


@given(st.integers(0, 10_000), st.integers(0, 300))
def test_an_essence_can_be_brought_forward(seed: int, cut: int) -> None:
    """Adding new events to a kept essence gives what the whole store would give, also where types overflow."""
    events = everything(300, seed)
    small = {name: 5 for name in essences.KEPT}
    full = essences.KEPT
    essences.KEPT = small  # type: ignore[assignment]
    try:
        whole = essence(events)
        stepwise = essence([*essence(events[:cut]), *events[cut:]])
    finally:
        essences.KEPT = full

    dropped = {e.id for e in whole} ^ {e.id for e in stepwise}
    pins = {e.target for e in events[cut:] if e.type == model.PINNED}
    assert dropped <= pins
