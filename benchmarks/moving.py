"""The shares of judges on another model that ``jurist move`` calls as good within .03, better, worse, or not known.

The old model is right in .85 of simulated units, the new one in as many or in fewer. Most errors are the same ones. The
rows are single, or stand in groups of four whose errors go together. The level is that of the first move after a
compilation: the second opening of the sealed test.

Run: python benchmarks/moving.py --runs 1000
"""

import argparse
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import scipy

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.contrasts import Contrast
from jurist.evaluation.model_moves import MARGIN, judge_move
from jurist.evaluation.paired import compare_pair
from jurist.evaluation.proof import level_of
from jurist.evaluation.units import Units

LABELS = ClosedLabels(("found", "fine"), {"found"})
OLD_RIGHT = 0.85
WORSE_BY = (0.0, 0.02, 0.05, 0.06, 0.10)
ROWS = (60, 120, 200, 300)
GROUP_SIZES = (1, 4)
SHARED_LUCK = 0.8
"""The share of the units in which both models are right or wrong by the same luck."""
ALIKE_IN_GROUP = 0.3
"""The correlation of luck within a group."""
SWAPS = 999
LEVEL = level_of(0.05, 2)


def draw_luck(group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a number from 0 to 1 for each unit; those of a group are alike."""
    of_group = rng.standard_normal(int(group.max()) + 1)[group]
    own = rng.standard_normal(len(group))
    together = np.sqrt(ALIKE_IN_GROUP) * of_group + np.sqrt(1.0 - ALIKE_IN_GROUP) * own
    return np.asarray(scipy.special.ndtr(together))


def simulate_swap(rows: int, size: int, worse_by: float, rng: np.random.Generator) -> Units:
    """Return the answers of the old model and the new one to the same rows."""
    group = np.arange(rows) // size
    gold = np.zeros(rows, dtype=np.int64)
    while gold.min() == gold.max():
        gold = rng.integers(0, 2, rows)
    luck = draw_luck(group, rng)
    other_luck = np.where(rng.random(rows) < SHARED_LUCK, luck, draw_luck(group, rng))
    old = np.where(luck < OLD_RIGHT, gold, 1 - gold)
    new = np.where(other_luck < OLD_RIGHT - worse_by, gold, 1 - gold)
    return Units(
        kind=LABELS,
        values=LABELS.domain,
        gold=gold,
        predicted=np.stack([old, new]),
        group=group,
        groups=int(group.max()) + 1,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000, help="swaps a setting (default: 1000)")
    runs = parser.parse_args().runs
    metric = replace(LABELS.metrics["balanced_accuracy"], draws=SWAPS)
    print("| sealed rows | of a group | truly worse by | as good or better | worse | not known |")
    print("|" + "---|" * 6)
    for rows, size, worse_by in product(ROWS, GROUP_SIZES, WORSE_BY):
        rng = np.random.default_rng(11)
        outcomes = Counter[str]()
        for run in range(runs):
            units = simulate_swap(rows, size, worse_by, rng)
            paired = compare_pair(units, metric, seed=run, tested=LEVEL)
            test = Contrast(**vars(paired), first="new", second="old", p_holm=paired.p, alpha=2.0 * LEVEL)
            differing = float((units.predicted[0] != units.predicted[1]).mean())
            outcomes[judge_move(test, MARGIN, rows, differing).outcome] += 1
        good = (outcomes["as good"] + outcomes["better"]) / runs
        worse = outcomes["worse"] / runs
        unknown = outcomes["not known"] / runs
        print(f"| {rows} | {size} | {worse_by} | {good:.3f} | {worse:.3f} | {unknown:.3f} |", flush=True)


if __name__ == "__main__":
    main()
