"""The judge as a scorer of MLflow."""

from ..portable_file import ScorerFile

# A function under ``@scorer``; not ``make_judge``, whose prompt has variables of its own only.
exporter = ScorerFile(
    "mlflow",
    needs="mlflow and an OpenAI-compatible client",
    usage='mlflow.genai.evaluate(data=data, scorers=[judge(OpenAI(), "$model")])',
    note=(
        "It takes $call from a row's inputs and expectations, and its outputs. Where no reply was usable, "
        "the feedback is an error."
    ),
    imports="""
from mlflow.entities import Feedback
from mlflow.genai import scorer
""",
    code='''
def judge(client: Any, model: str, **settings: Any) -> Any:
    """Return the scorer."""
    score = _JUDGE.scorer(client, model, settings)

    @scorer(name=_SPEC["artifact"]["judge"])
    def scored(inputs: Any = None, outputs: Any = None, expectations: Any = None) -> Feedback:
        row = {"input": inputs, "output": outputs}
        for part in (expectations, inputs, outputs):
            if isinstance(part, dict):
                row |= part
        verdict = score(row, outputs if isinstance(outputs, str) else None)
        metadata = {name: str(verdict[name]) for name in ("value", "votes", "artifact")}
        if verdict["score"] is None:
            return Feedback(error=ValueError(verdict["reason"]), metadata=metadata)
        return Feedback(value=verdict["score"], rationale=verdict["reason"], metadata=metadata)

    return scored
''',
)
