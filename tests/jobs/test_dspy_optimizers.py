"""Optimizers of DSPy on ``as_module()``: they change the judge's predictors, and the judge is asked with these."""

from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM
from judges import CHECK, ROWS
from loopback import Loopback

import jurist
from jurist.jobs.sealed_rows import select_unseen

INPUTS = ("policy", "reply")
DEVSET = [dspy.Example(**row).with_inputs(*INPUTS) for row in ROWS]


def score(example: dspy.Example, prediction: dspy.Prediction, trace: object = None) -> float:
    return float(prediction.verdict == example.verdict)


@pytest.fixture
def module() -> Any:
    return jurist.load(CHECK, version="basic").as_module()


def test_its_predictors_are_the_judges_and_change_what_it_is_asked(module: Any) -> None:
    ((name, predictor),) = module.named_predictors()
    assert name == "program"
    assert predictor.signature.instructions == CHECK.signature.instructions
    assert module.as_judge() is module.judge
    copied = module.deepcopy()
    copied.predictors()[0].signature = predictor.signature.with_instructions("Hold all.")
    assert module.as_judge() is module.judge
    changed = copied.as_judge()
    assert changed.state.predictors["self"].instructions == "Hold all."
    before = module.judge.spend.calls
    with dspy.context(trace=[]):
        prediction = copied(policy=ROWS[0]["policy"], reply=ROWS[0]["reply"])
        ((traced, inputs, outputs),) = dspy.settings.trace
    assert traced is copied.predictors()[0]
    assert set(inputs) == set(INPUTS)
    assert outputs.verdict == prediction.verdict
    assert module.judge.spend.calls == before + 1
    assert changed.name == f"check:changed-{changed.state.id}"
    with pytest.warns(UserWarning, match="which other rows its optimizer saw"):
        measured = jurist.evaluate(changed, ROWS)
    assert (measured.judge, measured.left_out) == (changed.name, 0)


RULE = "Hold what the policy does not state."


def answer(messages: list[dict[str, str]]) -> str:
    """Return the label that people gave where the prompt holds the rule, else always send."""
    asked = messages[-1]["content"]
    label = "send"
    if RULE in str(messages):
        for row in ROWS:
            if row["reply"] in asked and row["policy"] in asked:
                label = str(row["verdict"])
    return f"[[ ## verdict ## ]]\n{label}\n\n[[ ## completed ## ]]"


def test_gepa_finds_the_better_instruction_from_the_feedback() -> None:
    reflection = DummyLM([{"new_instruction": RULE}] * 40, adapter=dspy.JSONAdapter())

    def metric(example: Any, prediction: Any, trace: Any = None, name: Any = None, calls: Any = None) -> Any:
        return dspy.Prediction(score=score(example, prediction), feedback=f"people say {example.verdict}")

    gepa = dspy.GEPA(metric=metric, max_metric_calls=80, reflection_lm=reflection, num_threads=1)
    with Loopback(answer) as server:
        model = jurist.Model(name="openai/m", api_base=server.url)
        module = jurist.load(CHECK, version="basic", model=model).as_module()
        better = gepa.compile(module, trainset=DEVSET[:12], valset=DEVSET[12:])
        judge = better.as_judge()
        assert judge.state.predictors["self"].instructions == RULE
        assert "people say hold" in str(reflection.history)
        with pytest.warns(UserWarning, match="which other rows its optimizer saw"):
            assert jurist.evaluate(judge, ROWS)["accuracy"].value == 1.0
        assert module.judge.spend.calls > 24
        assert module.as_judge() is module.judge


def test_bootstrap_takes_demonstrations_from_what_the_judge_answers(module: Any) -> None:
    taught = dspy.BootstrapFewShot(metric=score, max_bootstrapped_demos=2, max_labeled_demos=2).compile(
        module, trainset=DEVSET
    )
    demos = taught.predictors()[0].demos
    assert demos
    judge = taught.as_judge()
    assert len(judge.state.predictors["self"].demos) == len(demos)
    assert judge(**{name: ROWS[0][name] for name in INPUTS}).status == "verdict"
    shown_rows = []
    other_rows = []
    for row in ROWS:
        is_shown = any(all(demo[name] == row[name] for name in INPUTS) for demo in demos)
        (shown_rows if is_shown else other_rows).append(row)
    with pytest.warns(UserWarning, match="rows that it shows are left out"):
        measured = jurist.evaluate(judge, ROWS)
    assert (measured.cases, measured.left_out) == (len(other_rows), len(shown_rows))
    assert measured.left_out >= len(demos)
    with pytest.warns(UserWarning, match="left out: a prompt shows them"):
        compared = jurist.compare([judge, module.judge], ROWS)
    assert [contender.judge for contender in compared.contenders] == [judge.name, "check:basic"]
    assert compared.left_out == len(shown_rows)
    module.predictors()[0].demos = DEVSET
    with pytest.raises(jurist.JuristError, match="are shown by its prompt"):
        jurist.evaluate(module.as_judge(), ROWS)


def test_rows_of_a_version_whose_prompt_was_changed_are_left_out(tmp_path: Path) -> None:
    compiled = jurist.compile(CHECK, ROWS, optimizer="fewshot", store=tmp_path, seed=1)
    module = compiled.as_module()
    predictor = module.predictors()[0]
    predictor.signature = predictor.signature.with_instructions("Hold all.")
    predictor.demos = []
    judge = module.as_judge()
    assert judge.name == f"check@1:changed-{judge.state.id}"
    seen_ids = set(compiled.artifact.about.gold.seen)
    unseen = select_unseen([judge], jurist.Gold.of(ROWS, CHECK))
    assert unseen
    assert seen_ids.isdisjoint(case.id for case in unseen)


def test_mipro_searches_instructions_and_demonstrations(module: Any) -> None:
    proposer = DummyLM(
        [{"observations": "x", "proposed_instruction": "Hold what the policy does not state."}] * 60
    )
    optimizer = dspy.MIPROv2(
        metric=score, prompt_model=proposer, task_model=proposer, auto=None, num_candidates=2, num_threads=1
    )
    better = optimizer.compile(
        module,
        trainset=DEVSET[:12],
        valset=DEVSET[12:],
        num_trials=2,
        minibatch=False,
        max_bootstrapped_demos=1,
        max_labeled_demos=1,
        program_aware_proposer=False,
        data_aware_proposer=False,
        tip_aware_proposer=False,
        fewshot_aware_proposer=False,
    )
    assert better.as_judge()(**DEVSET[0].inputs()).status == "verdict"
