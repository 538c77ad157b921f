"""``jurist judges``."""

from collections.abc import Mapping
from typing import Any

from ..arguments.groups import Form
from ..programs.catalogue import CATALOGUE, GENERATORS
from ..programs.judge import Judge
from ..report.table import table
from .printing import Result


def judges(options: Form) -> Result:
    """Return the catalogue; a plug-in that cannot be loaded is said and left out."""
    found, broken = CATALOGUE.usable()
    generators, unusable = GENERATORS.usable()
    columns = ["what it decides", "answers", "metric"]
    body = [table("", ["judge", *columns], _rows(found))]
    if generators:
        body.append(table("", ["generator", "what it writes", *columns[1:]], _rows(generators)))
    return Result(
        data={"judges": _entries(found), "generators": _entries(generators)},
        body=body,
        notes=[f"warning: {error}" for error in (*broken, *unusable)],
    )


def _entries(found: Mapping[str, Judge]) -> list[dict[str, Any]]:
    return [
        {
            "name": judge.name,
            "variant": judge.variant,
            "description": judge.description,
            "inputs": [name for name in judge.row_model.model_fields if name not in ("ratings",)],
            **judge.answer.scale.identity(),
            "metric": _metric(judge),
        }
        for judge in found.values()
    ]


def _rows(found: Mapping[str, Judge]) -> list[list[str]]:
    return [[one.name, one.description, _answers(one), _metric(one)] for one in found.values()]


def _metric(judge: Judge) -> str:
    return judge.metric if isinstance(judge.metric, str) else "custom"


def _answers(judge: Judge) -> str:
    """Return what can be answered, with a remark on each that has one."""
    return ", ".join(f"{one} ({note})" if note else one for one, note in judge.answer.scale.listing()[1])
