"""What optimizers of DSPy get wrong by themselves, and what comes out of them here."""

import re
from collections.abc import Callable
from typing import Any, Literal

import dspy
import pytest
from dspy.lm15 import Request
from dspy.teleprompt import InferRules
from fakes import Scripted, context_with, lm_of, reply, system_of, user_of
from scripted_runs import ScriptedRun

from jurist.cases import Case
from jurist.engines.adapters import adapter
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


def examples(judge: Judge, count: int = 8) -> list[dspy.Example]:
    return [dspy.Example(**judge.demo(case)).with_inputs("number") for case in numbers(0, count)]


def score(example: dspy.Example, prediction: Any, trace: Any = None) -> float:
    return float(example.even == prediction.even)


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


def test_upstream_infer_rules_returns_the_last_rules_and_changes_the_judge() -> None:
    judge, propose = parity(), rules()
    lm = lm_of(
        Scripted(lambda r: under_rule_1(r) if "`even`" in system_of(r) else propose(r)), context_with()
    )
    optimizer = InferRules(num_candidates=3, metric=score, num_threads=1, max_labeled_demos=0)
    with dspy.context(lm=lm, adapter=adapter("chat")):
        best = optimizer.compile(judge.basic(), trainset=examples(judge), valset=examples(judge))
    assert "rule 3." in best.signature.instructions  # the first was the only good one
    assert "rule 3." in judge.signature.instructions


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


def test_upstream_bootstrapping_takes_any_truthy_score() -> None:
    judge = parity()

    def scored(example: Any, prediction: Any, trace: Any = None) -> dspy.Prediction:
        return dspy.Prediction(score=0.0, feedback="wrong")

    with dspy.context(lm=lm_of(Scripted(lambda r: even(r, False)), context_with()), adapter=adapter("chat")):
        best = dspy.BootstrapFewShot(metric=scored, max_labeled_demos=0).compile(
            judge.basic(), trainset=examples(judge)
        )
    assert len(best.demos) == 4  # all of them wrong


@pytest.mark.parametrize("name", ["bootstrap", "mipro", "infer-rules"])
def test_no_wrong_answer_becomes_a_demonstration(name: str) -> None:
    run = run_on(name, {}, lambda r: even(r, False), saying())
    gold = {case.inputs["number"]: dict(parity().demo(case)) for case in numbers(0, 12)}
    demos = [demo for one in run.board.candidates.values() for demo in one.state.predictors["self"].demos]
    assert demos
    assert all(dict(demo) == gold[demo["number"]] for demo in demos)
