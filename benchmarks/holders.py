"""Through how many kinds of holder a row passes: a marked text is followed from the input to the output.

    python benchmarks/holders.py                # a row of ``jurist run``, and a gold row of ``jurist compile``
    python benchmarks/holders.py run --where    # with the module in which each holder was met first

The mark stands in the row and in the model's reasoning, which a server on this machine gives. A holder is a class of
jurist whose object holds the mark in one of its attributes, directly or in plain lists, tuples, dictionaries and
queues; what holds it through another holder alone (a job that holds cases) is none. Every call and every return of a
function of jurist is looked at, in all threads.

What a reader of jurist has to know is counted. So classes of libraries are not (DSPy's request, response and
prediction, aiohttp's response), nor plain dictionaries and texts. Classes of ours that have the shape of a library's
count: the row model that a judge declares for pydantic, and the HTTP reply that DSPy's providers read.
"""

import argparse
import json
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any

MARK = "zebrafinch"
_DEEPEST = 4
"""Lists, tuples and dictionaries within each other that are looked into."""
_WRONG = "wrong"
"""The word that rows hold whose label is no."""
_GOLD_ROWS = 40
_MARKED = 7
_CALLS = 300
_ROOT = str(Path(__file__).resolve().parents[1])


def main() -> int:
    """Print the kinds of holder of a row of each command."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("command", nargs="?", choices=WORK, help="default: both")
    options.add_argument("--where", action="store_true", help="name the module in which each was met first")
    arguments = options.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Replies)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    for name in [arguments.command] if arguments.command else WORK:
        with tempfile.TemporaryDirectory() as folder:
            places = followed(partial(WORK[name], address, Path(folder)))
        print(f"{name}: {len(places)} kinds of holder: {', '.join(places)}")
        if arguments.where:
            for holder, place in places.items():
                print(f"  {holder:24} {place}")
    server.shutdown()
    return 0


class _Replies(BaseHTTPRequestHandler):
    """An endpoint that answers rightly where it is shown demonstrations, with the mark in its reasons."""

    def do_POST(self) -> None:
        messages = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"]
        label = "no" if len(messages) > 2 and _WRONG in str(messages[-1]) else "yes"
        reply = f"[[ ## reasoning ## ]]\nIt says {MARK}.\n\n[[ ## supported ## ]]\n{label}\n\n[[ ## completed ## ]]"
        message = {"role": "assistant", "content": reply}
        answer = {
            "id": "one",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


_JUDGE = """
from typing import Literal

import dspy
import jurist


class Supported(dspy.Signature):
    \"\"\"Say whether the claim is supported.\"\"\"

    text: str = dspy.InputField()
    supported: Literal["yes", "no"] = dspy.OutputField()


judge = jurist.Judge(name="supported", signature=Supported, positive="no", program=dspy.ChainOfThought(Supported))
"""


def run_rows(address: str, folder: Path) -> None:
    """Judge three rows, one of them marked, as ``jurist run``."""
    import jurist

    texts = ["One.", f"Two {MARK}.", "Three."]
    (folder / "rows.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    jurist.run(
        f"{_judge_file(folder)}:judge",
        folder / "rows.jsonl",
        folder / "out.jsonl",
        model=jurist.Model(name="openai/m", api_base=address),
        store=folder / "store",
    )


def compile_gold(address: str, folder: Path) -> None:
    """Compile a judge by some labelled rows, one of them marked, as ``jurist compile``."""
    import jurist

    with (folder / "gold.jsonl").open("w") as file:
        for number in range(_GOLD_ROWS):
            text = f"Claim {number} of document {number * 7919}"
            if number % 2:
                text += f" is {_WRONG}"
            if number == _MARKED:
                text += f" {MARK}"
            row = {"text": text, "supported": "no" if number % 2 else "yes", "group": f"g{number}"}
            file.write(json.dumps(row) + "\n")
    compiled = jurist.compile(
        f"{_judge_file(folder)}:judge",
        folder / "gold.jsonl",
        optimizer="fewshot",
        model=jurist.Model(name="openai/m", api_base=address),
        budget=jurist.Budget(calls=_CALLS),
        store=folder / "store",
    )
    assert compiled.artifact is not None, "no version was kept"


def _judge_file(folder: Path) -> Path:
    path = folder / "judge.py"
    path.write_text(_JUDGE)
    return path


WORK = {"run": run_rows, "compile": compile_gold}


def followed(work: Callable[[], None]) -> dict[str, str]:
    """Do some work; return the name of each holder of the mark -> the place in the code where it was met first."""
    places: dict[str, str] = {}

    def look(frame: FrameType, event: str, result: Any) -> None:
        path = frame.f_code.co_filename
        if event not in ("call", "return") or not path.startswith(_ROOT) or "/benchmarks/" in path:
            return
        values = list(frame.f_locals.values())
        if event == "return":
            values.append(result)
        for value in values:
            if holds_mark(value):
                places.setdefault(
                    f"{type(value).__module__[7:]}.{type(value).__qualname__}",
                    f"{path[len(_ROOT) + 1 :]}:{frame.f_lineno}",
                )

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return places


def holds_mark(value: Any) -> bool:
    """Whether an object of a class of jurist holds the mark in its attributes, and not in another holder's."""
    kind = type(value)
    if not kind.__module__.startswith("jurist."):
        return False
    attributes = dict(getattr(value, "__dict__", None) or {})
    for owner in kind.__mro__:
        for name in getattr(owner, "__slots__", ()):
            if hasattr(value, name):
                attributes[name] = getattr(value, name)
    if isinstance(value, tuple):  # a named tuple
        attributes.update(enumerate(value))
    return any(_has_mark(part, _DEEPEST) for part in attributes.values())


def _has_mark(value: Any, deepest: int) -> bool:
    if isinstance(value, str):
        return MARK in value
    if isinstance(value, bytes):
        return MARK.encode() in value
    if deepest == 0 or type(value).__module__.startswith("jurist."):
        return False
    parts: Iterable[Any] = ()
    if isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset | deque):
        parts = value
    return any(_has_mark(part, deepest - 1) for part in list(parts))


if __name__ == "__main__":
    sys.exit(main())
