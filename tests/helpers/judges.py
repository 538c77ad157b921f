"""Small judges and their compiled prompts, for the tests of artifacts."""

from dataclasses import replace
from typing import Any, Literal

import dspy
from pydantic import BaseModel

from jurist.cases import Case
from jurist.keeping.artifact_card import Artifact
from jurist.keeping.artifacts import Store
from jurist.programs.answers.sentences import PerSentence
from jurist.programs.catalogue import find
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState


class Polite(dspy.Signature):
    """Say whether the reply is polite."""

    message: str = dspy.InputField(desc="what was asked")
    reply: str = dspy.InputField(desc="what was answered")
    polite: Literal["yes", "no"] = dspy.OutputField(desc="yes or no")


class TwoSteps(dspy.Module):
    """A program with two predictors."""

    def __init__(self) -> None:
        super().__init__()
        self.think = dspy.Predict("message, reply -> notes")
        self.decide = dspy.ChainOfThought(Polite)

    def forward(self, message: str, reply: str) -> dspy.Prediction:
        notes = self.think(message=message, reply=reply).notes
        return self.decide(message=message, reply=f"{reply}\n{notes}")


POLITE = Judge(name="polite", signature=Polite, positive=frozenset({"no"}))
TWO = replace(POLITE, name="two-steps", program=TwoSteps)
COT = replace(POLITE, name="cot", program=lambda: dspy.ChainOfThought(Polite))
INPUTS: dict[str, tuple[dict[str, Any], tuple[str | None, ...]]] = {
    "fect": ({"conversation": "A: hi", "claim": "B «sagt» {hallo}"}, ("factual",)),
    "cognibench": ({"reference": "r", "dialogue": "", "sentences": ["eins", "二"]}, ("faithful", None)),
}
JUDGES = [find("fect"), find("cognibench"), POLITE, TWO, COT]

ATTACK: dict[str, Any] = {
    **{"kind": "attack", "cases": 9, "flipped": 2, "silenced": 1, "failed": 0},
    **{"rate": 0.2, "low": 0.1, "high": 0.3, "shift": 0.1, "answers": {"true": [2, 9]}},
}
ROBUSTNESS: dict[str, Any] = {
    "model": "m",
    "gold": "g",
    "field": "message",
    "cases": 9,
    "flips": {"order": ATTACK},
}


def basic(judge: Judge) -> PromptState:
    return PromptState.of(judge.basic())


def changed(judge: Judge, text: str = 'Decide.\n  Mind "quotes", 中文 and {braces}.') -> PromptState:
    """Another instruction everywhere, and a demonstration where we know one."""
    state = basic(judge)
    for name in state.predictors:
        state = state.with_instruction(name, text)
    if judge.name in INPUTS:
        inputs, gold = INPUTS[judge.name]
        state = state.with_demos("self", (judge.demo(Case(inputs=inputs, gold=gold)),))
    return PromptState.of(state.apply(judge.basic()))  # as DSPy gives it back: dedented


def save(store: Store, judge: Judge = POLITE, *, latest: bool = True, **card: Any) -> Artifact:
    return store.save(judge, changed(judge), card, [{"id": "a", "score": 0.5}], make_latest=latest)


class Check(dspy.Signature):
    """Decide whether the reply keeps to the policy."""

    policy: str = dspy.InputField()
    reply: str = dspy.InputField()
    verdict: Literal["send", "hold"] = dspy.OutputField()


class Flag(dspy.Signature):
    """Decide whether the message is rude."""

    message: str = dspy.InputField()
    rude: bool = dspy.OutputField()


class Better(dspy.Signature):
    """Say which reply is better."""

    first: str = dspy.InputField(desc="one reply")
    second: str = dspy.InputField(desc="another reply")
    better: Literal["first", "second", "tie"] = dspy.OutputField()


CHECK = Judge(name="check", signature=Check, positive=frozenset({"hold"}))
FLAG = Judge(name="flag", signature=Flag, positive=frozenset({"true"}))
PAIR = Judge(name="pair", signature=Better)
ROWS = [
    {"policy": f"p{n}", "reply": f"the reply of {n} is {'fine' if n % 2 else 'bad'}", "group": str(n // 2)}
    | {"verdict": "send" if n % 2 else "hold"}
    for n in range(24)
]
"""Gold of ``CHECK``."""
NEW = [{"policy": row["policy"], "reply": row["reply"]} for row in ROWS[:5]]


class SentenceLabel(BaseModel):
    n: int
    label: Literal["supported", "unsupported"]


class Sentences(dspy.Signature):
    """Is the sentence supported by the policy?"""

    policy: str = dspy.InputField()
    sentences: list[str] = dspy.InputField()
    labels: list[SentenceLabel] = dspy.OutputField()


SENTENCE_JUDGE = Judge(
    name="sentences",
    signature=Sentences,
    answer=PerSentence(
        field="labels",
        unit="sentences",
        labels=("supported", "unsupported"),
        positive=frozenset({"unsupported"}),
    ),
)
