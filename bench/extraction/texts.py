"""The labelled texts that extraction is calibrated and judged on. They lie beside the project and are no part of it.

`gold/` holds passages of assistants and prompts of people with their labels. Of the passages in
`transcripts/` more are labelled here, in labels.tsv: by a digest of their words, without the words.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cortex_git.capture import transcript, units
from cortex_git.capture.extract.prose import passages

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = ROOT.parent / "shared"
LABELS = Path(__file__).with_name("labels.tsv")
KINDS = {
    "decision": "decision_made",
    "rejected": "approach_rejected",
    "learned": "knowledge_acquired",
    "fixed": "error_resolved",
    "preference": "preference_noted",
    "plan": "plan_created",
}
_MARKERS = "-*+• 0123456789.)"


class Text:
    """One labelled passage or prompt. `durable` is whether it is worth showing to a later session."""

    def __init__(self, text: str, repo: str, label: str, durable: bool, heading: str = "", item: bool = False) -> None:
        self.text = text
        self.repo = repo
        self.label = label
        self.durable = durable
        self.heading = heading
        self.item = item


def present() -> bool:
    """Whether the labelled texts are here."""
    return (SHARED / "gold").is_dir()


def gold() -> list[Text]:
    """The labelled passages of assistants."""
    return [
        Text(row["text"], row["repo"], row["label"], row["durable"], row["heading"], row["unit"] == "item")
        for row in _rows(SHARED / "gold" / "dev.jsonl")
    ]


def prompts() -> list[Text]:
    """The labelled prompts of people."""
    return [
        Text(row["text"], row["repo"], row["label"], row["durable"])
        for row in _rows(SHARED / "gold" / "user_prompts_dev.jsonl")
    ]


def more(kind: str) -> list[Text]:
    """Passages (`assistant`) or prompts (`prompt`) of the transcripts, as labels.tsv has them."""
    labels = _labels()
    known = {digest(text.text) for text in (gold() if kind == units.ASSISTANT else prompts())}
    found: dict[str, Text] = {}
    for repo, unit in _units():
        if unit.kind != kind:
            continue
        for text, heading, item in _pieces(unit):
            name = digest(text)
            if name in labels and name not in known:
                found.setdefault(name, Text(text, repo, "", labels[name], heading, item))
    return list(found.values())


def digest(text: str) -> str:
    """The name of a passage in labels.tsv: a digest of its words, whatever marks the list item."""
    words = " ".join(text.split()).lstrip(_MARKERS)
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def _pieces(unit: units.Unit) -> Iterator[tuple[str, str, bool]]:
    if unit.kind == units.PROMPT:
        yield unit.text, "", False
        return
    for passage in passages(unit.text):
        yield passage.text, passage.heading, passage.item


def _units() -> Iterator[tuple[str, units.Unit]]:
    folder = SHARED / "transcripts"
    with (folder / "INDEX.tsv").open(encoding="utf-8") as index:
        rows = list(csv.DictReader(index, delimiter="\t"))
    for row in rows:
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            file.write(gzip.decompress((folder / row["file"]).read_bytes()))
            file.flush()
            offset = -1
            reading = transcript.read(file.name, 0)
            while reading.offset != offset:
                yield from ((row["repo"], unit) for unit in reading.units)
                offset = reading.offset
                reading = transcript.read(file.name, offset)


def _labels() -> dict[str, bool]:
    lines = LABELS.read_text(encoding="utf-8").splitlines()
    return {name: mark == "durable" for name, mark in (line.split("\t") for line in lines)}


def _rows(path: Path) -> list[dict[str, object]]:  # type: ignore[type-arg]
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
