"""Live views: what is shown for a branch right now, kept under the git directory and never in history.

For each branch its briefing, with a stamp that says for which HEAD and refs it is right. All of
it can be deleted; it is made again from the refs.
"""

from __future__ import annotations

from cortex_git.digest import sha256_hex
from cortex_git.setup.rules import write_rules
from cortex_git.store import keys
from cortex_git.store.locking import keep_json, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.memory import Memory

VERSION = 2


def refresh(memory: Memory, *, rules: bool | None = None) -> str:
    """Bring the live view of the branch that is checked out up to date and return its briefing.

    The briefing is empty while there is nothing to say. With `rules` the rules file, which the
    assistant reads when it starts the next time, is brought up to date too; None: unless we run
    inside of a session, which has read it already.
    """
    branch, head = memory.position()
    key = memory.key(branch)
    stamp = _stamp(memory, key, head)
    path = memory.path("view", f"briefing-{keys.shelf(key)}.json")
    kept = read_json(path)
    due = kept.get("due")
    if kept.get("stamp") != stamp or (due and due <= memory.horizon()):
        # Most of the time what is there is right: then nothing of this is loaded.
        from cortex_git.snapshot import View

        view = View(memory)
        source = f"{VERSION} {branch} {view.serial} {_settings(memory)}"
        text = kept.get("text") if kept.get("source") == source else None
        if text is None:
            from cortex_git import briefing

            text = briefing.render(view.standing(), memory.config, branch)
        kept = {"stamp": stamp, "source": source, "text": text, "due": view.due}
        keep_json(path, kept)
    text = str(kept["text"])
    if rules or (rules is None and "CLAUDE_CODE_SESSION_ID" not in memory.env.variables):
        write_rules(memory.repo, text)
    return text


def due(memory: Memory) -> str:
    """When the view that is kept for the branch here changes by itself; empty if it does not."""
    key = memory.key(memory.repo.branch())
    return str(read_json(memory.path("view", f"briefing-{keys.shelf(key)}.json")).get("due", ""))


def _stamp(memory: Memory, key: str, head: str | None) -> str:
    """What the view depends on, in short: the code's commit, every notes ref, the branches' keys, the settings."""
    living = sorted(keys.living(memory.repo))
    return f"{VERSION} {key} {head} {_short(memory.refs_stamp(), *living)} {_settings(memory)}"


def _settings(memory: Memory) -> str:
    return _short(*(f"{name} {value!r}" for name, value in sorted(vars(memory.config).items())))


def _short(*texts: str) -> str:
    return sha256_hex("\n".join(texts).encode("utf-8", "replace"))[:32]
