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
from jurist.evaluation.rows import Row
from jurist.evaluation.units import encode

KIND = ClosedLabels(("x", "y"), {"y"})


def rows_of(gold: str, answers: str, per_group: int = 1) -> list[Row]:
    marks = [None if mark == "-" else mark for mark in answers]
    return pairs_of(list(zip(gold, marks, strict=True)), group_size=per_group)


def draw(seed: int, gold: str, right: float, repeats: int, per_group: int = 1) -> list[list[Row]]:
    rng = np.random.default_rng(seed)
    other = {"x": "y", "y": "x"}
    return [
        rows_of(gold, "".join(t if rng.random() < right else other[t] for t in gold), per_group)
        for _ in range(repeats)
    ]


@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_the_interval_over_repeats_is_that_of_scipy(values: list[float]) -> None:
    found = spread(values)
    sd = float(np.std(values, ddof=1))
    assert found.mean == pytest.approx(float(np.mean(values)))
    assert found.sd == pytest.approx(sd, abs=1e-9)
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), sd / np.sqrt(len(values)) or 1e-300)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))


GOLD = "xyxyyxxyxyxxyyxyxxyx"


@given(marks=st.lists(st.text("xy-", min_size=6, max_size=6), min_size=1, max_size=4))
@settings(max_examples=60)
def test_a_metric_of_repeats_is_the_mean_over_them(marks: list[str]) -> None:
    repeats = [rows_of("xyxyyx", said, 2) for said in marks]
    units = encode(KIND, *repeats)
    weights = np.random.default_rng(3).multinomial(units.groups, [1 / units.groups] * units.groups, 20)
    for name in NAMES:
        metric = KIND.metrics[name]
        each = [scores(rows, KIND)[name] for rows in repeats]
        assert metric.values(units) == [one.value for one in each]
        assert metric.of(units) == pytest.approx(statistics.fmean(one.value for one in each))
        worst, best = metric.bounds(units)
        assert worst == pytest.approx(statistics.fmean(one.worst for one in each))
        assert best == pytest.approx(statistics.fmean(one.best for one in each))
        alone = [metric.resampled(encode(KIND, rows), weights) for rows in repeats]
        assert metric.resampled(units, weights) == pytest.approx(np.mean(alone, axis=0))


def test_one_repeat_is_the_proof() -> None:
    first, second = draw(1, GOLD * 4, 0.9, 1, 2), draw(2, GOLD * 4, 0.6, 1, 2)
    found = contrast(("a", first), ("b", second), "f1", KIND)
    expected = prove_improvement(second[0], first[0], "f1", KIND).decision
    assert found.difference == pytest.approx(expected.difference)
    assert found.values == (pytest.approx(expected.value_after), pytest.approx(expected.value_before))
    assert (found.interval.low, found.interval.high) == (expected.interval.low, expected.interval.high)
    assert found.mcnemar == expected.mcnemar
    assert found.test == expected.test
    assert (found.p, found.verdict, expected.verdict) == (expected.test.p, "better", "better")
    turned = contrast(("b", second), ("a", first), "f1", KIND)
    assert (turned.verdict, turned.p) == ("worse", found.p)


def test_several_repeats_are_exchanged_together_by_group() -> None:
    gold = GOLD[:12]
    first, second = draw(3, gold, 0.9, 3, 2), draw(4, gold, 0.5, 3, 2)
    found = contrast(("a", first), ("b", second), "f1", KIND)
    plain = permute(encode(KIND, *second, *first), KIND.metrics["f1"], seed=0, cautious=False)
    groups = sorted({row.group for row in first[0]})

    def difference(swapped: frozenset[str]) -> float:
        values = []
        for one, two in zip(first, second, strict=True):
            left = [b if a.group in swapped else a for a, b in zip(one, two, strict=True)]
            right = [a if a.group in swapped else b for a, b in zip(one, two, strict=True)]
            value = [objective_score(rows, "f1", KIND) for rows in (left, right)]
            values.append(value[0] - value[1])
        return statistics.fmean(values)

    observed = difference(frozenset())
    swaps = [frozenset(itertools.compress(groups, mask)) for mask in itertools.product((0, 1), repeat=6)]
    reached = [difference(swap) >= observed - 1e-12 for swap in swaps]
    assert found.difference == pytest.approx(observed)
    assert plain.better == pytest.approx(statistics.fmean(reached))
    assert found.test == ClusteredT.of(encode(KIND, *second, *first), KIND.metrics["f1"])
    assert found.mcnemar is None


def test_holm_goes_over_all_tests() -> None:
    gold = GOLD * 3
    people = [
        (name, draw(seed, gold, right, 1))
        for seed, (name, right) in enumerate((("a", 0.95), ("b", 0.6), ("c", 0.6)))
    ]
    alone = [contrast(one, two, "f1", KIND) for one, two in itertools.combinations(people, 2)]
    found = corrected(alone)
    order = sorted(range(3), key=lambda place: alone[place].p)
    assert found[order[0]].p_holm == pytest.approx(3 * alone[order[0]].p)
    assert found[order[1]].p_holm == pytest.approx(max(found[order[0]].p_holm, 2 * alone[order[1]].p))
    assert corrected([]) == ()


def marked(cases: Sequence[Sequence[str]]) -> list[list[Row]]:
    """Each case has one string a repeat, one character a unit, '-' for no answer."""
    return [
        [row(str(number), "-" * len(case[repeat]), case[repeat]) for number, case in enumerate(cases)]
        for repeat in range(len(cases[0]))
    ]


@given(
    cases=st.integers(2, 6).flatmap(
        lambda repeats: st.lists(st.tuples(*[st.sampled_from("abc")] * repeats), min_size=1, max_size=8)
    ),
    seed=st.integers(0, 99),
)
def test_laws_of_consistency_and_its_pairwise_part_is_fleiss_observed_agreement(
    cases: list[tuple[str, ...]], seed: int
) -> None:
    found, raters = consistency(marked(cases)), len(cases[0])
    table = np.array([[case.count(mark) for mark in "abc"] for case in cases])
    observed = ((table**2).sum(axis=1) - raters) / (raters * (raters - 1))
    assert found.pairwise == pytest.approx(observed.mean())
    assert found.unanimous <= found.pairwise + 1e-12 <= found.agreement + 2e-12 <= 1.0 + 3e-12
    silent = consistency(marked([(*case[:-1], "-") for case in cases]))
    assert silent.agreement <= found.agreement
    shuffler, repeats = random.Random(seed), marked(cases)
    for rows in (repeats, *repeats):
        shuffler.shuffle(rows)
    assert consistency(repeats) == found


def test_the_interval_over_repeats_stays_within_what_values_can_be() -> None:
    assert spread([0.4]).sd is None
    assert spread([0.9, 1.0, 1.0]).high > 1
    assert (spread([0.9, 1.0, 1.0], 0, 1).high, spread([0.1, 0.0], 0, 1).low) == (1, 0)
