"""The corrected share: laws, known cases, and coverage by simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.evaluation.prevalence import prevalence, tallies

COUNTS = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.integers(0, 12).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))),
    min_size=1,
)


def swapped(counts: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return {group: (of - hits, of) for group, (hits, of) in counts.items()}


def test_a_known_case() -> None:
    found = prevalence(
        {"a": (15, 50), "b": (15, 50)}, {"a": (45, 50), "b": (45, 50)}, {"a": (40, 50), "b": (40, 50)}
    )
    assert found.value == pytest.approx((0.3 + 0.8 - 1) / (0.9 + 0.8 - 1))
    assert found.raw == 0.3
    assert (found.sensitivity, found.specificity) == (0.9, 0.8)


@given(COUNTS, COUNTS, COUNTS)
@settings(max_examples=300)
def test_it_is_a_share_with_its_interval_or_says_why_not(
    apparent: dict[str, tuple[int, int]], se: dict[str, tuple[int, int]], sp: dict[str, tuple[int, int]]
) -> None:
    found = prevalence(apparent, se, sp)
    if found.value is None:
        assert found.problem
        assert found.low is None
        assert found.high is None
    else:
        assert found.low is not None
        assert found.high is not None
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert not found.problem
        assert found.sensitivity is not None
        assert found.specificity is not None
        assert found.sensitivity + found.specificity > 1


@given(COUNTS, COUNTS, COUNTS)
@settings(max_examples=200)
def test_the_opposite_question_has_the_opposite_answer(
    apparent: dict[str, tuple[int, int]], se: dict[str, tuple[int, int]], sp: dict[str, tuple[int, int]]
) -> None:
    one, two = prevalence(apparent, se, sp), prevalence(swapped(apparent), sp, se)
    assert (one.value is None) == (two.value is None)
    if one.value is not None and two.value is not None:
        assert one.value == pytest.approx(1 - two.value, abs=1e-9)
        assert one.low == pytest.approx(1 - two.high, abs=2e-3)
        assert one.high == pytest.approx(1 - two.low, abs=2e-3)


@given(COUNTS.filter(lambda counts: sum(of for _, of in counts.values()) > 0))
def test_a_perfect_judge_is_believed(apparent: dict[str, tuple[int, int]]) -> None:
    found = prevalence(apparent, {"x": (9, 9), "y": (9, 9)}, {"x": (9, 9), "y": (9, 9)})
    assert found.value == pytest.approx(found.raw)
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low > 0  # nine right answers are no proof of perfection


@pytest.mark.parametrize(
    ("se", "sp", "problem"),
    [
        ({"a": (1, 2), "b": (1, 2)}, {"a": (1, 2), "b": (1, 2)}, "no better than chance"),
        ({}, {"a": (1, 2)}, "no positive unit"),
        ({"a": (1, 2)}, {"a": (0, 0)}, "no negative unit"),
    ],
)
def test_without_a_usable_judge_there_is_only_the_raw_share(
    se: dict[str, tuple[int, int]], sp: dict[str, tuple[int, int]], problem: str
) -> None:
    found = prevalence({"a": (3, 10), "b": (1, 10)}, se, sp)
    assert found.raw == 0.2
    assert found.value is None
    assert problem in found.problem


def test_an_estimate_outside_the_range_is_clipped_and_says_so() -> None:
    found = prevalence(
        {"a": (0, 50), "b": (1, 50)}, {"a": (45, 50), "b": (45, 50)}, {"a": (40, 50), "b": (40, 50)}
    )
    assert found.value == 0.0
    assert found.clipped


def test_what_no_share_explains_is_not_corrected() -> None:
    calibrated = {str(group): (6, 10) for group in range(40)}
    found = prevalence({str(group): (0, 10) for group in range(40)}, calibrated, calibrated)
    assert found.value is None
    assert "fewer here" in found.problem
    assert "another kind" in found.problem


def test_more_calibration_makes_the_interval_narrower() -> None:
    apparent = {str(group): (4, 10) for group in range(20)}
    widths = []
    for groups in (4, 40):
        se, sp = {str(g): (4, 5) for g in range(groups)}, {str(g): (4, 5) for g in range(groups)}
        found = prevalence(apparent, se, sp)
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert widths[1] < widths[0] / 2


def test_one_group_says_nothing() -> None:
    found = prevalence({"a": (3, 10)}, {"a": (9, 10)}, {"a": (9, 10)})
    assert (found.low, found.high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("share", "se", "sp", "groups", "calibrated"),
    [(0.3, 0.8, 0.85, 30, 28), (0.1, 0.9, 0.8, 40, 20), (0.6, 0.7, 0.7, 25, 40)],
)
def test_coverage_by_simulation(share: float, se: float, sp: float, groups: int, calibrated: int) -> None:
    """95 % intervals hold the truth about 95 times in 100, clusters that differ in all three rates included."""
    rng = np.random.default_rng(7)
    held = wide = 0
    runs = 250

    def around(mean: float) -> float:
        return float(rng.beta(mean * 12, (1 - mean) * 12))

    def judged(count: int) -> tuple[dict, dict, dict]:
        found, right, spared = [], [], []
        for group in range(count):
            p, hit, miss = around(share), around(se), around(sp)
            for _ in range(int(rng.integers(4, 12))):
                truth = rng.random() < p
                said = rng.random() < (hit if truth else 1 - miss)
                found.append((str(group), said))
                (right if truth else spared).append((str(group), said if truth else not said))
        return tallies(found), tallies(right), tallies(spared)

    for _ in range(runs):
        apparent, _, _ = judged(groups)
        _, right, spared = judged(calibrated)
        result = prevalence(apparent, right, spared)
        if result.value is None:
            held += "another kind" not in result.problem  # no statement, no error
            continue
        held += result.low <= share <= result.high
        wide += result.low == 0.0 and result.high == 1.0
    assert 0.93 <= held / runs <= 0.995
    assert wide / runs < 0.05
