"""What DSPy's optimizers get wrong, as they are shipped, and that it does no harm here.

Each ``upstream`` test shows a defect in DSPy itself. When one of them fails, DSPy was repaired, and the
workaround that it names can go.
"""

import re
from collections.abc import Callable
from typing import Any, Literal

import dspy
import pytest
from dspy.lm15 import Request
from dspy.teleprompt import InferRules as DspyInferRules
from dspy.teleprompt import simba_utils
from dspy.utils.exceptions import AdapterParseError, LMServerError
from fakes import Scripted, context_with, lm_of, reply, system_of, user_of

from jurist.cases import Case
from jurist.engines.adapters import adapter
from jurist.engines.meter import Budget
from jurist.optimizers import dspy_mipro
from jurist.optimizers.base import Job, Result, optimize
from jurist.optimizers.dspy_copro import Copro
from jurist.optimizers.dspy_mipro import Mipro
from jurist.optimizers.dspy_rules import InferRules
from jurist.optimizers.dspy_search import Lenient
from jurist.optimizers.dspy_simba import Simba
from jurist.optimizers.registry import make
from jurist.programs.judge import Judge

Answers = Callable[[Request], Any]


def parity() -> Judge:
    """Return a judge with a signature class of its own: some of DSPy's optimizers change it."""

    class Parity(dspy.Signature):
        """Say whether the number is even."""

        number: str = dspy.InputField(desc="a number")
        even: Literal["yes", "no"] = dspy.OutputField(desc="yes or no")

    return Judge(name="parity", signature=Parity, positive=frozenset({"no"}), metric="accuracy")


def cases(first: int, count: int) -> tuple[Case, ...]:
    return tuple(
        Case(inputs={"number": str(n)}, group=f"g{n}", gold=(("yes", "no")[n % 2],))
        for n in range(first, first + count)
    )


def right(request: Request) -> str:
    numbers = re.findall(r"\[\[ ## number ## \]\]\n(\d+)", user_of(request))
    return "no" if int(numbers[-1]) % 2 else "yes"


def wrong(request: Request) -> str:
    return "yes" if right(request) == "no" else "no"


def is_judge(request: Request) -> bool:
    return "`even`" in system_of(request)


def examples(judge: Judge, count: int = 8) -> list[dspy.Example]:
    return [dspy.Example(**judge.demo(case)).with_inputs("number") for case in cases(0, count)]


def run(
    optimizer: Any, answers: Answers, *, judge: Judge | None = None, calls: int = 400, seed: int = 0
) -> Any:
    context = context_with(Budget(calls=calls))
    engine, notes = Scripted(answers), list[str]()
    job = Job(
        judge=judge or parity(),
        train=cases(0, 12),
        dev=cases(100, 8),
        judge_lm=lm_of(engine, context),
        proposer_lm=lm_of(engine, context, "proposer"),
        context=context,
        seed=seed,
        sink=lambda event: notes.append(event.text),
    )
    result: Result = optimize(optimizer, job)
    return result, notes, engine


def score(example: dspy.Example, prediction: Any, trace: Any = None) -> float:
    return float(example.even == prediction.even)


# -- InferRules: one signature for all candidates ---------------------------------------------------------


def ruled() -> Answers:
    """Return a model that is right under its first rule and wrong under every later one."""
    count = iter(range(1, 1000))

    def answers(request: Request) -> str:
        if not is_judge(request):
            return reply("chat", reasoning="so", natural_language_rules=f"rule {next(count)}.")
        good = "rule 1." in system_of(request)
        return reply("chat", even=right(request) if good else wrong(request))

    return answers


def test_upstream_infer_rules_returns_the_last_rules_and_changes_the_judge() -> None:
    judge, context = parity(), context_with()
    optimizer = DspyInferRules(num_candidates=3, metric=score, num_threads=1, max_labeled_demos=0)
    with dspy.context(lm=lm_of(Scripted(ruled()), context), adapter=adapter("chat")):
        best = optimizer.compile(judge.basic(), trainset=examples(judge), valset=examples(judge))
    assert "rule 3." in best.signature.instructions  # the first was the only good one
    assert "rule 3." in judge.signature.instructions


def test_infer_rules_keeps_the_best_rules_and_the_judge() -> None:
    judge = parity()
    before = judge.signature.instructions
    result, _, _ = run(InferRules(candidates=3, labels=0), ruled(), judge=judge)
    assert "rule 1." in result.best.state.predictors["self"].instructions
    texts = [c.state.predictors["self"].instructions for c in result.board.candidates.values()]
    assert [re.findall(r"rule (\d)", text) for text in texts] == [[], ["1"], ["2"], ["3"]]
    assert judge.signature.instructions == before


# -- COPRO: prefixes wrap the signature until Python gives up -----------------------------------------------


def test_upstream_copro_nests_signatures() -> None:
    def tried(count: int) -> None:
        signature = parity().signature
        for number in range(count):
            signature = signature.with_instructions(f"say {number}").with_updated_fields("even", prefix="p:")

    tried(40)
    with pytest.raises(RecursionError):
        tried(120)


def test_copro_tries_as_many_instructions_as_it_is_given_calls_for() -> None:
    count = iter(range(1000))

    def answers(request: Request) -> str:
        if is_judge(request):
            return reply("chat", even=wrong(request))
        rule = f"rule {next(count)}"
        return reply("chat", proposed_instruction=rule, proposed_prefix_for_output_field=rule)

    result, notes, _ = run(Copro(breadth=10, depth=16, sample=1), answers, calls=400)
    assert result.ending == "finished"
    assert len(result.board.candidates) == 1 + 16 * 10 - 1
    assert not [note for note in notes if "ended early" in note]


def test_upstream_one_unusable_proposal_loses_all() -> None:
    replies = ["nothing of use", *["[[ ## b ## ]]\nfine\n\n[[ ## completed ## ]]"] * 2]
    lm = lm_of(Scripted(replies), context_with())
    with dspy.context(lm=lm, adapter=adapter("chat")), pytest.raises(AdapterParseError):
        dspy.Predict("a -> b", n=3)(a="x")
    lm = lm_of(Scripted(replies), context_with())
    with dspy.context(lm=lm, adapter=Lenient(use_json_adapter_fallback=False)):
        assert dspy.Predict("a -> b", n=3)(a="x").completions.b == ["", "fine", "fine"]


def test_an_unusable_proposal_is_not_tried() -> None:
    result, _, _ = run(
        Copro(breadth=4, depth=2, sample=4), lambda r: reply("chat", even=wrong(r)) if is_judge(r) else "?"
    )
    assert (result.ending, len(result.board.candidates)) == ("finished", 1)


# -- MIPROv2 ----------------------------------------------------------------------------------------------


def proposals() -> Answers:
    count = iter(range(1000))

    def answers(request: Request) -> str:
        if is_judge(request):
            good = "say 5" in system_of(request)
            return reply("chat", even=right(request) if good else wrong(request))
        asked = re.findall(r"`(\w+)` \(str", system_of(request).partition("Your output fields are:")[2])
        text = f"say {next(count)}"
        return reply("chat", **dict.fromkeys(asked, text))

    return answers


def test_upstream_mipro_loses_everything_when_combinations_run_out() -> None:
    judge = parity()
    lm = lm_of(Scripted(proposals()), context_with())
    optimizer = dspy.MIPROv2(
        metric=score, prompt_model=lm, task_model=lm, auto=None, num_candidates=3, num_threads=1
    )
    settings = {"num_trials": 25, "minibatch_size": 2, "program_aware_proposer": False}
    data = {"trainset": examples(judge), "valset": examples(judge)}
    with dspy.context(lm=lm, adapter=adapter("chat")), pytest.raises(ValueError, match="No valid program"):
        optimizer.compile(judge.basic(), max_bootstrapped_demos=0, max_labeled_demos=0, **settings, **data)


def test_mipro_keeps_what_it_found_when_combinations_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dspy_mipro, "_SMALL", 2)
    monkeypatch.setattr(dspy_mipro, "_MINIBATCH", 2)
    monkeypatch.setattr(Mipro, "shape", lambda *args: (4, 60))
    result, notes, _ = run(Mipro(demos=0), proposals())
    assert any("ended early: ValueError: No valid program" in note for note in notes)
    assert result.ending == "finished"
    assert result.board.value(result.best, cases(100, 8)) == 1.0


@pytest.mark.parametrize(("given", "used"), [(0, 9), (3, 3)])
def test_upstream_mipro_ignores_the_seed_0(given: int, used: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Seen(Exception):  # noqa: N818
        pass

    def seen(self: Any, seed: int) -> None:
        raise Seen(seed)

    monkeypatch.setattr(dspy.MIPROv2, "_set_random_seeds", seen)
    judge, lm = parity(), lm_of(Scripted([]), context_with())
    optimizer = dspy.MIPROv2(metric=score, prompt_model=lm, task_model=lm, auto="light", seed=9)
    with pytest.raises(Seen) as caught:
        optimizer.compile(judge.basic(), trainset=examples(judge), seed=given)
    assert caught.value.args == (used,)


@pytest.mark.parametrize("seed", [0, 3])
def test_mipro_uses_our_seed_and_our_dev(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds, sizes = list[int](), list[tuple[int, int]]()
    set_, validate = dspy.MIPROv2._set_random_seeds, dspy.MIPROv2._set_and_validate_datasets

    def watch_seed(self: Any, value: int) -> None:
        seeds.append(value)
        set_(self, value)

    def watch_sets(self: Any, trainset: Any, valset: Any) -> Any:
        sizes.append((len(trainset), len(valset)))
        return validate(self, trainset, valset)

    monkeypatch.setattr(dspy.MIPROv2, "_set_random_seeds", watch_seed)
    monkeypatch.setattr(dspy.MIPROv2, "_set_and_validate_datasets", watch_sets)
    run(Mipro(), proposals(), seed=seed, calls=80)
    assert (seeds, sizes) == ([seed], [(12, 8)])


def test_upstream_mipro_takes_most_of_train_for_validation() -> None:
    lm = lm_of(Scripted([]), context_with())
    optimizer = dspy.MIPROv2(metric=score, prompt_model=lm, task_model=lm)
    train, dev = optimizer._set_and_validate_datasets(list(range(10)), None)
    assert (train, dev) == ([0, 1], [2, 3, 4, 5, 6, 7, 8, 9])


# -- a score that is not 0 is not yet right ------------------------------------------------------------------


def test_upstream_bootstrapping_takes_any_truthy_score() -> None:
    judge = parity()
    lm = lm_of(Scripted(lambda request: reply("chat", even=wrong(request))), context_with())

    def scored(example: Any, prediction: Any, trace: Any = None) -> dspy.Prediction:
        return dspy.Prediction(score=0.0, feedback="wrong")

    with dspy.context(lm=lm, adapter=adapter("chat")):
        best = dspy.BootstrapFewShot(metric=scored, max_labeled_demos=0).compile(
            judge.basic(), trainset=examples(judge)
        )
    assert len(best.demos) == 4  # all of them wrong


@pytest.mark.parametrize("name", ["bootstrap", "mipro", "infer-rules"])
def test_no_wrong_answer_becomes_a_demonstration(name: str) -> None:
    gold = {case.inputs["number"]: dict(parity().demo(case)) for case in cases(0, 12)}
    answers = proposals()
    result, _, _ = run(
        make(name),
        lambda r: reply("chat", even=wrong(r)) if is_judge(r) else answers(r).replace("say", "rule"),
        calls=150,
    )
    demos = [d for c in result.board.candidates.values() for d in c.state.predictors["self"].demos]
    assert demos
    assert all(dict(demo) == gold[demo["number"]] for demo in demos)


# -- an exception is not a score of 0 -------------------------------------------------------------------------


def test_upstream_evaluate_counts_a_failed_call_as_a_score_of_0() -> None:
    judge, lm = parity(), lm_of(Scripted(_lost), context_with())
    evaluate = dspy.Evaluate(devset=examples(judge, 4), metric=score, num_threads=1)
    with dspy.context(lm=lm, adapter=adapter("chat")), pytest.MonkeyPatch.context() as patch:
        patch.setattr("jurist.engines.channel.backoff", lambda error, attempt: 0.0)
        assert evaluate(judge.basic()).score == 75.0  # three of the three that were answered


def _lost(request: Request) -> Any:
    numbers = re.findall(r"\[\[ ## number ## \]\]\n(\d+)", user_of(request))
    return LMServerError("busy") if numbers[-1] == "2" else reply("chat", even=right(request))


def test_a_failed_call_is_no_score(no_waiting: None) -> None:
    answers = proposals()
    result, _, _ = run(
        Copro(breadth=3, depth=1), lambda r: _lost(r) if is_judge(r) else answers(r), calls=400
    )
    lost = next(case.id for case in cases(0, 12) if case.inputs["number"] == "2")
    assert len(result.board.candidates) == 3
    for candidate in result.board.candidates.values():
        outcomes = result.board.outcomes(candidate)
        assert lost not in outcomes
        assert {outcome.score for outcome in outcomes.values()} == {1.0}


# -- advice that fails for a reason of its own is passed over in silence ---------------------------------------


def advising(request: Request) -> str:
    """Judge unsteadily, and advise where asked."""
    if is_judge(request):
        return reply("chat", even=(right, wrong)[(request.config.seed or 0) % 2](request))
    return reply("chat", discussion="look", module_advice={"program": f"Count. {len(user_of(request))}"})


def simba(monkeypatch: pytest.MonkeyPatch, failures: list[Exception]) -> tuple[Result, list[str]]:
    """Run SIMBA where finding the source of a class fails at first."""
    source = simba_utils.inspect.getsource

    def failing(thing: Any) -> str:
        if failures:
            raise failures.pop()
        return source(thing)

    with monkeypatch.context() as patch:
        patch.setattr(simba_utils.inspect, "getsource", failing)
        result, notes, _ = run(Simba(steps=2, demos=0, sample=12), advising)
    return result, notes


def prompts(result: Result) -> list[Any]:
    return [candidate.state.to_json() for candidate in result.board.candidates.values()]


def test_upstream_simba_passes_over_a_strategy_that_fails() -> None:
    judge, lm = parity(), lm_of(Scripted(advising), context_with())
    tried: list[int] = []

    def broken(*given: Any, **more: Any) -> bool:
        tried.append(1)
        raise SystemError("AST constructor recursion depth mismatch")

    optimizer = dspy.SIMBA(metric=score, bsize=4, num_candidates=2, max_steps=1, prompt_model=lm)
    optimizer.strategies = [broken]
    with dspy.context(lm=lm, adapter=adapter("chat")):
        best = optimizer.compile(judge.basic(), trainset=examples(judge))
    assert len(tried) == 4
    assert best.signature.instructions == judge.basic().signature.instructions


def test_advice_is_begun_again_where_parsing_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, _ = simba(monkeypatch, [])
    failures: list[Exception] = [SystemError("AST constructor recursion depth mismatch") for _ in range(3)]
    again, notes = simba(monkeypatch, failures)
    assert (prompts(again), failures) == (prompts(usual), [])
    assert len(prompts(usual)) > 1
    assert not any("one prompt less" in note for note in notes)


def test_a_prompt_that_could_not_be_made_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    _, notes = simba(monkeypatch, [OSError("could not get source code")])
    assert [note for note in notes if "one prompt less" in note] == [
        "simba: one prompt less: OSError: could not get source code"
    ]
