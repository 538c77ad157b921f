"""Strict counterparts of six providers on 127.0.0.1: one server, the wire of each provider, and a table of faults.

A counterpart refuses what its provider refuses: another path, another key, fields that it does not know. What it says
of a fault stands in the fields and under the status where its provider says it.
"""

import json
import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final

from jurist.engines.models import Model

KEY: Final = "sk-loopback-0123456789"
MODEL: Final = "model-1"
Json = dict[str, Any]
Problem = tuple[int, Json | str, dict[str, str]]
"""Status, body and further fields of the head of a reply that is no answer."""


@dataclass(frozen=True)
class Fault:
    """One way to fail, for some requests."""

    name: str
    hits: Callable[[int, str], bool]
    """Whether it is the fate of a request, by its number (0-based) and the text of its last message."""


def burst(name: str, first: int = 4, requests: int = 6) -> Fault:
    """Return a fault of some requests, one after the other."""
    return Fault(name, lambda number, text: first <= number < first + requests)


class Wire(ABC):
    """What a provider takes and says."""

    name: ClassVar[str]
    provider: ClassVar[str]  # in the name of the model
    base: ClassVar[str]  # path of the address
    path: ClassVar[str]  # of the requests
    fields: ClassVar[frozenset[str]]  # that a request may have
    key_variable: ClassVar[str]
    overload: ClassVar[int] = 503

    def model(self, address: str, **settings: Any) -> Model:
        """Return the model that is asked at the counterpart."""
        return Model(name=f"{self.provider}/{MODEL}", api_base=f"{address}{self.base}", **settings)

    @abstractmethod
    def key_of(self, headers: Any) -> str:
        """Return the key that a request has."""

    @abstractmethod
    def messages(self, body: Json) -> list[Json]:
        """Return the role and text of each message, the system message first."""

    @abstractmethod
    def images(self, body: Json) -> list[tuple[str, str]]:
        """Return the type and the base64 data of each image in a request; an address has an empty type."""

    @abstractmethod
    def answer(self, body: Json, text: str) -> Json:
        """Return the body of an answer."""

    @abstractmethod
    def error(self, status: int, kind: str, words: str) -> Json:
        """Return the body of a refusal."""

    def refusal(self, body: Json, refused: frozenset[str]) -> Problem | None:
        """Return what is said to a request with fields that are not known, or not taken here."""
        unknown = body.keys() - self.fields
        if unknown:
            return 400, self.error(400, "invalid", f"Unknown parameter: '{min(unknown)}'."), {}
        settings = self.settings(body)
        for name in sorted(refused & settings.keys()):
            return 400, self.error(400, "invalid", f"Unsupported parameter: '{settings[name]}'."), {}
        return None

    @abstractmethod
    def settings(self, body: Json) -> dict[str, str]:
        """Return what a request asks for that may be refused, ``form`` or ``temperature``, by the provider's name."""

    def problem(self, fault: str) -> Problem:
        """Return what is said where a fault is met."""
        limited = {"Retry-After": "1"}
        if fault == "rate":
            return (
                429,
                self.error(429, "rate", "Rate limit reached on requests per min (RPM): Limit 500."),
                limited,
            )
        if fault == "tpm":
            words = "This would exceed your rate limit of 30,000 input tokens per minute. Reduce the prompt length."
            return 429, self.error(429, "rate", words), limited
        if fault == "rpd":
            words = "Rate limit reached on requests per day (RPD): Limit 200. Please try again in 7m12s."
            return 429, self.error(429, "rate", words), {"Retry-After": "432"}
        if fault == "503":
            return self.overload, self.error(self.overload, "overload", "The model is overloaded."), {}
        if fault == "cf":
            return (
                502,
                "<html><head><title>502 Bad Gateway</title></head></html>",
                {"Content-Type": "text/html"},
            )
        if fault == "ctx":
            words = (
                "This model's maximum context length is 8192 tokens. Your messages resulted in 9012 tokens."
            )
            return 400, self.error(400, "length", words), {}
        assert fault == "filter400", fault
        return self.filtered()

    def filtered(self) -> Problem:
        """Return what is said to a prompt that a filter refuses."""
        return (
            400,
            self.error(400, "filter", "Invalid prompt: it was flagged as potentially violating our policy."),
            {},
        )


def with_text(message: Json) -> Json:
    """Return role and text of a message; parts that are no text are left out."""
    content = message["content"]
    if not isinstance(content, str):
        content = "".join(part["text"] for part in content if part["type"] == "text")
    return {"role": message["role"], "content": content}


def split_address(address: str) -> tuple[str, str]:
    """Return the type and the base64 data of a ``data:`` address; an empty type and the address of any other."""
    if not address.startswith("data:"):
        return "", address
    head, data = address.removeprefix("data:").split(";base64,")
    return head, data


class OpenAI(Wire):
    """OpenAI's chat completions."""

    name = "openai"
    provider = "openai"
    base = "/v1"
    path = "/v1/chat/completions"
    key_variable = "OPENAI_API_KEY"
    fields = frozenset(
        {
            "messages",
            "model",
            "logprobs",
            "max_completion_tokens",
            "max_tokens",
            "response_format",
            "temperature",
            "top_logprobs",
            "top_p",
        }
    )
    codes: ClassVar[dict[str, str]] = {
        "invalid": "unknown_parameter",
        "rate": "rate_limit_exceeded",
        "length": "context_length_exceeded",
        "filter": "invalid_prompt",
        "overload": "server_error",
        "key": "invalid_api_key",
    }

    def key_of(self, headers: Any) -> str:
        return str(headers.get("Authorization", "")).removeprefix("Bearer ")

    def messages(self, body: Json) -> list[Json]:
        return [with_text(message) for message in body["messages"]]

    def images(self, body: Json) -> list[tuple[str, str]]:
        images = list[tuple[str, str]]()
        for message in body["messages"]:
            parts = [] if isinstance(message["content"], str) else message["content"]
            for part in parts:
                if part["type"] != "text":
                    assert part["type"] == "image_url"
                    images.append(split_address(part["image_url"]["url"]))
        return images

    def refusal(self, body: Json, refused: frozenset[str]) -> Problem | None:
        if {"max_tokens", "max_completion_tokens"} <= body.keys():
            words = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
            return 400, self.error(400, "invalid", words), {}
        return super().refusal(body, refused)

    def settings(self, body: Json) -> dict[str, str]:
        names = {"form": "response_format", "temperature": "temperature"}
        return {setting: name for setting, name in names.items() if name in body}

    def answer(self, body: Json, text: str) -> Json:
        message = {"role": "assistant", "content": text, "refusal": None}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }

    def error(self, status: int, kind: str, words: str) -> Json:
        code = self.codes.get(kind)
        return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": code}}


class VLLM(OpenAI):
    """vLLM's server of one's own: it knows many fields, asks for no key, and says the status as its code."""

    name = "vllm"
    key_variable = ""

    def refusal(self, body: Json, refused: frozenset[str]) -> Problem | None:
        return Wire.refusal(self, body, refused)

    def error(self, status: int, kind: str, words: str) -> Json:
        return {"error": {"message": words, "type": "BadRequestError", "param": None, "code": status}}


class Ollama(VLLM):
    """Ollama under the path of OpenAI's protocol, given without that path; it has no codes."""

    name = "ollama"
    provider = "ollama_chat"
    base = ""

    def error(self, status: int, kind: str, words: str) -> Json:
        return {"error": {"message": words, "type": "api_error", "param": None, "code": None}}


class Azure(OpenAI):
    """Azure OpenAI: a path with the deployment, a head with the key, and a filter of its own."""

    name = "azure"
    provider = "azure"
    base = ""
    path = f"/openai/deployments/{MODEL}/chat/completions"
    key_variable = "AZURE_API_KEY"
    codes = OpenAI.codes | {"rate": "429", "filter": "content_filter"}
    fields = OpenAI.fields | {"n"}

    def key_of(self, headers: Any) -> str:
        return str(headers.get("api-key", ""))

    def filtered(self) -> Problem:
        body = self.error(400, "filter", "The response was filtered due to the prompt triggering a policy.")
        body["error"]["innererror"] = {"code": "ResponsibleAIPolicyViolation"}
        return 400, body, {}


class Anthropic(Wire):
    """Anthropic's messages."""

    name = "anthropic"
    provider = "anthropic"
    base = "/v1"
    path = "/v1/messages"
    key_variable = "ANTHROPIC_API_KEY"
    fields = frozenset(
        {
            "messages",
            "model",
            "max_tokens",
            "system",
            "temperature",
            "top_p",
            "output_config",
            "cache_control",
            "stream",
        }
    )
    overload = 529
    types: ClassVar[dict[str, str]] = {"rate": "rate_limit_error", "overload": "overloaded_error"}

    def key_of(self, headers: Any) -> str:
        return str(headers.get("x-api-key", "")) if headers.get("anthropic-version") else ""

    def messages(self, body: Json) -> list[Json]:
        first = [{"role": "system", "content": body["system"]}] if "system" in body else []
        return [with_text(message) for message in [*first, *body["messages"]]]

    def images(self, body: Json) -> list[tuple[str, str]]:
        images = list[tuple[str, str]]()
        for message in body["messages"]:
            parts = [] if isinstance(message["content"], str) else message["content"]
            for part in parts:
                if part["type"] == "text":
                    continue
                assert part["type"] == "image"
                source = part["source"]
                if source["type"] == "url":
                    images.append(("", source["url"]))
                else:
                    assert source["type"] == "base64"
                    images.append((source["media_type"], source["data"]))
        return images

    def settings(self, body: Json) -> dict[str, str]:
        names = {"form": "output_config", "temperature": "temperature"}
        return {setting: name for setting, name in names.items() if name in body}

    def answer(self, body: Json, text: str) -> Json:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }

    def error(self, status: int, kind: str, words: str) -> Json:
        error = {"type": self.types.get(kind, "invalid_request_error"), "message": words}
        return {"type": "error", "error": error, "request_id": "req_1"}

    def filtered(self) -> Problem:
        return 400, self.error(400, "filter", "Output blocked by content filtering policy"), {}


class Gemini(Wire):
    """Gemini's generateContent: an HTTP 200 says that a prompt was blocked, and a body how long to wait."""

    name = "gemini"
    provider = "gemini"
    base = "/v1beta"
    path = f"/v1beta/models/{MODEL}:generateContent"
    key_variable = "GEMINI_API_KEY"
    fields = frozenset({"contents", "systemInstruction", "generationConfig"})
    states: ClassVar[dict[str, str]] = {"rate": "RESOURCE_EXHAUSTED", "overload": "UNAVAILABLE"}

    def key_of(self, headers: Any) -> str:
        return str(headers.get("x-goog-api-key", ""))

    def messages(self, body: Json) -> list[Json]:
        contents = [("system", body["systemInstruction"])] if "systemInstruction" in body else []
        contents += [(content.get("role", "user"), content) for content in body["contents"]]
        return [
            {"role": role, "content": "".join(part.get("text", "") for part in content["parts"])}
            for role, content in contents
        ]

    def images(self, body: Json) -> list[tuple[str, str]]:
        images = list[tuple[str, str]]()
        for content in body["contents"]:
            for part in content["parts"]:
                if "inlineData" in part:
                    images.append((part["inlineData"]["mimeType"], part["inlineData"]["data"]))
                elif "fileData" in part:
                    images.append(("", part["fileData"]["fileUri"]))
                else:
                    assert part.keys() == {"text"}
        return images

    def settings(self, body: Json) -> dict[str, str]:
        config = body.get("generationConfig", {})
        names = {"form": "responseMimeType", "temperature": "temperature"}
        said = {"form": "response_mime_type", "temperature": "temperature"}
        return {setting: said[setting] for setting, name in names.items() if name in config}

    def answer(self, body: Json, text: str) -> Json:
        return {
            "candidates": [
                {"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110},
            "modelVersion": MODEL,
        }

    def error(self, status: int, kind: str, words: str) -> Json:
        state = self.states.get(kind, "INVALID_ARGUMENT")
        return {"error": {"code": status, "message": words, "status": state}}

    def problem(self, fault: str) -> Problem:
        status, body, headers = super().problem(fault)
        if status == 429 and isinstance(body, dict):
            delay = f"{headers['Retry-After']}s"
            retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
            body["error"]["details"] = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure"}, retry]
            headers = {}
        return status, body, headers

    def filtered(self) -> Problem:
        return (
            200,
            {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}},
            {},
        )


WIRES: Final = {wire.name: wire for wire in (OpenAI(), Anthropic(), Gemini(), Azure(), Ollama(), VLLM())}


@dataclass(kw_only=True)
class Counterpart:
    """The server of one provider, as a context manager.

    Args:
        wire: what the provider takes and says.
        answers: messages -> the text of the reply.
        faults: the first that hits a request is its fate.
        refused: the settings that the model does not take: ``form``, ``temperature``.
    """

    wire: Wire
    answers: Callable[[list[Json]], str]
    faults: tuple[Fault, ...] = ()
    refused: frozenset[str] = frozenset()
    hits: list[tuple[str, Json]] = field(default_factory=list)
    """The fault and the body of each request, in the order in which they came."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.counterpart = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> "Counterpart":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def model(self, **settings: Any) -> Model:
        """Return the model that is asked here."""
        return self.wire.model(self.address, **settings)

    def fate_of(self, body: Json, text: str) -> str:
        """Note a request, and return the name of the fault that it meets; empty for none."""
        with self._lock:
            number = len(self.hits)
            fate = next((fault.name for fault in self.faults if fault.hits(number, text)), "")
            self.hits.append((fate, body))
        return fate

    def wait(self) -> None:
        """Let a request hang until the server ends."""
        self._closing.wait(20)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    counterpart: Counterpart

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that clients, or our own faults, broke."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""

    def do_POST(self) -> None:
        part = self.server.counterpart
        wire = part.wire
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.partition("?")[0] != wire.path:
            self._send(404, wire.error(404, "path", f"Unknown request URL: POST {self.path}."), {})
            return
        if wire.key_variable and wire.key_of(self.headers) != KEY:
            self._send(401, wire.error(401, "key", "Incorrect API key provided"), {})
            return
        messages = wire.messages(body)
        fate = part.fate_of(body, str(messages[-1]["content"]))
        if fate == "hang":
            part.wait()
            self.close_connection = True
        elif fate == "drop":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif fate:
            self._send(*wire.problem(fate))
        elif (refusal := wire.refusal(body, part.refused)) is not None:
            self._send(*refusal)
        else:
            time.sleep(0.005)
            self._send(200, wire.answer(body, part.answers(messages)), {})

    def _send(self, status: int, body: Json | str, headers: dict[str, str]) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
