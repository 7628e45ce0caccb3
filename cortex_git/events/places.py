"""Secrets that stand in a known place: URLs, headers, cookies, a cluster's manifests, password files."""

from __future__ import annotations

import re

from cortex_git.events.commands import pairs
from cortex_git.events.literals import BARE, BLANK, QUOTE, compiled, placeholder, places, scattered, stock, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_git.events.literals import Span

_USER = r"[^\s/?#@:\"'<>\\`|]{0,128}"
_PASSWORD = rf"://({_USER}):((?!\d{{1,5}}[/?#,])[^\s\"'<>`|/]{{1,512}})@(?=[\w\[$%{{-])"
_SLASHED = rf"://({_USER}):((?!\d{{1,5}}[/?#,])[^\s\"'<>`|@:]{{1,512}})@(?=[\w\[-]+[.:/])"
_ALONE = r"(?<=http|ttps)://([^\s/?#@:\"'<>\\`|]{16,512})@(?=[\w\[])"
_QUERY = (
    r"(?i:(?:amp;)?(key|sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token|code|sid|x-amz-credential"
    r"|session|session_id|sessionid|jwt|t|ticket|hmac|auth|pass|pw|pin|otp|apikey|subscription-key)"
    r"(?:=|%3D)([\w.~%+/=:-]{12,}))"
)
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_SCHEMES = (
    r"(?:(?:Bearer|Basic|Token|Digest|ApiKey|Api-Key|Negotiate|NTLM|OAuth|Key|SSWS|GenieKey|Splunk|Bot|JWT|Client-ID"
    r"|DeepL-Auth-Key|Discogs)(?:[ ]|%20|\+)(?:token=)?)?"
)
_HEADER = (
    rf"{QUOTE}?\]?{BLANK}{{0,4}}(?:[:=,]|%3A|=>){BLANK}{{0,4}}[bfru]?{QUOTE}?{_SCHEMES}{QUOTE}?((?:(?![,;]){BARE}){{6,}})"
)
_BEARER = rf"(?:{BLANK}|\+){{1,3}}{QUOTE}?([\w.~+/=%-]{{12,}})"
_BASIC = rf"(?:{BLANK}|\+){{1,3}}([A-Za-z0-9+/]{{12,}}={{0,2}})(?![\w-])"
_COOKIES = rf"2?{QUOTE}?\]?(?:{BLANK}{{0,4}}[:=,]{BLANK}{{0,4}}{QUOTE}?|{BLANK}{{1,4}}{QUOTE})"
_COOKIE = rf"{BLANK}{{0,4}}([\w.$!#%&*+^|~-]{{1,80}})=((?:(?!;){BARE}){{1,4096}}+)?;?"
_ATTRIBUTES = words("path expires max-age domain samesite secure httponly priority version partitioned")
_SESSION = r"(?i:sess|sid$|auth|token|jwt|csrf|xsrf|remember|secret|sso|ticket|login)"
_ENTRY = (
    rf"(?:[\s,{{]|\\{{1,4}}[nr]|\d{{1,6}}→|[+>|])*+{QUOTE}?([\w.-]{{1,253}}){QUOTE}?:[ ]*{QUOTE}?"
    rf"((?:(?![,{{}}]){BARE})+){QUOTE}?"
)
_JUDGED = 256


def placed(text: str, low: bytes) -> Iterator[Span]:
    """Everything found by its place. `low` is the text in lower case, one byte a character."""
    yield from urls(text, low)
    yield from _queries(text, low)
    yield from _authorized(text, low)
    yield from _schemes(text, low)
    yield from _cookies(text, low)
    if b"kind" in low:
        yield from _manifests(text, low)
    if b"pgpass" in low:
        yield from _pgpass(text)
    if b"jdbc:oracle" in low:
        yield from _oracle(text)


def urls(text: str, low: bytes) -> Iterator[Span]:
    """Passwords and tokens in URLs."""
    for at in places(low, b"://"):
        found = compiled(_PASSWORD).match(text, at) or compiled(_SLASHED).match(text, at)
        if found and len(found[2]) > 3 and not _default(found[1], found[2]):
            yield (*found.span(2), "password")
        elif (found := compiled(_ALONE).match(text, at)) and scattered(found[1][:_JUDGED], 16):
            yield (*found.span(1), "token")


def _default(user: str, password: str) -> bool:
    """Whether a pair is a placeholder or what a fresh local server ships with."""
    return password == user or stock(password) or (len(password) < 40 and placeholder(password, False))


def _oracle(text: str) -> Iterator[Span]:
    for found in compiled(r"jdbc:oracle:\w+:[\w.-]+/([^\s@/\"']{3,128})@").finditer(text):
        if not placeholder(found[1]):
            yield (*found.span(1), "password")


def _queries(text: str, low: bytes) -> Iterator[Span]:
    """Parameters of a URL that let their bearer in, under names too common to count elsewhere."""
    for mark in (b"?", b"&", b"%3f", b"%26") if b"%3d" in low else (b"?", b"&"):
        for at in places(low, mark):
            found = compiled(_QUERY).match(text, at + len(mark))
            if found and scattered(found[2][:_JUDGED], 12) and not _named(found[1], found[2]):
                yield (*found.span(2), "signature")
    for at in places(low, b"signature="):
        found = compiled(r"[A-Za-z0-9+/=_%-]{32,}").match(text, at + 10)
        if found and scattered(found[0][:_JUDGED], 32):
            yield (*found.span(), "signature")


def _named(name: str, value: str) -> bool:
    """Whether a parameter says which session is meant rather than letting anybody into it."""
    return name.lower().startswith(("session", "sid", "t")) and bool(compiled(_UUID).fullmatch(value))


def _authorized(text: str, low: bytes) -> Iterator[Span]:
    """`Authorization: …` and `auth=("name", "password")`."""
    for at in places(low, b"auth"):
        if not low.startswith(b"orization", at + 4):
            yield from pairs(text, at + 4)
            continue
        if b"::" in low[max(0, at - 40) : at] and compiled(r"::\w*$").search(text, max(0, at - 40), at):
            continue  # a part of a type's name
        found = compiled(_HEADER, re.I).match(text, at + 13)
        if found and scattered(found[1][:_JUDGED].rstrip(".)}]"), 6):
            yield (*found.span(1), "authorization")


def _schemes(text: str, low: bytes) -> Iterator[Span]:
    """`Bearer …` and `Basic …` wherever they stand."""
    for name, rest in ((b"bearer", _BEARER), (b"basic", _BASIC)):
        for at in places(low, name):
            found = compiled(rest).match(text, at + len(name))
            if found and scattered(found[1][:_JUDGED].rstrip("."), 12):
                yield (*found.span(1), "authorization")


def _cookies(text: str, low: bytes) -> Iterator[Span]:
    starts = [(_COOKIES, at + 6) for at in places(low, b"cookie")]
    starts += [(rf"{BLANK}{{1,4}}{QUOTE}?", at + 3) for at in places(low, b" -b")]
    done = 0
    for opening, at in starts:
        found = compiled(opening).match(text, at) if at >= done or opening != _COOKIES else None
        while found and (found := compiled(_COOKIE).match(text, found.end())):
            done = found.end()
            if found[2] and found[1].lower() not in _ATTRIBUTES:
                least = 6 if compiled(_SESSION).search(found[1]) else 12
                if scattered(found[2][:_JUDGED].rstrip("),"), least):
                    yield (*found.span(2), "cookie")
            if text[done - 1] != ";":
                break


def _manifests(text: str, low: bytes) -> Iterator[Span]:
    """The values of a cluster's secret, whatever their names."""
    done = 0
    for at in places(low, b"secret"):
        if at < done - 4000 or not compiled(rf"kind{QUOTE}?:[ ]*{QUOTE}?$").search(text, max(0, at - 24), at):
            continue
        start, done = max(done, at - 4000), at + 8000
        for head in compiled(rf"(?:stringData|data){QUOTE}?:[ ]*").finditer(text, start, done):
            entry = compiled(_ENTRY).match(text, head.end(), done)
            while entry:
                if len(entry[2]) >= 8 and entry[1] != "type" and not placeholder(entry[2]):
                    yield (*entry.span(2), "secret")
                entry = compiled(_ENTRY).match(text, entry.end(), done)


def _pgpass(text: str) -> Iterator[Span]:
    pattern = compiled(r"(?:^|(?<=[\s\"'n]))[\w.*-]+:(?:\d{2,5}|\*):[\w*-]+:[\w*-]+:([^\s\"'\\]{4,})")
    for found in pattern.finditer(text):
        if not placeholder(found[1], False):
            yield (*found.span(1), "password")
