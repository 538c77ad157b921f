"""The share of worse, equal and better versions that ``gate --not-worse-than`` passes, by rows and by metric.

Two judges answer simulated units; the second is right in .70, .80 or .85 of them where the first is in .80, with errors
of its own or mostly the same ones. A gate passes if the interval of the difference lies above the margin, .05.

Run: python benchmarks/not_worse.py --runs 100
"""

import argparse
from dataclasses import replace
from itertools import product

import numpy as np

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.contrasts import MARGIN
from jurist.evaluation.paired import compare_pair
from jurist.evaluation.units import Units

LABELS = ClosedLabels(("found", "fine"), {"found"})
FIRST, OTHERS = 0.8, (0.7, 0.8, 0.85)
SHAPES = ((30, 1), (60, 1), (100, 1), (200, 1), (400, 1), (120, 6))
"""Units, and how many of them are a group."""
SWAPS = 999


def simulated(
    units: int, size: int, positive: float, right: float, shared: float, rng: np.random.Generator
) -> Units:
    """Return the answers of both; in a share of the units luck is the same for both."""
    gold = np.zeros(units, dtype=np.int64)
    while gold.min() == gold.max():
        gold = np.where(rng.random(units) < positive, 0, 1)
    luck = rng.random(units)
    other_luck = np.where(rng.random(units) < shared, luck, rng.random(units))
    answers = [np.where(own < share, gold, 1 - gold) for own, share in ((luck, FIRST), (other_luck, right))]
    group = np.arange(units) // size
    return Units(
        kind=LABELS,
        values=LABELS.domain,
        gold=gold,
        predicted=np.stack(answers),
        group=group,
        groups=int(group.max()) + 1,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100, help="gates a setting (default: 100)")
    runs = parser.parse_args().runs
    print("| metric | positive | units | of a group | shared luck | .10 worse | as good | .05 better |")
    print("|" + "---|" * 8)
    kinds = (("accuracy", 0.5), ("balanced_accuracy", 0.5), ("balanced_accuracy", 0.2))
    for (name, positive), (units, size), shared in product(kinds, SHAPES, (0.0, 0.8)):
        metric = replace(LABELS.metrics[name], draws=SWAPS)
        cells = []
        for right in OTHERS:
            rng, passed = np.random.default_rng(4), 0
            for run in range(runs):
                both = simulated(units, size, positive, right, shared, rng)
                passed += compare_pair(both, metric, seed=run, tested=0.025).interval.low >= -MARGIN
            cells.append(f"{passed / runs:.2f}")
        print(
            f"| {name} | {positive} | {units} | {size} | {shared} | " + " | ".join(cells) + " |", flush=True
        )


if __name__ == "__main__":
    main()
