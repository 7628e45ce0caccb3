"""Pages: pure functions of the item files, readable on a host, and honest about what they were made from."""

from __future__ import annotations

import random
import re
import tomllib

import pytest
from conftest import ROOT
from items_data import HOSTILE, decision, fact, rejected

from cortex_git import config as settings
from cortex_git.config import Config
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.projections import items, pages
from cortex_git.views.standing import Plan, parse_plan

TEMPLATE = ROOT / ".cortex-template"


def plan_file(text: str = "Store\n- [x] table\n- [ ] index", branch: str = "feature/login") -> tuple[str, bytes]:
    """The file of a plan."""
    event = Event(model.PLAN, text, time="2026-12-01T10:00:00.000Z", branch=branch, session="p", author="Ada Author")
    title, steps = parse_plan(text)
    return items.render_plan(Plan(event, title, steps), "9ab3c2-0c10e1", branch)


def sample() -> dict[str, bytes]:
    """A small tree with one of everything."""
    old = decision("Use files", time="2026-11-01T10:00:00.000Z", session="first")
    new = decision("Use SQLite. It is small", reason="one writer", topic="storage")
    proposed = decision(
        "Use HTTP/2", agent="claude-code", layer="tag", time="2026-12-02T10:00:00.000Z", session="third"
    )
    return dict([
        items.render(old, status="superseded", superseded_by=new.id),
        items.render(new, supersedes=[old.id]),
        items.render(proposed),
        items.render(rejected()),
        items.render_learned([fact(), fact("Port 80 is taken", model.RESOLVED)]),
        plan_file(),
    ])  # fmt: skip


def text_of(name: str, files: dict[str, bytes], **options: bool) -> str:
    """One page as text."""
    return pages.pages(files, Config(), **options)[".cortex/" + name].decode()


def test_the_page_of_decisions_lists_what_stands() -> None:
    """Decisions and rejected approaches are listed with reason, date and person; what is superseded is not."""
    text = text_of("decisions.md", sample())
    in_force, _, gone = text.partition("## Rejected approaches")

    assert in_force.index("[Use HTTP/2](decisions/2026-12-02-use-http-2-") < in_force.index("[Use SQLite](decisions/")
    assert ", because one writer (2026-12-01, Ada Author)" in in_force
    assert (
        "[Redis](decisions/2026-12-01-redis-" in gone and "because it needs a server (2026-12-01, claude-code)" in gone
    )
    assert "Use files" not in text
    assert "1 more is in the [archive](decisions-archive.md)." in text


def test_the_archive_links_to_what_took_the_place() -> None:
    """A decision that was superseded stands in the archive with its successor."""
    text = text_of("decisions-archive.md", sample())

    assert re.search(
        r"- \[Use files\]\(decisions/2026-11-01-\S+\), superseded by \[Use SQLite\]\(decisions/\S+\) \(", text
    )


def test_a_successor_alone_puts_the_old_one_into_the_archive() -> None:
    """A decision that another one names as superseded no longer stands, even if its own file does not say so yet."""
    old = decision("Use files")
    files = dict([items.render(old), items.render(decision("Use SQLite"), supersedes=[old.id])])

    assert "Use files" not in text_of("decisions.md", files)
    assert "Use files" in text_of("decisions-archive.md", files)


def test_what_is_proposed_counts_as_accepted_on_the_default_branch() -> None:
    """Elsewhere a proposed decision is labelled."""
    assert "proposed" not in text_of("decisions.md", sample())
    assert "(proposed, 2026-12-02, claude-code)" in text_of("decisions.md", sample(), accepted=False)


def test_plans_show_their_steps_until_they_are_done() -> None:
    """Open plans are shown with their boxes, finished ones on a line."""
    done = plan_file("Old\n- [x] all", "main")
    text = text_of("active-plan.md", {**sample(), done[0]: done[1]})

    assert "## Store\n\nBranch feature/login, 1 of 2 steps done.\n\n- [x] table\n- [ ] index\n" in text
    assert "## Finished\n\n- [Old](plans/main-9ab3c2-0c10e1-739737.md): Branch main, 1 of 1 steps done.\n" in text


def test_the_briefing_counts_age_in_sessions() -> None:
    """How old something is shows in sessions named by the items, not in days."""
    text = text_of("briefing.md", sample())

    assert "- Use HTTP/2 (latest session, 2026-12-02, claude-code)" in text
    assert "- Redis, because it needs a server (1 session ago, 2026-12-01, claude-code)" in text
    assert "- Port 80 is taken (1 session ago" in text
    assert "  - [ ] index" in text


@pytest.mark.parametrize("tokens", [100, 500, 2000])
def test_the_briefing_keeps_within_its_budget(tokens: int) -> None:
    """A long memory is cut to the budget at three bytes a token, every part keeps room, what is left out is counted."""
    files = sample()
    for number in range(200):
        files.update([items.render(decision(f"Decision {number} about something", reason="a reason " * 20))])
        files.update([items.render(rejected(f"Approach {number}", reason="a reason " * 20))])
        files.update([items.render_learned([fact(f"Fact {number} " + "word " * 20, session=str(number))])])
    text = pages.pages(files, Config({"briefing_tokens": tokens}))[".cortex/briefing.md"].decode()

    assert len(text.encode()) <= tokens * 3 + 600
    assert {"## Plans", "## Rejected approaches", "## Decisions", "## Learned"} == set(re.findall("## .*", text))
    assert 3 <= text.count("left out here.")
    if tokens > 500:
        assert min(text.count(word) for word in ("- Decision ", "- Approach ", "- Fact ")) >= 2


def test_an_empty_memory_has_pages_too() -> None:
    """Without items every page says so."""
    assert all("None yet." in page or "No" in page for page in map(bytes.decode, pages.pages({}, Config()).values()))


def test_the_same_items_give_the_same_bytes() -> None:
    """Neither the order of the files nor files that are no items change a page."""
    files = sample()
    shuffled = list(files.items())
    random.Random(1).shuffle(shuffled)
    others = {".cortex/README.md": b"x", ".cortex/decisions.md": b"y", "src/a.py": b"z"}

    assert pages.pages(files, Config()) == pages.pages({**dict(shuffled), **others}, Config())


def test_links_lead_to_files() -> None:
    """Every relative link on a page leads to an item or another page, whatever titles are made of."""
    files = sample()
    for text in HOSTILE:
        files.update([items.render(decision(text, reason=text)), items.render_learned([fact(text, reason=text)])])
    rendered = pages.pages(files, Config())
    markdown = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    for path, data in rendered.items():
        tokens = markdown.parse(data.decode().split("\n---\n", 1)[1])
        links = [dict(c.attrs)["href"] for t in tokens for c in t.children or () if c.type == "link_open"]
        html = [token.content for token in tokens if token.type.startswith("html")]

        assert {".cortex/" + link for link in links if "://" not in link} <= {*files, *rendered}
        assert 2 == len(html), path


def test_the_footer_tells_what_a_page_was_made_from() -> None:
    """The footer has the digest of the items and shows whether the page itself was changed."""
    files = sample()
    page = pages.pages(files, Config(), accepted=False)[".cortex/decisions.md"]
    footer = pages.footer_of(page)

    assert footer is not None and not footer.edited and not footer.accepted
    assert pages.digest_of(files, Config()) == footer.items
    edited = pages.footer_of(page.replace(b"SQLite", b"MySQL"))
    assert edited is not None and edited.edited
    assert pages.footer_of(b"# Decisions\n") is None


def test_the_digest_changes_with_the_items_and_the_settings() -> None:
    """A changed item, a new one, or a setting that shapes a page gives another digest; other files do not."""
    files = sample()
    path, data = items.render(decision("Use HTTP/2"))
    digests = {
        pages.digest_of(files, Config()),
        pages.digest_of({**files, path: data}, Config()),
        pages.digest_of({**files, path: items.restate(data, "deprecated")}, Config()),
        pages.digest_of(files, Config({"briefing_tokens": 1})),
    }

    assert 4 == len(digests)
    assert pages.digest_of(files, Config()) == pages.digest_of({**files, ".cortex/README.md": b"x"}, Config())


def test_the_template_shows_every_setting_with_its_default() -> None:
    """Taking away the hashes in the template's settings gives the defaults, all of them, and no fault."""
    text = (TEMPLATE / "config.toml").read_text()
    live = re.sub(r"(?m)^# (?=[a-z_]+ = )", "", text)
    found = {}
    for key, value in tomllib.loads(live).items():
        found.update(
            {f"{key}_{name}": inner for name, inner in value.items()} if isinstance(value, dict) else {key: value}
        )
    defaults = {name: getattr(Config, name) for name in settings.SETTINGS}

    assert defaults == {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
    assert {} == {k: v for k, v in tomllib.loads(text).items() if v}


def test_the_template_is_a_bundle_of_typed_documents() -> None:
    """Every Markdown file, ours and the template's, begins with front matter that has a type."""
    files = [*sample().values(), *pages.pages(sample(), Config()).values(), (TEMPLATE / "README.md").read_bytes()]

    assert all(re.match(rb"---\n(?:[a-z-]+: .*\n)?type: [a-z_]+\n", data) for data in files)


def test_files_end_well() -> None:
    """No line ends in white space, no blank line is doubled outside of quoted text, and the last line is ended."""
    for data in [*sample().values(), *pages.pages(sample(), Config()).values(), (TEMPLATE / "README.md").read_bytes()]:
        assert not re.search(rb"[ \t]\n|\n\n\n", data)
        assert data.endswith(b"\n") and not data.endswith(b"\n\n")
