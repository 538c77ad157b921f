"""The judge as a metric of Opik, for ``opik.evaluate(scoring_metrics=[...])``."""

from collections.abc import Mapping
from typing import Any, ClassVar

from .scorer_file import RecordingClient, ScorerFile
from .target import Messages, Row


class Opik(ScorerFile):
    """A ``BaseMetric``; Opik's online rules hold neither reader nor vote, and go through its server alone."""

    name, module, package = "opik", "opik.evaluation.metrics", "opik"
    quiet: ClassVar[Mapping[str, str]] = {"OPIK_ANALYTICS_ENABLE": "false", "OPIK_SENTRY_ENABLE": "false"}
    about = """Needs opik and an OpenAI-compatible client.

    opik.evaluate(dataset, task, scoring_metrics=[Judge(OpenAI(), "gpt-4.1-mini")])

The metric takes $call from the row and the task. Where no reply was usable, ``scoring_failed`` is true."""
    imports = """from opik.evaluation.metrics.base_metric import BaseMetric
from opik.evaluation.metrics.score_result import ScoreResult"""
    code = """class Judge(BaseMetric):
    def __init__(self, client: Any, model: str, track: bool = True, **settings: Any) -> None:
        super().__init__(name=_SPEC["artifact"]["judge"], track=track)
        self._complete = _JUDGE.through(client, model, settings)

    def score(self, output: Any = None, **row: Any) -> ScoreResult:
        verdict = _JUDGE.ask(self._complete, _JUDGE.inputs_of({"output": output, **row}, output))
        failed = verdict["score"] is None
        reason = "; ".join(verdict["errors"]) if failed else str(verdict["value"])
        value = 0.0 if failed else verdict["score"]
        return ScoreResult(name=self.name, value=value, reason=reason, metadata=verdict, scoring_failed=failed)
"""

    def sent(self, file: Mapping[str, Any], row: Row) -> Messages:
        """Score the row with a client that records."""
        client = RecordingClient()
        file["Judge"](client, "any", track=False).score(**row.inputs)
        return client.messages
