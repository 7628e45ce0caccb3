"""From the spool and the transcripts into the notes refs.

Nothing leaves the spool before the ref update that holds its events has succeeded, and ids
are hashes of what happened: so a drain may be killed anywhere and run again.
"""

from __future__ import annotations

import json
import os
import zlib

from cortex_git.capture import claude, transcript
from cortex_git.capture.extract import extract
from cortex_git.env import rfc3339
from cortex_git.errors import CortexError
from cortex_git.events.redact import redact_event
from cortex_git.store import notes, spool
from cortex_git.store.locking import Lock, read_json, write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cortex_git.capture.units import Unit
    from cortex_git.config import Config
    from cortex_git.events.model import Event
    from cortex_git.store.backend import Backend
    from cortex_git.store.repo import Repo

_BATCH = 500
_RECENT = 4000
_FINGERPRINT = 256


class Drained:
    """What a drain did: how many events it stored, what went wrong, and how all notes refs stand if it moved any."""

    __slots__ = ("events", "faults", "refs")

    def __init__(self) -> None:
        self.events = 0
        self.faults: list[str] = []
        self.refs: dict[str, str] | None = None


def drain(repo: Repo, backend: Backend, config: Config, *, patience: float) -> Drained:
    """Store all that waits in the spool, waiting at most `patience` seconds for another drain.

    Raises CortexError if the refs cannot be written; then everything stays in the spool.
    """
    done = Drained()
    if not spool.names(repo.home):
        return done
    with Lock(os.path.join(repo.home, "lock")) as lock:
        try:
            if not lock.acquire(patience):
                return done
        except OSError as error:
            raise CortexError(f"{repo.home} cannot be written ({error.strerror}); make it writable") from error
        state = _State(repo)
        while names := spool.names(repo.home)[:_BATCH]:
            _drain_batch(repo, backend, config, state, names, done)
    return done


def _drain_batch(repo: Repo, backend: Backend, config: Config, state: _State, names: list[str], done: Drained) -> None:
    units: list[Unit] = []
    transcripts: dict[str, str] = {}
    taken: list[str] = []
    for name in names:
        try:
            record = spool.read(repo.home, name)
            if record is not None:
                units += _units(repo, record, transcripts)
            taken.append(name)
        except Exception as error:  # whatever one payload does to us, it must not stop the others
            done.faults.append(f"{name} was set aside in spool/bad: {type(error).__name__}: {error}")
            spool.set_aside(repo.home, name)
    for path, branch in transcripts.items():
        try:
            units += _transcript_units(state, path, branch, done)
        except Exception as error:
            done.faults.append(f"{os.path.basename(path)} could not be read: {type(error).__name__}: {error}")
    events = _events(repo, config, units, state)
    if events:
        writer = notes.Writer(repo, backend, config)
        writer.write(events)
        done.refs = writer.refs
        done.events += sum(map(len, events.values()))
        state.remember(event.id for group in events.values() for event in group)
    state.save()
    spool.discard(repo.home, taken)


def _units(repo: Repo, record: spool.Record, transcripts: dict[str, str]) -> Sequence[Unit]:
    """What one payload says; a transcript that it names is noted down for reading."""
    payload = json.loads(record.payload)
    if not isinstance(payload, dict):
        raise spool.BadRecord("the payload is no JSON object")
    branch = repo.branch_of(record.head_line) or ""
    payload.setdefault("hook_event_name", record.event)
    for path in claude.transcripts(payload):
        transcripts.setdefault(path, branch)
    return claude.units(payload, rfc3339(record.time), branch)


def _transcript_units(state: _State, path: str, branch: str, done: Drained) -> Sequence[Unit]:
    if not os.path.isfile(path):
        return []
    reading = transcript.read(path, state.offset(path))
    done.faults += reading.faults
    state.advance(path, reading.offset)
    for unit in reading.units:
        unit.branch = unit.branch or branch
    return list(reading.units)


def _events(repo: Repo, config: Config, units: Sequence[Unit], state: _State) -> dict[str | None, list[Event]]:
    """The new events in these units, without secrets, by branch (None: HEAD was detached)."""
    if not units:
        return {}
    here, head = repo.branch(), repo.head() or ""
    grouped: dict[str | None, list[Event]] = {}
    seen = set(state.recent)
    for event in extract(units, config, author=repo.author(), root=repo.work_tree or "", memo=state.memo):
        clean = redact_event(event)
        if clean.id in seen:
            continue
        seen.add(clean.id)
        branch = clean.branch if clean.branch not in ("", "HEAD") else None
        if branch == here and not clean.commit:
            clean = clean.replace(commit=head)
        grouped.setdefault(branch, []).append(clean)
    return grouped


class _State:
    """How far each transcript was read, and the ids stored last, so that a second look stores nothing twice.

    `memo` is what extraction has to know of earlier units: names of tasks, the last question.
    """

    def __init__(self, repo: Repo) -> None:
        self._path = os.path.join(repo.home, "state.json")
        kept = read_json(self._path)
        transcripts, recent = kept.get("transcripts"), kept.get("recent")
        self._transcripts: dict[str, Any] = transcripts if isinstance(transcripts, dict) else {}
        self.recent: list[str] = recent if isinstance(recent, list) else []
        memo = kept.get("memo")
        self.memo: dict[str, Any] = memo if isinstance(memo, dict) else {}

    def offset(self, path: str) -> int:
        """Where to go on reading: the start again if the file is not the one that was read before."""
        entry = self._transcripts.get(path)
        if not isinstance(entry, dict):
            return 0
        offset, mark = int(entry.get("offset", 0)), entry.get("mark")
        return offset if _fingerprint(path, offset) == mark else 0

    def advance(self, path: str, offset: int) -> None:
        """Note that a transcript is stored up to a byte."""
        self._transcripts.pop(path, None)
        self._transcripts[path] = {"offset": offset, "mark": _fingerprint(path, offset)}
        for old in list(self._transcripts)[:-200]:
            del self._transcripts[old]

    def remember(self, ids: Any) -> None:
        """Note ids that are stored now."""
        self.recent = [*self.recent, *ids][-_RECENT:]

    def save(self) -> None:
        """Write it down, after the refs were moved."""
        write_json(self._path, {"transcripts": self._transcripts, "recent": self.recent, "memo": self.memo})


def _fingerprint(path: str, offset: int) -> int:
    """A checksum of the bytes just before `offset`; -1 if the file does not reach that far."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, offset - _FINGERPRINT))
            data = file.read(min(offset, _FINGERPRINT))
    except OSError:
        return -1
    return zlib.crc32(data) if len(data) == min(offset, _FINGERPRINT) else -1
