"""A scale of one's own: six members make it, everything else has a default."""

from collections.abc import Mapping
from typing import Any, Literal

import pytest

from jurist.evaluation.metrics import Metric, own_metric
from jurist.evaluation.scale import Scale
from jurist.evaluation.votes import Sampling

GRADES = ("A", "B", "C")


def _near(gold: list[str], predicted: list[str]) -> float:
    return sum(a == b for a, b in zip(gold, predicted, strict=True)) / len(gold)


class Grades(Scale):
    """School grades."""

    noun = "grade"
    default = "near"
    choices = GRADES

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return {"near": own_metric(_near, ())}

    def similarity(self, gold: Any, value: Any) -> float:
        return 1 - abs(GRADES.index(gold) - GRADES.index(value)) / 2

    @property
    def row_type(self) -> Any:
        return Literal["A", "B", "C"]

    def of_json(self, data: Any) -> str:
        if data not in GRADES:
            raise ValueError(f"no grade {data!r}")
        return str(data)

    def identity(self) -> dict[str, Any]:
        return {"labels": list(GRADES), "answer": "grade"}

    def wrong(self, gold: Any) -> Any:
        return "C" if gold == "A" else "A"


@pytest.mark.parametrize("member", ["default", "metrics", "similarity", "wrong", "row_type", "identity"])
def test_a_scale_without_one_of_the_six_is_refused_by_name(member: str) -> None:
    lacking = type("Lacking", (Grades,), {member: getattr(Scale, member)})
    with pytest.raises(TypeError, match=f"abstract method '?{member}"):
        lacking()


@pytest.mark.parametrize(
    ("written", "value"), [("A", "A"), ('"B"', "B"), (" C ", "C"), ("D", None), ("[" * 9, None)]
)
def test_a_cell_is_json_or_text(written: str, value: str | None) -> None:
    assert Grades().cell(written) == value


def test_the_words_follow_from_the_choices() -> None:
    scale = Grades()
    assert scale.expects == "one of: A, B, C"
    assert scale.task_words() == "answer: one of: A, B, C"
    assert scale.describe(["A", "B", "A"]) == {"grades": {"A": 2, "B": 1}}


@pytest.mark.parametrize(
    ("votes", "samples", "value"),
    [
        ({"A": 2, "B": 1}, 3, "A"),
        ({"A": 1}, 3, None),
        ({"A": 1, "B": 1}, 2, "B"),
        ({}, 1, None),
        ({"C": 2}, 3, "C"),
    ],
)
def test_the_most_frequent_value_of_enough_samples_counts(
    votes: dict[str, int], samples: int, value: str | None
) -> None:
    assert Grades().combine(votes, Sampling(samples=samples)) == value
