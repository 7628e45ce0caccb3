"""All notes refs as git lists them, kept for as long as git's own files show that no ref has moved.

Where refs are files, git puts each in place by a rename, which changes the time of its folder, and
packed-refs likewise: so while folders and packed-refs have the same times, no ref has moved. As in
git's index a time counts only if it is older than the moment when we began to look; of a change in
that same tick of the clock it would tell nothing. A reftable repository has a list of its tables,
whose names are never used twice.
"""

from __future__ import annotations

import os

from cortex_git.digest import sha256_hex
from cortex_git.store import keys
from cortex_git.store.head import in_files, is_hex, tables
from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

PREFIXES = (keys.SHARED, keys.LOCAL, keys.REMOTES, keys.SHARED + "-purged")
"""Under these lies everything that clones tell each other."""
_MOST = 400
"""How many refs and folders may differ from the large files before those are written anew."""
_UNSURE, _MISSING = -1, 0
"""Times of a folder: too young to prove anything, and not there."""
_GROUPS = (keys.SHARED, keys.LOCAL, keys.REMOTES)
"""Folders that hold folders and no notes ref."""


class Tips(dict[str, str]):
    """Notes refs with their tips. Made from one listing, and brought forward by what is set here."""

    __slots__ = ("_base", "_moved")

    def __init__(
        self, refs: Mapping[str, str] | Iterable[tuple[str, str]], base: str, moved: Mapping[str, str]
    ) -> None:
        super().__init__(refs)
        self._base = base
        self._moved = dict(moved)

    @classmethod
    def of(cls, refs: Mapping[str, str]) -> Tips:
        """Refs of which nothing is known but their tips."""
        if isinstance(refs, cls):
            return cls(refs, refs._base, refs._moved)
        return cls(refs, _digest(f"{name} {tip}" for name, tip in sorted(refs.items())), {})

    def over(self, others: Mapping[str, str]) -> Tips:
        """These and, where they have none of a name, others, which depend on nothing but the listing."""
        return Tips({**others, **self}, self._base, self._moved) if others else self

    def __setitem__(self, name: str, tip: str) -> None:
        super().__setitem__(name, tip)
        self._moved[name] = tip

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._moved[name] = ""

    def follow(self, now: Mapping[str, str]) -> None:
        """Have the tips of these refs, where others have moved them meanwhile."""
        for name, tip in now.items():
            if self.get(name) != tip:
                self[name] = tip

    @property
    def stamp(self) -> str:
        """Two that differ have different stamps."""
        return _stamp(self._base, self._moved)

    def stamp_without(self, key: str) -> str:
        """The same for all refs but those of one branch key."""
        return _stamp(self._base, {name: tip for name, tip in self._moved.items() if keys.key_in(name) != key})


class Listing:
    """What is kept of the refs: those of branch keys are `tips()`, any others are `others`.

    Refs that lead to no commit are in neither of them but `aside`.
    """

    def __init__(self, repo: Repo, backend: Backend) -> None:
        self._repo = repo
        self._backend = backend
        self._home = os.path.join(repo.home, "cache")
        kept = read_json(os.path.join(self._home, "listing.json"))
        self._serial = str(kept.get("serial", ""))
        self._base = str(kept.get("base", ""))
        self._whole = str(kept.get("whole", ""))
        self._moved: dict[str, str] = kept.get("moved", {})
        self._times: dict[str, int] = kept.get("times", {})
        self.others: dict[str, str] = kept.get("others", {})
        self.aside: dict[str, str] = kept.get("aside", {})
        self._tips: dict[str, str] | None = None
        self._bring_forward()

    @property
    def stamp(self) -> str:
        """Differs whenever any ref does; that of `tips()`."""
        return _stamp(self._footing(), self._moved)

    def tips(self) -> Tips:
        """The notes refs of branch keys."""
        if self._tips is None:
            self._tips = self._read_tips()
        if self._tips is None:  # another process has written these files meanwhile
            self._list_all()
        return Tips(self._tips or {}, self._footing(), self._moved)

    def _footing(self) -> str:
        return f"{self._base} {_stamp('', self.others)}"

    # ---- keeping it right

    def _bring_forward(self) -> None:
        whole = _whole(self._repo)
        folders = self._read_folders() if whole and whole == self._whole else None
        if folders is None:
            self._list_all()
            return
        top = self._repo.common_dir + "/"
        moved = [path for path, time in folders.items() if _time(top + path) != time]
        if moved and not self._list_again(folders, sorted(moved)):
            self._list_all()

    def _list_all(self) -> None:
        """Ask git for all refs."""
        began = _now(self._home) if os.path.isdir(self._repo.home) else 0
        self._whole = _whole(self._repo) if began else ""
        folders: dict[str, int] = {}
        if self._whole and in_files(self._repo):
            for prefix in PREFIXES:
                self._walk(prefix, folders)
        before = self._read_base()
        known = {*(before or {}).values(), *self._moved.values(), *self.others.values()}
        self.aside = {}
        found = self._fit(self._backend.refs(*PREFIXES), known)
        if before is None:
            before, self._base = {}, ""
        self._tips = {name: tip for name, tip in found.items() if keys.key_in(name)}
        self.others = {name: tip for name, tip in found.items() if name not in self._tips}
        # A pack of loose refs moves none: what was made for these refs stays right.
        self._moved = {name: tip for name, tip in self._tips.items() if before.get(name) != tip}
        self._moved.update(dict.fromkeys(before.keys() - self._tips.keys(), ""))
        self._write_large(folders, began)

    def _list_again(self, folders: dict[str, int], moved: list[str]) -> bool:
        """Look at what changed in some folders; returns whether that was possible."""
        began = _now(self._home)
        tips = self._read_tips()
        if not began or tips is None:
            return False
        asked: set[str] = set()
        for path in moved:
            for known in [path, *(name for name in folders if name.startswith(path + "/"))]:
                if _time(f"{self._repo.common_dir}/{known}") == _MISSING:
                    folders.pop(known, None)
            asked |= self._walk(path, folders)
        if len(asked) > _MOST:
            return False
        under = tuple(path + "/" for path in asked)
        before = {name: tip for name, tip in {**tips, **self.others}.items() if name.startswith(under)}
        now = self._read(asked, before)
        for name in {**before, **now}:
            group = tips if keys.key_in(name) else self.others
            if name in now:
                group[name] = now[name]
            else:
                del group[name]
            if group is tips and before.get(name) != now.get(name):
                self._moved[name] = now.get(name, "")
        self._tips = tips
        if max(len(self._moved), len(self._times) + len(moved)) > _MOST:
            self._write_large(folders, began)
        else:
            self._times.update((path, _sure(folders.get(path, _MISSING), began)) for path in {*moved, *asked})
            self._times.update((path, _sure(time, began)) for path, time in folders.items() if path.startswith(under))
            self._write_small()
        return True

    def _walk(self, path: str, folders: dict[str, int]) -> set[str]:
        """Note the times of a folder and of those below that are new; returns those whose refs must be looked at."""
        # The time comes first: what changes after it is taken changes it again.
        folders[path] = _time(f"{self._repo.common_dir}/{path}")
        asked: set[str] = set()
        files = below = 0
        for name, is_folder in _entries(f"{self._repo.common_dir}/{path}"):
            if not is_folder:
                files += 1
                continue
            below += 1
            if f"{path}/{name}" not in folders:
                asked.add(f"{path}/{name}")
                self._walk(f"{path}/{name}", folders)
        is_group = path in _GROUPS or os.path.dirname(path) == keys.REMOTES
        return asked if is_group and below and not files else {path}

    def _read(self, asked: set[str], before: Mapping[str, str]) -> dict[str, str]:
        """The refs in some folders. One that only we write is read as it is; git checks others when it lists them."""
        found: dict[str, str] = {}
        left: list[str] = []
        for path in sorted(asked):
            own = f"{path}/{self._repo.clone}"
            known = [name for name in before if name.startswith(path + "/") and name != own]
            value = self._own(path) if not known and keys.is_ours(self._repo, own) else ""
            if value:
                found[own] = value
            else:
                left.append(path)
        if left:
            found.update(self._fit(self._backend.refs(*left), set(before.values())))
        return found

    def _fit(self, found: dict[str, str], known: Collection[str]) -> dict[str, str]:
        """Those of the refs that lead to a commit: one that does not must not keep the others from being read.

        Only what is new is looked up.
        """
        new = {name: tip for name, tip in found.items() if tip not in known}
        fit = self._backend.commits(new.values()) if new else set()
        bad = {name: tip for name, tip in new.items() if tip not in fit}
        self.aside = {name: tip for name, tip in self.aside.items() if name not in found} | bad
        return {name: tip for name, tip in found.items() if name not in bad} if bad else found

    def _own(self, path: str) -> str:
        names = [name for name, _ in _entries(f"{self._repo.common_dir}/{path}")]
        if names != [self._repo.clone]:
            return ""
        try:
            with open(f"{self._repo.common_dir}/{path}/{names[0]}", encoding="ascii") as file:
                value = file.read().removesuffix("\n")
        except (OSError, ValueError):
            return ""
        return value if is_hex(value) else ""

    # ---- the files

    def _read_folders(self) -> dict[str, int] | None:
        kept = read_json(os.path.join(self._home, "listing-folders.json"))
        if not kept or kept.get("serial") != self._serial:
            return None
        folders = dict(zip(kept["paths"].split(" "), kept["times"], strict=True)) if kept["paths"] else {}
        folders.update(self._times)
        return {path: time for path, time in folders.items() if time != _MISSING or path in PREFIXES}

    def _read_base(self) -> dict[str, str] | None:
        kept = read_json(os.path.join(self._home, "listing-tips.json"))
        if not kept or kept.get("base") != self._base:
            return None
        return dict(zip(kept["names"].split(" "), kept["tips"].split(" "), strict=True)) if kept["names"] else {}

    def _read_tips(self) -> dict[str, str] | None:
        if self._tips is not None:
            return self._tips
        tips = self._read_base()
        if tips is not None:
            tips.update(self._moved)
            if "" in self._moved.values():
                tips = {name: tip for name, tip in tips.items() if tip}
        return tips

    def _write_large(self, folders: Mapping[str, int], began: int) -> None:
        if len(self._moved) > _MOST or not self._base:
            tips = self._tips or {}
            names, ids = " ".join(tips), " ".join(tips.values())
            self._base, self._moved = _digest([names, ids]), {}
            if began:
                keep_json(f"{self._home}/listing-tips.json", {"base": self._base, "names": names, "tips": ids})
        if not began:
            return
        self._serial, self._times = os.urandom(8).hex(), {}
        times = [_sure(time, began) for time in folders.values()]
        paths = " ".join(folders)
        keep_json(f"{self._home}/listing-folders.json", {"serial": self._serial, "paths": paths, "times": times})
        self._whole = self._whole if _is_sure(self._repo, began) else ""
        self._write_small()

    def _write_small(self) -> None:
        values: dict[str, Any] = {
            "serial": self._serial,
            "base": self._base,
            "whole": self._whole,
            "moved": self._moved,
            "times": self._times,
            "others": self.others,
            "aside": self.aside,
        }
        keep_json(f"{self._home}/listing.json", values)


def _whole(repo: Repo) -> str:
    """What tells that all refs at once may have changed: packed-refs, or the list of tables. Empty: nothing does."""
    if not in_files(repo):
        return os.fsdecode(tables(repo))
    try:
        status = os.stat(os.path.join(repo.common_dir, "packed-refs"))
    except OSError:
        return "none"
    return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {status.st_size}"


def _is_sure(repo: Repo, began: int) -> bool:
    """Whether packed-refs is so old that its time proves something."""
    try:
        return os.stat(os.path.join(repo.common_dir, "packed-refs")).st_ctime_ns < began
    except OSError:
        return True


def _now(folder: str) -> int:
    """The time by the clock of the file system; 0 where nothing can be written, and so nothing be kept."""
    path = os.path.join(folder, f"now.{os.getpid()}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, b"now")
            return os.fstat(descriptor).st_ctime_ns
        finally:
            os.close(descriptor)
            os.unlink(path)
    except OSError:
        return 0


def _time(path: str) -> int:
    try:
        return os.stat(path).st_ctime_ns
    except OSError:
        return _MISSING


def _sure(time: int, began: int) -> int:
    return time if time < began else _UNSURE


def _entries(path: str) -> Iterator[tuple[str, bool]]:
    """Names in a folder and whether they are folders; a lock is none of them."""
    try:
        with os.scandir(path) as entries:
            yield from ((entry.name, entry.is_dir()) for entry in entries if not entry.name.endswith(".lock"))
    except OSError:
        return


def _stamp(base: str, moved: Mapping[str, str]) -> str:
    return _digest([base, *(f"{name} {tip}" for name, tip in sorted(moved.items()))]) if moved else base


def _digest(parts: Iterable[str]) -> str:
    return sha256_hex("\n".join(parts).encode("utf-8", "surrogateescape"))[:32]
