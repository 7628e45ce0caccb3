"""A marked block of lines in a file that belongs to the user: put in, replaced in place, taken out to the byte."""

from __future__ import annotations

from cortex_git.errors import CortexError

START = b"# >>> git-cortex"
END = b"# <<< git-cortex"
_REMARK = b" (`git cortex uninstall` takes these lines away)"
_JOINED = b" (the line before had no end)"


def put(data: bytes, lines: str, at: int) -> bytes:
    """The data with our block holding `lines`, in place of the one that is there, else at the offset `at`."""
    body = lines.rstrip("\n").encode() + b"\n" + END + b"\n"
    found = _find(data)
    if found:
        start, end = found
        first = data[start : data.index(b"\n", start) + 1]
        return data[:start] + first + body + data[end:]
    before, after = data[:at], data[at:]
    if before and not before.endswith(b"\n"):
        return before + b"\n" + START + _REMARK + _JOINED + b"\n" + body + after
    return before + START + _REMARK + b"\n" + body + after


def take(data: bytes) -> bytes:
    """The data as it was before our block was put in."""
    found = _find(data)
    if not found:
        return data
    start, end = found
    joined = _JOINED in data[start : data.index(b"\n", start)]
    if joined and end == len(data):
        start -= 1
    return data[:start] + data[end:]


def content(data: bytes) -> str | None:
    """The lines of our block, or None if there is none."""
    found = _find(data)
    if not found:
        return None
    lines = data[found[0] : found[1]].decode("utf-8", "replace").splitlines(keepends=True)
    return "".join(lines[1:-1])


def _find(data: bytes) -> tuple[int, int] | None:
    """Where our block starts and ends. Raises CortexError if only half of it is there."""
    start = _line(data, START, 0)
    if start < 0:
        return None
    end = _line(data, END, start)
    if end < 0:
        raise CortexError(f"the line {START.decode()!r} has no {END.decode()!r} after it; put that line back")
    stop = data.find(b"\n", end)
    return start, len(data) if stop < 0 else stop + 1


def _line(data: bytes, text: bytes, begin: int) -> int:
    """The offset of the first line from `begin` on that starts with the text, or -1."""
    if data.startswith(text, begin) and (begin == 0 or data[begin - 1 : begin] == b"\n"):
        return begin
    found = data.find(b"\n" + text, begin)
    return found + 1 if found >= 0 else -1
