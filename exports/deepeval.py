"""The judge as a metric of DeepEval, for ``evaluate`` and ``assert_test``."""

from collections.abc import Mapping
from tempfile import gettempdir
from typing import Any, ClassVar

from .scorer_file import RecordingClient, ScorerFile
from .target import Messages, Row, loader


class DeepEval(ScorerFile):
    """A ``BaseMetric``; not a ``GEval``, which puts criteria into a prompt of its own and scores from 0 to 10."""

    name, module, package = "deepeval", "deepeval.metrics", "deepeval"
    quiet: ClassVar[Mapping[str, str]] = {
        "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
        "DEEPEVAL_CACHE_FOLDER": f"{gettempdir()}/deepeval",
    }
    about = """Needs deepeval and an OpenAI-compatible client.

    evaluate(test_cases, [Judge(OpenAI(), "gpt-4.1-mini", threshold=0.5)])

A test case has $call in its metadata. Where no reply was usable, the metric has an error and no score."""
    imports = "import asyncio\n\nfrom deepeval.metrics import BaseMetric\nfrom deepeval.test_case import LLMTestCase"
    code = """class Judge(BaseMetric):
    _required_params = []

    def __init__(self, client: Any, model: str, threshold: float = 0.5, settings: dict[str, Any] | None = None) -> None:
        self.client, self.model, self.threshold, self.settings = client, model, threshold, settings or {}
        self.evaluation_model, self.verdict = model, None

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        said = {"input": test_case.input, "output": test_case.actual_output, "expected": test_case.expected_output}
        row = _JUDGE.inputs_of({**said, **(test_case.metadata or {})}, test_case.actual_output)
        self.verdict = _JUDGE.ask(_JUDGE.through(self.client, self.model, self.settings), row)
        self.score, self.reason = self.verdict["score"], str(self.verdict["value"])
        self.error = "; ".join(self.verdict["errors"]) if self.score is None else None
        self.success = self.is_successful()
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        return await asyncio.to_thread(self.measure, test_case)

    def is_successful(self) -> bool:
        return self.score is not None and self.score >= self.threshold

    @property
    def __name__(self) -> str:
        return _SPEC["artifact"]["judge"]
"""

    def sent(self, file: Mapping[str, Any], row: Row) -> Messages:
        """Measure a test case of the row with a client that records."""
        test_case, client = loader("deepeval.test_case", "deepeval").LLMTestCase, RecordingClient()
        file["Judge"](client, "any").measure(test_case(input="", metadata=dict(row.inputs)))
        return client.messages
