"""What a remote really has of ours, and which of what came from it can be read.

What is kept of a remote is only as good as the last look: it may be another one by now, or emptied, and whoever can
push there may put a ref to what is no commit, or where only we write.
"""

from __future__ import annotations

import time

from cortex_git.store import keys, refs, remotes, transport, trust
from cortex_git.store.gitcli import without_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo
    from cortex_git.store.sharing import Line, Sent

_OVERTAKEN = (
    "non-fast-forward",
    "fetch first",
    "already exists",
    "stale info",
    "cannot lock ref",
    "failed to update ref",
    "incorrect old value",
)


def tracked(backend: Backend, remote: str) -> dict[str, str]:
    """What was fetched from a remote and what it has of ours; not that of one whose name goes on after a slash."""
    base = f"{keys.REMOTES}/{remote}/"
    return {name: tip for name, tip in backend.refs(base).items() if name.count("/") == base.count("/") + 1}


def set_aside(repo: Repo, backend: Backend, before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Put refs that a fetch has led to no commit back to where they were, or remove them; returns them."""
    fit = backend.commits(after.values())
    bad = {name: tip for name, tip in after.items() if tip not in fit}
    request = ""
    for name, tip in bad.items():
        old = before.get(name)
        request += f"update {name} {old} {tip}\n" if old and old in fit else f"delete {name} {tip}\n"
    _move(repo, request)
    return bad


def look(repo: Repo, backend: Backend, remote: str, limit: float) -> bool:
    """Forget what is kept of our refs where the remote has them no more; returns whether it has answered.

    What was fetched of others stays: it may be all that is left of it.
    """
    held = tracked(backend, remote)
    found = ours(repo, remote, limit)
    if found is None:
        return False
    # What is pushed elsewhere than it is fetched from is not seen by a look.
    if not repo.git_config().get(f"remote.{remote}.pushurl"):
        there = {remotes.tracking(remote, name) for name in found}
        gone = {name: tip for name, tip in held.items() if name.endswith("/" + repo.clone) and name not in there}
        _move(repo, "".join(f"delete {name} {tip}\n" for name, tip in gone.items()))
    return True


def ours(repo: Repo, remote: str, limit: float) -> dict[str, str] | None:
    """The refs that a remote has of this clone; None if it does not answer."""
    if not repo.clone:
        return {}
    patterns = (f"{keys.SHARED}/*/{repo.clone}", f"{refs.PURGED}/{repo.clone}")
    answer = transport.listing(repo, remote, patterns, limit)
    if answer.status != 0:
        return None
    pairs = (line.partition("\t") for line in answer.out.splitlines())
    return {name: id for id, _, name in pairs if name}


def again(repo: Repo, remote: str, wanted: Mapping[str, str], sent: Sent, end: float) -> list[str]:
    """The refs to push once more, of those that were refused since another process of this clone was faster.

    What the remote has by now is noted as accepted.
    """
    overtaken = [ref for ref, why in sent.refused.items() if any(part in why for part in _OVERTAKEN)]
    left = end - time.monotonic()
    found = ours(repo, remote, left) if overtaken and left > 0 else None
    if found is None:
        return []
    retry = []
    for ref in overtaken:
        tip = found.get(ref)
        if tip and (tip == wanted[ref] or _is_under(repo, wanted[ref], tip)):
            del sent.refused[ref]
            sent.accepted[ref] = (None, tip)
        else:
            retry.append(ref)
    return retry


def _is_under(repo: Repo, commit: str, tip: str) -> bool:
    return repo.git_status("merge-base", "--is-ancestor", commit, tip)[0] == 0


def distrusted(repo: Repo, remote: str, every: Iterable[Line]) -> set[str]:
    """Our refs of which a remote has what the trust rule does not accept and what we are not known to have written."""
    if not trust.is_asked_for(repo):
        return set()
    lines = [line for line in every if line.known and line.tip != line.known and not line.sealed]
    theirs = {remotes.tracking(remote, line.ref): line.known or "" for line in lines}
    accepted = trust.trusted(repo, theirs)
    return {
        line.ref
        for line in lines
        if accepted.get(remotes.tracking(remote, line.ref)) != line.known and line.known not in _former(repo, line)
    }


def _former(repo: Repo, line: Line) -> set[str]:
    """Where a ref of ours was before, as git has logged it."""
    if not line.tip:
        return set()
    status, out, _ = repo.git_status("log", "-g", "--format=%H", line.ref, "--")
    return set(out.decode("ascii", "replace").split()) if status == 0 else set()


def _move(repo: Repo, request: str) -> None:
    if request:
        repo.git_status(*without_hooks(repo), "update-ref", "--stdin", "--no-deref", input=request.encode())


def drop(repo: Repo, backend: Backend, remote: str) -> int:
    """Remove what was fetched from a remote; returns how many refs that were. Raises GitError."""
    found = tracked(backend, remote)
    request = "".join(f"delete {name} {tip}\n" for name, tip in found.items())
    if request:
        repo.git(*without_hooks(repo), "update-ref", "--stdin", "--no-deref", input=request.encode())
    return len(found)
