"""The error rate and the power of the proof of judges that give scores from 1 to 5.

A judge is a table of the probability of each answer to each score of gold. The first table has settings in which the
second of two judges is no better, with the share of runs that call it better (the level is 0.025):

- ``same``, ``shared``: errors with a standard deviation of 1, drawn for each judge, or the same in nine of ten rows;
- ``low``: one judge takes some of the lowest scores, 0.03 or 0.1 of all, for the highest; the other is often one off;
- ``far``: one judge is as far off as can be in 0.03 or 0.1 of all rows, the other is often one off.

Judges of the last two kinds have the same value of the metric in the long run. Rows come one to a group, or in groups
of six on average: all of that size, of lognormal sizes, or one with three quarters of the rows. Errors of a group are
correlated by 0 or 0.4.

The second table is the share of runs that show a gain: errors with a standard deviation of 0.7 in place of 1.1
(``noise``), a judge without information that becomes a good one (``large``), and a good judge against the best constant
answer (``constant``).

Beside the proof stand the swaps of whole groups, with two more units and without them.

Run: python benchmarks/scores.py --runs 500
"""

import argparse
import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from jurist.evaluation.metrics import Metric
from jurist.evaluation.paired import run_test
from jurist.evaluation.permutation import permute
from jurist.evaluation.proof import level_of
from jurist.evaluation.scores import Scores
from jurist.evaluation.units import Floats, Ints, Units

SCALE = Scores(1, 5, whole=True)
VALUES = (1, 2, 3, 4, 5)
METRICS = ("quadratic_kappa", "mae", "mse", "accuracy", "spearman")
GOLD = {
    "even": np.full(5, 0.2),
    "high": np.array([0.05, 0.05, 0.1, 0.3, 0.5]),
    "3 % low": np.array([0.03, 0.0, 0.0, 0.485, 0.485]),
    "10 % low": np.array([0.1, 0.0, 0.0, 0.45, 0.45]),
}
"""Name -> the share of each score of gold."""
FAR_RATES = {"far 0.03": 0.03, "far 0.1": 0.1}
LOW_MISSES = (0.5, 0.3, 0.15, 0.05)  # the largest of these that frequent small errors can make up for
SHARED = 0.9
ROWS_OF_A_GROUP = 6
CORRELATION = 0.4
DRAWS = 499  # swaps of a permutation test
LEVEL = level_of(0.05, 1)
RULES: tuple[str, ...] = ("proof", "cautious swaps", "plain swaps")


def noisy(deviation: float) -> Floats:
    """Return the answers (5, 5) of a judge whose errors are normal, rounded and kept on the scale."""
    distances = np.arange(4)[np.newaxis] + 0.5 - np.arange(5)[:, np.newaxis]
    below = np.hstack([np.zeros((5, 1)), ndtr(distances / deviation), np.ones((5, 1))])
    return np.asarray(np.diff(below, axis=1))


def one_off(rate: float) -> Floats:
    """Return the answers (5, 5) of a judge that is one off at a rate."""
    answers = np.eye(5) * (1.0 - rate)
    for gold in range(5):
        neighbours = [score for score in (gold - 1, gold + 1) if 0 <= score < 5]
        answers[gold, neighbours] += rate / len(neighbours)
    return answers


def four_for_five(rate: float) -> Floats:
    """Return the answers (5, 5) of a judge that takes 4 and 5 for each other at a rate."""
    answers = np.eye(5)
    answers[3:, 3:] = [[1.0 - rate, rate], [rate, 1.0 - rate]]
    return answers


def far_off(rate: float, scores: Sequence[int]) -> Floats:
    """Return the answers (5, 5) of a judge that is as far off as can be at a rate, for some scores of gold."""
    answers = np.eye(5)
    for gold in scores:
        end = 0
        if gold <= 2:
            end = 4
        answers[gold, gold] -= rate
        answers[gold, end] += rate
    return answers


def long_run(metric: Metric, gold: Floats, answers: Floats) -> float:
    """Return the metric of a judge over very many rows."""
    pairs = np.argwhere(gold[:, np.newaxis] * answers > 0.0)
    units = Units(
        kind=SCALE,
        values=VALUES,
        gold=pairs[:, 0],
        predicted=pairs[:, 1][np.newaxis],
        group=np.arange(len(pairs)),
        groups=len(pairs),
    )
    by_unit = metric.statistics(units)
    weights = (gold[:, np.newaxis] * answers)[pairs[:, 0], pairs[:, 1]]
    return float(by_unit.of(weights @ by_unit.sums[0]))


def equal_judges(metric: Metric, gold: Floats, truth: str) -> tuple[Floats, Floats] | None:
    """Return a judge that rarely errs far and one that often errs by one, equally good; ``None`` if there is none."""
    candidates = [(far_off(rate, range(5)), one_off) for name, rate in FAR_RATES.items() if name == truth]
    if truth == "low":
        candidates = [(far_off(rate, [0]), four_for_five) for rate in LOW_MISSES]
    for rare, frequent_at in candidates:
        wanted = long_run(metric, gold, rare)

        def excess(rate: float, wanted: float = wanted, frequent_at=frequent_at) -> float:  # type: ignore[no-untyped-def]
            return long_run(metric, gold, frequent_at(rate)) - wanted

        try:
            rate = float(brentq(excess, 1e-6, 1.0 - 1e-6))
        except ValueError:  # no rate makes up for it
            continue
        return rare, frequent_at(rate)
    return None


@dataclass(frozen=True)
class Setting:
    """What is simulated."""

    metric: str
    truth: str
    turned: bool  # True where the judge that rarely errs far is the second one
    gold: str
    rows: int
    rows_of_a_group: int
    sizes: str  # equal, lognormal or giant
    correlation: float

    @property
    def judges(self) -> tuple[Floats, Floats] | None:
        """Both judges; ``None`` where no two are equally good."""
        gold = GOLD[self.gold]
        if self.truth in ("same", "shared"):
            return noisy(1.0), noisy(1.0)
        if self.truth == "noise":
            return noisy(1.1), noisy(0.7)
        if self.truth == "large":
            return 0.05 * noisy(0.5) + 0.95 * np.full((5, 5), 0.2), noisy(0.45)
        if self.truth == "constant":
            median = int(np.searchsorted(np.cumsum(gold), 0.5))
            return np.tile(np.eye(5)[median], (5, 1)), noisy(0.8)
        pair = equal_judges(SCALE.metrics[self.metric], gold, self.truth)
        if pair is None or not self.turned:
            return pair
        return pair[1], pair[0]

    def group_sizes(self, rng: np.random.Generator) -> Ints:
        """Return how many rows each group holds."""
        groups = self.rows // self.rows_of_a_group
        if self.sizes == "lognormal":
            drawn = np.exp(rng.normal(math.log(self.rows_of_a_group) - 0.5, 1.0, groups))
            return np.maximum(1, np.rint(drawn)).astype(np.int64)
        if self.sizes == "equal":
            return np.full(groups, self.rows_of_a_group)
        sizes = np.full(max(4, groups // 2), max(1, self.rows_of_a_group // 2))
        sizes[0] = 3 * sizes[1:].sum()
        return sizes


def draw(setting: Setting, judges: tuple[Floats, Floats], rng: np.random.Generator) -> Units:
    """Return the answers of both judges to the same rows."""
    sizes = setting.group_sizes(rng)
    group = np.repeat(np.arange(len(sizes)), sizes)
    while True:
        gold = rng.choice(5, size=len(group), p=GOLD[setting.gold])
        if len(np.unique(gold)) > 1 and (setting.truth != "low" or (gold == 0).any()):
            break
    first_luck = draw_luck(group, setting.correlation, rng)
    second_luck = draw_luck(group, setting.correlation, rng)
    if setting.truth == "shared":
        second_luck = np.where(rng.random(len(group)) < SHARED, first_luck, second_luck)
    predicted = [
        answer(judge, gold, luck) for judge, luck in zip(judges, (first_luck, second_luck), strict=True)
    ]
    return Units(
        kind=SCALE, values=VALUES, gold=gold, predicted=np.stack(predicted), group=group, groups=len(sizes)
    )


def draw_luck(group: Ints, correlation: float, rng: np.random.Generator) -> Floats:
    """Return the luck of one judge in each row, from 0 to 1: bad luck is near 1, and alike within a group."""
    of_group = rng.standard_normal(int(group.max()) + 1)[group]
    of_row = rng.standard_normal(len(group))
    return np.asarray(ndtr(math.sqrt(correlation) * of_group + math.sqrt(1.0 - correlation) * of_row))


def answer(judge: Floats, gold: Ints, luck: Floats) -> Ints:
    """Return the answer to each row: the worse the luck, the farther it is from gold."""
    by_distance = np.array([sorted(range(5), key=lambda score: abs(score - own)) for own in range(5)])
    order = by_distance[gold]
    cumulated = np.cumsum(judge[gold[:, np.newaxis], order], axis=1)
    place = np.minimum((luck[:, np.newaxis] > cumulated).sum(axis=1), 4)
    return np.asarray(order[np.arange(len(gold)), place])


def shares(setting: Setting, runs: int, seed: int, *, proof_alone: bool) -> dict[str, float]:
    """Return how often each rule says "better" in one setting."""
    judges = setting.judges
    assert judges is not None
    rng = np.random.default_rng([seed, zlib.crc32(repr(setting).encode())])
    metric = replace(SCALE.metrics[setting.metric], draws=DRAWS)
    counts: Counter[str] = Counter()
    for run in range(runs):
        units = draw(setting, judges, rng)
        first, second = units.halves
        if metric.oriented(metric.of(second) - metric.of(first)) <= 0.0:
            continue
        counts["proof"] += run_test(units, metric, seed=run, level=LEVEL).better < LEVEL
        if proof_alone:
            continue
        counts["cautious swaps"] += permute(units, metric, seed=run).better < LEVEL
        counts["plain swaps"] += permute(units, metric, seed=run, cautious=False).better < LEVEL
    return {rule: counts[rule] / runs for rule in RULES}


SIZES = (
    (40, 1, "equal", 0.0),
    (60, 1, "equal", 0.0),
    (100, 1, "equal", 0.0),
    (200, 1, "equal", 0.0),
    (48, ROWS_OF_A_GROUP, "equal", CORRELATION),
    (102, ROWS_OF_A_GROUP, "equal", 0.0),
    (102, ROWS_OF_A_GROUP, "equal", CORRELATION),
    (198, ROWS_OF_A_GROUP, "equal", CORRELATION),
    (102, ROWS_OF_A_GROUP, "lognormal", CORRELATION),
    (240, ROWS_OF_A_GROUP, "giant", CORRELATION),
)
"""Rows, rows of a group, how the sizes of groups vary, the correlation of errors in a group."""
NULLS = (
    ("same", False, "even"),
    ("shared", False, "even"),
    *(("low", turned, gold) for gold in ("3 % low", "10 % low") for turned in (False, True)),
    *((truth, True, gold) for gold in ("even", "high") for truth in FAR_RATES),
)
GAINS = (
    ("noise", False, "even"),
    ("noise", False, "high"),
    ("large", False, "10 % low"),
    ("constant", False, "even"),
    ("constant", False, "high"),
)


def settings(metrics: Sequence[str], truths: Sequence[tuple[str, bool, str]]) -> Iterator[Setting]:
    """Yield every setting."""
    for metric, (truth, turned, gold), size in product(metrics, truths, SIZES):
        setting = Setting(metric, truth, turned, gold, *size)
        if setting.judges is not None:
            yield setting


def print_sizes(found: Sequence[tuple[Setting, dict[str, float]]], rules: Sequence[str]) -> None:
    """Print the shares of "better" where no judge is better: by metric, and the largest ones."""
    print(f"| metric | settings | size, mean: {' / '.join(rules)} | largest | above 0.05 |\n|" + "---|" * 5)
    by_metric: dict[str, list[dict[str, float]]] = defaultdict(list)
    for setting, rates in found:
        by_metric[setting.metric].append(rates)
        by_metric["all"].append(rates)
    for metric, rows in by_metric.items():
        columns = np.array([[rates[rule] for rule in rules] for rates in rows])
        cells = [
            " / ".join(f"{mean:.3f}" for mean in columns.mean(axis=0)),
            " / ".join(f"{largest:.3f}" for largest in columns.max(axis=0)),
            " / ".join(str(count) for count in (columns > 0.05).sum(axis=0)),
        ]
        print(f"| {metric} | {len(rows)} | " + " | ".join(cells) + " |")
    print("\nthe largest sizes of the proof:")
    for setting, rates in sorted(found, key=lambda row: -row[1]["proof"])[:5]:
        print(f"- {rates['proof']:.3f}: {setting}")


def print_power(found: Sequence[tuple[Setting, dict[str, float]]], rules: Sequence[str]) -> None:
    """Print the shares of gains that are shown."""
    print(f"\n| metric | gain | gold | rows | power: {' / '.join(rules)} |\n|" + "---|" * 5)
    for setting, rates in found:
        rows = f"{setting.rows} in groups of {setting.rows_of_a_group}"
        if setting.sizes != "equal":
            rows += f", {setting.sizes}"
        if setting.correlation > 0.0:
            rows += f", correlated by {setting.correlation:g}"
        cells = " / ".join(f"{rates[rule]:.2f}" for rule in rules)
        print(f"| {setting.metric} | {setting.truth} | {setting.gold} | {rows} | {cells} |")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--runs", type=int, default=500, help="experiments a setting, 0 for none (default: 500)"
    )
    parser.add_argument("--power-runs", type=int, default=200, help="the same, where there is a gain")
    parser.add_argument("--metrics", nargs="+", default=METRICS[:-1], choices=METRICS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, help="processes (default: one for each core)")
    parser.add_argument("--proof-alone", action="store_true", help="leave out the swaps")
    arguments = parser.parse_args()
    rules = RULES
    if arguments.proof_alone:
        rules = RULES[:1]
    with ProcessPoolExecutor(arguments.workers) as pool:
        for truths, runs, print_table in (
            (NULLS, arguments.runs, print_sizes),
            (GAINS, arguments.power_runs, print_power),
        ):
            if not runs:
                continue
            every = list(settings(arguments.metrics, truths))
            rate = partial(shares, runs=runs, seed=arguments.seed, proof_alone=arguments.proof_alone)
            print_table(list(zip(every, pool.map(rate, every, chunksize=4), strict=True)), rules)


if __name__ == "__main__":
    main()
