"""Scores and their errors in proofs and objectives: which way each of them points."""

import pytest
from measures import difference, noisy, rows_of

from jurist.evaluation.contrasts import contrast
from jurist.evaluation.measured import measure, objective_score
from jurist.evaluation.proof import prove
from jurist.evaluation.scale import choosable
from jurist.evaluation.scores import Scores

FIVE, UNIT = Scores(1, 5, whole=True), Scores(0.0, 1.0)


@pytest.mark.parametrize("name", choosable(FIVE))
def test_a_closer_judge_is_better_by_the_permutation_test_whichever_way_the_metric_points(name: str) -> None:
    far, near = noisy(1, 3.0), noisy(2, 0.3)
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


def test_differences_of_correlations_are_paired() -> None:
    far, near = noisy(1, 2.0, float), noisy(2, 0.3, float)
    kind = Scores(1, 5)
    found = difference(far, near, "spearman", kind)
    assert 0.0 < found.low < found.high
    same = difference(near, near, "spearman", kind)
    assert same.low == -same.high < 0.0
