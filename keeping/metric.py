"""A judge as a metric of DSPy: for ``dspy.Evaluate``, and for optimizers of a program that the judge judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any

import dspy

from ..errors import JudgeError, JuristError, UsageError, choices

if TYPE_CHECKING:
    from ..programs.verdicts import Verdict
    from .loading import LoadedJudge

__all__ = ["DSPyMetric", "metric_of"]

DSPyMetric = Callable[..., Any]
"""``(example, prediction, trace)`` -> a number from 0 to 1; with the two arguments more of ``dspy.GEPA``, a
``dspy.Prediction`` of ``score`` and ``feedback``."""


def metric_of(judge: LoadedJudge, names: Mapping[str, str]) -> DSPyMetric:
    """Return a judge as a metric; see :meth:`~jurist.LoadedJudge.as_metric`."""
    own = judge.judge
    for name in names.keys() - own.input_fields:
        raise UsageError(f"{judge.name} has no input {name!r}", hint=choices(name, own.input_fields))
    if not own.answer.has_quality:
        raise UsageError(
            f"the answers of {own.name} are no one number, which a metric is",
            hint="write a function (example, prediction, trace) of your own that calls the judge",
        )
    wanted = {name: names.get(name, name) for name in own.input_fields}
    known: dict[str, Verdict] = {}  # an optimizer measures the same output again and again

    def metric(
        example: Any, prediction: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        row = {**dict(example), **dict(prediction)}
        for name, theirs in wanted.items():
            if theirs not in row:
                raise JudgeError(
                    f"neither example nor prediction has the input {name!r} of {judge.name}",
                    hint=f"say what it is called there: as_metric({name}='...')",
                )
        case = own.case({name: row[theirs] for name, theirs in wanted.items()})
        verdict = known.get(case.id) or judge.ask([case])[0]
        if verdict.status != "failed":  # what the network did not bring is asked again
            known[case.id] = verdict
        if verdict.status != "verdict" or not verdict.values:
            raise JuristError(
                f"{judge.name} decides nothing here: {verdict.error or 'there is nothing to judge'}"
            )
        score = fmean(map(own.answer.quality, verdict.values))
        if pred_name is None:
            return score
        said = ", ".join(map(own.answer.text, verdict.values))
        return dspy.Prediction(
            score=score, feedback=f"The {own.name} judge says: {said}. {verdict.reasoning}".rstrip()
        )

    metric.__name__ = own.name
    return metric
