"""What an edit adds to a document in which a team keeps its rules or decisions."""

from __future__ import annotations

from cortex_git.capture.units import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RULES = "rules"
DECISIONS = "decisions"
RECORD = "record"
"""A file that is one decision."""
_RULE_FILES = frozenset(("claude.md", "claude.local.md", "agents.md", "gemini.md", ".cursorrules"))
_RULE_FOLDERS = ("/.claude/rules/", "/.cursor/rules/")
_DECISION_FILES = frozenset(("decisions.md", "decision-log.md", "decision_log.md"))
_RECORD_FOLDERS = frozenset(("adr", "adrs", "decisions", "decision-records", "architecture-decisions"))
_OWN = ("/.cortex/", "/.claude/rules/cortex-")
_MAX_LINES = 400
_MAX_LINE = 1000


def kind(path: str) -> str:
    """What is kept in a file: RULES, DECISIONS, a RECORD, or nothing that is looked at (empty)."""
    place = "/" + path.replace("\\", "/").lower()
    folder, _, name = place.rpartition("/")
    if not name.endswith((".md", ".mdc", ".cursorrules")) or any(own in place for own in _OWN):
        return ""
    if name in _RULE_FILES or any(rules in place for rules in _RULE_FOLDERS):
        return RULES
    if name in _DECISION_FILES:
        return DECISIONS
    is_record = folder.rpartition("/")[2] in _RECORD_FOLDERS and name not in ("readme.md", "index.md", "template.md")
    return RECORD if is_record else ""


def added(input: Mapping[str, object], response: object) -> tuple[list[str], bool]:
    """The lines that a call added to a file, and whether it made the file."""
    values = response if isinstance(response, dict) else {}
    is_new = values.get("type") == "create" and not values.get("originalFile")
    patch = values.get("structuredPatch")
    if not is_new and isinstance(patch, list) and patch:
        lines = list(_patched(patch))
        before = {line[1:].strip() for line in lines if line.startswith("-")}
        after = [line[1:] for line in lines if line.startswith("+")]
    else:
        before = {line.strip() for text in _texts(input, "old_string") for line in text.split("\n")}
        after = [line for text in _texts(input, "new_string", "content") for line in text.split("\n")]
    # A line that an edit only moves or leaves as it is was said before.
    return [line[:_MAX_LINE] for line in after if not line.strip() or line.strip() not in before][:_MAX_LINES], is_new


def _patched(patch: list[object]) -> Iterator[str]:
    for hunk in patch:
        lines = hunk.get("lines") if isinstance(hunk, dict) else None
        yield from (clean(line) for line in (lines if isinstance(lines, list) else []))


def _texts(input: Mapping[str, object], *names: str) -> Iterator[str]:
    edits = input.get("edits")
    for values in [input, *(edits if isinstance(edits, list) else [])]:
        if isinstance(values, dict):
            yield from (clean(values[name]) for name in names if isinstance(values.get(name), str))
