"""A second copy of our refs, where the settings of a remote let a fetch overwrite or remove them.

`fetch = +refs/notes/*:refs/notes/*`, which many a page advises, sets our refs back to what the remote has of them, and
with `fetch.prune` removes those that were never sent. While such a refspec is there each ref is kept a second time
under `refs/cortex/kept`, out of its reach, and put back at the next look.
"""

from __future__ import annotations

import contextlib

from cortex_git.store import keys
from cortex_git.store.backend import RefMoved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

KEPT = "refs/cortex/kept"
_NOTES = "refs/notes/"
_OURS = (keys.SHARED, keys.LOCAL, keys.SHARED + "-purged")


def threats(repo: Repo) -> list[str]:
    """The refspecs in the settings by which a fetch writes where our refs are."""
    return [spec for spec in _refspecs(repo, ".fetch") if _reaches_notes(spec)]


def careless(repo: Repo) -> list[str]:
    """The refspecs in the settings that push notes: with one, a plain `git push` no longer pushes what it should."""
    return [spec for spec in _refspecs(repo, ".push") if spec.lstrip("+").startswith("refs/notes")]


def settle(repo: Repo, backend: Backend) -> None:
    """Put back what a fetch has overwritten or removed, and copy what has no copy. Costs nothing without a threat."""
    if not threats(repo) or not repo.clone:
        return
    found = backend.refs(*_OURS, KEPT)
    mine = {name: tip for name, tip in found.items() if name.startswith(_NOTES) and name.endswith("/" + repo.clone)}
    copies = {_original(name): tip for name, tip in found.items() if name.startswith(KEPT + "/")}
    folded = _folded(repo, mine)
    with contextlib.suppress(RefMoved):  # another process was faster
        for name in sorted({*mine, *copies}):
            _settle(backend, name, mine.get(name), copies.get(name), is_folded=name in folded)


def keep(repo: Repo, backend: Backend, names: Iterable[str]) -> None:
    """Copy refs that have just been written."""
    if threats(repo):
        wanted = list(names)
        found = backend.refs(*wanted, *map(_copy, wanted))
        with contextlib.suppress(RefMoved):
            for name in wanted:
                _settle(backend, name, found.get(name), found.get(_copy(name)))


def forget(backend: Backend, names: Iterable[str]) -> None:
    """Remove the copies of refs that are written anew on purpose."""
    for copy, tip in backend.refs(*map(_copy, names)).items():
        backend.update(copy, None, tip)


def _settle(backend: Backend, name: str, tip: str | None, copy: str | None, *, is_folded: bool = False) -> None:
    if tip == copy:
        return
    if is_folded and tip is None:
        backend.update(_copy(name), None, copy)
    elif copy and (tip is None or backend.reachable(copy, [tip])):
        backend.update(name, copy, tip)
    else:  # it went on, or was written anew on purpose
        backend.update(_copy(name), tip, copy)


def _folded(repo: Repo, mine: dict[str, str]) -> dict[str, str]:
    from cortex_git.store import refs

    return refs.expanded(repo, {name: tip for name, tip in mine.items() if refs.is_archive(name)})


def _copy(name: str) -> str:
    return f"{KEPT}/{name.removeprefix(_NOTES)}"


def _original(copy: str) -> str:
    return _NOTES + copy.removeprefix(KEPT + "/")


def _refspecs(repo: Repo, end: str) -> Iterator[str]:
    for name, values in repo.git_config_but_branches().items():
        if name.startswith("remote.") and name.endswith(end):
            yield from values.split("\n")


def _reaches_notes(spec: str) -> bool:
    place = spec.partition(":")[2]
    return place.startswith("refs/notes") or place == "refs/*"
