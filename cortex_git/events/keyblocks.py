"""Private keys: PEM, OpenSSH and PGP blocks, cut ones too, in files, listings, diffs and JSON strings."""

from __future__ import annotations

from cortex_git.events.literals import compiled, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_git.events.literals import Span

_HEAD = r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_FOOT = r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?: ?-{1,5})?"
_GAP = (
    r"(?:[^A-Za-z0-9+/=]|\\+[nrt]|(?<=[\s\\n])\d{1,6}(?=[→:|\t ])"
    r"|(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]*){0,60}+"
)
_LINE = r"\s*+(?:\d{1,6}[→:|\t]|[+>#*|-])?\s*+[A-Za-z0-9+/=]{1,100}\s*(?:\\r)?[\\\"',]*\s*"
_LONGEST = 64 * 1024


def key_blocks(text: str, low: bytes) -> Iterator[Span]:
    """Every private key. `low` is the text in lower case, one byte a character."""
    if b"private key" in low:
        yield from _blocks(text, low)
    if b"ls0tls1crudjti" in low:
        yield from _encoded(text)
    if b"private-lines" in low:
        yield from _putty(text)


def _blocks(text: str, low: bytes) -> Iterator[Span]:
    done = 0
    for at in places(low, b"begin "):
        begin = compiled(_HEAD).search(text, max(0, at - 6), at + 80) if at >= done else None
        if begin is None:
            continue
        following = low.find(b"begin ", begin.end())
        limit = min(len(text), begin.end() + _LONGEST, following if following > 0 else len(text))
        end = compiled(_FOOT).search(text, begin.end(), limit)
        whole = end is not None and _full(text, begin.end(), end.start())
        done = end.end() if end and whole else _body(text, begin.end(), limit)
        if done > begin.end():
            yield begin.start(), done, "private-key"
    for at in places(low, b"private key"):
        start = text.rfind("-----END", max(0, at - 48), at)
        end = compiled(_FOOT).match(text, start) if start >= done else None
        if end:
            first = _before(text, start, done)
            done = end.end()
            if first < start:
                yield first, done, "private-key"


def _full(text: str, start: int, end: int) -> bool:
    """Whether most of a block is a key, not prose between two mentions of its lines."""
    held = sum(map(len, compiled(r"[A-Za-z0-9+/=]{16,}").findall(text, start, end)))
    return held > 0.5 * (end - start)


def _body(text: str, at: int, limit: int) -> int:
    """Where the lines of a key end whose closing line is missing."""
    found = compiled(_GAP + r"[A-Za-z0-9+/=]{32,}").match(text, at, limit)
    while found:
        at = found.end()
        found = compiled(_GAP + r"[A-Za-z0-9+/=]{12,}").match(text, at, limit)
    return at


def _before(text: str, end: int, floor: int) -> int:
    """Where the lines of a key begin whose opening line is missing."""
    first = end
    separator = "\n" if "\n" in text[max(0, end - 120) : end] else "\\n"
    at = text.rfind(separator, max(floor, end - 40), end)
    while at > floor:
        start = max(floor, text.rfind(separator, floor, at) + len(separator))
        if not 12 <= at - start <= 160 or not compiled(_LINE).fullmatch(text, start, at):
            break
        first, at = start, start - len(separator)
    return first


def _encoded(text: str) -> Iterator[Span]:
    """A block once more in base64, as cluster settings hold it: `PRIVATE` at each of its three offsets."""
    for found in compiled(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}={0,2}").finditer(text):
        if any(mark in found[0][:90] for mark in ("UFJJVkFURS", "BSSVZBVEUg", "QUklWQVRFI")):
            yield (*found.span(), "private-key")


def _putty(text: str) -> Iterator[Span]:
    for found in compiled(r"Private-Lines: \d+").finditer(text):
        end = _body(text, found.end(), min(len(text), found.end() + _LONGEST))
        if end > found.end():
            yield found.end(), end, "private-key"
