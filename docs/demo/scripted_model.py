"""A model that says what a script tells it to: enough of the Messages API for the Claude Code client to run offline.

Listens on the loopback address only. Every request is kept, so that one can see what the client
put before the model.
"""

from __future__ import annotations

import itertools
import json
import threading
import uuid
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Turn = dict[str, Any]
"""What the model answers: `text`, and `tools`, a list of `{"name", "input"}`; or a string that ends the turn."""


def blocks(turn: Turn | str) -> list[dict[str, Any]]:
    """A turn as content blocks."""
    if isinstance(turn, str):
        return [{"type": "text", "text": turn}]
    content: list[dict[str, Any]] = [{"type": "text", "text": turn["text"]}] if turn.get("text") else []
    for tool in turn.get("tools", []):
        content.append({"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", **tool})
    return content


class ScriptedModel:
    """The server; a context manager. Plays `turns` one after the other to whichever session asks."""

    def __init__(self, turns: Sequence[Turn | str]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._turns = iter(turns)
        self._lock = threading.Lock()
        self._answers: dict[str, list[dict[str, Any]]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """What the client's ANTHROPIC_BASE_URL must be."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ScriptedModel:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """The next turn for the conversation; the same again when the client repeats a request."""
        if not request.get("tools"):
            return blocks("ok")  # a request beside the conversation, such as one for a title
        asked = json.dumps(request.get("messages"), sort_keys=True)
        if "<summary>" in asked and "detailed summary" in json.dumps(request["messages"][-1]):
            return blocks("<summary>\nThe conversation so far, in short.\n</summary>")
        with self._lock:
            self.requests.append(request)
            if asked not in self._answers:
                self._answers[asked] = blocks(next(self._turns, "That was all."))
            return self._answers[asked]


def shown(request: dict[str, Any]) -> str:
    """All text that a request puts before the model, tools left out."""
    return "\n".join(_texts([request.get("system"), *(message["content"] for message in request["messages"])]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from _texts(value.get("text"))
        yield from _texts(value.get("content"))


def _message(request: dict[str, Any], content: list[dict[str, Any]]) -> dict[str, Any]:
    stop = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    return {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", "scripted"),
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


def _stream(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        text = block["type"] == "text"
        start = {**block, "text": ""} if text else {**block, "input": {}}
        delta = (
            {"type": "text_delta", "text": block["text"]}
            if text
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

        def do_GET(self) -> None:
            self._send(404, b"{}", "application/json")

        do_HEAD = do_GET

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            if "count_tokens" in self.path:
                self._send(200, b'{"input_tokens": 100}', "application/json")
                return
            message = _message(request, model.answer(request))
            if not request.get("stream"):
                self._send(200, json.dumps(message).encode(), "application/json")
                return
            lines = itertools.chain.from_iterable(
                (f"event: {event['type']}", f"data: {json.dumps(event)}", "") for event in _stream(message)
            )
            self._send(200, ("\n".join(lines) + "\n").encode(), "text/event-stream")

        def _send(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
