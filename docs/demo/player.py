"""Plays a session in a repository: in the real Claude Code client where there is one, else by its hooks alone.

Both ways run the very hook commands that `git cortex init` installed.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripted_model import ScriptedModel, blocks, shown

KEY = "a-key-that-opens-nothing-000000000000"


def filled(value: Any, repo: Path) -> Any:
    """The value with `{repo}` replaced in each of its strings."""
    if isinstance(value, str):
        return value.replace("{repo}", str(repo))
    if isinstance(value, list):
        return [filled(item, repo) for item in value]
    if isinstance(value, dict):
        return {name: filled(item, repo) for name, item in value.items()}
    return value


def bare_environment(home: Path) -> dict[str, str]:
    """What a session may see: nothing of the caller's but PATH and git's settings."""
    kept = ("PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "PYTHONDONTWRITEBYTECODE")
    values = {name: os.environ[name] for name in kept if name in os.environ}
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    return {**values, "HOME": str(home), "TMPDIR": str(home / "tmp"), "TERM": "dumb", "LANG": "C.UTF-8"}


class Client:
    """The real client, talking to a scripted model on this machine and to nothing else."""

    name = "the Claude Code client, with a scripted model"

    def __init__(self, program: str, home: Path) -> None:
        self.program = program
        self.home = home
        self.requests: list[dict[str, Any]] = []

    def play(self, repo: Path, session: Mapping[str, Any], *arguments: str) -> str:
        """Run one session; returns all that the model was shown in its first request."""
        with ScriptedModel(filled(session["turns"], repo)) as model:
            environment = {
                **bare_environment(self.home),
                "ANTHROPIC_API_KEY": KEY,
                "ANTHROPIC_BASE_URL": model.url,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_TMPDIR": str(self.home / "tmp"),
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_ERROR_REPORTING": "1",
                "DISABLE_TELEMETRY": "1",
                "HTTPS_PROXY": "http://127.0.0.1:9",
                "IS_SANDBOX": "1",
                "NO_PROXY": "127.0.0.1,localhost",
            }
            command = [self.program, "-p", session["prompt"], "--permission-mode", "bypassPermissions", *arguments]
            done = subprocess.run(command, cwd=repo, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
            _wait_for_hooks(repo)
            self.requests += model.requests
        if done.returncode:
            raise RuntimeError(f"the client ended with {done.returncode}: {done.stderr.decode()[-500:]}")
        return shown(model.requests[0])


class Replay:
    """The client's part by hand: runs the tools, writes the transcript, and calls the hooks as the client does."""

    name = "a recorded session, replayed through the hooks"

    def __init__(self, home: Path) -> None:
        self.home = home

    def play(self, repo: Path, session: Mapping[str, Any], *arguments: str) -> str:
        """Run one session; returns what its start put before the model: the rules and the hook's answer."""
        run = _Run(repo, self.home)
        rules = sorted((repo / ".claude" / "rules").glob("*.md")) if (repo / ".claude").is_dir() else []
        start = "".join(path.read_text() for path in rules) + run.hook("SessionStart", source="startup")
        run.hook("UserPromptSubmit", prompt=session["prompt"])
        run.line("user", session["prompt"])
        for turn in filled(session["turns"], repo):
            run.turn(blocks(turn))
        run.hook("SessionEnd", reason="other")
        _wait_for_hooks(repo)
        return start


def _wait_for_hooks(repo: Path) -> None:
    """Wait for what the last hook goes on doing behind an ended session, as a person who starts the next one does."""
    ours = str(repo / ".git" / "cortex")
    while any(ours in command for command in _commands()):
        time.sleep(0.02)


def _commands() -> list[str]:
    """The command lines of all processes."""
    if Path("/proc/self/cmdline").exists():
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # it ended meanwhile
                found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        return found
    return subprocess.run(["ps", "-A", "-o", "args="], capture_output=True, text=True).stdout.splitlines()


class _Run:
    def __init__(self, repo: Path, home: Path) -> None:
        self.repo = repo
        self.id = str(uuid.uuid4())
        folder = home / ".claude" / "projects" / "demo"
        folder.mkdir(parents=True, exist_ok=True)
        self.transcript = folder / f"{self.id}.jsonl"
        self.environment = {**bare_environment(home), "CLAUDE_PROJECT_DIR": str(repo)}
        self.environment |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": self.id}

    def hook(self, event: str, **fields: Any) -> str:
        """Call the hooks that are registered for an event, and return what they put before the model."""
        common = {"session_id": self.id, "transcript_path": str(self.transcript), "cwd": str(self.repo)}
        payload = json.dumps({**common, "hook_event_name": event, **fields})
        settings = json.loads((self.repo / ".claude" / "settings.local.json").read_text())
        answer = ""
        for group in settings["hooks"].get(event, []):
            for hook in group["hooks"]:
                out = subprocess.run(
                    ["sh", "-c", hook["command"]],
                    cwd=self.repo,
                    env=self.environment,
                    input=payload.encode(),
                    capture_output=True,
                    check=True,
                ).stdout
                if out.strip():
                    answer += json.loads(out)["hookSpecificOutput"]["additionalContext"]
        return answer

    def line(self, role: str, content: Any) -> None:
        """Add a line to the transcript."""
        branch = subprocess.run(
            ["git", "branch", "--show-current"], cwd=self.repo, env=self.environment, capture_output=True, text=True
        ).stdout.strip()
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            message |= {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "model": "scripted"}
        moment = time.time()
        entry = {
            "type": role,
            "message": message,
            "uuid": str(uuid.uuid4()),
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1000):03d}Z",
            "sessionId": self.id,
            "cwd": str(self.repo),
            "gitBranch": branch,
            "isSidechain": False,
            "version": "2.1.332",
        }
        with self.transcript.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def turn(self, content: list[dict[str, Any]]) -> None:
        """Say one thing, run its tools, and stop if there are none."""
        for block in content:
            self.line("assistant", [block])
        tools = [block for block in content if block["type"] == "tool_use"]
        for tool in tools:
            self._tool(tool)
        if not tools:
            self.hook("Stop", stop_hook_active=False, last_assistant_message=content[-1]["text"], background_tasks=[])

    def _tool(self, tool: dict[str, Any]) -> None:
        given = tool["input"]
        if tool["name"] == "Write":
            Path(given["file_path"]).write_text(given["content"])
            response: dict[str, Any] = {"type": "update", "filePath": given["file_path"]}
        else:
            done = subprocess.run(
                ["sh", "-c", given["command"]], cwd=self.repo, env=self.environment, capture_output=True, text=True
            )
            response = {"stdout": done.stdout, "stderr": done.stderr, "interrupted": False, "isImage": False}
        self.hook(
            "PostToolUse", tool_name=tool["name"], tool_input=given, tool_response=response, tool_use_id=tool["id"]
        )
        result = {"type": "tool_result", "tool_use_id": tool["id"], "content": response.get("stdout", "written")}
        self.line("user", [result])


def player(home: Path) -> Client | Replay:
    """The real client if CLAUDE_CLI names it, else the replay."""
    program = os.environ.get("CLAUDE_CLI", "")
    return Client(program, home) if program and os.access(program, os.X_OK) else Replay(home)
