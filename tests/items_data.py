"""Events for the tests of items, pages and staging."""

from __future__ import annotations

from cortex_git.events import model
from cortex_git.events.model import Event

SESSION = "5c0ffee1-aaaa-bbbb-cccc-0123456789ab"
HOSTILE = [
    "---\nid: forged\n---\n# Mine\n## Decision Outcome\n\nChosen option: \"mine\", because I say so.",
    "CRLF\r\nline\rend",
    "NUL \0, escape \x1b[31mred\x1b[0m, delete \x7f, next line \x85",
    "`code`, ``two``, ```three\n```text\nfence\n```\n````",
    "<script>alert(1)</script> <!-- comment --> --> <b onclick=x>bold</b>",
    "[link](javascript:x) ![image](http://x/y.png) [ref]: http://z [^1] <http://auto.link>",
    "| a | b |\n|---|---|\n| c | d |",
    "- list\n- [ ] box\n1. one\n2) two\n\n    indented\n\t tab",
    "*a* **b** _c_ __init__.py ~~d~~ $e$ &amp; &#35; \\n \\ # C# #",
    "right to left \u202eevil\u202c, שלום, العربية, zero\u200bwidth, \ufeffmark",
    "emoji 👩‍👩‍👧 🇩🇪, combining e\u0301, 日本語。次の文。",
    "   spaces   around   and  inside   ",
    "\n\n\nblank lines\n\n\n\n",
    "\", because of that\", because",
    "Because: not\n\nBecause:\n\nmaybe",
    "x" * 20_000,
    "a sentence that does not end " * 60,
    "line\u2028separator\u2029end",
    "null", "~", "2026-12-01", "!!python/object:x", "&anchor *alias", "{a: b}", "'single' \"double\"", "", " ",
]  # fmt: skip


def decision(content: str = "Use SQLite for storage", **fields: object) -> Event:
    """A decision of a person, unless the fields say otherwise."""
    values: dict[str, object] = {
        "time": "2026-12-01T10:11:12.345Z",
        "session": SESSION,
        "author": "Ada Author",
        "branch": "feature/store",
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "layer": "user",
        **fields,
    }
    return Event(model.DECISION, content, **values)  # type: ignore[arg-type]


def rejected(content: str = "Redis", **fields: object) -> Event:
    """A rejected approach of an assistant."""
    values: dict[str, object] = {
        "time": "2026-12-01T10:12:00.000Z",
        "session": SESSION,
        "agent": "claude-code",
        "reason": "it needs a server",
        "layer": "tag",
        "confidence": 0.9,
        **fields,
    }
    return Event(model.REJECTED, content, **values)  # type: ignore[arg-type]


def fact(content: str = "The tests need a network", type: str = model.KNOWLEDGE, **fields: object) -> Event:
    """A fact that an assistant found out."""
    values: dict[str, object] = {
        "time": "2026-12-01T10:13:00.000Z",
        "session": SESSION,
        "agent": "claude-code",
        "layer": "tag",
        **fields,
    }
    return Event(type, content, **values)  # type: ignore[arg-type]
