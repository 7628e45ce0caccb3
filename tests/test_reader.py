"""One git reads many objects, and where it cannot, others do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import TestRepo
from formats import FORMAT

from cortex_git.digest import blob_id
from cortex_git.store.gitcli import GitBackend
from cortex_git.store.process import GitError
from cortex_git.store.reader import Reader
from cortex_git.store.repo import require

COUNT = 1300


def _blobs(repo: TestRepo) -> dict[str, bytes]:
    """More objects than are asked for at once, one of them large, one empty."""
    contents = [b"", b"x" * 300_000, *(f"blob {number}\n".encode() * 50 for number in range(COUNT))]
    repo.write({f"many/{number}": data for number, data in enumerate(contents)})
    names = "\n".join(f"many/{number}" for number in range(len(contents)))
    ids = repo.git("hash-object", "-w", "--stdin-paths", input=names).split()
    return dict(zip(ids, contents, strict=True))


def test_many_objects_are_read_whole_and_in_order(repo: TestRepo) -> None:
    """Contents, sizes and what is missing come as git has them, however many are asked for."""
    blobs = _blobs(repo)
    reader = Reader(require(str(repo.path), os.environ))
    absent = "0" * len(next(iter(blobs)))
    asked = [absent, *blobs, absent]
    assert reader.infos(asked)[0][1:] == ["missing"]
    assert [info[2] for info in reader.infos(list(blobs))] == [str(len(data)) for data in blobs.values()]
    assert list(reader.contents(asked)) == list(blobs.items())
    assert list(reader.infos([])) == []


def test_an_object_is_found_that_was_written_later(repo: TestRepo) -> None:
    """A git that has been running sees what others store meanwhile."""
    reader = Reader(require(str(repo.path), os.environ))
    first, *others = _blobs(repo)
    assert reader.infos([first])[0][1] == "blob"
    late = repo.git("hash-object", "-w", "--stdin", input="late\n")
    repo.git("repack", "-a", "-d", "--quiet")
    assert dict(reader.contents([late, others[0]]))[late] == b"late\n"


@pytest.mark.skipif(FORMAT == "partial", reason="a partial clone is read without it")
def test_a_git_without_the_command_is_asked_as_before(
    repo: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where git is too old for it, or ends on the way, everything is read all the same."""
    blobs = _blobs(repo)
    kept = require(str(repo.path), os.environ)
    real = next(str(Path(folder, "git")) for folder in os.environ["PATH"].split(":") if Path(folder, "git").exists())
    old = tmp_path / "old" / "git"
    old.parent.mkdir()
    old.write_text(f'#!/bin/sh\ncase "$*" in *--batch-command*) exit 129 ;; esac\nexec {real} "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    with pytest.raises(GitError):
        Reader(kept).infos([*blobs])
    assert dict(GitBackend(kept).blobs(blobs)) == blobs
    monkeypatch.undo()
    backend = GitBackend(kept)
    reading = backend.blobs(blobs)
    first = next(reading)
    backend._reader.end()  # type: ignore[union-attr]
    assert dict([first, *reading]) == blobs
    assert dict(backend.blobs(blobs)) == blobs


def test_the_id_of_what_is_read_is_right(repo: TestRepo) -> None:
    """What comes under an id is what has it."""
    kept = require(str(repo.path), os.environ)
    for id, data in GitBackend(kept).blobs(_blobs(repo)):
        assert blob_id(data, kept.object_format) == id
