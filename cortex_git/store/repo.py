"""The repository that a command runs in: its folders, its HEAD, its branch, its settings.

Read from git's own files where they are plain, so that a hook starts no process for what a
read of three short files tells; asked of git where they are not.
"""

from __future__ import annotations

import contextlib
import os

from cortex_git import config as settings
from cortex_git.errors import CortexError
from cortex_git.store import head as ref_files
from cortex_git.store.locate import locate
from cortex_git.store.process import Conversation, GitError, git, git_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_git.config import Config

_SETTINGS = ".cortex/config.toml"
_BUILDS = (
    ("GITHUB_WORKSPACE", "GITHUB_HEAD_REF"),
    ("CI_PROJECT_DIR", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH"),
)
"""What build servers call the folder with their checkout, and in it the branch."""
_HEX = frozenset("0123456789abcdef")
# What a partial clone lacks is never fetched in passing, object by object (promisor.py). Only git >= 2.44 knows how to
# leave it be; an older one is kept from it by the lack of a protocol, and then fails.
_OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}


class Repo:
    """One work tree of one repository. All paths are absolute."""

    __slots__ = (
        "_asked",
        "_config",
        "_faults",
        "_few",
        "_git_config",
        "_identity",
        "_variables",
        "common_dir",
        "git_dir",
        "home",
        "may_fetch",
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
        self.may_fetch = 0.0
        """For how many seconds objects that a partial clone lacks may be fetched; nobody waits for that in a hook."""
        self._variables = variables
        self._asked: ref_files.Asked | None = None
        self._git_config: dict[str, str] | None = None
        self._few: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self._identity = ""
        self._config: Config | None = None
        self._faults: list[str] = []

    @classmethod
    def discover(cls, cwd: str, variables: Mapping[str, str]) -> Repo | None:
        """The repository that `cwd` lies in, or None. Raises CortexError where git refuses to work in it.

        GIT_DIR counts, since a git hook is told by it where it runs.
        """
        place = locate(cwd, variables)
        return cls(*place, variables) if place else None

    def git(self, *args: str, input: bytes = b"", variables: Mapping[str, str] | None = None) -> bytes:
        """Run git in this repository and return its output. Raises GitError."""
        return git(args, self.work_tree or self.git_dir, input=input, variables=self._located(variables))

    def git_status(
        self, *args: str, input: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, bytes]:
        """Run git in this repository and return status, output and error, for when a failure is an answer."""
        return git_status(args, self.work_tree or self.git_dir, input=input, variables=self._located(variables))

    def converse(self, *args: str) -> Conversation:
        """Start a git in this repository that is told and answers bit by bit."""
        return Conversation(args, self.work_tree or self.git_dir, self._located(None))

    def _located(self, variables: Mapping[str, str] | None) -> dict[str, str]:
        located = {"GIT_DIR": self.git_dir, **_OFFLINE}
        if self.work_tree:
            located["GIT_WORK_TREE"] = self.work_tree
        located.update(variables or {})
        return located

    def head_line(self) -> str:
        """What HEAD says, as its file has it: a ref or a commit; empty if it cannot be read."""
        line = ref_files.read_line(self.git_dir)
        return line if line != ref_files.DUMMY else self.asked_head().line

    def asked_head(self) -> ref_files.Asked:
        """What git says of HEAD, for repositories whose refs are not in files."""
        self._asked = ref_files.ask(self, self._asked)
        return self._asked

    def branch(self) -> str | None:
        """The branch checked out here, or None if HEAD is detached. During a rebase, the branch that is rebased.

        A build server checks out a commit; it is the branch for which it builds that counts.
        """
        return self.branch_of(self.head_line()) or self._branch_of_build()

    def _branch_of_build(self) -> str | None:
        for place, *names in _BUILDS:
            folder = self._variables.get(place)
            if folder and os.path.realpath(folder) == self.work_tree:
                return next((self._variables[name] for name in names if self._variables.get(name)), None)
        return None

    def branch_of(self, head_line: str) -> str | None:
        """The branch that a raw line of HEAD names, seen from this work tree."""
        if head_line == ref_files.DUMMY:  # a shim without git could not say more
            head_line = self.head_line()
        if head_line.startswith("ref: refs/heads/"):
            return head_line.removeprefix("ref: refs/heads/")
        for state in ("rebase-merge", "rebase-apply"):
            try:
                path = os.path.join(self.git_dir, state, "head-name")
                with open(path, encoding="utf-8", errors="surrogateescape") as file:
                    name = file.readline().rstrip("\n")
            except OSError:
                continue
            if name.startswith("refs/heads/"):
                return name.removeprefix("refs/heads/")
        return None

    def head(self) -> str | None:
        """The commit that HEAD names, or None while there is none."""
        line = ref_files.read_line(self.git_dir)
        if line == ref_files.DUMMY:
            return self.asked_head().commit
        return line if ref_files.is_hex(line) else ref_files.find(self, line.removeprefix("ref: "))

    def has_ref(self, name: str) -> bool:
        """Whether there is a ref of this full name."""
        return ref_files.find(self, name) is not None

    def git_config(self) -> dict[str, str]:
        """git's settings, names in lower case but for the middle part; of several values the last. Read once.

        Of refspecs, of which there may be many, all: a line each.
        """
        if self._git_config is None:
            values: dict[str, str] = {}
            for entry in os.fsdecode(self.git("config", "--null", "--list")).split("\0"):
                name, _, value = entry.partition("\n")
                is_refspec = name.startswith("remote.") and name.endswith((".fetch", ".push"))
                values[name] = f"{values[name]}\n{value}" if is_refspec and name in values else value
            self._git_config = values
        return self._git_config

    def git_config_but_branches(self) -> dict[str, str]:
        """git's settings without those of single branches, of which there may be thousands."""
        known = self.git_config()
        if self._few[0] is not known:
            self._few = (known, {name: value for name, value in known.items() if not name.startswith("branch.")})
        return self._few[1]

    def set_git_config(self, name: str, value: str | None) -> None:
        """Write a setting to the repository's own configuration; None removes it.

        Raises GitError if the file cannot be written.
        """
        if value is not None:
            # After `git branch -M` over a branch that was there, settings of both stand side by side.
            self.git("config", "--local", "--replace-all", name, value)
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
    def is_cut_off(self) -> bool:
        """Whether older history is not here, as in a shallow clone, or not its trees."""
        if os.path.isfile(os.path.join(self.common_dir, "shallow")):
            return True
        return any(
            name.endswith(".partialclonefilter") and value.startswith("tree:")
            for name, value in self.git_config_but_branches().items()
        )

    @property
    def is_sparse(self) -> bool:
        """Whether the work tree may lack files that the commit has."""
        return self.git_config().get("core.sparsecheckout", "").lower() in ("true", "yes", "on", "1")

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
            path = os.path.join(self.work_tree or self.git_dir, *_SETTINGS.split("/"))
            if self.is_sparse and not os.path.lexists(path):
                path = self._settings_of_index() or path
            self._config, self._faults = settings.load(path, os.path.join(self.home, "config.json"))
        return self._config

    def _settings_of_index(self) -> str:
        """A copy of the settings that a sparse checkout leaves out; empty if there are none."""
        from cortex_git.store import promisor
        from cortex_git.store.locking import write_text

        status, out, _ = self.git_status("rev-parse", "--verify", "--quiet", f":{_SETTINGS}")
        if status:
            return ""
        blob, path = out.decode("ascii").strip(), os.path.join(self.home, "sparse-config.toml")
        status, out, _ = self.git_status("cat-file", "blob", blob)
        if status and promisor.bring(self, [blob]):
            status, out, _ = self.git_status("cat-file", "blob", blob)
        try:
            if not status:
                with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                    if file.read() == out:
                        return path
                write_text(path, out.decode("utf-8", "surrogateescape"))
        except OSError:
            return ""
        return path  # of an earlier time, if the file is not here

    def faults(self) -> list[str]:
        """What is wrong with the settings, a sentence each."""
        self.config()
        return self._faults

    def default_branch(self) -> str:
        """The branch that others build on: set by the team, else what the remote says, else `main` or `master`."""
        if self.config().default_branch:
            return self.config().default_branch
        prefix = f"refs/remotes/{self._main_remote()}/"
        target = ref_files.symbolic(self, prefix + "HEAD")
        if target.startswith(prefix):
            return target.removeprefix(prefix)
        for name in ("main", "master"):
            if self.has_ref(f"refs/heads/{name}"):
                return name
        return self.git_config().get("init.defaultbranch", "main")

    def _main_remote(self) -> str:
        """`origin`, unless there is none and only one other."""
        known = self.git_config_but_branches()
        names = [name[7:-4] for name in known if name.startswith("remote.") and name.endswith(".url")]
        return names[0] if len(names) == 1 else "origin"


_UNSAFE = {ord(c): None for c in "<>\n\0"}


def require(cwd: str, variables: Mapping[str, str]) -> Repo:
    """The repository that `cwd` lies in. Raises CortexError if there is none."""
    repo = Repo.discover(cwd, variables)
    if repo is None:
        raise CortexError(f"{cwd} is not in a git repository; change to one, or make one with `git init`")
    return repo


__all__ = ["GitError", "Repo", "require"]
