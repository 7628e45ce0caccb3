"""The index keeps itself right: incremental, atomic, safe beside others, mended whatever happened to it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from search_data import START, Maker, Store

from cortex_git.env import rfc3339
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.search import engine
from cortex_git.search import index as index_module
from cortex_git.search.answer import MISS, WEAK
from cortex_git.search.engine import Part
from cortex_git.search.index import Index
from cortex_git.search.view import AllBut
from cortex_git.store.locking import Lock, read_json, write_json


def note(text: str, type: str = model.DECISION, **fields: object) -> Event:
    """An event that says a text."""
    return Event(type, text, time=rfc3339(START), session=text, **fields)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Where the index is to be; it does not exist yet."""
    return str(tmp_path / "git" / "cortex" / "index")


@pytest.fixture
def store() -> Store:
    """A store of a few segments, of which one says `gizmo` and another `gadget`."""
    made = Store(Maker(5).segments(100))
    made.add(note("the gizmo"), note("see the gadget"))
    made.add(note("the other gadget"))
    return made


def found(index: Index, query: str, **options: object) -> set[str]:
    """The contents of all hits."""
    return {hit.event.content for hit in index.search(query, limit=1000, **options).hits}  # type: ignore[arg-type]


def part_of(folder: str) -> Path:
    """The folder of the newest part."""
    state = read_json(str(Path(folder, "state.json")))
    return Path(folder, state["parts"][-1]["name"])


def test_only_what_is_missing_is_read(folder: str, store: Store) -> None:
    """An update reads the segments that the index lacks, once, and says how many events came."""
    index = Index(folder)
    assert index.update(store.segments, store.load) == 103
    assert sorted(store.read) == sorted(store.segments)
    new = store.add(note("a late gizmo"))
    store.read.clear()
    other = Index(folder)
    assert (other.update(store.segments, store.load), store.read) == (1, [new])
    assert (other.update(store.segments, store.load), store.read) == (0, [new])
    assert found(index, "gizmo") == {"the gizmo", "a late gizmo"}
    assert index.covered() == set(store.segments)


def test_many_updates_leave_few_parts(folder: str) -> None:
    """However often a little is added, the number of parts stays small and nothing is lost."""
    store, index = Store(), Index(folder)
    for number in range(60):
        store.add(note(f"gizmo number {number}"), note(f"other {number}"))
        index.update(store.segments, store.load)
    assert len(os.listdir(folder)) <= 2 + 4
    assert len(found(index, "gizmo")) == 60


def test_an_update_equals_a_build(folder: str, tmp_path: Path) -> None:
    """An index that grew segment by segment answers as one that was built at once."""
    store, grown, built = Store(), Index(folder), Index(str(tmp_path / "built"))
    for segment, events in Maker(9).segments(400, meant=0.7).items():
        store.segments[segment] = events
        grown.update(store.segments, store.load)
    built.update(store.segments, store.load)
    for query in ("drop the cache", "retry_backoff", "sqlite -queue", "why is latency halved", "sessoin"):
        one, other = grown.search(query, limit=50), built.search(query, limit=50)
        assert [(h.id, h.score) for h in one.hits] == [(h.id, h.score) for h in other.hits]
        assert (one.verdict, one.left_out) == (other.verdict, other.left_out)


def test_empty_and_unreadable_segments(folder: str) -> None:
    """A segment without events counts as covered; one that cannot be read does not, and then there is no MISS."""
    store, index = Store(), Index(folder)
    empty = "00" * 20
    store.segments[empty] = []
    gone = "11" * 20
    assert index.update([empty, gone], lambda ids: [(id, []) for id in ids if id == empty]) == 0
    assert index.covered() == {empty}
    answer = index.search("gizmo")
    assert answer.verdict == WEAK and "1 of 2 segments" in answer.notices[-1]


def test_what_load_raises_comes_through(folder: str, store: Store) -> None:
    """An error of the caller is the caller's, and the index stays as it was."""
    index = Index(folder)
    index.update(store.segments, store.load)

    def fails(ids: object) -> None:
        raise LookupError("no such blob")

    with pytest.raises(LookupError, match="no such blob"):
        index.update([*store.segments, "22" * 20], fails)  # type: ignore[arg-type]
    assert found(index, "gizmo") == {"the gizmo"} and len(os.listdir(folder)) == 3


def test_what_is_purged_leaves_the_index(folder: str, store: Store) -> None:
    """After an exact update nothing is left of other segments, not even in the files."""
    secret = store.add(note("the passphrase is xylophone-marzipan"))
    index = Index(folder)
    index.update(store.segments, store.load)
    assert found(index, "xylophone-marzipan")
    del store.segments[secret]
    index.update(store.segments, store.load, exact=True)
    assert index.search("xylophone-marzipan").verdict == MISS
    assert not any(b"marzipan" in path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


# ---- what may be seen


def test_only_visible_events_are_found(folder: str) -> None:
    """Segments, single events and what is retracted decide what is found, and so does a segment's own rule."""
    store, index = Store(), Index(folder)
    here, there = store.add(note("gizmo here")), store.add(note("gizmo there"), note("gizmo plan", model.PLAN))
    index.update(store.segments, store.load)
    everything = {"gizmo here", "gizmo there", "gizmo plan"}
    assert found(index, "gizmo") == everything
    assert found(index, "gizmo", segments={here: None}) == {"gizmo here"}
    crosses = AllBut(model.PLAN, model.STEP)
    for test in (crosses, lambda event: crosses(event)):
        assert found(index, "gizmo", segments={here: None, there: test}) == {"gizmo here", "gizmo there"}
    id = note("gizmo there").id
    assert found(index, "gizmo", hidden={id}) == everything - {"gizmo there"}
    assert found(index, "gizmo", allowed={id}) == found(index, "gizmo", allowed=id.__eq__) == {"gizmo there"}
    assert found(index, id, hidden={id}) == set()
    answer = index.search("gizmo", segments={here: None}, limit=0)
    assert answer.left_out == 1
    assert index.search("plan", segments={there: crosses}).verdict == MISS


def test_an_event_in_two_segments_is_one(folder: str) -> None:
    """It is stored once, found once, and seen as soon as one of its segments is."""
    event = note("the gizmo")
    store, index = Store(), Index(folder)
    first, second = store.add(event), store.add(event, note("the gadget"))
    assert index.update([first], store.load) == 1
    assert index.update([first, second], store.load) == 1
    for seen in ({first: None}, {second: None}, {first: None, second: None}):
        assert [hit.id for hit in index.search("gizmo", segments=seen).hits] == [event.id]
    assert found(index, "gizmo", segments={"33" * 20: None}) == set()


def test_of_two_versions_the_better_counts(folder: str) -> None:
    """Where two copies of an id differ, the one that counts everywhere is shown, whichever came first."""
    event = note("the gizmo", reason="it was cheap")
    earlier = event.replace(time=rfc3339(START - 60), reason="it was there")
    for order in ([event, earlier], [earlier, event]):
        shutil.rmtree(folder, ignore_errors=True)
        store, index = Store(), Index(folder)
        for one in order:
            store.add(one)
            index.update(store.segments, store.load)
        assert [hit.event.reason for hit in index.search("gizmo").hits] == ["it was there"]
        late = next(id for id, events in store.segments.items() if events == [event])
        assert [h.event.reason for h in index.search("gizmo", segments={late: None}).hits] == ["it was cheap"]


def test_changes_of_state_can_be_listed(folder: str, store: Store) -> None:
    """Events of a type can be had from the index, as far as they are visible, and are no search results."""
    gone = note("gizmo is wrong", model.RETRACTED, target="0" * 16)
    where = store.add(gone)
    index = Index(folder)
    index.update(store.segments, store.load)
    assert index.events([model.RETRACTED]) == [gone]
    assert index.events([model.RETRACTED], {where: None}) == [gone]
    assert index.events([model.RETRACTED], dict.fromkeys(set(store.segments) - {where})) == []
    assert found(index, "gizmo") == {"the gizmo"}


# ---- what may happen to it


def _truncate(folder: str) -> None:
    for path in part_of(folder).iterdir():
        os.truncate(path, path.stat().st_size // 2)


def _flip(folder: str) -> None:
    for path in part_of(folder).iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)


def _copy(folder: str) -> None:
    shutil.copytree(folder, folder + "2")
    shutil.rmtree(folder)
    os.rename(folder + "2", folder)


def _older(folder: str) -> None:
    path = Path(folder, "state.json")
    values = read_json(str(path))
    write_json(str(path), values | {"format": "cortex-index 0"})


def _elsewhere(folder: str) -> None:
    os.rename(folder, folder + "2")
    os.symlink(folder + "2", folder)


DAMAGES: dict[str, Callable[[str], None]] = {
    "truncated": _truncate,
    "flipped": _flip,
    "a copy": _copy,
    "an older version": _older,
    "a symbolic link": _elsewhere,
    "deleted": shutil.rmtree,
    "a part deleted": lambda folder: shutil.rmtree(part_of(folder)),
    "a file deleted": lambda folder: next(part_of(folder).glob("*.seg")).unlink(),
    "a file added": lambda folder: (part_of(folder) / "_MAIN_9.toc").write_bytes(b"cos\nsystem\n(S'true'\ntR."),
    "a file in its place": lambda folder: (shutil.rmtree(folder), Path(folder).write_text("x"), None)[2],
    "state gone": lambda folder: Path(folder, "state.json").unlink(),
    "state damaged": lambda folder: Path(folder, "state.json").write_text('{"format": 7, "parts": [3]}') and None,
    "state is no text": lambda folder: Path(folder, "state.json").write_bytes(b"\xff\0\xfe") and None,
    "writable by others": lambda folder: os.chmod(folder, 0o777),
    "left-overs": lambda folder: (Path(folder, "part-0badcafe").mkdir(), Path(folder, "x.tmp").touch(), None)[2],
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("fresh", [True, False])
def test_whatever_happened_to_the_files_the_answer_is_right(
    folder: str, store: Store, damage: str, fresh: bool
) -> None:
    """Damaged, foreign, old or missing: the next command finds what it should, and the index is sound again."""
    index = Index(folder)
    index.update(store.segments, store.load)
    assert found(index, "gizmo") == {"the gizmo"}
    DAMAGES[damage](folder)
    if fresh:
        index = Index(folder)
    store.add(note("a late gizmo"))
    index.update(store.segments, store.load)
    answer = index.search("gizmo", limit=99)
    assert ({hit.event.content for hit in answer.hits}, answer.notices) == ({"the gizmo", "a late gizmo"}, [])
    store.read.clear()
    again = Index(folder)
    again.update(store.segments, store.load)
    assert found(again, "gadget") == {"see the gadget", "the other gadget"} and store.read == []
    assert not os.path.islink(folder) and os.stat(folder).st_mode & 0o777 == 0o700


def test_damage_found_while_reading_is_mended(folder: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If an opened part turns out to be unreadable, the search itself makes the index anew."""
    index = Index(folder)
    index.update(store.segments, store.load)
    before = part_of(folder)
    monkeypatch.setattr(Part, "line", _fails_for(before.name))
    assert found(index, "gizmo") == {"the gizmo"}
    assert part_of(folder) != before


def _fails_for(name: str) -> Callable[[object, int], str]:
    original = Part.line

    def line(self: Part, document: int) -> str:
        if name in self.folder:
            raise ValueError("not a pickle")
        return original(self, document)

    return line  # type: ignore[return-value]


def test_a_full_disk_leaves_the_index_as_it_is(folder: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If an update cannot be written, the search answers from what is there and says why."""
    index = Index(folder)
    index.update(store.segments, store.load)
    store.add(note("a late gizmo"))

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(engine, "write", full)
    assert index.update(store.segments, store.load) == 0
    answer = index.search("gizmo")
    assert [hit.event.content for hit in answer.hits] == ["the gizmo"]
    assert "No space left" in answer.notices[0] and "1 of" in answer.notices[1]
    assert Index(folder + "2").update(store.segments, store.load) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_no_obstacle(folder: str, store: Store) -> None:
    """In a read-only place a temporary index serves, and one that is there is searched as it is."""
    os.makedirs(os.path.dirname(folder))
    os.chmod(os.path.dirname(folder), 0o500)
    try:
        index = Index(folder)
        index.update(store.segments, store.load)
        answer = index.search("gizmo")
        assert [hit.event.content for hit in answer.hits] == ["the gizmo"] and "temporary" in answer.notices[0]
    finally:
        os.chmod(os.path.dirname(folder), 0o700)


def test_a_foreign_folder_is_left_alone(folder: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What belongs to another user is neither read nor changed; a temporary index serves."""
    Index(folder).update(store.segments, store.load)
    before = sorted(os.listdir(folder))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    index = Index(folder)
    index.update(store.segments, store.load)
    monkeypatch.undo()
    assert sorted(os.listdir(folder)) == before and index.folder != folder
    assert "a temporary one is used" in index.notices[0]


def test_a_busy_index_is_searched_as_it_is(folder: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process updates, the search answers from what is there, says so, and says no MISS."""
    index = Index(folder)
    index.update(store.segments, store.load)
    store.add(note("a late gizmo"))
    monkeypatch.setattr(index_module, "PATIENCE", 0.0)
    with Lock(os.path.join(folder, "lock")) as lock:
        assert lock.acquire(0)
        assert index.update(store.segments, store.load) == 0
        answer = index.search("gizmo")
        assert [hit.event.content for hit in answer.hits] == ["the gizmo"]
        assert "another process" in answer.notices[0] and "1 of" in answer.notices[1]
        assert index.search("nothing like it").verdict == WEAK
    assert index.update(store.segments, store.load) == 1
