"""`git cortex project`."""

from __future__ import annotations

import click

from cortex_git.cli.command import Command, json_option
from cortex_git.cli.opening import open_memory
from cortex_git.cli.terminal import one_line, warn, write_json
from cortex_git.cli.tree import cortex_files
from cortex_git.env import Env
from cortex_git.errors import CortexError, UsageError
from cortex_git.memory import Memory
from cortex_git.pending import Pending, buried, pending
from cortex_git.projections import pages, stage, worktree
from cortex_git.projections.document import is_item
from cortex_git.store.open import open_backend
from cortex_git.store.repo import Repo, require

_MESSAGE = "Bring the memory in .cortex/ up to date"


@click.command(cls=Command)
@click.option("--check", is_flag=True, help="Change nothing; end with status 1 if something would change.")
@click.option("--commit", "commits", is_flag=True, help="Commit what was written, and nothing else.")
@json_option
@click.pass_context
def project(context: click.Context, check: bool, commits: bool, as_json: bool) -> None:
    """Write into `.cortex/`, and stage, what the next commit would bring: items, the plan, the pages.

    A commit does the same by itself. Pages that were edited by hand are rendered anew from the items; items are never
    overwritten. In a checkout without a memory of its own, as in CI, it is the pages alone.
    """
    if check and commits:
        raise UsageError("--check changes nothing, and --commit commits what was changed; give one of the two")
    memory, coming = _open(context.ensure_object(Env))
    repo = _projecting(memory)
    if check:
        paths = _wanted(memory, repo, coming)
    else:
        faults: list[str] = []
        _drop_edited_pages(memory, repo)
        paths = stage.stage(
            repo, memory.backend, memory.config, coming, states=coming.states, buried=buried(memory), faults=faults
        )
        for fault in faults:
            warn(memory.env, fault)
        if commits and paths:
            _commit(repo, paths)
    if as_json:
        write_json(memory.env, {"would_write" if check else "written": paths})
    else:
        for path in paths:
            memory.env.stdout.write(one_line(path) + "\n")
    context.exit(1 if check and paths else 0)


def _open(env: Env) -> tuple[Memory, Pending]:
    """The memory here, and what the next commit has to bring along; nothing but pages where there is none."""
    repo = require(env.cwd, env.variables)
    if not repo.initialised:
        return Memory(env, repo, open_backend(repo, "git")), Pending("")
    memory = open_memory(env)
    return memory, pending(memory)


def _commit(repo: Repo, paths: list[str]) -> None:
    """Commit these files and no others, whatever else is staged. The user's hooks have their say. Raises GitError."""
    listed = "".join(path + "\0" for path in paths).encode()
    options = ("--quiet", "--only", "--pathspec-from-file=-", "--pathspec-file-nul")
    repo.git("commit", *options, "-m", _MESSAGE, input=listed)
    stage.settle(repo)


def _projecting(memory: Memory) -> Repo:
    """The repository, if it has files of memory in its work tree. Raises CortexError otherwise."""
    if memory.repo.work_tree is None:
        raise CortexError("a bare repository has no work tree to write files into; run this in a clone")
    off = off_reason(memory)
    if off:
        raise CortexError(off)
    return memory.repo


def off_reason(memory: Memory) -> str:
    """Why no commit here takes memory along, and how to have it so; empty if one does."""
    if not memory.config.projections_commit:
        return "projections.commit is off in .cortex/config.toml; turn it on there to have files"
    if not worktree.has_folder(memory.repo):
        return "this branch has no .cortex/README.md and so wants no files; `git cortex init` lays it"
    return ""


def look_ahead(memory: Memory, coming: Pending, faults: list[str]) -> tuple[list[str], list[str]]:
    """The files that the next commit writes, and those that it takes out."""
    if off_reason(memory):
        return [], []
    doomed = buried(memory)
    return stage.preview(
        memory.repo, memory.backend, memory.config, coming, states=coming.states, buried=doomed, faults=faults
    )


def _has_pages(memory: Memory) -> tuple[bool, bool]:
    """Whether this branch carries pages, and whether it is the default branch."""
    branch = memory.repo.branch()
    is_default = branch == memory.repo.default_branch()
    wanted = memory.config.projections_pages
    return branch is not None and (wanted == "every-branch" or (wanted == "default-branch" and is_default)), is_default


def _drop_edited_pages(memory: Memory, repo: Repo) -> None:
    if not _has_pages(memory)[0]:
        return
    for name in pages.NAMES:
        path = f".cortex/{name}"
        data = worktree.read(repo, path)
        if data is not None and not worktree.rendered(path, data):
            worktree.remove(repo, path)


def _wanted(memory: Memory, repo: Repo, coming: Pending) -> list[str]:
    """What would be written: the ids of new items, the plan, and the pages that are not as they should be."""
    new = {event.id for event in coming.events}
    restated = [f".cortex/ (status of {id[:7]})" for id in coming.states if id not in new]
    return [f".cortex/ (new item {event.id[:7]})" for event in coming.events] + restated + late_pages(memory, repo)


def late_pages(memory: Memory, repo: Repo) -> list[str]:
    """The pages in the work tree that are not as the items there make them, if this branch carries pages."""
    carried, is_default = _has_pages(memory)
    files = cortex_files(repo.work_tree or "") if carried else {}
    if not any(is_item(path) or pages.is_page(path) for path in files):
        return []
    rendered = pages.pages(files, memory.config, accepted=is_default)
    return [path for path, data in rendered.items() if files.get(path) != data]
