"""Means over repeats, t-intervals, stacked repeats and contrasts: against scipy, enumeration and one repeat."""

import itertools
import random
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import NAMES, row, scores
from measures import rows_of as pairs_of
from scipy import stats

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.clustered_t import ClusteredT
from jurist.evaluation.contrasts import consistency, contrast, corrected, spread
from jurist.evaluation.measured import objective_score
from jurist.evaluation.permutation import permute
from jurist.evaluation.proof import prove_improvement
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.units import encode

KIND = ClosedLabels(("x", "y"), {"y"})


def rows_of(gold: str, answers: str, group_size: int = 1) -> list[JudgedRow]:
    """Return a row for each mark, '-' for a missing answer."""
    pairs = []
    for label, mark in zip(gold, answers, strict=True):
        pairs.append((label, None if mark == "-" else mark))
    return pairs_of(pairs, group_size=group_size)


def draw(seed: int, gold: str, accuracy: float, repeats: int, group_size: int = 1) -> list[list[JudgedRow]]:
    """Return repeats of a judge that is right that often."""
    rng = np.random.default_rng(seed)
    wrong = {"x": "y", "y": "x"}
    rows_by_repeat = []
    for _ in range(repeats):
        answers = ""
        for label in gold:
            answers += label if rng.random() < accuracy else wrong[label]
        rows_by_repeat.append(rows_of(gold, answers, group_size))
    return rows_by_repeat


@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_the_interval_over_repeats_is_that_of_scipy(values: list[float]) -> None:
    result = spread(values)
    mean = float(np.mean(values))
    sd = float(np.std(values, ddof=1))
    assert result.mean == pytest.approx(mean)
    assert result.sd == pytest.approx(sd, abs=1e-9)
    error = sd / np.sqrt(len(values)) or 1e-300
    ends = stats.t.interval(0.95, len(values) - 1, mean, error)
    assert (result.low, result.high) == pytest.approx(ends, abs=1e-6)


GOLD = "xyxyyxxyxyxxyyxyxxyx"


@given(answers=st.lists(st.text("xy-", min_size=6, max_size=6), min_size=1, max_size=4))
@settings(max_examples=60)
def test_a_metric_of_repeats_is_the_mean_over_them(answers: list[str]) -> None:
    repeats = [rows_of("xyxyyx", repeat_answers, 2) for repeat_answers in answers]
    units = encode(KIND, *repeats)
    weights = np.random.default_rng(3).multinomial(units.groups, [1 / units.groups] * units.groups, 20)
    bounds_of_repeats = [scores(rows, KIND) for rows in repeats]
    for name in NAMES:
        metric = KIND.metrics[name]
        bounds = [bounds_by_name[name] for bounds_by_name in bounds_of_repeats]
        assert metric.values(units) == [repeat.value for repeat in bounds]
        assert metric.of(units) == pytest.approx(statistics.fmean(repeat.value for repeat in bounds))
        worst, best = metric.bounds(units)
        assert worst == pytest.approx(statistics.fmean(repeat.worst for repeat in bounds))
        assert best == pytest.approx(statistics.fmean(repeat.best for repeat in bounds))
        resampled = [metric.resampled(encode(KIND, rows), weights) for rows in repeats]
        assert metric.resampled(units, weights) == pytest.approx(np.mean(resampled, axis=0))


def test_one_repeat_is_the_proof() -> None:
    first = draw(1, GOLD * 4, 0.9, 1, 2)
    second = draw(2, GOLD * 4, 0.6, 1, 2)
    result = contrast(("a", first), ("b", second), "f1", KIND)
    proof = prove_improvement(second[0], first[0], "f1", KIND).decision
    assert result.difference == pytest.approx(proof.difference)
    assert result.values == pytest.approx((proof.value_after, proof.value_before))
    assert result.interval == proof.interval
    assert result.mcnemar == proof.mcnemar
    assert result.test == proof.test
    assert (result.p, result.verdict, proof.verdict) == (proof.test.p, "better", "better")
    turned = contrast(("b", second), ("a", first), "f1", KIND)
    assert (turned.verdict, turned.p) == ("worse", result.p)


def test_several_repeats_are_exchanged_together_by_group() -> None:
    gold = GOLD[:12]
    first = draw(3, gold, 0.9, 3, 2)
    second = draw(4, gold, 0.5, 3, 2)

    def difference(swapped_groups: Sequence[str]) -> float:
        differences = []
        for first_rows, second_rows in zip(first, second, strict=True):
            first_side = []
            second_side = []
            for first_row, second_row in zip(first_rows, second_rows, strict=True):
                is_swapped = first_row.group in swapped_groups
                first_side.append(second_row if is_swapped else first_row)
                second_side.append(first_row if is_swapped else second_row)
            second_score = objective_score(second_side, "f1", KIND)
            differences.append(objective_score(first_side, "f1", KIND) - second_score)
        return statistics.fmean(differences)

    observed = difference([])
    groups = sorted({row.group for row in first[0]})
    reaching = []
    for mask in itertools.product((0, 1), repeat=len(groups)):
        swapped_groups = list(itertools.compress(groups, mask))
        reaching.append(difference(swapped_groups) >= observed - 1e-12)
    result = contrast(("a", first), ("b", second), "f1", KIND)
    assert result.difference == pytest.approx(observed)
    units = encode(KIND, *(second + first))
    plain = permute(units, KIND.metrics["f1"], seed=0, cautious=False)
    assert plain.better == pytest.approx(statistics.fmean(reaching))
    assert result.test == ClusteredT.of(units, KIND.metrics["f1"])
    assert result.mcnemar is None


def test_holm_goes_over_all_tests() -> None:
    gold = GOLD * 3
    contenders = [
        ("a", draw(0, gold, 0.95, 1)),
        ("b", draw(1, gold, 0.6, 1)),
        ("c", draw(2, gold, 0.6, 1)),
    ]
    contrasts = []
    for first, second in itertools.combinations(contenders, 2):
        contrasts.append(contrast(first, second, "f1", KIND))
    by_p = sorted(corrected(contrasts), key=lambda result: result.p)
    assert by_p[0].p_holm == pytest.approx(3 * by_p[0].p)
    assert by_p[1].p_holm == pytest.approx(max(by_p[0].p_holm, 2 * by_p[1].p))
    assert corrected([]) == ()


def unlabelled(cases: Sequence[str]) -> list[list[JudgedRow]]:
    """Return repeats of cases with one unit each; a case has a mark for each repeat, '-' for no answer."""
    repeats = []
    for answers in zip(*cases, strict=True):
        repeats.append([row(str(number), "-", answer) for number, answer in enumerate(answers)])
    return repeats


CASES = st.integers(2, 6).flatmap(
    lambda repeats: st.lists(st.text("abc", min_size=repeats, max_size=repeats), min_size=1, max_size=8)
)


@given(CASES)
def test_the_pairwise_part_of_consistency_is_the_observed_agreement_of_fleiss(cases: list[str]) -> None:
    raters = len(cases[0])
    table = np.array([[case.count(mark) for mark in "abc"] for case in cases])
    observed = ((table**2).sum(axis=1) - raters) / (raters * (raters - 1))
    assert consistency(unlabelled(cases)).pairwise == pytest.approx(observed.mean())


@given(cases=CASES, seed=st.integers(0, 99))
def test_laws_of_consistency(cases: list[str], seed: int) -> None:
    result = consistency(unlabelled(cases))
    assert result.unanimous <= result.pairwise + 1e-12 <= result.agreement + 2e-12 <= 1.0 + 3e-12
    with_gaps = consistency(unlabelled([case[:-1] + "-" for case in cases]))
    assert with_gaps.agreement <= result.agreement
    shuffler = random.Random(seed)
    repeats = unlabelled(cases)
    shuffler.shuffle(repeats)
    for rows in repeats:
        shuffler.shuffle(rows)
    assert consistency(repeats) == result


def test_the_interval_over_repeats_stays_within_what_values_can_be() -> None:
    assert spread([0.4]).sd is None
    assert spread([0.9, 1.0, 1.0]).high > 1
    assert (spread([0.9, 1.0, 1.0], 0, 1).high, spread([0.1, 0.0], 0, 1).low) == (1, 0)
