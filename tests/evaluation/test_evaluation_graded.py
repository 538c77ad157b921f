"""Scores and their errors in proofs and objectives: which way each of them points."""

import numpy as np
import pytest
from measures import difference, noisy, permutation, rows_of

from jurist.evaluation.contrasts import contrast
from jurist.evaluation.measured import measure, objective_score, score_constant
from jurist.evaluation.proof import prove_improvement
from jurist.evaluation.scale import choosable
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets
from jurist.evaluation.units import encode
from jurist.keeping.card_parts import ScoreCard
from jurist.report.scores import metric_cell

FIVE, UNIT = Scores(1, 5, whole=True), Scores(0.0, 1.0)


@pytest.mark.parametrize("name", choosable(FIVE))
def test_a_closer_judge_is_better_by_the_permutation_test_whichever_way_the_metric_points(name: str) -> None:
    far, near = noisy(1, 3.0), noisy(2, 0.3)
    found = prove_improvement(far, near, name, FIVE).decision
    assert (found.verdict, found.mcnemar) == ("better", None)
    assert found.p == found.test.better < 0.025
    assert (found.to_card()["b"], found.to_card()["right"]) == (None, "")
    assert prove_improvement(near, far, name, FIVE).decision.verdict == "worse"
    assert prove_improvement(near, near, name, FIVE).decision.verdict == "not shown to be better"
    shown = contrast(("near", [near]), ("far", [far]), name, FIVE)
    assert shown.verdict == "better"
    assert objective_score(near, name, FIVE) > objective_score(far, name, FIVE)


def test_an_error_is_reported_as_it_is_and_its_objective_is_negated() -> None:
    rows = rows_of([(1, 3), (5, 5)])
    assert measure(rows, "mae", FIVE)["mae"].value == 1.0
    assert objective_score(rows, "mae", FIVE) == -1.0
    assert not FIVE.metrics["mae"].higher_is_better


def test_differences_of_correlations_are_paired() -> None:
    far, near = noisy(1, 2.0, float), noisy(2, 0.3, float)
    kind = Scores(1, 5)
    found = difference(far, near, "spearman", kind)
    assert 0.0 < found.low < found.high
    same = difference(near, near, "spearman", kind)
    assert same.low == -same.high < 0.0


LOW, GOOD, BEST = 1, 4, 5


def scores_of(rng: np.random.Generator, gold: list[int], missed: float, near: float) -> list[int]:
    """Return scores that take some of the lowest for the highest, and are one off in some of the others."""
    said = []
    for score in gold:
        if score == LOW:
            said.append(BEST if rng.random() < missed else LOW)
        else:
            said.append(GOOD + BEST - score if rng.random() < near else score)
    return said


@pytest.mark.parametrize(
    ("name", "lowest", "near"), [("quadratic_kappa", 0.03, 0.288), ("mae", 0.02, 0.0614)]
)
def test_rare_large_errors_against_frequent_small_ones_do_not_pass_for_sure(
    name: str, lowest: float, near: float
) -> None:
    """Half of the few lowest scores are taken for the highest; or others are one off: equally good."""
    rng, runs, shown = np.random.default_rng(1), 100, {False: 0, True: 0}
    for run in range(runs):
        gold = [LOW] + [LOW if rng.random() < lowest else int(rng.choice([GOOD, BEST])) for _ in range(99)]
        judges = [scores_of(rng, gold, missed, small) for missed, small in ((0.5, 0.0), (0.0, near))]
        rows = [rows_of(list(zip(gold, said, strict=True)), group_size=1) for said in judges]
        for cautious in shown:
            found = permutation(rows[0], rows[1], name, FIVE, seed=run, draws=399, cautious=cautious)
            shown[cautious] += min(found.better, found.worse) < 0.025
    assert shown[False] > 0.08 * runs  # what the plain permutation says too often
    assert shown[True] <= 0.05 * runs


def test_a_rare_label_of_a_set_of_which_little_is_known_does_not_pass_for_sure() -> None:
    """One judge misses a rare label more, the other names it more where it is not: equally good in the long run."""
    rng, runs, shown = np.random.default_rng(2), 100, {False: 0, True: 0}
    kind, rates = LabelSets(("rare", "some", "most")), (0.03, 0.3, 0.6)

    def said(gold: tuple[str, ...], missed: float, alarms: float) -> tuple[str, ...]:
        named = []
        for label in kind.labels:
            wrong = 0.2 if label != "rare" else missed if label in gold else alarms
            if (label in gold) != (rng.random() < wrong):
                named.append(label)
        return tuple(sorted(named))

    for run in range(runs):
        golds = [
            tuple(
                sorted(label for label, rate in zip(kind.labels, rates, strict=True) if rng.random() < rate)
            )
            for _ in range(59)
        ]
        golds.append(("rare",))
        judges = [[said(gold, *errors) for gold in golds] for errors in ((0.6, 0.02), (0.1, 0.52))]
        rows = [rows_of(list(zip(golds, answers, strict=True)), group_size=1) for answers in judges]
        for cautious in shown:
            found = permutation(
                rows[0], rows[1], "balanced_accuracy", kind, seed=run, draws=399, cautious=cautious
            )
            shown[cautious] += min(found.better, found.worse) < 0.025
    assert shown[False] > 0.08 * runs
    assert shown[True] <= 0.05 * runs


@pytest.mark.parametrize("name", ["quadratic_kappa", "mae"])
def test_a_gain_in_well_known_scores_is_still_shown(name: str) -> None:
    rng, runs, better = np.random.default_rng(3), 30, 0
    for run in range(runs):
        gold = rng.integers(1, 6, 150)
        rows = []
        for sd in (1.1, 0.6):
            said = np.clip(np.rint(gold + rng.normal(0, sd, len(gold))), 1, 5).astype(int)
            rows.append(rows_of(list(zip(gold.tolist(), said.tolist(), strict=True)), group_size=1))
        found = permutation(rows[0], rows[1], name, FIVE, seed=run, draws=399, cautious=True)
        better += found.better < 0.025
    assert better >= 0.7 * runs


def test_a_constant_answer_has_no_interval_where_its_value_cannot_vary() -> None:
    rows = rows_of([(score, 3) for score in (1, 2, 4, 5, 3, 4, 2, 1, 5, 4)])
    units = encode(FIVE, rows)
    kappa = score_constant(units, FIVE.metrics["quadratic_kappa"])
    assert (kappa.value, kappa.interval.low, kappa.interval.high) == (0.0, 0.0, 0.0)
    assert metric_cell(ScoreCard.model_validate(kappa.to_json())) == "0.000"
    error = score_constant(units, FIVE.metrics["mae"])
    assert error.interval.low < error.value < error.interval.high
    alike = encode(
        FIVE, rows_of([(3, 3)] * 10)
    )  # nothing but this answer occurs: it is right by luck, perhaps
    right = score_constant(alike, FIVE.metrics["within_one"])
    assert right.interval.low < right.value == 1.0
