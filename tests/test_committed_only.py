"""A clone in which nobody ran `init`: what its commits hold is read, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import TestRepo
from setting_up import files
from team import Hub


@pytest.fixture
def reader(tmp_path: Path, home: Path) -> TestRepo:
    """A clone without `init`, of a branch that holds one decision."""
    hub = Hub(tmp_path / "hub.git")
    writer = hub.clone("writer")
    writer.git("add", "-A")
    writer.run("decide", "Use TOML", "--because", "it has comments")
    writer.commit({"g": "1\n"})
    writer.git("push", "-q", "origin", "main")
    return hub.empty_clone("reader")


@pytest.mark.parametrize("command", [("log",), ("search", "toml"), ("export",), ("log", "--all")])
def test_what_was_committed_is_read_without_init(reader: TestRepo, command: tuple[str, ...]) -> None:
    """C27, C28: what the commits hold is found, one line says how to get the rest, and the clone stays as it was."""
    before, refs = files(reader.path), reader.git("for-each-ref")
    done = reader.run(*command)
    assert "Use TOML" in done.out
    assert 1 == done.err.count("this is what was committed; `git cortex init`")
    assert (before, refs) == (files(reader.path), reader.git("for-each-ref"))


def test_one_is_shown_in_full_without_init(reader: TestRepo) -> None:
    """`show` takes an id that `log` has printed."""
    id = reader.run("log", "--oneline").out.split()[0]
    assert "it has comments" in reader.run("show", id).out
    assert not (reader.path / ".git" / "cortex").exists()
