"""A commit that git tells of, whoever made it, as events."""

from __future__ import annotations

from cortex_git.capture.extract import commits
from cortex_git.capture.extract.context import Context
from cortex_git.capture.units import AGENT, COMMIT, Unit, clean
from cortex_git.events import model
from cortex_git.events.redact import redact, redact_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.config import Config
    from cortex_git.events.model import Event


def told(
    message: str, commit: str, config: Config, *, time: str, session: str = "", author: str = "", branch: str = ""
) -> list[Event]:
    """What the message of a commit says, without secrets.

    They are the events to which a command leads that made the commit in this session.
    """
    agent = AGENT if session else "user"
    unit = Unit(COMMIT, redact(clean(message)), time=time, session=session, agent=agent, branch=branch, id=commit,
                facts={"commit": commit}, ok=True)  # fmt: skip
    context = Context(config, "", "", author, {})
    return [redact_event(event) for event in commits.commit(unit, context) if event.type != model.COMMIT]
