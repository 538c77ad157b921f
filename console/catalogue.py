"""``jurist judges``."""

from __future__ import annotations

from ..arguments.judges import JudgesOptions
from ..programs.catalogue import JUDGES
from ..report.table import table
from .printing import Result

__all__ = ["judges"]


def judges(options: JudgesOptions) -> Result:
    """Return the catalogue."""
    entries = [
        {
            "name": judge.name,
            "variant": judge.variant,
            "description": judge.description,
            "inputs": [name for name in judge.row_model.model_fields if name not in ("ratings",)],
            **judge.answer.identity(),
            "metric": judge.metric if isinstance(judge.metric, str) else "custom",
        }
        for judge in JUDGES
    ]
    rows = [
        [
            one["name"],
            one["description"],
            ", ".join(one["labels"]),
            ", ".join(one["positive"]),
            one["metric"],
        ]
        for one in entries
    ]
    columns = ["judge", "what it decides", "labels", "counted as found", "metric"]
    return Result(data={"judges": entries}, body=[table("", columns, rows)])
