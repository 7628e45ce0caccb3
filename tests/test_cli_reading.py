"""Looking at the memory: log, show, search, export."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import NAME, TestRepo

from cortex_git.env import Env
from cortex_git.events import codec, model
from cortex_git.events.model import Event
from cortex_git.memory import Memory

DAY = 86400
START = 1767225600 + 31 * DAY  # 2026-02-01T00:00:00Z


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository with a commit and a memory, at noon of 2026-02-10."""
    repo.commit({"a.txt": "a\n"})
    repo.run("init", "--yes", "--no-plugin")
    repo.clock = lambda: START + 9.5 * DAY
    return repo


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestRepo]:
    """A repository with the sample, for tests that only look at it."""
    folder = tmp_path_factory.mktemp("sampled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        made = TestRepo.make(folder / "repo")
        made.commit({"a.txt": "a\n"})
        made.run("init", "--yes", "--no-plugin")
        made.clock = lambda: START + 9.5 * DAY
        sample(made)
        yield made


def at(day: int, hour: int = 12) -> str:
    """A time in February 2026."""
    return f"2026-02-{day:02d}T{hour:02d}:00:00.000Z"


def event(type: str, content: str, day: int = 1, **fields: Any) -> Event:
    """An event of a day in February 2026."""
    return Event(type, content, time=at(day), **fields)


def record(repo: TestRepo, *events: Event) -> None:
    """Store events on the branch that is checked out."""
    env = Env(dict(os.environ), str(repo.path), repo.clock, *([None] * 3))  # type: ignore[arg-type]
    Memory.open(env, "git").record(events)


def sample(repo: TestRepo) -> dict[str, Event]:
    """One event of each kind that a listing tells apart."""
    made = {
        "decision": event(model.DECISION, "Use SQLite", 1, reason="one writer", author="Bob"),
        "rejected": event(model.REJECTED, "MongoDB", 2, agent="claude-code", session="session-a"),
        "learned": event(model.KNOWLEDGE, "the parser is slow", 3, confidence=0.4),
        "file": event(model.FILE_MODIFIED, "a.txt", 4, files=["a.txt"], source={"id": "t1"}),
        "old": Event(model.DECISION, "Use files", time=at(1, 8)),
        "gone": event(model.DECISION, "Use XML", 2),
        "unknown": event("idea_had", "from a newer version", 5),
    }
    made["superseded"] = event(model.SUPERSEDED, made["decision"].id, 6, target=made["old"].id)
    made["retracted"] = event(model.RETRACTED, "no", 6, target=made["gone"].id)
    record(repo, *made.values())
    return made


def contents(repo: TestRepo, *args: str) -> list[str]:
    """The contents that `log` shows, in its order."""
    return [event["content"] for event in json.loads(repo.run("log", "--json", *args).out)]


def test_log_reads_like_git_log(ready: TestRepo) -> None:
    """An event is shown as a block as `git log` shows a commit."""
    made = event(model.DECISION, "Use SQLite\nfor storage", 1, reason="one writer", alternatives=["Postgres", "files"])
    record(ready, made)
    assert (
        f"event {made.id} (accepted)\n"
        "Type:       decision\n"
        f"Author:     {NAME}\n"
        "Date:       Sun Feb 1 12:00:00 2026 +0000\n"
        "Branch:     main\n"
        "\n"
        "    Use SQLite\n"
        "    for storage\n"
        "\n"
        "    Because: one writer\n"
        "    Over: Postgres; files\n"
    ) == ready.run("log").out


def test_log_of_nothing(ready: TestRepo) -> None:
    """An empty memory is shown as nothing, and as an empty array."""
    assert "" == ready.run("log").out
    assert "[]" == ready.run("log", "--json").out.strip()
    assert [] == json.loads(ready.run("export").out)


def test_log_shows_what_counts(ready: TestRepo) -> None:
    """By default the semantic events are shown that stand and are certain enough, newest first."""
    sample(ready)
    assert ["MongoDB", "Use SQLite"] == contents(ready)
    assert ["Use SQLite", "MongoDB"] == contents(ready, "--reverse")


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        (["--type", "decision"], ["Use SQLite"]),
        (["--type", "decision,rejected"], ["MongoDB", "Use SQLite"]),
        (["--type", "decision", "--type", "approach_rejected"], ["MongoDB", "Use SQLite"]),
        (["--type", "file"], ["a.txt"]),
        (["--min-confidence", "0"], ["the parser is slow", "MongoDB", "Use SQLite"]),
        (["--withdrawn", "--type", "decision"], ["Use XML", "Use SQLite", "Use files"]),
        (["-n", "1"], ["MongoDB"]),
        (["-1"], ["MongoDB"]),
        (["-n", "0"], []),
        (["-n", "1", "--reverse"], ["MongoDB"]),
        (["--since", "2026-02-02"], ["MongoDB"]),
        (["--until", "2026-02-01"], ["Use SQLite"]),
        (["--since", "2026-02-01", "--until", "2026-02-02"], ["MongoDB", "Use SQLite"]),
        (["--since", "8 days ago"], ["MongoDB"]),
        (["--since", "2.weeks"], ["MongoDB", "Use SQLite"]),
        (["--since", "yesterday"], []),
        (["--since", "2026-02-02T12:00:00Z"], ["MongoDB"]),
        (["--until", "2026-02-02 11:59:59 +0000"], ["Use SQLite"]),
        (["--session", "session"], ["MongoDB"]),
        (["--author", "bob"], ["Use SQLite"]),
        (["--author", "claude"], ["MongoDB"]),
    ],
)
def test_filters(args: list[str], wanted: list[str], sampled: TestRepo) -> None:
    """Each filter leaves exactly what it names."""
    assert wanted == contents(sampled, *args)


def test_everything_is_everything(ready: TestRepo) -> None:
    """--everything shows each event, also of types that this version does not know."""
    made = sample(ready)
    assert sorted(event.content for event in made.values()) == sorted(contents(ready, "--everything"))


@pytest.mark.parametrize("text", ["gestern", "yestreday", "", "x"])
def test_what_is_no_date_is_wrong_usage(text: str, ready: TestRepo) -> None:
    """git would take such a text for this very moment and show nothing."""
    result = ready.run("log", "--since", text, check=False)
    assert 2 == result.status
    assert "is no date" in result.err


def test_what_was_withdrawn_is_marked(ready: TestRepo) -> None:
    """A superseded decision and a retracted one are told from the others."""
    made = sample(ready)
    out = ready.run("log", "--withdrawn", "--oneline").out
    assert f"{made['old'].id[:7]} decision   (superseded by {made['decision'].id[:7]}) Use files\n" in out
    assert f"{made['gone'].id[:7]} decision   (retracted) Use XML\n" in out
    assert f"{made['decision'].id[:7]} decision   Use SQLite, because one writer\n" in out
    status = {event["content"]: event["status"] for event in json.loads(ready.run("log", "--withdrawn", "--json").out)}
    assert ("superseded", "deprecated") == (status["Use files"], status["Use XML"])


def test_branches(ready: TestRepo) -> None:
    """A branch shows what it sees; --branch looks from another one, --all at all of them."""
    ready.commit(message="base")
    ready.git("checkout", "--quiet", "--orphan", "other")
    record(ready, event(model.DECISION, "Only on other"))
    ready.commit(message="other")
    ready.git("checkout", "--quiet", "main")
    record(ready, event(model.DECISION, "Only on main"))
    assert ["Only on main"] == contents(ready)
    assert ["Only on other"] == contents(ready, "--branch", "other")
    assert {"Only on main", "Only on other"} == set(contents(ready, "--all"))
    result = ready.run("log", "--branch", "nowhere", check=False)
    assert (1, 1) == (result.status, result.err.count("\n"))


def test_show(ready: TestRepo) -> None:
    """`show` tells all that is known about an event, by a short id."""
    made = sample(ready)
    out = ready.run("show", made["old"].id[:6]).out
    assert out.startswith(f"event {made['old'].id} (superseded)\n")
    for line in ("Layer:      structural", f"Superseded: by {made['decision'].id}", "Confidence: 1", "Commit:     "):
        assert f"\n{line}" in out
    both = json.loads(ready.run("show", made["old"].id, made["file"].id, "--json").out)
    assert [made["old"].id, made["file"].id] == [event["id"] for event in both]
    assert {"id": "t1"} == both[1]["source"]


def test_show_finds_other_branches(ready: TestRepo) -> None:
    """An id of another branch is found, too."""
    ready.git("checkout", "--quiet", "--orphan", "other")
    made = event(model.DECISION, "Only on other")
    record(ready, made)
    ready.commit(message="other")
    ready.git("checkout", "--quiet", "main")
    assert "Only on other" in ready.run("show", made.id[:8]).out


def test_show_of_a_commit(ready: TestRepo) -> None:
    """A commit stands for what was recorded at it and for what it brought."""
    record(ready, event(model.DECISION, "Use SQLite"))
    first = ready.git("rev-parse", "HEAD")
    ready.git("add", ".cortex")
    ready.run("project")
    ready.commit(message="with the decision")
    assert "Use SQLite" in ready.run("show", first[:10]).out
    assert "Use SQLite" in ready.run("show", "HEAD").out
    assert "Use SQLite" in ready.run("show", "main").out


@pytest.mark.parametrize("name", ["abcdef1", "nowhere", "--all", "", "HEAD~7", "x\ny"])
def test_show_of_what_is_not_there(name: str, ready: TestRepo) -> None:
    """Neither an event nor a commit: one line that says so."""
    result = ready.run("show", "--", name, check=False)
    assert 1 == result.status
    assert "there is no memory and no commit" in result.err
    assert 1 == result.err.count("\n")


def test_show_of_an_ambiguous_id(ready: TestRepo) -> None:
    """The start of two ids is refused, and both are named."""
    one, two = (event(model.DECISION, text, id=id) for text, id in (("a", "abcd" + "0" * 12), ("b", "abcd" + "1" * 12)))
    record(ready, one, two)
    result = ready.run("show", "abcd", check=False)
    assert 1 == result.status
    assert one.id in result.err
    assert two.id in result.err


def test_show_of_a_commit_without_memory(ready: TestRepo) -> None:
    """A commit to which nothing belongs is said to have nothing."""
    assert "no memory belongs to the commit" in ready.run("show", "HEAD", check=False).err


def test_export_is_what_is_stored(ready: TestRepo) -> None:
    """Both forms of JSON hold each event as it is stored, oldest first, and can be read back."""
    made = sample(ready)
    text = ready.run("export", "--everything").out
    events, bad = codec.decode_segment(text.encode())
    assert (len(made), 0) == (len(events), bad)
    assert sorted(events, key=model.order) == events
    lines = ready.run("export", "--everything", "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == json.loads(text)
    assert ready.run("export").out == ready.run("export", "--json").out


def test_export_into_a_file(ready: TestRepo) -> None:
    """With --output nothing is printed; where the file cannot be, one line says so."""
    sample(ready)
    assert "" == ready.run("export", "-o", "out.json").out
    assert json.loads(ready.run("export").out) == json.loads(ready.read("out.json"))
    result = ready.run("export", "-o", "missing/out.json", check=False)
    assert (1, 1) == (result.status, result.err.count("\n"))


def test_export_as_markdown(ready: TestRepo) -> None:
    """The document has a section a type, and no text in it becomes markup."""
    record(ready, event(model.DECISION, "Use *SQLite*\nand `more`", reason="one <b>writer</b>"), event(model.TASK, "t"))
    out = ready.run("export", "--format", "markdown").out
    assert out.startswith("# Memory\n\n## Decisions\n\n- **Use \\*SQLite\\*** (accepted, ")
    assert "\n## Tasks done\n" in out
    assert "<b>" not in out.replace("\\<", "")


def found(repo: TestRepo, *args: str) -> list[str]:
    """The contents that `search` finds, best first."""
    return [hit["content"] for hit in json.loads(repo.run("search", *args, "--json").out)["hits"]]


def test_search(ready: TestRepo) -> None:
    """`search` finds by words, as blocks, lines and JSON, and nothing for what is not there."""
    sample(ready)
    assert "Use SQLite" in ready.run("search", "sqlite").out
    assert "MongoDB" not in ready.run("search", "sqlite", "--oneline").out
    assert ["Use SQLite"] == found(ready, "sqlite")
    assert [] == found(ready, "qwertzuiop")
    nothing = ready.run("search", "qwertzuiop")
    assert ("", "git cortex: nothing was found\n") == (nothing.out, nothing.err)
    more = ready.run("search", "use", "--withdrawn", "--oneline", "-1")
    assert 1 == more.out.count("\n")
    assert "the best 1 of 3; `-n 3` shows all" in more.err


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        (["use"], ["Use SQLite"]),
        (["use", "--withdrawn"], ["Use SQLite", "Use XML", "Use files"]),
        (["parser"], []),
        (["parser", "--min-confidence", "0"], ["the parser is slow"]),
        (["txt"], []),
        (["txt", "--type", "file"], ["a.txt"]),
        (["txt", "--everything"], ["a.txt"]),
        (["mongodb", "--since", "2026-02-03"], []),
        (["mongodb", "--author", "claude"], ["MongoDB"]),
        (["mongodb", "--author", "bob"], []),
        (["mongodb", "--session", "session-b"], []),
        (["mongodb", "type:rejected"], ["MongoDB"]),
    ],
)
def test_search_filters(args: list[str], wanted: list[str], sampled: TestRepo) -> None:
    """The options that narrow a listing narrow a search as well."""
    assert wanted == sorted(found(sampled, *args))


def test_search_finds_an_id_and_ranks_it_first(ready: TestRepo) -> None:
    """The start of an id finds the event."""
    made = sample(ready)
    assert ["MongoDB"] == found(ready, made["rejected"].id[:8])


def test_search_on_other_branches(ready: TestRepo) -> None:
    """What only another branch sees is found when that branch, or all of them, are asked."""
    ready.git("checkout", "--quiet", "--orphan", "other")
    record(ready, event(model.DECISION, "Use Erlang"))
    ready.commit(message="other")
    ready.git("checkout", "--quiet", "main")
    assert [] == found(ready, "erlang")
    assert ["Use Erlang"] == found(ready, "erlang", "--branch", "other")
    assert ["Use Erlang"] == found(ready, "erlang", "--all")


def test_search_finds_items_without_notes(ready: TestRepo, tmp_path: Path) -> None:
    """In a clone that never fetched notes, the committed items are found."""
    record(ready, event(model.DECISION, "Use Erlang"))
    ready.git("add", ".cortex")
    ready.run("project")
    ready.commit(message="with the decision")
    ready.git("clone", "--quiet", str(ready.path), str(tmp_path / "clone"))
    clone = TestRepo(tmp_path / "clone")
    clone.run("init", "--yes", "--no-plugin")
    assert ["Use Erlang"] == found(clone, "erlang")


def test_search_on_all_branches_reads_the_items_of_the_commit(ready: TestRepo) -> None:
    """`search --all` finds, once each, what files of the commit hold, before any other search has read them."""
    ready.run("decide", "Use SQLite")
    ready.git("add", "-A")
    ready.run("project")
    ready.commit(message="With the items")
    assert 1 == found(ready, "sqlite", "--all").count("Use SQLite")


@pytest.mark.parametrize("words", [[""], ["  "]])
def test_search_for_nothing_is_wrong_usage(words: list[str], ready: TestRepo) -> None:
    """A search needs a word."""
    assert 2 == ready.run("search", *words, check=False).status


def test_search_marks_what_matched(ready: TestRepo) -> None:
    """With colour the words that were found stand out."""
    sample(ready)
    assert "\x1b[1;31mSQLite\x1b[m" in ready.run("search", "sqlite", "--color=always").out
