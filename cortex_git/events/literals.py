"""What a literal is: a secret, or a placeholder, a reference, a hash or plain words.

A random string breaks into many short pieces where its characters change kind, and its letters
stand in pairs that words do not have. That tells the two apart without a dictionary.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Span = tuple[int, int, str]
    """Where a secret starts and ends in a text, and its kind."""

MARK = r"\[REDACTED:[a-z-]{2,24}\]"
"""What stands where a secret stood."""
QUOTE = r"""(?:\\{0,7}["'`]|\\{0,7}&quot;|&\#(?:x2[27]|3[49]);|%2[27]|\\{1,4}u002[27])"""
"""A quote, plain or as it is written inside JSON strings, HTML and URLs."""
BLANK = r"(?:[ \t]|%20|\\{1,4}t)"
BARE = r"(?:[^\x00-\x20\x7f\s\"'`\\<>|]|\\(?![nrtu\"'\\`]))"
"""One character of a value that is not in quotes."""

_ESCAPED = r"(?:\\[nrtbf]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\[[\d;]*m|&\#?\w+;)$"
_PIECE = r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
_REFERENCE = r"(?s:\$\$?[A-Za-z_]\w*|\$[{(].*|%\(?\w*\)?[sdr]|%\w+%|<.*|\{.*|\[.*|[@#]\{.*|\*+|\(.*)"
_TEMPLATE = r"\$\{\{?[^}]*\}\}?|\{\{[^}]*\}\}|\{[\w.]*\}|\$\([^)]*\)|<[^<>]*>|%s"
_HASH = r"(?i:(?:sha\d{1,3}|md5|h1|blake2?b?)[-:=_])"
_NUMBER = r"(?i:[-+0-9.,:/_TZ%]+(?:px|em|rem|ms|s|m|h|d|kb|mb|gb)?)"
_COUNTED = r"(?i:[0-9]*(?:1234567|0987654|9876543)[0-9]*|abcdefg[a-z]*|qwerty[a-z]*|deadbeef|cafebabe)"
_LEFT_OUT = r"(?i:x{5,})|\.{3,}"
_NUMBERED = r"(?<![A-Za-z0-9])[0-9]+[-_.]"
_FILE = r"[\w./-]+\.(?:json|ya?ml|pem|crt|txt|toml|cfg|ini|conf|env|js|ts|tsx|py|go|rb|rs|sh|md|html|php|java)"
_PATH = r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\]|[\w.-]+/[\w.-]+/|file:"
_FOLDER = r"^[~.]|(?:^|[/\\.:])[a-z_-]{3,}(?:[/\\.]|$)"
_CODE = r"[A-Za-z_$][\w$.]*\(|=>|->|::|\?\.|\w\[|\|\||&&|\?\?"
_JOINED = r"(?:my|your|the|some|new|old|secret|user|api)?(?:passw(?:or)?[dt]|pass|secret|token|key|pwd)(?:here)?"


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


_STOCK = words("postgres root admin guest minioadmin rabbitmq user test example mysql redis app dev git")
_WORDS = words(
    """
    a access actual add admin after alphanumeric an and any anthropic api apikey app application at auth authorization
    aws azure bar base basic baz be bearer bool boolean but by bytes change changeit changeme char chars check cipher
    client config confirm confirmation cookie create cred credential credentials current custom data database db default
    demo dev develop development digest docker dummy edit email empty enter env environment error etc example existing
    expired false field file fill filter foo for forgot from gcp generate generated get gh ghp github gitlab go goes
    google guest hash header here hf hidden host id if in incorrect input insert into int invalid is it jwt key keys
    label length local localhost log login long loop machine mail main mandatory master max me min minioadmin missing
    mock mongo mongodb my mysql name needed new nil no none not null num number oauth object of old on openai opt
    option optional or org origin our owner param pass passphrase passwd password passwords pat phrase pk placeholder
    please postgres prefix private prod production proj project prompt proper provided proxy public put pwd qux quux
    rabbitmq random read real redacted redis refresh removed replace replaceme repo require required reset response
    role root safe sample save sec secret secrets secure see select self service session set setting should show sk
    slack some sql ssh staging str string stripe strong supabase svc temp temporary test testing text that the there
    this to todo token tokens true type undefined unset update url use user username users valid value var variable
    vault verify via want with word write wrong xoxb xxx xxxx yes you your yours
    """
)
# 85 % of the pairs of letters in names and in English are among these, 30 % of those drawn by chance.
_PAIRS = words(
    """
    ab ac ad ag ai al am an ap ar as at au ay ba be bi bl bo bu ca ce ch ci ck cl co cr ct cu da dd de di dl do ds
    ea eb ec ed ee ef eg ei el em en ep er es et ev ew ex fa fe ff fi fl fo fr ge gi gr gs ha he hi ho ia ib ic id
    ie if ig il im in io ip ir is it iv iz ke la ld le li ll lo ls lt lu ly ma me mi mo mp na nc nd ne nf ng ni no
    ns nt nu nv oa ob oc od og oi ol om on oo op or os ot ou ov ow pa pe pi pl po pp pr pt qu ra rc rd re ri rl rm
    rn ro rr rs rt ry sa sc se sh si sl so sp ss st su ta tc td te tf th ti tl tm to tp tr ts tt tu ty ub ue ui ul
    um un up ur us ut va ve vi wa wi xe xt yp ze
    """
)


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The expression, compiled when first used: most runs need few of them."""
    return re.compile(pattern, flags)


def places(low: bytes, needle: bytes) -> Iterator[int]:
    """Every place of a needle, from left to right."""
    at = low.find(needle)
    while at >= 0:
        yield at
        at = low.find(needle, at + len(needle))


def starts(text: str, at: int) -> bool:
    """Whether a word starts at `at`: after no letter or digit, or right after an escape (`\\n`, `%3D`, a colour)."""
    return at == 0 or not text[at - 1].isalnum() or bool(compiled(_ESCAPED).search(text, max(0, at - 12), at))


def reference(value: str) -> bool:
    """Whether a value stands for another: a variable, a template, a masked or an elided text."""
    if compiled(_REFERENCE).fullmatch(value) or any(sign in value for sign in ("...", "…", "•", "***")):
        return True
    left = compiled(_TEMPLATE).sub("", value)
    return left != value and (len(left) < 8 or wordy(left))


def stock(value: str) -> bool:
    """Whether a password is one that a fresh local server ships with."""
    return value.lower() in _STOCK


@lru_cache(4096)
def placeholder(value: str, counted: bool = True) -> bool:
    """Whether a value only shows where a secret goes. `counted`: runs such as 1234567 that fill it show that, too."""
    if not value or reference(value):
        return True
    kinds = {char for char in value.lower() if char.isalnum()}
    if len(kinds) <= 2 or (len(value) >= 16 and len(kinds) <= 4):
        return True
    if "EXAMPLE" in value or (counted and 2 * len(compiled(_COUNTED).sub("", value)) < len(value)):
        return True
    if value.isascii() and compiled(r"[^\w\s./:@<>\[\]-]").search(value):
        return False
    return all(map(_filling, compiled(_PIECE).findall(value)))


def _filling(piece: str) -> bool:
    if piece.isdigit():
        return len(piece) == 1
    word = piece.lower()
    return word in _WORDS or not word.strip("x") or bool(compiled(_JOINED).fullmatch(word))


def masked(value: str) -> bool:
    """Whether what follows a provider's prefix is filling, as in `ghp_xxxxxxxxxxxx`.

    Counting is none there: people try things out with tokens that count, and numbers of accounts
    beside the secret part may count by chance.
    """
    if value.endswith(("EXAMPLE", "EXAMPLEKEY")):
        return True
    secret = compiled(_NUMBERED).sub("", value)
    shown = compiled(_LEFT_OUT).sub("", secret)
    if len(set(secret)) < 6 or (shown != secret and len(shown) < 16):
        return True
    return placeholder(shown.replace("EXAMPLE", ""), False)


@lru_cache(4096)
def wordy(value: str) -> bool:
    """Whether a value reads as words, names or a path rather than as chance."""
    if compiled(r"(?=.*[0-9])(?=.*[A-Fa-f])[0-9A-Fa-f-]{16,}").fullmatch(value):
        return False
    pieces = compiled(_PIECE).findall(value)
    if len(pieces) >= 8 and sum(map(len, pieces)) < 2.6 * len(pieces):
        return False  # a random string with separators
    return all(map(_word, compiled(r"[A-Za-z0-9]+").findall(value)))


def _word(part: str) -> bool:
    if len(part) < 4:
        return True
    pieces = compiled(_PIECE).findall(part)
    numbers = sum(piece.isdigit() for piece in pieces)
    if numbers > 2 or (numbers == 2 and len(part) > 12) or len(pieces) > max(3 if numbers else 4, len(part) / 3.6):
        return False
    single = [at for at, piece in enumerate(pieces) if len(piece) == 1 and piece.isalpha()]
    if len(part) > 7 and (len(single) > 1 or (numbers and any(0 < at < len(pieces) - 1 for at in single))):
        return False
    low = part.lower()
    pairs = [pair for at in range(len(low) - 1) if (pair := low[at : at + 2]).isalpha()]
    known = sum(pair in _PAIRS for pair in pairs)
    return len(pairs) < 9 or known >= (0.5 if len(pairs) > 10 else 0.45) * len(pairs)


def plain(value: str) -> bool:
    """Whether a value is a number, a date, a version, an address, a path, a named hash or a link."""
    if compiled(_NUMBER).fullmatch(value) or compiled(_HASH).match(value) or "://" in value[:40]:
        return True
    if compiled(_FILE).fullmatch(value):
        return wordy(value)
    return bool(compiled(_PATH).match(value) and compiled(_FOLDER).search(value)) and wordy(value)


def code(value: str) -> bool:
    """Whether an unquoted value is an expression of a program."""
    return bool(compiled(_CODE).search(value)) or value.endswith(("[", "(", "{"))


def scattered(value: str, length: int) -> bool:
    """Whether a value of at least `length` characters looks drawn by chance."""
    return len(value) >= length and not placeholder(value) and not plain(value) and not wordy(value)
