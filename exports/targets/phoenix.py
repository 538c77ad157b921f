"""The judge as a scorer of Arize Phoenix."""

from ..portable_file import ScorerFile

# What ``create_evaluator`` makes; a ``ClassificationEvaluator`` reads a tool call instead of the reply.
exporter = ScorerFile(
    "phoenix",
    needs="arize-phoenix-evals and an OpenAI-compatible client",
    usage='evaluate_dataframe(dataframe, [judge(OpenAI(), "$model")])',
    note=(
        "Its columns are $inputs; ``bind_evaluator`` takes others. Where no reply was usable, score and "
        "label are None."
    ),
    imports="""
import inspect

from phoenix.evals import Score, create_evaluator
""",
    code='''
def judge(client: Any, model: str, **settings: Any) -> Any:
    """Return the evaluator."""
    verdict_of = _JUDGE.scorer(client, model, settings)

    def evaluator(**row: Any) -> Score:
        verdict = verdict_of(row)
        label = None if verdict["value"] is None else str(verdict["value"])
        return Score(score=verdict["score"], label=label, explanation=verdict["reason"], metadata=verdict)

    # Phoenix finds the columns of an evaluator by the names of its parameters.
    names = [field["name"] for field in _SPEC["inputs"]]
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    evaluator.__signature__ = inspect.Signature(parameters)
    return create_evaluator(name=_SPEC["artifact"]["judge"], kind="llm")(evaluator)
''',
)
