"""The judge as a scorer of autoevals and Braintrust."""

from ..portable_file import ScorerFile

# A ``Scorer`` class; not an ``LLMClassifier``, which flattens the messages and adds a suffix and a tool.
exporter = ScorerFile(
    "autoevals",
    needs="autoevals and an OpenAI-compatible client",
    usage='Judge(OpenAI(), "$model").eval(output, $call)',
    note="A score is None where no reply was usable; label, votes and artifact are in its metadata.",
    imports="from autoevals import Score, Scorer",
    code="""
class Judge(Scorer):
    def __init__(self, client: Any, model: str, **settings: Any) -> None:
        self._verdict = _JUDGE.scorer(client, model, settings)

    def _name(self) -> str:
        return _SPEC["artifact"]["judge"]

    def _run_eval_sync(self, output: Any, expected: Any = None, **row: Any) -> Score:
        verdict = self._verdict({"output": output, "expected": expected, **row}, output)
        return Score(name=self._name(), score=verdict["score"], metadata=verdict)
""",
)
