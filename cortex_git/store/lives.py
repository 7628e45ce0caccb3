"""The lives of a branch name: a name that is used again after its branch is gone gets another key.

Which life a branch leads that this clone meets for the first time: the newest one whose commits
it has; else the newest that nobody has closed; else a new one. A life that this clone has led
itself and that is over is never taken up again.
"""

from __future__ import annotations

from cortex_git.store import align, keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_git.store.repo import Repo

_GAP = 8
"""How many lives in a row may be unknown here while later ones are known: their clones need not have shared them."""


def choose(repo: Repo, branch: str, refs: Mapping[str, str]) -> str:
    """The key that a branch without one takes. `refs` are all notes refs with their tips."""
    lives = known_lives(branch, refs)
    # A branch that bore the name until it was renamed goes on with its key, also if nothing is stored under it yet.
    living = keys.living(repo)
    number = len(lives)
    while keys.key_of_name(branch, number) in living:
        number += 1
    newest = keys.key_of_name(branch, number)
    mine = "/" + repo.clone
    led = [any(name.endswith(mine) or keys.key_in(name) in living for name in life) for life in lives]
    others = [life for life, is_led in zip(reversed(lives), reversed(led), strict=True) if life and not is_led]
    if not others:
        return newest
    theirs = {name: refs[name] for life in others for name in life}
    tip = repo.git_status("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")[1].decode().strip()
    reached = _reached(repo, theirs, tip) if tip else set()
    ended = align.ended(repo, theirs)
    for fits in (lambda life: reached & set(life), lambda life: not ended & set(life)):
        for life in others:
            if fits(life):
                return keys.key_in(life[0])
    return newest


def known_lives(branch: str, refs: Mapping[str, str]) -> list[list[str]]:
    """The refs of each life of a name, oldest first; a life between others of which nothing is known has none."""
    by_key: dict[str, list[str]] = {}
    for name in refs:
        by_key.setdefault(keys.key_in(name), []).append(name)
    lives: list[list[str]] = []
    number = 0
    while number < len(lives) + _GAP:
        found = by_key.get(keys.key_of_name(branch, number))
        number += 1
        if found:
            lives += [[] for _ in range(number - 1 - len(lives))]
            lives.append(sorted(found))
    return lives


def _reached(repo: Repo, refs: Mapping[str, str], tip: str) -> set[str]:
    """The refs with an anchor that the commit `tip` can reach."""
    from cortex_git.store.gitcli import GitBackend

    anchors = align.anchors(repo, refs)
    reached = GitBackend(repo).reachable(tip, {anchor.commit for found in anchors.values() for anchor in found})
    return {name for name, found in anchors.items() if any(anchor.commit in reached for anchor in found)}
