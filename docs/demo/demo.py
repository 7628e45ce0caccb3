"""The demo: two sessions of an assistant become memory that branches, merges and greets the next one.

Works in a temporary folder. Uses the real Claude Code client, offline, if CLAUDE_CLI names it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from player import bare_environment, player
from sessions import FILES, NEXT, SEARCH, STORAGE


class Demo:
    """One run in one folder."""

    def __init__(self, folder: Path) -> None:
        self.repo = folder / "notes"
        self.home = folder / "home"
        self.player = player(self.home)
        self.steps = 0
        # The command of this installation comes first on PATH, for us and for the session's own shell.
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
        os.environ["GIT_CONFIG_NOSYSTEM"] = "1"

    def say(self, text: str) -> None:
        """A heading for the next step."""
        self.steps += 1
        print(
            f"\n\033[1m[{self.steps}] {text}\033[0m" if sys.stdout.isatty() else f"\n[{self.steps}] {text}", flush=True
        )

    def show(self, *command: str) -> str:
        """Run a command as a person would, with its output shown."""
        print(f"$ {' '.join(command)}", flush=True)
        done = subprocess.run(
            command, cwd=self.repo, env=bare_environment(self.home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        text = done.stdout.decode("utf-8", "replace")
        print("".join(f"  {line}\n" for line in text.splitlines()), end="", flush=True)
        if done.returncode:
            raise SystemExit(f"the demo stops: {' '.join(command)} ended with {done.returncode}")
        return text

    def git(self, *arguments: str) -> None:
        """Run git without showing anything."""
        subprocess.run(
            ["git", *arguments], cwd=self.repo, env=bare_environment(self.home), check=True, capture_output=True
        )

    def prepare(self) -> None:
        """A small project with one commit and an initialised memory."""
        self.repo.mkdir(parents=True)
        for name, text in FILES.items():
            (self.repo / name).write_text(text)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Dana Developer")
        self.git("config", "user.email", "dana@example.org")
        self.git("add", "-A")
        self.git("commit", "-qm", "Start")
        self.show("git", "cortex", "init")
        self.git("add", "-A")
        self.git("commit", "-qm", "Start a memory")

    def run(self) -> None:
        """The whole story."""
        self.say("A project, and a memory for it")
        self.prepare()
        self.say(f"A session on feature/storage ({self.player.name})")
        self.git("switch", "-qc", "feature/storage")
        self.player.play(self.repo, STORAGE)
        self.show("git", "cortex", "log", "--oneline")
        self.say("What the assistant's commit brought along: a teammate reads it in the pull request")
        self.show("git", "show", "--stat", "--format=%s", "HEAD")
        first = sorted((self.repo / ".cortex" / "decisions").glob("*sqlite-in-wal*"))[0]
        self.show("cat", str(first.relative_to(self.repo)))
        self.say("Another branch, made from main: nothing of the first one is seen here")
        self.git("switch", "-q", "main")
        self.git("switch", "-qc", "feature/search")
        self.show("git", "cortex", "log", "--oneline")
        self.say("A session there decides something else")
        self.player.play(self.repo, SEARCH)
        self.show("git", "cortex", "log", "--oneline")
        self.say("The branches are merged, and their memories with them")
        self.git("switch", "-q", "main")
        self.git("merge", "-q", "--no-edit", "feature/search")
        self.git("merge", "-q", "--no-edit", "feature/storage")
        self.show("git", "cortex", "log", "--oneline")
        self.show("git", "cortex", "search", "why not json")
        self.git("commit", "-q", "--allow-empty", "-m", "The pages follow")
        self.show("git", "cortex", "verify")
        self.show("git", "status", "--short", "--branch")
        self.say("Switching back switches the memory")
        self.git("switch", "-q", "feature/storage")
        self.show("git", "cortex", "status")
        self.git("switch", "-q", "main")
        self.say("The next session starts with this in front of it")
        start = self.player.play(self.repo, NEXT)
        begin = start.find("<cortex-memory")
        print("".join(f"  {line}\n" for line in start[begin : start.find("</cortex-memory>") + 16].splitlines()))
        if begin < 0 or "SQLite" not in start:
            raise SystemExit("the demo failed: the briefing did not reach the session")
        print("Remembered: see above. The demo's folder is removed.")


def main() -> None:
    """Run the demo in a folder that is removed afterwards; KEEP=1 keeps it."""
    folder = Path(tempfile.mkdtemp(prefix="cortex-demo-"))
    try:
        Demo(folder).run()
    finally:
        if os.environ.get("KEEP"):
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
