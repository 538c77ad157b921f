"""The judge as a scorer of promptfoo."""

from ..portable_file import ScorerFile

# A Python assertion on what an application says; not ``llm-rubric``, which has its own prompt and reader.
exporter = ScorerFile(
    "promptfoo",
    needs="promptfoo, and openai for its Python",
    usage='assert: [{type: python, value: "file://THIS_FILE", config: {model: $model}}]',
    note=(
        "It takes $call from a test's vars, and the output as what is judged. The config has ``model``, "
        "and may have ``base_url``, ``threshold`` (the least score that passes, 0.5) and ``settings`` of "
        "the request. Where no reply was usable, it fails."
    ),
    imports="from openai import OpenAI",
    code='''
def get_assert(output: str, context: dict[str, Any]) -> dict[str, Any]:
    """Return promptfoo's grading result."""
    config = context.get("config") or {}
    client = OpenAI(base_url=config.get("base_url"))
    row = {"output": output, **(context.get("vars") or {})}
    verdict = _JUDGE.scorer(client, config["model"], config.get("settings") or {})(row, output)
    passed = verdict["score"] is not None and verdict["score"] >= config.get("threshold", 0.5)
    return {"pass": passed, "score": verdict["score"] or 0.0, "reason": verdict["reason"]}
''',
)
