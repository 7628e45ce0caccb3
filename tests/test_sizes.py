"""Nothing grows beyond what can be read at a sitting."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT

MAX_FILE, MAX_FUNCTION = 400, 60
SOURCES = sorted((ROOT / "cortex_git").rglob("*.py"))


def _functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function's name and its length in lines, docstring and decorators included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield node.name, (node.end_lineno or first) - first + 1


def test_files_are_short() -> None:
    """No file of the package is longer than 400 lines."""
    lengths = {path.relative_to(ROOT): len(path.read_bytes().splitlines()) for path in SOURCES}
    assert SOURCES
    assert {name: length for name, length in lengths.items() if length > MAX_FILE} == {}


def test_functions_are_short() -> None:
    """No function of the package is longer than 60 lines."""
    long = [
        (path.relative_to(ROOT), name, length)
        for path in SOURCES
        for name, length in _functions(path)
        if length > MAX_FUNCTION
    ]
    assert long == []
