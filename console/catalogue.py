"""``jurist judges``."""

from __future__ import annotations

from ..arguments.judges import JudgesOptions
from ..programs.catalogue import CATALOGUE
from ..programs.judge import Judge
from ..report.table import table
from .printing import Result

__all__ = ["judges"]


def judges(options: JudgesOptions) -> Result:
    """Return the catalogue; a plug-in that cannot be loaded is said and left out."""
    found, broken = CATALOGUE.usable()
    entries = [
        {
            "name": judge.name,
            "variant": judge.variant,
            "description": judge.description,
            "inputs": [name for name in judge.row_model.model_fields if name not in ("ratings",)],
            **judge.answer.identity(),
            "metric": judge.metric if isinstance(judge.metric, str) else "custom",
        }
        for judge in found.values()
    ]
    rows = [
        [one.name, one.description, _answers(one), entry["metric"]]
        for one, entry in zip(found.values(), entries, strict=True)
    ]
    columns = ["judge", "what it decides", "answers", "metric"]
    notes = [f"warning: {error}" for error in broken]
    return Result(data={"judges": entries}, body=[table("", columns, rows)], notes=notes)


def _answers(judge: Judge) -> str:
    """Return what can be answered, with a remark on each that has one."""
    return ", ".join(f"{one} ({note})" if note else one for one, note in judge.answer.listing()[1])
