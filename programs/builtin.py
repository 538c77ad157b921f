"""Descriptions of the built-in judges and generators, for lists, without their programs.

A judge needs the modules of its rows, and mostly DSPy, which take long to import. ``data/builtin.json`` has the
descriptions; ``.ci/builtin`` writes it from the catalogue, and a test compares the two.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .judge import Judge

FILE = Path(__file__).with_name("data") / "builtin.json"


@dataclass(frozen=True, kw_only=True)
class Description:
    """A judge or a generator as a list shows it."""

    data: Mapping[str, object]  # as ``jurist judges --json`` prints it
    answers: list[str]  # the possible answers, each with its remark, if it has one, in brackets


def describe_judge(judge: "Judge") -> Description:
    """Return the description of a judge."""
    inputs = [name for name in judge.row_model.model_fields if name != "ratings"]
    data = {
        "name": judge.name,
        "variant": judge.variant,
        "description": judge.description,
        "inputs": inputs,
        **judge.answer.scale.identity(),
        "metric": judge.metric if isinstance(judge.metric, str) else "custom",
    }
    answers = []
    for answer, remark in judge.answer.scale.listing():
        answers.append(f"{answer} ({remark})" if remark else answer)
    return Description(data=data, answers=answers)


def builtin_descriptions(kind: Literal["judges", "generators"]) -> list[Description]:
    """Return the descriptions of the built-in judges, or generators, in the order of the catalogue."""
    entries = json.loads(FILE.read_text(encoding="utf-8"))[kind]
    return [Description(data=entry["data"], answers=entry["answers"]) for entry in entries]
