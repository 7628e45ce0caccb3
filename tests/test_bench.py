"""The benchmark measures what it says."""

from __future__ import annotations

import sys
import tomllib

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import cases
import generate
import run
from measure import measure


def test_generated_events_are_the_same_for_the_same_seed() -> None:
    """A seed gives the same sessions each time, with exactly as many events as were asked for."""
    one, other, third = (generate.sessions(1000, seed) for seed in (1, 1, 2))

    assert sum(len(turn) for session in one for turn in session.turns) == 1000
    assert [s.turns for s in one] == [s.turns for s in other]
    assert [s.turns for s in one] != [s.turns for s in third]


def test_each_budget_is_that_of_a_case() -> None:
    """No budget is for a case that is not measured."""
    budgets = tomllib.loads((ROOT / "bench" / "budgets.toml").read_text(encoding="utf-8"))
    assert set(budgets) - {"processes"} <= set(cases.CASES)
    assert set(budgets["processes"]) <= set(cases.PROCESSES) <= set(cases.CASES)


def test_a_budget_holds_for_smaller_stores_too() -> None:
    """A number holds up to its size, `any` beyond and where there is no number."""
    table = {"10000": 10.0, "100000": 12.0, "any": 15.0}
    assert [run._budget(table, events) for events in ("0", "10000", "10001", "1000000")] == [10.0, 10.0, 12.0, 15.0]
    assert run._budget({}, "0") is None
    assert run._budget(table | {"packed-refs": 20.0}, "packed-refs") == 20.0
    assert run._budget(table, "packed-refs") == 15.0


def test_a_program_that_fails_is_no_measurement() -> None:
    """An exit status other than 0 raises, with what the program said."""
    with pytest.raises(RuntimeError, match="no such thing"):
        measure(["/bin/sh", "-c", "echo no such thing; exit 3"], ROOT, {})
