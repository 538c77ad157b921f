"""The coverage of intervals where little is to be found: few units, few of them positive, a judge that is seldom wrong.

Beside the scores stands the difference in accuracy to a second judge that corrects half of the errors of the first:
among 20 units the two often never differ. In the clustered settings four units make a group, and groups differ in how
much is to be found and in how hard they are (correlation 0.3 within a group).

Run: python benchmarks/rare.py --runs 1000
"""

import argparse
from collections import Counter
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import Interval, metric_interval
from jurist.evaluation.paired import compare_pair
from jurist.evaluation.units import Units

Array: TypeAlias = NDArray[Any]
KIND = ClosedLabels(("fine", "found"), {"found"})
SHOWN = ("accuracy", "precision", "recall", "f1", "balanced_accuracy", "macro_f1", "kappa")
GAIN = "gain in accuracy"


def truth(positive: float, right: float) -> dict[str, float]:
    """Return what each score is over endless units."""
    cells = np.outer([1 - positive, positive], [right, right]) * np.eye(2)
    cells += np.outer([1 - positive, positive], [1 - right, 1 - right]) * (1 - np.eye(2))
    codes = np.arange(2)
    many = np.rint(cells * 10_000).astype(int).ravel()
    gold, said = (np.repeat(one, many) for one in (np.repeat(codes, 2), np.tile(codes, 2)))
    units = answers(gold, said[np.newaxis], np.zeros(len(gold), dtype=np.int64))
    return {name: KIND.metrics[name].of(units) for name in SHOWN} | {GAIN: (1 - right) / 2}


def answers(gold: Array, said: Array, group: Array) -> Units:
    """Return labels and answers, as codes, as units."""
    return Units(
        kind=KIND,
        values=KIND.domain,
        gold=gold,
        predicted=said,
        group=group,
        groups=int(group.max()) + 1,
    )


def drawn(units: int, size: int, positive: float, right: float, rng: np.random.Generator) -> Units:
    """Return the answers of two judges; the second corrects half of the first's errors."""
    group = np.arange(units) // size

    def flags(share: float) -> Array:
        own = rng.beta(7 / 3 * share, 7 / 3 * (1 - share), units)
        return np.asarray(rng.random(units) < (share if size == 1 else own[group]))

    gold, first = flags(positive), flags(right)
    second = first | (rng.random(units) < 0.5)
    return answers(gold.astype(np.int64), np.stack([gold == first, gold == second]).astype(np.int64), group)


def covers(units: int, size: int, positive: float, right: float, runs: int) -> list[float]:
    """Return how often each interval holds the truth."""
    rng, true, held = np.random.default_rng(0), truth(positive, right), Counter[str]()
    for _ in range(runs):
        both = drawn(units, size, positive, right, rng)
        found: dict[str, Interval] = {
            name: metric_interval(both.sets(slice(1)), KIND.metrics[name]) for name in SHOWN
        }
        found[GAIN] = compare_pair(both, KIND.metrics["accuracy"], seed=0, tested=0.025).interval
        held.update(name for name, one in found.items() if one.low <= true[name] <= one.high)
    return [held[name] / runs for name in true]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000, help="experiments a setting (default: 1000)")
    runs = parser.parse_args().runs
    print("| units | of a group | positive | right | " + " | ".join((*SHOWN, GAIN)) + " |")
    print("|" + "---|" * (4 + len(SHOWN) + 1))
    for units, size, (positive, right) in product(
        (20, 80), (1, 4), ((0.5, 0.5), (0.5, 0.95), (0.1, 0.8), (0.1, 0.95))
    ):
        cells = covers(units, size, positive, right, runs)
        print(
            f"| {units} | {size} | {positive} | {right} | "
            + " | ".join(f"{one:.3f}" for one in cells)
            + " |",
            flush=True,
        )


if __name__ == "__main__":
    main()
