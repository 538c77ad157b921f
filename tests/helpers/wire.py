"""A server on 127.0.0.1 that gives every POST one prepared JSON reply, and keeps what arrived."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Arrived", "Wire", "anthropic_reply", "gemini_reply", "openai_reply"]

Reply = Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Arrived:
    """One request: its path, headers (lower case) and JSON body."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class Wire:
    """The server, as a context manager: ``reply`` is the JSON of every reply, or makes it of a request's body."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.arrived: list[Arrived] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> "Wire":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"


def _handler_of(wire: Wire) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Stay quiet."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            wire.arrived.append(Arrived(path=self.path, headers=headers, body=body))
            reply = wire.reply(body) if callable(wire.reply) else wire.reply
            data = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def openai_reply(text: str = "yes", model: str = "gpt-5-mini", **usage: Any) -> dict[str, Any]:
    """Return a reply of chat completions with these counts."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [choice],
        "usage": usage,
    }


def anthropic_reply(text: str = "yes", model: str = "claude-haiku-4-5", **usage: Any) -> dict[str, Any]:
    """Return a reply of Anthropic's messages with these counts."""
    content = [{"type": "text", "text": text}]
    about = {"id": "m", "type": "message", "role": "assistant", "model": model, "stop_reason": "end_turn"}
    return {**about, "stop_sequence": None, "content": content, "usage": usage}


def gemini_reply(text: str = "yes", model: str = "gemini-2.5-flash", **usage: Any) -> dict[str, Any]:
    """Return a reply of Gemini's generateContent with these counts."""
    content = {"role": "model", "parts": [{"text": text}]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": "r"}
