"""The repository that a command runs in: its folders, its HEAD, its branch, its settings.

Read from git's own files where they are plain, so that a hook starts no process for what a
read of three short files tells; asked of git where they are not.
"""

from __future__ import annotations

import os

from cortex_git import config as settings
from cortex_git.errors import CortexError
from cortex_git.store.process import GitError, git, git_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_git.config import Config

_HEX = frozenset("0123456789abcdef")
_LONGEST_POINTER = 1 << 20


class Repo:
    """One work tree of one repository. All paths are absolute."""

    __slots__ = (
        "_config",
        "_faults",
        "_git_config",
        "_identity",
        "_variables",
        "common_dir",
        "git_dir",
        "home",
        "work_tree",
    )

    def __init__(self, git_dir: str, common_dir: str, work_tree: str | None, variables: Mapping[str, str]) -> None:
        self.git_dir = git_dir
        """The git directory of this work tree."""
        self.common_dir = common_dir
        """The git directory that all linked work trees share: the identity of the memory."""
        self.work_tree = work_tree
        """The work tree's root; None in a bare repository."""
        self.home = os.path.join(common_dir, "cortex")
        """Our folder under the common directory: the spool, live views, the index, the log."""
        self._variables = variables
        self._git_config: dict[str, str] | None = None
        self._identity = ""
        self._config: Config | None = None
        self._faults: list[str] = []

    @classmethod
    def discover(cls, cwd: str, variables: Mapping[str, str]) -> Repo | None:
        """The repository that `cwd` lies in, or None.

        GIT_DIR counts, since a git hook is told by it where it runs.
        """
        if "GIT_DIR" in variables:
            return cls._ask(cwd, variables)
        folder = os.path.realpath(cwd)
        while True:
            found = _git_dir_at(folder)
            if found:
                return cls(found, _common_dir(found), folder, variables)
            if _is_git_dir(folder):
                return cls._ask(folder, variables)
            parent = os.path.dirname(folder)
            if parent == folder:
                return None
            folder = parent

    @classmethod
    def _ask(cls, cwd: str, variables: Mapping[str, str]) -> Repo | None:
        kept = {name: variables[name] for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR") if name in variables}
        question = ("rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--is-bare-repository")
        status, out, _ = git_status(question, cwd, variables=kept)
        if status:
            return None
        git_dir, common_dir, bare = os.fsdecode(out).splitlines()
        work_tree = None
        if bare == "false":
            status, out, _ = git_status(("rev-parse", "--show-toplevel"), cwd, variables=kept)
            work_tree = os.fsdecode(out).rstrip("\n") if not status else None
        return cls(git_dir, common_dir, work_tree or None, variables)

    def git(self, *args: str, input: bytes = b"", variables: Mapping[str, str] | None = None) -> bytes:
        """Run git in this repository and return its output. Raises GitError."""
        return git(args, self.work_tree or self.git_dir, input=input, variables=self._located(variables))

    def git_status(
        self, *args: str, input: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, bytes]:
        """Run git in this repository and return status, output and error, for when a failure is an answer."""
        return git_status(args, self.work_tree or self.git_dir, input=input, variables=self._located(variables))

    def _located(self, variables: Mapping[str, str] | None) -> dict[str, str]:
        located = {"GIT_DIR": self.git_dir}
        if self.work_tree:
            located["GIT_WORK_TREE"] = self.work_tree
        located.update(variables or {})
        return located

    def head_line(self) -> str:
        """The raw first line of HEAD, as the shims store it with each payload; empty if it cannot be read."""
        try:
            with open(os.path.join(self.git_dir, "HEAD"), encoding="utf-8", errors="surrogateescape") as file:
                return file.readline().rstrip("\n")
        except OSError:
            return ""

    def branch(self) -> str | None:
        """The branch checked out here, or None if HEAD is detached. During a rebase, the branch that is rebased."""
        return self.branch_of(self.head_line())

    def branch_of(self, head_line: str) -> str | None:
        """The branch that a raw line of HEAD names, seen from this work tree."""
        if head_line.startswith("ref: refs/heads/"):
            name = head_line.removeprefix("ref: refs/heads/")
            return name if name != ".invalid" else self._symbolic_branch()
        for state in ("rebase-merge", "rebase-apply"):
            try:
                with open(os.path.join(self.git_dir, state, "head-name"), encoding="utf-8") as file:
                    name = file.read().strip()
            except OSError:
                continue
            if name.startswith("refs/heads/"):
                return name.removeprefix("refs/heads/")
        return None

    def _symbolic_branch(self) -> str | None:
        # A repository with the reftable format keeps a dummy in the HEAD file.
        status, out, _ = self.git_status("symbolic-ref", "--quiet", "--short", "HEAD")
        return os.fsdecode(out).strip() if not status else None

    def head(self) -> str | None:
        """The commit that HEAD names, or None while there is none."""
        line = self.head_line()
        if _is_hex(line):
            return line
        name = line.removeprefix("ref: ")
        for folder in (self.git_dir, self.common_dir):
            try:
                with open(os.path.join(folder, name), encoding="ascii", errors="replace") as file:
                    value = file.readline().strip()
            except OSError:
                continue
            if _is_hex(value):
                return value
        status, out, _ = self.git_status("rev-parse", "--verify", "--quiet", "HEAD")
        return out.decode().strip() if not status else None

    def git_config(self) -> dict[str, str]:
        """git's settings, names in lower case but for the middle part; of several values the last. Read once."""
        if self._git_config is None:
            values: dict[str, str] = {}
            for entry in os.fsdecode(self.git("config", "--null", "--list")).split("\0"):
                name, _, value = entry.partition("\n")
                values[name] = value
            self._git_config = values
        return self._git_config

    def set_git_config(self, name: str, value: str | None) -> None:
        """Write a setting to the repository's own configuration; None removes it.

        Raises GitError if the file cannot be written.
        """
        if value is not None:
            self.git("config", "--local", name, value)
        else:
            self.git_status("config", "--local", "--unset-all", name)
        self._git_config = None

    def author(self) -> str:
        """The user's name, as git would write it into a commit."""
        return self.identity().rpartition(" <")[0]

    def identity(self) -> str:
        """The user as `Name <mail>`; a stand-in where git knows no name."""
        self._identity = self._identity or self._find_identity()
        return self._identity

    def _find_identity(self) -> str:
        known = self.git_config()
        name = self._variables.get("GIT_COMMITTER_NAME") or known.get("user.name", "")
        mail = self._variables.get("GIT_COMMITTER_EMAIL") or known.get("user.email", "")
        if not (name and mail):
            status, out, _ = self.git_status("var", "GIT_COMMITTER_IDENT")
            text = out.decode("utf-8", "replace").rpartition("> ")[0] + ">"
            if not status and " <" in text:
                return text
        name, mail = (part.translate(_UNSAFE).strip() for part in (name, mail))
        return f"{name or 'unknown'} <{mail or 'unknown@localhost'}>"

    @property
    def object_format(self) -> str:
        """`sha1` or `sha256`."""
        return self.git_config().get("extensions.objectformat", "sha1")

    @property
    def clone(self) -> str:
        """The id of this clone, 8 hex digits; empty before `init`."""
        value = self.git_config().get("cortex.clone", "")
        return value if len(value) == 8 and not set(value) - _HEX else ""

    @property
    def initialised(self) -> bool:
        """Whether `init` has been run here."""
        return os.path.isdir(self.home) and bool(self.clone)

    def config(self) -> Config:
        """The team's settings; what is wrong with them is in `faults()`."""
        if self._config is None:
            path = os.path.join(self.work_tree or self.git_dir, ".cortex", "config.toml")
            self._config, self._faults = settings.load(path, os.path.join(self.home, "config.json"))
        return self._config

    def faults(self) -> list[str]:
        """What is wrong with the settings, a sentence each."""
        self.config()
        return self._faults

    def default_branch(self) -> str:
        """The branch that others build on: set by the team, else what the remote says, else `main` or `master`."""
        if self.config().default_branch:
            return self.config().default_branch
        try:
            with open(os.path.join(self.common_dir, "refs/remotes/origin/HEAD"), encoding="utf-8") as file:
                return file.read().strip().removeprefix("ref: refs/remotes/origin/")
        except OSError:
            pass
        for name in ("main", "master"):
            if self.git_status("show-ref", "--verify", "--quiet", f"refs/heads/{name}")[0] == 0:
                return name
        return self.git_config().get("init.defaultbranch", "main")


_UNSAFE = {ord(c): None for c in "<>\n\0"}


def require(cwd: str, variables: Mapping[str, str]) -> Repo:
    """The repository that `cwd` lies in. Raises CortexError if there is none."""
    repo = Repo.discover(cwd, variables)
    if repo is None:
        raise CortexError(f"{cwd} is not in a git repository; change to one, or make one with `git init`")
    return repo


def _is_hex(text: str) -> bool:
    return len(text) in (40, 64) and not set(text) - _HEX


def _is_git_dir(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "HEAD")) and os.path.isdir(os.path.join(folder, "objects"))


def _git_dir_at(folder: str) -> str | None:
    """The git directory of a work tree whose root is `folder`."""
    path = os.path.join(folder, ".git")
    if _is_git_dir(path):
        return os.path.realpath(path)
    text = _pointer(path)
    if not text.startswith("gitdir: "):
        return None
    target = os.path.realpath(os.path.join(folder, text.removeprefix("gitdir: ")))
    return target if os.path.isfile(os.path.join(target, "HEAD")) else None


def _common_dir(git_dir: str) -> str:
    text = _pointer(os.path.join(git_dir, "commondir"))
    return os.path.realpath(os.path.join(git_dir, text)) if text else git_dir


def _pointer(path: str) -> str:
    """What a file that names a path says, read as git does: all of it but for line ends at its end. Empty if none."""
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(_LONGEST_POINTER).rstrip(b"\r\n"))
    except OSError:
        return ""


__all__ = ["GitError", "Repo", "require"]
