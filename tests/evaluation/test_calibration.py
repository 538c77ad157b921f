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
    said, gold = [share / 40 for share, _ in units], [found for _, found in units]
    ours = calibrate(said, gold)
    found, means = calibration_curve(gold, said, n_bins=BINS)
    assert [one["found"] for one in ours["bins"]] == pytest.approx(list(found))
    assert [one["said"] for one in ours["bins"]] == pytest.approx(list(means))
    assert sum(one["units"] for one in ours["bins"]) == len(units)


@pytest.mark.parametrize(
    ("said", "gold", "expected"),
    [
        ([0.0, 1.0, 1.0], [False, True, True], (0.0, 0.0, 1.0, 1.0)),
        ([1.0, 0.0], [False, True], (1.0, 1.0, 0.0, 0.5)),
        ([0.25, 0.25], [True, True], (0.75, 0.5625, None, None)),
    ],
)
def test_what_it_says_of_extremes(said: list[float], gold: list[bool], expected: tuple[Any, ...]) -> None:
    found = calibrate(said, gold)
    assert tuple(found[name] for name in ("ece", "brier", "auc", "average_precision")) == expected
