"""Counts what a transcript holds by plain JSON, without any of the program's own reading."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

SAID = "the user said:\n"
NOT_A_REASON = "The user wants to clarify these questions"
PLAN = "Implement the following plan:"
COMMIT = re.compile(r"^\[[^\]\n]+ [0-9a-f]{7,40}\] .", re.MULTILINE)
GIT_COMMIT = re.compile(r"\bgit\b[^\n]*\bcommit\b")


def records(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a transcript, also where two share a line."""
    decode = json.JSONDecoder().raw_decode
    for line in data.decode("utf-8", "replace").split("\n"):
        position = 0
        while position < len(line):
            try:
                value, position = decode(line, position)
            except ValueError:
                break
            while position < len(line) and line[position].isspace():
                position += 1
            if isinstance(value, dict):
                yield value


def count(data: bytes) -> Counter[str]:
    """How many answers, reasons, accepted plans, commits, summaries and finished steps there are."""
    found: Counter[str] = Counter()
    calls: dict[str, dict[str, Any]] = {}
    todos: dict[str, str] = {}
    tasks: set[str] = set()
    plans: set[str] = set()
    for record in records(data):
        content = (record.get("message") or {}).get("content") if isinstance(record.get("message"), dict) else None
        if record.get("isCompactSummary"):
            found["summary"] += 1
        if record.get("type") == "queue-operation" and record.get("operation") == "enqueue":
            typed = record.get("content")
            found["typed meanwhile"] += isinstance(typed, str) and not typed.startswith("<")
        plan = record.get("planContent") or ""
        if isinstance(content, str) and content.startswith(PLAN):
            plan = plan or content[len(PLAN) :]
        if plan.strip():
            plans.add(" ".join(plan.split()))
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_use":
                calls[block["id"]] = block
                if block["name"] == "TodoWrite" and not record.get("isSidechain"):
                    new = {todo["content"]: todo["status"] for todo in block["input"]["todos"]}
                    done = [text for text, status in new.items() if status == "completed"]
                    found["step"] += sum(todos.get(text, "completed") != "completed" for text in done)
                    found["plan"] += bool(new) and list(new) != list(todos)
                    todos = new
            elif block.get("type") == "tool_result":
                call = calls.get(block["tool_use_id"], {"name": "", "input": {}})
                found.update(_result(record, block, call, tasks))
    found["accepted"] += len(plans)
    return +found


def _result(record: dict[str, Any], block: dict[str, Any], call: dict[str, Any], tasks: set[str]) -> Iterator[str]:
    result, failed = record.get("toolUseResult"), block.get("is_error") is True
    texts = block.get("content")
    text = texts if isinstance(texts, str) else "\n".join(item.get("text", "") for item in texts or [])
    answers = result.get("answers") if isinstance(result, dict) else None
    if call["name"] == "AskUserQuestion" and not failed and isinstance(answers, dict):
        yield from ["answer"] * len(answers)
    if failed and SAID in text and not text.partition(SAID)[2].lstrip().startswith(NOT_A_REASON):
        yield "reason"
    if call["name"] == "ExitPlanMode" and not failed:
        yield "accepted"
    if call["name"] == "Bash" and GIT_COMMIT.search(str(call["input"].get("command", ""))):
        yield from ["commit"] * len(COMMIT.findall(text))
    if call["name"] == "TaskCreate" and not failed:
        tasks.add(str(result["task"]["id"]))
    if call["name"] == "TaskUpdate" and not failed and call["input"].get("status") == "completed":
        yield "step" if str(call["input"]["taskId"]) in tasks else "step of another file"
