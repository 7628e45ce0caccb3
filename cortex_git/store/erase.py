"""Removing objects for good, exactly those that are named and that nothing leads to any more.

`git prune` would take along whatever else the user has left dangling, which may be the only copy of
something; so packs are only taken apart (`git repack -A -d` leaves what is unreachable as loose
objects), and then single files are removed.
"""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

_EMPTY_TREES = (
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
)
_ALL = ("rev-list", "--objects", "--no-object-names", "--missing=allow-any", "--all", "--reflog", "--indexed-objects")
_MOST = 4 * 1024 * 1024


def all_of(repo: Repo, tips: Iterable[str]) -> set[str]:
    """Every object that some commits lead to."""
    request = "".join(f"{tip}\n" for tip in sorted(set(tips)))
    listing = ("rev-list", "--objects", "--no-object-names", "--ignore-missing", "--stdin")
    return set(repo.git(*listing, input=request.encode()).decode("ascii").split()) if request else set()


def reachable(repo: Repo) -> set[str]:
    """Every object that a ref, a reflog, or the index of a work tree leads to."""
    return set(repo.git(*_ALL).decode("ascii").split())


def dangling(repo: Repo, backend: Backend, kept: set[str], matches: Callable[[bytes], bool]) -> set[str]:
    """The files that nothing leads to, no dangling commit either but for notes commits, and whose content matches."""
    listing = ("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)", "--buffer")
    entries = [line.split(" ") for line in repo.git(*listing).decode("ascii").splitlines()]
    loose = [(id, kind) for id, kind in entries if id not in kept]
    found = {id for id, data in backend.blobs((id for id, kind in loose if kind == "blob"), _MOST) if matches(data)}
    if not found:
        return found
    ours = _notes_commits(repo, [id for id, kind in loose if kind == "commit"])
    tops = "".join(f"{id}\n" for id, kind in loose if kind in ("commit", "tag") and id not in ours)
    status, out, _ = repo.git_status(*_ALL[:4], "--stdin", input=tops.encode()) if tops else (0, b"", b"")
    # Where a lost commit is not whole any more nobody can tell what else was in it.
    return set() if status else found - set(out.decode("ascii").split())


def _notes_commits(repo: Repo, commits: list[str]) -> set[str]:
    """Those of the commits that were written by us."""
    log = ("-c", "log.showSignature=false", "log", "--stdin", "--no-walk=unsorted", "--format=%H %s")
    out = repo.git(*log, input="".join(f"{id}\n" for id in commits).encode()) if commits else b""
    lines = (line.partition(" ") for line in out.decode("utf-8", "replace").split("\n"))
    return {id for id, _, subject in lines if subject.startswith("cortex: ")}


def erase(repo: Repo, objects: Iterable[str], kept: set[str]) -> set[str]:
    """Remove objects that are not among those to be `kept`; returns those that could not be removed."""
    doomed = set(objects) - kept - set(_EMPTY_TREES)
    if not doomed:
        return set()
    _unlink(repo, doomed)
    left = _present(repo, doomed)
    if left:  # they are in packs
        repo.git("repack", "-A", "-d", "-q")
        _unlink(repo, left)
        left = _present(repo, left)
    _mend_commit_graph(repo)
    return left


def _unlink(repo: Repo, objects: Iterable[str]) -> None:
    for id in objects:
        for place in (f"objects/{id[:2]}/{id[2:]}", f"lost-found/commit/{id}", f"lost-found/other/{id}"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(repo.common_dir, place))


def _present(repo: Repo, objects: set[str]) -> set[str]:
    request = "".join(f"{id}\n" for id in sorted(objects)).encode()
    out = repo.git("cat-file", "--batch-check", "--buffer", input=request).decode("ascii", "replace")
    answers = (line.split(" ") for line in out.splitlines())
    return {answer[0] for answer in answers if len(answer) == 3}


def _mend_commit_graph(repo: Repo) -> None:
    """Have git's table of commits name only such as there are."""
    info = os.path.join(repo.common_dir, "objects", "info")
    if os.path.exists(os.path.join(info, "commit-graph")) or os.path.isdir(os.path.join(info, "commit-graphs")):
        repo.git_status("commit-graph", "write", "--reachable", "--no-progress")
