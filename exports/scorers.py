"""A judge as a scorer of an evaluation framework: one Python file that sends, reads and counts as the judge does.

The framework's own judging prompts (``model_graded_qa``, ``LLMClassifier``, ``LLMJudge``, ``GEval``) put what is
proven inside a prompt that is not, and read the reply in another way. So a file is a scorer of its own instead. A new
framework is one class with a :class:`ScorerFile` as its base, and its name in ``jurist.exports``.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from tempfile import gettempdir
from types import SimpleNamespace
from typing import Any, ClassVar

from ..errors import UsageError
from ..programs.answers.portable import SCORES
from .portable_file import PortableFile, executed
from .target import Messages, Row, Subject, loader


class ScorerFile(PortableFile):
    """A file with a scorer of a framework, for judges whose verdict is a number from 0 to 1."""

    limits: ClassVar[tuple[str, ...]] = (
        "1 is a label that is not positive, or the top of the scale; units of a row are averaged",
        "a row's inputs go by their own names, then input, output, expected; the output is what is judged if unnamed",
    )
    module: ClassVar[str]  # the framework's, to be imported
    package: ClassVar[str]  # what pip calls it
    # environment variables under which a check sends no telemetry and writes nothing where it runs
    quiet: ClassVar[Mapping[str, str]] = {}

    def render(self, subject: Subject) -> str:
        """Return the source; refuse a judge whose verdict is no number."""
        if subject.judge.answer.parser_rule().get("reader") not in SCORES:
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
        return [self.sent(file, row) for row in rows]

    def sent(self, file: Mapping[str, Any], row: Row) -> Messages:
        """Return the messages that a model gets when the framework scores a row.

        The model is an OpenAI-compatible client that keeps the messages of the last request, and answers nothing
        usable.
        """
        got: list[Messages] = []

        def create(*, messages: Messages, **request: Any) -> Any:
            got.append(messages)
            reply = SimpleNamespace(message=SimpleNamespace(content=""), finish_reason="stop")
            return SimpleNamespace(choices=[reply])

        self.score(
            file, SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create))), row
        )
        return got[-1] if got else ()

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Let the framework score a row with what asks a model."""
        raise NotImplementedError


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


class Inspect(ScorerFile):
    """A ``@scorer``; not a ``model_graded_qa``, which fills one user message and reads a grade by a pattern."""

    name, module, package = "inspect", "inspect_ai.scorer", "inspect-ai"
    limits = (*ScorerFile.limits, "models are asked through Inspect, without a schema of the reply")
    about = """Needs inspect-ai, and a model of Inspect.

    Task(dataset=samples, scorer=judge("openai/gpt-4.1-mini"))

A sample has $call in its metadata. Where no reply was usable, it is unscored."""
    imports = """from inspect_ai.model import (
    ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig, Model, get_model
)
from inspect_ai.scorer import Score, Scorer, Target, mean as mean_score, scorer, stderr
from inspect_ai.solver import TaskState"""
    code = '''_CHAT = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@scorer(metrics=[mean_score(), stderr()], name=_SPEC["artifact"]["judge"])
def judge(model: str | Model | None = None) -> Scorer:
    """Return the scorer; without a model, it asks the one with the role "grader"."""

    async def score(state: TaskState, target: Target) -> Score:
        said = {"input": state.input_text, "output": state.output.completion}
        row = _JUDGE.inputs_of({**said, **state.metadata}, state.output.completion)
        grader = get_model(model, role=None if model else "grader")
        chat = [_CHAT[one["role"]](content=one["content"]) for one in _JUDGE.messages(row)]
        config = GenerateConfig(temperature=_SPEC["settings"]["temperature"])
        outputs = [await grader.generate(chat, config=config) for _ in range(_SPEC["samples"])]
        replies = [(one.completion, one.stop_reason if one.choices else None) for one in outputs]
        verdict = _JUDGE.judged(replies, row)
        if verdict["score"] is None:
            return Score.unscored(explanation="; ".join(verdict["errors"]), metadata=verdict)
        return Score(value=verdict["score"], answer=str(verdict["value"]), metadata=verdict)

    return score
'''

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Score a state of the row with Inspect's mock model, which is given what a model is."""
        models, solver = loader("inspect_ai.model", "inspect-ai"), loader("inspect_ai.solver", "inspect-ai")

        def answer(messages: Any, *rest: Any) -> Any:
            client.chat.completions.create(
                messages=[{"role": one.role, "content": one.content} for one in messages]
            )
            said = models.ModelOutput.from_content("mock", "-")
            said.usage = models.ModelUsage()  # else its tokens are counted with a file from the network
            return said

        state = solver.TaskState(
            model="mock", sample_id=1, epoch=1, input="", messages=[], metadata=dict(row.inputs)
        )
        score = file["judge"](models.get_model("mockllm/model", custom_outputs=answer, memoize=False))
        return asyncio.run(score(state, None))


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


_ROLES = {"system-prompt": "system", "user-prompt": "user", "text": "assistant"}


class PydanticEvals(ScorerFile):
    """An ``Evaluator``; not an ``LLMJudge``, which puts a rubric into a prompt of its own."""

    name, module, package = "pydantic-evals", "pydantic_evals", "pydantic-evals"
    limits = (*ScorerFile.limits, "models are asked through Pydantic AI, without a schema of the reply")
    about = """Needs pydantic-evals, and a model of Pydantic AI.

    Dataset(name="rows", cases=cases, evaluators=[Judge("openai:gpt-4.1-mini")]).evaluate_sync(task)

A case has $call in its inputs or its metadata. Where no reply was usable, the report counts an evaluator failure."""
    imports = """from dataclasses import dataclass

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext"""
    code = """_PARTS = {"system": SystemPromptPart, "user": UserPromptPart, "assistant": TextPart}


@dataclass
class Judge(Evaluator):
    model: Any

    async def evaluate(self, ctx: EvaluatorContext) -> dict[str, Any]:
        row = {"input": ctx.inputs, "output": ctx.output, "expected": ctx.expected_output}
        for one in (ctx.metadata, ctx.inputs):
            row |= one if isinstance(one, Mapping) else {}
        row = _JUDGE.inputs_of(row, ctx.output)
        chat = [_message(one["role"], one["content"]) for one in _JUDGE.messages(row)]
        settings = {"temperature": _SPEC["settings"]["temperature"]}
        replies = [await model_request(self.model, chat, model_settings=settings) for _ in range(_SPEC["samples"])]
        verdict = _JUDGE.judged([(reply.text or "", reply.finish_reason) for reply in replies], row)
        if verdict["score"] is None:
            raise ValueError("; ".join(verdict["errors"]))
        name, reason = verdict["artifact"]["judge"], json.dumps(verdict["votes"])
        return {name: verdict["score"], f"{name} label": EvaluationReason(str(verdict["value"]), reason)}


def _message(role: str, content: str) -> Any:
    return (ModelResponse if role == "assistant" else ModelRequest)(parts=[_PARTS[role](content=content)])
"""

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Evaluate a case of the row with a function as its model."""
        models = loader("pydantic_ai.models.function", self.package)
        types = loader("pydantic_ai.messages", self.package)

        def answer(messages: Any, info: Any) -> Any:
            parts = [part for one in messages for part in one.parts]
            client.chat.completions.create(
                messages=[{"role": _ROLES[one.part_kind], "content": one.content} for one in parts]
            )
            return types.ModelResponse(parts=[types.TextPart("")])

        evals, judge = loader(self.module, self.package), file["Judge"](models.FunctionModel(answer))
        data = evals.Dataset(name="one", cases=[evals.Case(inputs=dict(row.inputs))], evaluators=[judge])
        return data.evaluate_sync(lambda inputs: None, progress=False)
