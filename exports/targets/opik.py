"""The judge as a scorer of Opik."""

from ..portable_file import ScorerFile

# A ``BaseMetric``; Opik's online rules hold neither reader nor vote, and go through its server alone.
exporter = ScorerFile(
    "opik",
    needs="opik and an OpenAI-compatible client",
    usage='opik.evaluate(dataset, task, scoring_metrics=[Judge(OpenAI(), "$model")])',
    note=(
        "The metric takes $call from the row and the task. Where no reply was usable, ``scoring_failed`` "
        "is true."
    ),
    imports="""
from opik.evaluation.metrics.base_metric import BaseMetric
from opik.evaluation.metrics.score_result import ScoreResult
""",
    code="""
class Judge(BaseMetric):
    def __init__(self, client: Any, model: str, track: bool = True, **settings: Any) -> None:
        super().__init__(name=_SPEC["artifact"]["judge"], track=track)
        self._verdict = _JUDGE.scorer(client, model, settings)

    def score(self, output: Any = None, **row: Any) -> ScoreResult:
        verdict = self._verdict({"output": output, **row}, output)
        return ScoreResult(
            name=self.name,
            value=verdict["score"] or 0.0,
            reason=verdict["reason"],
            metadata=verdict,
            scoring_failed=verdict["score"] is None,
        )
""",
)
