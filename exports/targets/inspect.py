"""The judge as a scorer of Inspect."""

from ..portable_file import ScorerFile

# A ``@scorer``; not a ``model_graded_qa``, which fills one user message and reads a grade by a pattern.
exporter = ScorerFile(
    "inspect",
    needs="inspect-ai, and a model of Inspect",
    has_client=False,
    usage='Task(dataset=samples, scorer=judge("openai/$model"))',
    note="A sample has $call in its metadata. Where no reply was usable, it is unscored.",
    limit="models are asked through Inspect, without a schema of the reply",
    imports="""
from inspect_ai.model import (
    ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig, Model, get_model
)
from inspect_ai.scorer import Score, Scorer, Target, mean as mean_score, scorer, stderr
from inspect_ai.solver import TaskState
""",
    code='''
_CHAT = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@scorer(metrics=[mean_score(), stderr()], name=_SPEC["artifact"]["judge"])
def judge(model: str | Model | None = None) -> Scorer:
    """Return the scorer; without a model, it asks the one with the role "grader"."""

    async def score(state: TaskState, target: Target) -> Score:
        row = {"input": state.input_text, "output": state.output.completion, **state.metadata}
        inputs = _JUDGE.inputs_of(row, state.output.completion)
        grader = get_model(model, role=None if model else "grader")
        config = GenerateConfig(temperature=_SPEC["settings"]["temperature"])

        async def complete(messages: list[dict[str, str]], settings_of_step: Any) -> tuple[str, object]:
            reply = await grader.generate(_chat(messages), config=config)
            return reply.completion, reply.stop_reason if reply.choices else None

        verdict = await _JUDGE.ask_async(complete, inputs)
        if verdict["score"] is None:
            return Score.unscored(explanation=verdict["reason"], metadata=verdict)
        return Score(value=verdict["score"], answer=str(verdict["value"]), metadata=verdict)

    return score


def _chat(messages: list[dict[str, str]]) -> list[Any]:
    return [_CHAT[message["role"]](content=message["content"]) for message in messages]
''',
)
