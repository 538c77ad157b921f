"""Corrected shares, by known errors: known cases, laws, coverage."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.evaluation.prevalence import Tallies, prevalence, tallies

COUNTS = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.integers(0, 12).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))),
    min_size=1,
)


def opposite(counts: Tallies) -> Tallies:
    """Return the units that are no hits."""
    return {group: (of - hits, of) for group, (hits, of) in counts.items()}


def both(hits: int, of: int, groups: int = 2) -> Tallies:
    """Return the same counts for each group."""
    return {str(group): (hits, of) for group in range(groups)}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((both(15, 50), both(45, 50), both(40, 50)), {"raw": 0.3, "value": 0.1 / 0.7, "sensitivity": 0.9}),
        ((both(0, 50), both(45, 50), both(40, 50)), {"value": 0.0, "clipped": True}),
        ((both(3, 10, 1), both(9, 10, 1), both(9, 10, 1)), {"low": 0.0, "high": 1.0}),
        (
            (both(1, 5), both(1, 2), both(1, 2)),
            {"raw": 0.2, "value": None, "problem": "no better than chance"},
        ),
        ((both(1, 5), {}, both(1, 2)), {"raw": 0.2, "value": None, "problem": "no positive unit"}),
        ((both(1, 5), both(1, 2), {"a": (0, 0)}), {"raw": 0.2, "value": None, "problem": "no negative unit"}),
        (
            (both(0, 10, 40), both(6, 10, 40), both(6, 10, 40)),
            {"value": None, "problem": "below what its errors"},
        ),
        (({}, both(1, 2), both(1, 2)), {"raw": None, "value": None, "problem": "there is no unit"}),
    ],
)
def test_known_cases(counts: tuple[Tallies, Tallies, Tallies], expected: dict[str, object]) -> None:
    apparent, sensitivity, specificity = counts
    result = prevalence(apparent, sensitivity, specificity)
    for name, value in expected.items():
        if name == "problem":
            assert str(value) in result.problem
        elif isinstance(value, float):
            assert getattr(result, name) == pytest.approx(value)
        else:
            assert getattr(result, name) == value


@given(COUNTS, COUNTS, COUNTS)
@settings(max_examples=100)
def test_it_is_a_share_with_its_interval_or_says_why_not(
    apparent: Tallies, sensitivity: Tallies, specificity: Tallies
) -> None:
    result = prevalence(apparent, sensitivity, specificity)
    if result.value is None:
        assert result.problem
        assert result.low is None
        assert result.high is None
    else:
        assert result.low is not None
        assert result.high is not None
        assert 0 <= result.low <= result.value <= result.high <= 1
        assert not result.problem
        assert result.sensitivity is not None
        assert result.specificity is not None
        assert result.sensitivity + result.specificity > 1


@given(COUNTS, COUNTS, COUNTS)
@settings(max_examples=60)
def test_the_opposite_question_has_the_opposite_answer(
    apparent: Tallies, sensitivity: Tallies, specificity: Tallies
) -> None:
    positive = prevalence(apparent, sensitivity, specificity)
    negative = prevalence(opposite(apparent), specificity, sensitivity)
    assert (positive.value is None) == (negative.value is None)
    if positive.value is not None and negative.value is not None:
        assert positive.value == pytest.approx(1 - negative.value, abs=1e-9)
        assert positive.low == pytest.approx(1 - negative.high, abs=2e-3)
        assert positive.high == pytest.approx(1 - negative.low, abs=2e-3)


@dataclass(frozen=True)
class DrawnUnit:
    """A unit of a simulation."""

    group: str
    is_positive: bool
    is_found: bool


def draw_units(
    rng: np.random.Generator, groups: int, share: float, sensitivity: float, specificity: float
) -> list[DrawnUnit]:
    """Draw units of groups that differ in all three rates, up to twelve of each group."""
    units = []
    for group in range(groups):
        group_share = rng.beta(share * 12, (1 - share) * 12)
        group_sensitivity = rng.beta(sensitivity * 12, (1 - sensitivity) * 12)
        group_specificity = rng.beta(specificity * 12, (1 - specificity) * 12)
        for _ in range(int(rng.integers(1, 13))):
            is_positive = bool(rng.random() < group_share)
            find_rate = 1 - group_specificity
            if is_positive:
                find_rate = group_sensitivity
            units.append(DrawnUnit(str(group), is_positive, bool(rng.random() < find_rate)))
    return units


@pytest.mark.parametrize(
    ("share", "sensitivity", "specificity", "groups", "calibration_groups"),
    [(0.3, 0.8, 0.85, 30, 28), (0.1, 0.9, 0.8, 40, 20)],
)
def test_coverage_by_simulation(
    share: float, sensitivity: float, specificity: float, groups: int, calibration_groups: int
) -> None:
    """95 % intervals hold the truth about 95 times in 100, clusters that differ in all three rates included."""
    rng = np.random.default_rng(7)
    runs = 120
    covered = wide = 0
    for _ in range(runs):
        new_units = draw_units(rng, groups, share, sensitivity, specificity)
        positives = []
        negatives = []
        for unit in draw_units(rng, calibration_groups, share, sensitivity, specificity):
            if unit.is_positive:
                positives.append((unit.group, unit.is_found))
            else:
                negatives.append((unit.group, not unit.is_found))
        apparent = tallies((unit.group, unit.is_found) for unit in new_units)
        result = prevalence(apparent, tallies(positives), tallies(negatives))
        if result.value is None:
            covered += "differ from those" not in result.problem  # no statement, no error
            continue
        assert result.low is not None
        assert result.high is not None
        covered += result.low <= share <= result.high
        wide += result.low == 0.0 and result.high == 1.0
    assert covered / runs >= 0.92
    assert wide / runs < 0.07
