"""Secrets out of a text and of an event, before anything is written.

What is taken out is replaced by `[REDACTED:kind]`. Commits, hashes, UUIDs, images, paths and
placeholders stay. The finders are imported with the first text, their expressions compiled when
first needed: a hook that redacts nothing pays for none of them.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_git.events.literals import Span
    from cortex_git.events.model import Event

_PASSES = 20  # each takes something out; only a user's own pattern can come near this

_SECRET_FILES = (
    r"(?:.*/)?(?:"
    r"\.env(?:rc|\.[\w.-]+)?|[\w.-]+\.env|\.?netrc|_netrc|\.npmrc|\.yarnrc(?:\.yml)?|\.pypirc|\.pgpass|\.my\.cnf|\.mylogin\.cnf"
    r"|\.htpasswd|\.git-credentials|\.dockercfg|\.docker/config\.json|\.terraformrc|terraform\.rc|\.vault-token|\.boto"
    r"|\.s3cfg|rclone\.conf|\.kube/config|kubeconfig|\.azure/.*\.json|gh/hosts\.yml|\.config/gcloud/.*|\.aws/.*|\.ssh/.*"
    r"|\.gnupg/.*|run/secrets/.*|\.secrets?(?:/.*|\.\w+)?|id_(?:rsa|dsa|ecdsa|ed25519)[\w.-]*|shadow|master\.key"
    r"|\.?credentials(?:\.(?:json|ya?ml|ini|toml|csv|xml|enc|db|properties|txt))?"
    r"|secrets?\.(?:json|ya?ml|ini|toml|env|xml|properties|txt|enc)"
    r"|(?:service[_-]?account|client[_-]secret|application_default_credentials)[\w.-]*\.json"
    r"|[^/]*\.(?:pem|key|p8|p12|pfx|ppk|jks|jceks|keystore|kdbx?|keychain(?:-db)?|ovpn|asc|gpg|age|tfvars|tfstate)"
    r"|[^/]*\.(?:tfvars\.json|tfstate\.backup)"
    r")"
)
_SAMPLE_FILES = r"(?:.*/)?(?:[^/]*[._-](?:example|sample|template|tmpl|dist|defaults?|schema)(?:\.\w+)?|[^/]*\.pub)"


def redact(text: str, extra: Sequence[str] = ()) -> str:
    """The text without its secrets; redacting the result again changes nothing.

    `extra` holds regular expressions of the user's own: what one matches, or its first group if it
    has any, is taken out too. One that is no regular expression is passed over; see `faults`.
    """
    patterns = [re.compile(source) for source in extra if not faults([source])]
    if len(text) < 6 and not patterns:
        return text
    for _ in range(_PASSES):
        clean = _replaced(text, [*_secrets(text), *_extra(text, patterns)])
        if clean == text:
            break
        text = clean
    return text


def faults(extra: Sequence[str]) -> list[str]:
    """What is wrong with regular expressions of the user's own, a sentence each."""
    found = []
    for source in extra:
        try:
            re.compile(source)
        except (re.error, RecursionError, OverflowError) as error:
            found.append(f"{source!r} is no regular expression: {error}")
    return found


def redact_event(event: Event, extra: Sequence[str] = ()) -> Event:
    """The event without secrets in what it tells; its id is that of the clean fields."""
    clean = {
        "content": redact(event.content, extra),
        "reason": redact(event.reason, extra),
        "topic": redact(event.topic, extra),
        "alternatives": tuple(redact(item, extra) for item in event.alternatives),
        "files": tuple(redact(item, extra) for item in event.files),
        "source": {name: redact(value, extra) for name, value in event.source.items()},
    }
    changes = {name: value for name, value in clean.items() if value != getattr(event, name)}
    return event.replace(**changes, id="") if changes else event


def is_sensitive_path(path: str) -> bool:
    """Whether a file is one that holds secrets, so that its content is dropped before it is looked at."""
    name = path.replace("\\", "/")
    return bool(re.fullmatch(_SECRET_FILES, name, re.I)) and not re.fullmatch(_SAMPLE_FILES, name, re.I)


def _secrets(text: str) -> Iterator[Span]:
    from cortex_git.events.assigned import assigned
    from cortex_git.events.commands import commands
    from cortex_git.events.encoded import encoded
    from cortex_git.events.keyblocks import key_blocks
    from cortex_git.events.places import placed
    from cortex_git.events.secrets import shapes

    raw = text.encode("latin-1", "replace")  # one byte a character, so that places are the same in both
    low = raw.lower()
    yield from key_blocks(text, low)
    yield from shapes(text, raw)
    yield from assigned(text, low)
    yield from placed(text, low)
    yield from commands(text, low)
    yield from encoded(text)


def _extra(text: str, patterns: Sequence[re.Pattern[str]]) -> Iterator[Span]:
    for pattern in patterns:
        for found in pattern.finditer(text):
            yield (*found.span(1 if pattern.groups and found[1] else 0), "custom")


def _replaced(text: str, spans: list[Span]) -> str:
    """The text with a mark for each span; marks that are there already stay as they are."""
    from cortex_git.events.literals import MARK

    if not spans:
        return text
    marks = [found.span() for found in re.finditer(MARK, text)] if "[REDACTED:" in text else []
    out: list[str] = []
    done = 0
    for start, end, kind in _pieces(_merged(spans), marks):
        if any(char.isalnum() for char in text[start:end]):
            out += (text[done:start], f"[REDACTED:{kind}]")
            done = end
    return "".join(out) + text[done:]


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            first, last, name = merged[-1]
            merged[-1] = (first, max(end, last), name)
        else:
            merged.append((start, end, kind))
    return merged


def _pieces(spans: list[Span], marks: list[tuple[int, int]]) -> Iterator[Span]:
    """The spans without what marks cover."""
    at = 0
    for start, end, kind in spans:
        while at < len(marks) and marks[at][1] <= start:
            at += 1
        here = at
        while here < len(marks) and marks[here][0] < end:
            if start < marks[here][0]:
                yield start, marks[here][0], kind
            start = max(start, marks[here][1])
            here += 1
        if start < end:
            yield start, end, kind
