"""Events and their line of JSON."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_git.events import codec, model
from cortex_git.events.model import Event

TEXT = st.text(st.characters(codec="utf-8"), max_size=80)
WORD = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)
EVENTS = st.builds(
    Event,
    st.sampled_from([*sorted(model.TYPES), "from_a_newer_version"]),
    TEXT,
    time=st.datetimes(datetime(1000, 1, 1)).map(  # noqa: DTZ001 - hypothesis wants a naive one
        lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    ),
    session=TEXT,
    agent=TEXT,
    author=TEXT,
    branch=TEXT,
    reason=TEXT,
    alternatives=st.lists(WORD, max_size=3),
    topic=TEXT,
    files=st.lists(WORD, max_size=3),
    confidence=st.floats(0, 1).map(lambda number: round(number, 4)),
    layer=st.sampled_from(model.LAYERS),
    source=st.dictionaries(WORD, TEXT, max_size=3),
    target=TEXT,
    marks=st.lists(WORD, max_size=2),
    extra=st.dictionaries(
        WORD.map(lambda name: "x_" + name), st.one_of(TEXT, st.integers(), st.booleans()), max_size=2
    ),
)


def _meaningful(event: Event) -> Event:
    """The event with what its type cannot do without."""
    if event.type in model.STATE_CHANGES:
        return event.replace(target="a" * 16, content="")
    return event.replace(content=event.content.strip() or "x")


EVENTS = EVENTS.map(_meaningful)


@given(st.lists(EVENTS, max_size=5))
def test_a_segment_reads_back_as_what_was_written(events: list[Event]) -> None:
    """Every field of every event survives, those of a newer version included."""
    good, bad = codec.decode_segment(codec.encode_segment(events))

    assert (events, 0) == (good, bad)


@given(EVENTS)
def test_an_event_is_one_line(event: Event) -> None:
    """Whatever an event holds, it stands on one line, as git and grep like it."""
    assert "\n" not in codec.encode(event)


def test_the_id_is_the_documented_hash() -> None:
    """The first 16 hex digits of SHA-256 over type, content and session, joined by NUL."""
    event = Event(model.DECISION, "Use SQLite", time="2026-01-01T00:00:00.000Z", session="s1")

    assert hashlib.sha256(b"decision_made\0Use SQLite\0s1").hexdigest()[:16] == event.id


def test_the_same_words_at_another_time_are_the_same_decision() -> None:
    """A decision that is read twice is one event."""
    one, other = (Event(model.DECISION, "Use SQLite", time=f"2026-01-0{day}T00:00:00.000Z") for day in (1, 2))

    assert one.id == other.id


def test_the_same_command_may_run_twice() -> None:
    """Two calls of one command are two events, told apart by the id of the call."""
    one, other = (
        Event(model.COMMAND, "make", time="2026-01-01T00:00:00.000Z", source={"id": call}) for call in ("a", "b")
    )

    assert one.id != other.id


def test_a_change_of_state_counts_its_target_and_time() -> None:
    """An event may be retracted, brought back and retracted again."""
    ids = {
        Event(model.RETRACTED, "", time=f"2026-01-0{day}T00:00:00.000Z", target=target).id
        for day in (1, 2)
        for target in ("a" * 16, "b" * 16)
    }

    assert 4 == len(ids)


def test_content_is_cut_at_a_character() -> None:
    """Content is at most 16 KiB of UTF-8 and never ends in half a character."""
    event = Event(model.KNOWLEDGE, "é" * 20_000, time="2026-01-01T00:00:00.000Z")

    assert model.MAX_CONTENT >= len(event.content.encode())
    assert "é…" == event.content[-2:]


def test_of_two_copies_the_earlier_counts() -> None:
    """Two copies of one id fold to the one with the earlier time, whichever is given first."""
    early = Event(model.DECISION, "Use SQLite", time="2026-01-01T00:00:00.000Z", reason="small")
    late = Event(model.DECISION, "Use SQLite", time="2026-01-02T00:00:00.000Z", reason="fast")

    assert early == codec.better(early, late) == codec.better(late, early)


def test_one_bad_line_costs_one_event() -> None:
    """A segment that is damaged in one place keeps its other events, and the damage is counted."""
    events = [Event(model.KNOWLEDGE, f"fact {n}", time="2026-01-01T00:00:00.000Z") for n in range(3)]
    data = codec.encode_segment(events).replace(b'"fact 1"', b'"fact 1')

    assert ([events[0], events[2]], 1) == codec.decode_segment(data)


def test_what_is_no_event_is_counted_and_left_out() -> None:
    """Entries without type, content, time or a well-formed id do not stop the read."""
    event = Event(model.KNOWLEDGE, "a fact", time="2026-01-01T00:00:00.000Z")
    values = [codec.to_dict(event), None, [], "text", {"type": "x"}, {**codec.to_dict(event), "id": "../../etc"}]

    assert ([event], 5) == codec.decode_segment(json.dumps(values).encode())


@pytest.mark.parametrize(
    "time",
    ["0000-99-99T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-01-01", "../../etc", "2026-01-01T00:00:00.000+", ""],
)
def test_an_impossible_time_is_no_event(time: str) -> None:
    """A time orders events and names files, so it must be one."""
    values = codec.to_dict(Event(model.KNOWLEDGE, "a fact", time="2026-01-01T00:00:00.000Z")) | {"time": time}

    assert codec.from_dict(values) is None


def test_a_lone_surrogate_can_be_stored() -> None:
    """Text that UTF-8 cannot hold is stored with a replacement instead of failing."""
    event = Event(model.KNOWLEDGE, "half \ud83d", time="2026-01-01T00:00:00.000Z")

    good, bad = codec.decode_segment(codec.encode_segment([event]))

    assert (["half ?"], 0) == ([e.content for e in good], bad)


ANYTHING = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.just(10**400), st.text(max_size=8), st.just("\ud800é")
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)


@given(
    st.sampled_from(sorted(model.TYPES)),
    st.dictionaries(st.sampled_from([*codec._ORDER, "x_new"]), ANYTHING, max_size=6),
)
def test_whatever_is_read_can_be_written_again(type: str, values: dict[str, object]) -> None:
    """A segment of anybody's, with any JSON value in any field, gives sound events or none."""
    sound = {"id": "a" * 16, "type": type, "content": "c" * 16, "time": "2026-01-01T00:00:00.000Z", "target": "b" * 16}
    for object in (sound | values, values):
        good, bad = codec.decode_segment(json.dumps([object]).encode(), None)

        assert 1 == len(good) + bad
        assert (good, 0) == codec.decode_segment(codec.encode_segment(good))


@pytest.mark.parametrize("target", ["../../x", "", 7, "B" * 16])
def test_a_change_of_state_of_nothing_is_no_event(target: object) -> None:
    """What a change of state is about is an id, for it hides documents and names files."""
    values = codec.to_dict(Event(model.RETRACTED, "", time="2026-01-01T00:00:00.000Z", target="a" * 16))

    assert codec.from_dict(values | {"target": target}) is None


def test_a_memory_that_says_nothing_is_no_event() -> None:
    """Blank content has nothing to show."""
    values = codec.to_dict(Event(model.DECISION, "x", time="2026-01-01T00:00:00.000Z"))

    assert codec.from_dict(values | {"content": " \n"}) is None


def test_a_copy_whose_id_belongs_to_it_counts_before_one_with_a_foreign_id() -> None:
    """Nobody can put other words under the id of a memory, however early they are dated."""
    true = Event(model.DECISION, "Use SQLite", time="2026-01-02T00:00:00.000Z")
    forged = true.replace(content="Use CSV", time="2026-01-01T00:00:00.000Z")

    assert true == codec.better(true, forged) == codec.better(forged, true)
