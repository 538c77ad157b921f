"""Looks of ``jurist prove``: how often three looks at labels say "better", beside one test of all labels.

Size: two judges of closed labels have the same value of a metric on all rows and trade errors, or err on other rows. A
sealed test of some rows says what a label counts. Then people label units on which the two differ, one a group, and
"better" is said by one test of all of them or at one of three looks. Groups may share luck: the share of positive rows
and the errors vary from group to group.

Power: the second judge wins on a share of the units on which the two differ, and all units count alike (accuracy);
and by other metrics, in which the second judge is right of .8 instead of .7 of both classes.

Run: python benchmarks/looks.py --runs 500
"""

import argparse
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt
import scipy.optimize
import scipy.special
import scipy.stats

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.disagreements import LabelGains, LabelledUnit, UnitGains, alike_test, weigh_estimates
from jurist.evaluation.looks import LabelLook, level_of_look, plan_looks
from jurist.evaluation.rows import JudgedRow

LEVEL = 0.025
RATE = (0.2, 0.15, 0.25)
"""The share of units on which the two differ, with its interval: it moves no decision."""
CLOSED = ClosedLabels(("found", "fine"), {"found"})
METRICS = ("accuracy", "balanced_accuracy", "f1", "macro_f1", "kappa")
SHARES_OF_POSITIVES = (0.02, 0.05, 0.1, 0.2, 0.5)
RECALLS = ((0.8, 0.8), (0.8, 0.65), (0.65, 0.8))
"""The recall of the first and of the second judge; their specificity makes both equal to a judge of .8 and .8."""
CLUSTERS = ((1, 0.0), (4, 0.3))
"""The number of rows of a group, and the luck that they share (ICC)."""
LABELS = (20, 40, 100, 200)
SEALED_ROWS = (60, 200)
SHARED_LUCK = (0.0, 0.8)
"""The share of rows on which both judges err together, by turns."""
HOPELESS = 1.4  # no difference of fewer standard errors has a p below the level
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Two judges, the rows that they are asked about, and how many are labelled."""

    metric: str
    positives: float  # the share of positive rows
    first: tuple[float, float]  # recall and specificity
    second: tuple[float, float]
    group_size: int
    icc: float
    shared_luck: float
    sealed_rows: int
    labels: int

    @property
    def words(self) -> str:
        """The setting as cells of a table."""
        change = f"{self.first[0]:.2f} -> {self.second[0]:.2f}, {self.first[1]:.2f} -> {self.second[1]:.2f}"
        return (
            f"{self.metric} | {self.positives:g} | {change} | {self.group_size}, {self.icc:g} | {self.shared_luck:g} "
            f"| {self.sealed_rows} | {self.labels}"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Answered:
    """Rows of some groups: the label of each, and whether each judge has it right."""

    group: npt.NDArray[np.int64]
    positive: Flags
    first: Flags
    second: Flags

    def rows(self, right: Flags) -> list[JudgedRow]:
        """Return the answers of a judge as rows of a sealed test."""
        rows = []
        for place, (group, positive, is_right) in enumerate(
            zip(self.group, self.positive, right, strict=True)
        ):
            gold, other = ("found", "fine") if positive else ("fine", "found")
            answer = gold if is_right else other
            rows.append(JudgedRow(id=str(place), group=str(group), gold=(gold,), predicted=(answer,)))
        return rows

    def unit(self, place: int) -> LabelledUnit:
        """Return a labelled unit on which the two differ."""
        gold, other = ("found", "fine") if self.positive[place] else ("fine", "found")
        if self.second[place]:
            return LabelledUnit(gold=gold, first=other, second=gold)
        return LabelledUnit(gold=gold, first=gold, second=other)


def value_of(metric: str, positives: float, recall: float, specificity: float) -> float:
    """Return the value of a metric on all rows."""
    hits, misses = positives * recall, positives * (1 - recall)
    rejected, alarms = (1 - positives) * specificity, (1 - positives) * (1 - specificity)
    f1 = 2 * hits / (2 * hits + misses + alarms)
    f1_of_negatives = 2 * rejected / (2 * rejected + misses + alarms)
    found = hits + alarms
    agreement_by_luck = found * positives + (1 - found) * (1 - positives)
    values = {
        "accuracy": hits + rejected,
        "balanced_accuracy": (recall + specificity) / 2,
        "f1": f1,
        "macro_f1": (f1 + f1_of_negatives) / 2,
        "kappa": (hits + rejected - agreement_by_luck) / (1 - agreement_by_luck),
    }
    return values[metric]


def equal_specificity(metric: str, positives: float, recall: float) -> float | None:
    """Return the specificity with which a judge of some recall equals one of .8 and .8; ``None`` if none does."""
    aim = value_of(metric, positives, 0.8, 0.8)

    def excess(specificity: float) -> float:
        return value_of(metric, positives, recall, specificity) - aim

    low, high = 0.3, 0.995
    if excess(low) > 0 or excess(high) < 0:
        return None
    return float(scipy.optimize.brentq(excess, low, high))


def settings(labels: Sequence[int]) -> Iterator[Setting]:
    """Yield all settings in which the two judges are equal."""
    for metric, positives, (before, after) in product(METRICS, SHARES_OF_POSITIVES, RECALLS):
        pair = []
        for recall in (before, after):
            specificity = equal_specificity(metric, positives, recall)
            if specificity is not None:
                pair.append((recall, specificity))
        if len(pair) < 2:
            continue
        for (group_size, icc), shared_luck, sealed_rows, number in product(
            CLUSTERS, SHARED_LUCK, SEALED_ROWS, labels
        ):
            yield Setting(
                metric=metric,
                positives=positives,
                first=pair[0],
                second=pair[1],
                group_size=group_size,
                icc=icc,
                shared_luck=shared_luck,
                sealed_rows=sealed_rows,
                labels=number,
            )


def draw_rows(rng: np.random.Generator, setting: Setting, groups: int) -> Answered:
    """Return rows of so many groups with the answers of both judges."""
    shape = (groups, setting.group_size)

    def luck() -> npt.NDArray[np.float64]:
        """Return uniform luck in each row, which the rows of a group share in part."""
        of_groups = rng.standard_normal((groups, 1))
        mixed = math.sqrt(setting.icc) * of_groups + math.sqrt(1 - setting.icc) * rng.standard_normal(shape)
        return np.asarray(scipy.special.ndtr(mixed))

    positive = luck() < setting.positives
    first_luck = luck()
    second_luck = np.where(rng.random(shape) < setting.shared_luck, first_luck, luck())
    first = np.where(positive, first_luck < setting.first[0], first_luck < setting.first[1])
    second = np.where(positive, second_luck < setting.second[0], second_luck < setting.second[1])
    group = np.repeat(np.arange(groups), setting.group_size)
    return Answered(group=group, positive=positive.ravel(), first=first.ravel(), second=second.ravel())


def draw_gains(rng: np.random.Generator, setting: Setting) -> UnitGains:
    """Return what a label counts after a sealed test that has both classes."""
    while True:
        sealed = draw_rows(rng, setting, setting.sealed_rows // setting.group_size)
        if sealed.positive.any() and not sealed.positive.all():
            metric = CLOSED.metrics[setting.metric]
            return UnitGains.of(sealed.rows(sealed.first), sealed.rows(sealed.second), metric, CLOSED)


def draw_labels(rng: np.random.Generator, setting: Setting) -> list[LabelledUnit]:
    """Return labelled units on which the two differ, drawn at random, one a group."""
    units: list[LabelledUnit] = []
    while len(units) < setting.labels:
        rows = draw_rows(rng, setting, 8 * setting.labels)
        drawn: set[int] = set()
        for place in rng.permutation(np.flatnonzero(rows.first != rows.second)).tolist():
            if rows.group[place] not in drawn and len(units) < setting.labels:
                drawn.add(rows.group[place])
                units.append(rows.unit(place))
    return units


@dataclass(frozen=True, kw_only=True, eq=False)
class Labels:
    """Labelled units in the order in which they came, with what a sealed test says that they count."""

    worth: UnitGains
    units: Sequence[LabelledUnit]
    gains: LabelGains

    @classmethod
    def of(cls, worth: UnitGains, units: Sequence[LabelledUnit]) -> "Labels":
        """Return the labels with the gain by each."""
        return cls(worth=worth, units=units, gains=worth.estimates(units, LEVEL).estimate)

    def are_better(self, number: int, level_of: Callable[[], float]) -> bool:
        """Say whether the first of them show the second judge to be better at a level."""
        gains = self.gains.by_unit[:number]
        if gains.sum() <= HOPELESS * math.sqrt(float((gains**2).sum())):
            return False
        level = level_of()
        estimates = self.worth.estimates(self.units[:number], level)
        return weigh_estimates(estimates, RATE, level).verdict == "better"

    def until_better(self, looks: Sequence[LabelLook]) -> int | None:
        """Return how many labels are in at the look that says better; ``None`` if none does."""
        for place, look in enumerate(looks):

            def level_of(place: int = place, look: LabelLook = look) -> float:
                gains = replace(self.gains, by_unit=self.gains.by_unit[: look.labels])
                return level_of_look(gains, looks[: place + 1])

            if self.are_better(look.labels, level_of):
                return look.labels
        return None


def count_false(setting: Setting, runs: int) -> Counter[str]:
    """Return how many runs say better, by one test of all labels and by three looks."""
    rng = np.random.default_rng(0)
    false = Counter[str]()
    looks = plan_looks(setting.labels, LEVEL)
    for _ in range(runs):
        labels = Labels.of(draw_gains(rng, setting), draw_labels(rng, setting))
        false["one test"] += labels.are_better(setting.labels, lambda: LEVEL)
        false["looks"] += labels.until_better(looks) is not None
    return false


def print_sizes(runs: int, number: int) -> None:
    """Print how often equal judges are called better, in so many settings drawn at random, with mean and worst."""
    cells = "metric | positive | recall, specificity | group, ICC | shared luck | sealed rows | labels"
    print(f"| {cells} | one test | looks |")
    print("|" + "---|" * 9)
    drawn = list(settings(LABELS))
    random.Random(7).shuffle(drawn)
    shares: dict[str, list[float]] = {"one test": [], "looks": []}
    for setting in drawn[:number]:
        false = count_false(setting, runs)
        for name, found in shares.items():
            found.append(false[name] / runs)
        print(f"| {setting.words} | {shares['one test'][-1]:.3f} | {shares['looks'][-1]:.3f} |", flush=True)
    for name, found in shares.items():
        over = sum(share > LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / runs) for share in found)
        print(
            f"{name}: mean {np.mean(found):.4f}, largest {max(found):.3f}, above two errors {over} of {number}"
        )


GAINS = (
    ("balanced_accuracy", 0.1),
    ("balanced_accuracy", 0.2),
    ("balanced_accuracy", 0.5),
    ("f1", 0.2),
    ("kappa", 0.2),
)
"""Metrics and shares of positives in which a judge that is .7 right of both classes is held against one of .8."""


def print_power_by_metric(runs: int) -> None:
    """Print how often a better judge is shown, and with how many labels on average."""
    print("| metric | positive | labels | power, one test | looks | labels given |")
    print("|" + "---|" * 6)
    for (metric, positives), number in product(GAINS, (40, 100)):
        setting = Setting(
            metric=metric,
            positives=positives,
            first=(0.7, 0.7),
            second=(0.8, 0.8),
            group_size=1,
            icc=0.0,
            shared_luck=0.5,
            sealed_rows=100,
            labels=number,
        )
        rng = np.random.default_rng(0)
        looks = plan_looks(number, LEVEL)
        single = by_looks = labels_given = 0
        for _ in range(runs):
            labels = Labels.of(draw_gains(rng, setting), draw_labels(rng, setting))
            single += labels.are_better(number, lambda: LEVEL)
            ended = labels.until_better(looks)
            by_looks += ended is not None
            labels_given += ended or number
        cells = f"{single / runs:.3f} | {by_looks / runs:.3f} | {labels_given / runs:.0f}"
        print(f"| {metric} | {positives:g} | {number} | {cells} |", flush=True)


@dataclass(frozen=True, kw_only=True)
class Course:
    """What becomes of a plan whose units count alike: exact, from the binomial distribution."""

    wins: tuple[int, ...]  # the fewest that are shown, at each look
    shown: float  # the chance that the version is shown to be better
    labels: float  # that people give on average


def course_of(looks: Sequence[LabelLook], levels: Sequence[float], win_share: float) -> Course:
    """Return what becomes of a plan with these looks, if the version wins such a share of the units."""
    wins = []
    ended = []
    open_plans = np.ones(1)  # by wins: the chance that nothing was shown yet
    labels = 0
    for look, level in zip(looks, levels, strict=True):
        fewest = look.labels + 1
        while fewest and alike_test(fewest - 1, look.labels - fewest + 1) < level:
            fewest -= 1
        further = look.labels - labels
        labels = look.labels
        open_plans = np.convolve(
            open_plans, scipy.stats.binom.pmf(np.arange(further + 1), further, win_share)
        )
        wins.append(fewest)
        ended.append(float(open_plans[fewest:].sum()))
        open_plans[fewest:] = 0.0
    number = looks[-1].labels * (1.0 - sum(ended[:-1]))
    for look, share in zip(looks[:-1], ended, strict=False):
        number += look.labels * share
    return Course(wins=tuple(wins), shown=sum(ended), labels=number)


def print_power() -> None:
    """Print power and labels of one test and of looks, where units count alike."""
    print(
        "| labels | looks | wins | size, one test | size, looks | wins of | power, one test | looks | labels |"
    )
    print("|" + "---|" * 9)
    for labels, win_share in product(LABELS, (0.65, 0.75)):
        looks = plan_looks(labels, LEVEL)
        levels = []
        for place, look in enumerate(looks):
            levels.append(
                level_of_look(LabelGains(by_unit=np.ones(look.labels), largest=1.0), looks[: place + 1])
            )
        rows = []
        for share in (0.5, win_share):
            rows.append((course_of(looks[-1:], [LEVEL], share), course_of(looks, levels, share)))
        (null_single, null_looks), (single, by_looks) = rows
        numbers = ", ".join(str(look.labels) for look in looks)
        wins = ", ".join(map(str, by_looks.wins))
        print(
            f"| {labels} | {numbers} | {wins} | {null_single.shown:.3f} | {null_looks.shown:.3f} | {win_share} "
            f"| {single.shown:.3f} | {by_looks.shown:.3f} | {by_looks.labels:.0f} |",
            flush=True,
        )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--settings", type=int, default=90, help="drawn at random from all (default: 90)")
    arguments = parser.parse_args()
    print_power()
    if arguments.runs:
        print()
        print_power_by_metric(arguments.runs)
        print()
        print_sizes(arguments.runs, arguments.settings)


if __name__ == "__main__":
    main()
