"""The judge as a scorer of Inspect, for ``Task(scorer=judge())``."""

import asyncio
from collections.abc import Mapping
from typing import Any

from .scorer_file import ScorerFile
from .target import Messages, Row, loader


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

    def sent(self, file: Mapping[str, Any], row: Row) -> Messages:
        """Score a state of the row with Inspect's mock model, which is given what a model is."""
        got: list[Any] = []
        models, solver = loader("inspect_ai.model", "inspect-ai"), loader("inspect_ai.solver", "inspect-ai")

        def answer(messages: Any, *rest: Any) -> Any:
            got[:] = messages
            said = models.ModelOutput.from_content("mock", "-")
            said.usage = models.ModelUsage()  # else its tokens are counted with a file from the network
            return said

        state = solver.TaskState(
            model="mock", sample_id=1, epoch=1, input="", messages=[], metadata=dict(row.inputs)
        )
        score = file["judge"](models.get_model("mockllm/model", custom_outputs=answer, memoize=False))
        asyncio.run(score(state, None))
        return [{"role": one.role, "content": one.content} for one in got]
