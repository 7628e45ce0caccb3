"""How well the search finds what is meant: on decision records, on probes among 10,000 notes, on generated cases."""

from __future__ import annotations

import json
import random
import runpy
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, shared
from search_data import START, Maker, Store

from cortex_git.digest import sha1_hex
from cortex_git.env import rfc3339
from cortex_git.events import model
from cortex_git.events.model import Event
from cortex_git.search.answer import MISS
from cortex_git.search.index import Index

NONSENSE = (ROOT / "tests" / "data" / "nonsense_queries.txt").read_text("utf-8").splitlines()
PROBES = json.loads((ROOT / "tests" / "data" / "search_probes.json").read_text("utf-8"))


def note(text: str, number: int = 0) -> Event:
    """An event that says a text."""
    return Event(model.KNOWLEDGE, text, time=rfc3339(START + number), session=str(number))


class Cases:
    """Notes with an identifier, path, error code or rare word each, and the queries that must find them."""

    def __init__(self) -> None:
        chance = random.Random(23)
        maker = Maker(31)
        self.exact: list[tuple[str, Event]] = []
        self.slips: list[tuple[str, Event]] = []
        for number in range(75):
            a, b, c = (chance.choice(maker.rare) for _ in range(3))
            names = [
                f"{a}_{b}_{number}",
                f"{a}{b.capitalize()}{c.capitalize()}",
                f"lib/{a}/{b}.py",
                f"{c[:3].upper()}-{7000 + number}",
            ]
            for name in names:
                event = note(
                    f"{chance.choice(maker.rare)} {name} {chance.choice(maker.rare)} was seen", len(self.exact)
                )
                self.exact.append((name, event))
        for number in range(100):
            word, other = chance.choice(maker.rare), chance.choice(maker.rare)
            event = note(f"the {word} depends on {other}", 1000 + number)
            self.slips.append((_slip(chance, word), event))
        for at in range(0, 300, 6):
            self.exact.append((self.exact[at][1].id[: chance.choice([7, 10, 16])], self.exact[at][1]))


def _slip(chance: random.Random, word: str) -> str:
    at = chance.randrange(1, len(word) - 1)
    letter = chance.choice(string.ascii_lowercase)
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return chance.choice([word[:at] + word[at + 1 :], word[:at] + letter + word[at:], swapped])


CASES = Cases()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of 10,000 notes of all kinds, the probes and the generated cases."""
    store = Store(Maker(2).segments(10_000, meant=1.0))
    store.add(*(note(probe["note"], number) for number, probe in enumerate(PROBES)))
    store.add(*(event for _, event in CASES.exact[:300]), *(event for _, event in CASES.slips))
    index = Index(str(tmp_path_factory.mktemp("large") / "index"))
    index.update(store.segments, store.load)
    yield index
    index.close()


@pytest.mark.parametrize("probe", PROBES, ids=[probe["query"] for probe in PROBES])
def test_each_probe_is_in_the_top_five(large: Index, probe: dict[str, str]) -> None:
    """Each kind of query finds its note among ten thousand."""
    assert probe["note"] in [hit.event.content for hit in large.search(probe["query"], limit=5).hits]


def test_exact_queries_find_first(large: Index) -> None:
    """Identifiers, paths, error codes and ids find their event at rank 1 in at least 98 of 100 cases."""
    first = [(large.search(query).hits or [None])[0] for query, _ in CASES.exact]
    right = sum(hit is not None and hit.id == event.id for hit, (_, event) in zip(first, CASES.exact, strict=True))
    assert right >= 0.98 * len(CASES.exact), f"{right} of {len(CASES.exact)}"


def test_one_wrong_letter_is_forgiven(large: Index) -> None:
    """A word with one letter too few, too many or swapped finds its note in the top five in 80 of 100 cases."""
    right = sum(event.id in {hit.id for hit in large.search(query, limit=5).hits} for query, event in CASES.slips)
    assert right >= 80, right


def test_nonsense_finds_nothing_among_many(large: Index) -> None:
    """Of 100 queries about something else, at least 95 find nothing among ten thousand notes."""
    assert sum(large.search(query).verdict == MISS for query in NONSENSE) >= 95


def test_the_index_is_small(large: Index) -> None:
    """Ten thousand notes take no more than 12 MB."""
    assert sum(path.stat().st_size for path in Path(large.folder).rglob("*")) <= 12_000_000


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[Index, dict[str, str]]:
    """An index of the decision records, and their names by the ids of their events."""
    lines = shared("retrieval/corpus.jsonl").read_text("utf-8").splitlines()
    values = [json.loads(line) for line in lines]
    events = [Event(model.DECISION, v["text"], time=rfc3339(START), session=v["_id"]) for v in values]
    segments = {sha1_hex(str(at).encode()): events[at : at + 20] for at in range(0, len(events), 20)}
    index = Index(str(tmp_path_factory.mktemp("records") / "index"))
    index.update(segments, Store(segments).load)
    return index, {event.id: value["_id"] for event, value in zip(events, values, strict=True)}


def test_decision_records_are_found_as_well_as_measured(records: tuple[Index, dict[str, str]]) -> None:
    """On the decision records nDCG@10 is at least .615, with the floor that keeps nonsense out."""
    index, names = records
    score = runpy.run_path(str(shared("retrieval/score.py")))
    queries, judged = score["load"](str(shared("retrieval")))
    run = {
        id: [(names[hit.id], hit.score) for hit in index.search(query["text"], limit=10).hits]
        for id, query in queries.items()
    }
    _, recall, _, ndcg = score["mean"](list(score["evaluate"](run, queries, judged, list(queries)).values()))
    assert ndcg >= 0.615
    assert recall >= 0.735


def test_nonsense_finds_nothing_in_decision_records(records: tuple[Index, dict[str, str]]) -> None:
    """Of 100 queries about something else, at least 95 find nothing in prose about software."""
    assert sum(records[0].search(query).verdict == MISS for query in NONSENSE) >= 95
