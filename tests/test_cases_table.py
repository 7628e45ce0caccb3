"""docs/cases.md leaves no case out, and each test that it names exists."""

from __future__ import annotations

import ast
import re
from functools import cache

from conftest import ROOT

TABLE = (ROOT / "docs" / "cases.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| C(\d+) \| (.*) \| (.*) \| (.*) \|$", TABLE, re.MULTILINE)
MERGED = {9, 13, 20, 23, 35, 36, 41, 43, 49, 60, 65, 68, 74, 80, 82, 89}
"""Numbers that stand for nothing of their own: another row has what they were about."""


@cache
def known_in(file: str) -> frozenset[str]:
    """The names of the tests in a file; none if there is no such file."""
    path = ROOT / "tests" / file
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.exists() else ast.Module([], [])
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_every_case_has_a_row() -> None:
    """The numbers run from 1 to 115, each once, in order."""
    assert [number for number in range(1, 116) if number not in MERGED] == [int(row[0]) for row in ROWS]


def test_every_row_has_an_outcome() -> None:
    """A case works, is reduced, reported or argued; what is argued or left has its reason, the rest has a test."""
    for number, problem, outcome, shown in ROWS:
        kind, _, reason = outcome.partition(": ")
        assert problem and kind in ("works", "reduced", "reported", "argued"), number
        assert kind != "reduced" or reason, number
        assert shown.strip() if kind != "argued" else reason, number


def test_every_test_that_is_named_exists() -> None:
    """A row points at tests that are there."""
    named = [(number, test) for number, _, _, shown in ROWS for test in re.findall(r"`([^`]+)`", shown)]
    assert len(named) > 150
    lost = [(number, test) for number, test in named if test.partition("::")[2] not in known_in(test.split("::")[0])]
    assert [] == lost
