"""A judge in DSPy: a metric of programs that it judges, and a module that stands in another program."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import dspy

from ..cases import Case
from ..errors import JudgeError, JuristError, UsageError, choices
from ..programs.judge import Judge
from ..programs.verdicts import Verdict


class JudgeModule(dspy.Module):
    """A judge as a step of a program: its inputs -> its answer (``None`` without one), ``reasoning``, ``judgement``."""

    def __init__(self, judge: Any) -> None:
        super().__init__()
        self.judge = judge  # a LoadedJudge

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Judge one row."""
        return self._said(self.judge(**inputs))

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Judge one row inside a running event loop."""
        return self._said(await self.judge.acall(**inputs))

    def _said(self, verdict: Verdict) -> dspy.Prediction:
        kind, said = self.judge.judge.answer, verdict.values if len(verdict.values) != 1 else verdict.value
        each = kind.row_parts(verdict.values)["answers"] if kind.criteria else {kind.field: said}
        answer = each if verdict.status == "verdict" or kind.criteria else dict.fromkeys(each)
        return dspy.Prediction(**{"reasoning": verdict.reasoning, "judgement": verdict, **answer})


DSPyMetric = Callable[..., Any]
"""``(example, prediction, trace)`` -> a number from 0 to 1; with the two arguments more of ``dspy.GEPA``, a
``dspy.Prediction`` of ``score`` and ``feedback``."""


def metric_of(
    judge: Judge, ask: Callable[[Sequence[Case]], Sequence[Verdict]], reference: str, names: Mapping[str, str]
) -> DSPyMetric:
    """Return a judge as a metric; see :meth:`~jurist.LoadedJudge.as_metric`."""
    for name in names.keys() - judge.input_fields:
        raise UsageError(f"{reference} has no input {name!r}", hint=choices(name, judge.input_fields))
    if not judge.answer.scale.has_quality:
        raise UsageError(
            f"the answers of {judge.name} are no one number, which a metric is",
            hint="write a function (example, prediction, trace) of your own that calls the judge",
        )
    wanted = {name: names.get(name, name) for name in judge.input_fields}
    known: dict[str, Verdict] = {}  # an optimizer measures the same output again and again

    def metric(
        example: Any, prediction: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        row = {**dict(example), **dict(prediction)}
        for name, theirs in wanted.items():
            if theirs not in row:
                raise JudgeError(
                    f"neither example nor prediction has the input {name!r} of {reference}",
                    hint=f"say what it is called there: as_metric({name}='...')",
                )
        case = judge.case({name: row[theirs] for name, theirs in wanted.items()})
        verdict = known.get(case.id) or ask([case])[0]
        if verdict.status != "failed":  # what the network did not bring is asked again
            known[case.id] = verdict
        if verdict.status != "verdict" or not verdict.values:
            raise JuristError(
                f"{reference} decides nothing here: {verdict.error or 'there is nothing to judge'}"
            )
        each = map(judge.answer.scale.quality, verdict.values)
        score = fmean(quality for quality in each if quality is not None)
        if pred_name is None:
            return score
        said = ", ".join(map(judge.answer.scale.text, verdict.values))
        return dspy.Prediction(
            score=score, feedback=f"The {judge.name} judge says: {said}. {verdict.reasoning}".rstrip()
        )

    metric.__name__ = judge.name
    return metric
