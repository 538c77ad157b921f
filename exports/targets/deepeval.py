"""The judge as a scorer of DeepEval."""

from ..portable_file import ScorerFile

# A ``BaseMetric``; not a ``GEval``, which puts criteria into a prompt of its own and scores from 0 to 10.
exporter = ScorerFile(
    "deepeval",
    needs="deepeval and an OpenAI-compatible client",
    usage='evaluate(test_cases, [Judge(OpenAI(), "$model", threshold=0.5)])',
    note=(
        "A test case has $call in its metadata. Where no reply was usable, the metric has an error and no "
        "score."
    ),
    imports="""
import asyncio

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
""",
    code="""
class Judge(BaseMetric):
    _required_params = []

    def __init__(self, client: Any, model: str, threshold: float = 0.5, settings: dict[str, Any] | None = None) -> None:
        self.client, self.model, self.threshold, self.settings = client, model, threshold, settings or {}
        self.evaluation_model, self.verdict = model, None  # what it is made with is read from it when it is copied

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        row = {"input": test_case.input, "output": test_case.actual_output, "expected": test_case.expected_output}
        row |= test_case.metadata or {}
        score = _JUDGE.scorer(self.client, self.model, self.settings)
        self.verdict = score(row, test_case.actual_output)
        self.score, self.reason = self.verdict["score"], self.verdict["reason"]
        self.error = self.reason if self.score is None else None
        self.success = self.is_successful()
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        return await asyncio.to_thread(self.measure, test_case)

    def is_successful(self) -> bool:
        return self.score is not None and self.score >= self.threshold

    @property
    def __name__(self) -> str:
        return _SPEC["artifact"]["judge"]
""",
)
