"""Corrections: accept, retract, supersede, edit, pin and undo, on one branch."""

from __future__ import annotations

import json

import pytest
from conftest import TestRepo
from corrections import ASSISTANT, memories, named, shown, start, status, undo_of, written

SCRIPT = """#!/bin/sh
printf '%s' "$1" > "$0.path"
sed -i 's/SQLite/Postgres/; s/^one writer$/many writers/; s/^flat files$/SQLite/' "$1"
"""


@pytest.fixture
def ready(repo: TestRepo) -> TestRepo:
    """A repository with a memory, before anything is committed of it."""
    repo.commit({"a.txt": "a\n"})
    repo.run("init", "--yes", "--no-plugin")
    return repo


def briefing(repo: TestRepo) -> str:
    (path,) = (repo.path / ".git/cortex/view").glob("briefing-*.json")
    return path.read_text()


def test_a_proposal_is_accepted_by_a_person(ready: TestRepo) -> None:
    """`accept` makes an assistant's decision an accepted one; said twice it changes nothing, and undo takes it back."""
    ready.commit({"b": "1\n"})
    ready.git("switch", "-qc", "feature")
    ready.run("decide", "Use Redis", variables=ASSISTANT)
    id = named(ready, "Use Redis")
    assert "proposed" == status(ready, "Use Redis")

    done = ready.run("accept", id)
    assert done.out.startswith(f"[{id}] accepted: Use Redis (undo: git cortex undo ")
    assert "accepted" == status(ready, "Use Redis")
    assert f"[{id}] is accepted already, nothing changed: Use Redis\n" == ready.run("accept", id).out

    assert f"[{id}] undone: accepted; it is proposed: Use Redis" in ready.run("undo", undo_of(done.out)).out
    assert "proposed" == status(ready, "Use Redis")


def test_what_was_retracted_counts_no_more_until_that_is_undone(ready: TestRepo) -> None:
    """A retraction says who, when and why; it is undone by its id, by the memory's id, and the undo likewise."""
    ready.run("learn", "The moon is cheese", variables=ASSISTANT)
    id = named(ready, "The moon is cheese")

    done = ready.run("retract", id, "--reason", "it is rock")
    assert set() == shown(ready)
    out = ready.run("show", id).out
    assert "Retracted:  Ada Author, " in out
    assert f", because it is rock [{undo_of(done.out)}]\n" in out
    assert "(retracted) The moon is cheese" in ready.run("log", "--oneline", "--withdrawn").out
    assert "because it is rock" in ready.run("export", "--format", "markdown", "--withdrawn").out
    assert f"[{id}] is retracted already, nothing changed" in ready.run("retract", id).out

    undone = ready.run("undo", undo_of(done.out))
    assert {"The moon is cheese"} == shown(ready)
    again = ready.run("undo", undo_of(undone.out))
    assert set() == shown(ready)
    assert "was undone already, nothing changed" in ready.run("undo", undo_of(undone.out)).out
    ready.run("undo", undo_of(again.out))
    assert {"The moon is cheese"} == shown(ready)

    ready.run("retract", id)
    ready.run("undo", id)
    assert {"The moon is cheese"} == shown(ready)


def test_several_at_once_are_undone_one_by_one_or_together(ready: TestRepo) -> None:
    """Each line of one command has its own undo; `undo --last` takes back the whole command, then the one before."""
    for text in "abc":
        ready.run("learn", f"Fact {text}")
    ids = [named(ready, f"Fact {text}") for text in "abc"]
    first = ready.run("retract", *ids[:2])
    ready.run("undo", undo_of(first.out.splitlines()[0]))
    assert {"Fact a", "Fact c"} == shown(ready)

    ready.run("retract", ids[0], ids[2])
    assert set() == shown(ready)
    ready.run("undo", "--last")
    assert {"Fact a", "Fact c"} == shown(ready)
    ready.run("undo", "--last")
    assert {"Fact a", "Fact b", "Fact c"} == shown(ready)
    none = ready.run("undo", "--last", check=False)
    assert (1, "git cortex: this clone has corrected nothing on this branch that could be undone\n") == (
        none.status,
        none.err,
    )


def test_one_memory_takes_the_place_of_another(ready: TestRepo) -> None:
    """`supersede` by an id or by a text; both say what took whose place, and undo brings the old one back."""
    ready.run("decide", "Use Redis", "--topic", "cache", "--file", "a.txt")
    ready.run("decide", "Use SQLite")
    old, new = named(ready, "Use Redis"), named(ready, "Use SQLite")

    done = ready.run("supersede", old, new, "-b", "one file")
    assert {"Use SQLite"} == shown(ready)
    assert f"[{old}] superseded by {new}, 'Use SQLite': Use Redis (undo: " in done.out
    assert f"Superseded: by {memories(ready)['Use SQLite']['id']}, Ada Author, " in ready.run("show", old).out
    assert ", because one file [" in ready.run("show", old).out
    refused = ready.run("supersede", new, old, check=False)
    assert (1, f"git cortex: {old} no longer counts; it cannot take the place of another\n") == (
        refused.status,
        refused.err,
    )
    ready.run("undo", old)
    assert {"Use Redis", "Use SQLite"} == shown(ready)

    done = ready.run("supersede", old, "--by", "Use DuckDB", "--because", "columns")
    made = memories(ready)["Use DuckDB"]
    assert ("columns", "cache", ["a.txt"], "decision_made") == tuple(
        made[name] for name in ("reason", "topic", "files", "type")
    )
    assert {"Use DuckDB", "Use SQLite"} == shown(ready)
    undone = ready.run("undo", undo_of(done.out))
    assert {"Use Redis", "Use SQLite"} == shown(ready)
    ready.run("undo", undo_of(undone.out))
    assert {"Use DuckDB", "Use SQLite"} == shown(ready)
    ready.run("undo", made["id"])
    assert {"Use Redis", "Use SQLite"} == shown(ready)


def test_an_edit_keeps_what_it_does_not_change(ready: TestRepo) -> None:
    """A corrected memory has the type, topic, files and marks of the old one, even where the words stay the same."""
    ready.run("decide", "Use SQLite", "-b", "smal", "--over", "files", "--topic", "db", "-f", "a.txt", "--private")
    id = named(ready, "Use SQLite")

    ready.run("edit", id, "--reason", "small")
    (event,) = json.loads(ready.run("log", "--json").out)
    assert id != event["id"][:7]
    assert ("Use SQLite", "small", ["files"], "db", ["a.txt"], ["private"]) == tuple(
        event[name] for name in ("content", "reason", "alternatives", "topic", "files", "marks")
    )
    assert "nothing changed" in ready.run("edit", event["id"], "--reason", "small").out
    ready.run("edit", event["id"], "--reason", "")
    assert "" == json.loads(ready.run("log", "--json").out)[0].get("reason", "")
    ready.run("undo", "--last")
    assert "small" == json.loads(ready.run("log", "--json").out)[0]["reason"]
    assert "refs/notes/cortex/" not in ready.git("for-each-ref", "--format=%(refname)", "refs/notes")


def test_the_editor_that_git_uses(ready: TestRepo) -> None:
    """Without options the text opens in git's editor with its reason and alternatives, and nothing stays behind."""
    ready.run("decide", "Use SQLite\n\n# A heading\n- a list", "-b", "one writer", "--over", "flat files")
    (event,) = json.loads(ready.run("log", "--json").out)
    assert "nothing changed" in ready.run("edit", event["id"], variables={"GIT_EDITOR": "true"}).out
    failed = ready.run("edit", event["id"], variables={"GIT_EDITOR": "false"}, check=False)
    assert (1, "git cortex: the editor ended with status 1; nothing was changed\n") == (failed.status, failed.err)
    emptied = ready.run("edit", event["id"], variables={"GIT_EDITOR": "truncate -s 0"}, check=False)
    assert 1 == emptied.status
    assert "the text is empty" in emptied.err

    script = ready.path.parent / "my editor"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    ready.git("config", "core.editor", f'"{script}"')
    ready.run("edit", event["id"])

    (edited,) = json.loads(ready.run("log", "--json").out)
    assert ("Use Postgres\n\n# A heading\n- a list", "many writers", ["SQLite"]) == tuple(
        edited[name] for name in ("content", "reason", "alternatives")
    )
    assert not (ready.path.parent / "my editor.path").read_text().startswith(str(ready.path / "a"))
    assert not list((ready.path / ".git/cortex").glob("EDIT*"))


def test_pinned_memories_come_first(ready: TestRepo) -> None:
    """A pinned memory leads its section of the briefing and is marked in every list, until it is unpinned."""
    ready.run("decide", "An old rule")
    ready.run("decide", "A new one")
    id = named(ready, "An old rule")

    ready.run("pin", id)
    text = briefing(ready)
    assert text.index("An old rule") < text.index("A new one")
    assert "accepted, pinned, " in text
    assert f"{id} decision   (pinned) An old rule" in ready.run("log", "--oneline").out
    assert memories(ready)["An old rule"]["pinned"]
    assert "(pinned) An old rule" in ready.run("search", "rule").out
    assert 1 == json.loads(ready.run("status", "--json").out)["pinned"]

    done = ready.run("unpin", id)
    assert "(pinned)" not in ready.run("log", "--oneline").out
    assert "is not pinned, nothing changed" in ready.run("unpin", id).out
    ready.run("undo", undo_of(done.out))
    assert "(pinned) An old rule" in ready.run("log", "--oneline").out


REFUSED = [
    (["accept", "{fact}"], 1, "is no decision"),
    (["accept", "{correction}"], 1, "is itself a correction; `git cortex undo"),
    (["accept", "123"], 1, "is no id"),
    (["accept", "{gone}"], 1, "no longer counts"),
    (["pin", "{gone}"], 1, "no longer counts"),
    (["retract", "ffffffff"], 1, "there is no event"),
    (["supersede", "{fact}"], 2, "--by"),
    (["supersede", "{fact}", "{fact}"], 1, "its own place"),
    (["supersede", "{gone}", "{fact}"], 1, "is retracted"),
    (["supersede", "{plan}", "--by", "x"], 1, "`git cortex plan` changes plans"),
    (["supersede", "{fact}", "{other}", "--topic", "x"], 2, "give it with --by"),
    (["edit", "{plan}", "--content", "x"], 1, "`git cortex plan` changes plans"),
    (["edit", "{fact}", "--content", " "], 2, "the text is empty"),
    (["undo"], 2, "say what to undo"),
    (["undo", "--last", "{fact}"], 2, "say what to undo"),
    (["undo", "{fact}"], 1, "no correction"),
    (["undo", "--session", "nobody"], 1, "there is no session"),
]


def test_what_makes_no_sense_is_refused(ready: TestRepo) -> None:
    """What cannot be corrected is one line that says what to do, and nothing is written."""
    ready.run("learn", "A fact")
    ready.run("learn", "Another")
    ready.run("decide", "Use Redis")
    ready.run("plan", "Ship it", "Build")
    gone = named(ready, "Use Redis")
    correction = undo_of(ready.run("retract", gone).out)
    plan = next(event["id"] for event in memories(ready).values() if event["type"] == "plan_created")
    names = {"fact": named(ready, "A fact"), "other": named(ready, "Another"), "gone": gone, "plan": plan}
    before = ready.git("for-each-ref", "refs/notes")
    for args, code, said in REFUSED:
        result = ready.run(*(arg.format(correction=correction, **names) for arg in args), check=False)
        assert (code, 1) == (result.status, result.err.count("\n")), result
        assert said in result.err
    assert before == ready.git("for-each-ref", "refs/notes")


def test_json_says_what_changed(ready: TestRepo) -> None:
    """With --json each command tells what it changed and how to undo that, for programs."""
    ready.run("learn", "A fact")
    id = memories(ready)["A fact"]["id"]
    (done,) = json.loads(ready.run("retract", id, "--json").out)
    assert (id, True, f"git cortex undo {done['change']}") == (done["id"], done["changed"], done["undo"])
    (again,) = json.loads(ready.run("retract", id, "--json").out)
    assert (id, False) == (again["id"], again["changed"])
    (fact,) = json.loads(ready.run("show", id, "--json").out)
    assert [("retracted", done["change"])] == [(change["type"], change["id"]) for change in fact["changes"]]


# ---- files


def test_the_next_commit_rewrites_the_status(repo: TestRepo) -> None:
    """Each correction of a committed decision reaches its file with the next commit, and so does each undo."""
    start(repo)
    repo.run("decide", "Use Redis")
    repo.run("decide", "Use SQLite")
    repo.commit({"g": "1\n"})
    old, new = named(repo, "Use Redis"), named(repo, "Use SQLite")
    repo.run("retract", old)
    coming = json.loads(repo.run("status", "--json").out)["next_commit"]
    assert {memories(repo)["Use Redis"]["id"]: "deprecated"} == coming["states"]
    assert 1 == repo.run("project", "--check", check=False).status
    assert {"status": "accepted"} == written(repo, "Use Redis")

    repo.commit({"g": "2\n"})
    assert {"status": "deprecated"} == written(repo, "Use Redis")
    repo.run("verify", "--strict")
    repo.run("undo", old)
    repo.run("supersede", old, new)
    repo.commit({"g": "3\n"})
    assert {"status": "superseded", "superseded-by": memories(repo)["Use SQLite"]["id"]} == written(repo, "Use Redis")

    repo.run("undo", old)
    repo.run("edit", new, "--content", "Use DuckDB")
    repo.commit({"g": "4\n"})
    assert {"status": "accepted"} == written(repo, "Use Redis")
    assert memories(repo)["Use DuckDB"]["id"] == written(repo, "Use SQLite")["superseded-by"]
    repo.run("undo", "--last")
    repo.commit({"g": "5\n"})
    assert ["accepted", "deprecated"] == [written(repo, name)["status"] for name in ("Use SQLite", "Use DuckDB")]
    assert "" == repo.git("status", "--porcelain")
    repo.run("verify", "--strict")
    before = repo.git("rev-parse", "HEAD:.cortex")
    repo.commit({"g": "6\n"})
    assert before == repo.git("rev-parse", "HEAD:.cortex")


def test_what_was_withdrawn_before_its_first_commit_is_never_written(repo: TestRepo) -> None:
    """No file tells of a decision that was retracted or replaced before a commit held it; an accepted one says so."""
    start(repo)
    repo.git("switch", "-qc", "feature")
    for text in ("Use Redis", "Use Mongo", "Use SQLite"):
        repo.run("decide", text, variables=ASSISTANT)
    repo.run("retract", named(repo, "Use Redis"))
    repo.run("supersede", named(repo, "Use Mongo"), "--by", "Use DuckDB")
    repo.run("accept", named(repo, "Use SQLite"))
    repo.commit({"g": "1\n"})

    assert ({}, {}) == (written(repo, "Use Redis"), written(repo, "Use Mongo"))
    assert {"status": "accepted"} == written(repo, "Use SQLite") == written(repo, "Use DuckDB")
    repo.run("verify", "--strict")


def test_an_aborted_commit_leaves_the_status_as_it_was(repo: TestRepo) -> None:
    """Where a commit is given up, the file is put back; the next one that is made writes it."""
    start(repo)
    repo.run("decide", "Use Redis")
    repo.commit({"g": "1\n"})
    repo.run("retract", named(repo, "Use Redis"))
    repo.write({"g": "2\n"})
    repo.git("-c", "core.editor=false", "commit", "-qa", check=False)
    repo.run("status")
    assert " M g" == repo.git("status", "--porcelain")
    repo.git("commit", "-qm", "A part", "g", check=False)
    assert {"status": "accepted"} == written(repo, "Use Redis")
    repo.commit({"h": "1\n"})
    assert {"status": "deprecated"} == written(repo, "Use Redis")


# ---- a session


def test_a_session_is_taken_back_on_every_branch(repo: TestRepo) -> None:
    """`undo --session` takes back what a session said and corrected wherever that is known, and can be undone."""
    start(repo)
    repo.run("decide", "Mine")
    repo.run("learn", "Wrong on main", variables=ASSISTANT)
    repo.run("retract", named(repo, "Mine"), variables=ASSISTANT)
    repo.commit({"g": "1\n"})
    repo.git("switch", "-qc", "gone")
    repo.run("decide", "Wrong on a branch", variables=ASSISTANT)
    repo.commit({"h": "1\n"})
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--no-edit", "--no-ff", "gone")
    repo.git("branch", "-qd", "gone")
    repo.git("switch", "-qc", "open")
    repo.run("learn", "Wrong and open", variables=ASSISTANT)
    repo.git("switch", "-qc", "later")
    repo.commit({"i": "1\n"})
    assert {"Wrong on main", "Wrong on a branch", "Wrong and open"} == shown(repo)

    done = repo.run("undo", "--session", "11112222")
    assert done.out.startswith("took back 3 memories and 1 correction of session 11112222, on ")
    for branch in ("later", "open", "main"):
        assert {"Mine"} == shown(repo, "--branch", branch), branch
    assert "nothing changed" in repo.run("undo", "--session", "11112222").out

    repo.run("undo", undo_of(done.out))
    assert {"Wrong on main", "Wrong on a branch", "Wrong and open"} == shown(repo)
    assert {"Wrong on main", "Wrong on a branch"} == shown(repo, "--branch", "main")
    assert "nothing changed" in repo.run("undo", undo_of(done.out)).out


def test_a_deleted_file_says_who_deleted_it(repo: TestRepo) -> None:
    """`show` names the commit that took an item out; undo says to bring the file back, which brings the memory back."""
    start(repo)
    repo.run("decide", "Use Redis")
    repo.commit({"g": "1\n"})
    id = named(repo, "Use Redis")
    repo.git("rm", "-qr", ".cortex/decisions")
    repo.git("-c", "user.name=Rita Reviewer", "commit", "-qm", "Not this one")
    commit = repo.git("rev-parse", "HEAD")

    out = repo.run("show", id).out
    assert "Removed:    by Rita Reviewer, " in out
    assert f", in {commit[:12]} (Not this one)\n" in out
    (shown_as,) = json.loads(repo.run("show", id, "--json").out)
    assert (commit, "Rita Reviewer") == (shown_as["removed"]["commit"], shown_as["removed"]["author"])
    for command in (["undo", id], ["retract", id], ["pin", id]):
        refused = repo.run(*command, check=False)
        assert (1, True) == (refused.status, "bring the file back" in refused.err), refused

    repo.git("revert", "--no-edit", "HEAD")
    assert {"Use Redis"} == shown(repo)
    assert "Removed" not in repo.run("show", id).out
