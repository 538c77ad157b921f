"""Weights of several labels: fitted at no further call, proven, kept, and used by runs."""

import json
import math
import random
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loopback import Loopback, field_of
from small import ok

LABELS = ("arts", "money", "sport")
BIAS = {"arts": 0.05, "money": 0.25, "sport": 0.7}
JUDGE = '''
from typing import Literal

import dspy

from jurist import Judge


class Topic(dspy.Signature):
    """Say what a text is about."""

    text: str = dspy.InputField(desc="a text")
    topic: Literal["arts", "money", "sport"] = dspy.OutputField(desc="its topic")


judge = Judge(name="topic", signature=Topic, positive={"sport"}, metric="accuracy")
'''


def shares_of(text: str, bias: Mapping[str, float]) -> dict[str, float]:
    """What a model thinks of a text: something of what it is, noise, and always too much of one label."""
    draw = random.Random(f"{text}/{len(bias)}")
    odds = {one: at * math.exp(draw.gauss(1.8 * (one in text.split()), 0.6)) for one, at in bias.items()}
    return {one: round(share / sum(odds.values()), 6) for one, share in odds.items()}


def likeliest(shares: Mapping[str, float]) -> str:
    return max(shares, key=shares.__getitem__)


def said(messages: list[dict[str, Any]]) -> list[tuple[str, dict[str, float]]]:
    """Return each part of a reply with the probabilities of its label, if it is one."""
    text = field_of(str(messages[-1]["content"]), "text")
    topic = shares_of(text, BIAS)
    parts: list[tuple[str, dict[str, float]]] = [("[[ ## topic ## ]]\n", {}), (likeliest(topic), topic)]
    return [*parts, ("\n\n[[ ## completed ## ]]", {})]


def answered(messages: list[dict[str, Any]]) -> str:
    return "".join(part for part, _ in said(messages))


def tokens(body: Mapping[str, Any]) -> dict[str, Any] | None:
    if not body.get("logprobs"):
        return None
    return {
        "content": [
            {
                "token": part,
                "logprob": math.log(shares.get(part, 1.0)),
                "top_logprobs": [{"token": one, "logprob": math.log(share)} for one, share in shares.items()],
            }
            for part, shares in said(body["messages"])
        ]
    }


def test_they_are_fitted_proven_kept_and_used(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    server = serve(answered, logprobs=tokens)
    Path("judge.py").write_text(JUDGE)
    texts = [f"{LABELS[number % 3]} story {number}" for number in range(240)]
    rows = [{"text": text, "topic": text.split()[0]} for text in texts]
    Path("gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = ("--model", "openai/x", "--api-base", server.url)
    asked = shlex.split(
        "compile judge.py:judge --gold gold.jsonl --optimizer threshold --no-words --yes --json"
    )
    done = ok(*asked, *model)
    weights, spend = done.json["thresholds"]["weights"], done.json["spend"]["calls"]
    assert spend == server.count == 240  # fitting took none
    assert weights["arts"] > weights["money"] > weights["sport"]
    assert "the label with the highest weighted probability (weights: arts " in done.people
    assert done.json["decision"]["verdict"] == "better"
    assert done.json["decision"]["compiled"] > done.json["decision"]["basic"] + 0.1
    ok("run", "judge.py:judge@1", "--input", "gold.jsonl", "--output", "out.jsonl", *model, "--yes")
    right = 0
    for text, line in zip(texts, map(json.loads, Path("out.jsonl").read_text().splitlines()), strict=True):
        shares = shares_of(text, BIAS)
        assert line["label"] == max(LABELS, key=lambda one: shares[one] * weights[one])
        assert line["sampling"]["weights"] == weights
        right += line["label"] == text.split()[0]
    assert right > 0.75 * len(texts)


def test_a_basic_prompt_without_an_error_is_not_searched(serve: Callable[..., Loopback]) -> None:
    server = serve(lambda messages: field_of(str(messages[-1]["content"]), "text").split()[0].join(
        ("[[ ## topic ## ]]\n", "\n\n[[ ## completed ## ]]")
    ))  # fmt: skip
    Path("judge.py").write_text(JUDGE)
    texts = [f"{LABELS[number % 3]} story {number}" for number in range(180)]
    rows = [{"text": text, "topic": text.split()[0]} for text in texts]
    Path("gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = ("--model", "openai/x", "--api-base", server.url, "--yes")
    done = ok("compile", "judge.py:judge", "--gold", "gold.jsonl", "--json", *model)
    assert server.count == 90  # each row of train and dev once; the sealed test stays closed
    assert "makes no error on train and dev" in done.err
    assert done.json["decision"]["verdict"] == "nothing better found"
    assert done.json["scores"] is None
