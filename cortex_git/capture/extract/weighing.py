"""How likely a passage is worth remembering, and as what: cues put together, with their reasons named."""

from __future__ import annotations

from functools import lru_cache

from cortex_git.capture.extract import cues as tables
from cortex_git.capture.extract import weights
from cortex_git.capture.extract.cues import Cues, words
from cortex_git.capture.extract.prose import sentences
from cortex_git.capture.patterns import IGNORECASE, lazy
from cortex_git.events import model

_NARRATION = lazy(
    r"\W*(?:(?:now|first|next|good|ok|okay|so|great|perfect|then),? )*"
    r"(?:let me|let's|i'll|i will|i'm going to|now i|i need to)\b",
    IGNORECASE,
)
_PLACE = lazy(r"\blines? \d", IGNORECASE)
_FIRST_PERSON = frozenset(("i", "i'll", "i've", "i'm", "we'll"))
_WILL = frozenset(("i'll", "we'll"))
_CURES = frozenset(("fix", "fixed", "fixes"))
_HOW = frozenset(("by", "since", "because", "which", "where", "so", "to"))
_AGREES = frozenset(("yes", "yeah", "yep", "ok", "okay", "sure", "agreed", "exactly", "both"))
_FEW = 4
_LITTLE = 0.6
_PRIOR = {model.KNOWLEDGE: 0.6, model.DECISION: 0.4}


class Weight:
    """What a passage comes to: `value` from 0 to 1, the `type` of event, the cues that were found."""

    __slots__ = ("cues", "type", "value")

    def __init__(self, value: float, type: str, cues: set[str]) -> None:
        self.value = value
        self.type = type
        self.cues = cues


@lru_cache(maxsize=2)
def _cues(by_person: bool) -> Cues:
    if by_person:
        phrases = {**tables.PERSON_FOR, **tables.PERSON_AGAINST}
        return Cues(phrases, weights.PERSON_FOR, weights.PERSON_AGAINST, weights.PERSON_EXPONENT)
    phrases = {**tables.ASSISTANT_FOR, **tables.ASSISTANT_AGAINST}
    return Cues(phrases, weights.ASSISTANT_FOR, weights.ASSISTANT_AGAINST, weights.ASSISTANT_EXPONENT)


def weigh_assistant(text: str, heading: str, item: bool) -> Weight:
    """The weight of a passage of an assistant. What only narrates the next action gives no evidence."""
    known = _cues(False)
    text = tables.unquoted(text)
    told = " ".join(s for s in sentences(text) if not _NARRATION.match(s))
    tokens = words(text)
    found = known.find(tokens)
    found |= _assistant_form(tokens, text, heading, item)
    if "placed" in found and not _PLACE.search(text):
        found.discard("placed")
    evidence = known.find(words(told)) if told != text else found
    cues = (found - known.evidence.keys()) | (evidence & known.evidence.keys())
    cues |= found & {"dash", "key heading", "applied"}
    cues |= _joint(tokens, found, cues)
    return Weight(known.weigh(cues), _type(cues), cues)


def _assistant_form(tokens: list[str], text: str, heading: str, item: bool) -> set[str]:
    """Cues that are no phrases."""
    plain = [word for word in tokens if word.isalpha() or "'" in word or "-" in word]
    first, opening = (plain[0] if plain else ""), " ".join(tokens[:2])
    stripped = text.rstrip(' *_"')
    forms = {
        "question": "?" in tokens,
        "ends asking": stripped.endswith("?"),
        "leads on": stripped.endswith(":"),
        "short": len(tokens) < 8,
        "dash": " — " in text or " – " in text,
        "item": item,
        "changes": first in tables.CHANGE_VERBS,
        "repaired": first == "fixed",
        "opens": any(opening == start or opening.startswith(start + " ") for start in tables.OPENINGS),
    }
    found = {name for name, holds in forms.items() if holds}
    if heading:
        head = set(words(heading))
        found.update(name for name, marks in tables.HEADINGS.items() if head & marks)
    return found


def _joint(tokens: list[str], found: set[str], cues: set[str]) -> set[str]:
    """Cues that say more together."""
    joint: set[str] = set()
    acts = not _FIRST_PERSON.isdisjoint(tokens)
    if "cause" in found and (not _WILL.isdisjoint(tokens) or "need" in found):
        joint.add("intended why")
    if not acts and found.isdisjoint(("narrates", "asks", "question", "guess")):
        joint.update(f"stated {name}" for cue, name in (("limit", "limit"), ("works", "way")) if cue in cues)
        if not {"you", "your", "user", "users"}.isdisjoint(tokens):
            joint.add("stated to you")
    if {"limit", "cause"} <= cues:
        joint.add("limit why")
    cure = next((place for place, word in enumerate(tokens) if word in _CURES), None)
    if cure is not None and not _HOW.isdisjoint(tokens[cure:]):
        joint.add("repaired how")
    return joint


def weigh_person(text: str, *, pasted: bool = False, asked: bool = False) -> Weight:
    """The weight of a sentence of a person. `asked`: it answers a question of the assistant."""
    known = _cues(True)
    tokens = words(text)
    found = known.find(tokens)
    if "errand" in found and "errand" not in known.find(tokens[:6]):
        found.discard("errand")
    count = len(tokens)
    agrees = bool(tokens) and tokens[0] in _AGREES
    forms = {
        "ends asking": text.rstrip(" *_").endswith("?"),
        "tiny": count < 4,
        "short": count < 9,
        "long": count > 40,
        "pasted": pasted,
        "names it": "§" in tokens or '"' in text,
        "corrects": count > 4 and "no" in tokens[:2],
        "accepts": agrees and count > 2 and found.isdisjoint(("errand",)) and "?" not in tokens,
        "answers": asked and agrees and 1 < count < 12 and found.isdisjoint(("errand", "asks")) and "?" not in tokens,
    }
    found.update(name for name, holds in forms.items() if holds)
    if {"asks", "ends asking"} <= found:
        found.add("asks outright")
    value = known.weigh(found)
    # Labelled texts hold too few of these to fit it: so few words decide nothing unless something was asked.
    return Weight(value if count >= _FEW or asked else value * _LITTLE, _type(found), found)


def _type(cues: set[str]) -> str:
    """The type of event that the cues speak for most."""
    votes = dict(_PRIOR)
    for type, given in tables.VOTES.items():
        votes[type] = votes.get(type, 0.0) + sum(given.get(name, 0.0) for name in cues)
    return max(votes, key=lambda type: (votes[type], type))


def narrates(sentence: str) -> bool:
    """Whether a sentence of an assistant only tells what it does next."""
    return _NARRATION.match(sentence) is not None
