"""Pages: what a reader on the host looks at first, rendered from the item files and from nothing else.

No clock, no branch, no notes: the same files give the same bytes everywhere. The footer holds
a digest of the items (and of the settings that shape a page) and one of the page itself, so
that a page that lags behind and one that was edited can be told apart from the tree alone.
"""

from __future__ import annotations

import re

from cortex_git.digest import sha256_hex
from cortex_git.projections import sections
from cortex_git.projections.document import FOLDER, LINT_OFF, is_item
from cortex_git.projections.reading import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cortex_git.config import Config
    from cortex_git.projections.document import Item

VERSION = 1
"""The version of the layout of pages: one made by another version lags, it is not broken."""
NAMES = ("decisions.md", "decisions-archive.md", "active-plan.md", "briefing.md")
_FOOTER = r"<!-- git-cortex page (\d+), (accepted|proposed), items ([0-9a-f]{16}), sum ([0-9a-f]{16}) -->\n"


class Footer:
    """What the end of a page says. `accepted`: whether what is proposed counts as accepted there."""

    __slots__ = ("accepted", "edited", "items", "version")

    def __init__(self, version: int, accepted: bool, items: str, edited: bool) -> None:
        self.version = version
        self.accepted = accepted
        self.items = items
        self.edited = edited
        """Whether the page was changed after it was rendered."""


def pages(
    items: Mapping[str, bytes], config: Config, *, accepted: bool = True, parsed: Iterable[Item] | None = None
) -> dict[str, bytes]:
    """Path to content of all pages, from the item files of one tree; other files are passed over.

    `accepted`: on the default branch whatever stands there counts as accepted. `parsed`: the same
    files, where they have been read already.
    """
    digest = digest_of(items, config)
    found = parsed if parsed is not None else [parse(path, data) for path, data in items.items() if is_item(path)]
    view = sections.View(found, accepted)
    bodies = {
        "decisions.md": sections.decisions(view),
        "decisions-archive.md": sections.archive(view),
        "active-plan.md": sections.plans(view),
        "briefing.md": sections.briefing(view, config.briefing_tokens),
    }
    state = "accepted" if accepted else "proposed"
    return {FOLDER + name: _page(body, state, digest) for name, body in bodies.items()}


def digest_of(items: Mapping[str, bytes], config: Config) -> str:
    """The digest of a set of item files and of the settings that pages depend on."""
    lines = [f"{path} {sha256_hex(data)}" for path, data in sorted(items.items()) if is_item(path)]
    return sha256_hex("\n".join([f"tokens {config.briefing_tokens}", *lines]).encode())[:16]


def footer_of(page: bytes) -> Footer | None:
    """What the footer of a page says; None if there is none."""
    text = page.decode("utf-8", "replace")
    start = text.rfind("<!-- git-cortex page ")
    match = re.fullmatch(_FOOTER, text[start:]) if start >= 0 else None
    if match is None:
        return None
    edited = _sum(text[:start], match[1], match[2], match[3]) != match[4] or text.encode() != page
    return Footer(int(match[1]), match[2] == "accepted", match[3], edited)


def is_page(path: str) -> bool:
    """Whether a path is that of a page."""
    return path in {FOLDER + name for name in NAMES}


def _page(body: list[str], state: str, digest: str) -> bytes:
    text = "\n".join(["---", "type: page", "---", "", LINT_OFF, "", *_single_blanks(body), "", ""])
    digits = _sum(text, str(VERSION), state, digest)
    return f"{text}<!-- git-cortex page {VERSION}, {state}, items {digest}, sum {digits} -->\n".encode()


def _sum(text: str, version: str, state: str, digest: str) -> str:
    return sha256_hex(f"{version} {state} {digest}\n{text}".encode())[:16]


def _single_blanks(lines: list[str]) -> Iterator[str]:
    previous = ""
    for line in lines:
        if line or previous:
            yield line
        previous = line
