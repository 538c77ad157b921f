"""What the benchmarks on the public gold share: compile on several seeds, and print rows of a table."""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jurist

__all__ = ["PAGE", "cell", "compiled_card", "mean", "missing", "parser"]

PAGE = "docs/papers.md says where the public files are"


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of every benchmark: the data, the seeds, the optimizer."""
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True, metavar="DIR", help=PAGE)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--optimizer", default="race")
    return options


def missing(data: Path, folders: Sequence[str]) -> bool:
    """Say on standard error which folders of the public gold are not there, if any are not."""
    absent = [name for name in folders if not (data / name).is_dir()]
    if absent:
        print(f"{data} has no folder {', '.join(absent)}: {PAGE}", file=sys.stderr)
    return bool(absent)


def compiled_card(judge: str, gold: Path, seed: int, optimizer: str) -> dict[str, Any]:
    """Compile a judge at temperature 0 with the offline engine; return the artifact's card and keep nothing."""
    with tempfile.TemporaryDirectory() as store:
        model = jurist.Model(temperature=0.0)
        made = jurist.compile(judge, gold=gold, optimizer=optimizer, seed=seed, store=store, model=model)
        return made.artifact.card


def cell(score: dict[str, float]) -> str:
    """Return ``0.712 [0.650, 0.771]``."""
    return f"{score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}]"


def mean(values: Sequence[float]) -> str:
    """Return the mean and, in brackets, the standard deviation of the sample."""
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.3f} ({spread:.3f})"
