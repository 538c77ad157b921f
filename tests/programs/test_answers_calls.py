"""Programs in steps and cases in several presentations: every call is counted, and what is frozen stays as it is."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from judges import PAIR
from loopback import Loopback, field_of, truth_of

import jurist
from jurist import Budget, Judge, Model, Sampling
from jurist.engines.channel import CallContext
from jurist.engines.models import connect
from jurist.gold.goldset import Gold
from jurist.programs.asking import Asker, room_for
from jurist.programs.settings import AskSettings

Serve = Callable[..., Loopback]


class Send(dspy.Signature):
    """Say whether a reply may be sent."""

    reply: str = dspy.InputField(desc="a reply")
    verdict: Literal["send", "hold"] = dspy.OutputField(desc="send or hold")


class Decide(dspy.Signature):
    """Decide on a reply by its points."""

    points: str = dspy.InputField(desc="its points, in capitals")
    verified: bool = dspy.InputField(desc="whether they are its points")
    verdict: Literal["send", "hold"] = dspy.OutputField(desc="send or hold")


class Steps(dspy.Module):
    """Extracts (tuned), shouts (plain code), verifies (frozen), decides (tuned)."""

    def __init__(self) -> None:
        super().__init__()
        self.extract = dspy.Predict("reply -> points")
        self.verify = jurist.frozen(dspy.Predict("reply, points -> verified: bool"))
        self.decide = dspy.Predict(Decide)

    async def aforward(self, reply: str) -> dspy.Prediction:
        points = (await self.extract.acall(reply=reply)).points.upper()
        verified = (await self.verify.acall(reply=reply, points=points)).verified
        return await self.decide.acall(points=points, verified=verified)


STEPS = Judge(name="in-steps", signature=Send, positive={"hold"}, metric="accuracy", program=Steps)


def answers(messages: list[dict[str, Any]]) -> str:
    """Answer each step by a rule."""
    system, last = str(messages[0]["content"]), str(messages[-1]["content"])
    wanted = re.findall(r"\[\[ ## (\w+) ## \]\]\n\{\1\}", system)
    if any(name.startswith("instruction") for name in wanted):
        parts = (f"[[ ## {name} ## ]]\nJudge it, rule {truth_of(last, tuple(range(99)))}." for name in wanted)
        return "\n\n".join((*parts, "[[ ## completed ## ]]"))
    if "better" in wanted:
        ahead = number(field_of(last, "first")) - number(field_of(last, "second"))
        said = "first" if ahead > 0 else "second" if ahead < 0 else "tie"
        return f"[[ ## better ## ]]\n{said}\n\n[[ ## completed ## ]]"
    if "points" in wanted and "verified" not in wanted and "verdict" not in wanted:
        return f"[[ ## points ## ]]\nabout {field_of(last, 'reply')}\n\n[[ ## completed ## ]]"
    if "verified" in wanted and "verdict" not in wanted:
        return "[[ ## verified ## ]]\nTrue\n\n[[ ## completed ## ]]"
    assert field_of(last, "points").isupper()  # the plain code between the steps
    said = truth_of(field_of(last, "points"), ("send", "hold"))
    return f"[[ ## verdict ## ]]\n{said}\n\n[[ ## completed ## ]]"


def first_place(messages: list[dict[str, Any]]) -> str:
    return "[[ ## better ## ]]\nfirst\n\n[[ ## completed ## ]]"


def first_place_unless_shown(messages: list[dict[str, Any]]) -> str:
    """Prefer what stands first; where demonstrations are shown, what :func:`pairs` prefers, in either order."""
    if len(messages) == 2:
        return first_place(messages)
    shown = messages[-1]["content"]
    first_text = shown.split("[[ ## first ## ]]")[1].split("[[ ## second ## ]]")[0]
    is_exchanged = "no." in first_text
    first_is_better = int(re.findall(r"no\. (\d+)", shown)[0]) % 2 == 0
    better = "second" if first_is_better == is_exchanged else "first"
    return f"[[ ## better ## ]]\n{better}\n\n[[ ## completed ## ]]"


def number(text: str) -> int:
    return int(re.findall(r"\d+", text)[0])


def asker(judge: Judge, server: Loopback, budget: Budget | None = None, **settings: Any) -> Asker:
    model = Model(name="openai/x", api_base=server.url, temperature=0.7)
    lm = connect(model, CallContext.fresh(budget) if budget else CallContext.fresh())
    return Asker(judge=judge, program=judge.basic(), lm=lm, settings=AskSettings(concurrency=3, **settings))


def replies(count: int = 36) -> list[dict[str, Any]]:
    texts = [f"reply {n}" for n in range(count)]
    labels = [truth_of(f"ABOUT {text.upper()}", ("send", "hold")) for text in texts]
    flipped = {"send": "hold", "hold": "send"}
    return [
        {"reply": text, "verdict": flipped[label] if n % 7 == 0 else label, "group": f"g{n // 2}"}
        for n, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]


def pairs(count: int = 36) -> list[dict[str, Any]]:
    return [
        {"first": f"a {n % 5}", "second": f"b {n % 3}, no. {n}", "better": ("first", "second")[n % 2]}
        | {"group": f"g{n // 2}"}
        for n in range(count)
    ]


@pytest.mark.parametrize(("judge", "rows", "calls"), [(STEPS, replies(6), 3), (PAIR, pairs(6), 2)])
def test_each_call_of_a_case_is_counted(judge: Judge, rows: Any, calls: int, serve: Serve) -> None:
    server = serve(answers)
    assert judge.calls == calls
    one = asker(judge, server, sampling=Sampling(samples=3), stopping="all")
    verdicts = one.ask_all([judge.case(row) for row in rows])
    assert {verdict.status for verdict in verdicts} == {"verdict"}
    assert {verdict.usage.calls for verdict in verdicts} == {3 * calls}
    assert server.count == 6 * 3 * calls == room_for(judge, 6, 3)


def test_contradictions_are_ties_and_the_bias_is_told(serve: Serve, tmp_path: Path) -> None:
    server = serve(first_place)
    verdicts = asker(PAIR, server).ask_all([PAIR.case(row) for row in pairs(4)])
    assert {verdict.label for verdict in verdicts} == {"tie"}
    assert {verdict.inconsistent for verdict in verdicts} == {1}
    assert all(verdict.counts == {"first_place": 2, "places": 2, "contradictions": 1} for verdict in verdicts)
    learning = serve(first_place_unless_shown)
    compiled = jurist.compile(
        PAIR,
        gold=Gold.of(pairs(), PAIR),
        optimizer="fewshot",
        model=Model(name="openai/x", api_base=learning.url),
        options={"sizes": (2,), "sets": 1, "steps": 1},
        store=tmp_path,
    )
    card = compiled.artifact.card
    assert card["position_bias"] == {"basic": 1.0, "compiled": 0.5}  # of a pair in both orders, one is first
    tests = card["gold"]["test"]
    assert card["contradictions"]["basic"] == tests
