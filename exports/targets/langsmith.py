"""The judge as a scorer of LangSmith."""

from ..portable_file import ScorerFile

# A function for ``evaluate(evaluators=[...])``; LangSmith's own judges put a rubric into a prompt of theirs.
exporter = ScorerFile(
    "langsmith",
    needs="langsmith and an OpenAI-compatible client",
    usage='client.evaluate(app, data="dataset", evaluators=[judge(OpenAI(), "$model")])',
    note=(
        "It takes $call from an example's inputs and reference outputs, and the outputs of the "
        "application. Where no reply was usable, the score is None."
    ),
    code='''
def judge(client: Any, model: str, **settings: Any) -> Callable[..., dict[str, Any]]:
    """Return the evaluator."""
    score = _JUDGE.scorer(client, model, settings)

    def evaluator(inputs: dict, outputs: dict, reference_outputs: dict | None = None) -> dict[str, Any]:
        row = {**(reference_outputs or {}), **inputs, **outputs}
        texts = [value for value in outputs.values() if isinstance(value, str)]
        verdict = score(row, texts[0] if len(texts) == 1 else None)
        return {"key": _SPEC["artifact"]["judge"], "score": verdict["score"], "comment": verdict["reason"]}

    return evaluator
''',
)
