"""What was read of notes refs, kept in short: for each ref its tip, and which commits of the code its parts belong to.

In two files, since there may be ten thousand refs and few of them change: a large one, and one for what is newer.
"""

from __future__ import annotations

import os

from cortex_git.store import keys
from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from cortex_git.store.repo import Repo

_FEW = 5
"""How many refs are looked for in the files of single branches."""
_MOST = 300
"""How many refs may be newer than the large file."""
_SAME = "="
"""In place of a notes commit that is the tip."""


class Tied:
    """The kept state of refs: `tip`, `depth`, `noted`, `ended` and `anchors` (commit, upto, depth) of each."""

    def __init__(self, repo: Repo, refs: Mapping[str, str]) -> None:
        found = {keys.key_in(name) for name in refs} if len(refs) < _FEW else set()
        # A hook that looks at its own branch alone reads a file of that branch alone.
        name = f"tied-{found.pop()}" if len(found) == 1 else "tied"
        self._path = os.path.join(repo.home, "cache", name)
        self._old: dict[str, str] = read_json(self._path + ".json")
        self._new: dict[str, str] = read_json(self._path + ".new.json")
        self._is_changed = False

    def stale(self, refs: Mapping[str, str]) -> dict[str, str]:
        """Those of the refs that are at another tip now."""
        known = {**self._old, **self._new}
        found = {name: tip for name, tip in refs.items() if not known.get(name, "").startswith(tip, 1)}
        return self._borrowed(found) if 0 < len(found) < _FEW < len(refs) else found

    def _borrowed(self, refs: Mapping[str, str]) -> dict[str, str]:
        """Take over what the files of single branches have of refs; returns those of which they have nothing."""
        left: dict[str, str] = {}
        for name, tip in refs.items():
            path = os.path.join(os.path.dirname(self._path), f"tied-{keys.key_in(name)}")
            lines = (read_json(path + end).get(name, "") for end in (".new.json", ".json"))
            line = next((line for line in lines if line.startswith(tip, 1)), "")
            if line:
                self._new[name] = line
                self._is_changed = True
            else:
                left[name] = tip
        return left

    def tip(self, name: str) -> str:
        """The tip that the kept state of a ref is for; empty if there is none."""
        return self._line(name).partition(" ")[0][1:]

    def ended(self, refs: Iterable[str]) -> set[str]:
        """Those of the refs that are closed."""
        closed = {name for lines in (self._old, self._new) for name, line in lines.items() if line[:1] == "+"}
        return {name for name in closed.intersection(refs) if self._line(name)[:1] == "+"}

    def get(self, name: str) -> dict[str, Any] | None:
        """The kept state of a ref."""
        line = self._line(name)
        if not line:
            return None
        tip, depth, noted, *rest = line[1:].split(" ")
        anchors = [[rest[at], _whole(rest[at + 1], tip), int(rest[at + 2])] for at in range(0, len(rest), 3)]
        return {"tip": tip, "depth": int(depth), "noted": int(noted), "ended": line[0] == "+", "anchors": anchors}

    def __getitem__(self, name: str) -> dict[str, Any]:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def deepest(self, refs: Iterable[str]) -> Iterator[tuple[str, str, list[str]]]:
        """Each ref that has anchors, with its tip and its anchors from the deepest on: commit, upto, commit, upto, …"""
        lines = {**self._old, **self._new}
        for name in refs:
            tip, _, _, *rest = lines[name][1:].split(" ")
            if len(rest) == 3:
                yield name, tip, [rest[0], _whole(rest[1], tip)]
            elif len(rest) == 6 and int(rest[5]) > int(rest[2]):
                yield name, tip, [rest[3], _whole(rest[4], tip), rest[0], _whole(rest[1], tip)]
            elif rest:
                order = sorted(range(0, len(rest), 3), key=lambda at: -int(rest[at + 2]))
                yield name, tip, [part for at in order for part in (rest[at], _whole(rest[at + 1], tip))]

    def set(self, name: str, entry: Mapping[str, Any]) -> None:
        """Keep the state of a ref."""
        parts = [f"{'+' if entry['ended'] else '-'}{entry['tip']} {entry['depth']} {entry['noted']}"]
        for commit, upto, depth in entry["anchors"]:
            parts.append(f"{commit} {_SAME if upto == entry['tip'] else upto} {depth}")
        self._new[name] = " ".join(parts)
        self._is_changed = True

    def drop(self, names: Iterable[str]) -> None:
        """Forget the state of refs."""
        for name in names:
            self._new[name] = ""
            self._is_changed = True

    def keep(self) -> None:
        """Write down what is new, if anything is."""
        if not self._is_changed:
            return
        if len(self._new) > _MOST:
            self._old = {name: line for name, line in {**self._old, **self._new}.items() if line}
            self._new = {}
            # The large one first: what is newer says nothing wrong in between.
            keep_json(self._path + ".json", self._old)
        keep_json(self._path + ".new.json", self._new)

    def _line(self, name: str) -> str:
        return self._new[name] if name in self._new else self._old.get(name, "")


def _whole(upto: str, tip: str) -> str:
    return tip if upto == _SAME else upto
