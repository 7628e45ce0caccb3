"""What is wrong with the set-up of a repository, and how to mend it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.setup import claude, clone, githooks, merges, program, rules
from cortex_git.store.repo import Repo


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: `message` in a sentence, `lines` (often several) that mend it, or empty."""

    message: str
    lines: str = ""


def check(repo: Repo, env: Env) -> list[Finding]:
    """Everything that is wrong with what `init` put in."""
    return [*_program(repo), *_clone(repo), *_hooks(repo), *_merges(repo), *_claude(repo, env), *_rules(repo)]


def inactive_hooks(repo: Repo) -> str:
    """One line that says that git hooks are inactive, and what to do; empty if all is well."""
    missing = [hook for hook in githooks.inspect(repo) if not hook.active]
    if not missing:
        return ""
    events = "git hooks are" if len(missing) > 1 else f"the git hook {missing[0].event} is"
    mended = all(hook.mendable for hook in missing)
    cure = "`git cortex init` puts them in again" if mended else "`git cortex doctor` shows the lines to add"
    return f"{events} inactive ({missing[0].problem}); {cure}"


def _program(repo: Repo) -> list[Finding]:
    if program.current(repo.home):
        return []
    return [Finding("the hooks do not find the program any more; run `git cortex init`")]


def _clone(repo: Repo) -> list[Finding]:
    if clone.stale(repo):
        return [Finding("this repository is a copy and still has the original's clone id; run `git cortex init`")]
    return []


def _hooks(repo: Repo) -> list[Finding]:
    if repo.git_config().get(program.SILENCE) == "ignore":
        return []
    texts = githooks.advice(repo, githooks.inspect(repo))
    otherwise = f"If they are run in some other way: git config {program.SILENCE} ignore\n"
    return [Finding(first, lines + otherwise) for first, _, lines in (text.partition("\n") for text in texts)]


def _merges(repo: Repo) -> list[Finding]:
    missing = merges.missing(repo)
    if not missing:
        return []
    return [Finding(f"merges do not treat .cortex/ as they ought to ({missing[0]}); run `git cortex init`")]


def _claude(repo: Repo, env: Env) -> list[Finding]:
    if not rules.wanted(repo):
        return []
    try:
        return [Finding(problem) for problem in claude.problems(repo, env)]
    except (CortexError, OSError) as error:
        return [Finding(str(error))]


def _rules(repo: Repo) -> list[Finding]:
    if not rules.wanted(repo) or repo.work_tree is None:
        return []
    if repo.git("ls-files", "--", rules.PATH).strip():
        return [Finding(f"{rules.PATH} is committed, so every session changes a tracked file; `git rm --cached` it")]
    if not os.path.exists(os.path.join(repo.work_tree, rules.PATH)):
        return [Finding(f"{rules.PATH} is missing; the next session or `git cortex init` writes it")]
    return []
