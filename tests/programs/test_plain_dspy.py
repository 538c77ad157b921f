"""Every program of the catalogue is a DSPy module: called, evaluated, saved, loaded and optimized by DSPy alone."""

from pathlib import Path
from typing import Any

import dspy
import pytest
from fakes import context_with, reply
from loopback import Loopback

from jurist.engines.adapters import adapter
from jurist.engines.models import Model, connect
from jurist.gold.goldset import Gold
from jurist.programs.catalogue import CATALOGUE, GENERATORS
from jurist.programs.faithqa.judges import DRAWS
from jurist.programs.faithqa.programs import AgreeingRating, CheckThenRetrieve
from jurist.programs.judge import Judge

ALL = (*CATALOGUE.values(), *GENERATORS.values())
DOCUMENTS = {"faithqa": "faithqa-documents", "haluagent-zh": "haluagent-docs"}


@pytest.mark.parametrize("judge", ALL, ids=lambda judge: judge.name)
def test_dspy_evaluates_saves_loads_and_optimizes_it(judge: Judge, tmp_path: Path) -> None:
    gold = Gold.load(judge.bundled or DOCUMENTS[judge.name], judge)
    cases = [dspy.Example(**judge.prompt_values(case.inputs)) for case in gold.cases[:2]]
    rows = [case.with_inputs(*judge.input_fields) for case in cases]
    program, field = judge.basic(), judge.answer.field

    def metric(example: dspy.Example, said: dspy.Prediction, trace: Any = None) -> float:
        assert judge.role == "judge" or isinstance(getattr(said, field), list)  # reached by its name
        return float(field in said)

    with dspy.context(lm=connect(Model(), context_with()), adapter=adapter("chat")):
        assert dspy.Evaluate(devset=rows, metric=metric, num_threads=1, max_errors=1)(program).score == 100
        optimizer = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=1, max_labeled_demos=0)
        made = optimizer.compile(program, trainset=rows)
    assert any(predictor.demos for predictor in made.predictors())
    made.save(tmp_path / "program.json")
    again = judge.basic()
    again.load(tmp_path / "program.json")
    assert again.dump_state() == made.dump_state()


FIELDS = {
    "check": "[[ ## verdict ## ]]\naccurate\n\n[[ ## completed ## ]]",
    "rate": reply("chat", constraints=[], fulfilment=[], omission="none", misinterpretation="none", score=7),
}


@pytest.mark.parametrize(
    ("program", "asked", "text"),
    [(CheckThenRetrieve, DRAWS, FIELDS["check"]), (AgreeingRating, 2, FIELDS["rate"])],
)
def test_draws_are_requests_of_their_own(program: Any, asked: int, text: str, tmp_path: Path) -> None:
    with Loopback(lambda messages: text) as server:
        lm = dspy.LM("openai/m", api_base=server.url, api_key="none", temperature=0.3)
        for run, count in ((None, asked), (None, asked), (7, 2 * asked), (8, 3 * asked)):
            with dspy.context(lm=lm if run is None else lm.copy(rollout_id=run)):
                program()(query=f"Name a river. {tmp_path}", response="Amazon")
            # the same run again is answered from the cache, and another one is not
            assert server.count == count
