"""Text as Markdown that shows exactly that text, and back.

Other people's words stand in these files. Whatever they hold, it stays inside its paragraph,
list entry, heading or code block, a host shows it as it is, and formatters leave it alone.
What Markdown cannot carry (control characters, odd spacing) is shown in a readable form;
whoever needs the exact text compares with `read_inline` or `read_block` and keeps it elsewhere.
"""

from __future__ import annotations

import functools
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Characters that nobody sees, that reorder what is seen, or that end a line for some readers only.
# Kept: the joiners that emoji and several scripts need, and the marks of direction that reorder nothing.
UNSAFE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u180e\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_CODE = r"(?<!`)`(?!`)[^`\s](?:[^`]*[^`\s])?`(?!`)"
_URL = r"https?://[A-Za-z0-9](?:[A-Za-z0-9\-._~:/?#@!$&+,;=%]*[A-Za-z0-9\-_~/#=%])?"
_SPECIAL = r"[\\*\[<`]|_+|&(?=\#?\w+;)|(?<=[a-z]):(?=//)"
_BLOCK_START = r"[#>+=|:~-]|\d{1,9}[.)](?: |$)"
TITLE_LIMIT = 72
"""The longest title, in characters."""


def visible(text: str) -> str:
    """The text with each unsafe character written as `\\uXXXX`."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(UNSAFE, lambda match: _escape(match[0]), text)


def quoted(text: str) -> str:
    """The inside of a JSON string with the unsafe characters of `text` (JSON already) escaped as JSON does."""
    return re.sub(UNSAFE, lambda match: _json_escape(match[0]), text)


def flat(text: str) -> str:
    """The text on one line: unsafe characters made visible, each run of white space one space."""
    return " ".join(visible(text).split())


def inline(text: str, *, start: bool = False, links: bool = True) -> str:
    """The text on one line of Markdown.

    `start`: it opens a paragraph or list entry, where `#` or `1.` would mean something. Without
    `links` it can be the text of a link: it holds none and no bracket that would end it. `code` between single
    backticks stays code.
    """
    text = shown = flat(text)
    if re.search(r"[\\*\[\]<`_&~$]|//", text):
        doubled = "".join(c for c in "~$" if text.count(c) > 1)
        shown = _special(links, doubled).sub(_shown, text)
    if start:
        shown = re.sub(r"^(\d{1,9})([.)](?: |$))", r"\1\\\2", shown)
        shown = re.sub(r"^[#>+=|:~-]", r"\\\g<0>", shown)
    return shown


def heading(text: str) -> str:
    """The text for the inside of a heading, where closing `#` would be dropped."""
    return re.sub(r"(?:^| )#+$", lambda match: match[0].replace("#", "\\#"), inline(text))


def read_inline(shown: str) -> str:
    """The text that `inline` or `heading` has written."""
    if "\\" not in shown and "<" not in shown:
        return shown
    return re.sub(r"\\([!-/:-@\[-`{-~])|(`[^`]+`)|<(https?://[^<>\s]*)>", _read, shown)


def block(text: str) -> list[str]:
    """The text as lines of Markdown: paragraphs if it is plain prose, else a code block as it stands."""
    lines = text.split("\n")
    if _is_prose(text, lines):
        return [inline(line, start=True) for line in lines]
    body = "\n".join(line.rstrip() for line in visible(text).split("\n"))
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", body))])
    return [fence + "text", *body.split("\n"), fence]


def read_block(lines: list[str]) -> str:
    """The text that `block` has written."""
    if lines and re.fullmatch("`{3,}text", lines[0]):
        return "\n".join(lines[1:-1])
    return "\n".join(map(read_inline, lines))


def take_block(lines: list[str], at: int) -> int:
    """Where the block that begins at line `at` ends: past its closing fence, else before the next blank line."""
    fence = re.fullmatch("(`{3,})text", lines[at]) if lines[at].startswith("```") else None
    end = at + 1
    while end < len(lines) and (lines[end] != fence[1] if fence else lines[end] != ""):
        end += 1
    return min(end + 1, len(lines)) if fence else end


def title_of(text: str, limit: int = TITLE_LIMIT) -> str:
    """The first sentence of a text on one line, at most `limit` characters; empty if there is none."""
    for line in text.split("\n"):
        found = re.sub("^(?:[#>*+-]+ )+", "", flat(line))
        if found:
            break
    else:
        return ""
    end = re.search(r"[.!?](?=\s+[^a-z\s])|[\u3002\uff01\uff1f]", found)
    if end:
        found = found[: end.end()]
    if found.endswith(".") and not found.endswith(".."):
        found = found[:-1]
    return shorten(found, limit)


def shorten(text: str, limit: int) -> str:
    """The text cut to `limit` characters, between words where that is possible, with an ellipsis if anything went."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip(" ,;:") + "…"


def slug(text: str, fallback: str, limit: int = 40) -> str:
    """The text as a part of a file name: lower-case ASCII letters and digits in words joined by hyphens."""
    if not text.isascii():
        import unicodedata

        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.findall("[a-z0-9]+", text.lower())
    found = ""
    for word in words:
        if found and len(found) + 1 + len(word) > limit:
            break
        found += ("-" if found else "") + word[:limit]
    return found or fallback


def bullets(texts: Iterable[str]) -> list[str]:
    """A list with an entry each, already Markdown."""
    return [f"- {text}" for text in texts]


def _is_prose(text: str, lines: list[str]) -> bool:
    if re.search(UNSAFE + "|\t|  |\n\n\n", text) or not (lines[0] and lines[-1]):
        return False
    if any(line != line.strip() for line in lines):
        return False
    return len(lines) == 1 or not any(re.match(_BLOCK_START, line) for line in lines)


@functools.cache
def _special(links: bool, doubled: str) -> re.Pattern[str]:
    """What means something within a line: code and addresses, then whatever has to be escaped."""
    special = _SPECIAL + "".join("|" + re.escape(c) for c in doubled)
    return re.compile(f"(?P<code>{_CODE})|" + (f"(?P<url>{_URL})|{special}" if links else rf"\]|{special}"))


def _shown(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if groups["code"]:
        return match[0]
    if groups.get("url"):
        return f"<{match[0]}>"
    if match[0][0] == "_":
        around = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
        return match[0] if all(map(str.isalnum, around)) else "\\_" * len(match[0])
    return "\\" + match[0]


def _read(match: re.Match[str]) -> str:
    return match[1] or match[2] or match[3] or ""


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _json_escape(char: str) -> str:
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
