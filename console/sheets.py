"""``jurist gold sheet``."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from rich.text import Text

from ..gold import Gold
from ..loading import find_judge
from ..merging import Rule
from ..sheets import Written, format_of, open_lines, write_sheet
from .common import human, store_of

__all__ = ["run", "say"]


def run(arguments: Namespace) -> None:
    """Write the units that people should label."""
    path = Path(arguments.output)
    format_ = format_of(path, arguments.format)
    gold = Gold.load(arguments.gold, find_judge(arguments.judge, store_of(arguments)), labelled=False)
    lines = open_lines(gold, rater=arguments.rater, every=arguments.all)
    say(write_sheet(lines, gold, path, rater=arguments.rater, format_=format_), arguments.judge)


def say(written: Written, judge: str, *, gold: str = "", merge: Rule = "unanimous") -> None:
    """Say what was written, and how it becomes gold: together with the set ``gold``, by the rule ``merge``."""
    console, first = human(), written.files[0]
    files = ", ".join(map(str, written.files))
    console.print(Text(f"{written.units} units of {written.cases} cases written to {files}"))
    if written.long:
        console.print(
            Text(
                f"{written.long} cells are longer than Excel keeps, which cuts them: use another program, "
                "or --format labelstudio"
            )
        )
    sources = " ".join(
        part for part in (gold, str(first if len(written.files) == 1 else "export.json")) if part
    )
    console.print(
        Text(f"when it is filled in: jurist gold import {judge} {sources} --merge {merge} --output NEW.jsonl")
    )
