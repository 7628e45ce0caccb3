"""Where a folder's repository is: its git directory, the one that linked work trees share, and the work tree.

Found as git finds it, by a few looks at files; git is asked only where those leave a doubt.
"""

from __future__ import annotations

import os
import re

from cortex_git.errors import CortexError
from cortex_git.store.process import git_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Place = tuple[str, str, str | None]
    """Git directory, common directory, work tree; all absolute."""

_LONGEST_POINTER = 1 << 20
_POINTING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")
_GIVEN = ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT")
"""Settings given with `git -c`, by which a user may trust a folder for one command."""
_ANSWER = re.compile(r"(.*)\n(true|false)\n(.*)\n", re.DOTALL)
_SETTING = re.compile(r"^\s*(?:\[core\]\s*)?(bare|worktree)\s*(?:=\s*(.*?))?\s*$", re.MULTILINE | re.IGNORECASE)


def locate(cwd: str, variables: Mapping[str, str]) -> Place | None:
    """The repository that `cwd` lies in, or None. Raises CortexError where git refuses to work in it.

    GIT_DIR counts, since a git hook is told by it where it runs.
    """
    if "GIT_DIR" in variables:
        return _told(cwd, variables) or _ask(cwd, variables)
    folder = os.path.realpath(cwd)
    while True:
        git_dir = _git_dir_at(folder)
        if git_dir:
            _check_owner(folder, git_dir, variables)
            common = _common_dir(git_dir)
            # What has a common directory elsewhere is a linked work tree, for which those settings do not count.
            is_clear = common != git_dir or _is_plain(git_dir, folder)
            return (git_dir, common, folder) if is_clear else _ask(folder, variables)
        if _is_git_dir(folder):
            _check_owner(folder, folder, variables)
            return _ask(folder, variables)
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _told(cwd: str, variables: Mapping[str, str]) -> Place | None:
    """What the variables mean in a hook as it is usually run, at the root of the work tree; None: ask git."""
    folder = os.path.realpath(cwd)
    git_dir = _git_dir_at(folder)
    if not git_dir or "GIT_COMMON_DIR" in variables:
        return None
    is_here = os.path.realpath(os.path.join(cwd, variables["GIT_DIR"])) == git_dir
    tree = os.path.realpath(os.path.join(cwd, variables.get("GIT_WORK_TREE") or "."))
    common = _common_dir(git_dir)
    is_clear = is_here and tree == folder and (common != git_dir or _is_plain(git_dir, folder))
    return (git_dir, common, folder) if is_clear else None


def _ask(cwd: str, variables: Mapping[str, str]) -> Place | None:
    kept = {name: variables[name] for name in _POINTING if name in variables}
    question = ("rev-parse", "--path-format=absolute", "--git-dir", "--is-bare-repository", "--git-common-dir")
    status, out, _ = git_status(question, cwd, variables=kept)
    found = _ANSWER.fullmatch(os.fsdecode(out))
    if status or not found:
        return None
    work_tree = ""
    if found[2] == "false":
        status, out, _ = git_status(("rev-parse", "--path-format=absolute", "--show-toplevel"), cwd, variables=kept)
        work_tree = os.fsdecode(out).removesuffix("\n") if not status else ""
    return found[1], found[3], work_tree or None


def _check_owner(folder: str, git_dir: str, variables: Mapping[str, str]) -> None:
    """Leave alone what git leaves alone, since settings of a repository can name programs: others' without consent.

    We name the git directory to every git that we start, which keeps git itself from looking.
    """
    user = os.geteuid()
    owners = {os.lstat(path).st_uid for path in {folder, os.path.join(folder, ".git"), git_dir} if os.path.exists(path)}
    if owners <= {user}:
        return
    given = {name: variables[name] for name in _GIVEN if name in variables}
    status, _, err = git_status(("rev-parse", "--git-dir"), folder, variables=given)
    if status:
        said = err.decode("utf-8", "replace")
        if "dubious ownership" in said or "unsafe repository" in said:
            raise CortexError(
                f"{folder} belongs to another user, so git does not work in it; if you trust it: "
                f"git config --global --add safe.directory {_quoted(folder)}"
            )
        raise CortexError(f"git cannot work in {folder}: {(said.splitlines() or ['it does not say why'])[0]}")


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w/.+-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def _is_plain(git_dir: str, folder: str) -> bool:
    """Whether no setting takes the work tree away from the folder in which the git directory was found."""
    for name in ("config", "config.worktree"):
        for key, value in _SETTING.findall(_text(os.path.join(git_dir, name))):
            if key.lower() == "bare":
                moved = value.lower() not in ("false", "no", "off", "0")
            else:  # so it is in a submodule, and leads back
                moved = os.path.realpath(os.path.join(git_dir, value.strip('"'))) != folder
            if moved:
                return False
    return True


def _is_git_dir(folder: str) -> bool:
    """Whether it is a git directory of its own, and not one that a linked work tree has."""
    return os.path.lexists(os.path.join(folder, "HEAD")) and os.path.isdir(os.path.join(folder, "objects"))


def _git_dir_at(folder: str) -> str | None:
    """The git directory of a work tree whose root is `folder`."""
    path = os.path.join(folder, ".git")
    if _is_git_dir(path):
        return os.path.realpath(path)
    text = _text(path).rstrip("\r\n")
    if not text.startswith("gitdir: "):
        return None
    target = os.path.realpath(os.path.join(folder, text.removeprefix("gitdir: ")))
    return target if os.path.lexists(os.path.join(target, "HEAD")) else None


def _common_dir(git_dir: str) -> str:
    text = _text(os.path.join(git_dir, "commondir")).rstrip("\r\n")
    return os.path.realpath(os.path.join(git_dir, text)) if text else git_dir


def _text(path: str) -> str:
    """What a short file says; empty if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(_LONGEST_POINTER))
    except OSError:
        return ""
