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


def shares_of(text: str) -> dict[str, float]:
    """What a model thinks of a text: something of its topic, noise, and always too much of sport."""
    draw = random.Random(text)
    label = text.split()[0]
    odds = {one: BIAS[one] * math.exp(draw.gauss(1.8 * (one == label), 0.6)) for one in LABELS}
    return {one: round(share / sum(odds.values()), 6) for one, share in odds.items()}


def said(messages: list[dict[str, Any]]) -> tuple[str, dict[str, float]]:
    shares = shares_of(field_of(str(messages[-1]["content"]), "text"))
    return max(shares, key=shares.__getitem__), shares


def answered(messages: list[dict[str, Any]]) -> str:
    return f"[[ ## topic ## ]]\n{said(messages)[0]}\n\n[[ ## completed ## ]]"


def tokens(body: Mapping[str, Any]) -> dict[str, Any] | None:
    if not body.get("logprobs"):
        return None
    label, shares = said(body["messages"])
    tops = [{"token": one, "logprob": math.log(share)} for one, share in shares.items()]
    token = {"token": label, "logprob": math.log(shares[label]), "top_logprobs": tops}
    around = [
        {"token": one, "logprob": 0.0, "top_logprobs": []} for one in ("[[ ## topic ## ]]\n", "\n\n[[ ## ")
    ]
    return {"content": [around[0], token, around[1]]}


def test_they_are_fitted_proven_kept_and_used(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    server = serve(answered, logprobs=tokens)
    Path("judge.py").write_text(JUDGE)
    texts = [f"{LABELS[number % 3]} story {number}" for number in range(240)]
    rows = [{"text": text, "topic": text.split()[0]} for text in texts]
    Path("gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = ("--model", "openai/x", "--api-base", server.url)
    asked = shlex.split("compile judge.py:judge --gold gold.jsonl --optimizer threshold --yes --json")
    done = ok(*asked, *model)
    weights, spend = done.json["thresholds"]["weights"], done.json["spend"]["calls"]
    assert spend == server.count == 240  # fitting took none
    assert weights["arts"] > weights["money"] > weights["sport"]
    assert "the likeliest label, probabilities weighted: arts x" in done.people
    assert done.json["decision"]["verdict"] == "better"
    assert done.json["decision"]["compiled"] > done.json["decision"]["basic"] + 0.1
    ok("run", "judge.py:judge@1", "--input", "gold.jsonl", "--output", "out.jsonl", *model, "--yes")
    right = 0
    for text, line in zip(texts, map(json.loads, Path("out.jsonl").read_text().splitlines()), strict=True):
        shares = shares_of(text)
        assert line["label"] == max(LABELS, key=lambda one: shares[one] * weights[one])
        assert line["sampling"]["weights"] == weights
        right += line["label"] == text.split()[0]
    assert right > 0.75 * len(texts)
