"""What is measured: each case does one thing that a user waits for, through the installed hooks.

A case is a function that takes a Store, does what must be so beforehand without measuring it, and
returns what the measured part cost.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from generate import git, init
from measure import Cost, measure

Case = Callable[["Store"], Cost]


class Store:
    """A generated repository under measurement; `turn` counts what was done so far, so that nothing repeats."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.session = str(uuid.uuid4())
        self.transcript = path.parent / f"{self.session}.jsonl"
        self.transcript.touch()
        self.turn = 0
        self.counting = False
        newest = ("for-each-ref", "--format=%(refname:short)", "--sort=-committerdate", "--count=5")
        self._branches = git(path, *newest, "refs/heads/feature").split()
        self._hooks = Path(git(path, "rev-parse", "--path-format=absolute", "--git-path", "hooks"))

    def run(self, argv: list[str], stdin: bytes = b"", **variables: str) -> Cost:
        """Measure a program in the work tree; while `counting`, git's own trace tells what it starts."""
        if not self.counting:
            return measure(argv, self.path, {**os.environ, **variables}, stdin)
        with tempfile.NamedTemporaryFile(mode="r", encoding="utf-8") as trace:
            cost = measure(argv, self.path, {**os.environ, "GIT_TRACE2_EVENT": trace.name, **variables}, stdin)
            events = [json.loads(line) for line in trace]
        cost.started = sum(event["event"] == "start" and "--no-optional-locks" in event["argv"] for event in events)
        return cost

    def agent_hook(self, event: str, **payload: object) -> Cost:
        """Run the hooks that the assistant would run for an event, as it would: through sh, the payload on stdin."""
        common = {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.path),
            "permission_mode": "default",
            "hook_event_name": event,
        }
        stdin = json.dumps({**common, **payload}).encode()
        commands = list(self._agent_commands(event))
        if not commands:
            raise RuntimeError(f"no hook is installed for {event}")
        costs = [self.run(["/bin/sh", "-c", command], stdin, CLAUDE_PROJECT_DIR=str(self.path)) for command in commands]
        return sum(costs[1:], costs[0])

    def _agent_commands(self, event: str) -> Iterator[str]:
        settings = json.loads((self.path / ".claude" / "settings.local.json").read_text())
        for group in settings.get("hooks", {}).get(event, []):
            for hook in group["hooks"]:
                yield hook["command"]

    def git_hook(self, name: str, *args: str, **variables: str) -> Cost:
        """Run a git hook as git does, with its arguments and variables."""
        hook = self._hooks / name
        if hook.is_file():
            return self.run([str(hook), *args], GIT_EXEC_PATH=git(self.path, "--exec-path"), GIT_PREFIX="", **variables)
        command = git(self.path, "config", f"hook.cortex-{name}.command")
        return self.run(["/bin/sh", "-c", f"{command} {shlex.join(args)}"], **variables)

    def quiet_git(self, *args: str) -> str:
        """Run git without any hooks, to change the repository between two measured parts."""
        return git(self.path, *self.without_ours("/dev/null"), *args)

    def without_ours(self, hooks: str) -> list[str]:
        """Options that make git run the hooks of another folder and none of ours, wherever they are installed."""
        ours = git(self.path, "config", "--name-only", "--get-regexp", r"^hook\.cortex-.*\.event$", check=False).split()
        off = [f"{name.removesuffix('.event')}.enabled=false" for name in ours]
        return [part for setting in (f"core.hooksPath={hooks}", *off) for part in ("-c", setting)]

    def change(self) -> str:
        """Stage a change of one file; returns the message for its commit."""
        self.turn += 1
        (self.path / "bench.txt").write_text(f"{self.turn}\n")
        self.quiet_git("add", "bench.txt")
        return f"Change {self.turn}"

    def edit(self) -> Cost:
        """One edit by the assistant: in the transcript and through the capture hook."""
        self.turn += 1
        name, call = f"src/file_{self.turn % 40}.py", f"toolu_{uuid.uuid4().hex[:24]}"
        old, new = "x = 1\n" * 40, f"x = {self.turn}\n" * 40
        tool_input = {"file_path": str(self.path / name), "old_string": old, "new_string": new, "replace_all": False}
        self._say("assistant", [{"type": "tool_use", "id": call, "name": "Edit", "input": tool_input}])
        self._say("user", [{"type": "tool_result", "tool_use_id": call, "content": "The file has been updated."}])
        response = {"filePath": str(self.path / name), "oldString": old, "newString": new, "originalFile": old * 4}
        return self.agent_hook(
            "PostToolUse", tool_name="Edit", tool_input=tool_input, tool_response=response, tool_use_id=call
        )

    def stop(self) -> Cost:
        """The end of a turn in which the assistant decided something."""
        said = f"Done.\n\n[MEMORY: decision] Use queue number {self.turn} for the importer, because it is free"
        self._say("assistant", [{"type": "text", "text": said}])
        return self.agent_hook("Stop", stop_hook_active=False, last_assistant_message=said)

    def _say(self, role: str, content: list[dict[str, object]]) -> None:
        entry = {
            "type": role,
            "uuid": str(uuid.uuid4()),
            "parentUuid": None,
            "isSidechain": False,
            "timestamp": f"2026-06-01T10:{self.turn // 60 % 60:02d}:{self.turn % 60:02d}.000Z",
            "sessionId": self.session,
            "cwd": str(self.path),
            "gitBranch": self.quiet_git("branch", "--show-current"),
            "version": "2.1.332",
            "message": {"role": role, "content": content},
        }
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def switch(self, branch: str) -> Callable[[], Cost]:
        """Switch without hooks; the result runs post-checkout as that switch would have."""
        before = self.quiet_git("rev-parse", "HEAD")
        self.quiet_git("switch", "--quiet", branch)
        after = self.quiet_git("rev-parse", "HEAD")
        return lambda: self.git_hook("post-checkout", before, after, "1")

    def other_branch(self) -> str:
        """A branch that is not checked out; a small store has none, so it gets one."""
        here = self.quiet_git("branch", "--show-current")
        if not [name for name in self._branches if name != here]:
            self._branches = [here, "feature/bench"]
            self.quiet_git("branch", "feature/bench")
        self._branches.append(self._branches.pop(0))
        return next(name for name in self._branches if name != here)


def capture(store: Store) -> Cost:
    """PostToolUse: the payload of one edit goes into the spool."""
    return store.edit()


def stop(store: Store) -> Cost:
    """Stop after a turn with three edits and a decision: all of it goes into the notes refs."""
    for _ in range(3):
        store.edit()
    return store.stop()


def session_start(store: Store) -> Cost:
    """SessionStart: the hook answers with the briefing."""
    return store.agent_hook("SessionStart", source="startup", session_id=str(uuid.uuid4()))


def commit(store: Store) -> Cost:
    """pre-commit and post-commit of a commit to which no memory belongs."""
    _take_along(store)
    return _commit(store)


def commit_memory(store: Store) -> Cost:
    """pre-commit and post-commit of a commit that brings a new decision along."""
    store.edit()
    store.stop()
    return _commit(store)


def _take_along(store: Store) -> None:
    git(store.path, "commit", "--quiet", "--allow-empty", "-m", "Takes along what other cases left")


def _commit(store: Store) -> Cost:
    message = store.change()
    index = str(store.path / ".git" / "index")
    before = store.git_hook("pre-commit", GIT_INDEX_FILE=index, GIT_EDITOR=":")
    store.quiet_git("commit", "--quiet", "-m", message)
    return before + store.git_hook("post-commit", GIT_INDEX_FILE=index, GIT_EDITOR=":")


def git_commit(store: Store) -> Cost:
    """`git commit` as a whole, when no memory belongs to it."""
    _take_along(store)
    return store.run(["git", "commit", "--quiet", "-m", store.change()])


def git_commit_memory(store: Store) -> Cost:
    """`git commit` as a whole, when it brings a new decision along."""
    store.edit()
    store.stop()
    return store.run(["git", "commit", "--quiet", "-m", store.change()])


def git_commit_floor(store: Store) -> Cost:
    """The same commit with two hooks that are `python -c pass`: the unit for `git commit`. It is undone again."""
    hooks = store.path.parent / "floor-hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "post-commit"):
        (hooks / name).write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c pass\n")
        (hooks / name).chmod(0o755)
    cost = store.run(["git", *store.without_ours(str(hooks)), "commit", "--quiet", "-m", store.change()])
    store.quiet_git("reset", "--quiet", "--soft", "HEAD~1")
    return cost


def checkout_same(store: Store) -> Cost:
    """post-checkout of a switch to a branch whose view is still right."""
    run = store.switch(store.quiet_git("branch", "--show-current"))
    run()
    return run()


def checkout_other(store: Store) -> Cost:
    """post-checkout of a switch to a branch whose view must be made anew."""
    store.edit()
    store.stop()
    return store.switch(store.other_branch())()


def python_floor(store: Store) -> Cost:
    """`python -c pass` of the environment that the hooks use: the unit of every budget."""
    return store.run([sys.executable, "-c", "pass"])


def git_floor(store: Store) -> Cost:
    """`git rev-parse HEAD`."""
    return store.run(["git", "rev-parse", "HEAD"])


def fetch(store: Store) -> Cost:
    """`git fetch` of 1,000 refs into a clone where memory is kept."""
    return _fetch(store, set_up=True)


def fetch_floor(store: Store) -> Cost:
    """The same fetch into a clone of which git-cortex knows nothing: the unit for `fetch`."""
    return _fetch(store, set_up=False)


def _fetch(store: Store, *, set_up: bool) -> Cost:
    source, target = (store.path.parent / name for name in ("fetched", "with" if set_up else "without"))
    if not target.exists():
        _many_refs(source)
        git(store.path.parent, "clone", "--quiet", "--no-tags", str(source), str(target))
        if set_up:
            init(target)
    pick = ["git", "-C", str(target), "fetch", "--quiet", "--no-auto-maintenance", "origin", "+refs/many/*:refs/many/*"]
    cost = store.run(pick)
    shutil.rmtree(target / ".git" / "refs" / "many")
    return cost


def _many_refs(path: Path) -> None:
    if not path.exists():
        git(path.parent, "init", "--quiet", "--initial-branch=main", str(path))
        git(path, "commit", "--quiet", "--allow-empty", "-m", "Start")
        head = git(path, "rev-parse", "HEAD")
        lines = "".join(f"create refs/many/{number} {head}\n" for number in range(1000))
        git(path, "update-ref", "--stdin", input=lines.encode())


UNIT = "python -c pass"
COMMIT, FETCH = "commit, two empty hooks", "fetch without git-cortex"
UNITS = {"git-commit": COMMIT, "git-commit-memory": COMMIT, "fetch": FETCH}
"""What a case is measured in, where that is not the start of Python."""
FLOORS: dict[str, Case] = {UNIT: python_floor, "git rev-parse": git_floor, COMMIT: git_commit_floor, FETCH: fetch_floor}
CASES: dict[str, Case] = {
    "capture": capture,
    "stop": stop,
    "session-start": session_start,
    "commit": commit,
    "commit-memory": commit_memory,
    "git-commit": git_commit,
    "git-commit-memory": git_commit_memory,
    "checkout-same": checkout_same,
    "checkout-other": checkout_other,
    "fetch": fetch,
}
PROCESSES = ("stop", "commit", "commit-memory", "checkout-same", "checkout-other")
"""The cases whose processes are counted, too."""
