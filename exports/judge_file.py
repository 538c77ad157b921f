"""The Python file of a judge of one's own, from an instruction, inputs and labels."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from ..errors import UsageError
from .incoming import IncomingPrompt

__all__ = ["judge_source"]

_FILE = '''"""{title}: a judge made from {source}."""

from typing import Literal

import dspy

import jurist


class {name}(dspy.Signature):
    """{instruction}"""

{inputs}
    {output}: Literal[{labels}] = dspy.OutputField()


judge = jurist.Judge(name="{judge}", signature={name}, positive=frozenset({{{positive}}}), unit="{unit}")
'''


def judge_source(
    name: str,
    source: str,
    prompt: IncomingPrompt,
    labels: Sequence[str],
    positive: Sequence[str],
    unit: str = "",
) -> str:
    """Return the text of the file.

    Args:
        name: of the judge: lower-case letters, digits and hyphens.
        source: where the prompt comes from, for the reader.
        prompt: its text and inputs.
        labels: what it may answer, at least two.
        positive: those that count as found; default: the last one.
        unit: the input that is judged; default: the last one.

    Raises:
        UsageError: name, labels or unit cannot be those of a judge.
    """
    chosen, judged = list(positive) or [labels[-1]], unit or prompt.inputs[-1]
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise UsageError(f"{name!r} cannot name a judge", hint="use lower-case letters, digits and hyphens")
    if len(set(labels)) < 2 or len(set(labels)) != len(labels) or not all(one.strip() for one in labels):
        raise UsageError(
            f"{', '.join(labels) or 'nothing'} are no labels", hint="give two or more, as --labels yes,no"
        )
    if not set(chosen) < set(labels):
        raise UsageError(
            f"{', '.join(chosen)} does not part the labels {', '.join(labels)}",
            hint="let --positive name some of them, and not all",
        )
    if judged not in prompt.inputs:
        raise UsageError(
            f"{judged!r} is no input of the prompt", hint=f"use one of {', '.join(prompt.inputs)}"
        )
    output = next(one for one in ("label", "verdict", "decision", "judged_label") if one not in prompt.inputs)
    return _FILE.format(
        title=name,
        source=re.sub(r'["\\]', "'", source),
        name="".join(part.capitalize() for part in name.split("-")),
        instruction=_docstring(prompt.instruction),
        inputs="\n".join(f"    {one}: str = dspy.InputField()" for one in prompt.inputs),
        output=output,
        labels=", ".join(map(_quoted, labels)),
        judge=name,
        positive=", ".join(map(_quoted, chosen)),
        unit=judged,
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
