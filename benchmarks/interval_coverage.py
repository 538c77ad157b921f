"""The error rate of the proof, the share of gains that it finds, and the coverage of intervals.

Two judges with known error rates answer simulated units in groups. The first table has every setting in which none of
them is better: judges that err alike, that share 95 % of their answers, or that err otherwise at the same value of the
metric; groups of one size, of lognormal sizes, or with one that holds three quarters of the units; errors that are
independent or alike within a group (intraclass correlation on the logit scale). Rare, usual and frequent values:

- closed labels: positives; one judge misses more, the other alarms more;
- scores of 1, 4 and 5: the lowest one; one judge takes some of the lowest for the highest, the other is often one off;
- label sets: one of three labels; one judge misses it more, the other names it more where it is not;
- sets of objects: rows that hold an object; one judge misses more, the other names more wrong ones.

Its size is the share of runs that say "better", beside the level 0.025. Power is for a judge that errs half as often,
over a fifth of the runs.
Beside the proof stand the swaps of whole groups, with two more units and without them. Closed labels are proven by the
t-test over groups where no group holds more than half of the units, everything else by the swaps with two more units.

Run: python benchmarks/interval_coverage.py --runs 200
"""

import argparse
import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import Interval, metric_interval
from jurist.evaluation.metrics import Metric
from jurist.evaluation.paired import compare_pair, holm, run_test
from jurist.evaluation.permutation import permute
from jurist.evaluation.proof import level_of
from jurist.evaluation.scale import Scale
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets, ObjectSets
from jurist.evaluation.units import Bools, Floats, Ints, Units

LABELS = ClosedLabels(("found", "fine"), {"found"})
PAIRS = ClosedLabels(("first", "second", "tie"))
SCORES = Scores(1, 5, whole=True)
NAMES = ("rare", "some", "most")
SETS = LabelSets(NAMES)
OBJECTS = ObjectSets(lambda one, other: float(one == other))
KINDS: dict[str, Scale] = {
    "f1": LABELS,
    "balanced_accuracy": LABELS,
    "kappa": LABELS,
    "pairs": PAIRS,
    "macro_f1": PAIRS,
    "quadratic_kappa": SCORES,
    "mae": SCORES,
    "label_sets": SETS,
    "objects": OBJECTS,
}
METRICS = {"pairs": "accuracy", "label_sets": "balanced_accuracy", "objects": "f1"}
"""The metric that is tested, where a kind is not called by it."""
VALUES: dict[str, tuple[Any, ...]] = {
    "quadratic_kappa": (1, 2, 3, 4, 5),
    "mae": (1, 2, 3, 4, 5),
    "label_sets": tuple(
        tuple(sorted(name for name, named in zip(NAMES, flags, strict=True) if named))
        for flags in product((False, True), repeat=3)
    ),
    "objects": ((), ("held",), ("other",), OBJECTS.wrong(()), OBJECTS.wrong(("held", "other"))),
}
COMMON = (0.3, 0.6)  # the rates of the two labels beside the rare one
COMMON_ERROR = 0.2
UNITS = 6  # of a group, on average
ERROR, BETTER, ALARMS = 0.30, 0.15, 0.15
SHARED = 0.95
DRAWS = 499  # swaps of a permutation test
LEVEL = level_of(0.05, 1)


def spread_of(correlation: float) -> float:
    """Return the standard deviation of groups' logits with this intraclass correlation."""
    return math.sqrt(correlation / (1.0 - correlation) * math.pi**2 / 3.0)


@cache
def centre(error: float, spread: float) -> float:
    """Return the logit around which groups lie if the mean error is ``error``."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)

    def excess(middle: float) -> float:
        return float(weights @ expit(middle + spread * nodes) / weights.sum()) - error

    return float(brentq(excess, -40, 40))


def value_of(metric: str, positive: float, missed: float, alarms: float) -> float:
    """Return the metric of a judge with these two rates of errors, in the long run."""
    hits, quiet = positive * (1 - missed), (1 - positive) * (1 - alarms)
    said = hits + (1 - positive) * alarms
    if metric in ("f1", "objects"):
        return 2 * hits / (positive + said)
    if metric in ("balanced_accuracy", "label_sets"):
        return 1 - (missed + alarms) / 2
    if metric == "kappa":
        luck = positive * said + (1 - positive) * (1 - said)
        return (hits + quiet - luck) / (1 - luck)
    return _value_of_scores(metric, positive, missed, alarms)


def _value_of_scores(metric: str, lowest: float, missed: float, near: float) -> float:
    """Return a metric of scores where some of the lowest are taken for the highest, and others are one off."""
    cells = [(lowest * (1 - missed), 1, 1), (lowest * missed, 1, 5)]
    for score, other in ((4, 5), (5, 4)):
        cells += [((1 - lowest) / 2 * (1 - near), score, score), ((1 - lowest) / 2 * near, score, other)]
    weights, golds, answers = np.array(cells).T
    if metric == "mae":
        return float(weights @ abs(golds - answers))
    chance = weights @ golds**2 + weights @ answers**2 - 2 * (weights @ golds) * (weights @ answers)
    return float(1 - weights @ (golds - answers) ** 2 / chance)


def traded(metric: str, positive: float) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return the errors of two judges that err otherwise and are equally good; ``None`` if there are none."""
    if KINDS[metric] is SCORES:  # rare and large against frequent and small
        for missed in (0.5, 0.3, 0.15, 0.05):
            wanted = value_of(metric, positive, missed, 0.0)
            near = _solved(partial(_excess, metric, positive, wanted))
            if near is not None:
                return (missed, 0.0), (0.0, near)
        return None
    if metric == "objects":  # few are named where there is nothing
        first, start = (0.6, 0.1 * positive), 0.1
        wanted = value_of(metric, positive, *first)
        solved = _solved(lambda alarms: value_of(metric, positive, start, alarms) - wanted)
        return None if solved is None else (first, (start, solved))
    wanted = value_of(metric, positive, ERROR, ERROR)
    solved = _solved(lambda missed: value_of(metric, positive, missed, ALARMS) - wanted)
    return None if solved is None else ((ERROR, ERROR), (solved, ALARMS))


def _excess(metric: str, lowest: float, wanted: float, near: float) -> float:
    return value_of(metric, lowest, 0.0, near) - wanted


def _solved(excess: Callable[[float], float]) -> float | None:
    try:
        return float(brentq(excess, 1e-6, 1 - 1e-6))
    except ValueError:
        return None


@dataclass(frozen=True)
class Setting:
    """What is simulated.

    Attributes:
        metric: a key of ``KINDS``.
        groups: how many there are.
        sizes: ``equal``, ``lognormal`` or ``giant``.
        correlation: of errors within a group, 0 to 1.
        positive: the share of positive units.
        truth: ``same``, ``shared`` or ``traded``, where neither is better; or ``gain``.
    """

    metric: str
    groups: int
    sizes: str
    correlation: float
    positive: float
    truth: str

    @property
    def errors(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Misses and alarms of both judges."""
        first, better = (ERROR, ERROR), (BETTER, BETTER)
        if self.metric == "objects":
            first, better = (ERROR, ERROR * self.positive), (BETTER, BETTER * self.positive)
        if self.truth == "gain":
            return first, better
        if self.truth == "traded":
            pair = traded(self.metric, self.positive)
            assert pair is not None
            return pair
        return first, first

    def units(self, rng: np.random.Generator) -> Units:
        """Return the answers of both to the same units."""
        group = np.repeat(np.arange(self.groups), self._sizes(rng))
        gold, first, second = self._answers(group, rng)
        kind = KINDS[self.metric]
        return Units(
            kind=kind,
            values=VALUES.get(self.metric, kind.domain),
            gold=gold,
            predicted=np.stack([first, second]),
            group=group,
            groups=self.groups,
        )

    def _sizes(self, rng: np.random.Generator) -> Ints:
        if self.sizes == "equal":
            return np.full(self.groups, UNITS)
        if self.sizes == "lognormal":
            drawn = np.exp(rng.normal(math.log(UNITS) - 0.5, 1.0, self.groups))
            return np.maximum(1, np.rint(drawn)).astype(np.int64)
        sizes = np.full(self.groups, UNITS // 2)
        sizes[0] = 3 * sizes[1:].sum()
        return sizes

    def _answers(self, group: Ints, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
        gold = self._gold(len(group), rng)
        first, second = (self.said(gold, group, errors, rng) for errors in self.errors)
        if self.truth == "shared":
            both = rng.random(len(group)) < SHARED
            common = self.said(gold, group, self.errors[0], rng)
            first, second = np.where(both, common, first), np.where(both, common, second)
        return gold, first, second

    def _gold(self, count: int, rng: np.random.Generator) -> Ints:
        if KINDS[self.metric] is PAIRS:
            return rng.choice(3, size=count, p=[0.45, 0.45, 0.1])
        while True:  # a compilation without a label of each kind in its test is refused
            rare = rng.random(count) < self.positive
            if 0 < rare.sum() < count:
                break
        if KINDS[self.metric] is SCORES:
            return np.where(rare, 0, rng.choice([3, 4], size=count))
        if self.metric == "label_sets":
            flags = np.column_stack([rare, *(rng.random(count) < rate for rate in COMMON)])
            return np.asarray(flags @ [4, 2, 1])  # the place in VALUES
        return np.where(rare, 0, 1) if KINDS[self.metric] is LABELS else rare.astype(np.int64)

    def _rare(self, gold: Ints) -> Bools:
        """Return which units are of the rare kind."""
        if self.metric == "label_sets":
            return np.asarray(gold >= 4)
        return np.asarray(gold == (1 if self.metric == "objects" else 0))

    def said(self, gold: Ints, group: Ints, errors: tuple[float, float], rng: np.random.Generator) -> Ints:
        """Return what one judge says."""
        spread = spread_of(self.correlation)
        shift = spread * rng.standard_normal(self.groups)[group]

        def wrong_at(error: float) -> Floats:
            return expit(centre(error, spread) + shift) if 0.0 < error < 1.0 else np.full(len(gold), error)

        rare = self._rare(gold)
        wrong = rng.random(len(gold)) < np.where(rare, wrong_at(errors[0]), wrong_at(errors[1]))
        if KINDS[self.metric] is PAIRS:
            return np.asarray(np.where(wrong, (gold + rng.choice([1, 2], size=len(gold))) % 3, gold))
        if KINDS[self.metric] is SCORES:
            return np.asarray(np.where(wrong, np.where(rare, 4, 7 - gold), gold))
        if self.metric == "objects":
            return np.asarray(np.where(wrong, np.where(rare, 0, 2), gold))
        if self.metric == "label_sets":
            others = rng.random((len(gold), 2)) < wrong_at(COMMON_ERROR)[:, np.newaxis]
            return np.asarray(gold ^ (wrong * 4 + others @ [2, 1]))
        return np.asarray(gold ^ wrong)


def metric_of(name: str) -> Metric:
    """Return a metric with the swaps of a simulation."""
    return replace(KINDS[name].metrics[METRICS.get(name, name)], draws=DRAWS)


RULES = ("proof", "cautious swaps", "plain permutation")


def shown(units: Units, metric: Metric, seed: int, *, proof_alone: bool) -> dict[str, bool]:
    """Return which rules say "better"; the swaps take most of the time."""
    first, second = (metric.of(units.sets(which)) for which in (slice(1), slice(1, None)))
    if metric.oriented(second - first) <= 0.0:
        return dict.fromkeys(RULES, False)
    proof = run_test(units, metric, seed=seed, level=LEVEL).better < LEVEL
    if proof_alone:
        return {"proof": proof}
    plain_permutation = permute(units, metric, seed=seed, cautious=False).better < LEVEL
    cautious_swaps = False
    # The plain permutation is one of the conditions of the cautious swaps, so the others matter only where it holds.
    if plain_permutation:
        cautious_swaps = permute(units, metric, seed=seed).better < LEVEL
    return {"proof": proof, "cautious swaps": cautious_swaps, "plain permutation": plain_permutation}


def shares(setting: Setting, runs: int, seed: int, *, proof_alone: bool = False) -> dict[str, float]:
    """Return how often each rule says "better" in one setting; a gain takes a fifth of the runs, and all rules."""
    rng, metric = np.random.default_rng([seed, zlib.crc32(repr(setting).encode())]), metric_of(setting.metric)
    if setting.truth == "gain":
        runs = max(1, runs // 5)
        proof_alone = False
    counts: Counter[str] = Counter()
    for run in range(runs):
        counts.update(shown(setting.units(rng), metric, run, proof_alone=proof_alone))
    rules = ["proof"] if proof_alone else list(RULES)
    return {rule: counts[rule] / runs for rule in rules}


def settings(metrics: Sequence[str], groups: Sequence[int]) -> Iterator[Setting]:
    """Yield every setting."""
    sizes, correlations, truths = (
        ("equal", "lognormal", "giant"),
        (0.0, 0.6),
        ("same", "shared", "traded", "gain"),
    )
    for metric in metrics:
        rates: tuple[float, ...] = (0.02, 0.3, 0.98)
        if KINDS[metric] is PAIRS:
            rates = (0.5,)
        elif KINDS[metric] is not LABELS:
            rates = (0.03, 0.1, 0.3)
        for row in product([metric], groups, sizes, correlations, rates, truths):
            one = Setting(*row)
            if one.truth != "traded" or (KINDS[metric] is not PAIRS and traded(metric, one.positive)):
                yield one


def sizes_and_power(
    metrics: Sequence[str],
    groups: Sequence[int],
    runs: int,
    seed: int,
    workers: int | None,
    *,
    proof_alone: bool = False,
) -> None:
    """Print how often each rule says "better" where nothing is and where something is."""
    every = list(settings(metrics, groups))
    with ProcessPoolExecutor(workers) as pool:
        found = list(
            pool.map(partial(shares, runs=runs, seed=seed, proof_alone=proof_alone), every, chunksize=4)
        )
    error = math.sqrt(LEVEL * (1 - LEVEL) / runs)
    by_row: dict[tuple[str, int, bool], list[tuple[Setting, dict[str, float]]]] = defaultdict(list)
    for one, rates in zip(every, found, strict=True):
        by_row[one.metric, one.groups, one.truth == "gain"].append((one, rates))
    print(
        f"| metric | groups | settings | size, mean: {' / '.join(RULES)} "
        f"| largest | settings above {LEVEL + 2 * error:.3f} | power |"
    )
    print("|" + "---|" * 7)
    for metric, count in product(metrics, groups):
        null, gain = by_row[metric, count, False], by_row[metric, count, True]

        def over(rows: Sequence[tuple[Setting, dict[str, float]]], of: object, form: str = ".3f") -> str:
            rules = [rule for rule in RULES if rule in rows[0][1]]
            return " / ".join(format(of([rates[rule] for _, rates in rows]), form) for rule in rules)  # type: ignore[operator]

        above = over(null, lambda rates: sum(rate > LEVEL + 2 * error for rate in rates), "d")
        cells = over(null, np.mean), over(null, max), above, over(gain, np.mean, ".2f")
        print(f"| {metric} | {count} | {len(null)} | " + " | ".join(cells) + " |", flush=True)
    worst = sorted(
        ((rates["proof"], one) for one, rates in zip(every, found, strict=True) if one.truth != "gain"),
        key=lambda row: -row[0],
    )
    print(f"\nthe largest sizes of the proof, {runs} runs each (standard error {error:.3f}):")
    for rate, one in worst[:5]:
        print(f"- {rate:.3f}: {one}")


def covered(groups: int, correlation: float, runs: int, seed: int) -> str:
    """Return one line on how often the intervals of an F1 and of a difference hold the true values."""
    setting = Setting("f1", groups, "equal", correlation, 0.4, "gain")
    metric, rng, counts = metric_of("f1"), np.random.default_rng(seed), Counter[str]()
    first, second = (value_of("f1", 0.4, *errors) for errors in setting.errors)
    for run in range(runs):
        units = setting.units(rng)
        found = compare_pair(units, metric, seed=run, tested=LEVEL)
        counts["score"] += _holds(metric_interval(units.sets(slice(1)), metric), first)
        counts["difference"] += _holds(found.interval, second - first)
    cells = " | ".join(f"{counts[name] / runs:.3f}" for name in ("score", "difference"))
    return f"| {groups} | {correlation:g} | {cells} |"


def looks(groups: int, correlation: float, runs: int, seed: int) -> str:
    """Return one line on ten judges that are as good as the first, on the same rows."""
    setting = Setting("f1", groups, "equal", correlation, 0.4, "same")
    rng, metric, counts = np.random.default_rng(seed), metric_of("f1"), Counter[str]()
    for run in range(runs):
        units = setting.units(rng)
        errors = setting.errors[0]
        group = units.group
        others = [setting.said(units.gold, group, errors, rng) for _ in range(10)]
        pairs = [units.answering(np.stack([units.predicted[0], other])) for other in others]
        found = [run_test(pair, metric, seed=run, level=LEVEL) for pair in pairs]
        least = holm({str(place): one.p for place, one in enumerate(found)}).values()
        counts.update(
            {
                "each": any(one.better < LEVEL for one in found),
                "openings": any(one.better < level_of(0.05, place) for place, one in enumerate(found, 1)),
                "Holm": min(least) < 0.05,
            }
        )
    cells = " | ".join(f"{counts[name] / runs:.3f}" for name in ("each", "openings", "Holm"))
    return f"| {groups} | {correlation:g} | {cells} |"


def _holds(ends: Interval, value: float) -> bool:
    return ends.low <= value <= ends.high


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200, help="experiments a setting (default: 200)")
    parser.add_argument("--groups", type=int, nargs="+", default=[5, 8, 13, 25, 50, 100])
    parser.add_argument("--metrics", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, help="processes (default: one for each core)")
    parser.add_argument("--sizes", action="store_true", help="print the first table alone")
    parser.add_argument("--proof-alone", action="store_true", help="leave out the sizes of the swaps")
    arguments = parser.parse_args()
    runs, seed = arguments.runs, arguments.seed
    sizes_and_power(
        arguments.metrics,
        arguments.groups,
        runs,
        seed,
        arguments.workers,
        proof_alone=arguments.proof_alone,
    )
    if arguments.sizes:
        return
    print("\n| groups | correlation | covers: F1 | difference of F1 |")
    print("|" + "---|" * 4)
    for groups, correlation in product(arguments.groups, (0.0, 0.4)):
        print(covered(groups, correlation, runs, seed), flush=True)
    print(
        '\n| groups | correlation | any "better" of 10: each at 0.025 | as openings 1 to 10 | Holm, two-sided |'
    )
    print("|" + "---|" * 5)
    for groups in arguments.groups:
        print(looks(groups, 0.4, runs, seed), flush=True)


if __name__ == "__main__":
    main()
