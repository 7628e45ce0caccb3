"""Whether a commit's message says something that is to be remembered; the trailers by which it says so.

Asked at every commit before anything else is loaded, so this module needs no other.
"""

from __future__ import annotations

MAX_MESSAGE = 64 * 1024
"""Of a longer message (in characters) only the beginning is looked at."""
TRAILERS = frozenset(("decision", "decided", "rejected", "learned", "fixed", "preference", "next", "plan"))
_REASONS = (
    "because", "since", "so that", "due to", "otherwise", "in order to", "to avoid", "to prevent", "to keep",
    "instead of", "rather than", "which means", "no longer", "by design", "deliberate", "intentional", "on purpose",
    "for now", "workaround", "caused", "root cause", "must", "never", "always", "can't", "cannot", "doesn't",
    "does not", "don't", "do not", "too slow", "not worth",
)  # fmt: skip
_SCISSORS = "------------------------ >8 ------------------------"


def subject(message: str) -> str:
    """The first paragraph of a message on one line, as git shows it."""
    return " ".join(message.strip().partition("\n\n")[0].split())


def body(message: str) -> str:
    """What follows the first line of a message."""
    return message.strip().partition("\n")[2].strip("\n")


def trailer(line: str) -> tuple[str, str] | None:
    """Name and text of a line that is one of our trailers.

    A word after the colon is a number of an issue, or a state, and says nothing.
    """
    name, colon, text = line.partition(":")
    is_ours = colon and name.strip().lower() in TRAILERS and len(text.split()) > 1
    return (name.strip().lower(), text.strip()) if is_ours else None


def has_reasons(text: str) -> bool:
    """Whether a text gives a reason, or says what must or cannot be."""
    flat = f" {' '.join(text.lower().split())}"
    return any(f" {word}" in flat for word in _REASONS)


def has_trailers(message: str) -> bool:
    """Whether a line below the subject looks like one of our trailers."""
    return any(":" in line and trailer(line) for line in body(message).split("\n"))


def is_telling(message: str) -> bool:
    """Whether a message says more than what was changed."""
    return has_reasons(body(message)) or has_trailers(message)


def at_hand(git_dir: str) -> str:
    """The message of the commit that was just made, as far as no git has to be asked for it."""
    try:
        with open(f"{git_dir}/COMMIT_EDITMSG", encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_MESSAGE)
    except OSError:
        return ""
    # Where an editor was used it is still there with comments and, below a line, the changes.
    lines = text.partition(_SCISSORS)[0].split("\n")
    return "\n".join(line for line in lines if not line.startswith("#"))
