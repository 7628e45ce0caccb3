"""Formatters, linters and line ends: whatever runs over a checkout, our files stay what they are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, TestRepo
from items_data import HOSTILE, decision, fact, rejected
from test_cases_merging import start

from cortex_git.config import Config
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.projections import items, pages
from cortex_git.projections.verify import verify
from cortex_git.views.standing import Plan, parse_plan

TOOLS = {
    "prettier": ("prettier@3", "--check", "."),
    "markdownlint": ("markdownlint-cli2@0", ".cortex/**/*.md"),
}
MORE = [
    "Setext\n===\nunder\n---\nline",
    "* * *\n+ plus\n1) x",
    "| a\\|b | `c|d` |\n|:-|-:|",
    "http://bare.url/x_y_z and foo@bar.example",
    "A line with a backslash\\\nnext",
    "#hashtag #1 ##",
    "two spaces  \nat the end",
    "> quote\n>> deep",
    "Footnote[^1]\n\n[^1]: text",
    "$$\nx\n$$ and $a_b$ {{ liquid }} {% tag %} :smile:",
    "1. one\n1. one\n3. three",
    "中文没有空格English混排，标点。",
    "~~~\ncode\n~~~\n\\`esc\\` &nbsp;&lt; ![",
]


def everything() -> dict[str, bytes]:
    """Items of every kind with text that formatters like to change, and the pages of them."""
    files: dict[str, bytes] = {}
    for number, text in enumerate([*HOSTILE, *MORE]):
        details = {"reason": text, "alternatives": [text, "Other"], "topic": text[:20], "files": [text[:50] or "f"]}
        plan = Event(model.PLAN, f"{text}\n- [ ] {text[:30]}\n- [x] b", time="2026-12-01T10:00:00.000Z", session="p")
        title, steps = parse_plan(plan.content)
        facts = [fact(text, kind, reason=text, session=f"s{number}") for kind in (model.KNOWLEDGE, model.RESOLVED)]
        files.update(
            [
                items.render(decision(text, **details)),
                items.render(decision(text, session=str(number)), scope=["src/**", "a b/*.py"], supersedes=["0" * 16]),
                items.render(rejected(text, reason=text * 3)),
                items.render_learned(facts),
                items.render_plan(Plan(plan, title, steps), f"{number:06x}-abcdef", text[:20]),
            ]
        )
    return {**files, **pages.pages(files, Config({"briefing_tokens": 100_000}))}


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_formatters_leave_everything_as_it_is(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real prettier and the real markdownlint, with their defaults, find nothing to change or to say."""
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("npx is not here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for path, data in [
        *everything().items(),
        (".cortex/README.md", (ROOT / ".cortex-template/README.md").read_bytes()),
    ]:
        target = tmp_path / "tree" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    package, *arguments = TOOLS[tool]
    program = tool if tool == "prettier" else "markdownlint-cli2"
    command = [npx, "--yes", "--package", package, "--", program]
    if subprocess.run([*command, "--version"], cwd=tmp_path / "tree", capture_output=True).returncode not in (0, 2):
        pytest.skip(f"{package} cannot be had")
    done = subprocess.run([*command, *arguments], cwd=tmp_path / "tree", capture_output=True, text=True)

    assert 0 == done.returncode, done.stdout + done.stderr


def test_a_formatter_with_settings_of_its_own_is_found(repo: TestRepo) -> None:
    """Where one has rewritten an item `verify` says so, and the text can be had back from git."""
    path, data = items.render(decision("Use SQLite", reason="it is small"))
    found = verify({path: data.replace(b'"', b"'")}, Config({"projections_pages": "off"}))

    assert ("error", path) in {(finding.level, finding.path) for finding in found}


@pytest.mark.parametrize("setting", ["true", "input", "false"])
def test_clones_with_line_end_conversion(repo: TestRepo, setting: str, tmp_path: Path) -> None:
    """In a clone with any core.autocrlf the files are byte for byte the same, clean, and right for `verify`."""
    start(repo)
    repo.run("decide", "Use SQLite")
    repo.commit({"text": "one\ntwo\n"})
    other = TestRepo(tmp_path / "clone")
    repo.git("-c", f"core.autocrlf={setting}", "clone", "-q", str(repo.path), str(other.path))
    other.git("config", "core.autocrlf", setting)
    other.run("init")
    other.run("decide", "Use WAL")
    other.commit({"more": "1\n"})

    assert "" == other.git("status", "--porcelain", "-uall")
    assert b"\r" not in b"".join(path.read_bytes() for path in (other.path / ".cortex").rglob("*") if path.is_file())
    assert 0 == other.run("verify", "--strict").status
    assert (setting == "true") == (b"\r\n" in (other.path / "text").read_bytes())


def test_what_hosts_fold_and_what_they_show(repo: TestRepo) -> None:
    """Pages are marked as generated, items are not: a reviewer is to read them. No byte of either is converted."""
    start(repo)
    repo.run("decide", "Use SQLite")
    repo.commit({"g": "1\n"})
    (item,) = repo.git("ls-files", ".cortex/decisions").splitlines()
    asked = ("check-attr", "linguist-generated", "text", "filter", "ident", "--")

    for path in (item, ".cortex/decisions.md"):
        said = dict(line.rsplit(": ", 2)[1:] for line in repo.git(*asked, path).splitlines())
        assert ("set" if path != item else "unspecified") == said.pop("linguist-generated")
        assert {"unset"} == set(said.values())
