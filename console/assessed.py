"""How an assessment of models ends: files, the exit code, and what is left to do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ..arguments.generate import AssessOptions
from ..gold.writing import write_jsonl
from .common import write_text
from .printing import Part, Result
from .started import Started

__all__ = ["assessed"]


class OneModel(Protocol):
    """What is found of one model."""

    @property
    def model(self) -> str:
        """Its name."""
        ...

    @property
    def unusable(self) -> float:
        """The share of questions without a usable answer, 0 to 1."""
        ...

    @property
    def failed(self) -> int:
        """On how many questions the machinery failed."""
        ...


def assessed(
    options: AssessOptions,
    begun: Started,
    found: Sequence[OneModel],
    data: Mapping[str, Any],
    answers: Iterable[Mapping[str, Any]],
    body: Sequence[Part],
) -> Result:
    """Write the files that were asked for; exit code 3 if a model has too few usable answers.

    Args:
        options: of the command.
        begun: the job.
        found: of each model.
        data: the JSON object; the estimate is added.
        answers: rows for ``--answers``.
        body: what is printed.
    """
    shown = {**data, "forecast": begun.estimate.to_json() if begun.estimate else None}
    if options.answers:
        write_jsonl(answers, options.answers)
    if options.output:
        write_text(json.dumps(shown, ensure_ascii=False, indent=2), options.output)
    notes = ["--resume asks again for what failed"] if any(one.failed for one in found) else []
    worst = max(found, key=lambda one: one.unusable)
    over = worst.unusable > options.max_unusable
    if over:
        share, allowed = f"{worst.unusable:.1%}", f"{options.max_unusable:.1%}"
        notes.append(
            f"{worst.model}: {share} of the questions have no usable answer; {allowed} are allowed (--max-unusable)"
        )
    return Result(data=shown, body=body, notes=notes, code=3 if over else 0)
