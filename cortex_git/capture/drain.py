"""From the spool and the transcripts into the notes refs.

Nothing leaves the spool before the ref update that holds its events has succeeded, and ids
are hashes of what happened: so a drain may be killed anywhere and run again.
"""

from __future__ import annotations

import json
import os
import time
import zlib

from cortex_git.capture import claude, transcript
from cortex_git.capture.extract import extract
from cortex_git.capture.units import COMMIT
from cortex_git.env import rfc3339
from cortex_git.errors import CortexError
from cortex_git.events.redact import redact, redact_event
from cortex_git.store import made, message, notes, spool
from cortex_git.store.head import is_hex
from cortex_git.store.locking import Lock, read_json, write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cortex_git.capture.units import Unit
    from cortex_git.config import Config
    from cortex_git.events.model import Event
    from cortex_git.store.backend import Backend
    from cortex_git.store.listing import Tips
    from cortex_git.store.notes import Wrote
    from cortex_git.store.repo import Repo

BUDGET = 4.0
"""How long a drain goes on reading transcripts, in seconds; a hook has 10 in all."""
_PIECE = 1024 * 1024
_ABANDONED = 3600.0
_BATCH = 500
_RECENT = 4000
_FINGERPRINT = 256
_DETACHED = "HEAD"
"""What a client calls the branch while HEAD is detached."""


class Drained:
    """What a drain did: how many events it stored, what went wrong, and how all notes refs stand if it moved any."""

    __slots__ = ("events", "faults", "refs", "wrote")

    def __init__(self) -> None:
        self.events = 0
        self.faults: list[str] = []
        self.refs: Tips | None = None
        self.wrote: list[Wrote] = []


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
        _Drain(repo, backend, config, done).run()
    return done


class _Drain:
    """One drain: batch by batch of the spool, and within a batch piece by piece of the transcripts that it names.

    Each piece is stored with how far it goes before the next one is read. What there is no time
    for stays in the spool, so that a long transcript delays nobody and is taken in by and by.
    """

    def __init__(self, repo: Repo, backend: Backend, config: Config, done: Drained) -> None:
        self._repo = repo
        self._backend = backend
        self._config = config
        self._done = done
        self._state = _State(repo)
        self._deadline = time.monotonic() + BUDGET

    def run(self) -> None:
        """Take in what waits, as far as there is time."""
        late: set[str] = set()
        while not late and (names := spool.names(self._repo.home)[:_BATCH]):
            late = self._batch(names)

    def _batch(self, names: list[str]) -> set[str]:
        """Store some records; returns those whose transcripts there was no time for."""
        units: list[Unit] = []
        transcripts: dict[str, _Source] = {}
        taken: list[str] = []
        newest = 0.0
        for name in names:
            try:
                record = spool.read(self._repo.home, name)
                if record is not None:
                    units += _units(self._repo, record, transcripts)
                    newest = max(newest, record.time)
                taken.append(name)
            except Exception as error:  # whatever one payload does to us, it must not stop the others
                self._done.faults.append(f"{name} was set aside in spool/bad: {type(error).__name__}: {error}")
                spool.set_aside(self._repo.home, name)
        late: set[str] = set()
        for path, source in transcripts.items():
            try:
                units = self._transcript(path, source.branch, units)
            except TimeoutError:
                units = []
                late |= source.records
        self._store(units)
        spool.discard(self._repo.home, [name for name in taken if name not in late])
        spool.sweep(self._repo.home, newest - _ABANDONED)
        return late

    def _transcript(self, path: str, branch: str, before: list[Unit]) -> list[Unit]:
        """Take in a transcript piece by piece; what is still to be stored is given and returned.

        Raises TimeoutError if the time is up before its end; then nothing is left to be stored.
        """
        units, size = before, _PIECE
        while os.path.isfile(path):
            start = self._state.offset(path)
            try:
                reading = transcript.read(path, start, size)
            except Exception as error:  # only of reading: what cannot be stored must stay in the spool
                self._done.faults.append(f"{os.path.basename(path)} could not be read: {type(error).__name__}: {error}")
                break
            if reading.more and reading.offset <= start:
                size *= 2  # a call whose result comes much later holds up the piece
                continue
            self._done.faults += reading.faults
            for unit in reading.units:
                unit.branch = branch if unit.branch in ("", _DETACHED) else unit.branch
            units = [*units, *reading.units]
            self._state.advance(path, reading.offset)
            if not reading.more:
                break
            self._store(units)
            units = []
            if time.monotonic() > self._deadline:
                raise TimeoutError
        return units

    def _store(self, units: Sequence[Unit]) -> None:
        """Store what was said and done, and then how far that goes."""
        events = _events(self._repo, self._config, units, self._state)
        if events:
            writer = notes.Writer(self._repo, self._backend, self._config)
            writer.write(events)
            self._done.refs = writer.refs
            self._done.wrote += writer.wrote
            self._done.events += sum(map(len, events.values()))
            self._state.remember(event.id for group in events.values() for event in group)
        self._state.save()


class _Source:
    """A transcript that waits: the branch at that time, and the records that name it."""

    __slots__ = ("branch", "records")

    def __init__(self, branch: str) -> None:
        self.branch = branch
        self.records: set[str] = set()


def _units(repo: Repo, record: spool.Record, transcripts: dict[str, _Source]) -> Sequence[Unit]:
    """What one payload says; a transcript that it names is noted down for reading."""
    # A byte that is no UTF-8 costs a character; the payload is read all the same.
    payload = json.loads(record.payload.decode("utf-8", "replace"), parse_int=_whole)
    if not isinstance(payload, dict):
        raise spool.BadRecord("the payload is no JSON object")
    branch = repo.branch_of(record.head_line) or (record.head_line if is_hex(record.head_line) else "")
    payload.setdefault("hook_event_name", record.event)
    for path in claude.transcripts(payload):
        transcripts.setdefault(path, _Source(branch)).records.add(record.name)
    return claude.units(payload, rfc3339(record.time), branch)


def _redacted(value: Any) -> Any:
    """A value from JSON with the secrets taken out of all its texts."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_redacted(item) for item in value]
    if isinstance(value, dict):
        return {name: _redacted(item) for name, item in value.items()}
    return value


def _whole(digits: str) -> float | int:
    """A number in JSON. Python refuses to read very long ones as whole numbers."""
    return int(digits) if len(digits) < 100 else float(digits)


def _events(repo: Repo, config: Config, units: Sequence[Unit], state: _State) -> dict[str | None, list[Event]]:
    """The new events in these units, without secrets, by branch (None: HEAD was detached)."""
    if not units:
        return {}
    here, head = repo.branch(), repo.head() or ""
    grouped: dict[str | None, list[Event]] = {}
    seen = set(state.recent)
    # Before anything is cut to size: half a secret is not recognised as one.
    for unit in units:
        if unit.kind == COMMIT:
            unit.facts = {**unit.facts, "commit": _whole_id(repo, unit)}
        unit.text, unit.answer, unit.input = redact(unit.text), redact(unit.answer), _redacted(unit.input)
    for event in extract(units, config, author=repo.author(), root=repo.work_tree or "", memo=state.memo):
        clean = redact_event(event)
        if clean.id in seen:
            continue
        seen.add(clean.id)
        branch = clean.branch if clean.branch not in ("", _DETACHED) else None
        if is_hex(clean.branch):  # the commit that HEAD was detached at
            branch, clean = None, clean.replace(branch="", commit=clean.commit or clean.branch)
        if branch == here and not clean.commit:
            clean = clean.replace(commit=head)
        grouped.setdefault(branch, []).append(clean)
    return grouped


def _whole_id(repo: Repo, unit: Unit) -> str:
    """The whole id of a commit, by which a hook of git's that has seen it tells of the same one; else what there is."""
    given, branch = unit.facts.get("commit", ""), "" if unit.branch == _DETACHED else unit.branch
    return made.find(repo, branch, given, message.subject(unit.text), unit.time) or given


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
