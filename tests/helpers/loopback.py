"""An OpenAI-compatible chat server on 127.0.0.1, with faults on demand.

It is the far end of the real path: DSPy's own client sends real HTTP to it. It
answers by a rule that a test can repeat (``truth_of``), counts every request,
and can be told to fail in each of the ways endpoints fail.
"""

import contextlib
import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["FAULTS", "Fault", "Hit", "Loopback", "answer", "field_of", "truth_of"]

Fault = str
_NAMES = """
    429 quota 400 401 404 500 503 reset truncated html empty null choiceless thought cut half filtered refused two
    garbage hang tool
"""
FAULTS: tuple[Fault, ...] = tuple(_NAMES.split())
_TAGS = ("irrelevant", "faithful", "invented", "misleading", "speculative", "reliable", "irrefutable")
_STATUS: dict[str, tuple[int, str, str]] = {
    "429": (429, "rate_limit_exceeded", "slow down"),
    "quota": (429, "insufficient_quota", "You exceeded your current quota, please check your plan"),
    "400": (400, "invalid_request_error", "the request is not valid"),
    "401": (401, "invalid_api_key", "Incorrect API key provided: {key}"),
    "404": (404, "model_not_found", "The model `{model}` does not exist"),
    "500": (500, "server_error", "internal error"),
    "503": (503, "overloaded", "overloaded"),
}


_ENDS = {"cut": "length", "half": "length", "filtered": "content_filter", "tool": "tool_calls"}
_TOOL = {
    "id": "1",
    "type": "function",
    "function": {"name": "json_tool_call", "arguments": '{"factual": true}'},
}


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One request that arrived: its number (0-based), body, hash of the body, and Authorization header."""

    index: int
    raw: bytes
    body: dict[str, Any]
    key: str
    authorization: str
    fault: Fault | None


Plan = Mapping[int, Fault] | Callable[[int, dict[str, Any]], Fault | None]


def field_of(text: str, name: str) -> str:
    """Return an input field of a ChatAdapter message."""
    found = re.search(
        rf"^\[\[ ## {name} ## \]\]\n(.*?)(?=\n\n\[\[ ## |\n\nRespond with|\Z)", text, re.S | re.M
    )
    return found.group(1) if found else ""


def truth_of(text: str, choices: tuple[Any, ...] = (True, False)) -> Any:
    """Return what the server answers about a text: the rule is its hash."""
    return choices[hashlib.sha256(text.encode("utf-8", "replace")).digest()[0] % len(choices)]


def answer(messages: list[dict[str, Any]]) -> str:
    """Answer a ChatAdapter request for ``factual``, ``labels`` or ``instruction``."""
    system, last = str(messages[0]["content"]), str(messages[-1]["content"])
    if "`labels`" in system:
        lines = re.findall(r"^(\d+)\. (.*)$", field_of(last, "sentences"), re.M)
        items = [{"n": int(n), "label": truth_of(text, _TAGS)} for n, text in lines]
        return f"[[ ## labels ## ]]\n{json.dumps(items)}\n\n[[ ## completed ## ]]"
    if "`instruction`" in system:
        digest = hashlib.sha256(last.encode()).hexdigest()[:8]
        return f"[[ ## instruction ## ]]\nJudge the claim strictly, rule {digest}.\n\n[[ ## completed ## ]]"
    return f"[[ ## factual ## ]]\n{truth_of(field_of(last, 'claim'))}\n\n[[ ## completed ## ]]"


class Loopback:
    """The server, as a context manager.

    Args:
        answers: messages -> the ``content`` of the reply.
        faults: request number -> fault, or (number, body) -> fault or ``None``.
        delay: seconds before each answer.
        thoughts: what every reply has as its ``reasoning_content``.
        retry_after: the header of 429 and 503 answers; ``None`` leaves it out.
        logprobs: body -> what a reply says of its tokens, ``None`` for nothing.
        refuses: body -> why such a request is refused with 400, empty if it is not.
        ended: the ``finish_reason`` of every reply that no fault ends.
        port: where it listens; any that is free if 0.
        vector: text -> what it is embedded as.
        cached: how many of the tokens of each request it says to have kept from an earlier one.
        tokens: body -> the tokens that it says to have read.
    """

    def __init__(
        self,
        answers: Callable[[list[dict[str, Any]]], Any] = answer,
        *,
        faults: Plan | None = None,
        delay: float = 0.0,
        retry_after: str | None = "0",
        thoughts: str | None = None,
        logprobs: Callable[[dict[str, Any]], Any] = lambda body: None,
        refuses: Callable[[dict[str, Any]], str] = lambda body: "",
        ended: str | None = "stop",
        vector: Callable[[str], list[float]] = lambda text: [1.0],
        cached: int = 0,
        tokens: Callable[[dict[str, Any]], int] = lambda body: 100,
        port: int = 0,
    ) -> None:
        self.tokens = tokens
        self.refuses, self.logprobs, self.ended, self.cached = refuses, logprobs, ended, cached
        self.thoughts, self.vector = thoughts, vector
        self.answers, self.faults, self.delay, self.retry_after = answers, faults or {}, delay, retry_after
        self.hits: list[Hit] = []
        self.times: list[float] = []
        self.said: dict[str, str] = {}
        self.peak = self._now = self.connections = 0
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.loopback = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> "Loopback":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The address for ``api_base``."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_address[1]

    @property
    def count(self) -> int:
        """How many requests arrived."""
        return len(self.hits)

    @property
    def in_flight(self) -> int:
        """How many requests have arrived and are not answered yet."""
        return self._now

    @property
    def by_body(self) -> Counter[str]:
        """Hash of the body -> how often it arrived."""
        return Counter(hit.key for hit in self.hits)

    def arrive(self, raw: bytes, authorization: str) -> Hit:
        """Note a request and choose its fault."""
        body = json.loads(raw)
        key = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        with self._lock:
            index = len(self.hits)
            fault = self.faults(index, body) if callable(self.faults) else self.faults.get(index)
            hit = Hit(index=index, raw=raw, body=body, key=key, authorization=authorization, fault=fault)
            self.hits.append(hit)
            self.times.append(time.monotonic())
            self._now += 1
            self.peak = max(self.peak, self._now)
        return hit

    def leave(self) -> None:
        """Note that a request was answered."""
        with self._lock:
            self._now -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    loopback: Loopback

    def process_request(self, request: Any, client_address: Any) -> None:
        """Count a connection, and serve it in a thread."""
        self.loopback.connections += 1
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that clients, or our own faults, broke."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""

    def do_POST(self) -> None:
        loop = self.server.loopback
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        hit = loop.arrive(raw, self.headers.get("Authorization", ""))
        try:
            if loop.delay:
                time.sleep(loop.delay)
            self._answer(loop, hit)
        finally:
            loop.leave()

    def _answer(self, loop: Loopback, hit: Hit) -> None:
        if refusal := loop.refuses(hit.body):
            error = {"error": {"message": refusal, "type": "invalid_request_error", "code": None}}
            self._send(400, json.dumps(error).encode())
        elif hit.fault == "hang":
            loop.closing.wait(20)
            self.close_connection = True
        elif hit.fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif hit.fault in _STATUS:
            self._error(loop, hit)
        elif "input" in hit.body:
            vectors = [
                {"embedding": loop.vector(text), "index": at} for at, text in enumerate(hit.body["input"])
            ]
            usage = {"prompt_tokens": 5 * len(vectors), "total_tokens": 5 * len(vectors)}
            listed = {"object": "list", "data": vectors[::-1], "model": hit.body["model"], "usage": usage}
            self._send(200, json.dumps(listed).encode())
        elif hit.fault == "html":
            self._send(200, b"<html><body>gateway</body></html>", "text/html")
        else:
            self._reply(loop, hit)

    def _error(self, loop: Loopback, hit: Hit) -> None:
        status, code, message = _STATUS[str(hit.fault)]
        key = hit.authorization.removeprefix("Bearer ")
        text = message.format(key=key, model=hit.body.get("model"))
        extra = {"Retry-After": loop.retry_after} if hit.fault in ("429", "503") and loop.retry_after else {}
        kind = code if hit.fault in ("quota", "400") else "error"
        error = json.dumps({"error": {"message": text, "type": kind, "code": code}}).encode()
        self._send(status, error, extra=extra)

    def _reply(self, loop: Loopback, hit: Hit) -> None:
        said = {"empty": "", "null": None, "thought": None, "cut": "[[ ## factual ## ]]\nTr"}
        said |= {"half": "[[ ## factual ## ]]\nTrue", "filtered": None, "refused": None, "tool": None}
        said["garbage"] = "Well, true is a big word; hard to say."
        content = said[str(hit.fault)] if hit.fault in said else loop.answers(hit.body["messages"])
        if hit.fault is None:
            loop.said[hit.key] = str(content)
        thoughts = "[[ ## factual ## ]]\nTrue" if hit.fault == "thought" else loop.thoughts
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": content}
            | ({"reasoning_content": thoughts} if thoughts else {})
            | ({"refusal": "I cannot help with that."} if hit.fault == "refused" else {})
            | ({"tool_calls": [_TOOL]} if hit.fault == "tool" else {}),
            "finish_reason": _ENDS.get(str(hit.fault), loop.ended),
            "logprobs": loop.logprobs(hit.body),
        }
        data = json.dumps(
            {
                "id": f"chatcmpl-{hit.index}",
                "object": "chat.completion",
                "created": 1,
                "model": hit.body.get("model"),
                "choices": [choice] * {"choiceless": 0, "two": 2}.get(str(hit.fault), 1),
                "usage": {
                    "prompt_tokens": loop.tokens(hit.body),
                    "completion_tokens": 10,
                    "total_tokens": loop.tokens(hit.body) + 10,
                    "prompt_tokens_details": {"cached_tokens": loop.cached},
                },
            }
        ).encode()
        if hit.fault == "truncated":
            data = data[: len(data) // 2]
        self._send(200, data)

    def _send(
        self, status: int, data: bytes, kind: str = "application/json", extra: dict[str, str] | None = None
    ) -> None:
        with contextlib.suppress(OSError):  # the client gave up
            self.send_response(status)
            for name, value in {
                "Content-Type": kind,
                "Content-Length": str(len(data)),
                **(extra or {}),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
