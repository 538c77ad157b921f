"""The judge as a scorer of autoevals, for Braintrust's ``Eval(scores=[...])``."""

from collections.abc import Mapping
from typing import Any

from .scorer_file import RecordingClient, ScorerFile
from .target import Messages, Row


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

    def sent(self, file: Mapping[str, Any], row: Row) -> Messages:
        """Evaluate the row with a client that records."""
        client = RecordingClient()
        file["Judge"](client, "any").eval(**{"output": None, **row.inputs})
        return client.messages
