"""What a shell command says to git: the commits that it makes, with their messages. Reads, never runs."""

from __future__ import annotations

import os

from cortex_git.capture.patterns import DOTALL, lazy
from cortex_git.store.message import subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_MAX_COMMAND = 64 * 1024
_MAX_COMMANDS = 500
_HERE = r"<<(?P<dash{0}>-?)[ \t]*(?P<quote{0}>['\"]?)(?P<mark{0}>[\w.-]+)(?P=quote{0})"
_TOKEN = lazy(
    r"(?P<space>[ \t\r]+|\\\n)"
    r"|(?P<comment>(?<![^\s;&|(])\#[^\n]*)"
    r'|"\$\(\s*cat\s+' + _HERE.format(1) + r'[ \t]*\n(?P<body>.*?)\n?[ \t]*(?P=mark1)\s*\)"'
    r"|(?P<given><<<)"
    r"|(?P<here>" + _HERE.format(2) + r")"
    r"|(?P<redirect>(?:\d*|&)(?:>>?|<)(?:&(?:\d+|-)|\|)?)"
    r"|(?P<end>&&|\|\||;|\||&|\n|[()])"
    r"|'(?P<single>[^']*)'"
    r"|\$'(?P<ansi>(?:[^'\\]|\\.)*)'"
    r'|"(?P<double>(?:[^"\\]|\\.)*)"'
    r"|(?P<plain>(?:[^\s'\"\\;&|()<>$]|\\.|\$(?!'))+)"
    r"|(?P<other>.)",
    DOTALL,
)
_ESCAPED = lazy(r"\\(\n|[\"\\$`])")
_BACKSLASHED = lazy(r"\\(.)", DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_ASSIGNED = lazy(r"\w+=")
_BEFORE = frozenset(("sudo", "env", "command", "time", "exec", "then", "do", "else", "{", "!"))
_VALUED = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"))
_LONG_VALUED = frozenset(("--author", "--date", "--cleanup", "--template", "--reuse-message", "--reedit-message",
                          "--pathspec-from-file", "--fixup", "--squash"))  # fmt: skip
_SHORT_VALUED = "mFtCc"
_MADE = lazy(r"^\[(?P<branch>[^\]\n]{1,300}?)(?: \(root-commit\))? (?P<sha>[0-9a-f]{7,64})\] (?P<subject>[^\r\n]*)")


class Order:
    """One `git commit`: its message (empty: not given on the command line), and where git was sent by path."""

    __slots__ = ("amends", "message", "place", "quiet")

    def __init__(self, message: str, place: str, amends: bool, quiet: bool) -> None:
        self.message = message
        self.place = place
        self.amends = amends
        self.quiet = quiet

    @property
    def subject(self) -> str:
        """The subject of the message, as git tells it."""
        return subject(self.message)


class _Command:
    """A simple command: its words, what is put into it, and the file that it writes."""

    __slots__ = ("into", "piped", "words", "written")

    def __init__(self, piped: bool) -> None:
        self.words: list[str] = []
        self.into = ""
        self.written = ""
        self.piped = piped

    def put(self, word: str, target: str, joins: bool) -> None:
        """Add a word, or a part of the last one."""
        if target == "into":
            self.into = word
        elif target == "written":
            self.written = word
        elif target == "words" and joins:
            self.words[-1] += word
        elif target == "words":
            self.words.append(word)


def orders(command: str) -> list[Order]:
    """The commits that a command line asks git for, in order."""
    if "commit" not in command or "git" not in command:
        return []
    found: list[Order] = []
    files: dict[str, str] = {}
    place = before = ""
    for simple in _commands(command[:_MAX_COMMAND]):
        words = _without_prefix(simple.words)
        name = words[0].rpartition("/")[2] if words else ""
        if name == "cd" and len(words) > 1:
            place = os.path.join(place, words[1])
        elif name in ("cat", "tee", "echo", "printf"):
            said = simple.into or (" ".join(words[1:]) if name in ("echo", "printf") else "")
            files[simple.written or (words[-1] if name == "tee" else "")] = said
            before = said
        elif name == "git":
            order = _order(words, place, simple.into or (before if simple.piped else ""), files)
            if order is not None:
                found.append(order)
    return found


def reported(output: str) -> list[tuple[str, str, str]]:
    """Branch, id and subject of each commit that git has told of in the output of a command."""
    if "] " not in output:
        return []
    lines = (_MADE.match(line) for line in output.split("\n"))
    return [(found["branch"], found["sha"], found["subject"].strip()) for found in lines if found]


def _commands(text: str) -> Iterator[_Command]:
    """The simple commands of a script."""
    current = _Command(piped=False)
    waiting: list[tuple[str, bool, _Command]] = []
    position = count = 0
    target, joins = "words", False
    while position < len(text) and count < _MAX_COMMANDS:
        found = _TOKEN.match(text, position)
        if found is None:
            return
        position, kind = found.end(), found.lastgroup or ""
        if kind == "end":
            if found[0] == "\n" and waiting:
                position = _bodies(text, position, waiting)
            if current.words:
                count += 1
                yield current
            current, target, joins = _Command(piped=found[0] == "|"), "words", False
        elif kind == "here":
            waiting.append((found["mark2"], bool(found["dash2"]), current))
        elif kind in ("redirect", "given"):
            target, joins = _target(found[0]), False
        elif kind in ("space", "comment"):
            joins = False
        else:
            current.put(_word(found, kind), target, joins)
            target, joins = "words", target == "words"
    if current.words:
        yield current


def _target(redirect: str) -> str:
    """What the word after a redirection is."""
    if redirect == "<<<":
        return "into"
    if redirect[-1:].isdigit() or redirect.endswith("-"):
        return "words"
    return "written" if ">" in redirect else "nothing"


def _bodies(text: str, position: int, waiting: list[tuple[str, bool, _Command]]) -> int:
    """Take in the documents that follow a line; returns where the script goes on."""
    for mark, is_indented, command in waiting:
        lines: list[str] = []
        while position < len(text):
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            line, position = text[position:end], end + 1
            line = line.lstrip("\t") if is_indented else line
            if line.rstrip("\r") == mark:
                break
            lines.append(line)
        command.into = "\n".join(lines)
    waiting.clear()
    return position


def _word(found: re.Match[str], kind: str) -> str:
    """What a shell makes of a part of a word. Variables and substitutions stay as they are written."""
    text = found[kind] or ""
    if kind == "body":
        return text
    if kind == "double":
        return _ESCAPED.sub(lambda escaped: "" if escaped[1] == "\n" else escaped[1], text)
    if kind == "ansi":
        return _BACKSLASHED.sub(lambda escaped: _CONTROLS.get(escaped[1], escaped[1]), text)
    return _BACKSLASHED.sub(r"\1", text) if kind == "plain" else text


def _without_prefix(words: list[str]) -> list[str]:
    """The words from the name of the program on."""
    start = 0
    while start < len(words) and (words[start] in _BEFORE or _ASSIGNED.match(words[start])):
        start += 1
    return words[start:]


def _order(words: list[str], place: str, into: str, files: dict[str, str]) -> Order | None:
    """What a call of git says of a commit; None if it makes none."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-C" and at + 1 < len(words):
            place = os.path.join(place, words[at + 1])
        at += 2 if words[at] in _VALUED else 1
    if words[at : at + 1] != ["commit"]:
        return None
    parts, trailers, flags = _arguments(words[at + 1 :], into, files)
    if "--dry-run" in flags or "--help" in flags:
        return None
    message = "\n\n".join(part.strip("\n") for part in parts if part.strip())
    if trailers and message:
        message += "\n\n" + "\n".join(trailers)
    return Order(message, place, "--amend" in flags, not flags.isdisjoint(("-q", "--quiet")))


def _arguments(words: list[str], into: str, files: dict[str, str]) -> tuple[list[str], list[str], set[str]]:
    """Paragraphs, trailers and flags among the arguments of `git commit`."""
    parts: list[str] = []
    trailers: list[str] = []
    flags: set[str] = set()
    rest = iter(words)
    for word in rest:
        if word == "--":
            break
        name, value = _option(word, rest)
        if word[:1] == "-" and word[1:2] != "-":
            flags.update(f"-{letter}" for letter in word[1 : word.find(name[1:], 1) if value else None])
        if name in ("-m", "--message"):
            parts.append(value)
        elif name in ("-F", "--file"):
            parts.append(into if value == "-" else files.get(value, ""))
        elif name == "--trailer":
            key, separator, said = value.partition("=" if "=" in value.partition(":")[0] else ":")
            trailers.append(f"{key.strip()}: {said.strip()}" if separator else value)
        elif name:
            flags.add(name)
    return parts, trailers, flags


def _option(word: str, rest: Iterator[str]) -> tuple[str, str]:
    """An option with its value; of short options that are written together the last one, if it has a value."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        if not equals and name in ("--message", "--file", "--trailer", *_LONG_VALUED):
            value = next(rest, "")
        return name, value
    if not word.startswith("-") or word == "-":
        return "", ""
    for place, letter in enumerate(word[1:], 1):
        if letter in _SHORT_VALUED:
            return f"-{letter}", word[place + 1 :] or next(rest, "")
        if letter in "Su":  # the rest is a key, or a mode
            break
    return word, ""
