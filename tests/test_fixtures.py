"""What the fixtures promise."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import formats
import pytest
from conftest import MAIL, NAME, TestRepo


def test_home_is_unusable_unless_asked_for() -> None:
    """A test that did not ask for a home cannot write to one, least of all to the user's."""
    real = pwd.getpwuid(os.getuid()).pw_dir
    assert os.path.expanduser("~") != real
    with pytest.raises(NotADirectoryError):
        (Path.home() / "file").write_text("")


def test_repo_has_its_own_home_and_author(repo: TestRepo, home: Path) -> None:
    """A repository of the fixture is empty, its commits have the fixed author, and its home is a new folder."""
    assert Path.home() == home
    assert list(home.iterdir()) == []
    repo.commit({"folder/file.txt": "text\n"}, "First")
    assert repo.git("log", "--format=%an <%ae> %s") == f"{NAME} <{MAIL}> First"
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.skipif(formats.HASH != "sha1", reason="ids of SHA-1")
def test_commits_have_the_same_ids_in_every_run(repo: TestRepo) -> None:
    """Everything that enters a commit is fixed, so its id is."""
    assert repo.commit({"a": "1\n"}, "One") == "4e35775c889705c08f9a24f989bc88408f8c1e15"
