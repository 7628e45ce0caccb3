"""Files of ours in the work tree and the index: put there, taken back, and never at the cost of anybody else's.

What a commit is to bring is noted under the git directory before it is staged, so that what
an aborted commit leaves can be told from everything else and be taken back.
"""

from __future__ import annotations

import contextlib
import errno
import os

from cortex_git.digest import blob_id
from cortex_git.errors import CortexError
from cortex_git.projections import pages
from cortex_git.projections.document import FOLDER, PLANS, is_item
from cortex_git.projections.reading import parse
from cortex_git.store import index as git_index
from cortex_git.store.locking import read_json, write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from cortex_git.projections.document import Item
    from cortex_git.store.repo import Repo


_MANY = 200


TAKEN_OUT = "-"
"""In the notes in place of a blob id: the file was staged to be deleted."""


class Notes:
    """What we noted down about our last commits in this work tree: kept by git directory, so one a work tree."""

    def __init__(self, repo: Repo) -> None:
        self._path = os.path.join(repo.git_dir, "cortex", "staged.json")
        values = read_json(self._path)
        self.staged: dict[str, str] = _pairs(values.get("staged"))
        """Path to SHA-1 blob id of what was staged and what no later look has found committed."""
        self.at: list[str] = _texts(values.get("at"))
        """The line of HEAD and the commit at that time, and the process that was committing."""
        self.plans: dict[str, str] = _pairs(values.get("plans"))
        """Path to SHA-1 blob id of plans as they were staged last."""
        self.stamp: str = str(values.get("stamp", ""))
        """What the work tree looked like when the pages were last found to be right."""

    def save(self) -> None:
        """Write it down. A failure costs a look at the index the next time. Raises CortexError if that matters."""
        values = {"staged": self.staged, "at": self.at, "plans": self.plans, "stamp": self.stamp}
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            write_json(self._path, values)
        except OSError as error:
            raise CortexError(f"{self._path} cannot be written: {error.strerror}; nothing was staged") from None


def index_entries(repo: Repo, index_file: str | None, paths: Iterable[str]) -> dict[str, str]:
    """Path to blob id of regular, merged files in the index, as far as they are or lie under the paths.

    Without those that somebody only means to add: a commit does not have them.
    """
    out = repo.git("ls-files", "--stage", "-z", "--", *paths, variables=_index(index_file))
    found = {}
    for entry in os.fsdecode(out).split("\0"):
        meta, _, path = entry.partition("\t")
        mode, _, rest = meta.partition(" ")
        blob, _, stage = rest.partition(" ")
        if mode == "100644" and stage == "0" and blob != id_like(blob, b""):
            found[path] = blob
    return found


def differing(repo: Repo, paths: Collection[str]) -> set[str]:
    """Those of the paths that the index has not as HEAD has them."""
    wanted = list(paths) if len(paths) <= _MANY else [FOLDER]
    out = repo.git("diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD", "--", *wanted)
    return set(os.fsdecode(out).split("\0")).intersection(paths)


def has_changes(repo: Repo, index_file: str | None) -> bool:
    """Whether the index holds anything that HEAD has not."""
    if repo.head() is None:
        return bool(repo.git("ls-files", "--cached", "-z", variables=_index(index_file)))
    return repo.git_status("diff-index", "--cached", "--quiet", "HEAD", variables=_index(index_file))[0] == 1


def touched(repo: Repo, old: str, paths: Collection[str]) -> set[str]:
    """Those of the paths that a commit has changed since an older one, or ever if there was none."""
    wanted = list(paths) if len(paths) <= _MANY else [FOLDER]
    span = f"{old}..HEAD" if old else "HEAD"
    options = ("--full-history", "-m", "--no-renames", "--name-only", "--format=", "-z", "--no-show-signature")
    status, out, _ = repo.git_status("log", *options, span, "--", *wanted)
    return set(os.fsdecode(out).replace("\n", "").split("\0")).intersection(paths) if not status else set(paths)


def ignored(repo: Repo, index_file: str | None, paths: Collection[str]) -> set[str]:
    """Those of the paths that git would not add, since its user told it to ignore them."""
    listed = "".join(path + "\0" for path in paths).encode()
    out = repo.git_status("check-ignore", "-z", "--stdin", input=listed, variables=_index(index_file))[1]
    return set(os.fsdecode(out).split("\0")).intersection(paths)


def has_folder(repo: Repo) -> bool:
    """Whether the work tree has our folder, and as a folder of its own: no link, no submodule.

    A sparse checkout that leaves it out has it, too: there the index says so.
    """
    folder = os.path.join(repo.work_tree or "", FOLDER.rstrip("/"))
    if os.path.islink(folder) or os.path.lexists(os.path.join(folder, ".git")):
        return False
    if repo.work_tree is None or os.path.isfile(os.path.join(folder, "README.md")):
        return repo.work_tree is not None
    return repo.is_sparse and not repo.git_status("rev-parse", "--verify", "--quiet", f":{FOLDER}README.md")[0]


def head_entries(repo: Repo, paths: Iterable[str]) -> dict[str, str]:
    """Path to blob id of files in the commit that HEAD names; nothing while there is none."""
    if repo.head() is None:
        return {}
    entries = os.fsdecode(repo.git("ls-tree", "-r", "-z", "--full-tree", "HEAD", "--", *paths)).split("\0")
    return {path: meta.split(" ")[2] for meta, tab, path in (entry.partition("\t") for entry in entries) if tab}


def read(repo: Repo, path: str) -> bytes | None:
    """A regular file in the work tree; None if there is none."""
    whole = os.path.join(repo.work_tree or "", path)
    try:
        descriptor = os.open(whole, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            return file.read()
    except OSError:
        return None


def place(repo: Repo, path: str, data: bytes, replaces: bytes | None) -> None:
    """Write a file whole into the work tree. `replaces` is what is there; None: nothing may be there.

    Raises CortexError if a folder on the way is a link, or the file cannot be written.
    """
    whole = os.path.join(repo.work_tree or "", path)
    try:
        _make_folders(repo, path)
        temporary = f"{whole}.{os.getpid()}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            _put(temporary, whole, replaces is not None)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    except OSError as error:
        raise CortexError(f"{path} cannot be written: {error.strerror}") from None


def _put(temporary: str, whole: str, replaces: bool) -> None:
    """Give a whole file its name, without taking it from another one unless it `replaces` that."""
    if replaces:
        os.replace(temporary, whole)
        return
    try:
        os.link(temporary, whole)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(whole):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(temporary, whole)


def remove(repo: Repo, path: str) -> None:
    """Take a file out of the work tree, and its folder if nothing else is in it."""
    whole = os.path.join(repo.work_tree or "", path)
    try:
        os.unlink(whole)
        os.rmdir(os.path.dirname(whole))
    except OSError:
        pass  # it is gone already, or the folder holds more


def add(repo: Repo, index_file: str | None, paths: Collection[str]) -> None:
    """Put files of the work tree into the index. Raises GitError."""
    listed = "".join(path + "\0" for path in paths).encode()
    repo.git("update-index", "--add", "-z", "--stdin", input=listed, variables=_index(index_file))


def take_out(repo: Repo, index_file: str | None, files: Mapping[str, bytes]) -> None:
    """Take files out of index and work tree. Raises GitError."""
    if files:
        listed = "".join(path + "\0" for path in files).encode()
        repo.git("update-index", "--force-remove", "-z", "--stdin", input=listed, variables=_index(index_file))
    for path in files:
        remove(repo, path)


def reset(repo: Repo, index_file: str | None, wanted: Mapping[str, str], seen: git_index.Stamp | None) -> None:
    """Set entries of the index to a blob; one of nothing but zeros takes them out.

    Outside of a commit (`index_file` is None) only in the index that was `seen`. Raises CortexError.
    """
    lines = (f"{'100644' if blob.strip('0') else '0'} {blob}\t{path}\0" for path, blob in wanted.items())
    data = "".join(lines).encode()
    if index_file is None:
        git_index.change(repo, data, seen)
    else:
        repo.git("update-index", "-z", "--index-info", input=data, variables=_index(index_file))


def rendered(path: str, data: bytes) -> Item | bool:
    """Whether a file is as it was rendered, so that it can be rendered again: the item if it is one."""
    if is_item(path):
        item = parse(path, data)
        return False if item.faults else item
    footer = pages.footer_of(data) if pages.is_page(path) else None
    return footer is not None and not footer.edited


def take_back(repo: Repo, notes: Notes, keep: Collection[str], index_file: str | None) -> list[str]:
    """Bring the noted paths back to what HEAD has, but for items with an id in `keep`; return what was changed.

    What is no longer as it was staged is left alone. Raises CortexError.
    """
    seen = git_index.stamp(repo)
    prefixes = {id[:7] for id in keep}
    paths = list(notes.staged) if len(notes.staged) <= _MANY else [FOLDER]
    index, head = index_entries(repo, index_file, paths), head_entries(repo, paths)
    changed: list[str] = []
    kept: dict[str, str] = {}
    for path, staged in notes.staged.items():
        data = read(repo, path)
        ours = blob_id(data) == staged if data is not None else staged == TAKEN_OUT
        wanted, now = head.get(path, ""), index.get(path, "")
        if wanted == now == (id_like(wanted, data) if data is not None else ""):
            continue  # it was committed
        notes.plans.pop(path, None)
        if path not in head and is_item(path) and not path.startswith(PLANS) and path[-10:-3] in prefixes:
            kept[path] = staged
        elif ours and now in ("", wanted, id_like(now, data or b"")):
            changed.append(path)
    away = {path: head.get(path) or "0" * len(index[path]) for path in changed if index.get(path) != head.get(path)}
    if away:
        reset(repo, index_file, away, seen)
    _restore(repo, {path: head.get(path) for path in changed})
    notes.staged = kept
    return changed


def id_like(blob: str, data: bytes) -> str:
    """The blob id of data in the format of another one."""
    return blob_id(data, "sha256" if len(blob) == 64 else "sha1")


def _restore(repo: Repo, blobs: Mapping[str, str | None]) -> None:
    for path, blob in blobs.items():
        if blob is None:
            remove(repo, path)
        else:
            place(repo, path, repo.git("cat-file", "blob", blob), b"")


def _make_folders(repo: Repo, path: str) -> None:
    folder = repo.work_tree or ""
    for name in path.split("/")[:-1]:
        folder = os.path.join(folder, name)
        if os.path.islink(folder):
            raise CortexError(f"{folder} is a symbolic link; replace it by a folder, or nothing is written there")
        os.makedirs(folder, exist_ok=True)


def _index(index_file: str | None) -> dict[str, str]:
    return {"GIT_INDEX_FILE": index_file} if index_file else {}


def _texts(value: object) -> list[str]:
    """Paths of ours, or what stands beside them, from a file that anything may have happened to."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _pairs(value: object) -> dict[str, str]:
    return {k: v for k, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}
