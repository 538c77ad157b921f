"""``jurist export``."""

from __future__ import annotations

from ..arguments.judges import ExportOptions
from ..exports import export
from ..keeping.loading import load_judge
from .common import store_of, write_text
from .printing import Part, Result, Verbatim

__all__ = ["run"]


def run(options: ExportOptions) -> Result:
    """Write a judge's prompt for another system, or return it for standard output."""
    loaded = load_judge(options.judge, store=store_of(options))
    text = export(loaded.artifact or loaded.state, loaded.judge, options.target)
    about = {"judge": loaded.name, "target": options.target, "output": options.output}
    if options.output in (None, "-"):
        body: list[Part] = [Verbatim(text)]
        return Result(data={**about, "text": text}, body=body)
    write_text(text, options.output)
    return Result(data=about, body=[f"{loaded.name} written to {options.output}"])
