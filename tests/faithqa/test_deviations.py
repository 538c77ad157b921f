"""``jurist table faithqa-3``: deviations of scores from people's, against SciPy's kernel density."""

import random
import statistics
from pathlib import Path

import pytest
from scipy.stats import gaussian_kde
from small import cli, ok, write_jsonl

from jurist.papers.faithqa.deviations import POINTS, STEP, density

QUERY = "Name three rivers in Peru."
PEOPLE = (10.0, 7.0, 4.0, 8.0)
JUDGE = (9.0, 7.0, 6.0, 8.5)


@pytest.fixture(autouse=True)
def _folder() -> None:
    rows = [{"query": QUERY, "group": f"g{n}", "response": f"Amazon {n}."} for n in range(len(PEOPLE) + 1)]
    scores: list[float | None] = [*PEOPLE, 5.0]
    write_jsonl(
        Path("gold.jsonl"), [{**row, "score": score} for row, score in zip(rows, scores, strict=True)]
    )
    given = [{**row, "score": score} for row, score in zip(rows, JUDGE, strict=False)]
    write_jsonl(Path("judge.jsonl"), given)


def test_deviations_are_those_computed_by_hand() -> None:
    found = ok(
        "table", "faithqa-3", "--gold", "gold.jsonl", "--scores", "recorded:judge.jsonl#score", "--json"
    ).json
    (judge,) = found["judges"]
    deviations = [score - people for score, people in zip(JUDGE, PEOPLE, strict=True)]
    assert (judge["responses"], judge["unanswered"]) == (4, 1)
    assert judge["mean"] == pytest.approx(statistics.fmean(deviations))
    assert judge["deviation"] == pytest.approx(statistics.stdev(deviations))
    assert judge["mse"] == pytest.approx((1 + 0 + 4 + 0.25) / 4)
    assert judge["within_deviation"] == 0.5
    assert found["points"][0] == -10
    assert found["points"][-1] == 10
    assert judge["density"] == pytest.approx(list(gaussian_kde(deviations)(POINTS)))


def test_a_density_is_that_of_scipy_and_sums_to_one() -> None:
    rng = random.Random(0)
    deviations = [max(-6.0, min(6.0, rng.gauss(0.5, 1.2))) for _ in range(200)]
    found = density(deviations)
    assert found is not None
    assert found == pytest.approx(tuple(gaussian_kde(deviations)(POINTS)))
    assert sum(found) * STEP == pytest.approx(1.0, abs=0.01)
    assert density([1.0, 1.0, 1.0]) is None


def test_scores_of_other_responses_are_refused() -> None:
    write_jsonl(Path("other.jsonl"), [{"query": "Q?", "response": "A.", "score": 3}])
    done = cli("table", "faithqa-3", "--gold", "gold.jsonl", "--scores", "recorded:other.jsonl#score")
    assert (done.code, len(done.lines)) == (1, 1)
    missing = cli("table", "faithqa-3", "--gold", "gold.jsonl")
    assert missing.code == 2
