"""How often the proof says "better" when nothing is, how often it finds a gain, and how often intervals cover.

Two judges with known error rates answer simulated units in groups. In half of the settings their errors are
clustered: each group is easy or hard for each judge on its own, which is what makes units of a group no independent
evidence. Beside the rules that jurist uses stand those that allow for few groups: a decision on the larger p of exact
McNemar and of the permutation of whole groups, percentile intervals that are expanded by Student's t, and the
jackknife with Student's t on the logit scale.

Run: python benchmarks/coverage.py --runs 500
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr, stdtrit

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import group_weights
from jurist.evaluation.metrics import Metric
from jurist.evaluation.paired import compare_pair
from jurist.evaluation.rows import Row
from jurist.evaluation.units import Floats, Units, encode

KIND = ClosedLabels(("found", "fine"), {"found"})
UNITS = 12  # of a group
POSITIVE = 0.4
ERROR, BETTER = 0.30, 0.21  # of the first judge and, where there is a gain, of the second: F1 0.65 and 0.75
SPREAD = 1.5  # of how hard groups are, on the logit scale
DRAWS = 999  # swaps of a permutation test


def f1_of(error: float) -> float:
    """Return the F1 of a judge that errs so often on either side."""
    hits = POSITIVE * (1 - error)
    return 2 * hits / (2 * hits + error)


@lru_cache
def centre(error: float, spread: float) -> float:
    """Return the logit around which groups lie if the mean error is ``error``."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)

    def excess(middle: float) -> float:
        return float(weights @ expit(middle + spread * nodes) / weights.sum()) - error

    return float(brentq(excess, -12, 12))


def simulated(groups: int, spread: float, errors: Sequence[float], rng: np.random.Generator) -> Units:
    """Return the answers of judges with these mean errors to the same units."""
    gold = rng.random((groups, UNITS)) < POSITIVE
    middles = np.array([centre(error, spread) for error in errors])
    rates = expit(middles[:, None] + spread * rng.standard_normal((len(errors), groups)))
    said = gold ^ (rng.random((len(errors), groups, UNITS)) < rates[:, :, None])
    names = np.array(["fine", "found"])
    sets = [
        [
            Row(
                id=f"{group:03d}",
                group=f"{group:03d}",
                gold=tuple(names[gold[group].astype(int)].tolist()),
                predicted=tuple(names[answers[group].astype(int)].tolist()),
            )
            for group in range(groups)
        ]
        for answers in said
    ]
    return encode(KIND, *sets)


def expanded(values: Floats, groups: int) -> tuple[float, float]:
    """Return the percentile interval at the level that Student's t asks of so few groups."""
    tail = ndtr(math.sqrt(groups / (groups - 1)) * stdtrit(groups - 1, 0.025))
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def jackknifed(units: Units, metric: Metric) -> tuple[float, float]:
    """Return the interval of a score from leaving out each group, with Student's t on the logit scale."""
    groups = units.groups
    left = logit(np.clip(metric.resampled(units, 1 - np.eye(groups, dtype=np.int64)), 1e-6, 1 - 1e-6))
    error = math.sqrt((groups - 1) / groups * float(((left - left.mean()) ** 2).sum()))
    middle, half = logit(metric.of(units)), -stdtrit(groups - 1, 0.025) * error
    return float(expit(middle - half)), float(expit(middle + half))


@dataclass(frozen=True)
class Setting:
    """What is simulated.

    Attributes:
        groups: how many there are.
        spread: of how hard they are; 0 without clustering.
        error: of the second judge; the first has ``ERROR``.
    """

    groups: int
    spread: float
    error: float

    def once(self, rng: np.random.Generator, seed: int) -> Counter[str]:
        """Return what one experiment shows, each name 1 if it is so."""
        metric = replace(KIND.metrics["f1"], draws=DRAWS)
        units = simulated(self.groups, self.spread, (ERROR, self.error), rng)
        weights = group_weights(self.groups, seed=seed)
        found = compare_pair(units, metric, weights, seed=seed)
        first, second = units.sets(slice(1)), units.sets(slice(1, None))
        drawn = metric.resampled(first, weights)
        gain = metric.resampled(second, weights) - drawn
        true = f1_of(ERROR), f1_of(self.error) - f1_of(ERROR)
        larger = max(found.uncorrected_p, found.permutation.p)
        return Counter(
            {
                "better": found.direction(found.uncorrected_p, 0.05) == "better",
                "better, larger p": found.direction(larger, 0.05) == "better",
                "score": _holds(np.quantile(drawn, [0.025, 0.975]), true[0]),
                "score, jackknife": _holds(jackknifed(first, metric), true[0]),
                "difference": _holds(np.quantile(gain, [0.025, 0.975]), true[1]),
                "difference, expanded": _holds(expanded(gain, self.groups), true[1]),
            }
        )


def _holds(ends: Sequence[float] | Floats, value: float) -> bool:
    return bool(ends[0] <= value <= ends[1])


def row(groups: int, spread: float, runs: int, seed: int) -> str:
    """Return one line of the table."""
    shares = []
    for error in (ERROR, BETTER):
        rng, counts = np.random.default_rng(seed), Counter[str]()
        for run in range(runs):
            counts.update(Setting(groups, spread, error).once(rng, run))
        shares.append({name: count / runs for name, count in counts.items()})
    null, gain = shares
    cells = [
        *(null[name] for name in ("better", "better, larger p")),
        *(gain[name] for name in ("better", "better, larger p")),
        *(null[name] for name in ("score", "score, jackknife", "difference", "difference, expanded")),
    ]
    return f"| {groups} | {'yes' if spread else 'no'} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=500, help="experiments a setting (default: 500)")
    parser.add_argument("--groups", type=int, nargs="+", default=[5, 8, 13, 25, 50])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print('| groups | clustered | "better", no gain | larger p | "better", +0.10 | larger p ', end="")
    print("| covers: score | jackknife t | covers: difference | expanded |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for groups in arguments.groups:
        for spread in (0.0, SPREAD):
            print(row(groups, spread, arguments.runs, arguments.seed), flush=True)


if __name__ == "__main__":
    main()
