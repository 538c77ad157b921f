"""``jurist new``."""

from __future__ import annotations

from pathlib import Path

from ..arguments.new import NewOptions
from ..errors import UsageError
from ..exports.incoming import read_prompt
from ..exports.judge_file import judge_source
from ..programs.catalogue import find
from .common import write_text
from .printing import Result

__all__ = ["run"]


def run(options: NewOptions) -> Result:
    """Write the file of a judge, and load it to see that it is one."""
    prompt = read_prompt(Path(options.source))
    labels, positive = _listed(options.labels), _listed(options.positive)
    text = judge_source(options.name, Path(options.source).name, prompt, labels, positive, options.unit)
    output = Path(options.output or f"{options.name.replace('-', '_')}.py")
    if output.exists():
        raise UsageError(f"{output} exists", hint="name another file with --output, or remove it")
    write_text(text, str(output))
    judge = find(f"{output}:judge")
    about = {"judge": judge.name, "output": str(output), "inputs": list(prompt.inputs), "labels": labels}
    return Result(
        data=about,
        body=[
            f"{judge.name} written to {output}: inputs {', '.join(prompt.inputs)}; labels {', '.join(labels)}"
        ],
        notes=[
            f"next: jurist compile {output}:judge --gold GOLD, with a column for each input and "
            f"one for {judge.answer.field}"
        ],
    )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
