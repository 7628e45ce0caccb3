"""What the oracle knows of commits, asked of plain git and kept by commit: their parents, and what their items say."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

_MARK = re.compile(r"\bm(\d+)z\b")
_STATUS = re.compile(r"^status: *(\w+)", re.MULTILINE)
_OVER = ("deprecated", "superseded")
_ITEM = (".cortex/decisions/", ".cortex/learned/", ".cortex/plans/")


def marks_in(text: str) -> set[int]:
    """The numbers of the facts that a text speaks of."""
    return {int(number) for number in _MARK.findall(text)}


class Commits:
    """Parents and items of commits. A commit is the same in every clone, so all clones share one of these."""

    def __init__(self) -> None:
        self._parents: dict[str, list[str]] = {}
        self._items: dict[str, dict[str, set[int]]] = {}
        self._folder: dict[str, bool] = {}
        self._blobs: dict[str, set[int]] = {}
        self._reach: dict[str, frozenset[str]] = {}
        self._ever: dict[str, frozenset[int]] = {}
        self._over: dict[str, bool] = {}
        self._dead: dict[str, set[int]] = {}

    def parents(self, where: Path, commit: str) -> list[str]:
        """The parents of a commit."""
        if commit not in self._parents:
            for line in _git(where, "rev-list", "--parents", commit).splitlines():
                first, *rest = line.split(" ")
                self._parents[first] = rest
        return self._parents[commit]

    def reach(self, where: Path, commit: str | None) -> frozenset[str]:
        """All commits that one can reach, itself among them."""
        if commit is None:
            return frozenset()
        if commit not in self._reach:
            found, todo = set(), [commit]
            while todo:
                at = todo.pop()
                if at in self._reach:
                    found |= self._reach[at]
                elif at not in found:
                    found.add(at)
                    todo += self.parents(where, at)
            self._reach[commit] = frozenset(found)
        return self._reach[commit]

    def items(self, where: Path, commit: str | None, kinds: Iterable[str] = _ITEM[:2]) -> set[int]:
        """The facts that stand in a commit's files."""
        if commit is None:
            return set()
        self._look(where, commit)
        wanted = tuple(kinds)
        return {mark for path, marks in self._items[commit].items() if path.startswith(wanted) for mark in marks}

    def plans(self, where: Path, commit: str | None) -> set[int]:
        """The plans that stand in a commit's files."""
        return self.items(where, commit, _ITEM[2:])

    def has_folder(self, where: Path, commit: str | None) -> bool:
        """Whether a commit has the folder of items at all."""
        if commit is None:
            return False
        self._look(where, commit)
        return self._folder[commit]

    def ever(self, where: Path, commit: str | None) -> frozenset[int]:
        """The facts whose item any commit that can be reached has held."""
        if commit is None:
            return frozenset()
        if commit not in self._ever:
            found: set[int] = set()
            for each in self.reach(where, commit):
                found |= self.items(where, each)
            self._ever[commit] = frozenset(found)
        return self._ever[commit]

    def over(self, where: Path, commit: str | None) -> set[int]:
        """The facts whose files say, in a commit, that they no longer count."""
        if commit is None:
            return set()
        self._look(where, commit)
        return self._dead[commit]

    def carried(self, where: Path, mark: int, old: str | None, head: str) -> bool:
        """Whether a commit between two has made a file say that its fact no longer counts."""
        if old == head:
            return False
        for commit in self.reach(where, head) - self.reach(where, old):
            before = [self.over(where, parent) for parent in self.parents(where, commit)] or [set()]
            if mark in self.over(where, commit) and any(mark not in parent for parent in before):
                return True
        return False

    def _look(self, where: Path, commit: str) -> None:
        if commit in self._items:
            return
        files: dict[str, set[int]] = {}
        dead: set[int] = set()
        listing = _git(where, "ls-tree", "-r", "-z", "--full-tree", commit, "--", ".cortex/")
        for entry in listing.split("\0"):
            meta, _, path = entry.partition("\t")
            if path.startswith(_ITEM):
                blob = meta.split(" ")[2]
                files[path] = self._blob(where, blob)
                dead |= files[path] if self._over[blob] else set()
        self._dead[commit] = dead
        self._items[commit] = files
        self._folder[commit] = "\t.cortex/README.md\0" in listing

    def _blob(self, where: Path, blob: str) -> set[int]:
        if blob not in self._blobs:
            text = _git(where, "cat-file", "blob", blob)
            status = _STATUS.search(text)
            self._blobs[blob] = marks_in(text)
            self._over[blob] = bool(status and status[1] in _OVER)
        return self._blobs[blob]


def read_all(where: Path, blobs: Iterable[str]) -> str:
    """The contents of blobs, one after the other."""
    request = "".join(f"{blob}\n" for blob in blobs).encode()
    done = subprocess.run(["git", "cat-file", "--batch"], cwd=where, input=request, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape")


def _git(where: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=where, capture_output=True, check=True, env=None)
    return done.stdout.decode("utf-8", "surrogateescape")
