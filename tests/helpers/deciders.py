"""Real decision models on 127.0.0.1: ``sparrow-decider serve``, and the same model behind OpenAI's protocol.

OpenAI's side is held to the types of the ``openai`` package: a request that they refuse is answered with 422, and a
reply is made of them.
"""

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from openai.types import Decision, DecisionCreateParams
from openai.types.decision_create_params import (
    Question,
    QuestionQuestionParamChoiceChoice,
    QuestionQuestionParamScoreLevel,
)
from openai.types.decision_input_part_union_param import DecisionInputPartUnionParam
from pydantic import TypeAdapter, ValidationError
from sparrow_decider import Decider

__all__ = ["Forwarder", "LoopbackServer", "OpenAIDecisions", "QuietHandler", "decider", "serving_sparrow"]


@cache
def decider() -> Decider:
    """Return the model itself, as its package loads it."""
    return Decider.load()


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextlib.contextmanager
def serving_sparrow() -> Iterator[str]:
    """Yield the address of ``sparrow-decider serve``, a process of its own."""
    port = free_port()
    command = [
        sys.executable,
        "-c",
        "from sparrow_decider.cli import main; main()",
        "serve",
        "--port",
        str(port),
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(200):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(address, timeout=5).close()
                    break
                time.sleep(0.1)
            yield address
        finally:
            server.kill()


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that answers with JSON and logs nothing."""

    def reply(self, status: int, data: bytes) -> None:
        """Send a reply."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class LoopbackServer:
    """A server on this machine, as a context manager; requests go to a handler."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class OpenAIDecisions(LoopbackServer):
    """The model behind ``POST /v1/decisions``; ``fault`` is a status that is answered in its place."""

    def __init__(self, fault: int = 0, key: str = "") -> None:
        self.fault, self.key = fault, key
        self.delay = 0.0  # seconds before each answer
        self.bodies: list[dict[str, Any]] = []
        outer = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, reply = outer.answer(self.path, self.headers.get("Authorization", ""), body)
                data = json.dumps(reply).encode()
                time.sleep(outer.delay)
                with contextlib.suppress(OSError):  # whoever asked was killed
                    self.reply(status, data)

        super().__init__(Handler)
        self.url = f"{self.address}/v1"

    @property
    def count(self) -> int:
        """How many requests were answered."""
        return len(self.bodies)

    def answer(self, path: str, authorization: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and body of the reply to a request."""
        if path != "/v1/decisions":
            return 404, {"error": {"message": "not found"}}
        if self.key and authorization != f"Bearer {self.key}":
            return 401, {"error": {"message": f"Incorrect API key provided: {authorization}"}}
        if self.fault:
            return self.fault, {"error": {"message": "slow down"}}
        try:
            check_body(body)
        except ValidationError as error:
            return 422, {"error": {"message": str(error)}}
        self.bodies.append(body)
        text = self.read_input(body["input"])
        answers = [self.answer_question(text, question) for question in body["questions"]]
        details = {"cache_write_tokens": 0, "cached_tokens": 0}
        usage = {
            "input_tokens": len(text.split()),
            "output_tokens": 0,
            "total_tokens": len(text.split()),
            "input_tokens_details": details,
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        decision = Decision.model_validate({"answers": answers, "model": body["model"], "usage": usage})
        return 200, decision.model_dump()

    def read_input(self, value: str | list[dict[str, Any]]) -> str:
        """Return the text that the questions are about."""
        return text_of_input(value)

    def answer_question(self, text: str, question: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a question, by the model itself."""
        return _answer(text, question)


_CHECKS: dict[str, TypeAdapter[Any]] = {
    "body": TypeAdapter(DecisionCreateParams),
    "questions": TypeAdapter(Question),
    "choices": TypeAdapter(QuestionQuestionParamChoiceChoice),
    "levels": TypeAdapter(QuestionQuestionParamScoreLevel),
    "content": TypeAdapter(DecisionInputPartUnionParam),
}
"""Part of a body -> what checks it: pydantic leaves the items of an ``Iterable`` to whoever reads them."""


def check_body(body: dict[str, Any]) -> None:
    """Refuse a body that is none of OpenAI's endpoint, with a ``ValidationError``."""
    _CHECKS["body"].validate_python(body)
    for question in body["questions"]:
        _CHECKS["questions"].validate_python(question)
        for key in ("choices", "levels"):
            for entry in question.get(key, ()):
                _CHECKS[key].validate_python(entry)
    messages = body["input"] if isinstance(body["input"], list) else ()
    for message in messages:
        for part in message["content"]:
            _CHECKS["content"].validate_python(part)


def text_of_input(value: str | list[dict[str, Any]]) -> str:
    """Return the text of an input: itself, or that of the text parts of its messages."""
    if isinstance(value, str):
        return value
    texts: list[str] = []
    for message in value:
        for part in message["content"]:
            texts.append(part.get("text", ""))
    return "\n\n".join(texts)


def _answer(text: str, question: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a question of OpenAI's protocol, by the model itself."""
    kind, asked = question["type"], question["instructions"]
    if kind == "predicate":
        ours = decider().ask(text, {"q": {"type": "noul", "instructions": asked}})["q"]
        return {"type": kind, "name": question["name"], "probability": ours["noul"]}
    if kind == "choice":
        criteria = {entry["value"]: entry.get("description", "") for entry in question["choices"]}
        ours = decider().ask(text, {"q": {"type": kind, "instructions": asked, "criteria": criteria}})["q"]
        shares = [{"value": name, "probability": share} for name, share in ours["probabilities"].items()]
        return {
            **_named(question),
            "choice": ours["choice"],
            "confidence": ours["confidence"],
            "probabilities": shares,
        }
    levels = [entry["label"] for entry in question["levels"]]
    ours = decider().ask(text, {"q": {"type": kind, "instructions": asked, "criteria": levels}})["q"]
    shares = []
    for place, level in enumerate(levels):
        shares.append({"label": level, "value": place, "probability": ours["probabilities"][str(place)]})
    return {
        **_named(question),
        "score": ours["score"],
        "confidence": ours["confidence"],
        "probabilities": shares,
    }


def _named(question: dict[str, Any]) -> dict[str, Any]:
    return {"type": question["type"], "name": question["name"]}


class Forwarder(LoopbackServer):
    """A server that hands each request on to a real one and counts the questions that pass."""

    def __init__(self, address: str, seconds: float = 0.0) -> None:
        self.bodies: list[bytes] = []
        outer = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.bodies.append(body)
                time.sleep(seconds)
                request = urllib.request.Request(f"{address}{self.path}", data=body, method="POST")
                with urllib.request.urlopen(request, timeout=10) as answer:
                    data = answer.read()
                with contextlib.suppress(OSError):  # whoever asked was killed
                    self.reply(200, data)

        super().__init__(Handler)
        self.url = self.address
