"""Whether a commit's message says something that is to be remembered; the trailers by which it says so.

Asked at every commit before anything else is loaded, so this module needs hardly any other.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

MAX_MESSAGE = 64 * 1024
"""Of a longer message (in characters) only the beginning is looked at."""
TRAILERS = ("decision", "decided", "rejected", "learned", "fixed", "preference", "next", "plan")
_REASONS = (
    "because|since|so that|due to|as otherwise|otherwise|in order to|to avoid|to prevent|to keep|instead of|"
    "rather than|which means|no longer|by design|deliberate(?:ly)?|intentional(?:ly)?|on purpose|for now|workaround|"
    "caused|root cause|must(?: not)?|never|always|can't|cannot|doesn't|does not|don't|do not|too slow|not worth"
)
_TRAILER = rf"^(?:{'|'.join(TRAILERS)})[ \t]*:[ \t]*\S+[ \t]+\S"
_patterns: dict[str, Pattern[str]] = {}


def has_trailers(message: str) -> bool:
    """Whether a line of a message looks like one of our trailers."""
    # Most messages have no colon below their subject, and a pattern costs more than a look for one.
    return ":" in message.partition("\n")[2] and _finds(_TRAILER, message)


def has_reasons(text: str) -> bool:
    """Whether a text gives a reason, or says what must or cannot be."""
    return _finds(rf"\b(?:{_REASONS})\b", text)


def is_telling(message: str) -> bool:
    """Whether a message says more than what was changed."""
    body = message.strip().partition("\n")[2]
    return bool(body.strip()) and (has_trailers(message) or has_reasons(body))


def at_hand(git_dir: str) -> str:
    """The message of a commit that was just made, as git has left it: with comments, if an editor was used."""
    try:
        with open(f"{git_dir}/COMMIT_EDITMSG", encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_MESSAGE)
    except OSError:
        return ""
    text = text.partition("# ------------------------ >8 ------------------------")[0]
    return "\n".join(line for line in text.split("\n") if not line.startswith("#"))


def _finds(source: str, text: str) -> bool:
    if source not in _patterns:
        _patterns[source] = re.compile(source, re.IGNORECASE | re.MULTILINE)
    return _patterns[source].search(text) is not None
