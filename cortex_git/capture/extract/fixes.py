"""A command that failed, and passes after some files were edited: what was wrong, and where it was mended."""

from __future__ import annotations

from cortex_git.capture.patterns import IGNORECASE, lazy
from cortex_git.capture.units import clean
from cortex_git.events import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cortex_git.capture.extract.context import Context
    from cortex_git.capture.units import Unit
    from cortex_git.events.model import Event

MENDED = 0.6
NAMELESS = 0.4
"""The confidence where the last words of the error name nothing that went wrong."""
_KEPT = "failing"
_MAX_FAILING = 6
_MAX_FILES = 8
_PATIENCE = 60
"""After so many other calls a failure is forgotten."""
_MAX_ERROR = 240
_CHECK = lazy(
    r"(?:^|[\s/;&|])(?:pytest|tox|nox|unittest|mypy|pyright|ruff|flake8|pylint|jest|vitest|mocha|playwright|eslint|"
    r"biome|prettier|tsc|phpunit|rspec|rubocop|ctest|make|ninja|cmake|bazel|gradle|gradlew|mvn|xcodebuild|"
    r"(?:npm|pnpm|yarn|bun|npx|mise|just|cargo|go|dotnet|swift|mix|deno|rake|composer|poetry|uv)\b[^;&|\n]*?\b"
    r"(?:test|tests|build|lint|check|typecheck|type-check|vet|clippy|compile|tsc|e2e|ci))\b",
    IGNORECASE,
)
_PREFIX = lazy(r"(?:\s*(?:cd\s+\S+|export\s+\S+|source\s+\S+|\w+=\S*)\s*(?:&&|;)?\s*)+")
_TAIL = lazy(r"\s*(?:2>&1|\|\s*(?:tail|head|grep|cat|tee|less|sed|awk)\b.*|\|\|\s*true|;\s*echo\b.*|>\s*\S+)")
_TELLS = lazy(
    r"\b[A-Za-z]\w*(?:Error|Exception)\b|\b[Ee]rror(?:\[\w+\])?:|\berror TS\d+|^E |FAILED |^--- FAIL|panicked at|"
    r"\bExpected\b|undefined:|\b[Cc]annot |not found",
)
_COLOUR = lazy(r"\x1b\[[0-9;]*[A-Za-z]")
_STATUS = "exit code "


def fixes(unit: Unit, context: Context, *, is_edit: bool, path: str = "") -> Iterator[Event]:
    """Follow failing checks, edits and the same check that passes; of the last one an event tells."""
    session = context.session(unit)
    failing: list[Any] = session[_KEPT] if isinstance(session.get(_KEPT), list) else []
    failing = [entry for entry in failing if isinstance(entry, dict) and entry.get("left", 0) > 0]
    for entry in failing:
        entry["left"] -= 1
        # A call may be told of twice, by its hook and later by the transcript: what is older counts no more.
        is_later = unit.time > entry["since"]
        if is_edit and is_later and path and unit.ok is not False and path not in entry["files"]:
            entry["files"] = [*entry["files"], path][-_MAX_FILES:]
    command = "" if is_edit else _check(clean(unit.input.get("command")))
    if command:
        known = next((entry for entry in failing if entry["check"] == command), None)
        if known and unit.time <= known["since"]:
            return
        failing = [entry for entry in failing if entry is not known]
        if unit.ok is False and "interrupted" not in unit.facts:
            error = _error(unit.answer)
            files = known["files"] if known else []
            # Several edits may be needed, and the first error is the one that they began with.
            told = known["error"] if known and files else error
            failing.append({"check": command, "error": told, "files": files, "left": _PATIENCE, "since": unit.time})
        elif unit.ok and known and known["files"] and known["error"]:
            yield _event(unit, context, known)
    if failing:
        session[_KEPT] = failing[-_MAX_FAILING:]
    else:
        session.pop(_KEPT, None)


def _event(unit: Unit, context: Context, known: dict[str, Any]) -> Event:
    files: list[str] = known["files"]
    where = ", ".join(files[:4]) + (f" and {len(files) - 4} more" if len(files) > 4 else "")
    error = str(known["error"])
    return context.event(
        unit,
        model.RESOLVED,
        f"{error} — cured in {where}; `{known['check']}` passes",
        files=files,
        confidence=MENDED if _TELLS.search(error) else NAMELESS,
        source={"check": str(known["check"])},
    )


def _check(command: str) -> str:
    """The test, build or lint that a command runs, without what stands around it; empty if it runs none."""
    if len(command) > 2000 or "\n" in command.strip() or not _CHECK.search(command):
        return ""
    found = _PREFIX.match(command)
    bare = command[found.end() :] if found else command
    return " ".join(_TAIL.sub("", bare).split())[:200]


def _error(output: str) -> str:
    """The last line that tells what went wrong, or else the last one."""
    lines = [" ".join(_COLOUR.sub("", line).split()) for line in output[-_MAX_ERROR * 40 :].split("\n")]
    lines = [line for line in lines if any(map(str.isalpha, line)) and not line.lower().startswith(_STATUS)]
    telling = [line for line in lines if _TELLS.search(line)]
    return (telling or lines or [""])[-1][:_MAX_ERROR].removeprefix("E ")
