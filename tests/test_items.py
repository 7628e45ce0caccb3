"""Item files: an event goes in whole, comes out whole, and stays in its place."""

from __future__ import annotations

import os
import re

import pytest
from conftest import TestRepo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from items_data import HOSTILE, SESSION, decision, fact, rejected

from cortex_git.errors import CortexError
from cortex_git.events import codec, model
from cortex_git.events.model import Event
from cortex_git.projections import frontmatter, items, prose
from cortex_git.store.open import open_backend
from cortex_git.store.repo import require
from cortex_git.views.standing import Plan, parse_plan

MADR = """\
---
id: "1a9abc9a8d7b1ab6"
type: decision_made
title: "Use SQLite for storage"
status: accepted
date: 2026-12-01
decision-makers:
  - "Ada Author"
tags:
  - "storage"
scope:
  - "src/db/store.py"
confidence: 1.0
session: "5c0ffee1-aaaa-bbbb-cccc-0123456789ab"
branch: "feature/store"
commit: "0123456789abcdef0123456789abcdef01234567"
layer: user
time: "2026-12-01T10:11:12.345Z"
agent: user
author: "Ada Author"
source:
  id: "toolu_01"
sum: "SUM"
---

<!-- markdownlint-disable -->

# Use SQLite for storage

## Considered Options

- Use SQLite for storage
- PostgreSQL
- plain files

## Decision Outcome

Chosen option: "Use SQLite for storage", because it needs no configuration
"""
PIECES = [*"`*_[]<>#-+|~$&\\\"': \n.1)=!é日\u202e\0", "```", "---\n", "## ", "a b", " "]
TEXT = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
    st.sampled_from(HOSTILE),
)


def plain_example() -> Event:
    """The decision whose file is written out above."""
    return decision(
        reason="it needs no configuration",
        alternatives=["PostgreSQL", "plain files"],
        topic="storage",
        files=["src/db/store.py"],
        source={"id": "toolu_01"},
    )


def encoded(events: list[Event]) -> list[str]:
    """The events as lines, for exact comparison."""
    return [codec.encode(event) for event in events]


@st.composite
def events(draw: st.DrawFn, types: tuple[str, ...]) -> Event:
    """An event with anything in its fields."""
    texts = st.lists(TEXT, max_size=3)
    return Event(
        draw(st.sampled_from(types)),
        draw(TEXT.filter(str.strip)),  # what says nothing is no memory
        time=f"2026-12-01T10:11:{draw(st.integers(10, 59))}.000Z",
        session=draw(TEXT),
        agent=draw(st.sampled_from(["user", "claude-code"]) | TEXT),
        author=draw(TEXT),
        branch=draw(TEXT),
        commit=draw(TEXT),
        reason=draw(TEXT),
        alternatives=draw(texts),
        topic=draw(TEXT),
        files=draw(texts),
        confidence=draw(st.floats(0, 1)),
        salience=draw(st.none() | st.floats(0, 1)),
        layer=draw(st.sampled_from(model.LAYERS) | TEXT),
        source=draw(st.dictionaries(TEXT, TEXT, max_size=2)),
        marks=draw(texts),
        extra=draw(st.dictionaries(TEXT.map("x-".__add__), TEXT | st.none() | st.lists(st.integers()), max_size=2)),
    )


def test_a_decision_is_a_document_in_the_form_of_madr() -> None:
    """The file of a decision is exactly as documented, under its date, title and id."""
    path, data = items.render(plain_example())
    id = plain_example().id
    text = re.sub('sum: "[0-9a-f]{16}"', 'sum: "SUM"', data.decode())

    assert f".cortex/decisions/2026-12-01-use-sqlite-for-storage-{id[:7]}.md" == path
    assert MADR.replace("1a9abc9a8d7b1ab6", id) == text


def test_a_rejected_approach_says_so() -> None:
    """A rejected approach has the status and the words for it."""
    path, data = items.render(rejected())

    assert path.startswith(".cortex/decisions/2026-12-01-redis-")
    assert "status: rejected\n" in data.decode()
    assert data.decode().endswith('## Decision Outcome\n\nRejected: "Redis", because it needs a server\n')


def test_long_content_and_reasons_have_sections_of_their_own() -> None:
    """A title is the first sentence; the whole text and a reason of several lines stand below."""
    event = decision("Use SQLite. It is small.\nIt has one writer.", reason="We are few.\n\nNobody runs servers here.")
    text = items.render(event)[1].decode()

    assert "# Use SQLite\n\n## Context and Problem Statement\n\nWe are few.\n\nNobody runs servers here.\n" in text
    assert 'Chosen option: "Use SQLite".\n\nUse SQLite. It is small.\nIt has one writer.\n' in text
    assert "\ncontent:" not in text


def test_plain_text_stands_in_the_prose_only() -> None:
    """Nothing that the prose shows exactly is repeated in the front matter."""
    text = items.render(decision("Use `snake_case` for C# and *.py", reason="see https://example.com/a_b?c=1&d=2."))[1]

    assert b"\ncontent:" not in text and b"\nreason:" not in text
    assert b"see <https://example.com/a_b?c=1&d=2>." in text


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(events((model.DECISION, model.REJECTED)))
def test_any_decision_comes_back_whole(event: Event) -> None:
    """Whatever a decision holds, its file gives back the same event, byte for byte, and renders to itself."""
    path, data = items.render(event)
    item = items.parse(path, data)

    assert [] == item.faults
    assert encoded([event]) == encoded(item.events)
    assert (path, data) == items.rerender(item)
    assert items.is_item(path)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(events((model.KNOWLEDGE, model.RESOLVED, model.PREFERENCE)), min_size=1, max_size=4), TEXT)
def test_any_facts_come_back_whole(found: list[Event], session: str) -> None:
    """A file of facts gives back every event of its session in the order of time."""
    group = {event.id: event for event in (event.replace(session=session, id="") for event in found)}
    path, data = items.render_learned(list(group.values()))
    item = items.parse(path, data)

    assert [] == item.faults
    assert encoded(sorted(group.values(), key=model.order)) == encoded(item.events)
    assert (path, data) == items.rerender(item)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(events((model.PLAN,)), st.lists(events((model.STEP,)), max_size=2), TEXT)
def test_any_plan_comes_back_whole(event: Event, ticks: list[Event], branch: str) -> None:
    """A plan's file gives back the plan, its steps as they stand, and the events that ticked them."""
    title, steps = parse_plan(event.content)
    path, data = items.render_plan(Plan(event, title, steps), "9ab3c2-0c10e1", branch, ticks)
    item = items.parse(path, data)

    assert [] == item.faults
    assert encoded([event]) == encoded(item.events)
    assert encoded(sorted(ticks, key=model.order)) == encoded(item.ticks)
    assert [step.done for step in steps] == [step.done for step in item.steps]
    assert (path, data) == items.rerender(item)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_in_its_place(text: str) -> None:
    """Whatever a text holds, a Markdown reader sees our headings and no others, no HTML and no foreign link."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    data = items.render(decision(text, reason=text, alternatives=[text, "B"]))[1].decode()
    tokens = markdown.parse(data.split("\n---\n", 1)[1])
    headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    inner = [child for token in tokens for child in token.children or ()]

    assert headings[1:] in (
        ["Considered Options", "Decision Outcome"],
        ["Context and Problem Statement", "Considered Options", "Decision Outcome"],
    )
    assert [items_comment()] == [token.content for token in tokens if token.type == "html_block"]
    assert {child.type for child in inner} <= {
        "text",
        "text_special",
        "softbreak",
        "code_inline",
        "link_open",
        "link_close",
    }
    assert all(re.match("https?://", dict(c.attrs)["href"]) for c in inner if c.type == "link_open")
    assert 3 == sum(token.type == "list_item_open" for token in tokens)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b\ufeff]", data)


def items_comment() -> str:
    """The one piece of HTML that our files hold."""
    return "<!-- markdownlint-disable -->\n"


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_yaml_reader_agrees_with_the_front_matter(text: str) -> None:
    """A YAML library reads the same values from the front matter as we do."""
    yaml = pytest.importorskip("yaml")
    event = decision(text, topic=text[:50], branch=text[:80], author=text[:30], source={text[:20]: text[:50]})
    head = items.render(event)[1].decode()[4:].partition("\n---\n")[0] + "\n"
    values = yaml.safe_load(head)
    values["date"] = str(values["date"])

    assert frontmatter.read(head) == values


@given(TEXT)
@settings(max_examples=300, deadline=None)
def test_inline_text_is_one_line_and_comes_back(text: str) -> None:
    """Text on one line of Markdown reads back as the text with its white space and unseen characters made plain."""
    shown = prose.inline(text, start=True)

    assert "\n" not in shown
    assert prose.flat(text) == prose.read_inline(shown)
    assert prose.flat(text) == prose.read_inline(prose.inline(text, links=False))


@given(TEXT)
@settings(max_examples=300, deadline=None)
def test_inline_text_is_shown_as_it_is(text: str) -> None:
    """What a Markdown reader shows for text on one line is that text; only code and addresses look different."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    tokens = markdown.parse(prose.inline(text, start=True))
    children = [child for token in tokens for child in token.children or ()]
    shown = "".join(f"`{child.content}`" if child.type == "code_inline" else child.content for child in children)

    assert (["paragraph_open", "inline", "paragraph_close"] if shown else []) == [token.type for token in tokens]
    assert prose.flat(text) == shown


def test_underscores_in_the_front_matter_are_read_as_hyphens() -> None:
    """`superseded_by` is the same field as `superseded-by`."""
    path, data = items.render(decision(), status="superseded", superseded_by="0123456789abcdef")
    item = items.parse(path, data.replace(b"superseded-by", b"superseded_by"))

    assert "0123456789abcdef" == item.superseded_by


def test_only_status_and_successor_change() -> None:
    """A change of status touches these two lines, keeps the checksum, and can be undone."""
    path, data = items.render(decision(), scope=["src/**"], supersedes=["a" * 16], relates_to=["b" * 16])
    changed = items.restate(data, "superseded", "0123456789abcdef")
    item = items.parse(path, changed)

    assert [] == item.faults
    assert ("superseded", "0123456789abcdef") == (item.status, item.superseded_by)
    assert (path, changed) == items.rerender(item)
    assert {b"status: superseded", b'superseded-by: "0123456789abcdef"'} == set(changed.split(b"\n")) - set(
        data.split(b"\n")
    )
    assert data == items.restate(changed, "accepted")


def test_relations_and_scope_are_kept() -> None:
    """What a decision supersedes, amends and relates to, and the globs of the files it governs, are in the file."""
    path, data = items.render(
        decision(files=["a[1].py"]),
        scope=["src/**", "*.toml"],
        supersedes=["a" * 16],
        amends=["b" * 16],
        relates_to=["c" * 16],
    )
    item = items.parse(path, data)

    assert (("src/**", "*.toml"), ("a" * 16,), ("b" * 16,), ("c" * 16,)) == (
        item.scope, item.supersedes, item.amends, item.relates_to,
    )  # fmt: skip
    assert ("a[1].py",) == item.event.files


def test_who_decided_and_whether_it_is_settled() -> None:
    """A person's decision is accepted under their name, an assistant's is proposed under its own."""
    by_person = items.render(decision())[1].decode()
    by_assistant = items.render(decision(agent="claude-code", layer="tag"))[1].decode()

    assert "status: accepted" in by_person and 'decision-makers:\n  - "Ada Author"' in by_person
    assert "status: proposed" in by_assistant and 'decision-makers:\n  - "claude-code"' in by_assistant


def test_a_file_of_facts_names_its_session() -> None:
    """Facts of one session share a file that is named after the session and all of them."""
    first, second = (
        fact(),
        fact("Port 80 is taken", model.RESOLVED, time="2026-12-01T11:00:00.000Z", reason="nginx has it"),
    )
    path, data = items.render_learned([second, first])

    assert re.fullmatch(r"\.cortex/learned/2026-12-01-5c0ffee1-[0-9a-f]{7}\.md", path)
    assert path not in {items.render_learned(some)[0] for some in ([first], [second])}
    assert "## The tests need a network\n\n## Fixed: Port 80 is taken\n\nBecause: nginx has it\n" in data.decode()
    assert 1 == data.decode().count(SESSION)


def test_a_session_without_hex_digits_gets_some() -> None:
    """The name of a file of facts is well-formed whatever the session is called."""
    for session in ("", "s", "5C0FFEE1-x", "5c0ffee12-y", "ünïcödé/../..", "\ud800"):
        assert items.is_item(items.render_learned([fact(session=session)])[0])


def test_a_plan_shows_its_steps() -> None:
    """The plan of a branch is a task list under the branch's name and key."""
    event = Event(
        model.PLAN, "Store\n- [x] table\n- [ ] index", time="2026-12-01T10:00:00.000Z", branch="feature/login"
    )
    title, steps = parse_plan(event.content)
    path, data = items.render_plan(Plan(event, title, steps), "9ab3c2-0c10e1", "feature/login")

    assert ".cortex/plans/feature-login-9ab3c2-0c10e1-d99f73.md" == path
    assert data.decode().endswith(
        "# Store\n\nPlan of the branch feature/login: 1 of 2 steps done.\n\n- [x] table\n- [ ] index\n"
    )


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("Use SQLite. It is small.", "use-sqlite"),
        ("Zwölf Boxkämpfer jagen Viktor", "zwolf-boxkampfer-jagen-viktor"),
        ("日本語だけ", "decision"),
        ("../../etc/passwd", "etc-passwd"),
        ("", "decision"),
        ("a" * 100, "a" * 40),
    ],
)
def test_names_are_short_and_plain(content: str, name: str) -> None:
    """File names hold lower-case ASCII letters, digits and hyphens, from the first sentence."""
    path = items.render(decision(content))[0]

    assert f"2026-12-01-{name}" == os.path.basename(path)[: -len("-0123456.md")]


def test_a_damaged_file_yields_faults_and_no_exception() -> None:
    """Any bytes at all can be read: what is no item has faults and no events."""
    path, data = items.render(plain_example())
    deep = b"".join(b"  " * depth + b"a:\n" for depth in range(300))
    for damaged in (b"", b"---\n", b"\xff" * 99, data[:200], data[200:], b"---\n" + deep + b"---\n", b"x" * 300_000):
        item = items.parse(path, damaged)

        assert item.faults and not item.events


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 900), st.integers(0, 200))
def test_reading_never_raises(noise: bytes, at: int, length: int) -> None:
    """A file with anything written over any part of it is read without an exception."""
    path, data = items.render(plain_example())

    assert items.parse(path, data[:at] + noise + data[at + length :]).path == path


def test_an_event_under_a_wrong_id_does_not_count() -> None:
    """A file whose content was changed yields no event; one whose white space was changed still does."""
    path, data = items.render(plain_example())

    assert [] == items.events_of({path: data.replace(b"SQLite", b"MySQL!")})
    assert [plain_example().id] == [event.id for event in items.events_of({path: data + b"\n"})]


def test_the_prose_cannot_be_overruled_unseen() -> None:
    """Fields of an unknown format cannot replace what the document shows."""
    path, data = items.render(plain_example())
    forged = data.replace(b"time:", b'extra: \'{"reason":"mine","author":"me"}\'\ntime:')

    assert [plain_example().reason] == [event.reason for event in items.events_of({path: forged})]


def test_events_of_many_files_fold_by_id() -> None:
    """Each event comes once, in the order of time; pages and other files are passed over."""
    files = dict([items.render(decision()), items.render(rejected()), items.render_learned([fact()])])
    files[".cortex/decisions/2026-12-01-a-copy-0000000.md"] = items.render(decision())[1]
    files[".cortex/README.md"] = b"# What\n"

    assert [decision().id, rejected().id, fact().id] == [event.id for event in items.events_of(files)]


def test_names_carry_ids() -> None:
    """The first digits of ids are read from the names of decisions; facts and plans have other names."""
    paths = [
        items.render(decision())[0],
        items.render_learned([fact()])[0],
        ".cortex/plans/main-0123ab-0c10e1-5c0ffe.md",
        "README.md",
    ]

    assert {decision().id[:7]} == items.ids_of(paths)


@pytest.mark.parametrize("prefer", ["git", "pygit2"])
def test_items_are_read_from_a_commit(repo: TestRepo, prefer: str) -> None:
    """Item files of any commit are found by their names, and their contents with all else in the folder."""
    path, data = items.render(plain_example())
    commit = repo.commit(
        {path: data, ".cortex/README.md": "# What\n", "a.md": "no\n", ".cortex/decisions/x.md": "no\n"}
    )
    repo.commit({path: b"later\n"})
    backend = open_backend(require(str(repo.path), os.environ), prefer)

    assert [path] == list(items.item_files(backend, commit))
    assert data == items.items_at(backend, commit)[path]
    assert {path, ".cortex/README.md", ".cortex/decisions/x.md"} == set(items.items_at(backend, commit))
    with pytest.raises(CortexError):
        items.item_files(backend, "0" * 40)
