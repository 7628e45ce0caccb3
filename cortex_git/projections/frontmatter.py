"""Front matter: a small, safe part of YAML, written so that any YAML reader and any formatter agrees with it.

Mappings and lists in block style, text in JSON's double quotes (single ones where that saves
escapes, as formatters prefer), numbers, and bare words where they cannot mean anything else.
No anchors, tags, flow collections or comments.
"""

from __future__ import annotations

import functools
import json
import re

from cortex_git.projections.prose import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# What YAML takes for a number, a date, a truth value or nothing is never written bare.
_BARE = frozenset({
    "accepted", "approach_rejected", "decision_made", "deprecated", "error_resolved", "keyword", "knowledge_acquired",
    "learned", "plan_created", "plan_step_completed", "preference_noted", "proposed", "rejected", "structural",
    "superseded", "tag", "user",
})  # fmt: skip
_RESERVED = frozenset({"false", "n", "no", "null", "off", "on", "true", "y", "yes"})
_MAX_INDENT = "      "
_KEY = r"""([A-Za-z_][A-Za-z0-9_-]*|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'):"""
_dumps = json.JSONEncoder(ensure_ascii=False).encode


def emit(values: Mapping[str, object]) -> str:
    """The values as lines of YAML; empty mappings must not be among them."""
    return "".join(f"{line}\n" for line in _lines(values))


def read(text: str) -> dict[str, object]:
    """The values of lines that `emit` has written; top-level keys with underscores are read as hyphens.

    Raises ValueError, naming the line from 1, for anything else.
    """
    lines = text.split("\n")
    if lines.pop() != "":
        raise ValueError(f"line {len(lines) + 1}: the end of the line is missing")
    values, end = _mapping(lines, 0, "")
    if end != len(lines):
        raise ValueError(f"line {end + 1}: not understood")
    out = {name.replace("_", "-"): value for name, value in values.items()}
    if len(out) != len(values):
        raise ValueError("line 1: a key is there twice")
    return out


def _lines(values: Mapping[str, object]) -> list[str]:
    out = []
    for name, value in values.items():
        key = name if _is_bare(name) else scalar(name)
        if isinstance(value, dict):
            out += [f"{key}:", *("  " + line for line in _lines(value))]
        elif isinstance(value, list | tuple) and not value:
            out.append(f"{key}: []")
        elif isinstance(value, list | tuple):
            out.append(f"{key}:")
            for entry in value:
                inner = _lines(entry) if isinstance(entry, dict) else [scalar(entry)]
                out += [f"  - {inner[0]}", *("    " + line for line in inner[1:])]
        else:
            out.append(f"{key}: {value if name == 'date' else scalar(value)}")
    return out


@functools.lru_cache(maxsize=256)
def _is_bare(name: str) -> bool:
    """Whether a key needs no quotes."""
    return bool(re.fullmatch("[A-Za-z_][A-Za-z_-]*", name)) and name.lower() not in _RESERVED


def scalar(value: object) -> str:
    """A text or number as YAML."""
    if not isinstance(value, str):
        return _dumps(value)
    if value in _BARE:
        return value
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    text = quoted(_dumps(value))
    if '\\"' in text and not re.search(r'\\[^"]', text):
        # Formatters turn double quotes with nothing but escaped quotes inside into single ones.
        return "'" + value.replace("'", "''") + "'"
    return text


def _mapping(lines: list[str], at: int, indent: str) -> tuple[dict[str, object], int]:
    values: dict[str, object] = {}
    while at < len(lines) and lines[at].startswith(indent) and not lines[at].startswith((indent + " ", indent + "- ")):
        name, text = _entry(lines[at][len(indent) :], at)
        if name in values:
            raise ValueError(f"line {at + 1}: {name} is there twice")
        if text is not None:
            values[name] = _scalar(text, at)
            at += 1
        else:
            values[name], at = _nested(lines, at + 1, indent + "  ")
    return values, at


def _entry(line: str, at: int) -> tuple[str, str | None]:
    """Key and value of a line; None if the value stands on the lines below."""
    name, separator, text = line.partition(": ")
    if separator and text and _is_bare(name):
        return name, text
    if not separator and name.endswith(":") and _is_bare(name[:-1]):
        return name[:-1], None
    match = re.fullmatch(_KEY + "(?: (.+))?", line)
    if not match:
        raise ValueError(f"line {at + 1}: not understood")
    return str(_scalar(match[1], at)), match[2]


def _nested(lines: list[str], at: int, indent: str) -> tuple[object, int]:
    found: list[object] | dict[str, object]
    if len(indent) > len(_MAX_INDENT):
        raise ValueError(f"line {at}: nested too deeply")
    if at < len(lines) and lines[at].startswith(indent + "- "):
        found, at = _list(lines, at, indent)
    else:
        found, at = _mapping(lines, at, indent)
    if not found:
        raise ValueError(f"line {at}: a value is missing")
    return found, at


def _list(lines: list[str], at: int, indent: str) -> tuple[list[object], int]:
    found: list[object] = []
    while at < len(lines) and lines[at].startswith(indent + "- "):
        text = lines[at][len(indent) + 2 :]
        if (text.endswith(":") or ": " in text) and re.match(_KEY + "(?: |$)", text):
            # A mapping in a list begins behind the hyphen: read it as if the hyphen were a space.
            lines[at] = f"{indent}  {text}"
            entry, at = _mapping(lines, at, indent + "  ")
            found.append(entry)
        else:
            found.append(_scalar(text, at))
            at += 1
    return found, at


def _scalar(text: str, at: int) -> object:
    if text in _BARE:
        return text
    if text == "[]":
        return []
    inner = text[1:-1]
    if text[:1] == text[-1:] == '"' and inner.isprintable() and '"' not in inner and "\\" not in inner and inner:
        return inner
    try:
        if text.startswith('"'):
            return _text(json.loads(text))
        if text.startswith("'") and re.fullmatch("'(?:[^']|'')*'", text):
            return text[1:-1].replace("''", "'")
        if re.fullmatch(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e-?\d+)?", text, re.ASCII):
            return json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        if re.fullmatch("[A-Za-z0-9_-]+", text, re.ASCII):
            return text
    raise ValueError(f"line {at + 1}: {text[:40]!r} is not understood")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value
