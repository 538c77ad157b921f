"""What comes out of DSPy's optimizers here where they go wrong by themselves."""

import re
from collections.abc import Callable
from typing import Any, Literal

import dspy
import pytest
from dspy.lm15 import Request
from fakes import reply, system_of, user_of
from scripted_runs import ScriptedRun

from jurist.cases import Case
from jurist.engines.meter import Budget
from jurist.programs.judge import Judge

Answers = Callable[[Request], Any]


def parity() -> Judge:
    """Return a judge with a signature class of its own: some of DSPy's optimizers change it."""

    class Parity(dspy.Signature):
        """Say whether the number is even."""

        number: str = dspy.InputField(desc="a number")
        even: Literal["yes", "no"] = dspy.OutputField(desc="yes or no")

    return Judge(name="parity", signature=Parity, positive=frozenset({"no"}), metric="accuracy")


def numbers(first: int, count: int) -> tuple[Case, ...]:
    return tuple(
        Case(inputs={"number": str(n)}, group=f"g{n}", gold=(("yes", "no")[n % 2],))
        for n in range(first, first + count)
    )


def even(request: Request, right: bool) -> str:
    number = int(re.findall(r"\[\[ ## number ## \]\]\n(\d+)", user_of(request))[-1])
    return reply("chat", even="no" if bool(number % 2) == right else "yes")


def run_on(
    name: str, options: Any, judged: Answers, proposed: Answers, judge: Judge | None = None
) -> ScriptedRun:
    parts = {"judge": judge or parity(), "train": numbers(0, 12), "dev": numbers(100, 8)}
    return ScriptedRun(name, options, judged=judged, proposed=proposed, budget=Budget(calls=400), **parts)


def rules() -> Answers:
    count = iter(range(1, 1000))
    return lambda request: reply("chat", reasoning="so", natural_language_rules=f"rule {next(count)}.")


def under_rule_1(request: Request) -> str:
    return even(request, "rule 1." in system_of(request))


def test_infer_rules_keeps_the_best_rules_and_the_judge() -> None:
    judge = parity()
    before = judge.signature.instructions
    options = {"num_candidates": 3, "max_labeled_demos": 0}
    result = run_on("infer-rules", options, under_rule_1, rules(), judge).result
    assert "rule 1." in result.best.state.predictors["self"].instructions
    texts = [one.state.predictors["self"].instructions for one in result.board.candidates.values()]
    assert [re.findall(r"rule (\d)", text) for text in texts] == [[], ["1"], ["2"], ["3"]]
    assert judge.signature.instructions == before


def saying() -> Answers:
    count = iter(range(1000))

    def answers(request: Request) -> str:
        asked = re.findall(r"`(\w+)` \(str", system_of(request).partition("Your output fields are:")[2])
        return reply("chat", **dict.fromkeys(asked, f"say {next(count)}"))

    return answers


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("copro", {"breadth": 10, "depth": 16, "sample": 1}, "RecursionError"),
        ("mipro", {"num_candidates": 3, "num_trials": 60, "max_bootstrapped_demos": 0, "max_labeled_demos": 0,
                   "minibatch": "true", "minibatch_size": 2}, "ValueError: No valid program"),
    ],
)  # fmt: skip
def test_what_was_found_before_dspy_failed_is_kept(name: str, options: Any, why: str) -> None:
    """COPRO wraps its signatures until Python gives up; MIPROv2 runs out of combinations."""
    run = run_on(name, options, lambda r: even(r, bool(re.search(r"say [2-9]", system_of(r)))), saying())
    assert any(f"{name} ended early: {why}" in note for note in run.notes)
    assert run.result.ending == "finished"
    assert run.value() == 1.0
