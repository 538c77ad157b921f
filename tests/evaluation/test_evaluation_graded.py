"""Scores and their errors in proofs and objectives: which way each of them points."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from measures import difference, noisy, permutation, rows_of

from jurist.cases import Value
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.contrasts import contrast
from jurist.evaluation.measured import measure, objective_score, score
from jurist.evaluation.paired import run_test
from jurist.evaluation.proof import prove_improvement
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.scale import Scale
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets
from jurist.evaluation.units import encode
from jurist.keeping.card_parts import ScoreCard
from jurist.report.scores import metric_cell

FIVE = Scores(1, 5, whole=True)
FAR = noisy(1, 3.0)
NEAR = noisy(2, 0.3)


@pytest.mark.parametrize("name", FIVE.choosable)
def test_a_closer_judge_is_better_by_the_permutation_test_whichever_way_the_metric_points(name: str) -> None:
    decision = prove_improvement(FAR, NEAR, name, FIVE).decision
    assert (decision.verdict, decision.mcnemar) == ("better", None)
    assert decision.p == decision.test.better < 0.025
    card = decision.to_card()
    assert (card["b"], card["right"]) == (None, "")
    assert prove_improvement(NEAR, FAR, name, FIVE).decision.verdict == "worse"
    assert prove_improvement(NEAR, NEAR, name, FIVE).decision.verdict == "not shown to be better"
    assert contrast(("near", [NEAR]), ("far", [FAR]), name, FIVE).verdict == "better"
    assert objective_score(NEAR, name, FIVE) > objective_score(FAR, name, FIVE)


def test_an_error_is_reported_as_it_is_and_its_objective_is_negated() -> None:
    rows = rows_of([(1, 3), (5, 5)])
    assert measure(rows, "mae", FIVE)["mae"].value == 1.0
    assert objective_score(rows, "mae", FIVE) == -1.0
    assert not FIVE.metrics["mae"].higher_is_better


def test_differences_of_correlations_are_paired() -> None:
    kind = Scores(1, 5)
    far = noisy(1, 2.0, float)
    near = noisy(2, 0.3, float)
    ends = difference(far, near, "spearman", kind)
    assert 0.0 < ends.low < ends.high
    ends_of_equals = difference(near, near, "spearman", kind)
    assert ends_of_equals.low == -ends_of_equals.high < 0.0


def rows_of_single_units(gold: Sequence[Value], answers: Sequence[Value]) -> list[JudgedRow]:
    """Return rows of one unit, each a group of its own."""
    return rows_of(list(zip(gold, answers, strict=True)), group_size=1)


class ShownDifferences:
    """How often the plain permutation and the test of the proof show a difference between two judges."""

    def __init__(self, name: str, kind: Scale) -> None:
        self.name = name
        self.kind = kind
        self.runs = self.plain = self.proof = 0

    def count(self, first: list[JudgedRow], second: list[JudgedRow]) -> None:
        """Count the differences that are shown of two judges."""
        plain = permutation(first, second, self.name, self.kind, seed=self.runs, draws=399)
        metric = replace(self.kind.metrics[self.name], draws=399)
        proof = run_test(encode(self.kind, first, second), metric, seed=self.runs, level=0.025)
        self.plain += min(plain.better, plain.worse) < 0.025
        self.proof += min(proof.better, proof.worse) < 0.025
        self.runs += 1


LOW = 1
GOOD = 4
BEST = 5


def judge_scores(rng: np.random.Generator, gold: list[int], miss_rate: float, near_rate: float) -> list[int]:
    """Return scores that take some of the lowest for the highest, and are one off in some of the others."""
    scores = []
    for gold_score in gold:
        if gold_score == LOW:
            scores.append(BEST if rng.random() < miss_rate else LOW)
        else:
            scores.append(GOOD + BEST - gold_score if rng.random() < near_rate else gold_score)
    return scores


@pytest.mark.parametrize(
    ("name", "low_rate", "near_rate"), [("quadratic_kappa", 0.03, 0.288), ("mae", 0.02, 0.0614)]
)
def test_rare_large_errors_against_frequent_small_ones_do_not_pass_for_sure(
    name: str, low_rate: float, near_rate: float
) -> None:
    """Half of the few lowest scores are taken for the highest; or others are one off: equally good."""
    rng = np.random.default_rng(1)
    shown = ShownDifferences(name, FIVE)
    for _ in range(100):
        gold = [LOW]
        for _ in range(99):
            gold.append(LOW if rng.random() < low_rate else int(rng.choice([GOOD, BEST])))
        first = rows_of_single_units(gold, judge_scores(rng, gold, 0.5, 0.0))
        second = rows_of_single_units(gold, judge_scores(rng, gold, 0.0, near_rate))
        shown.count(first, second)
    assert shown.plain > 0.08 * shown.runs  # what the plain permutation says too often
    assert shown.proof <= 0.05 * shown.runs


RATE_OF_LABEL = {"rare": 0.03, "some": 0.3, "most": 0.6}


def test_a_rare_label_of_a_set_of_which_little_is_known_does_not_pass_for_sure() -> None:
    """One judge misses a rare label more, the other names it more where it is not: equally good in the long run."""
    rng = np.random.default_rng(2)
    kind = LabelSets(tuple(RATE_OF_LABEL))

    def judge_set(gold: tuple[str, ...], miss_rate: float, alarm_rate: float) -> tuple[str, ...]:
        labels = []
        for label in kind.labels:
            error_rate = 0.2
            if label == "rare":
                error_rate = miss_rate if label in gold else alarm_rate
            if (label in gold) != (rng.random() < error_rate):
                labels.append(label)
        return tuple(sorted(labels))

    shown = ShownDifferences("balanced_accuracy", kind)
    for _ in range(100):
        golds = []
        for _ in range(59):
            labels = [label for label, rate in RATE_OF_LABEL.items() if rng.random() < rate]
            golds.append(tuple(sorted(labels)))
        golds.append(("rare",))
        first = rows_of_single_units(golds, [judge_set(gold, 0.6, 0.02) for gold in golds])
        second = rows_of_single_units(golds, [judge_set(gold, 0.1, 0.52) for gold in golds])
        shown.count(first, second)
    assert shown.plain > 0.08 * shown.runs
    assert shown.proof <= 0.05 * shown.runs


@pytest.mark.parametrize("name", ["quadratic_kappa", "mae"])
def test_a_gain_in_well_known_scores_is_still_shown(name: str) -> None:
    rng = np.random.default_rng(3)

    def judge(gold: np.ndarray, sd: float) -> list[JudgedRow]:
        scores = np.clip(np.rint(gold + rng.normal(0, sd, len(gold))), 1, 5).astype(int)
        return rows_of_single_units(gold.tolist(), scores.tolist())

    runs = 30
    shown = 0
    for run in range(runs):
        gold = rng.integers(1, 6, 150)
        first = judge(gold, 1.1)
        second = judge(gold, 0.6)
        test = run_test(encode(FIVE, first, second), FIVE.metrics[name], seed=run, level=0.025)
        shown += test.better < 0.025
    assert shown >= 0.7 * runs


@pytest.mark.parametrize("name", ["quadratic_kappa", "mse"])
def test_forty_rows_show_that_a_good_judge_is_better_than_a_constant(name: str) -> None:
    """Most scores are high, so a judge's errors are far from those of a constant in a few rows only."""
    rng = np.random.default_rng(4)
    runs = 30
    shown = 0
    for run in range(runs):
        gold = rng.choice([1, 2, 3, 4, 5], size=40, p=[0.1, 0.15, 0.2, 0.25, 0.3])
        scores = np.clip(np.rint(gold + rng.normal(0, 0.5, len(gold))), 1, 5).astype(int)
        compiled = rows_of_single_units(gold.tolist(), scores.tolist())
        constant = rows_of_single_units(gold.tolist(), [int(np.median(gold))] * 40)
        proof = prove_improvement(constant, compiled, name, FIVE, constant=("always 4", constant), seed=run)
        assert proof.decision.constant is not None
        shown += proof.decision.constant.direction == "better"
    assert shown >= 0.8 * runs


def test_a_constant_answer_has_no_interval_where_its_value_cannot_vary() -> None:
    units = encode(FIVE, rows_of([(score, 3) for score in (1, 2, 4, 5, 3, 4, 2, 1, 5, 4)]))
    kappa = score(units, FIVE.metrics["quadratic_kappa"])
    assert (kappa.value, kappa.interval.low, kappa.interval.high) == (0.0, 0.0, 0.0)
    assert metric_cell(ScoreCard.model_validate(kappa.to_json())) == "0.000"
    error = score(units, FIVE.metrics["mae"])
    assert error.interval.low < error.value < error.interval.high


@pytest.mark.parametrize("missing", [0, 3])
@pytest.mark.parametrize("group_size", [2, 3], ids=["groups differ", "all groups have the same labels"])
def test_a_judge_of_one_answer_has_the_interval_of_the_constant(missing: int, group_size: int) -> None:
    kind = ClosedLabels("ab")
    pairs = [("ab"[place % 3 == 0], "a") for place in range(30)]
    rows = rows_of(pairs, group_size=group_size)
    for place in range(missing):
        rows[place] = replace(rows[place], predicted=(None,) * len(rows[place].gold))
    balanced = measure(rows, "balanced_accuracy", kind)["balanced_accuracy"]
    assert (balanced.value, balanced.interval.low, balanced.interval.high) == (0.5, 0.5, 0.5)
    for metric in ("accuracy", "macro_f1"):
        moved = measure(rows, metric, kind)[metric]
        assert moved.interval.low < moved.value < moved.interval.high
    varied = [*rows[:-1], replace(rows[-1], predicted=("b",) * len(rows[-1].gold))]
    balanced = measure(varied, "balanced_accuracy", kind)["balanced_accuracy"]
    assert balanced.interval.low < balanced.interval.high


def test_a_constant_answer_that_may_be_right_by_luck_has_an_interval() -> None:
    units = encode(FIVE, rows_of([(3, 3)] * 10))  # nothing but this answer occurs
    right = score(units, FIVE.metrics["within_one"])
    assert right.interval.low < right.value == 1.0
