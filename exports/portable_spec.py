"""A judge without types: what :class:`~jurist.exports.portable_judge.PortableJudge` asks and reads with."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..programs.votes import majority
from .contents import contents
from .prompt import Prompt, prompt_of
from .target import Subject

__all__ = ["portable_spec", "unreadable"]


def portable_spec(subject: Subject) -> dict[str, Any]:
    """Return all that a :class:`~jurist.exports.portable_judge.PortableJudge` needs.

    Raises:
        UsageError: the judge's answers cannot be read by the standard library.
    """
    prompt = prompt_of(subject, lambda name: f"{{{{{name}}}}}")
    spec = contents(subject, prompt)
    _check(subject, prompt, spec)
    thresholds = subject.card.get("thresholds") or {}
    samples = subject.samples
    return {
        **spec,
        "messages": list(prompt.messages),
        "outputs": list(prompt.signature.output_fields),
        "judged": _judged(spec, subject.judge.answer.unit_fields),
        "samples": samples,
        "threshold": thresholds.get("threshold") or majority(samples),
    }


def _check(subject: Subject, prompt: Prompt, spec: dict[str, Any]) -> None:
    outputs = prompt.signature.output_fields
    others = [
        name for name, info in outputs.items() if name != spec["output_field"] and info.annotation is not str
    ]
    rules = {one["render"] for one in spec["inputs"]}
    if others or "reader" not in spec["parser"]["answer"] or not rules <= {"as-is", "numbered"}:
        raise unreadable(subject)


def unreadable(subject: Subject) -> UsageError:
    """Return that a judge's replies cannot be read by the standard library."""
    return UsageError(
        f"the replies of {subject.judge.name} cannot be read without jurist's own code",
        hint="export it to messages, or run it with jurist",
    )


def _judged(spec: Mapping[str, Any], units: Sequence[str]) -> str:
    """Return the one input whose text gets the answer, or empty if there is no such one."""
    texts = {one["name"] for one in spec["inputs"] if one["type"] == "text"}
    return units[0] if len(units) == 1 and units[0] in texts else ""
