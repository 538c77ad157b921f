"""The Python file of a judge of one's own: from an instruction and its inputs, and what it is to answer."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import UsageError
from .incoming import IncomingPrompt

_SCALE = re.compile(r"(-?\d+(?:\.\d+)?)\s*-\s*(-?\d+(?:\.\d+)?)", re.ASCII)
_FILE = '''"""{title}: a judge made from {source}."""
{imports}
import dspy

import jurist


class {name}(dspy.Signature):
    """{instruction}"""

{inputs}
    {output}: {annotation}


judge = jurist.Judge(name="{judge}", signature={name}, {arguments})
'''


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a judge answers, as its file says it."""

    names: Sequence[str]  # for the output field; the first that is no input is taken
    annotation: str  # its type, and its default
    arguments: str  # of ``jurist.Judge``; ``{unit}`` is the input that is judged
    words: str  # for people


def labels_asked(labels: Sequence[str], positive: Sequence[str] = ()) -> Asked:
    """Return one of some labels."""
    chosen = list(positive) or [labels[-1]] if labels else []
    if len(set(labels)) < 2 or len(set(labels)) != len(labels) or not all(one.strip() for one in labels):
        raise UsageError(
            f"{', '.join(labels) or 'nothing'} are no labels", hint="give two or more, as --labels yes,no"
        )
    if not set(chosen) < set(labels):
        raise UsageError(
            f"{', '.join(chosen)} does not part the labels {', '.join(labels)}",
            hint="let --positive name some of them, and not all",
        )
    return Asked(
        names=("label", "verdict", "decision", "judged_label"),
        annotation=f"Literal[{', '.join(map(_quoted, labels))}] = dspy.OutputField()",
        arguments=f"positive=frozenset({{{', '.join(map(_quoted, chosen))}}}), unit={{unit}}",
        words=f"labels {', '.join(labels)}; found is {', '.join(chosen)}; compiled for balanced_accuracy",
    )


def score_asked(scale: str) -> Asked:
    """Return a number on a scale: ``1-5`` is whole, ``0.0-1.0`` is not."""
    found = _SCALE.fullmatch(scale.strip())
    if not found or float(found[1]) >= float(found[2]):
        raise UsageError(f"{scale!r} is no scale", hint="give its ends, as --score 1-5 or --score 0.0-1.0")
    low, high = found[1], found[2]
    kind = "float" if "." in low + high else "int"
    return Asked(
        names=("score", "rating", "grade", "judged_score"),
        annotation=f"{kind} = dspy.OutputField(ge={low}, le={high})",
        arguments="unit={unit}",
        words=f"a score from {low} to {high}",
    )


def preference_asked(pair: Sequence[str], inputs: Sequence[str]) -> Asked:
    """Return which of two inputs is better: ``first``, ``second`` or ``tie``."""
    if len(set(pair)) != 2 or len(pair) != 2 or not set(pair) <= set(inputs):
        raise UsageError(
            f"{', '.join(pair) or 'nothing'} are not two inputs of the prompt",
            hint=f"let --prefer name two of {', '.join(inputs)}",
        )
    first, second = pair
    return Asked(
        names=("better", "preferred", "preference", "judged_better"),
        annotation='Literal["first", "second", "tie"] = dspy.OutputField()',
        arguments=f'answer=jurist.Preference(first="{first}", second="{second}")',
        words=f"which of {first} (first) and {second} (second) is better",
    )


def judge_source(name: str, source: str, prompt: IncomingPrompt, asked: Asked, unit: str = "") -> str:
    """Return the text of the file."""
    judged = unit or prompt.inputs[-1]
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise UsageError(f"{name!r} cannot name a judge", hint="use lower-case letters, digits and hyphens")
    if judged not in prompt.inputs:
        raise UsageError(
            f"{judged!r} is no input of the prompt", hint=f"use one of {', '.join(prompt.inputs)}"
        )
    return _FILE.format(
        title=name,
        source=re.sub(r'["\\]', "'", source),
        imports="\nfrom typing import Literal\n" if "Literal" in asked.annotation else "",
        name="".join(part.capitalize() for part in name.split("-")),
        instruction=_docstring(prompt.instruction),
        inputs="\n".join(f"    {one}: str = dspy.InputField()" for one in prompt.inputs),
        output=next(one for one in asked.names if one not in prompt.inputs),
        annotation=asked.annotation,
        judge=name,
        arguments=asked.arguments.replace("{unit}", _quoted(judged)),
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _docstring(text: str) -> str:
    """Return a text for a docstring of a class: dedenting it gives the text back.

    Line ends become newlines, tabs spaces, and lines of spaces empty, as they would be in any instruction.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs()
    safe = plain.replace("\\", "\\\\")
    safe = re.sub(r'"{3,}|"+\Z', lambda found: found[0].replace('"', '\\"'), safe)
    lines = safe.split("\n")
    return "\n".join([lines[0], *(f"    {line}" if line.strip() else "" for line in lines[1:])])
