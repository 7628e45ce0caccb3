"""The documents say what the program does."""

from __future__ import annotations

import re
import sys

import pytest
from conftest import ROOT

click = pytest.importorskip("click")
sys.path.insert(0, str(ROOT / "docs"))

from make_man import page  # noqa: E402

from cortex_git.cli.root import cli  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")
FORMAT = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
CONTEXT = click.Context(cli)
COMMANDS = [name for name in cli.list_commands(CONTEXT) if not cli.get_command(CONTEXT, name).hidden]


def test_the_manual_page_is_up_to_date() -> None:
    """The committed manual page is what `make man` would write now."""
    assert (ROOT / "man" / "git-cortex.1").read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_documented(name: str) -> None:
    """Every command has a help text and stands in the README's table."""
    assert cli.get_command(CONTEXT, name).help
    assert f"| `git cortex {name}` |" in README


def test_the_readme_names_no_other_command() -> None:
    """Whatever command the README mentions exists."""
    assert set(re.findall(r"git cortex ([a-z]+)", README)) <= set(COMMANDS)


def test_the_readme_fits_on_two_screens() -> None:
    """The README has at most 120 lines."""
    assert len(README.splitlines()) <= 120


def test_the_format_names_every_type_and_field() -> None:
    """docs/format.md, the storage contract, lists each event type and each field in the order of writing."""
    from cortex_git.events import codec, model

    assert {name for name in model.TYPES if f"`{name}`" not in FORMAT} == set()
    fields = re.findall(r"^\| `(\w+)` \| (?:number|text|list of text|object of text) \|", FORMAT, re.MULTILINE)
    assert fields == list(codec._ORDER)


def test_links_lead_somewhere() -> None:
    """Every relative link in the documents names a file of the project."""
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^):#]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
