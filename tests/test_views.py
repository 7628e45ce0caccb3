"""The folds: what events add up to."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.views import essence as essences
from cortex_git.views.essence import Essence, Incomplete
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
    assert fold(events).reinforced == fold(shuffled).reinforced


def corrected(seed: int, count: int = 40) -> list[Event]:
    """A few memories, and changes of their states: of each other's and of changes, too, in whatever order."""
    dice = random.Random(seed)
    made = [event(dice.choice([model.DECISION, model.KNOWLEDGE]), f"content {n}", dice.randrange(9)) for n in range(4)]
    for n in range(count):
        type = dice.choice([model.RETRACTED, model.RETRACTED, model.SUPERSEDED, model.PINNED, model.ACCEPTED])
        target = dice.choice(made)
        content = dice.choice(made).id if type == model.SUPERSEDED else str(n)
        made.append(event(type, content, 10 + n if dice.random() < 0.9 else dice.randrange(99), target=target.id))
    return made


def counts(change: Event, changes: list[Event]) -> bool:
    """Whether a change is in force: unless one that is in force itself and came later takes it back."""
    return not any(
        other.type == model.RETRACTED
        and other.target == change.id
        and model.order(other) > model.order(change)
        and counts(other, changes)
        for other in changes
    )


@given(seed=st.integers(0, 100_000), shuffle=st.integers(0, 100))
def test_undone_changes_of_state_are_left_out(seed: int, shuffle: int) -> None:
    """Whatever their order, those changes count that no later one which counts takes back, undos of undos included."""
    events = corrected(seed)
    changes = [one for one in events if one.type in model.STATE_CHANGES]
    force = sorted((one for one in changes if counts(one, changes)), key=model.order)
    ids = {one.id for one in changes}

    standing = fold(random.Random(shuffle).sample(events, len(events)))

    for one in events[:4]:
        about = [change for change in force if change.target == one.id]
        assert about == standing.changes.get(one.id, [])
        assert (one.id in standing.retracted) == any(c.type == model.RETRACTED for c in about)
        assert (one.id in standing.pinned) == any(c.type == model.PINNED for c in about)
        assert (one.id in standing.accepted) == any(c.type == model.ACCEPTED for c in about)
        newest = [change.content for change in about if change.type == model.SUPERSEDED][-1:]
        assert newest == ([standing.superseded[one.id]] if one.id in standing.superseded else [])
    assert {c.id for c in changes if not counts(c, changes)} <= standing.retracted & ids


@pytest.mark.parametrize(
    ("time", "after"),
    [
        ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.001Z"),
        ("2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00.000Z"),
        ("2016-12-31T23:59:60.999Z", "2017-01-01T00:00:01.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_the_moment_after(time: str, after: str) -> None:
    """A correction can always be later than what it is about, but at the end of all time."""
    assert after == model.later(time)


def built(events: list[Event]) -> Essence:
    made = Essence()
    for one in events:
        made.add([one], ("refs/x", one.id))
    made.settle()
    return made


def newest(made: Essence, type: str, count: int) -> list[str]:
    found = sorted((e for e in made.events.values() if e.type == type), key=model.order, reverse=True)
    return [e.id for e in found[:count]]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for ten events of each type, so that it is soon exceeded."""
    monkeypatch.setattr(essences, "KEPT", dict.fromkeys(essences.KEPT, 10))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), cut=st.integers(0, 300), out=st.sets(st.integers(0, 299), max_size=40))
def test_an_essence_follows_what_comes_and_goes(small: None, seed: int, cut: int, out: set[int]) -> None:
    """After adding and taking out, the newest events are those that reading everything anew would give."""
    events = everything(300, seed)
    made = Essence()
    try:
        made = built(events[:cut])
        made = Essence.from_json(json.loads(json.dumps(made.to_json())))
        for one in events[cut:]:
            made.add([one], ("refs/x", one.id))
        made.settle()
        made.drop("refs/x", {events[n].id for n in out})
        made.settle()
        left = [one for n, one in enumerate(events) if one.id not in {events[n].id for n in out}]
        fresh = built(left)
    except Incomplete:
        return  # then everything is read anew

    for type in essences.KEPT:
        assert newest(fresh, type, 5) == newest(made, type, 5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), cut=st.integers(0, 300), out=st.sets(st.integers(0, 299), max_size=30))
def test_an_essence_knows_how_what_it_keeps_stands(small: None, seed: int, cut: int, out: set[int]) -> None:
    """However many changes of state there are, old and new, what is kept stands as in a fold over everything."""
    dice = random.Random(seed)
    events = everything(60, seed)
    while len(events) < 300:
        target = dice.choice(events)
        type = dice.choice(sorted(model.STATE_CHANGES))
        time = dice.randrange(5000, 9000) if target.type in model.STATE_CHANGES else dice.randrange(5000)
        if at(time) > target.time:
            events.append(event(type, str(len(events)), time, target=target.id))
    # What is read later is newer for the most part.
    events.sort(key=lambda one: (dice.random() < 0.97, one.time if dice.random() < 0.99 else at(dice.randrange(9000))))
    gone = {events[n].id for n in out}
    made = Essence()
    try:
        made = Essence.from_json(json.loads(json.dumps(built(events[:cut]).to_json())))
        made.add(events[cut:], ("refs/x", "late"))
        made.settle()
        made.drop("refs/x", gone)
        made.drop("refs/x", ["late"])
        made.settle()
        made.add((one for one in events[cut:] if one.id not in gone), ("refs/y", "again"))
        made.settle()
    except Incomplete:
        return  # then everything is read anew

    whole = fold(one for one in events if one.id not in gone)
    part = fold(made.events.values())
    for id, one in made.events.items():
        if one.type not in model.STATE_CHANGES:
            assert whole.status(one) == part.status(one)
            assert (id in whole.pinned, id in whole.retracted) == (id in part.pinned, id in part.retracted)


def test_too_little_is_noticed(small: None) -> None:
    """An essence that lost most of what it kept says so instead of showing too little."""
    events = [event(model.DECISION, str(n), n) for n in range(30)]
    made = built(events)
    made.drop("refs/x", {e.id for e in events[22:]})

    with pytest.raises(Incomplete):
        made.settle()


def test_permanent_and_pinned_events_stay(small: None) -> None:
    """What was marked permanent or pinned is kept however much comes after it."""
    events = [event(model.DECISION, str(n), n) for n in range(30)]
    permanent = event(model.DECISION, "for ever", 0, marks=[model.PERMANENT])

    made = built([events[0], event(model.PINNED, "", 40, target=events[0].id), permanent, *events[1:]])

    assert {events[0].id, permanent.id} <= set(made.events)


def test_an_event_with_two_origins_survives_the_loss_of_one(small: None) -> None:
    """An event that was carried over is in view as long as one of its places is."""
    decision = event(model.DECISION, "Use SQLite")
    made = Essence()
    made.add([decision], ("refs/one", "a"))
    made.add([decision], ("refs/other", "b"))

    made.drop("refs/one")
    assert {decision.id} == set(made.events)

    made.drop("refs/other", ["b"])
    assert set() == set(made.events)
