"""The report of a bug: a Markdown file that can be pasted into an issue as it is."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence

from cortex_git import __version__
from cortex_git.digest import sha256_hex
from cortex_git.env import Env
from cortex_git.events.redact import redact
from cortex_git.store.process import git_status
from cortex_git.store.repo import Repo


def write_report(arguments: Sequence[str], error: BaseException, env: Env) -> str:
    """Write the report into our folder of the repository, else into a temporary one; returns its path.

    It holds no values of the environment, and no secret that is known by its looks.
    """
    text = _text(arguments, error)
    # Named after the place of the bug, so that meeting it a hundred times leaves one report.
    place = sha256_hex("".join(traceback.format_tb(error.__traceback__)).encode("utf-8", "replace"))[:8]
    home = _home(env)
    try:
        if not os.path.isdir(home):
            raise FileNotFoundError(home)
        path = os.path.join(home, f"bug-{place}.md")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    except OSError:
        try:
            descriptor, path = tempfile.mkstemp(".md", f"git-cortex-bug-{place}-")
        except OSError:
            return f"this traceback: {traceback.format_exception_only(error)[-1].strip()}"
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return path


def _home(env: Env) -> str:
    try:
        repo = Repo.discover(env.cwd, env.variables)
    except Exception:  # whatever is wrong with the repository may be the very bug
        return ""
    return repo.home if repo else ""


def _text(arguments: Sequence[str], error: BaseException) -> str:
    lines = [
        "## Versions",
        "",
        f"- git-cortex {__version__}",
        f"- Python {platform.python_version()} ({sys.implementation.name})",
        f"- {_git_version()}",
        f"- {platform.platform()}",
        "",
        "## Command",
        "",
        *_fenced(" ".join(["git", "cortex", *(_quoted(argument) for argument in arguments)])),
        "",
        "## Traceback",
        "",
        *_fenced("".join(traceback.format_exception(error)).rstrip()),
    ]
    return redact("\n".join(lines)) + "\n"


def _quoted(argument: str) -> str:
    import shlex

    return shlex.quote(argument)


def _fenced(text: str) -> list[str]:
    return ["~~~~", *text.splitlines(), "~~~~"]


def _git_version() -> str:
    try:
        return git_status(["version"], os.sep)[1].decode("utf-8", "replace").strip()
    except Exception as error:
        return f"git: {error}"
