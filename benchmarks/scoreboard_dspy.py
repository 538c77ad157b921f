"""One of DSPy's optimizers on the labelled rows of a job, by its own documented call, for ``scoreboard.py``.

It runs in an environment that has DSPy and jurist, whose channel stands behind ``dspy.LM``: so the offline engine can
answer, and calls and tokens are counted as those of jurist's own compilations. The last line of its output is a JSON
object: the answers to the held-out rows, and what learning and answering took.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dspy
from scoreboard_sets import SETS  # type: ignore[import-not-found]  # beside this file

import jurist
from jurist.engines.adapters import adapter
from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect

THREADS = 2


class Agreement:
    """The metric: how far an answer agrees with the label, in [0, 1]."""

    def __init__(self, judge: jurist.Judge) -> None:
        self.judge = judge

    def answer(self, prediction: object) -> object:
        """Return the answer of a prediction; ``None`` where it is no answer of the judge's."""
        value: object = getattr(prediction, self.judge.answer.field, None)
        scale = self.judge.answer.scale
        is_answer = value in scale.domain
        if scale.learned == "number":
            is_answer = isinstance(value, int | float)
        return value if is_answer else None

    def credit(self, example: dspy.Example, prediction: object) -> float:
        """Return the agreement of an answer with the label of an example."""
        answer = self.judge.answer
        value = self.answer(prediction)
        if value is None:
            return 0.0
        return float(answer.scale.credit(example[answer.field], value))

    def score(self, example: dspy.Example, prediction: object, trace: object = None) -> float | bool:
        """Return the score that MIPROv2 takes; while it collects demonstrations, whether the answer is right."""
        credit = self.credit(example, prediction)
        if trace is None:
            return credit
        return credit == 1.0

    def feedback(
        self,
        gold: dspy.Example,
        pred: object,
        trace: object = None,
        pred_name: str | None = None,
        pred_trace: object = None,
    ) -> dspy.Prediction:
        """Return the score that GEPA takes, with the label in words."""
        credit = self.credit(gold, pred)
        words = "This is right."
        if credit < 1.0:
            words = f"People answered {gold[self.judge.answer.field]}, not {self.answer(pred)}."
        return dspy.Prediction(score=credit, feedback=words)


def optimized(
    job: Mapping[str, Any], agreement: Agreement, student: dspy.Module, writer: dspy.LM
) -> dspy.Module:
    """Return the program that an optimizer makes of the labelled rows."""
    field = agreement.judge.answer.field
    examples = []
    for row in job["labelled"]:
        example = dspy.Example(**row["inputs"], **{field: row["label"]})
        examples.append(example.with_inputs(*row["inputs"]))
    if job["optimizer"] == "MIPROv2":
        optimizer = dspy.MIPROv2(
            metric=agreement.score,
            auto="light",
            prompt_model=writer,
            num_threads=THREADS,
            max_errors=1000,
            seed=job["seed"],
        )
        return optimizer.compile(student, trainset=examples)
    optimizer = dspy.GEPA(
        metric=agreement.feedback,
        auto="light",
        reflection_lm=writer,
        num_threads=THREADS,
        seed=job["seed"],
    )
    half = len(examples) // 2
    return optimizer.compile(student, trainset=examples[:half], valset=examples[half:])


def main() -> None:
    """Optimize on the labelled rows, answer the held-out ones, and print the answers."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    judge: jurist.Judge = SETS[job["set"]].judge
    agreement = Agreement(judge)
    learning = CallContext.fresh()
    answering = CallContext.fresh()
    model = Model(**job["model"])
    prompt_model = Model(**job["prompt_model"])
    dspy.configure(lm=connect(model, learning), adapter=adapter("chat"))
    student = dspy.Predict(judge.signature)
    before = student.dump_state()
    program = optimized(job, agreement, student, connect(prompt_model, learning, "proposer"))
    with dspy.context(lm=connect(model, answering)):
        answers = [agreement.answer(_asked(program, inputs)) for inputs in job["held_out"]]
    reply = {
        "answers": answers,
        "changed": program.dump_state() != before,
        "learning": learning.ledger.spend().to_json(),
        "answering": answering.ledger.spend().to_json(),
        "remarks": {"demonstrations": len(program.demos)},
    }
    print(f"\n{json.dumps(reply)}")


def _asked(program: dspy.Module, inputs: Mapping[str, Any]) -> object:
    """Return what a program answers; ``None`` where its reply cannot be read."""
    try:
        return program(**inputs)
    except dspy.AdapterParseError:
        return None


if __name__ == "__main__":
    main()
