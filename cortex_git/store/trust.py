"""The trust rule: with `cortex.trust = signed` a fetched ref counts as far as a signature vouches for it.

And the other side of it: with `cortex.sign = true` what is pushed ends in a signed notes commit.
Both are settings of the clone, which nothing that is fetched or checked out can change.
"""

from __future__ import annotations

import os
import time

from cortex_git.digest import sha256_hex
from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

SIGNED = "refs/cortex/signed"
"""Under it, by remote, the signed notes commits that were made for what was pushed there."""
PATIENCE = 1.5
"""How long a reader checks new signatures, in seconds; what is left counts as before, and the next one goes on."""
_BATCH = 16
_SETTINGS = ("gpg.", "cortex.trust")
_FILES = ("gpg.ssh.allowedsignersfile", "gpg.ssh.revocationfile")
_KEYRINGS = ("~/.gnupg/pubring.kbx", "~/.gnupg/pubring.gpg", "~/.gnupg/trustdb.gpg")


def is_asked_for(repo: Repo) -> bool:
    """Whether of what is fetched only that counts which is signed."""
    return repo.git_config().get("cortex.trust", "").lower() == "signed"


def signs(repo: Repo) -> bool:
    """Whether what is pushed is signed."""
    return repo.git_config().get("cortex.sign", "").lower() in ("true", "yes", "on", "1")


def trusted(repo: Repo, refs: Mapping[str, str], patience: float = PATIENCE) -> dict[str, str]:
    """For each ref its newest notes commit whose signature git accepts; refs without one are left out.

    Verdicts are kept by commit for as long as git's settings, signers and keys are the same.
    """
    path = os.path.join(repo.home, "cache", "trust.json")
    stamp = _stamp(repo)
    kept: dict[str, Any] = read_json(path)
    if kept.get("stamp") != stamp:
        kept = {"stamp": stamp, "refs": {}, "verdicts": {}}
    stale = {name: tip for name, tip in refs.items() if kept["refs"].get(name, [""])[0] != tip}
    if stale:
        _settle(repo, kept, stale, time.monotonic() + patience)
        kept["refs"] = {name: entry for name, entry in kept["refs"].items() if name in refs}
        keep_json(path, kept)
    return {name: accepted for name in refs if (accepted := kept["refs"].get(name, ["", ""])[1])}


def carry_on(repo: Repo, replaced: Mapping[str, str]) -> None:
    """Give commits that were written anew here the verdict of those that they replace, given old to new."""
    path = os.path.join(repo.home, "cache", "trust.json")
    kept: dict[str, Any] = read_json(path)
    verdicts = kept.get("verdicts", {})
    carried = {new: True for old, new in replaced.items() if verdicts.get(old)}
    if carried:
        keep_json(path, {**kept, "refs": {}, "verdicts": {**verdicts, **carried}})


def _stamp(repo: Repo) -> str:
    """What verdicts depend on beside the commit, in short."""
    known = repo.git_config()
    settings = [f"{name}={value}" for name, value in sorted(known.items()) if name.startswith(_SETTINGS)]
    files = [known[name] for name in _FILES if name in known]
    return sha256_hex("\n".join([*settings, *map(_seen, (*files, *_KEYRINGS))]).encode("utf-8", "surrogateescape"))


def _seen(path: str) -> str:
    try:
        status = os.stat(os.path.expanduser(path))
    except OSError:
        return "-"
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"


def _settle(repo: Repo, kept: dict[str, Any], stale: Mapping[str, str], deadline: float) -> None:
    """Find the newest accepted commit of each ref, as far as there is time."""
    verdicts: dict[str, bool] = kept["verdicts"]
    lines = {name: line for name, line in _lines_of(repo, set(stale.values()), stale, verdicts)}
    waiting = dict(lines)
    while waiting and time.monotonic() < deadline:
        for name in [name for name, line in waiting.items() if not line or verdicts.get(line[0])]:
            kept["refs"][name] = [stale[name], lines[name][0] if waiting.pop(name) else ""]
        asked = list(dict.fromkeys(line[0] for line in waiting.values() if line[0] not in verdicts))[:_BATCH]
        verdicts.update(_verdicts(repo, asked))
        for line in waiting.values():
            while line and verdicts.get(line[0]) is False:
                line.pop(0)


def _lines_of(
    repo: Repo, tips: Collection[str], stale: Mapping[str, str], verdicts: Mapping[str, bool]
) -> Iterable[tuple[str, list[str]]]:
    """For each ref those of its commits that carry a signature, or were accepted, newest first."""
    request = "".join(f"{tip}\n" for tip in sorted(tips)).encode()
    out = repo.git("rev-list", "--stdin", "--header", "--topo-order", "--ignore-missing", input=request)
    parents: dict[str, list[str]] = {}
    signed: dict[str, int] = {}
    for record in filter(None, out.decode("utf-8", "replace").split("\0")):
        head = record.partition("\n\n")[0].split("\n")
        commit = head[0]
        parents[commit] = [line[7:] for line in head if line.startswith("parent ")]
        if verdicts.get(commit) or any(line.startswith("gpgsig") for line in head):
            signed[commit] = len(signed)
    for name, tip in stale.items():
        yield name, sorted(_under(tip, parents) & signed.keys(), key=lambda commit: signed[commit])


def _under(tip: str, parents: Mapping[str, list[str]]) -> set[str]:
    """A commit and its ancestors."""
    found: set[str] = set()
    left = [tip]
    while left:
        commit = left.pop()
        if commit not in found and commit in parents:
            found.add(commit)
            left += parents[commit]
    return found


def _verdicts(repo: Repo, commits: Sequence[str]) -> dict[str, bool]:
    """Whether git accepts the signature of each commit; most of the time of all of them, which takes one git."""
    if not commits:
        return {}
    accepted = repo.git_status("verify-commit", *commits)[0] == 0
    if accepted or len(commits) == 1:
        return dict.fromkeys(commits, accepted)
    half = len(commits) // 2
    return {**_verdicts(repo, commits[:half]), **_verdicts(repo, commits[half:])}


# ---- signing


def signed(repo: Repo, backend: Backend, remote: str, name: str, commit: str) -> str:
    """A signed notes commit to push to a remote in place of `commit`, which lies in our ref `name`.

    It descends from what was signed for that remote before, so that the push is a fast-forward, and
    holds nothing but what `commit` does: our own ref stays as it is. Where signing was turned off
    it only joins the two. Raises CortexError if git cannot sign.
    """
    *_, kind, key, clone = name.split("/")
    ref = f"{SIGNED}/{remote}/{key if kind == 'cortex' else kind}/{clone}"
    last = backend.refs(ref).get(ref)
    if last and commit in backend.reachable(last, [commit]):
        return last
    if not last and not signs(repo):
        return commit
    parents = [part for parent in (commit, last) if parent for part in ("-p", parent)]
    sign, message = (("-S",), b"cortex: signed\n") if signs(repo) else ((), b"cortex: joined\n")
    made = repo.git("commit-tree", *sign, *parents, f"{commit}^{{tree}}", input=message).decode("ascii").strip()
    backend.update(ref, made, last)
    return made
