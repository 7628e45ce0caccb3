"""What was there before `init`, so that `uninstall` can put it back to the byte."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from cortex_git.store.locking import read_json, write_json
from cortex_git.store.repo import Repo

_NAME = "before.json"


def note(repo: Repo, files: list[Path], folders: list[Path]) -> None:
    """Note these files and folders as they are now, unless an earlier `init` did. Raises OSError."""
    path = os.path.join(repo.home, _NAME)
    known = read_json(path)
    texts = _table(known, "files")
    missing = _table(known, "missing")
    for file in files:
        texts.setdefault(_name(repo, file), _text(file))
    for folder in folders:
        missing.setdefault(_name(repo, folder), not folder.exists())
    write_json(path, {"files": texts, "missing": missing})


def restore(repo: Repo) -> None:
    """Put back the noted bytes of each file that says the same again, and take away folders that are empty again.

    Raises OSError.
    """
    known = read_json(os.path.join(repo.home, _NAME))
    for name, text in _table(known, "files").items():
        path = Path(repo.common_dir, name)
        if not path.exists():
            continue
        if text is None and _same(path, "{}"):
            path.unlink()
        elif isinstance(text, str) and _same(path, text):
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
    for name, was_missing in sorted(_table(known, "missing").items(), key=lambda entry: -len(entry[0])):
        folder = os.path.join(repo.common_dir, name)
        if was_missing and os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)


def was_missing(repo: Repo, file: Path) -> bool:
    """Whether a noted file was not there before `init`."""
    texts = _table(read_json(os.path.join(repo.home, _NAME)), "files")
    return texts.get(_name(repo, file), "") is None


def _name(repo: Repo, path: Path) -> str:
    """A path as it is written down: a repository that is moved or copied takes it along."""
    return os.path.relpath(path, repo.common_dir)


def _same(path: Path, text: str) -> bool:
    """Whether a file holds the same JSON as a text."""
    try:
        return bool(json.loads(path.read_bytes()) == json.loads(text))
    except ValueError:
        return False


def _text(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else None


def _table(content: dict[str, Any] | dict[str, object], name: str) -> dict[str, Any]:
    value = content.get(name)
    return value if isinstance(value, dict) else {}
