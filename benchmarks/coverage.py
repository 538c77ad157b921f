"""How often the proof says "better" when nothing is, how often it finds a gain, and how often intervals cover.

Two judges with known error rates answer simulated units in groups. In half of the settings their errors are
clustered: each group is easy or hard for each judge on its own, which is what makes units of a group no independent
evidence. Beside the rules that jurist uses stand those that take units as independent (exact McNemar alone) and
percentiles of a bootstrap of whole groups. A last table has the gain that is said beforehand to be
mostly shown, and how often it is.

Run: python benchmarks/coverage.py --runs 500
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import Interval, metric_interval
from jurist.evaluation.metrics import Metric
from jurist.evaluation.paired import Paired, compare_pair, holm
from jurist.evaluation.power import gains
from jurist.evaluation.proof import level_of
from jurist.evaluation.rows import Row
from jurist.evaluation.units import Bools, Floats, Units, encode

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


def group_weights(groups: int, *, seed: int, resamples: int) -> np.ndarray:
    """How often each group was drawn with replacement, shape (resamples, groups); every row sums to ``groups``."""
    rng = np.random.default_rng(seed)
    weights = np.empty((resamples, groups), dtype=np.int64)
    for start in range(0, resamples, 256):
        count = min(256, resamples - start)
        drawn = rng.integers(0, groups, size=(count, groups)) + groups * np.arange(count)[:, np.newaxis]
        weights[start : start + count] = np.bincount(drawn.ravel(), minlength=count * groups).reshape(
            count, groups
        )
    return weights


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
        metric = fast()
        units = simulated(self.groups, self.spread, (ERROR, self.error), rng)
        found = compare_pair(units, metric, seed=seed, tested=0.05)
        first = units.sets(slice(1))
        weights = group_weights(self.groups, seed=seed, resamples=1000)
        drawn = metric.resampled(first, weights)
        gain = metric.resampled(units.sets(slice(1, None)), weights) - drawn
        true = f1_of(ERROR), f1_of(self.error) - f1_of(ERROR)
        assert found.mcnemar is not None
        return Counter(
            {
                "McNemar": found.mcnemar.p < 0.05 and found.difference > 0,
                "better": found.direction(found.p, 0.05) == "better",
                "better, opened": opened(found, 1),
                "score, percentile": _holds(np.quantile(drawn, [0.025, 0.975]), true[0]),
                "score": _holds(_ends(metric_interval(first, metric)), true[0]),
                "difference, percentile": _holds(np.quantile(gain, [0.025, 0.975]), true[1]),
                "difference": _holds(_ends(found.interval), true[1]),
            }
        )


def opened(found: Paired, opening: int) -> bool:
    """Return whether the k-th opening of a test says "better"."""
    level = level_of(0.05, opening)
    return replace(found, tested=level).direction(found.p, level) == "better"


def looks(groups: int, spread: float, runs: int, seed: int) -> str:
    """Return one line on ten judges that are as good as the first, on the same rows."""
    rng, metric, counts = np.random.default_rng(seed), fast(), Counter[str]()
    for run in range(runs):
        units = simulated(groups, spread, (ERROR,) * 11, rng)
        pairs = [units.answering(units.predicted[[0, other]]) for other in range(1, 11)]
        found = [compare_pair(pair, metric, seed=run, tested=0.05) for pair in pairs]
        least = holm({str(place): one.p for place, one in enumerate(found)}).values()
        plain = holm({str(place): one.mcnemar.p for place, one in enumerate(found) if one.mcnemar}).values()
        counts.update(
            {
                "each at 0.05": any(one.direction(one.p, 0.05) == "better" for one in found),
                "openings": any(opened(one, place) for place, one in enumerate(found, 1)),
                "Holm, McNemar": min(plain) < 0.05,
                "Holm": min(least) < 0.05,
            }
        )
    names = ("each at 0.05", "openings", "Holm, McNemar", "Holm")
    return _line(groups, spread, [counts[name] / runs for name in names])


def foreseen(groups: int, size: int, opening: int, runs: int, seed: int) -> str:
    """Return one line on the gain that is said to be mostly shown: its size, and how often it is."""
    rng, level, counts = np.random.default_rng(seed), level_of(0.05, opening), Counter[str]()
    said = gains(np.full(groups, size), level)
    if said.likely is None:
        return f"| {groups} | {size} | {level:.4f} | {said.least:.3f} | none | |"
    for run in range(runs):
        drawn = rng.random(groups * size)
        lost, won = drawn < said.likely / 2, drawn > 1 - 1.5 * said.likely
        units = _paired(lost | (~won & (rng.random(len(drawn)) < 0.5)), lost, won, groups, size)
        found = compare_pair(units, fast("accuracy"), seed=run, tested=level)
        counts["shown"] += found.direction(found.p, level) == "better"
    cells = f"{said.least:.3f} | {said.likely:.3f} | {counts['shown'] / runs:.3f}"
    return f"| {groups} | {size} | {level:.4f} | {cells} |"


def _paired(first: Bools, lost: Bools, won: Bools, groups: int, size: int) -> Units:
    """Return the answers of two judges to units that are all positive: the second differs where it lost or won."""
    said = np.stack([first, (first & ~lost) | won])
    places = np.arange(len(first))
    return Units(
        kind=KIND,
        values=KIND.domain,
        gold=np.zeros(len(first), dtype=np.int64),
        predicted=np.where(said, 0, 1),
        group=places // size,
        groups=groups,
        case=places,
    )


def fast(name: str = "f1") -> Metric:
    """Return a metric with the swaps of a simulation."""
    return replace(KIND.metrics[name], draws=DRAWS)


def _ends(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def _holds(ends: Sequence[float] | Floats, value: float) -> bool:
    return bool(ends[0] <= value <= ends[1])


def _line(groups: int, spread: float, cells: Sequence[float]) -> str:
    return f"| {groups} | {'yes' if spread else 'no'} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |"


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
        *(null[name] for name in ("McNemar", "better", "better, opened")),
        *(gain[name] for name in ("better", "better, opened")),
        *(null[name] for name in ("score, percentile", "score", "difference, percentile", "difference")),
    ]
    return _line(groups, spread, cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=500, help="experiments a setting (default: 500)")
    parser.add_argument("--groups", type=int, nargs="+", default=[5, 8, 13, 25, 50])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print('| groups | clustered | "better", no gain: McNemar alone | as decided | 1st opening ', end="")
    print('| "better", +0.10: as decided | 1st opening | covers: score, percentile | score ', end="")
    print("| difference, percentile | difference |")
    print("|" + "---|" * 11)
    for groups in arguments.groups:
        for spread in (0.0, SPREAD):
            print(row(groups, spread, arguments.runs, arguments.seed), flush=True)
    print('\n| groups | clustered | any "better" of 10: each at 0.05 | as openings 1 to 10 ', end="")
    print("| any difference of 10: McNemar and Holm | as decided and Holm |")
    print("|" + "---|" * 6)
    for groups in arguments.groups:
        print(looks(groups, SPREAD, arguments.runs, arguments.seed), flush=True)
    print("\n| groups | units of each | level | no gain below | mostly shown | is shown in |")
    print("|" + "---|" * 6)
    for groups, size, opening in product(arguments.groups, (3, UNITS), (1, 2)):
        print(foreseen(groups, size, opening, arguments.runs, arguments.seed), flush=True)


if __name__ == "__main__":
    main()
