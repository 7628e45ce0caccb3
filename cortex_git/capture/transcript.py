"""Claude Code's transcript, read from a byte offset as far as it is complete. Tolerant: the format has no contract."""

from __future__ import annotations

import os
import re

from cortex_git.capture.records import Records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from cortex_git.capture.units import Unit

MAX_LINE = 32 * 1024 * 1024
"""A longer line (in bytes) is passed over."""
_LONG = 64 * 1024
_MAX_FAULTS = 20
_BASE64 = re.compile(rb'"data": ?"[A-Za-z0-9+/=]{4096,}"')
_PROGRESS = re.compile(rb'"type": ?"progress", ?"data":')
_BOOKKEEPING = (
    b'{"type":"file-history-snapshot"',
    b'{"type":"progress"',
    b'{"type":"summary"',
    b'{"type":"api-request',
    b'{"type":"last-prompt"',
)
_SPEAKERS = (b'"assistant"', b'"user"', b'"queue-operation"', b'"queued_command"')


class Reading:
    """What was read: the units in the order of the file, the byte offset to go on from, and what was wrong.

    `more` says that the limit was reached before the end of the file.
    """

    __slots__ = ("faults", "more", "offset", "units")

    def __init__(self, units: list[Unit], offset: int, faults: list[str], more: bool) -> None:
        self.units = units
        self.offset = offset
        self.faults = faults
        self.more = more


def read(path: str, offset: int = 0, limit: int | None = None) -> Reading:
    """Read the transcript at `path` from the byte `offset`, at least `limit` bytes if it has them, or all of it.

    A last line that is not whole yet is left for the next time, and so is a tool call without
    its result, with all that follows it: what is read again then gives the same events. An
    offset beyond the end means another file, which is read from its start. Raises OSError.
    """
    records = Records(path)
    faults: list[str] = []
    end = offset
    more = False
    with open(path, "rb") as file:
        if not 0 <= offset <= os.fstat(file.fileno()).st_size:
            end = offset = 0
        file.seek(offset)
        for start, line, end in _lines(file, offset):
            if line is None:
                fault = "is too long"
            else:
                end, fault = _take(records, start, line)
            if fault and len(faults) < _MAX_FAULTS:
                faults.append(f"{os.path.basename(path)}: the line at byte {start} {fault}")
            more = limit is not None and end - offset >= limit
            if more:
                break
    return Reading(records.units, records.resume(end), faults, more)


def _lines(file: BinaryIO, offset: int) -> Iterator[tuple[int, bytes | None, int]]:
    """Each line with the offsets of its start and its end; None for one that is too long."""
    while line := file.readline(MAX_LINE):
        start, offset = offset, offset + len(line)
        if len(line) < MAX_LINE or line.endswith(b"\n"):
            yield start, line, offset
            continue
        while more := file.readline(MAX_LINE):
            offset += len(more)
            if more.endswith(b"\n"):
                yield start, None, offset
                break


def _take(records: Records, start: int, line: bytes) -> tuple[int, str]:
    """Take in one line; returns the offset up to which it is understood, and what is wrong with it.

    A line without its end counts as far as it holds complete objects: nothing that is
    appended can change those.
    """
    whole = line.endswith(b"\n")
    end = start + len(line)
    if whole and not _matters(line):
        return end, ""
    if whole and len(line) > _LONG:
        line = _BASE64.sub(b'"data":""', line)
    # Escaped surrogates keep every byte countable.
    text = line.decode("utf-8", "surrogateescape")
    consumed, clean = records.objects(start, text, whole)
    if whole:
        return end, "" if clean else "is no JSON"
    if not text[consumed:].strip():
        return end, ""
    return start + len(text[:consumed].encode("utf-8", "surrogateescape")), ""


def _matters(line: bytes) -> bool:
    """Whether a line can hold something said or done, without decoding it: most bytes are bookkeeping."""
    if not any(map(line.__contains__, _SPEAKERS)):
        return not (line.startswith(b"{") or line.isspace())
    head = line[:64].replace(b" ", b"")
    if head.startswith(_BOOKKEEPING) or _PROGRESS.search(line, 0, 2000):
        return b"}{" in line  # perhaps another object on the same line
    return True
