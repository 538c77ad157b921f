"""The gain of the model's own answer, given before it judges, in a world where it can help, and where it cannot.

A scripted model behind HTTP on this machine grades replies to sums. Alone it is right about a reply with probability
``--alone``. Where its own answer stands below the question it compares the two; its own answers are right with
probability ``--solves``. With labels at random nothing can be learned. It is no language model and no claim about one.

Run: python benchmarks/own_answer.py --compilations 20
"""

import argparse
import hashlib
import json
import os
import random
import re
import statistics
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import dspy

import jurist
from jurist.engines.meter import Budget

_QUESTION = re.compile(r"\[\[ ## question ## \]\]\n(.*?)\n\n\[\[ ## reply ## \]\]\n(.*?)\n\nRespond", re.S)
_OPENERS = ("It is", "That makes", "I get")
_SUM = re.compile(r"What is (\d+) \+ (\d+)")


class Reply(dspy.Signature):
    """Decide whether the reply answers the question correctly."""

    question: str = dspy.InputField()
    reply: str = dspy.InputField()
    verdict: Literal["right", "wrong"] = dspy.OutputField()


JUDGE = jurist.Judge(name="sums", signature=Reply, positive="wrong", metric="accuracy")


@dataclass(frozen=True, kw_only=True)
class World:
    """A scripted model that judges sums, and does them."""

    seed: int
    alone: float  # the probability that it is right about a reply without an own answer
    solves: float  # the probability that its own answer is right

    def chance(self, *parts: object) -> float:
        """Return a number from 0 to 1 that the parts decide."""
        digest = hashlib.sha256(repr((self.seed, *parts)).encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64

    def answer(self, messages: Sequence[dict[str, Any]]) -> str:
        """Return the reply to a request."""
        asked = str(messages[-1]["content"])
        found = _QUESTION.search(asked)
        if found is None:
            return self.own_answer(asked)
        task, _, own = found[1].partition("\n\nYour own earlier answer")
        is_right = f"{_sum_of(task)}" in re.findall(r"\d+", found[2])
        if own:
            said_right = bool(set(re.findall(r"\d+", own)) & set(re.findall(r"\d+", found[2])))
        else:
            said_right = is_right == (self.chance("alone", found[1], found[2]) < self.alone)
        return f"[[ ## verdict ## ]]\n{'right' if said_right else 'wrong'}\n\n[[ ## completed ## ]]"

    def own_answer(self, asked: str) -> str:
        """Return its own answer to a sum; to any other request an instruction that changes nothing."""
        if _SUM.search(asked) is None or "Do it yourself" not in asked:
            return f"[[ ## instruction ## ]]\nBe careful, {self.chance(asked):.6f}.\n\n[[ ## completed ## ]]"
        total = _sum_of(asked)
        if self.chance("solves", total) >= self.solves:
            total += 10
        return f"It is {total}."


def _sum_of(task: str) -> int:
    """Return the right answer to a task."""
    found = _SUM.search(task)
    assert found is not None
    return int(found[1]) + int(found[2])


def rows(count: int, seed: int, *, at_random: bool) -> list[dict[str, str]]:
    """Return labelled replies to sums, two to each; labels at random say nothing of them."""
    draw = random.Random(f"rows/{seed}")
    made: list[dict[str, str]] = []
    for number in range(count // 2):
        first, second = draw.randrange(100, 900), draw.randrange(100, 900)
        for place in range(2):
            is_right = draw.random() < 0.5
            total = first + second + (0 if is_right else draw.choice((-10, -1, 1, 10)))
            opener = _OPENERS[place]
            if at_random:  # equal rows with different labels are refused
                is_right = draw.random() < 0.5
            else:
                opener = draw.choice(_OPENERS)
            made.append({
                "question": f"What is {first} + {second}?",
                "reply": f"{opener} {total}.",
                "verdict": "right" if is_right else "wrong",
                "group": str(number),
            })  # fmt: skip
    return made


@contextmanager
def served(world: World) -> Iterator[str]:
    """Serve a world as an endpoint of OpenAI's API, and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = world.answer(body["messages"])
            words = sum(len(str(message["content"]).split()) for message in body["messages"])
            reply = {
                "id": "1", "object": "chat.completion", "created": 0, "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": words, "completion_tokens": len(text.split()), "total_tokens": 0},
            }  # fmt: skip
            data = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *parts: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of one compilation."""

    is_promoted: bool
    asks_first: bool
    score: float  # of the version, on rows that the compilation never saw
    calls: int
    tokens: float


def compiled(world: World, count: int, calls: int, *, own_answer: bool, at_random: bool) -> Outcome:
    """Return the outcome of a compilation on so many rows."""
    with served(world) as address, tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        model = jurist.Model(
            "openai/scripted", api_base=address, temperature=0.0, price_in=0.0, price_out=0.0
        )
        made = jurist.compile(
            JUDGE,
            gold=rows(count, world.seed, at_random=at_random),
            model=model,
            own_answer=own_answer,
            words=False,
            questions=False,
            seed=world.seed,
            budget=Budget(calls=calls),
            store=Path(folder) / "store",
        )
        fresh = rows(400, world.seed + 10_000, at_random=at_random)
        inputs = [{"question": row["question"], "reply": row["reply"]} for row in fresh]
        judge = made.judge
        if not made.latest:
            judge = jurist.load(f"{JUDGE.name}:basic", store=Path(folder) / "store", model=model)
        verdicts = judge.batch(inputs)
        right = [verdict.value == row["verdict"] for verdict, row in zip(verdicts, fresh, strict=True)]
        spend = made.result.board.context.ledger.spend()
        return Outcome(
            is_promoted=made.latest,
            asks_first=made.latest and made.artifact.about.setting.own_answer_request is not None,
            score=statistics.mean(right),
            calls=spend.calls,
            tokens=spend.input_tokens + spend.output_tokens,
        )


def main() -> None:
    """Print a table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--compilations", type=int, default=20)
    options.add_argument("--rows", type=int, default=200)
    options.add_argument("--max-calls", type=int, default=2000)
    options.add_argument("--alone", type=float, default=0.65)
    options.add_argument("--solves", type=float, default=0.9)
    options.add_argument("--only", choices=("own", "off", "null"), action="append")
    given = options.parse_args()
    print(
        "| labels | own answer | promoted | of these with an own answer | held-out score | calls | tokens |"
    )
    print("|---" * 7 + "|", flush=True)
    for name, own_answer, at_random in (("own", True, False), ("off", False, False), ("null", True, True)):
        if given.only and name not in given.only:
            continue
        outcomes: list[Outcome] = []
        for seed in range(given.compilations):
            world = World(seed=seed, alone=given.alone, solves=given.solves)
            outcomes.append(
                compiled(world, given.rows, given.max_calls, own_answer=own_answer, at_random=at_random)
            )
        promoted = [outcome for outcome in outcomes if outcome.is_promoted]
        first = sum(outcome.asks_first for outcome in promoted)
        cells = (
            "at random" if at_random else "of people",
            "may be asked" if own_answer else "--no-own-answer",
            f"{len(promoted)} of {len(outcomes)}",
            str(first),
            f"{statistics.mean(outcome.score for outcome in outcomes):.3f}",
            f"{statistics.mean(outcome.calls for outcome in outcomes):.0f}",
            f"{statistics.mean(outcome.tokens for outcome in outcomes):.0f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
