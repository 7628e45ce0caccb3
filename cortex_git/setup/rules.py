"""The rules file that Claude Code reads when it starts: how to say what is worth keeping, and the live briefing."""

from __future__ import annotations

import os

from cortex_git.store.locking import write_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortex_git.store.repo import Repo

PATH = ".claude/rules/cortex-briefing.md"
AGENTS = "cortex.agents"
"""The assistants that `init` set up, separated by spaces."""

TITLE = "# Memory of this repository (git-cortex)\n"
TEACHING = f"""\
{TITLE}
git-cortex keeps what is decided, tried and learned here, with the branch and its commits, and shows it to the next
session. Tool calls and the user's words are kept anyway. When something else deserves to be remembered, say so once,
in your answer, on a line of its own:

- `[MEMORY: decision] what was chosen, over what, because why`
- `[MEMORY: rejected] what was tried or considered, and why not`
- `[MEMORY: learned] a fact about this code base that took effort to find`
- `[MEMORY: fixed] an error, its cause and its cure`
- `[MEMORY: preference] how the user wants things done`
- `[MEMORY: plan] the goal, then one step a line`

One fact a line, in words that a stranger understands without this conversation. `[MEMORY: private]` stays on this
machine. Nothing secret belongs there.
"""


def write_rules(repo: Repo, briefing: str) -> bool:
    """Bring the rules file up to date; returns whether it changed. Raises OSError if it cannot be written.

    Does nothing where Claude Code was not set up, and nothing in a folder that a link puts
    outside the work tree.
    """
    if repo.work_tree is None or not wanted(repo) or carries(repo, briefing):
        return False
    path = os.path.join(repo.work_tree, PATH)
    folder = os.path.dirname(path)
    if os.path.realpath(folder) != os.path.join(os.path.realpath(repo.work_tree), os.path.dirname(PATH)):
        return False
    os.makedirs(folder, exist_ok=True)
    write_text(path, _text(briefing))
    return True


def carries(repo: Repo, briefing: str) -> bool:
    """Whether the rules file holds exactly this briefing."""
    try:
        with open(os.path.join(repo.work_tree or "", PATH), encoding="utf-8") as file:
            return file.read() == _text(briefing)
    except (OSError, ValueError):
        return False


def wanted(repo: Repo) -> bool:
    """Whether `init` set up Claude Code here."""
    return "claude" in repo.git_config().get(AGENTS, "").split()


def _text(briefing: str) -> str:
    return f"{TEACHING}\n{briefing.strip()}\n" if briefing.strip() else TEACHING
