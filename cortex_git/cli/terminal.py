"""What reaches a terminal: other people's text made harmless, colour and a pager where git would use them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping
from typing import TextIO

from cortex_git.env import Env
from cortex_git.errors import CortexError

_STYLES = {"id": "33", "bold": "1", "good": "32", "bad": "31", "dim": "2", "match": "1;31"}
_OFF = ("never", "false", "no", "off", "0")
_JOINERS = "\u200c\u200d"
_NAMED = {"\r": "\\r", "\b": "\\b", "\a": "\\a", "\f": "\\f", "\v": "\\v", "\0": "\\0"}


class Screen:
    """Where a command writes its text, with or without colour."""

    __slots__ = ("_stream", "colour")

    def __init__(self, stream: TextIO, colour: bool) -> None:
        self._stream = stream
        self.colour = colour

    def line(self, text: str = "") -> None:
        """Write a line."""
        self._stream.write(text + "\n")

    def paint(self, text: str, style: str) -> str:
        """The text in a style: `id`, `bold`, `good`, `bad`, `dim` or `match`."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[m" if self.colour and text else text


@contextlib.contextmanager
def screen(env: Env, settings: Mapping[str, str], color: str = "auto", *, paged: bool = False) -> Iterator[Screen]:
    """A screen on standard output, with `paged` behind a pager if that is a terminal.

    `settings` are git's. Where the reader of a pager has seen enough, the rest is dropped.
    """
    colour = wants_colour(env, settings, color)
    pager = _pager(env, settings) if paged and is_terminal(env.stdout) else ""
    if not pager:
        yield Screen(env.stdout, colour)
        return
    env.stdout.flush()
    process, stream = _start(pager, env)
    try:
        with contextlib.suppress(BrokenPipeError):
            yield Screen(stream, colour)
    finally:
        with contextlib.suppress(BrokenPipeError):
            stream.close()
        _wait(process)


def wants_colour(env: Env, settings: Mapping[str, str], color: str) -> bool:
    """Whether to use colour: as asked for, else as NO_COLOR, then git's settings, then the terminal say."""
    if color != "auto":
        return color == "always"
    setting = settings.get("color.cortex", settings.get("color.ui", "auto")).lower()
    if env.variables.get("NO_COLOR") or setting in _OFF:
        return False
    if setting == "always":
        return True
    paging = env.variables.get("GIT_PAGER_IN_USE", "").lower() in ("1", "true")
    return (paging or is_terminal(env.stdout)) and env.variables.get("TERM") != "dumb"


def harmless(text: str) -> str:
    """Text with its control characters made visible, so that it can neither move a cursor nor hide anything."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or _is_plain(c) else _escaped(c) for c in text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The same as one line."""
    return harmless(" ".join(text.split()))


def write_json(env: Env, value: object) -> None:
    """Print a value as JSON; of a list one element a line."""
    plain = (getattr(env.stdout, "encoding", "") or "").lower().replace("-", "") != "utf8"
    encode = json.JSONEncoder(ensure_ascii=plain).encode
    if isinstance(value, list):
        env.stdout.write("[" + ",\n ".join(map(encode, value)) + "]\n")
    else:
        env.stdout.write(json.dumps(value, ensure_ascii=plain, indent=2) + "\n")


def warn(env: Env, text: str) -> None:
    """One line on standard error about something that does not stop the command."""
    with contextlib.suppress(OSError, ValueError):
        env.stderr.write(f"git cortex: warning: {one_line(text)}\n")


def is_interactive(env: Env) -> bool:
    """Whether somebody sits there who reads questions and can answer them."""
    return is_terminal(env.stdin) and is_terminal(env.stderr)


def ask(env: Env, question: str, *, default: bool) -> bool:
    """Ask until there is a yes or a no; an empty line is the default. Raises CortexError if nobody answers."""
    while True:
        env.stderr.write(f"{question} [{'Y/n' if default else 'y/N'}] ")
        env.stderr.flush()
        line = env.stdin.readline()
        if not line:
            env.stderr.write("\n")
            raise CortexError("there was no answer; nothing was changed")
        answer = line.decode("utf-8", "replace").strip().lower()
        if answer in ("y", "yes", "n", "no"):
            return answer.startswith("y")
        if not answer:
            return default


def is_terminal(stream: object) -> bool:
    """Whether a stream is a terminal."""
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False


def _is_plain(c: str) -> bool:
    return c.isprintable() or c in _JOINERS or (c.isspace() and c > "\x9f" and c not in "\u2028\u2029")


def _escaped(c: str) -> str:
    code = ord(c)
    return _NAMED.get(c) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


def _pager(env: Env, settings: Mapping[str, str]) -> str:
    """The pager as git chooses it; empty for none."""
    import shutil

    given = (env.variables.get("GIT_PAGER"), settings.get("core.pager"), env.variables.get("PAGER"), "less")
    command = next(value for value in given if value is not None).strip()
    if command in ("", "cat"):
        return ""
    return command if shutil.which(command.split()[0], path=env.variables.get("PATH", os.defpath)) else ""


def _start(command: str, env: Env) -> tuple[int, TextIO]:
    read, write = os.pipe()
    variables = {"LESS": "FRX", "LV": "-c", **env.variables}
    actions = [(os.POSIX_SPAWN_DUP2, read, 0)]
    process = os.posix_spawn("/bin/sh", ["sh", "-c", command], variables, file_actions=actions)
    os.close(read)
    encoding = getattr(env.stdout, "encoding", None) or "utf-8"
    return process, open(write, "w", encoding=encoding, errors="backslashreplace")


def _wait(process: int) -> None:
    """Wait for the pager, which takes ^C for itself."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        os.waitpid(process, 0)
    finally:
        signal.signal(signal.SIGINT, before)
