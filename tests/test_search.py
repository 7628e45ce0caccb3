"""What a search finds, in which order, and what it says about it."""

from __future__ import annotations

import string
from collections.abc import Callable
from pathlib import Path

import pytest
from search_data import START, Maker, Store

from cortex_git.env import rfc3339
from cortex_git.errors import UsageError
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.search.answer import HIT, MISS, WEAK, Answer
from cortex_git.search.fields import FIELDS, Filter, moment
from cortex_git.search.index import Index
from cortex_git.search.query import parse
from cortex_git.search.record import COMMANDS, FILES, MEMORY

NOW = "2026-06-01T12:00:00.000Z"
OTHERS = Maker(3).segments(60, meant=1.0)


def note(text: str, type: str = model.DECISION, **fields: object) -> Event:
    """An event that says a text."""
    return Event(type, text, time=str(fields.pop("time", rfc3339(START))), session=text, **fields)  # type: ignore[arg-type]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """An index without anything in it."""
    return Index(str(tmp_path / "index"))


@pytest.fixture
def notes(index: Index) -> Callable[..., Index]:
    """Makes an index of notes, given as texts or events, beside a few that are about something else."""

    def make(*given: str | Event) -> Index:
        store = Store(OTHERS)
        store.add(*(one if isinstance(one, Event) else note(one) for one in given))
        index.update(store.segments, store.load)
        return index

    return make


def texts(answer: Answer) -> list[str]:
    """The contents of the hits."""
    return [hit.event.content for hit in answer.hits]


def test_the_best_comes_first(notes: Callable[..., Index]) -> None:
    """A note with more and rarer of the words comes before one with fewer."""
    best, other = "Chose a write-ahead journal for crash safety", "The journal is rotated daily"
    assert texts(notes(best, other).search("journal for crash safety"))[:2] == [best, other]


def test_content_counts_more_than_reason(notes: Callable[..., Index]) -> None:
    """The same word weighs more in the content than in the reason, and is found in every field."""
    first, last = note("Use zstandard", reason="gzip"), note("Use gzip", reason="zstandard")
    fields = [note("a", topic="zstandard"), note("b", alternatives=["zstandard"]), note("c", files=["zstandard.py"])]
    found = texts(notes(last, first, *fields).search("zstandard"))
    assert set(found) == {"Use zstandard", "Use gzip", "a", "b", "c"}
    assert found.index("Use zstandard") < found.index("Use gzip")


@pytest.mark.parametrize("query", ["floccinaucinihilipilification", "zxqv wvut", "ploxit_granfoo", "河马"])
def test_nonsense_finds_nothing(notes: Callable[..., Index], query: str) -> None:
    """Words that occur nowhere find nothing, and the verdict says so."""
    answer = notes("A note about something").search(query)
    assert (answer.hits, answer.verdict, answer.left_out) == ([], MISS, 0)


def test_one_common_word_of_many_is_no_answer(notes: Callable[..., Index]) -> None:
    """A question is not answered by a note that shares its least telling word only."""
    assert notes("Rotate the logs").search("grandmother's cactus rotates beneath violet chandeliers").hits == []


def test_what_was_left_out_is_counted(notes: Callable[..., Index]) -> None:
    """Hits that the limit cut off are counted."""
    answer = notes(*(f"The frobnicator number {n}" for n in range(30))).search("frobnicator", limit=4)
    assert (len(answer.hits), answer.left_out, answer.verdict) == (4, 26, HIT)


def test_a_half_answer_is_weak(notes: Callable[..., Index]) -> None:
    """What covers about half of a query is shown, and called weak."""
    assert notes("Prefer sqlite for storage").search("sqlite, unicorns").verdict == WEAK


def test_an_id_comes_first(notes: Callable[..., Index]) -> None:
    """A whole id, or the start of one, puts its event before all others."""
    wanted = note("The one that is meant")
    index = notes(wanted, *(f"see {wanted.id} and {wanted.id[:8]}, {n}" for n in range(5)))
    for length in (16, 12, 7):
        assert index.search(wanted.id[:length]).hits[0].id == wanted.id
    assert index.search(f"what was {wanted.id}?").hits[0].id == wanted.id
    assert wanted.id in [hit.id for hit in index.search(wanted.id[:4]).hits]


def test_a_name_comes_before_its_parts(notes: Callable[..., Index]) -> None:
    """What holds an identifier as written comes before what says its parts more often."""
    parts = "retry count retry count max retry count"
    found = texts(notes(parts, "max_retry_count is read once when the program starts").search("max_retry_count"))
    assert found[0].startswith("max_retry_count") and parts in found


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("parseHttpResponseHeaders keeps the order", "response headers"),
        ("max_retry_backoff_ms is 500", "retry backoff"),
        ("see src/git_cortex/store.py:42", "store.py"),
        ("see src/git_cortex/store.py:42", "src/git_cortex/store.py"),
        ("NumPy is not needed", "numpy"),
        ("numpy is not needed", "NumPy"),
        ("callers use getUserIDs", "getuserids"),
        ("broken since 9f2280cb8063c20d", "9f2280c"),
        ("用户身份验证很慢", "身份"),
        ("用户身份验证很慢", "慢"),
        ("有効期限は一日", "有効期限"),
        ("사용자인증 오류", "인증"),
        ("the café closes", "CAFE"),
        ("ship it 🚀 now", "🚀"),
    ],
)
def test_what_is_said_in_one_form_is_found_in_another(notes: Callable[..., Index], said: str, asked: str) -> None:
    """Identifiers are found by parts, paths by their ends, hashes by their start, CJK by one character or more."""
    assert texts(notes(said).search(asked))[:1] == [said]


@pytest.mark.parametrize("asked", ["journla of wirtes", "jurnal", "journaal"])
def test_a_slip_of_the_finger_is_forgiven(notes: Callable[..., Index], asked: str) -> None:
    """A word one letter off is found, which is weak, and it is said which words were taken for others."""
    answer = notes("The journal of writes").search(asked)
    assert texts(answer) == ["The journal of writes"]
    assert answer.verdict == WEAK and "words like it" in answer.notices[0]


def test_a_very_long_word_is_not_guessed(notes: Callable[..., Index]) -> None:
    """What no finger slips in is found as it is written or not at all; its look-alikes would be too many to try."""
    index = notes("The journal of writes", "y" * 41)
    assert ([], []) == (index.search("x" * 10_000).hits, index.search("y" * 40 + "z").hits)
    assert ["y" * 41] == texts(index.search("y" * 41))


def test_a_query_of_very_many_words_is_cut(notes: Callable[..., Index]) -> None:
    """The first words are searched for, and it is said that the others were not."""
    answer = notes("The journal of writes").search("journal writes " + " ".join(f"w{n}q" for n in range(3000)))
    assert ["only the first 500 words were searched for"] == answer.notices


@pytest.mark.parametrize("sign", sorted(set(string.punctuation)))
def test_no_sign_breaks_a_query(notes: Callable[..., Index], sign: str) -> None:
    """Every sign alone, before, in and after a word finds the note that says it."""
    said = f"alpha{sign}omega and x {sign} y"
    index = notes(said)
    for query in (f"alpha{sign}omega", sign, f"{sign} alpha", f"alpha{sign}", f"omega {sign}{sign}"):
        assert said in texts(index.search(query, limit=1000)), query


@pytest.mark.parametrize(
    "query", ["", " ", '"', '""', "NEAR(", "a OR", "* ?", "-", "--", "type:", '-"', "\0", "(((", "\ud800"]
)
def test_no_query_is_an_error(notes: Callable[..., Index], query: str) -> None:
    """Whatever is asked is answered."""
    assert notes("a note").search(query).verdict in (HIT, WEAK, MISS)


def test_quotes_mean_these_words_in_this_order(notes: Callable[..., Index]) -> None:
    """A phrase is found as such, over case, accents and spaces, and not in parts of words."""
    right = note("We saw NO  flicker on\nrésize at all")
    index = notes(right, "on resize there is no flicker", "no flicker on resizeable things")
    assert texts(index.search('"no flicker on resize"')) == [right.content]
    assert texts(index.search('"flicker on" "résize at"')) == [right.content]
    assert index.search('"flicker off"').verdict == MISS
    assert texts(notes("a => b").search('"=>"')) == ["a => b"]


def test_of_many_phrases_each_must_be_there(notes: Callable[..., Index]) -> None:
    """A phrase that nobody says leaves nothing, wherever it stands."""
    index = notes("alpha beta gamma delta")
    assert ["alpha beta gamma delta"] == texts(index.search('"alpha beta" "gamma delta"'))
    for query in ('"beta alpha" "gamma delta"', '"alpha beta" "delta gamma"'):
        assert [] == index.search(query).hits


def test_a_minus_leaves_out(notes: Callable[..., Index]) -> None:
    """-word and -"a phrase" leave out what says them; a flag is text; if nothing is left, so is the word."""
    index = notes("lock with flock", "lock with a lease", "run with --lock -x", "rm -rf everything")
    assert "lock with flock" not in texts(index.search("lock -flock"))
    assert "lock with a lease" not in texts(index.search('lock -"a lease"'))
    assert texts(index.search("--lock"))[0] == "run with --lock -x"
    assert texts(index.search("rm -rf")) == ["rm -rf everything"]


EVENTS = [
    note("alpha one", branch="main", author="Ada Author", files=["src/a.py", "docs/a.md"], agent="codex"),
    note("alpha two", model.REJECTED, branch="feature/x", author="Ben", time="2026-03-01T10:00:00.000Z", commit="abc1"),
    note("alpha three", model.RESOLVED, branch="feature/y", files=["lib/a.py"], time="2026-05-20T10:00:00.000Z"),
    note("alpha four", model.PLAN, time="2026-05-31T23:59:59.999Z", source={"id": "m"}),
]
CONDITIONS = [
    ("type", "decision"), ("type", "rejected,fixed"), ("type", "plan_created"), ("branch", "main"),
    ("branch", "feature/*"), ("file", "a.py"), ("file", "src"), ("file", "src/*.py"), ("file", "./docs/a.md"),
    ("author", "ada"), ("agent", "CODEX"), ("session", "alpha t"), ("commit", "abc"), ("since", "2026-03-01"),
    ("since", "2026-03-01T10:00:00.001Z"), ("since", "2w"), ("until", "2026-05-20T12:00+02:00"), ("until", "2026-05"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "argument"), CONDITIONS)
@pytest.mark.parametrize("negated", [False, True])
def test_the_index_filters_as_the_table_says(
    notes: Callable[..., Index], name: str, argument: str, negated: bool
) -> None:
    """A condition in a query leaves exactly the events that the table of fields accepts, and not all of them."""
    condition = Filter(name, argument.split(","), NOW, negated)
    expected = {event.content for event in EVENTS if condition.accepts(event)}
    assert 0 < len(expected) < len(EVENTS)
    value = f'"{argument}"' if " " in argument else argument
    query = f"alpha {'-' if negated else ''}{name}:{value}"
    assert set(texts(notes(*EVENTS).search(query, now=NOW))) == expected
    if not negated:
        assert set(texts(notes(*EVENTS).search("alpha", now=NOW, **{name: argument.split(",")}))) == expected


def test_conditions_alone_list_what_fulfils_them(notes: Callable[..., Index]) -> None:
    """Without a word to search for, all that fulfils the conditions is listed, the newest first."""
    index = notes(*EVENTS, note("make alpha", model.COMMAND, branch="feature/x"))
    assert texts(index.search("branch:feature/* since:2026-02")) == ["alpha three", "alpha two"]
    assert texts(index.search("type:command")) == ["make alpha"]
    assert index.search("branch:none").verdict == MISS


def test_each_field_can_leave_out_an_event() -> None:
    """The conditions above try every field that there is, and a query gives only such."""
    assert {name for name, _ in CONDITIONS} == set(FIELDS)
    query = " ".join(f"{name}:{argument}" for name, argument in CONDITIONS if " " not in argument)
    assert {condition.field.name for condition in parse(query, NOW).filters} == set(FIELDS) - {"session"}


@pytest.mark.parametrize("query", ["http://example.org", "std::vector", "note: this", "type:unheard", "since:never"])
def test_what_is_no_condition_is_text(query: str) -> None:
    """A colon makes a condition only with a field that there is and an argument that makes sense."""
    assert parse(query, NOW).filters == [] and parse(query, NOW).prose == query


def test_a_condition_given_in_the_program_must_make_sense(index: Index) -> None:
    """Unknown fields, types and times are errors there, with the ways to do it right."""
    for conditions in ({"colour": "red"}, {"type": "unheard"}, {"since": "never"}):
        with pytest.raises(UsageError, match=r"there is no|is no time"):
            index.search("x", **conditions)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026", "2026-01-01T00:00:00.000Z"),
        ("2026-05", "2026-05-01T00:00:00.000Z"),
        ("2026-05-01 14:30", "2026-05-01T14:30:00.000Z"),
        ("2026-05-01T14:30:05.5+02:00", "2026-05-01T12:30:05.500Z"),
        ("36h", "2026-05-31T00:00:00.000Z"),
        ("2.weeks.ago", "2026-05-18T12:00:00.000Z"),
        ("today", "2026-06-01T00:00:00.000Z"),
    ],
)
def test_moments(text: str, expected: str) -> None:
    """Dates, times with and without a zone, and spans before now are understood."""
    assert moment(text, NOW) == expected


def test_scopes_are_searched_apart(notes: Callable[..., Index]) -> None:
    """Files and commands are found when they are asked for, and do not get among decisions."""
    index = notes(
        "the frobnicator decision",
        note("make frobnicator", model.COMMAND),
        note("src/frobnicator.py", model.FILE_MODIFIED, files=["src/frobnicator.py"]),
    )
    assert texts(index.search("frobnicator")) == ["the frobnicator decision"]
    assert texts(index.search("frobnicator", scopes=[COMMANDS])) == ["make frobnicator"]
    assert texts(index.search("frobnicator type:file_modified")) == ["src/frobnicator.py"]
    assert len(index.search("frobnicator", scopes=[MEMORY, FILES, COMMANDS]).hits) == 3


def test_snippets_show_where(notes: Callable[..., Index]) -> None:
    """A snippet is one line around the matches, with exact marks; the reason joins in if it matches."""
    long = note("filler " * 80 + "the Gizmo\nwas running hot " + "filler " * 80, reason="its fan had stopped")
    hit = notes(long).search("gizmo run fans").hits[0]
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["Gizmo", "running", "fan"]
    assert len(hit.snippet) <= 245 and "\n" not in hit.snippet and "Gizmo was running hot" in hit.snippet


def test_marks_are_exact_in_cjk(notes: Callable[..., Index]) -> None:
    """In a run of CJK only the characters asked for are marked."""
    hit = notes("用户身份验证很慢").search("身份验证").hits[0]
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["身份验证"]


def test_explain_says_what_counted(notes: Callable[..., Index]) -> None:
    """An answer can tell the terms, how many events hold them, the conditions, and how it was judged."""
    answer = notes("the gizmo runs").search('gizmo -motor branch:main "the gizmo"')
    told = "\n".join(answer.explain)
    assert all(text in told for text in ("gizmo in 1", "without 'motor'", "branch:main", "word by word"))
