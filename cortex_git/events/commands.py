"""Passwords on command lines and in calls, where a flag, a pipe or a place gives them away."""

from __future__ import annotations

import re

from cortex_git.events.literals import BARE, QUOTE, compiled, placeholder, places, plain, reference, stock, wordy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_git.events.literals import Span

_GIVEN = rf"({QUOTE}(?![\s,}}\])]))?((?(1)(?:(?!\1)\S)|{BARE}){{3,256}})"
"""Group 1 is the quote, if there is one, group 2 the value."""

_OPTIONS: dict[str, tuple[str, str, str]] = {
    # Short flags that mean a password only after certain commands: those where the value may stand apart, those
    # where it must follow at once, and what may stand between.
    "p": (r"sshpass|mongo\w*|login|az ad", r"sshpass|mongo\w*|login|mysql\w*|mariadb[\w-]*|7z\w*|u?n?rar", r"\s*=?"),
    "t": (r"login|auth init", "", r"\s+"),
    "a": (r"redis-cli|valkey-cli", "", r"\s+"),
    "w": (r"ldap\w+", r"ldap\w+", r"\s*"),
    "P": (r"sqlcmd|bcp|zip|unzip|mosquitto_\w+", r"sqlcmd|bcp|zip|unzip|mosquitto_\w+", r"\s*"),
    "pw": (r"plink|pscp|psftp", "", r"\s+"),
    "k": (r"openssl", "", r"\s+"),
    "N": (r"ssh-keygen", r"ssh-keygen", r"\s*"),
    "hp": ("", r"rar", ""),
    "U": (r"smbclient|rpcclient", r"smbclient|rpcclient", rf"\s*{QUOTE}?[^\s%]+%"),
}
_FIXED: tuple[tuple[bytes, str], ...] = (
    (b"htpasswd", rf"\s+-\w*b\w*\s+\S+\s+\S+\s+{_GIVEN}"),
    (b"rabbitmqctl", rf"\s+(?:add_user|change_password)\s+\S+\s+{_GIVEN}"),
    (b"pass:", _GIVEN),
    (b"identified ", r"(?:by\s+(?:PASSWORD\s+)?|with\s+\S+\s+(?:by|as)\s+)(\\*['\"])((?:(?!\1).){3,256})\1"),
)
_READS = ("--password-stdin", "--with-token", "--stdin", "-S ")
_USER_FLAGS = ("--user", "--proxy-user", "--auth", "-a ", "-U ")
_PIPED = rf"(?:echo|printf)\s+(?:-[neE]+\s+)*(?:{QUOTE}?%s(?:\\+n)?{QUOTE}?\s+)?{_GIVEN}{QUOTE}?\s*\|[^|\n]{{0,120}}$"
_PAIR = rf"(?:name)?(?:\s*=\s*|{QUOTE}?\s*,\s*|\s*){QUOTE}?[\w.@+%$-]{{1,80}}:({BARE}{{3,256}})"
_TUPLE = rf"(?:entication)?\s*[=:(]*\s*[(\[]\s*{QUOTE}[^\"'\n]{{1,80}}{QUOTE}\s*,\s*({QUOTE})((?:(?!\1)\S){{4,256}})\1"


def commands(text: str, low: bytes) -> Iterator[Span]:
    """Everything found on command lines. `low` is the text in lower case, one byte a character."""
    for at in places(low, b" -"):
        if text[at + 2 : at + 3] in _OPTIONS or text.startswith("hp", at + 2):
            yield from _option(text, at + 1)
        if text.startswith(_READS, at + 1):
            yield from _piped(text, at + 1)
        if text.startswith(_USER_FLAGS, at + 1):
            yield from _user(text, low, at + 1, next(flag for flag in _USER_FLAGS if text.startswith(flag, at + 1)))
    for at in places(low, b"-u"):
        if not text[at - 1 : at].isalnum() and text[at - 1 : at] != "-":
            yield from _user(text, low, at, "-u")
    for at in places(low, b"chpasswd"):
        yield from _piped(text, at)
    yield from _fixed(text, low)


def _option(text: str, at: int) -> Iterator[Span]:
    """`sshpass -p …`, `mysql -p…`."""
    for flag in (text[at + 1 : at + 3], text[at + 1]):
        end = at + 1 + len(flag)
        apart, attached, gap = _OPTIONS.get(flag, ("", "", ""))
        names = attached if attached and not text[end : end + 1].isspace() else apart
        if names and _called(names, text, at):
            found = compiled(gap + _GIVEN).match(text, end)
            if found and _secret(found[2], bool(found[1])):
                yield (*found.span(2), "password")
                return


def _called(names: str, text: str, at: int) -> bool:
    """Whether the command line that reaches to `at` calls one of these."""
    last = None
    for found in compiled(rf"(?:(?<![\w-])|(?<=\dm))(?:{names})(?![\w-])").finditer(text, max(0, at - 600), at):
        last = found
    return last is not None and not compiled(r"(?<!\\)\n|(?<!\\)\\n|[|;&]").search(text, last.end(), at)


def _fixed(text: str, low: bytes) -> Iterator[Span]:
    for name, rest in _FIXED:
        for at in places(low, name):
            if text[at - 1 : at].isalnum():
                continue
            found = compiled(rest, re.I).match(text, at + len(name))
            if found and _secret(found[2], bool(found[1])):
                yield (*found.span(2), "password")


def _piped(text: str, at: int) -> Iterator[Span]:
    """`echo … | docker login --password-stdin`."""
    found = compiled(_PIPED).search(text, max(0, at - 400), at)
    if found and _secret(found[2], True):
        yield (*found.span(2), "password")


def _user(text: str, low: bytes, at: int, flag: str) -> Iterator[Span]:
    """`curl -u name:password` and its like."""
    found = compiled(_PAIR).match(text, at + len(flag.rstrip()))
    value = found[1].rstrip(",)") if found else ""
    if not found or value.isdigit() or not _secret(value, False):
        return
    before = low[max(0, at - 2000) : at]
    if not wordy(value) or any(name in before for name in (b"curl", b"wget", b"http", b"xh ")):
        yield (*found.span(1), "password")


def pairs(text: str, at: int) -> Iterator[Span]:
    """`auth=("name", "password")`, read on from the end of `auth`."""
    found = compiled(_TUPLE, re.I).match(text, at)
    if found and _secret(found[2], True) and (not wordy(found[2]) or compiled(r"\d").search(found[2])):
        yield (*found.span(2), "password")


def _secret(value: str, quoted: bool) -> bool:
    """Whether the value of a password flag is one: not a variable, a number, an address or a path."""
    value = value.rstrip("),;")
    if len(value) < 4 or value.startswith("-") or placeholder(value, False) or stock(value):
        return False
    return quoted or not (plain(value) or reference(value))
