"""Basic against compiled on real gold, over several seeds: the table in the README.

    python benchmarks/gold.py                       # ../shared/data, 5 seeds, both judges
    python benchmarks/gold.py --data DIR --seeds 3 --optimizer fewshot

Each seed is another split by conversation, another search, and another sealed
test; the scores are of the test only. DIR holds the public CogniBench files in
``cognibench/`` and FECT's in ``fect/``; they are not part of this project.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import jurist


def main() -> int:
    """Print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--optimizer", default="opro+fewshot")
    parser.add_argument("--judges", nargs="+", default=["cognibench", "fect"])
    arguments = parser.parse_args()
    missing = [name for name in arguments.judges if not (arguments.data / name).is_dir()]
    if missing:
        print(
            f"{arguments.data} has no folder {', '.join(missing)}: get the public files first",
            file=sys.stderr,
        )
        return 1
    print(
        "| judge | seed | basic F1 [95 %] | compiled F1 [95 %] | corrected / broken | McNemar p | decision |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in arguments.judges:
        _judge(name, arguments.data / name, arguments.seeds, arguments.optimizer)
    return 0


def _judge(name: str, gold: Path, seeds: int, optimizer: str) -> None:
    basic, compiled = [], []
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as store:
            model = jurist.Model(temperature=0.0)
            card = jurist.compile(
                name, gold=gold, optimizer=optimizer, seed=seed, store=store, model=model
            ).artifact.card
        scores, decision = card["scores"], card["decision"]
        basic.append(scores["basic"]["f1"]["value"])
        compiled.append(scores["compiled"]["f1"]["value"])
        print(
            f"| {name} | {seed} | {_cell(scores['basic']['f1'])} | {_cell(scores['compiled']['f1'])} "
            f"| {decision['c']} / {decision['b']} | {decision['p']:.3f} | {decision['verdict']} |",
            flush=True,
        )
    print(f"| {name} | mean (sd) | {_mean(basic)} | {_mean(compiled)} | | | |")


def _cell(score: dict[str, float]) -> str:
    return f"{score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}]"


def _mean(values: list[float]) -> str:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.3f} ({spread:.3f})"


if __name__ == "__main__":
    sys.exit(main())
