"""Pages in a merge: rendered from the items that the merge results in. Items, where only their state differs.

git asks a merge driver for the content of a page in the middle of a merge, when no tree of the
result exists yet. So the items of the result are found from the commits that are merged, path
by path, as git itself does.
"""

from __future__ import annotations

import os
import re

from cortex_git.digest import sha256_hex
from cortex_git.projections import pages as page
from cortex_git.projections import worktree
from cortex_git.projections.document import FOLDER, is_item
from cortex_git.projections.reading import parse
from cortex_git.projections.writing import restate
from cortex_git.store import lineage, promisor
from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cortex_git.config import Config
    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

    Files = dict[str, str]

_DEPTH = 8
"""How many times merge bases are themselves merged; deeper criss-crosses have not been seen."""
_RANKS = {"accepted": 1, "deprecated": 2, "superseded": 2}
"""How far the life of a decision has gone by its status; any other is that of its birth."""
_HEX = re.compile(r"\b[0-9a-f]{7,64}\b")
_STATES = ("CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD", "refs/stash")


def merged_page(
    repo: Repo, backend: Backend, config: Config, path: str, versions: Sequence[bytes], labels: Iterable[str],
    variables: Mapping[str, str],
) -> bytes | None:  # fmt: skip
    """The content that a page is to have after a merge; None if it has to stay as our side has it.

    `versions` are the page in the base, on our side and on the other, `labels` what git calls
    them. Which commits are merged is guessed from what git leaves lying about, and believed
    only where they hold these very versions of the page.
    """
    base, ours, theirs = versions
    accepted = _accepted(repo, config, ours)
    if accepted is None or not page.is_page(path):
        return None
    merge = _Merge(repo, backend)
    files = merge.result(path, (base, ours, theirs), _candidates(repo, labels), _merged_heads(variables))
    return _rendered(repo, backend, config, files, accepted).get(path) if files is not None else None


def merged_item(path: str, ours: bytes, theirs: bytes) -> bytes | None:
    """The item whose state both sides have changed, in the state that goes further; None if they contradict each other.

    So it may be accepted on one side and superseded on the other, but not superseded twice.
    """
    mine, other = parse(path, ours), parse(path, theirs)
    if mine.faults or other.faults or restate(ours, other.status, other.superseded_by) != theirs:
        return None
    if (mine.status, mine.superseded_by) == (other.status, other.superseded_by):
        return ours
    ranks = _RANKS.get(mine.status, 0), _RANKS.get(other.status, 0)
    return None if ranks[0] == ranks[1] else ours if ranks[0] > ranks[1] else theirs


def _accepted(repo: Repo, config: Config, ours: bytes) -> bool | None:
    """Whether what is proposed counts as accepted on the pages here; None where no pages are rendered."""
    branch = repo.branch()
    if config.projections_pages == "off":
        return None
    if branch is None:  # nobody knows what this becomes: as it is
        footer = page.footer_of(ours)
        return footer.accepted if footer else None
    is_default = branch == repo.default_branch()
    return is_default if is_default or config.projections_pages == "every-branch" else None


def _rendered(repo: Repo, backend: Backend, config: Config, files: Files, accepted: bool) -> dict[str, bytes]:
    """All pages of a set of items, given path to blob id; none in a partial clone that lacks some of these.

    Kept, since git asks for one page after the other.
    """
    listed = "\n".join(f"{name} {blob}" for name, blob in sorted(files.items()))
    key = sha256_hex(f"{page.VERSION} {accepted} {config.briefing_tokens}\n{listed}".encode("utf-8", "surrogateescape"))
    place = os.path.join(repo.home, "cache", "merged-pages.json")
    kept = read_json(place)
    if kept.get("key") != key:
        contents = dict(backend.blobs(files.values()))
        items = {name: contents[blob] for name, blob in files.items() if blob in contents}
        if len(items) < len(files) and promisor.remotes(repo):
            return {}
        texts = {name: data.decode() for name, data in page.pages(items, config, accepted=accepted).items()}
        kept = {"key": key, "pages": texts}
        keep_json(place, kept)
    return {name: text.encode() for name, text in kept["pages"].items()}


# ---- which commits


def _merged_heads(variables: Mapping[str, str]) -> list[str]:
    """The commits that `git merge` merges: it names each in the environment."""
    return [name.removeprefix("GITHEAD_") for name in variables if name.startswith("GITHEAD_")]


def _candidates(repo: Repo, labels: Iterable[str]) -> list[str]:
    """Names of commits that may be the one whose changes are being applied, the likely ones first."""
    found: list[str] = []
    texts = [_last_line(repo, "rebase-merge/done"), _last_line(repo, "rebase-apply/original-commit"), *labels]
    texts.append(_first_line(repo, "sequencer/todo"))
    for text in texts:
        found += _HEX.findall(text)
        if text.startswith(("merge ", "m ")):  # of `rebase --rebase-merges`: a label, before a comment
            found += [f"refs/rewritten/{word}" for word in text.partition(" #")[0].split()[1:]]
    found += _STATES
    calling = lineage.calling_git()
    if calling is not None:
        found += [word for word in calling.args if not word.startswith("-")]
    return [name for name in dict.fromkeys(found) if not set(name) & set("\n\0 ")]


def _last_line(repo: Repo, name: str) -> str:
    return (_lines(repo, name) or [""])[-1]


def _first_line(repo: Repo, name: str) -> str:
    return (_lines(repo, name) or [""])[0]


def _lines(repo: Repo, name: str) -> list[str]:
    try:
        with open(os.path.join(repo.git_dir, name), encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


class _Merge:
    """Finds out what is merged with what, and which items come of it."""

    def __init__(self, repo: Repo, backend: Backend) -> None:
        self._repo = repo
        self._backend = backend
        self._trees: dict[str, Files] = {}

    def result(
        self, path: str, versions: tuple[bytes, bytes, bytes], candidates: Sequence[str], heads: Sequence[str]
    ) -> Files | None:
        """Path to blob id of the items of the result; None if it cannot be found out."""
        head = self._repo.head()
        if head is None:
            return None
        base, ours, theirs = (worktree.id_like(head, version) if version else "" for version in versions)
        wanted = [f"HEAD:{path}", *(f"{name}:{path}" for name in heads)]
        blobs = self._ids(wanted)
        if blobs[0] != ours:
            return None  # what counts as our side is no commit, such as changes that are carried over by a checkout
        for name, blob in zip(heads, blobs[1:], strict=True):
            if blob == theirs:
                return self._joined(self._base([head, name], _DEPTH), self._tree(head), self._tree(name))
        pair = self._applied(path, base, theirs, candidates)
        return self._joined(self._tree(pair[0]), self._tree(head), self._tree(pair[1])) if pair else None

    def _applied(self, path: str, base: str, theirs: str, candidates: Sequence[str]) -> tuple[str, str] | None:
        """Base and other side of a change that is applied, or taken back: a commit and one of its parents."""
        pairs = [(name, f"{name}^{number}") for name in candidates for number in (1, 2)]
        blobs = iter(self._ids([f"{rev}:{path}" for pair in pairs for rev in pair]))
        for (commit, parent), after, before in zip(pairs, blobs, blobs, strict=True):
            if (before, after) == (base, theirs):
                return parent, commit
            if (after, before) == (base, theirs):
                return commit, parent
        return None

    def _ids(self, names: Sequence[str]) -> list[str]:
        """The object ids that names stand for; empty for what is not there."""
        out = self._repo.git("cat-file", "--batch-check", input="".join(f"{name}\n" for name in names).encode())
        found = [line.split(" ") for line in os.fsdecode(out).splitlines()]
        return [words[0] if words[1:2] == ["blob"] else "" for words in found]

    def _tree(self, commit: str) -> Files:
        if commit not in self._trees:
            tree = self._backend.tree(f"{commit}^{{commit}}", FOLDER)
            self._trees[commit] = {name: blob for name, blob in tree.items() if is_item(name)}
        return self._trees[commit]

    def _base(self, commits: Sequence[str], depth: int) -> Files:
        """The items of the base of a merge: of several merge bases what they give when merged themselves."""
        status, out, _ = self._repo.git_status("merge-base", "--all", *commits)
        bases = out.decode().split() if not status else []
        if not bases:
            return {}
        files = self._tree(bases[0])
        for other in bases[1:] if depth else []:
            files = self._joined(self._base([bases[0], other], depth - 1), files, self._tree(other))
        return files

    @staticmethod
    def _joined(base: Files, ours: Files, theirs: Files) -> Files:
        return dict(_three_way(base, ours, theirs))


def _three_way(base: Files, ours: Files, theirs: Files) -> Iterator[tuple[str, str]]:
    for name in {**ours, **theirs}:
        was, mine, other = (files.get(name) for files in (base, ours, theirs))
        # Where both changed one item the user has to choose, and that commit renders the pages.
        chosen = other if mine == was else mine
        if chosen is not None:
            yield name, chosen
