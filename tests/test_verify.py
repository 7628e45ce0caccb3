"""Verifying a tree: every change made by hand is found, everything honest is not."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from conftest import ROOT
from items_data import HOSTILE, decision, fact, rejected

from cortex_git.config import Config
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.projections import items, pages
from cortex_git.projections.verify import ERROR, NOTICE, Finding, verify
from cortex_git.views.standing import Plan, parse_plan


def plan_file() -> tuple[str, bytes]:
    """The file of a plan with a step that is done."""
    event = Event(
        model.PLAN, "Store\n- [ ] table\n- [ ] index", time="2026-12-01T10:00:00.000Z", branch="main", session="s"
    )
    tick = Event(model.STEP, "table", time="2026-12-01T11:00:00.000Z", session="s", source={"id": "m1"})
    title, steps = parse_plan(event.content)
    steps[0].done = True
    return items.render_plan(Plan(event, title, steps), "9ab3c2-0c10e1", "main", [tick])


def sample() -> dict[str, bytes]:
    """A small tree with one of everything, pages included."""
    old, new = decision("Use files"), decision("Use SQLite. It is small", reason="one writer\n\nand no server")
    files = dict([
        items.render(old, status="superseded", superseded_by=new.id),
        items.render(new, supersedes=[old.id], scope=["src/**"]),
        items.render(rejected(alternatives=["Memcached"], extra={"x": 1})),
        items.render_learned([fact(), fact("Port 80 is taken", model.RESOLVED, reason="nginx has it")]),
        items.render(decision("---\nid: \"x\" \0\u202e")),
        plan_file(),
    ])  # fmt: skip
    return {**files, **pages.pages(files, Config())}


def rules(found: list[Finding], level: str = ERROR) -> list[tuple[str, str]]:
    """Rule and path of the findings of one level."""
    return [(finding.rule, finding.path) for finding in found if finding.level == level]


def mutations(text: str, choice: random.Random) -> Iterator[str]:
    """Every text that differs by one character: another one in its place, none, or one more, at every position."""
    letters = "a0 \n-:\"'\\#>`x\t\r\0é"
    for at in range(len(text)):
        other = choice.choice([letter for letter in letters if letter != text[at]])
        swapped = chr(ord(text[at]) ^ 1) if text[at] >= " " else other
        yield text[:at] + swapped + text[at + 1 :]
        yield text[:at] + other + text[at + 1 :]
        yield text[:at] + text[at + 1 :]
        yield text[:at] + other + text[at:]
        yield text[:at] + text[at] + text[at:]
    yield text + "\n"
    yield text + " "


def test_an_honest_tree_has_no_findings() -> None:
    """A tree as it was rendered is fine, with the template's files beside it and with hostile words in it."""
    files = sample()
    for text in filter(str.strip, HOSTILE):
        files.update([items.render(decision(text, reason=text, alternatives=[text]))])
        files.update([items.render_learned([fact(text, reason=text, session=text)])])
    files.update(pages.pages(files, Config()))
    for name in ("README.md", "config.toml", "gitattributes"):
        files[".cortex/" + name.replace("gitattributes", ".gitattributes")] = (
            ROOT / ".cortex-template" / name
        ).read_bytes()

    assert [] == verify(files, Config())
    assert [] == verify({}, Config())


@pytest.mark.parametrize("path", [pytest.param(path, id=path[8:40]) for path in sample()])
def test_every_change_of_a_character_is_found(path: str) -> None:
    """Whatever single character of an item or page is replaced, removed or added, it is an error in that file."""
    files = sample()
    text = files[path].decode()
    related = {p: d for p, d in files.items() if p.startswith(items.DECISIONS)} if "superseded" in text else {}
    changed = [other for other in mutations(text, random.Random(path)) if other != text]
    if pages.is_page(path):
        missed = [page for page in changed if _footer_is_fine(page)]  # what verify asks first, and cheaper
    else:
        missed = [item for item in changed if not _is_found({**related, path: item.encode()}, path)]

    assert len(changed) > 4 * len(text)
    assert [] == missed
    for page in random.Random(path).sample(changed, 20):
        assert _is_found({**related, path: page.encode()}, path)


def _footer_is_fine(page: str) -> bool:
    footer = pages.footer_of(page.encode())
    return footer is not None and not footer.edited


def _is_found(files: dict[str, bytes], path: str) -> bool:
    return any(finding.level == ERROR and finding.path == path for finding in verify(files, Config()))


def test_an_edited_item_is_named_with_its_line() -> None:
    """The finding for a hand-edited file says what is wrong and in which file."""
    path, data = items.render(decision())
    (first, second) = verify({path: data.replace(b"Chosen", b"chosen")}, Config())

    assert {("form", path)} == {(first.rule, first.path), (second.rule, second.path)}
    assert "edited by hand" in first.message + second.message


def test_a_wrong_name_is_an_error() -> None:
    """An item under another name, and a file that is no item, are found."""
    path, data = items.render(decision())
    moved = path.replace("use", "abuse")
    found = verify({moved: data, ".cortex/decisions/mine.md": b"# Mine\n", ".cortex/learned/x.txt": b"x"}, Config())

    assert [("name", moved), ("name", ".cortex/decisions/mine.md")] == sorted(rules(found))
    assert [("name", ".cortex/learned/x.txt")] == rules(found, NOTICE)
    assert path in next(finding.message for finding in found if finding.path == moved)


def test_conflict_markers_are_called_by_their_name() -> None:
    """A file with conflict markers has one finding, at the line; text that only quotes them has none."""
    path, data = items.render(decision())
    torn = data.replace(
        b"status: accepted\n", b"<<<<<<< ours\nstatus: accepted\n=======\nstatus: rejected\n>>>>>>> theirs\n"
    )
    (finding,) = verify({path: torn}, Config())

    assert ("conflict", 5) == (finding.rule, finding.line)
    quoted = items.render(decision("We saw:\n<<<<<<< ours\n=======\n>>>>>>> theirs"))
    assert [] == verify(dict([quoted]), Config())


def test_a_secret_is_found_where_it_is() -> None:
    """A secret that slipped into an item and one written into a page are errors with their line."""
    secret = "AKIA" + "IOSFODNN7EXAMPL3"
    path, data = items.render(decision(f"Use the key {secret}"))
    page = pages.pages({}, Config())[".cortex/decisions.md"] + f"\nkey {secret}\n".encode()
    found = [f for f in verify({path: data, ".cortex/decisions.md": page}, Config()) if f.rule == "secret"]

    assert {path, ".cortex/decisions.md"} == {finding.path for finding in found}
    for finding in found:
        text = {path: data, ".cortex/decisions.md": page}[finding.path].decode().split("\n")
        assert secret in text[finding.line - 1]
        assert secret not in finding.message


def test_ids_and_checksums_are_no_secrets() -> None:
    """A thousand random sessions, ids and commits raise no alarm."""
    choice = random.Random(7)
    files = {}
    for number in range(300):
        digits = f"{choice.getrandbits(160):040x}"
        event = decision(
            f"Decision {number}",
            session=f"{digits[:8]}-{digits[8:12]}",
            commit=digits,
            source={"id": "toolu_" + digits},
        )
        files.update([items.render(event)])

    assert [] == verify(files, Config())


def test_unseen_characters_are_found() -> None:
    """A line end of Windows and a mark that reorders text are named by their code."""
    path, data = items.render(decision())

    assert "U+000D" in verify({path: data.replace(b"\n", b"\r\n")}, Config())[0].message
    found = verify({path: data.replace(b"Use", "\u202eUse".encode(), 1)}, Config())
    assert any("U+202E" in finding.message and 4 == finding.line for finding in found)


def test_too_large_and_no_text() -> None:
    """Files that are too large or no text are errors, not exceptions."""
    path, _ = items.render(decision())

    assert ("form", path) in rules(verify({path: b"x" * 300_000}, Config()))
    assert ("form", path) in rules(verify({path: b"\xff\xfe\x00"}, Config()))


def test_relations_that_lead_nowhere() -> None:
    """A successor that is missing is an error; a superseded one that is missing, or not marked yet, is a notice."""
    old, new = decision("Use files"), decision("Use SQLite")
    marked = items.render(old, status="superseded", superseded_by=new.id)
    naming = items.render(new, supersedes=[old.id])

    assert [("relation", marked[0])] == rules(verify(dict([marked]), Config()))
    assert [("relation", naming[0])] == rules(verify(dict([naming]), Config()), NOTICE)
    assert [("relation", items.render(old)[0])] == rules(verify(dict([items.render(old), naming]), Config()), NOTICE)
    assert [] == verify(dict([marked, naming]), Config())


def test_a_circle_of_decisions() -> None:
    """Decisions that supersede each other all the way round are an error, said once."""
    one, two, three = decision("one"), decision("two"), decision("three")
    files = dict([
        items.render(one, status="superseded", superseded_by=two.id),
        items.render(two, status="superseded", superseded_by=three.id),
        items.render(three, status="superseded", superseded_by=one.id),
    ])  # fmt: skip

    assert ["cycle"] == [rule for rule, _ in rules(verify(files, Config()))]


def test_status_and_successor_must_agree() -> None:
    """A status that is none, and one that contradicts the successor, are errors."""
    path, data = items.render(decision())
    for wrong in (b"status: done", b"status: superseded", b"status: Accepted", b"state: accepted"):
        assert [("form", path)] == sorted(
            set(rules(verify({path: data.replace(b"status: accepted", wrong)}, Config())))
        )


def test_a_stale_page_is_a_notice_an_edited_one_an_error() -> None:
    """A page that lags behind the items and one that somebody changed are told apart."""
    files = sample()
    newer = {**files, **dict([items.render(decision("Use HTTP"))])}
    edited = files[".cortex/decisions.md"].replace(b"SQLite", b"MySQL!")

    assert sorted(("stale", ".cortex/" + name) for name in pages.NAMES) == sorted(
        rules(verify(newer, Config()), NOTICE)
    )
    assert [] == rules(verify(newer, Config()))
    assert [("edited", ".cortex/decisions.md")] == rules(verify({**newer, ".cortex/decisions.md": edited}, Config()))
    assert [] == verify({**newer, ".cortex/decisions.md": edited}, Config({"projections_pages": "off"}))


def test_a_forged_page_is_found() -> None:
    """A page with a right checksum that the items are not rendered to is an error."""
    files = sample()
    other = pages.pages({}, Config())[".cortex/decisions.md"].decode()
    body = other[: other.index("<!-- git-cortex page")]
    digest = pages.digest_of(files, Config())
    digits = pages._sum(body, str(pages.VERSION), "accepted", digest)
    forged = f"{body}<!-- git-cortex page {pages.VERSION}, accepted, items {digest}, sum {digits} -->\n"

    assert [("edited", ".cortex/decisions.md")] == rules(
        verify({**files, ".cortex/decisions.md": forged.encode()}, Config())
    )


def test_a_page_of_another_version_lags() -> None:
    """A page that a later version has laid out is no error."""
    files = sample()
    page = files[".cortex/decisions.md"].decode()
    body = page[: page.index("<!-- git-cortex page")]
    digest = pages.digest_of(files, Config())
    digits = pages._sum(body, "99", "accepted", digest)
    later = f"{body}<!-- git-cortex page 99, accepted, items {digest}, sum {digits} -->\n"

    assert [("stale", ".cortex/decisions.md")] == rules(
        verify({**files, ".cortex/decisions.md": later.encode()}, Config()), NOTICE
    )


def test_a_missing_page_is_a_notice() -> None:
    """Pages belong together; a tree without any is fine."""
    files = sample()
    del files[".cortex/briefing.md"]

    assert [("missing", ".cortex/briefing.md")] == rules(verify(files, Config()), NOTICE)
    assert [] == verify({p: d for p, d in files.items() if items.is_item(p)}, Config())


def test_pages_of_other_branches_are_fine() -> None:
    """Pages rendered where proposed decisions are not accepted yet are checked as such."""
    files = {p: d for p, d in sample().items() if items.is_item(p)}
    files.update([items.render(decision("Use HTTP", agent="claude-code", layer="tag"))])

    assert [] == verify({**files, **pages.pages(files, Config(), accepted=False)}, Config())


def test_findings_name_file_and_line() -> None:
    """A finding reads like a compiler's."""
    path, data = items.render(decision())
    finding = verify({path: data + b"x"}, Config())[0]

    assert re.fullmatch(r"\.cortex/decisions/\S+\.md:\d+: error: .+", repr(finding))
