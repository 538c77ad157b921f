"""The judge as an evaluator of Phoenix, for ``evaluate_dataframe`` and experiments."""

from collections.abc import Mapping
from typing import Any

from .scorer_file import RecordingClient, ScorerFile
from .target import Messages, Row


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

    def sent(self, file: Mapping[str, Any], row: Row) -> Messages:
        """Evaluate the row with a client that records."""
        client = RecordingClient()
        file["judge"](client, "any").evaluate(dict(row.inputs))
        return client.messages
