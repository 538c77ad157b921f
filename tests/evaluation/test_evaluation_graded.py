"""Scores and their errors in proofs, objectives and own metrics: which way each of them points."""

import math
from collections.abc import Sequence

import pytest
from measures import difference, interval, noisy, rows_of
from sklearn import metrics as sk

from jurist.errors import JuristError
from jurist.evaluation.contrasts import contrast
from jurist.evaluation.measured import measure, objective_score
from jurist.evaluation.metrics import CustomMetric
from jurist.evaluation.proof import prove
from jurist.evaluation.scale import choosable
from jurist.evaluation.scores import Scores

FIVE, UNIT = Scores(1, 5, whole=True), Scores(0.0, 1.0)


@pytest.mark.parametrize("name", choosable(FIVE))
def test_a_closer_judge_is_better_by_the_permutation_test_whichever_way_the_metric_points(name: str) -> None:
    far, near = noisy(1, 2.0), noisy(2, 0.3)
    found = prove(far, near, name, FIVE).decision
    assert (found.verdict, found.mcnemar) == ("better", None)
    assert found.p == found.permutation.better < 0.025
    assert (found.to_card()["b"], found.to_card()["right"]) == (None, "")
    assert prove(near, far, name, FIVE).decision.verdict == "worse"
    assert prove(near, near, name, FIVE).decision.verdict == "not shown to be better"
    shown = contrast(("near", [near]), ("far", [far]), name, FIVE)
    assert shown.verdict == "better"
    assert objective_score(near, name, FIVE) > objective_score(far, name, FIVE)


def test_an_error_is_reported_as_it_is_and_its_objective_is_negated() -> None:
    rows = rows_of([(1, 3), (5, 5)])
    assert measure(rows, "mae", FIVE)["mae"].value == 1.0
    assert objective_score(rows, "mae", FIVE) == -1.0
    assert not FIVE.metrics["mae"].higher_is_better


def test_an_own_metric_of_scores_may_have_a_range_and_a_direction_of_its_own() -> None:
    def rmse(gold: Sequence[float], said: Sequence[float]) -> float:
        return math.sqrt(sk.mean_squared_error(gold, said))

    own = CustomMetric(function=rmse, high=4.0, higher_is_better=False)
    rows = noisy(3, 1.0)
    found = measure(rows, own, FIVE)
    assert found.metric == "rmse"
    assert found["rmse"].value == pytest.approx(math.sqrt(found["mse"].value))
    squares = interval(rows, "mse", FIVE)
    assert found["rmse"].interval.low == pytest.approx(math.sqrt(squares.low), rel=0.03)
    assert objective_score(rows, own, FIVE) == pytest.approx(-found["rmse"].value)
    with pytest.raises(JuristError, match=r"'rmse' returned .*; a metric returns one number from 0 to 1"):
        measure(rows_of([(1, 5)]), rmse, FIVE)


def test_differences_of_correlations_are_paired() -> None:
    far, near = noisy(1, 2.0, float), noisy(2, 0.3, float)
    kind = Scores(1, 5)
    found = difference(far, near, "spearman", kind)
    assert 0.0 < found.low < found.high
    same = difference(near, near, "spearman", kind)
    assert same.low == -same.high < 0.0
