"""A memory in the user's editor, as git opens one on a commit's message."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import NamedTuple

from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.events.model import Event
from cortex_git.store.repo import Repo

_REASON = "# ---- Reason: below this line ----"
_OVER = "# ---- What else was considered: below, one on each line ----"
_END = "# ------------------------ >8 ------------------------"
_TELLING = ("GIT_EDITOR", "VISUAL", "EDITOR", "TERM")
_HELP = """\
# Everything below the line above is left out. Change the text, the reason and what
# else was considered; leave the lines that begin with `# ----` where they are.
# An empty text changes nothing.
"""


class Text(NamedTuple):
    """What was edited."""

    content: str
    reason: str
    alternatives: tuple[str, ...]


def ask(repo: Repo, env: Env, event: Event) -> Text:
    """What the user makes of a memory in the editor. Raises CortexError if that fails or nothing is left of it."""
    path = os.path.join(repo.home, "EDIT_MEMORY.md")
    os.makedirs(repo.home, mode=0o700, exist_ok=True)
    before = form(event)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(before.encode("utf-8", "replace"))
    try:
        _open_editor(repo, env, path)
        with open(path, encoding="utf-8", errors="replace") as edited:
            after = edited.read()
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
    if after == before:
        return Text(event.content, event.reason, event.alternatives)
    found = read(after)
    if not found.content:
        raise CortexError("the text is empty; nothing was changed (`git cortex retract` takes a memory back)")
    return found


def form(event: Event) -> str:
    """The text that is edited."""
    parts = [event.content.rstrip("\n"), "", _REASON, *([event.reason] if event.reason else []), "", _OVER]
    parts += [" ".join(choice.split()) for choice in event.alternatives]
    return "\n".join([*parts, "", _END, _HELP])


def read(text: str) -> Text:
    """What an edited text says."""
    lines = text.replace("\r\n", "\n").partition(_END)[0].split("\n")
    parts: dict[str, list[str]] = {"": [], _REASON: [], _OVER: []}
    part = parts[""]
    for line in lines:
        if line.rstrip() in (_REASON, _OVER):
            part = parts[line.rstrip()]
        else:
            part.append(line)
    content, reason = ("\n".join(parts[name]).strip() for name in ("", _REASON))
    return Text(content, reason, tuple(line.strip() for line in parts[_OVER] if line.strip()))


def _open_editor(repo: Repo, env: Env, path: str) -> None:
    """Run the editor that git would, on this terminal. Raises CortexError if there is none or if it fails."""
    given = {name: env.variables[name] for name in _TELLING if name in env.variables}
    status, out, said = repo.git_status("var", "GIT_EDITOR", variables=given)
    editor = os.fsdecode(out).strip()
    if status or not editor:
        why = said.decode("utf-8", "replace").strip().partition("\n")[0]
        raise CortexError(f"git knows no editor to open ({why}); set core.editor, or give --content and --reason")
    env.stdout.flush()
    process = os.posix_spawn("/bin/sh", ["sh", "-c", f'{editor} "$@"', editor, path], dict(env.variables))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C is for the editor, which may mean something else by it
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    finally:
        signal.signal(signal.SIGINT, before)
    if status:
        raise CortexError(f"the editor ended with status {status}; nothing was changed")
