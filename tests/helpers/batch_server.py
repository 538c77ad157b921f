"""The loopback server with the provider's side of batches: files and batches, as strict as the real one, and faults."""

import email
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal

from loopback import Loopback, _Handler, answer

Trouble = Literal[
    "expired", "failed", "missing", "doubled", "garbage", "broken", "refused", "empty", "limited", "thought",
    "cancelled",
]  # fmt: skip
"""What goes wrong with a batch.

It happens to every third line, but for ``expired`` (all after the first) and ``failed`` (all).
"""
_EVERY = 3


class BatchServer(Loopback):
    """Answers chat requests as :class:`Loopback` does, at once or in batches.

    Args:
        troubles: number of a batch, from 0 -> what goes wrong with it.
        refuses: as there, at once or in batches.
        breaks: requests, as ``POST /batches``, that are answered 500 the first time, after they were done.
        done: called with each request after it was done, before it is answered.
        polls: how often a batch is looked at before it has ended.
    """

    def __init__(
        self,
        answers: Callable[[list[dict[str, Any]]], str] = answer,
        *,
        troubles: Mapping[int, Trouble] | None = None,
        refuses: Callable[[dict[str, Any]], str] = lambda body: "",
        breaks: tuple[str, ...] = (),
        polls: int = 0,
        done: Callable[[str], None] = lambda what: None,
    ) -> None:
        super().__init__(answers, refuses=refuses)
        self.done = done
        self._server.RequestHandlerClass = _BatchHandler
        self.troubles, self.breaks, self.polls = troubles or {}, list(breaks), polls
        self.lists = True
        """Whether batches that were begun are listed."""
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.looks: Counter[str] = Counter()
        self.bodies: list[bytes] = []
        """What was answered in batches: each has to be paid for."""

    def upload(self, data: bytes) -> dict[str, Any]:
        name = f"file-{len(self.files)}"
        self.files[name] = data
        about = {"id": name, "object": "file", "bytes": len(data), "created_at": 1, "filename": "f.jsonl"}
        return {**about, "purpose": "batch", "status": "processed"}

    def begin(self, told: dict[str, Any]) -> dict[str, Any]:
        name = f"batch-{len(self.batches)}"
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "created_at": 1,
            "status": "validating",
            **{key: told[key] for key in ("input_file_id", "endpoint", "completion_window")},
        }
        return self.batches[name]

    def look(self, name: str) -> dict[str, Any]:
        batch, number = self.batches[name], int(name.split("-")[1])
        self.looks[name] += 1
        if batch["status"] in ("validating", "in_progress"):
            batch["status"] = "in_progress"
            if self.looks[name] > self.polls:
                self._end(batch, self.troubles.get(number))
        return batch

    def _end(self, batch: dict[str, Any], trouble: Trouble | None) -> None:
        lines = self.files[batch["input_file_id"]].splitlines()
        wrong = "you have too many tokens enqueued" if trouble == "failed" else self._wrong(lines, batch)
        if wrong:
            error = {"code": "invalid", "line": 1, "message": wrong, "param": None}
            batch |= {"status": "failed", "errors": {"object": "list", "data": [error]}}
            return
        output, errors = list[bytes](), list[bytes]()
        for index, line in enumerate(lines):
            bad = trouble if (index > 0 if trouble == "expired" else index % _EVERY == 0) else None
            self._line(line, bad, output, errors)
        total = {"total": len(lines), "completed": len(output), "failed": len(errors)}
        status = trouble if trouble in ("expired", "cancelled") else "completed"
        batch |= {"status": status, "request_counts": total}
        for kind, found in (("output_file_id", output), ("error_file_id", errors)):
            if found:
                batch[kind] = self.upload(b"\n".join(reversed(found)) + b"\n")["id"]

    def _wrong(self, lines: list[bytes], batch: dict[str, Any]) -> str:
        """Return what the provider would not take."""
        told = [json.loads(line) for line in lines]
        if not told:
            return "no lines"
        if len({one["custom_id"] for one in told}) < len(told):
            return "custom_id is not unique"
        if len({one["body"]["model"] for one in told}) > 1:
            return "one file, one model"
        plain = all(
            one.keys() == {"custom_id", "method", "url", "body"}
            and one["method"] == "POST"
            and one["url"] == batch["endpoint"] == "/v1/chat/completions"
            for one in told
        )
        return "" if plain else "this is no request"

    def _line(self, line: bytes, bad: Trouble | None, output: list[bytes], errors: list[bytes]) -> None:
        told = json.loads(line)
        if bad in ("missing", "cancelled"):
            return
        if bad == "expired":
            error = {"code": "batch_expired", "message": "This request could not be executed before expiry"}
            errors.append(_said(told["custom_id"], None, None, error))
        elif bad in ("broken", "limited", "refused") or self.refuses(told["body"]):
            status = {"broken": 500, "limited": 429}.get(str(bad), 400)
            said = self.refuses(told["body"]) or f"no: {status}"
            body = {"error": {"message": said, "type": "invalid_request_error", "code": None}}
            errors.append(_said(told["custom_id"], status, body, None))
        else:
            self.bodies.append(line[line.index(b'"body": ') + 8 : -1])
            text = "" if bad in ("empty", "thought") else self.answers(told["body"]["messages"])
            whole = _completion(told["body"]["model"], text)
            if bad == "thought":
                whole["choices"][0]["finish_reason"] = "length"
            output.append(_said(told["custom_id"], 200, whole, None))
            if bad == "doubled":
                other = _completion(told["body"]["model"], "[[ ## factual ## ]]\nmaybe")
                # the file is reversed: it comes last
                output.insert(0, _said(told["custom_id"], 200, other, None))
            elif bad == "garbage":
                output += [b'{"custom_id": "' + told["custom_id"].encode(), b"[]", b'"text"', b"\xff"]
                output.append(_said("nobody-asked", 200, _completion("m", "x"), None))


def _said(name: str, status: int | None, body: Any, error: Any) -> bytes:
    response = None if status is None else {"status_code": status, "request_id": "r", "body": body}
    return json.dumps({"id": "line", "custom_id": name, "response": response, "error": error}).encode()


def _completion(model: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": f"chatcmpl-{hashlib.sha256(text.encode()).hexdigest()[:8]}",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


class _BatchHandler(_Handler):
    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        loop, path = self._loop, self.path.partition("?")[0].removeprefix("/v1")
        parts = path.strip("/").split("/")
        if path.endswith("/content"):
            self._done("GET /content", loop.files[parts[1]])
        elif path == "/batches":
            every = list(reversed(loop.batches.values())) if loop.lists else []
            self._done("GET /batches", {"object": "list", "data": every, "has_more": False})
        else:
            self._done("GET /batch", loop.look(parts[1]))

    def do_POST(self) -> None:  # noqa: N802 - as above
        path = self.path.removeprefix("/v1")
        if path not in ("/files", "/batches"):
            super().do_POST()
            return
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        if path == "/files":
            self._done("POST /files", self._loop.upload(self._uploaded(raw)))
        else:
            self._done("POST /batches", self._loop.begin(json.loads(raw)))

    @property
    def _loop(self) -> BatchServer:
        found = self.server.loopback
        assert isinstance(found, BatchServer)
        return found

    def _uploaded(self, raw: bytes) -> bytes:
        head = f"Content-Type: {self.headers['Content-Type']}\n\n".encode()
        parts = email.message_from_bytes(head + raw).get_payload()
        found = {part.get_param("name", header="content-disposition"): part for part in parts}  # type: ignore[union-attr]
        assert found["purpose"].get_payload() == "batch"
        data = found["file"].get_payload(decode=True)
        assert isinstance(data, bytes)
        return data

    def _done(self, what: str, said: Any) -> None:
        data = said if isinstance(said, bytes) else json.dumps(said).encode()
        self._loop.done(what)
        if what in self._loop.breaks:
            self._loop.breaks.remove(what)
            self._send(500, b'{"error": {"message": "try again"}}')
        else:
            self._send(200, data)
