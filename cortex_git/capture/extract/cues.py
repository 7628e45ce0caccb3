"""What in a sentence speaks for its being worth remembering, and what speaks against: the tables.

A cue is a set of phrases. Each cue that speaks for a passage is a chance of its own that it
is worth keeping; one that speaks against takes a share of what they come to. What each counts
for is in weights.py. VOTES say what kind of memory it is.
"""

from __future__ import annotations

from cortex_git.capture.patterns import lazy
from cortex_git.events.model import DECISION, KNOWLEDGE, PLAN, PREFERENCE, REJECTED, RESOLVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = Mapping[str, str]

_WORD = lazy(r"§|[a-z]+(?:['-][a-z]+)*|\d+|\?|✅")
_CODE = lazy(r"`[^`]*`")
_QUOTED = lazy(r'"[^"\n]*"|“[^”\n]*”')

_LIMITS = (
    "can't|cannot|won't|doesn't support|does not support|no longer|never|impossible|unsupported|no way to|not supported"
)
_CAUSES = (
    "because|since|due to|so that|which means|this means|that means|meaning|which is why|that's why|the reason|"
    "otherwise|as a result|to avoid|to match|to keep|to prevent"
)

ASSISTANT_FOR: Table = {
    "design": ("by design|intentional|intentionally|on purpose|deliberate|deliberately|acceptable|"
                     "conscious choice|design choice|design decision"),
    "rule": ("should not|shouldn't|must not|must never|never|always|must|required to|not allowed|don't need|"
                   "has to|have to|need to be|needs to be|mustn't|off limits|forbidden|mandatory"),
    "cannot": _LIMITS,
    "limit": (_LIMITS + "|isn't supported|not available|unable to|only work|only works|doesn't have|doesn't|"
                    "does not|don't|isn't|aren't|wasn't|weren't|has no|have no|there is no|there's no|lacks"),
    "denies": "not",
    "root": ("root cause|the issue is|the issue was|the real issue|the problem is|the problem was|the bug is|"
                   "the bug was|the culprit|the cause is|the cause was|the reason is|the error is|the actual issue|"
                   "the main issue|turns out|found the issue|found the problem|found the bug|failures were caused|"
                   "failure was caused|caused by|stems from|comes from|happens because|fails because|failed because|"
                   "broke because|breaks because|so the problem|the failures"),
    "cure": ("the fix is|the fix here is|cleanest fix|simplest fix|right fix|proper fix|the fix was|fix is to|"
                   "the solution is|the workaround|workaround is|fixed by|fix by|solved by|cured by|resolved by"),
    "judged": ("cleanest|simplest|simpler|cleaner|pragmatic|overkill|heavier|tradeoff|trade-off|trade-offs|"
                     "tradeoffs|best practice|best practices|fatal flaw|is wrong|better approach|better for|"
                     "more accurate|idiomatic|safer|circular|too complex|not worth|unnecessary|more robust|brittle|"
                     "fragile"),
    "deferred": ("deferred|deferring|out of scope|follow-up|followup|future|revisit|noted for|defer|postponed|"
                       "later phase|for later|not now"),
    "told": ("per your|per the|per claude|you said|you want|you wanted|you'd prefer|your instruction|"
                   "your instructions|dev philosophy|convention|conventions|established|guidelines|guideline|policy|"
                   "per memory|per plan|your feedback|you asked|you mentioned|you prefer|rules"),
    "agreed": ("you're right|you are right|good call|good point|got it|exactly|understood|"
                     "that's an important|good catch|makes sense|agreed|fair point"),
    "only": "only",
    "whole": "the only|already|both|same|every|all of",
    "known": "pre-existing|preexisting|expected|unrelated|existing pattern|known issue|known pattern",
    "over": "instead of|rather than|in favor of|in favour of|as opposed to|over a",
    "chosen": ("decided|chose|chosen|going with|went with|opted|settled on|sticking with|keep|keeping|kept|"
                     "we'll use|will use|i'll use|removed in favor|replaced by"),
    "ought": "should",
    "cause": _CAUSES,
    "works": ("require|requires|required|depends on|depend on|derived from|determined by|relies on|rely on|"
                    "expects|expect|stored in|silently|uses|use|returns|return|goes to|falls back|handles|handle|"
                    "shared|calculates|calls|writes|reads|runs|treats|ignores|overrides|defaults to"),
    "noted": "note|important|careful|caveat|gotcha|keep in mind|remember|non-obvious|worth knowing|one thing",
    "applied": ("let me fix|let me update|let me add|let me use|let me revert|let me remove|let me move|"
                      "let me rename|let me simplify|let me also fix|let me instead|let me restart"),
    "repaired": "",
    "repaired how": "",
    "intended why": "",
    "stated limit": "",
    "stated way": "",
    "stated to you": "",
    "limit why": "",
    "dash": "",
    "key heading": "",
}  # fmt: skip

ASSISTANT_AGAINST: Table = {
    "asks": ("would you|want me to|should i|do you|shall i|you prefer|what do you think|which approach|"
                   "which scope|let me know|would you like"),
    "question": "",
    "ends asking": "",
    "guess": ("might|may|could|would|likely|probably|perhaps|maybe|possibly|seem|seems|appears|if you|guess|"
                    "i think|i'd|suggest|suspect"),
    "status": ("pass|passes|passed|passing|pushed|committed|complete|completed|successfully|done|all tests|"
                     "ready|working|resolved|succeeds|succeeded|green|finished"),
    "looking": ("let me check|let me also check|let me look|let me see|let me verify|let me read|"
                      "let me understand|let me investigate|let me find|let me examine|let me trace|let me search|"
                      "let me get|let me confirm|let me dig|let me try|let me explore|let me re-read|let me run"),
    "now": "now",
    "narrates": "let me|let's|i'll start",
    "need": "i need to|i should|we need to|i want to",
    "option": "option|options|approach a|alternatively|could be|either|phase|step|task|proposal|suggestion",
    "settled": "fine|that's fine|it's fine|as expected|correct behavior|correct behaviour|same error|no action",
    "placed": "line|lines",
    "changes": "",
    "opens": "",
    "short": "",
    "leads on": "",
    "summary heading": "",
    "option heading": "",
    "item": "",
}  # fmt: skip

PERSON_FOR: Table = {
    "let's": "let's|lets|let us",
    "use": "use|using|go with|going with|stick with|keep|switch to|prefer|i'd prefer|i prefer|i'd rather",
    "ought": "should|shouldn't|must|needs to be|need to be|has to be|have to be|ought to",
    "over": "instead of|rather than|in favor of|in favour of|not just|over",
    "bound": "only|just the|always|never|everywhere|no longer|any more|anymore|don't|do not|without|not|avoid",
    "takes up": ("recommendation|recommendations|suggestion|your approach|your proposal|option|follow through|"
                       "that approach"),
    "rejects": ("too much|to much|overkill|not great|implausible|doesn't make sense|bad idea|don't like|"
                      "not a fan|too complex|unnecessary|not needed|don't need|not helpful|wrong|no need|"
                      "over-engineered|confusing"),
    "for now": "for now|later|eventually|follow up|follow-up|todo|backlog|at some point|down the road|future",
    "cause": "because|since|so that|otherwise|the reason",
    "fact": "no longer requires|no longer|requires|by default|is already|works the same|it works",
    "rule": ("whenever|every time|in general|from now on|convention|policy|rule|rules|prefer|standard|"
                   "terminology"),
    "wish": "i think we|we should|we must|i want|i'd like|we want",
    "shown": "hidden|named|called|renamed|displayed|appear",
    "accepts": "",
    "corrects": "",
    "names it": "",
    "answers": "",
}  # fmt: skip

PERSON_AGAINST: Table = {
    "asks": ("can you|could you|can we|could we|would you|do we|do you|does|is there|are there|are we|is it|"
                   "did you|have there|what|how|why|where|which|tell me|explain|double check|evaluate|ensure"),
    "errand": ("fix|commit|push|pr|update|run|address|resume|continue|launch|generate|merge|rebase|lint|test|"
                     "tests|changelog|deploy|look at|pull|release|install|create|go back|checkout|check out|"
                     "switch back|deal with|start|take a look|move on|work on|discuss|talk|try|stage|see"),
    "report": ("error|issue|issues|bug|failing|fails|failed|still|broken|not seeing|doesn't work|problem|"
                     "conflicts|crash|i got"),
    "past": "i have|i've|i added|i made|we merged|was already|done|completed|finished|already merged",
    "unsure": "not sure|wondering|maybe|perhaps|might|could|alternatives|i guess|hmm|thoughts|any other",
    "ends asking": "",
    "asks outright": "",
    "tiny": "",
    "short": "",
    "long": "",
    "pasted": "",
}  # fmt: skip

VOTES: Mapping[str, Mapping[str, float]] = {
    DECISION: {
        "design": 3.0, "over": 1.0, "judged": 0.8, "chosen": 1.0, "agreed": 0.6, "intended why": 1.5, "ought": 0.7,
        "need": 0.5, "applied": 0.3, "let's": 1.5, "use": 1.0, "bound": 0.5, "takes up": 1.5, "wish": 0.7,
        "shown": 0.7, "accepts": 1.0, "corrects": 1.0, "answers": 2.0, "names it": 0.5,
    },
    KNOWLEDGE: {
        "limit": 0.8, "cannot": 0.8, "root": 1.4, "works": 0.8, "known": 1.2, "only": 0.5, "whole": 0.4, "cause": 0.3,
        "stated limit": 0.5, "stated way": 0.5, "noted": 0.8, "fact": 1.8, "looking": 0.4,
    },
    RESOLVED: {"repaired": 3.0, "cure": 2.2, "repaired how": 1.2, "applied": 0.5},
    PREFERENCE: {"told": 1.4, "stated to you": 0.8, "rule": 0.3},
    PLAN: {"deferred": 3.0, "for now": 1.3},
    REJECTED: {"rejects": 3.0},
}  # fmt: skip

_REJECTING = (
    "fatal flaw|is wrong|already tried|tried this|ruled out|won't work|not viable|dead end|decided against|"
    "implausible|overkill|rejected"
)
OPENINGS = (
    "let me", "now let", "now i", "good", "perfect", "great", "all", "looking at", "i'll", "excellent", "now", "okay",
    "ok", "here's", "here are",
)  # fmt: skip
CHANGE_VERBS = frozenset((
    "added", "updated", "removed", "created", "changed", "renamed", "replaced", "implemented", "run", "all", "now",
    "simplified", "tightened", "reduced", "moved", "applied", "tested", "verified", "documented", "improved",
))  # fmt: skip
HEADINGS = {
    "summary heading": frozenset(
        ("summary", "change", "changes", "status", "complete", "completed", "result", "results")
    ),
    "option heading": frozenset((
        "option", "options", "approach", "alternative", "alternatives", "question", "questions", "suggestion",
        "suggestions", "next", "test",
    )),
    "key heading": frozenset((
        "key", "decision", "decisions", "important", "note", "notes", "why", "how", "guideline", "guidelines",
        "architecture", "design", "pattern", "observations", "refinements", "deferred", "later", "constraint",
        "constraints",
    )),
}  # fmt: skip


def unquoted(text: str) -> str:
    """A text without what it quotes from somebody else."""
    return _QUOTED.sub(' "" ', text) if '"' in text or "“" in text else text


def words(text: str) -> list[str]:
    """The words of a text in lower case; inline code is one word `§`."""
    return _WORD.findall(_CODE.sub(" § ", text).replace("’", "'").lower())


class Cues:
    """Tables made ready: `find` gives the cues of a passage, `weigh` what they come to."""

    def __init__(
        self, phrases: Table, evidence: Mapping[str, float], against: Mapping[str, float], exponent: float
    ) -> None:
        self.evidence = evidence
        self._against = against
        self._exponent = exponent
        self._index: dict[str, list[tuple[list[str], str]]] = {}
        for name, alternatives in [*phrases.items(), ("rejects", _REJECTING)]:
            for phrase in filter(None, alternatives.split("|")):
                parts = phrase.split()
                self._index.setdefault(parts[0], []).append((parts, name))

    def find(self, tokens: list[str]) -> set[str]:
        """The cues whose phrases occur."""
        found: set[str] = set()
        for position, word in enumerate(tokens):
            for parts, name in self._index.get(word, ()):
                if len(parts) == 1 or tokens[position : position + len(parts)] == parts:
                    found.add(name)
        return found

    def weigh(self, cues: set[str]) -> float:
        """What the cues come to, 0 to 1."""
        doubt = share = 1.0
        for name in cues:
            doubt *= 1 - self.evidence.get(name, 0.0)
            share *= self._against.get(name, 1.0)
        return float(((1 - doubt) * share) ** self._exponent)
