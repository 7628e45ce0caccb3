"""Values given to secret-named keys: in shell, environment files, JSON, YAML, XML, INI, code, flags and prose.

A name is found by its stem, then one expression reads on from there: the rest of the name, what
joins it to a value, an opening quote. Text inside JSON strings or URLs is read with its escapes.
"""

from __future__ import annotations

import re
from functools import lru_cache

from cortex_git.events.literals import (
    BLANK,
    MARK,
    QUOTE,
    code,
    compiled,
    placeholder,
    plain,
    scattered,
    starts,
    words,
    wordy,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cortex_git.events.literals import Span

_PASSWORD, _SECRET, _TOKEN, _KEY, _WORDS, _AUTH = "password", "secret", "token", "key", "phrase", "auth"
_STEMS = (
    (b"pass", (b"_phrase", b"-phrase", b"phrase", b"words", b"word", b"_word", b"code", b"wort", b"wd"), _PASSWORD),
    (b"pw", (b"d",), _PASSWORD),
    (b"pswd", (), _PASSWORD),
    (b"kennwort", (), _PASSWORD),
    (b"secret", (b"s",), _SECRET),
    (b"cred", (b"entials", b"ential", b"s"), _SECRET),
    (b"psk", (), _SECRET),
    (b"token", (), _TOKEN),
    (b"key", (), _KEY),
    (b"mnemonic", (b"_phrase", b" phrase"), _WORDS),
    (b"seed", (b"_phrase", b" phrase", b"phrase", b"_words", b" words"), _WORDS),
    (b"recovery", (b"_phrase", b" phrase", b"phrase", b"_key", b"_code"), _WORDS),
    (b"auth", (), _AUTH),
)
_QUALIFIED = (
    r"(?:api|access|secret|private|priv|auth|encrypt|encryption|crypt|crypto|cipher|sign|signing|signature|master"
    r"|account|shared|preshared|pre-shared|app|application|service|role|storage|admin|client|deploy|license|licence"
    r"|server|subscription|webhook|root|jwt|jwe|hmac|aes|des|rsa|ssh|session|rest|write|read|integration|bot|user"
    r"|ingest|ingestion|project|team|org|management|mgmt|live|rails|django|flask|laravel|cookie|personal|provider"
    r"|token|hub|functions?|host|primary_access|secondary_access|wallet|validator|node|events?|relay|agent|insert"
    r"|anthropic|openai|azure|aws|gcp|google|gemini|maps|mistral|cohere|deepseek|groq|xai|stripe|twilio|sendgrid"
    r"|mailgun|datadog|dd|sentry|newrelic|algolia|pinecone|tavily|serp|serper|exa|resend|postmark|airtable)[_\-. ]?$"
)
_OTHER_KEYS = (
    r"(?:public|publishable|pub|anon|site|primary|foreign|sort|partition|cache|idempotency|dedup|group|routing|hash"
    r"|index|object|s3|lock|store|registry|row|map|sync|page|message|event|task|job|trace|span)_$"
)
_NOT_BEFORE = (
    r"(?<![a-z])(?:(?:existing|public|public_?key|pub|publishable|without|image_?pull|pull|max|min|num|total|input"
    r"|output|prompt|completion|next|prev|previous|page|continuation|cursor|sync|cancel|cancellation)[_\-. ]?"
    r"|by|com|tres|sur|over|en)$"
)
_NOT_AFTER = words(
    """
    name names id ids url urls uri endpoint path paths dir file files filename type types kind length len count counts
    counter limit limits budget usage used remaining expiry expires expiration expired expire ttl lifetime age size
    field fields label hint pattern regex re policy rules rule min max header headers prefix version arn ref refs
    reference store manager provider service services algorithm alg rotation rotate interval sha sha1 sha256 sha512 md5
    digest checksum fingerprint hint format placeholder error errors message msg status state required enabled disabled
    at time timestamp date created updated class list map set index indices source scope scopes issuer audience
    validator validation strength visible visibility input button form page screen box view modal reset change changed
    title description text_field template handler helper helpers utils util factory builder parser generator middleware
    callback fn func function event events listener types model schema table column group groups role rate price cost
    per s generate create delete delete_all get find verify validate check update revoke refresh_interval mount volume
    position code_challenge_method kid
    """
)
_NEUTRAL = words(
    """
    value val str string text plain raw base base64 b64 prod production dev development staging stage test testing live
    old new primary secondary backup current default env key keys secret token password data json hash hashed salt
    confirmation confirm again repeat access auth api master main local remote root admin user app bot read write 1 2 3
    """
)
_TYPES = words(
    """
    str string bytes bytearray int integer float number boolean bool any unknown object secretstr text varchar optional
    required hidden true false none null nil undefined password secret token credentials void never this self
    """
)
_WITH_PASS = ("store", "key", "user", "db", "root", "admin", "smtp", "mail", "ftp", "sudo")
_LONGEST = 4096
_JUDGED = 128  # how much of a value is looked at to tell what it is

_LINE = r"(?:\s|\\{1,4}[nrt]|%20|%0A|\d{1,6}→|[+>|](?=\s))"
_TAIL = rf"""(?P<suffix>[\w.\-]{{0,48}}+)
    (?P<close>(?:{QUOTE}|\]|\)){{0,3}}+)
    (?:(?P<typed>:{BLANK}{{0,4}}[\w&'<>\[\]., |*?]{{1,48}}?{BLANK}{{1,4}}={BLANK}{{0,4}}(?={QUOTE}))
    |(?P<pair>{_LINE}{{0,40}}+[,>]?{_LINE}{{0,40}}+{QUOTE}?value{QUOTE}?{BLANK}{{0,4}}[:=]{BLANK}{{0,4}}
        |{BLANK}{{1,4}}(?:--body|--value|-b)(?:=|{BLANK}))
    |(?P<op>\*{{0,2}}{BLANK}{{0,8}}(?::=|=>|[=!]={{0,2}}(?!=)|\?=|:|%3[AD])\*{{0,2}}{BLANK}{{0,8}})
    |(?P<call>\[?\]?{BLANK}{{0,4}}[(,]{BLANK}{{0,4}}(?={QUOTE}))
    |(?P<tag>>|&gt;)
    |(?P<prose>{BLANK}{{1,4}}(?:(?:[a-z]+{BLANK}){{0,4}}(?:is|was|be|to|are)(?::|{BLANK}){BLANK}{{0,2}}
        |(?:[a-z]+{BLANK}){{0,3}}[a-z]+:{BLANK}{{1,2}}))
    |(?P<space>{BLANK}{{1,8}}))
    (?:[bBrRuUfF@$]{{1,2}}(?=["']))?
    (?P<open>{QUOTE}?)"""
"""What may stand between the stem of a name and its value."""
_BARE = r"(?:[^\x00-\x20\x7f\s\"'`\\<>]|\\(?![nrtu\"'\\`])|[<>](?=[^\s<>/]))+"
_END = r"[,;&](?=[\w.\-]{1,40}[=:])|&amp;|&quot;|&[lg]t;|&\#|%2[26]|%0A|%20|\\u00"
_SCHEME = r"(?i:(?:bearer|basic|token|apikey|key) +)"
_PHRASE = r"[a-z]{3,8}(?:(?:\s|%20|\+|,)[a-z]{3,8}){11,23}(?![a-z])"
_FLAGGED = r"(?<![\w-])--?[A-Za-z-]{0,24}$"
_NETRC = r"login\s+\S{1,80}\s+$"
_DECLARED = r"(?i:(?:^|[\s\"'`])(?:env|arg|setx?|export)\s+[\w.]{0,40}$)"
_DOTTED = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"
_SYMBOL = r"[!@#$%^&*+~?]"
_CASES = r"[a-z].*[A-Z]{3}"
_NUMBERED = r"[A-Za-z][0-9]{2}|[A-Za-z][0-9][A-Za-z]+[0-9]"
_TELLING = (
    r"(?i:(?<![a-z])(?:pass(?:word|wd)?|pwd|secret|token|field|input|error|base|sha|utf|md|argon|bcrypt|oauth|ipv|http)"
    r"(?![a-z]))"
)


def assigned(text: str, low: bytes) -> Iterator[Span]:
    """The values of secret-named keys. `low` is the text in lower case, one byte a character."""
    for stem, endings, kind in _STEMS:
        done = 0
        at = low.find(stem)
        while at >= 0:
            end = at + len(stem)
            end += next((len(ending) for ending in endings if low.startswith(ending, end)), 0)
            if at >= done and (span := _value(text, low, at, end, kind)):
                yield span
                done = span[1]
            at = low.find(stem, end)


def _value(text: str, low: bytes, at: int, end: int, kind: str) -> Span | None:
    """The secret that the name with its stem at `at` to `end` is given, if it is one."""
    named = _named(text, low, at, end, kind)
    tail = compiled(_TAIL, re.X).match(text, end) if named is not None else None
    if named is None or tail is None or (text[at - 1 : at] == ":" == tail["op"]):
        return None
    ended = _ended(tail["suffix"], text[end - 1], kind)
    if ended is None:
        return None
    start, quote = tail.end(), tail["open"]
    stop = _closed(text, start, quote) if quote else 0
    if not stop:
        quote, stop = "", _bare(text, start, start + _JUDGED)
    if scheme := compiled(_SCHEME).match(text, start, stop):
        start = scheme.end()
    value = text[start : min(stop, start + _JUDGED)]
    if not value or compiled(MARK).match(value):
        return None
    if kind == _WORDS:
        phrase = compiled(_PHRASE).match(text, start)
        return (start, phrase.end(), kind) if phrase else None
    style = _style(text, at, tail, quote)
    if named and ended:
        accepted = _accepted(value, kind, style, _stem(text, at, end))
    else:
        accepted = style != "said" and " " not in value and not _expression(value, style) and scattered(value, 16)
    if not accepted:
        return None
    return start, stop if quote else _bare(text, start, len(text)), "credentials" if kind == _AUTH else kind


def _named(text: str, low: bytes, at: int, end: int, kind: str) -> bool | None:
    """Whether the beginning of a name lets it be one of a secret: yes, perhaps (False), or no (None)."""
    before = low[max(0, at - 24) : at].decode("latin-1")
    if "::" in before and compiled(r"::\w*$").search(before):
        return None  # a part of a type's name
    if kind == _KEY:
        if compiled(_QUALIFIED).search(before):
            return True
        return False if text[at].isupper() and before[-1:] == "_" and not compiled(_OTHER_KEYS).search(before) else None
    if kind in (_AUTH, _WORDS):
        return True if before[-1:] not in ("-", "/") and starts(text, at) else None
    if end - at < 5 and text[at].islower() and not before.endswith(_WITH_PASS) and not starts(text, at):
        return None
    return None if compiled(_NOT_BEFORE).search(before) else True


def _ended(suffix: str, last: str, kind: str) -> bool | None:
    """The same of the end of a name, after its stem."""
    rest = suffix.rstrip("_.-")
    if not rest:
        return True
    if (rest[0].islower() and last.islower()) or kind in (_AUTH, _WORDS):
        return None
    parts = [part.lower() for part in compiled(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+").findall(rest)]
    if any(part in _NOT_AFTER for part in parts):
        return None
    return all(part in _NEUTRAL for part in parts)


def _stem(text: str, at: int, end: int) -> str:
    """The stem of a name, with the character before it where the name has more: `_PASSWORD`, `pass`."""
    joined = at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_-.")
    return text[at - joined : end]


def _closed(text: str, start: int, quote: str) -> int:
    """Where the quote that closes stands, on the same line; 0 if there is none."""
    at = start
    while (at := text.find(quote, at, start + _LONGEST)) >= 0:
        if quote[0] == "\\" or text[at - 1] != "\\" or text[at - 2 : at] == "\\\\":
            break
        at += len(quote)
    return 0 if at < 0 or text.find("\n", start, at) >= 0 else at


def _bare(text: str, start: int, limit: int) -> int:
    """Where an unquoted value ends: at a blank, a quote, an escaped line end or the next pair."""
    found = compiled(_BARE).match(text, start, limit)
    if found is None:
        return start
    end = compiled(_END).search(text, start + 1, found.end())
    stop = end.start() if end else found.end()
    while stop > start and text[stop - 1] in ",;:)]}>.|":
        stop -= 1
    return stop


def _style(text: str, at: int, tail: re.Match[str], quote: str) -> str:
    """How a value is given.

    `literal` (in quotes), `tight` (`KEY=value`), `loose` (`key: value`), `flag` (`--key=value`),
    `option` (`--key value`) or `said` (in prose); empty for a tag that is none.
    """
    if tail["op"] or tail["typed"] or tail["pair"]:
        if quote:
            return "literal"
        if tail["op"] not in ("=", "%3D"):
            return "loose"
        return "flag" if compiled(_FLAGGED).search(text, max(0, at - 40), at) else "tight"
    if tail["tag"]:
        return "literal" if compiled(r"</|&lt;/").search(text, tail.end(), tail.end() + 300) else ""
    if not tail["space"]:
        return "said"
    name = text[at : tail.start("close")]
    if quote and len(name) > 4 and name.isupper():
        return "literal"
    if tail["close"]:
        return "said"
    if compiled(_NETRC).search(text, max(0, at - 120), at):
        return "flag"
    declared = name.isupper() and compiled(_DECLARED).search(text, max(0, at - 50), at)
    return "option" if declared or compiled(_FLAGGED).search(text, max(0, at - 40), at) else "said"


@lru_cache(1024)
def _accepted(value: str, kind: str, style: str, name: str) -> bool:
    """Whether the value of a name that is surely one of a secret is a secret."""
    if kind == _PASSWORD and "phrase" in name.lower() and style in ("literal", "loose") and len(value.split()) >= 4:
        return not placeholder(value)
    if name == "Pass":
        return False  # a verdict of a test
    if style in ("said", "loose") and (name.lower() == "pass" or (kind != _PASSWORD and _short_word(value))):
        return False
    if not style or " " in value or (style == "option" and value.startswith("-")):
        return False
    if value.lower() in _TYPES or placeholder(value, kind != _PASSWORD):
        return False
    if kind == _PASSWORD and value.isdigit() and style not in ("said", "loose"):
        return len(value) >= 6
    return not plain(value) and not _expression(value, style) and _RULES[kind](value, style, name)


def _short_word(value: str) -> bool:
    return len(value) < 20 and bool(compiled(r"[A-Za-z]?[a-z]+(?:[A-Z][a-z]+){0,3}").fullmatch(value))


def _expression(value: str, style: str) -> bool:
    """Whether an unquoted value is a part of a program: a call, an operator, an attribute."""
    if style not in ("loose", "tight", "said"):
        return False
    return value[0] in "*&" or code(value) or (style == "loose" and _attribute(value))


def _attribute(value: str) -> bool:
    return bool(compiled(_DOTTED).fullmatch(value)) and wordy(value.partition(".")[0])


def _password(value: str, style: str, name: str) -> bool:
    if len(value) < 6:
        return False
    if not wordy(value):
        return True
    if _telling(value):
        return False
    if style != "said" and compiled(_CASES).search(value):
        return True
    if style in ("literal", "flag"):
        return _mixed(value) or (value.isalpha() and value.islower())
    if style == "tight" and name.isupper():
        return _mixed(value) or not value.isupper()
    return _mixed(value) and not compiled(r"[.(\[]").search(value)


def _secret(value: str, style: str, name: str) -> bool:
    if len(value) < 8:
        return False
    if not wordy(value):
        return style != "said" or len(value) >= 12
    if _telling(value):
        return False
    if style == "tight" and name.isupper():
        return not value.isupper()
    if style in ("literal", "flag", "option"):
        return _mixed(value) or bool(compiled(_CASES).search(value))
    return _odd(value)


def _token(value: str, style: str, name: str) -> bool:
    if scattered(value, 16 if style == "said" else 8):
        return True
    given = style in ("literal", "flag") or (style == "tight" and name.isupper())
    if not given or len(value) < 8 or _telling(value):
        return False
    return bool(compiled(_NUMBERED).search(value)) or _odd(value)


def _credentials(value: str, style: str, name: str) -> bool:
    return scattered(value, 12)


def _mixed(value: str) -> bool:
    """Whether a value is more than letters and separators."""
    digits = compiled(r"[0-9]").search(value)
    return bool(digits and compiled(r"[A-Za-z]").search(value)) or bool(compiled(_SYMBOL).search(value))


def _odd(value: str) -> bool:
    """Whether a value has digits and signs that names have not."""
    return bool(compiled(r"[0-9]").search(value) and compiled(_SYMBOL).search(value))


def _telling(value: str) -> bool:
    """Whether a value names a secret rather than being one: `password1`, `invalid-token`."""
    return not compiled(_SYMBOL).search(value) and bool(compiled(_TELLING).search(value))


_RULES: dict[str, Callable[[str, str, str], bool]] = {
    _PASSWORD: _password,
    _SECRET: _secret,
    _TOKEN: _token,
    _KEY: _token,
    _AUTH: _credentials,
}
