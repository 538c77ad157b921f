"""The offline engine behind an address that speaks OpenAI's protocol, as the model of an MLflow judge.

The engine reads signatures, demonstrations and inputs, and no prompts. What MLflow sends holds all three: retrieved
rows with their labels are the demonstrations, the row that is judged is the input, and the signature is the judge's.
The engine reads no instructions; where it is asked to write guidelines, it has none.
"""

import ast
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import dspy

import jurist
from jurist.engines.adapters import adapter
from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.text.terms import count_tokens

_EXAMPLE = re.compile(r"^  Example \d+: (\{.*\})\.?$", re.MULTILINE)
"""A retrieved row in the instruction of MLflow's judge: a dict of Python, after the last one a full stop."""
_INPUTS = "inputs: "
_NO_GUIDELINES = '{"guidelines": []}'


def complete(judge: jurist.Judge, messages: Sequence[Mapping[str, str]]) -> str:
    """Return the reply to the messages of MLflow's judge, or to those that ask for guidelines."""
    if len(messages) == 1:
        return _NO_GUIDELINES
    system, user = messages[0]["content"], messages[-1]["content"]
    program = dspy.Predict(judge.signature)
    program.demos = demonstrations(judge, system)
    inputs = json.loads(user.removeprefix(_INPUTS))
    lm = connect(Model("offline"), CallContext.fresh())
    with dspy.context(lm=lm, adapter=adapter("chat")):
        prediction = program(**inputs)
    return json.dumps({"result": prediction[judge.answer.field], "rationale": "-"})


def demonstrations(judge: jurist.Judge, instruction: str) -> list[dspy.Example]:
    """Return the retrieved rows that stand in an instruction, with their labels."""
    examples: list[dspy.Example] = []
    for text in _EXAMPLE.findall(instruction):
        row = ast.literal_eval(text)
        inputs = ast.literal_eval(row["inputs"])
        examples.append(dspy.Example(**inputs, **{judge.answer.field: row["result"]}))
    return examples


@contextmanager
def served(judge: jurist.Judge) -> Iterator[str]:
    """Serve the engine as the model of a judge while the block runs, and give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(_completion(judge, request["messages"])).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _completion(judge: jurist.Judge, messages: Sequence[Mapping[str, str]]) -> dict[str, object]:
    """Return a reply as OpenAI's protocol has it."""
    text = complete(judge, messages)
    prompt_tokens = sum(count_tokens(message["content"]) for message in messages)
    reply_tokens = count_tokens(text)
    message = {"role": "assistant", "content": text}
    return {
        "id": "offline",
        "object": "chat.completion",
        "created": 0,
        "model": "offline",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": reply_tokens,
            "total_tokens": prompt_tokens + reply_tokens,
        },
    }
