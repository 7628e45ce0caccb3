"""`init` and `uninstall`: each step can be repeated, and what one puts in the other takes out."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cortex_git import assets
from cortex_git.env import Env
from cortex_git.errors import CortexError
from cortex_git.memory import PATIENCE
from cortex_git.setup import before, blocks, claude, clone, exclude, githooks, manpage, merges, program, rules, settings
from cortex_git.store import keys, remotes, spool
from cortex_git.store.open import open_backend
from cortex_git.store.repo import Repo

AGENTS = ("claude",)
"""The assistants that can be set up."""
FOLDER = ".cortex"
CONFIG = "config.toml"
_PLAIN_NAMES = {"gitattributes": ".gitattributes"}


@dataclass
class Report:
    """What was done, a line each, and what is left for the user, a paragraph each."""

    lines: list[str] = field(default_factory=list)
    attention: list[str] = field(default_factory=list)


def init(
    repo: Repo,
    env: Env,
    *,
    agents: Sequence[str] = AGENTS,
    plugin: bool | None = None,
    commit: bool = True,
) -> Report:
    """Set a repository up, or bring an earlier set-up to the present state.

    `agents` are the assistants to set up; `plugin` as in `claude.set_up`. With `commit` False
    nothing of ours is to be committed: a `.cortex/` that is new here is ignored by git.
    Raises CortexError, before anything is changed where that can be known.
    """
    _check(repo, agents)
    with _readable_errors():
        os.makedirs(os.path.join(repo.home, "spool"), mode=0o700, exist_ok=True)
        os.chmod(repo.home, 0o700)
        _note_before(repo)
        report = Report([f"memory: in git notes of this clone ({clone.settle(repo)}), refs/notes/cortex/…"])
        report.lines.append(_lay_folder(repo, commit))
        program.refresh(repo)
        _install_git_hooks(repo, report)
        merges.put(repo)
        repo.set_git_config(rules.AGENTS, " ".join(agents) or None)
        _set_up_claude(repo, env, "claude" in agents, plugin, report)
        manpage.link(env.variables)
        report.lines.append("undo: `git cortex uninstall` takes all of this away and keeps the memory")
    return report


def uninstall(repo: Repo, env: Env, *, forget: bool = False) -> Report:
    """Take away what `init` put in. The memory stays, in notes refs and committed files, unless `forget` is set.

    What waits in the spool is stored first; CortexError, and nothing is changed, if that fails.
    """
    if not forget:
        _store_what_waits(repo)
    with _readable_errors():
        done = {
            "git hooks": githooks.uninstall(repo),
            "Claude Code's hooks": claude.take_down(repo, env),
            "rules file": _remove_rules(repo),
            "ignore lines": exclude.take(repo.common_dir),
            "merge driver": merges.take(repo),
            f"{FOLDER}/, which was never committed": _remove_untouched_folder(repo),
        }
        before.restore(repo)
        repo.set_git_config(clone.ID, None)
        repo.set_git_config(rules.AGENTS, None)
        for name in remotes.shared(repo):
            remotes.set_shared(repo, name, False)
        shutil.rmtree(repo.home, ignore_errors=True)
        removed = ", ".join(name for name, there in done.items() if there)
        report = Report([f"removed: {removed or 'nothing, none of it was there'}"])
        report.lines.append(_forget(repo) if forget else _kept(repo))
    if repo.work_tree and os.path.isdir(os.path.join(repo.work_tree, FOLDER)):
        text = f"{FOLDER}/ belongs to the project's files and stays; a commit without it removes it for everybody\n"
        report.attention.append(text)
    return report


def _store_what_waits(repo: Repo) -> None:
    if not (repo.initialised and spool.names(repo.home)):
        return
    from cortex_git.capture.drain import drain

    drain(repo, open_backend(repo, "git"), repo.config(), patience=PATIENCE)
    waiting = len(spool.names(repo.home))
    if waiting:
        raise CortexError(f"{waiting} payloads wait in {spool.folder(repo.home)} and cannot be stored now; try again")


def _check(repo: Repo, agents: Sequence[str]) -> None:
    if repo.work_tree is None:
        raise CortexError(f"{repo.git_dir} is a bare repository; run `git cortex init` in a clone with a work tree")
    for agent in agents:
        if agent not in AGENTS:
            raise CortexError(f"{agent} is no assistant that can be set up; known: {', '.join(AGENTS)}")
    if not os.access(repo.common_dir, os.W_OK):
        raise CortexError(f"{repo.common_dir} cannot be written to; run `git cortex init` as the repository's owner")
    if "claude" in agents:
        claude.check(repo)


@contextmanager
def _readable_errors() -> Iterator[None]:
    """Turn what the file system refuses into an error that says which file and why."""
    try:
        yield
    except OSError as error:
        where = error.filename or "a file"
        raise CortexError(f"{where}: {error.strerror or error}; mend that and run the command again") from error


def _note_before(repo: Repo) -> None:
    root, tree = claude.project_root(repo), Path(repo.work_tree or "")
    folders = [Path(repo.common_dir, "hooks"), Path(repo.common_dir, "info"), root / ".claude"]
    folders += [tree / ".claude", tree / ".claude" / "rules", tree / FOLDER]
    before.note(repo, [claude.local_settings(repo)], folders)


# ---- .cortex/


def _lay_folder(repo: Repo, commit: bool) -> str:
    """Put the template's files where they are missing, unless the team has the folder already."""
    if repo.git("ls-files", "--", FOLDER).strip():
        return f"{FOLDER}/: the team's, picked up as it is"
    target = Path(repo.work_tree or "", FOLDER)
    laid = []
    for name, data in _template().items():
        path = target / name
        if not os.path.lexists(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            laid.append(name)
    _settle_commits(target / CONFIG, commit)
    ignored = [f"/{FOLDER}/"]
    exclude.put(repo.common_dir, [] if commit else ignored, ignored if commit else [])
    if not commit:
        return f"{FOLDER}/: only here, git ignores it and nothing is added to commits"
    state = f"laid ({', '.join(laid)})" if laid else "there already"
    return f"{FOLDER}/: {state}; commit it so that teammates have it"


def _settle_commits(path: Path, commit: bool) -> None:
    """Write down, in a configuration that nobody has committed yet, whether items go into commits."""
    old = path.read_bytes() if path.exists() else b""
    plain = _template().get(CONFIG, b"")
    new = _without_commits(old) if not commit else plain if old == _without_commits(plain) else old
    if new != old:
        path.write_bytes(new)


def _without_commits(data: bytes) -> bytes:
    """A configuration with `projections.commit` off."""
    off = b"[projections]\ncommit = false\n"
    if not re.search(rb"^\[projections\]", data, re.MULTILINE):
        return data.rstrip(b"\n") + b"\n\n" + off
    without = re.sub(rb"^commit *=.*\n", b"", data, flags=re.MULTILINE)
    return re.sub(rb"^\[projections\].*\n?", off, without, count=1, flags=re.MULTILINE)


def _template() -> dict[str, bytes]:
    root = Path(assets.asset_dir(".cortex-template"))
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return {
        str(path.relative_to(root).with_name(_PLAIN_NAMES.get(path.name, path.name))): path.read_bytes()
        for path in files
    }


def _remove_untouched_folder(repo: Repo) -> bool:
    """Take away the files that `init` laid, if nobody has committed or changed them."""
    target = Path(repo.work_tree or "", FOLDER)
    if repo.work_tree is None or not target.is_dir() or repo.git("ls-files", "--", FOLDER).strip():
        return False
    removed = False
    for name, data in _template().items():
        path = target / name
        if path.is_file() and not path.is_symlink() and path.read_bytes() in (data, _without_commits(data)):
            path.unlink()
            removed = True
    if not os.listdir(target):
        target.rmdir()
    return removed


# ---- hooks


def _install_git_hooks(repo: Repo, report: Report) -> None:
    hooks = githooks.install(repo)
    active = [hook.event for hook in hooks if hook.active]
    in_settings = any(hook.active and not hook.path for hook in hooks)
    files = [Path(hook.path) for hook in hooks if hook.active and os.path.isfile(hook.path)]
    beside = any(blocks.take(path.read_bytes()) != githooks.HEADER for path in files)
    where = ", in the repository's settings" if in_settings else ", beside your own" if beside else ""
    shown = "all in place" if len(active) == len(hooks) else ", ".join(active) or "none active, see below"
    report.lines.append(f"git hooks: {shown}" + (where if active else ""))
    report.attention += githooks.advice(repo, hooks)


def _set_up_claude(repo: Repo, env: Env, wished: bool, plugin: bool | None, report: Report) -> None:
    if not wished:
        claude.take_down(repo, env)
        _remove_rules(repo)
        report.lines.append("Claude Code: not set up")
        return
    path = claude.local_settings(repo)
    how = claude.set_up(repo, env, plugin)
    patterns = [f"/{rules.PATH}"]
    if before.was_missing(repo, path):
        patterns.append(f"/{settings.NAME}")
    exclude.put(repo.common_dir, patterns)
    if repo.git("ls-files", "--", rules.PATH).strip():
        report.attention.append(
            f"{rules.PATH} is committed, so every session would change a tracked file; `git rm --cached {rules.PATH}`\n"
        )
    if not os.path.exists(os.path.join(repo.work_tree or "", rules.PATH)):
        rules.write_rules(repo, "")
    hooks = "the plugin git-cortex" if how == "plugin" else f"hooks in {settings.NAME}"
    report.lines.append(f"Claude Code: {hooks}; {rules.PATH} (ignored by git) greets each session")


def _remove_rules(repo: Repo) -> bool:
    """Take the rules file out of every work tree of the repository."""
    listing = os.fsdecode(repo.git("worktree", "list", "--porcelain"))
    trees = [line.removeprefix("worktree ") for line in listing.splitlines() if line.startswith("worktree ")]
    removed = False
    for tree in trees:
        path = Path(tree, rules.PATH)
        if path.is_file() and path.read_bytes().startswith(rules.TITLE.encode()):
            path.unlink()
            removed = True
    return removed


def _kept(repo: Repo) -> str:
    """What of the memory stays in this clone."""
    ours = [name for name in repo.git_config() if name == "cortex.cloneof" or name.endswith(".cortexkey")]
    if not ours and not repo.git("for-each-ref", "--count=1", keys.SHARED, keys.LOCAL, "refs/cortex").strip():
        return "kept: nothing, this clone has no memory in its refs"
    return "kept: the memory, in refs/notes/cortex/… and in commits, and in .git/config the settings that belong to it"


def _forget(repo: Repo) -> str:
    """Delete the memory of this clone: all our refs and settings."""
    names = os.fsdecode(repo.git("for-each-ref", "--format=%(refname)", keys.SHARED, keys.LOCAL, "refs/cortex")).split()
    repo.git("update-ref", "--stdin", input="".join(f"delete {name}\n" for name in names).encode())
    for name in repo.git_config():
        if name.startswith("cortex.") or (name.startswith("branch.") and name.endswith(".cortexkey")):
            repo.set_git_config(name, None)
    return f"forgotten: {len(names)} notes refs of this clone; what was shared or committed is elsewhere still"
