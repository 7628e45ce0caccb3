"""Fit the weights of the cues and write them to cortex_git/capture/extract/weights.py (`make calibrate`).

Besides the labelled texts beside the project it uses further.jsonl: the cues, without the words, of
labelled texts of about ninety other repositories. Each figure is for repositories that were left out
of the fit that it judges.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import texts
from fit import Weights, fit, level

from cortex_git.capture.extract import cues as tables
from cortex_git.capture.extract.prose import sentences
from cortex_git.capture.extract.weighing import weigh_assistant, weigh_person

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent.parent / "cortex_git" / "capture" / "extract" / "weights.py"
FURTHER = HERE / "further.jsonl"
PASTED = 1200
"""From how many characters on a prompt counts as pasted."""


class Example:
    """The cues of a labelled text, and the repository that it is from."""

    def __init__(self, cues: set[str], repo: str, durable: bool) -> None:
        self.cues = cues
        self.repo = repo
        self.durable = durable


class Table:
    """What is fitted: the names of the cues, the strength of the penalty, and the recall that confidence 0.5 gives."""

    def __init__(self, name: str, evidence: Sequence[str], against: Sequence[str], penalty: float, recall: float):
        self.name = name
        self.evidence = evidence
        self.against = against
        self.penalty = penalty
        self.recall = recall

    def fit(self, examples: Sequence[Example]) -> Weights:
        return fit([e.cues for e in examples], [e.durable for e in examples], self.evidence, self.against, self.penalty)


ASSISTANT = Table("ASSISTANT", list(tables.ASSISTANT_FOR), list(tables.ASSISTANT_AGAINST), 30, 0.42)
PERSON = Table("PERSON", list(tables.PERSON_FOR), list(tables.PERSON_AGAINST), 10, 0.52)


def main() -> int:
    """Fit both tables and write them."""
    if not texts.present():
        print("the labelled texts are not here; nothing was changed")
        return 0
    written = [_HEAD]
    for table, gold, more, cues in (
        (ASSISTANT, texts.gold(), texts.more("assistant"), of_assistant),
        (PERSON, texts.prompts(), texts.more("prompt"), of_person),
    ):
        judged = [Example(cues(text), text.repo, text.durable) for text in gold]
        examples = judged + [Example(cues(text), text.repo, text.durable) for text in more] + _further(table.name)
        values = _left_out(table, examples)
        point = level(values, [e.durable for e in examples], table.recall)
        _tell(table.name + ", all texts", values, examples, point)
        _tell(table.name + ", gold", values[: len(judged)], judged, point)
        written.append(_rendered(table, table.fit(examples), point))
    TARGET.write_text("\n".join(written), encoding="utf-8")
    return 0


def of_assistant(text: texts.Text) -> set[str]:
    """The cues of a passage."""
    return weigh_assistant(text.text.lstrip("-*+• ") if text.item else text.text, text.heading, text.item).cues


def of_person(text: texts.Text) -> set[str]:
    """The cues of that sentence of a prompt which says most."""
    pasted = len(text.text) > PASTED
    weights = [weigh_person(sentence, pasted=pasted) for sentence in sentences(" ".join(text.text.split()))]
    return max(weights, key=lambda weight: weight.value).cues if weights else set()


def _left_out(table: Table, examples: Sequence[Example]) -> list[float]:
    """The value of each example by weights that were fitted without its repository (in ten groups)."""
    groups = {repo: number % 10 for number, repo in enumerate(sorted({e.repo for e in examples}))}
    values = [0.0] * len(examples)
    for group in range(10):
        weights = table.fit([e for e in examples if groups[e.repo] != group])
        for place, example in enumerate(examples):
            if groups[example.repo] == group:
                values[place] = weights.value(example.cues)
    return values


def _tell(name: str, values: Sequence[float], examples: Sequence[Example], point: float) -> None:
    shown = [e.durable for value, e in zip(values, examples, strict=True) if value >= point]
    durable = sum(e.durable for e in examples)
    print(
        f"{name}: {len(examples)} texts, {durable} durable; shown {len(shown)}, "
        f"precision {sum(shown) / max(1, len(shown)):.2f}, recall {sum(shown) / max(1, durable):.2f}"
    )


def _further(name: str) -> list[Example]:
    rows = map(json.loads, FURTHER.read_text(encoding="utf-8").splitlines())
    return [Example(set(row["cues"]), row["repo"], row["durable"]) for row in rows if row["table"] == name]


_HEAD = '''"""What each cue counts for: made by `make calibrate`, which says how; the figures are in docs/evaluation.md.

`FOR` is the chance that a cue gives by itself, `AGAINST` the share that one leaves of what the
others come to. `EXPONENT` maps the outcome to a confidence, 0.5 being where precision and
recall were chosen.
"""

from __future__ import annotations
'''


def _rendered(table: Table, weights: Weights, point: float) -> str:
    def numbers(name: str, values: dict[str, float]) -> str:
        lines = "".join(f'    "{cue}": {value:.2f},\n' for cue, value in values.items())
        return f"{table.name}_{name} = {{\n{lines}}}\n"

    exponent = math.log(0.5) / math.log(min(0.99, max(0.01, point)))
    return (
        numbers("FOR", weights.evidence)
        + numbers("AGAINST", weights.against)
        + f"{table.name}_EXPONENT = {exponent:.3f}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
