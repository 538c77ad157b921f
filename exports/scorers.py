"""A judge as a scorer of an evaluation framework: one Python file that sends, reads and counts as the judge does.

The framework's own judging prompts (``model_graded_qa``, ``LLMClassifier``, ``LLMJudge``, ``GEval``) put what is
proven inside a prompt that is not, and read the reply in another way. So a file is a scorer of its own instead. A new
framework is one class with a :class:`ScorerFile` as its base, and its name in ``jurist.exports``.
"""

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from tempfile import gettempdir
from typing import Any, ClassVar
from unittest.mock import patch
from uuid import UUID

from ..errors import UsageError
from ..programs.answers.portable import is_number
from .portable_file import PortableFile, executed, sent
from .target import Messages, Row, Subject, loader


class ScorerFile(PortableFile):
    """A file with a scorer of a framework, for judges whose verdict is a number from 0 to 1."""

    limits: ClassVar[tuple[str, ...]] = (
        "1 is a label that is not positive, the first of a pair, or the top of the scale; units, criteria are averaged",
        "a row's inputs go by their own names, then input, output, expected; the output is what is judged if unnamed",
    )
    module: ClassVar[str]  # the framework's, to be imported
    package: ClassVar[str]  # what pip calls it
    # environment variables under which a check sends no telemetry and writes nothing where it runs
    quiet: ClassVar[Mapping[str, str]] = {}

    def render(self, subject: Subject) -> str:
        """Return the source; refuse a judge whose verdict is no number."""
        scale, rule = subject.judge.answer.scale, subject.judge.answer.parser_rule()
        scales, rules = getattr(scale, "scales", {"": scale}), rule.get("criteria", {"": rule})
        if not any(
            is_number(one.get("reader"), getattr(scales[name], "positive", ())) for name, one in rules.items()
        ):
            raise UsageError(
                f"{subject.judge.name} gives no one number, which is what {self.name} keeps",
                hint="export it to python, or run it with jurist",
            )
        return super().render(subject)

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Execute the file, which jurist has just written, and let the framework score each row."""
        for variable, value in self.quiet.items():
            os.environ.setdefault(variable, value)
        loader(self.module, self.package)
        file = executed(text)
        return [sent(row, partial(self.score, file, row=row)) for row in rows]

    @abstractmethod
    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Let the framework score a row with what asks a model."""


class Autoevals(ScorerFile):
    """A ``Scorer`` class; not an ``LLMClassifier``, which flattens the messages and adds a suffix and a tool."""

    name, module, package = "autoevals", "autoevals", "autoevals"
    about = """Needs autoevals and an OpenAI-compatible client.

    Judge(OpenAI(), "gpt-4.1-mini").eval(output, $call)

A score is None where no reply was usable; label, votes and artifact are in its metadata."""
    imports = "from autoevals import Score, Scorer"
    code = """class Judge(Scorer):
    def __init__(self, client: Any, model: str, **settings: Any) -> None:
        self._complete = _JUDGE.through(client, model, settings)

    def _name(self) -> str:
        return _SPEC["artifact"]["judge"]

    def _run_eval_sync(self, output: Any, expected: Any = None, **row: Any) -> Score:
        verdict = _JUDGE.ask(self._complete, _JUDGE.inputs_of({"output": output, "expected": expected, **row}, output))
        return Score(name=self._name(), score=verdict["score"], metadata=verdict)
"""

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Evaluate the row."""
        return file["Judge"](client, "any").eval(**{"output": None, **row.inputs})


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

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Measure a test case of the row."""
        test_case = loader("deepeval.test_case", "deepeval").LLMTestCase
        return file["Judge"](client, "any").measure(test_case(input="", metadata=dict(row.inputs)))


class Phoenix(ScorerFile):
    """What ``create_evaluator`` makes; a ``ClassificationEvaluator`` reads a tool call instead of the reply."""

    name, module, package = "phoenix", "phoenix.evals", "arize-phoenix-evals"
    about = """Needs arize-phoenix-evals and an OpenAI-compatible client.

    evaluate_dataframe(dataframe, [judge(OpenAI(), "gpt-4.1-mini")])

Its columns are $inputs; ``bind_evaluator`` takes others. Where no reply was usable, score and label are None."""
    imports = "from phoenix.evals import Score, create_evaluator"
    code = '''_NAMES = [one["name"] for one in _SPEC["inputs"]]


def judge(client: Any, model: str, **settings: Any) -> Any:
    """Return the evaluator."""
    complete = _JUDGE.through(client, model, settings)

    @create_evaluator(name=_SPEC["artifact"]["judge"], kind="llm")
    def evaluator($inputs):
        verdict = _JUDGE.ask(complete, dict(zip(_NAMES, ($inputs,))))
        label = None if verdict["value"] is None else str(verdict["value"])
        return Score(score=verdict["score"], label=label, explanation="; ".join(verdict["errors"]), metadata=verdict)

    return evaluator
'''

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Evaluate the row."""
        return file["judge"](client, "any").evaluate(dict(row.inputs))


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

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Score the row."""
        return file["Judge"](client, "any", track=False).score(**row.inputs)


class MLflowScorer(ScorerFile):
    """A function under ``@scorer``; not ``make_judge``, whose prompt has variables of its own only."""

    name, module, package = "mlflow-scorer", "mlflow.genai", "mlflow"
    about = """Needs mlflow and an OpenAI-compatible client.

    mlflow.genai.evaluate(data=data, scorers=[judge(OpenAI(), "gpt-4.1-mini")])

It takes $call from a row's inputs and expectations, and its outputs. Where no reply was usable, the feedback is an
error."""
    imports = """from mlflow.entities import Feedback
from mlflow.genai import scorer"""
    code = '''def judge(client: Any, model: str, **settings: Any) -> Any:
    """Return the scorer."""
    complete = _JUDGE.through(client, model, settings)

    @scorer(name=_SPEC["artifact"]["judge"])
    def scored(inputs: Any = None, outputs: Any = None, expectations: Any = None) -> Feedback:
        row = {"input": inputs, "output": outputs}
        for part in (expectations, inputs, outputs):
            row |= part if isinstance(part, dict) else {}
        verdict = _JUDGE.ask(complete, _JUDGE.inputs_of(row, outputs if isinstance(outputs, str) else None))
        about = {name: str(verdict[name]) for name in ("value", "votes", "artifact")}
        if verdict["score"] is None:
            return Feedback(error=ValueError("; ".join(verdict["errors"])), metadata=about)
        return Feedback(value=verdict["score"], rationale=str(verdict["value"]), metadata=about)

    return scored
'''

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Score the row as an evaluation does."""
        return file["judge"](client, "any").run(inputs=dict(row.inputs), outputs=None, expectations=None)


class LangSmith(ScorerFile):
    """A function for ``evaluate(evaluators=[...])``; LangSmith's own judges put a rubric into a prompt of theirs."""

    name, module, package = "langsmith", "langsmith.evaluation", "langsmith"
    quiet: ClassVar[Mapping[str, str]] = {"LANGSMITH_TRACING": "false"}
    about = """Needs langsmith and an OpenAI-compatible client.

    client.evaluate(app, data="dataset", evaluators=[judge(OpenAI(), "gpt-4.1-mini")])

It takes $call from an example's inputs and reference outputs, and the outputs of the application. Where no reply was
usable, the score is None."""
    code = '''def judge(client: Any, model: str, **settings: Any) -> Callable[..., dict[str, Any]]:
    """Return the evaluator."""
    complete = _JUDGE.through(client, model, settings)

    def evaluator(inputs: dict, outputs: dict, reference_outputs: dict | None = None) -> dict[str, Any]:
        row = {**(reference_outputs or {}), **inputs, **outputs}
        texts = [value for value in outputs.values() if isinstance(value, str)]
        verdict = _JUDGE.ask(complete, _JUDGE.inputs_of(row, texts[0] if len(texts) == 1 else None))
        why = str(verdict["value"]) if verdict["score"] is not None else "; ".join(verdict["errors"])
        return {"key": _SPEC["artifact"]["judge"], "score": verdict["score"], "comment": why}

    return evaluator
'''

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Evaluate the row as LangSmith calls a function of three dictionaries."""
        evaluator = loader(self.module, self.package).run_evaluator(file["judge"](client, "any"))
        schemas, id_ = loader("langsmith.schemas", self.package), UUID(int=1)
        begun = {"start_time": datetime.now(UTC), "run_type": "chain", "trace_id": id_}
        run = schemas.Run(id=id_, name="row", inputs={}, outputs={}, **begun)
        return evaluator.evaluate_run(run, schemas.Example(id=id_, inputs=dict(row.inputs)))


class Promptfoo(ScorerFile):
    """A Python assertion on what an application says; not ``llm-rubric``, which has its own prompt and reader."""

    name, module, package = "promptfoo", "openai", "openai"
    about = """Needs promptfoo, and openai for its Python.

    assert: [{type: python, value: "file://THIS_FILE", config: {model: gpt-4.1-mini}}]

It takes $call from a test's vars, and the output as what is judged. The config has ``model``, and may have
``base_url``, ``threshold`` (the least score that passes, 0.5) and ``settings`` of the request. Where no reply was
usable, it fails."""
    imports = "from openai import OpenAI"
    code = '''def get_assert(output: str, context: dict[str, Any]) -> dict[str, Any]:
    """Return promptfoo's grading result."""
    config = context.get("config") or {}
    client = OpenAI(base_url=config.get("base_url"))
    row = {"output": output, **(context.get("vars") or {})}
    complete = _JUDGE.through(client, config["model"], config.get("settings") or {})
    verdict = _JUDGE.ask(complete, _JUDGE.inputs_of(row, output))
    score, reason = verdict["score"], str(verdict["value"])
    if score is None:
        return {"pass": False, "score": 0.0, "reason": "; ".join(verdict["errors"])}
    return {"pass": score >= config.get("threshold", 0.5), "score": score, "reason": reason}
'''

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Call the assertion as promptfoo does, with another client."""
        with patch.dict(file["get_assert"].__globals__, {"OpenAI": lambda **_: client}):
            return file["get_assert"]("", {"vars": dict(row.inputs), "config": {"model": "any"}})
