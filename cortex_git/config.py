"""The team's settings: `.cortex/config.toml` as a frozen object.

Importing a TOML parser costs more than a hook may, so the parsed values are kept as JSON
beside the spool and read from there while the file's size and time stay the same.
"""

from __future__ import annotations

import contextlib
import json
import os

from cortex_git.errors import CortexError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Config:
    """Settings; the attribute `projections_commit` is the key `commit` in the table `[projections]`."""

    default_branch: str = ""
    """The branch whose items count as accepted and which carries the pages; empty: found from git."""
    capture_keywords: bool = True
    """Whether prose is searched for decisions beside tags and structure."""
    capture_ignore: tuple[str, ...] = ()
    """Globs of files and commands that are never remembered."""
    projections_commit: bool = True
    """Whether pre-commit adds `.cortex/` files to commits."""
    projections_pages: str = "default-branch"
    """Where pages are rendered: `default-branch`, `every-branch` or `off`."""
    projections_min_confidence: float = 0.5
    """Below this an event is kept but neither committed nor put before an assistant."""
    share_structural: bool = False
    """Whether file and command events may leave this clone."""
    share_preferences: bool = False
    """Whether preferences may leave this clone."""
    briefing_tokens: int = 2000
    """The budget of a briefing."""
    spool_max_mib: int = 64
    """How much the spool may hold before hooks stop adding to it."""
    search_limit: int = 10
    """How many results a search shows."""

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        for name, value in (values or {}).items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings are fixed: {name}")


SETTINGS = {name: kind for name, kind in Config.__annotations__.items()}
_CHOICES = {"projections_pages": ("default-branch", "every-branch", "off")}


def load(path: str, cache: str) -> tuple[Config, list[str]]:
    """The settings in the file `path`, and what is wrong with it, a sentence each.

    A setting that is wrong keeps its default; a missing file gives the defaults. `cache` is
    where the parsed values may be kept.
    """
    try:
        status = os.stat(path)
    except OSError:
        return Config(), []
    stamp = [status.st_size, status.st_mtime_ns, list(SETTINGS)]
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        with open(cache, encoding="utf-8") as file:
            kept = json.load(file)
        if kept["stamp"] == stamp:
            values = {name: tuple(v) if isinstance(v, list) else v for name, v in kept["values"].items()}
            return Config(values), kept["faults"]
    values, faults = _read(path)
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time only
        with open(f"{cache}.{os.getpid()}", "w", encoding="utf-8") as file:
            json.dump({"stamp": stamp, "values": values, "faults": faults}, file)
        os.replace(f"{cache}.{os.getpid()}", cache)
    return Config(values), faults


def check(faults: list[str]) -> None:
    """Raise the first fault as an error that the user can mend."""
    if faults:
        raise CortexError(faults[0])


def _read(path: str) -> tuple[dict[str, object], list[str]]:
    import tomllib

    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except (OSError, ValueError) as error:
        return {}, [f".cortex/config.toml cannot be read ({error}); the defaults are used until it is mended"]
    values: dict[str, object] = {}
    faults: list[str] = []
    for key, value in document.items():
        pairs = {f"{key}_{name}": inner for name, inner in value.items()} if isinstance(value, dict) else {key: value}
        for name, inner in pairs.items():
            shown = name.replace("_", ".", 1) if isinstance(value, dict) else name
            if name not in SETTINGS:
                faults.append(f".cortex/config.toml: there is no setting {shown}")
                continue
            try:
                values[name] = _checked(name, inner)
            except ValueError as error:
                faults.append(f".cortex/config.toml: {shown} {error}")
    return values, faults


def _checked(name: str, value: object) -> object:
    kind = SETTINGS[name]
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "int" and isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if kind == "float" and isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    if kind == "str" and isinstance(value, str):
        if value not in _CHOICES.get(name, (value,)):
            raise ValueError("must be one of " + ", ".join(_CHOICES[name]))
        return value
    if kind == "tuple[str, ...]" and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    wanted = {"bool": "true or false", "int": "a whole number from 0", "float": "a number from 0 to 1"}
    raise ValueError("must be " + wanted.get(kind, "text" if kind == "str" else "a list of texts"))
