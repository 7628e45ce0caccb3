"""Fitting the weights of cues: each cue that speaks for a text is a chance of its own, each against takes a share.

The probability of a text with the cues F for it and A against it is
`(1 - prod(1 - w[f] for f in F)) * prod(s[a] for a in A)`: a noisy-or (Pearl, 1988) whose outcome
is thinned by independent inhibitors. With `w = 1 - exp(-u)` and `s = exp(-v)` for u, v >= 0 the
likelihood is smooth in u and v; it is maximised, less an L2 penalty, by projected gradient
ascent with Adam's step sizes (Kingma and Ba, 2015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

STEPS = 150
_RATE = 0.06
_TOP = 3.0


class Weights:
    """`evidence` is each cue's chance, `against` the share that each leaves."""

    def __init__(self, evidence: dict[str, float], against: dict[str, float]) -> None:
        self.evidence = evidence
        self.against = against

    def value(self, cues: set[str]) -> float:
        """The probability of a text with these cues."""
        doubt = share = 1.0
        for cue in cues:
            doubt *= 1 - self.evidence.get(cue, 0.0)
            share *= self.against.get(cue, 1.0)
        return (1 - doubt) * share


class _Parameters:
    """One sort of parameters with the state of their ascent."""

    def __init__(self, names: Sequence[str], start: float) -> None:
        self.start = start
        self.values = dict.fromkeys(names, start)
        self._mean = dict.fromkeys(names, 0.0)
        self._square = dict.fromkeys(names, 0.0)

    def step(self, gradient: dict[str, float], penalty: float, count: int) -> None:
        for name, value in self.values.items():
            slope = gradient[name] + penalty * (value - self.start)
            mean = self._mean[name] = 0.9 * self._mean[name] + 0.1 * slope
            square = self._square[name] = 0.99 * self._square[name] + 0.01 * slope * slope
            size = mean / (1 - 0.9**count) / (math.sqrt(square / (1 - 0.99**count)) + 1e-6)
            self.values[name] = min(_TOP, max(0.0, value - _RATE * size))


def fit(
    cues: Sequence[set[str]],
    durable: Sequence[bool],
    evidence: Sequence[str],
    against: Sequence[str],
    penalty: float,
) -> Weights:
    """The weights that make the labels most likely. `penalty` draws each towards that of an average cue."""
    chances, shares = _Parameters(evidence, 0.3), _Parameters(against, 0.2)
    rows = [
        ([c for c in found if c in chances.values], [c for c in found if c in shares.values], label)
        for found, label in zip(cues, durable, strict=True)
    ]
    for count in range(1, STEPS + 1):
        up, down = dict.fromkeys(evidence, 0.0), dict.fromkeys(against, 0.0)
        for speaking, denying, label in rows:
            doubt = math.exp(-sum(chances.values[c] for c in speaking))
            share = math.exp(-sum(shares.values[c] for c in denying))
            value = min(1 - 1e-4, max(1e-4, (1 - doubt) * share))
            slope = (value - label) / (value * (1 - value))
            for c in speaking:
                up[c] += slope * share * doubt
            for c in denying:
                down[c] -= slope * value
        chances.step(up, penalty, count)
        shares.step(down, penalty, count)
    return Weights(
        {name: 1 - math.exp(-u) for name, u in chances.values.items()},
        {name: math.exp(-v) for name, v in shares.values.items()},
    )


def level(values: Sequence[float], durable: Sequence[bool], recall: float) -> float:
    """The value above which `recall` of the durable texts lie."""
    held = sorted((value for value, label in zip(values, durable, strict=True) if label), reverse=True)
    return held[max(0, math.ceil(recall * len(held)) - 1)]
