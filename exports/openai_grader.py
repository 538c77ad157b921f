"""The judge as a grader of OpenAI's (``label_model`` or ``score_model``), for reinforcement fine-tuning and evals."""

from typing import Any

from .contents import as_json, temperature_of, ungraded
from .prompt import prompt_of, without_braces
from .target import Subject

__all__ = ["OpenAIGrader"]


class OpenAIGrader:
    """The body of a grader; OpenAI fills it on its side, so there is nothing that could be checked here."""

    name = "openai-grader"
    suffix = ".json"
    limits = (
        "an approximation: OpenAI has the model answer in a structure of its own, and does not read it as jurist does",
        "values go in as they are: defuse them with jurist.exports.variables before they become items",
        "a label_model grader takes no temperature, and asks once; a score_model grader asks at the judge's",
        "OpenAI's hosted evals are read-only since 2026-10-31",
    )

    def render(self, subject: Subject) -> str:
        """Return the JSON text.

        Raises:
            UsageError: the prompt holds double braces, or the judge gives neither a label nor a number.
        """
        prompt = prompt_of(subject)
        sha = str(subject.stamp["sha256"] or subject.stamp["prompt"])[:12]
        body = {
            **_grading(subject),
            "name": f"{subject.ref} {sha}",
            "model": subject.model.name.rpartition("/")[2]
            if subject.model and not subject.model.offline
            else "gpt-4.1-mini",
            "input": prompt.written(without_braces("OpenAI"), "{{{{item.{}}}}}".format),
        }
        return as_json(body)


def _grading(subject: Subject) -> dict[str, Any]:
    answer = subject.judge.answer
    about = answer.identity()
    if answer.choices and not answer.per_unit and "positive" in about:
        passing = [label for label in answer.choices if label not in about["positive"]]
        return {"type": "label_model", "labels": list(answer.choices), "passing_labels": passing}
    if "low" in about and "high" in about:
        sampling = {"temperature": temperature_of(subject)}
        return {"type": "score_model", "range": [about["low"], about["high"]], "sampling_params": sampling}
    raise ungraded(subject, "a grader gives")
