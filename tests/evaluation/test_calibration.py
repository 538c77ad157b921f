"""Calibration and ranking of probabilities, against scikit-learn."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from jurist.evaluation.measured import BINS, calibrate

UNITS = st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=2, max_size=60).filter(
    lambda units: len({gold for _, gold in units}) == 2
)


@given(UNITS)
def test_bins_are_those_of_scikit_learn(units: list[tuple[int, bool]]) -> None:
    probabilities = [fortieths / 40 for fortieths, _ in units]
    gold = [is_positive for _, is_positive in units]
    bins: Any = calibrate(probabilities, gold)["bins"]
    positive_shares, mean_probabilities = calibration_curve(gold, probabilities, n_bins=BINS)
    assert [range_["found"] for range_ in bins] == pytest.approx(list(positive_shares))
    assert [range_["said"] for range_ in bins] == pytest.approx(list(mean_probabilities))
    assert sum(range_["units"] for range_ in bins) == len(units)


@pytest.mark.parametrize(
    ("probabilities", "gold", "expected"),
    [
        ([0.0, 1.0, 1.0], [False, True, True], (0.0, 0.0, 1.0, 1.0)),
        ([1.0, 0.0], [False, True], (1.0, 1.0, 0.0, 0.5)),
        ([0.25, 0.25], [True, True], (0.75, 0.5625, None, None)),
    ],
)
def test_what_it_says_of_extremes(
    probabilities: list[float], gold: list[bool], expected: tuple[float | None, ...]
) -> None:
    calibration = calibrate(probabilities, gold)
    names = ("ece", "brier", "auc", "average_precision")
    assert tuple(calibration[name] for name in names) == expected
