"""What each cue counts for: made by `make calibrate`, which says how; the figures are in docs/evaluation.md.

`FOR` is the chance that a cue gives by itself, `AGAINST` the share that one leaves of what the
others come to. `EXPONENT` maps the outcome to a confidence, 0.5 being where precision and
recall were chosen.
"""

from __future__ import annotations

ASSISTANT_FOR = {
    "design": 0.31,
    "rule": 0.23,
    "cannot": 0.21,
    "limit": 0.24,
    "denies": 0.36,
    "root": 0.45,
    "cure": 0.29,
    "judged": 0.13,
    "deferred": 0.38,
    "told": 0.24,
    "agreed": 0.39,
    "only": 0.32,
    "whole": 0.17,
    "known": 0.08,
    "over": 0.31,
    "chosen": 0.24,
    "ought": 0.19,
    "cause": 0.16,
    "works": 0.16,
    "noted": 0.28,
    "applied": 0.12,
    "repaired": 0.27,
    "repaired how": 0.27,
    "intended why": 0.27,
    "stated limit": 0.18,
    "stated way": 0.06,
    "stated to you": 0.09,
    "limit why": 0.23,
    "dash": 0.23,
    "key heading": 0.10,
}
ASSISTANT_AGAINST = {
    "asks": 0.72,
    "question": 0.65,
    "ends asking": 0.70,
    "guess": 0.92,
    "status": 0.97,
    "looking": 0.73,
    "now": 0.95,
    "narrates": 0.84,
    "need": 0.91,
    "option": 0.95,
    "settled": 0.82,
    "placed": 1.00,
    "changes": 0.93,
    "opens": 0.90,
    "short": 0.83,
    "leads on": 0.85,
    "summary heading": 0.74,
    "option heading": 0.83,
    "item": 0.91,
}
ASSISTANT_EXPONENT = 0.838

PERSON_FOR = {
    "let's": 0.36,
    "use": 0.34,
    "ought": 0.62,
    "over": 0.38,
    "bound": 0.40,
    "takes up": 0.45,
    "rejects": 0.50,
    "for now": 0.37,
    "cause": 0.38,
    "fact": 0.39,
    "rule": 0.31,
    "wish": 0.23,
    "shown": 0.19,
    "accepts": 0.00,
    "corrects": 0.29,
    "names it": 0.27,
    "answers": 0.26,
}
PERSON_AGAINST = {
    "asks": 0.79,
    "errand": 0.88,
    "report": 0.84,
    "past": 0.89,
    "unsure": 0.84,
    "ends asking": 0.82,
    "asks outright": 0.67,
    "tiny": 1.00,
    "short": 1.00,
    "long": 0.71,
    "pasted": 0.63,
}
PERSON_EXPONENT = 0.954
