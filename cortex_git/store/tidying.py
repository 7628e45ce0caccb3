"""Refs that an archive has taken the place of: removed at the remote by the clone that folded them, and then elsewhere.

Readers take a ref of its own before an archive, so one that stays behind, at a remote or in what
was fetched from it, would hide what is folded later under the same key.
"""

from __future__ import annotations

from cortex_git.store import keys, refs, remotes, there, transport
from cortex_git.store.gitcli import without_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo
    from cortex_git.store.sharing import Line

_MOST = 2000


def remove_folded(repo: Repo, backend: Backend, remote: str, every: Iterable[Line], limit: float) -> list[str]:
    """Remove at a remote those of our refs that are folded, once it has the archive that holds them.

    A remote that allows no removal keeps them, which does no harm. Returns what was removed.
    """
    archive = remotes.tracking(remote, f"{keys.SHARED}/{refs.ARCHIVE}/{repo.clone}")
    there = refs.expanded(repo, backend.refs(archive))
    lines = [line for line in every if line.folded and line.known and not (line.archived or line.diverged)]
    safe = [line.ref for line in lines if there.get(remotes.tracking(remote, line.ref)) == line.tip][:_MOST]
    if not safe:
        return []
    results = transport.results(transport.push(repo, remote, [f":{ref}" for ref in safe], limit))
    gone = [ref for ref in safe if results.get(ref, ("!", ""))[0] != "!"]
    tracked = backend.refs(*(remotes.tracking(remote, ref) for ref in gone)) if gone else {}
    _delete(repo, tracked)
    return gone


def drop_covered(repo: Repo, backend: Backend, remote: str) -> None:
    """Remove what was fetched from a remote and is, up to its tip, in an archive of the same clone."""
    found = there.tracked(backend, remote)
    archives = {name: tip for name, tip in found.items() if refs.is_archive(name)}
    folded = refs.expanded(repo, archives) if archives else {}
    twice = {name: found[name] for name in folded if name in found and not name.endswith("/" + repo.clone)}
    if twice:
        request = [*(f"{tip}\n" for tip in twice.values()), *(f"^{tip}\n" for tip in archives.values())]
        beyond = set(repo.git("rev-list", "--ignore-missing", "--stdin", input="".join(request).encode()).split())
        _delete(repo, {name: tip for name, tip in twice.items() if tip.encode() not in beyond})


def _delete(repo: Repo, tips: Mapping[str, str]) -> None:
    request = "".join(f"delete {name} {tip}\n" for name, tip in tips.items())
    if request:
        repo.git_status(*without_hooks(repo), "update-ref", "--stdin", "--no-deref", input=request.encode())
