"""A judge as a module of DSPy, which stands in another program."""

from typing import Any

import dspy

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
