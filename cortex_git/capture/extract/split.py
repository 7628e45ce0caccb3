"""A statement taken apart: what was chosen, why, and what it was chosen over."""

from __future__ import annotations

from cortex_git.capture.patterns import IGNORECASE, lazy
from cortex_git.events import model

_REASONS = (
    lazy(
        r"[,;]?\s+(?:—|–|-|\()?\s*(?:because(?: of)?|due to|as otherwise|"
        r"since (?=(?:it|we|the|this|that|there|they|you|i)\b))\s*",
        IGNORECASE,
    ),
    lazy(r"[.;,]?\s+(?:reason|rationale|why)\s*:\s+", IGNORECASE),
    lazy(r"[,;]?\s+so that\s+", IGNORECASE),
)
_CAUSES = ("because", "due to", "as otherwise", "since", "reason", "rationale", "why", "so that")
_OVER = lazy(r",?\s+\(?(?:instead of|rather than)\s+|,\s+over\s+", IGNORECASE)
_CHOSEN_OVER = lazy(
    r"\b(?:chose|chosen|choose|picked|pick|prefer|preferred|prefers|selected|select|favou?r|favou?red|opted for)\b"
    r"[^.;]+?(?P<over>\s+over\s+)|"
    r"\b(?:use|using|go with|went with)\b[^.;]+?(?P<used>\s+over\s+)"
    # What data travels over, or a loop goes over, was not an alternative.
    r"(?!(?:https?|tcp|udp|ssh|tls|ip|stdio|grpc|web ?sockets?|usb|the|an?|time|all|each|every|it|them|its|their)\b)",
    IGNORECASE,
)
_END = lazy(
    r"[,;.]?\s+(?:because|since|due to|so that|so|but|and then|when|which|for|to|as)\b|;|\s[—–-]\s|[.]\s|[)]",
    IGNORECASE,
)
_OR = lazy(r",\s+(?:or\s+)?|\s+or\s+")
_MAX_ALTERNATIVE = 120
_MIN_STATEMENT = 4


def split(text: str, type: str) -> tuple[str, str, list[str]]:
    """The statement, its reason, and what it was chosen over.

    What cannot be taken out cleanly stays in the statement.
    """
    text = " ".join(text.split())
    if type not in (model.DECISION, model.REJECTED):
        return text, "", []
    statement, reason = _reason(text)
    if type == model.REJECTED:
        return statement, reason, []
    statement, alternatives = _alternatives(statement)
    return statement, reason, alternatives


def _reason(text: str) -> tuple[str, str]:
    lowered = text.lower()
    if not any(word in lowered for word in _CAUSES):
        return text, ""
    for pattern in _REASONS:
        found = pattern.search(text)
        if found and found.start() >= _MIN_STATEMENT:
            statement, reason = text[: found.start()].rstrip(" ,;(—–-"), text[found.end() :].strip().rstrip(".)")
            if _whole(statement) and _whole(reason) and len(reason) > 3:
                return statement, reason
    return text, ""


def _alternatives(text: str) -> tuple[str, list[str]]:
    found = _OVER.search(text)
    begin, start = found.span() if found else (0, 0)
    if found is None and " over " in text and (chosen := _CHOSEN_OVER.search(text)):
        begin, start = chosen.span(chosen.lastgroup or 0)
    if begin < 3:
        return text, []
    end = _END.search(text, start)
    stop = end.start() if end else len(text)
    other = text[start:stop].strip(" .,")
    statement = (text[:begin] + text[stop:].lstrip(")")).strip(" ,")
    if not other or len(other) > _MAX_ALTERNATIVE or not _whole(other) or not _whole(statement):
        return text, []
    return statement, [part.strip() for part in _OR.split(other) if part.strip()]


def _whole(text: str) -> bool:
    """Whether a piece can stand by itself: nothing in it is opened and not closed."""
    even = all(text.count(mark) % 2 == 0 for mark in ("`", '"', "**"))
    return even and text.count("(") == text.count(")")
