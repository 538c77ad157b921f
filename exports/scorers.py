"""A judge as a scorer of an evaluation framework: one Python file that sends, reads and counts as the judge does.

The framework's own judging prompts (``model_graded_qa``, ``LLMClassifier``, ``LLMJudge``, ``GEval``) put what is
proven inside a prompt that is not, and read the reply in another way. So a file is a scorer of its own instead. A new
framework is one more entry of :data:`SCORERS`.
"""

import os
import textwrap
from collections.abc import Mapping, Sequence
from tempfile import gettempdir

from ..errors import UsageError
from ..programs.answers.portable import is_number
from .portable_file import PortableFile
from .target import Messages, Row, Subject


class ScorerFile(PortableFile):
    """A file with a scorer of a framework, for judges whose verdict is a number from 0 to 1."""

    def __init__(
        self,
        name: str,
        *,
        needs: str,
        usage: str,
        note: str,
        imports: str = "",
        code: str,
        limit: str = "",
        quiet: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self.imports, self.code = name, imports, code
        self.about = f"Needs {needs}.\n\n    {usage}\n\n" + "\n".join(textwrap.wrap(note, 110))
        # variables under which a check sends no telemetry and writes nothing where it runs
        self.quiet = quiet or {}
        self.limits = (
            "1 is a label that is not positive, the first of a pair, or the top of the scale; units, criteria are "
            "averaged",
            "a row's inputs go by their own names, then input, output, expected; the output is what is judged if "
            "unnamed",
            *([limit] if limit else []),
        )

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
        """Load the file with its framework, and ask its judge for the first messages of the rows."""
        for variable, value in self.quiet.items():
            os.environ.setdefault(variable, value)
        try:
            return super().replay(text, rows)
        except ModuleNotFoundError as error:
            raise UsageError(
                f"checking this export needs {error.name}, which is not installed",
                hint="pip install 'jurist[targets]'",
            ) from error


SCORERS = (
    # A ``Scorer`` class; not an ``LLMClassifier``, which flattens the messages and adds a suffix and a tool.
    ScorerFile(
        "autoevals",
        needs="autoevals and an OpenAI-compatible client",
        usage='Judge(OpenAI(), "gpt-4.1-mini").eval(output, $call)',
        note="A score is None where no reply was usable; label, votes and artifact are in its metadata.",
        imports="from autoevals import Score, Scorer",
        code="""class Judge(Scorer):
    def __init__(self, client: Any, model: str, **settings: Any) -> None:
        self._verdict = _JUDGE.scorer(client, model, settings)

    def _name(self) -> str:
        return _SPEC["artifact"]["judge"]

    def _run_eval_sync(self, output: Any, expected: Any = None, **row: Any) -> Score:
        verdict = self._verdict({"output": output, "expected": expected, **row}, output)
        return Score(name=self._name(), score=verdict["score"], metadata=verdict)
""",
    ),
    # A ``BaseMetric``; not a ``GEval``, which puts criteria into a prompt of its own and scores from 0 to 10.
    ScorerFile(
        "deepeval",
        needs="deepeval and an OpenAI-compatible client",
        usage='evaluate(test_cases, [Judge(OpenAI(), "gpt-4.1-mini", threshold=0.5)])',
        note="A test case has $call in its metadata. Where no reply was usable, the metric has an error "
        "and no score.",
        imports="import asyncio\n\nfrom deepeval.metrics import BaseMetric\nfrom deepeval.test_case import LLMTestCase",
        code="""class Judge(BaseMetric):
    _required_params = []

    def __init__(self, client: Any, model: str, threshold: float = 0.5, settings: dict[str, Any] | None = None) -> None:
        self.client, self.model, self.threshold, self.settings = client, model, threshold, settings or {}
        self.evaluation_model, self.verdict = model, None  # what it is made with is read from it when it is copied

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        said = {"input": test_case.input, "output": test_case.actual_output, "expected": test_case.expected_output}
        asked = _JUDGE.scorer(self.client, self.model, self.settings)
        self.verdict = asked({**said, **(test_case.metadata or {})}, test_case.actual_output)
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
        quiet={
            "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
            "DEEPEVAL_CACHE_FOLDER": f"{gettempdir()}/deepeval",
        },
    ),
    # What ``create_evaluator`` makes; a ``ClassificationEvaluator`` reads a tool call instead of the reply.
    ScorerFile(
        "phoenix",
        needs="arize-phoenix-evals and an OpenAI-compatible client",
        usage='evaluate_dataframe(dataframe, [judge(OpenAI(), "gpt-4.1-mini")])',
        note="Its columns are $inputs; ``bind_evaluator`` takes others. Where no reply was usable, score "
        "and label are None.",
        imports="from phoenix.evals import Score, create_evaluator",
        code='''_NAMES = [one["name"] for one in _SPEC["inputs"]]


def judge(client: Any, model: str, **settings: Any) -> Any:
    """Return the evaluator."""
    asked = _JUDGE.scorer(client, model, settings)

    @create_evaluator(name=_SPEC["artifact"]["judge"], kind="llm")
    def evaluator($inputs):
        verdict = asked(dict(zip(_NAMES, ($inputs,))))
        label = None if verdict["value"] is None else str(verdict["value"])
        return Score(score=verdict["score"], label=label, explanation=verdict["reason"], metadata=verdict)

    return evaluator
''',
    ),
    # A ``BaseMetric``; Opik's online rules hold neither reader nor vote, and go through its server alone.
    ScorerFile(
        "opik",
        needs="opik and an OpenAI-compatible client",
        usage='opik.evaluate(dataset, task, scoring_metrics=[Judge(OpenAI(), "gpt-4.1-mini")])',
        note="The metric takes $call from the row and the task. Where no reply was usable, "
        "``scoring_failed`` is true.",
        imports="""from opik.evaluation.metrics.base_metric import BaseMetric
from opik.evaluation.metrics.score_result import ScoreResult""",
        code="""class Judge(BaseMetric):
    def __init__(self, client: Any, model: str, track: bool = True, **settings: Any) -> None:
        super().__init__(name=_SPEC["artifact"]["judge"], track=track)
        self._verdict = _JUDGE.scorer(client, model, settings)

    def score(self, output: Any = None, **row: Any) -> ScoreResult:
        verdict = self._verdict({"output": output, **row}, output)
        about = {"reason": verdict["reason"], "metadata": verdict, "scoring_failed": verdict["score"] is None}
        return ScoreResult(name=self.name, value=verdict["score"] or 0.0, **about)
""",
        quiet={"OPIK_ANALYTICS_ENABLE": "false", "OPIK_SENTRY_ENABLE": "false"},
    ),
    # A function under ``@scorer``; not ``make_judge``, whose prompt has variables of its own only.
    ScorerFile(
        "mlflow",
        needs="mlflow and an OpenAI-compatible client",
        usage='mlflow.genai.evaluate(data=data, scorers=[judge(OpenAI(), "gpt-4.1-mini")])',
        note="It takes $call from a row's inputs and expectations, and its outputs. Where no reply was "
        "usable, the feedback is an error.",
        imports="""from mlflow.entities import Feedback
from mlflow.genai import scorer""",
        code='''def judge(client: Any, model: str, **settings: Any) -> Any:
    """Return the scorer."""
    asked = _JUDGE.scorer(client, model, settings)

    @scorer(name=_SPEC["artifact"]["judge"])
    def scored(inputs: Any = None, outputs: Any = None, expectations: Any = None) -> Feedback:
        row = {"input": inputs, "output": outputs}
        for part in (expectations, inputs, outputs):
            row |= part if isinstance(part, dict) else {}
        verdict = asked(row, outputs if isinstance(outputs, str) else None)
        about = {name: str(verdict[name]) for name in ("value", "votes", "artifact")}
        if verdict["score"] is None:
            return Feedback(error=ValueError(verdict["reason"]), metadata=about)
        return Feedback(value=verdict["score"], rationale=verdict["reason"], metadata=about)

    return scored
''',
    ),
    # A function for ``evaluate(evaluators=[...])``; LangSmith's own judges put a rubric into a prompt of theirs.
    ScorerFile(
        "langsmith",
        needs="langsmith and an OpenAI-compatible client",
        usage='client.evaluate(app, data="dataset", evaluators=[judge(OpenAI(), "gpt-4.1-mini")])',
        note="It takes $call from an example's inputs and reference outputs, and the outputs of the "
        "application. Where no reply was usable, the score is None.",
        code='''def judge(client: Any, model: str, **settings: Any) -> Callable[..., dict[str, Any]]:
    """Return the evaluator."""
    asked = _JUDGE.scorer(client, model, settings)

    def evaluator(inputs: dict, outputs: dict, reference_outputs: dict | None = None) -> dict[str, Any]:
        row = {**(reference_outputs or {}), **inputs, **outputs}
        texts = [value for value in outputs.values() if isinstance(value, str)]
        verdict = asked(row, texts[0] if len(texts) == 1 else None)
        return {"key": _SPEC["artifact"]["judge"], "score": verdict["score"], "comment": verdict["reason"]}

    return evaluator
''',
        quiet={"LANGSMITH_TRACING": "false"},
    ),
    # A Python assertion on what an application says; not ``llm-rubric``, which has its own prompt and reader.
    ScorerFile(
        "promptfoo",
        needs="promptfoo, and openai for its Python",
        usage='assert: [{type: python, value: "file://THIS_FILE", config: {model: gpt-4.1-mini}}]',
        note="It takes $call from a test's vars, and the output as what is judged. The config has "
        "``model``, and may have ``base_url``, ``threshold`` (the least score that passes, 0.5) and "
        "``settings`` of the request. Where no reply was usable, it fails.",
        imports="from openai import OpenAI",
        code='''def get_assert(output: str, context: dict[str, Any]) -> dict[str, Any]:
    """Return promptfoo's grading result."""
    config = context.get("config") or {}
    client = OpenAI(base_url=config.get("base_url"))
    row = {"output": output, **(context.get("vars") or {})}
    verdict = _JUDGE.scorer(client, config["model"], config.get("settings") or {})(row, output)
    passed = verdict["score"] is not None and verdict["score"] >= config.get("threshold", 0.5)
    return {"pass": passed, "score": verdict["score"] or 0.0, "reason": verdict["reason"]}
''',
    ),
    # A ``@scorer``; not a ``model_graded_qa``, which fills one user message and reads a grade by a pattern.
    ScorerFile(
        "inspect",
        needs="inspect-ai, and a model of Inspect",
        usage='Task(dataset=samples, scorer=judge("openai/gpt-4.1-mini"))',
        note="A sample has $call in its metadata. Where no reply was usable, it is unscored.",
        imports="""from inspect_ai.model import (
    ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig, Model, get_model
)
from inspect_ai.scorer import Score, Scorer, Target, mean as mean_score, scorer, stderr
from inspect_ai.solver import TaskState""",
        code='''_CHAT = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@scorer(metrics=[mean_score(), stderr()], name=_SPEC["artifact"]["judge"])
def judge(model: str | Model | None = None) -> Scorer:
    """Return the scorer; without a model, it asks the one with the role "grader"."""

    async def score(state: TaskState, target: Target) -> Score:
        said = {"input": state.input_text, "output": state.output.completion}
        row = _JUDGE.inputs_of({**said, **state.metadata}, state.output.completion)
        grader = get_model(model, role=None if model else "grader")
        config = GenerateConfig(temperature=_SPEC["settings"]["temperature"])

        async def complete(messages: list[dict[str, str]], more: Any) -> tuple[str, object]:
            reply = await grader.generate(_chat(messages), config=config)
            return reply.completion, reply.stop_reason if reply.choices else None

        verdict = await _JUDGE.ask_async(complete, row)
        if verdict["score"] is None:
            return Score.unscored(explanation=verdict["reason"], metadata=verdict)
        return Score(value=verdict["score"], answer=str(verdict["value"]), metadata=verdict)

    return score


def _chat(messages: list[dict[str, str]]) -> list[Any]:
    return [_CHAT[one["role"]](content=one["content"]) for one in messages]
''',
        limit="models are asked through Inspect, without a schema of the reply",
    ),
    # An ``Evaluator``; not an ``LLMJudge``, which puts a rubric into a prompt of its own.
    ScorerFile(
        "pydantic-evals",
        needs="pydantic-evals, and a model of Pydantic AI",
        usage='Dataset(name="rows", cases=cases, evaluators=[Judge("openai:gpt-4.1-mini")]).evaluate_sync(task)',
        note="A case has $call in its inputs or its metadata. Where no reply was usable, the report counts "
        "an evaluator failure.",
        imports="""from dataclasses import dataclass

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext""",
        code="""_PARTS = {"system": SystemPromptPart, "user": UserPromptPart, "assistant": TextPart}


@dataclass
class Judge(Evaluator):
    model: Any

    async def evaluate(self, ctx: EvaluatorContext) -> dict[str, Any]:
        row = {"input": ctx.inputs, "output": ctx.output, "expected": ctx.expected_output}
        for one in (ctx.metadata, ctx.inputs):
            row |= one if isinstance(one, Mapping) else {}
        row = _JUDGE.inputs_of(row, ctx.output)
        settings = {"temperature": _SPEC["settings"]["temperature"]}

        async def complete(messages: list[dict[str, str]], more: Any) -> tuple[str, object]:
            sent = [_message(**one) for one in messages]
            reply = await model_request(self.model, sent, model_settings=settings)
            return reply.text or "", reply.finish_reason

        verdict = await _JUDGE.ask_async(complete, row)
        if verdict["score"] is None:
            raise ValueError(verdict["reason"])
        name, reason = verdict["artifact"]["judge"], json.dumps(verdict["votes"])
        return {name: verdict["score"], f"{name} label": EvaluationReason(str(verdict["value"]), reason)}


def _message(role: str, content: str) -> Any:
    return (ModelResponse if role == "assistant" else ModelRequest)(parts=[_PARTS[role](content=content)])
""",
        limit="models are asked through Pydantic AI, without a schema of the reply",
    ),
)
