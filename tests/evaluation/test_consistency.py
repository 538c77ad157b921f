"""Self-consistency: worked examples, and laws."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters

from jurist.errors import UsageError
from jurist.evaluation.repeats import consistency
from jurist.evaluation.rows import Row

MARK = {"-": None, "a": "a", "b": "b", "c": "c"}


def repeats_of(*cases: tuple[str, ...]) -> list[list[Row]]:
    """One argument a case: one string a repeat, one character a unit."""
    return [
        [
            Row(
                id=str(number),
                group="g",
                gold=(None,) * len(case[repeat]),
                predicted=tuple(MARK[mark] for mark in case[repeat]),
            )
            for number, case in enumerate(cases)
        ]
        for repeat in range(len(cases[0]))
    ]


@pytest.mark.parametrize(
    ("cases", "agreement", "pairwise", "unanimous"),
    [
        ((("a", "a", "a"),), 1.0, 1.0, 1.0),
        ((("a", "a", "b"),), 2 / 3, 1 / 3, 0.0),
        ((("a", "b", "c"),), 1 / 3, 0.0, 0.0),
        ((("a", "a"), ("a", "b")), 0.75, 0.5, 0.5),
        ((("a", "-"),), 0.5, 0.0, 0.0),
        ((("-", "-"),), 0.0, 0.0, 0.0),
        ((("ab", "ab", "aa", "ab"),), 0.875, 0.75, 0.0),
        ((("ab", "ab"), ("bb", "ba")), 0.875, 0.75, 0.5),
    ],
)
def test_worked_examples(
    cases: tuple[tuple[str, ...], ...], agreement: float, pairwise: float, unanimous: float
) -> None:
    found = consistency(repeats_of(*cases))
    assert found.agreement == pytest.approx(agreement)
    assert found.pairwise == pytest.approx(pairwise)
    assert found.unanimous == pytest.approx(unanimous)
    assert found.repeats == len(cases[0])
    assert set(found.by_case) == {str(number) for number in range(len(cases))}


tables = st.integers(2, 6).flatmap(
    lambda repeats: st.lists(st.tuples(*[st.sampled_from("abc")] * repeats), min_size=1, max_size=8)
)


@given(cases=tables)
def test_pairwise_is_the_observed_agreement_of_fleiss(cases: list[tuple[str, ...]]) -> None:
    table, _ = aggregate_raters([[ord(mark) for mark in case] for case in cases])
    raters = len(cases[0])
    observed = ((table**2).sum(axis=1) - raters) / (raters * (raters - 1))
    assert consistency(repeats_of(*cases)).pairwise == pytest.approx(observed.mean())


@given(cases=tables, seed=st.integers(0, 99))
def test_laws(cases: list[tuple[str, ...]], seed: int) -> None:
    found = consistency(repeats_of(*cases))
    assert found.unanimous <= found.pairwise + 1e-12 <= found.agreement + 2e-12 <= 1.0 + 3e-12
    assert found.agreement >= 1 / len(cases[0]) - 1e-12
    repeats = repeats_of(*cases)
    shuffler = random.Random(seed)
    shuffler.shuffle(repeats)
    for rows in repeats:
        shuffler.shuffle(rows)
    again = consistency(repeats)
    assert again.agreement == pytest.approx(found.agreement)
    assert again.by_case == found.by_case


def test_abstaining_never_looks_consistent() -> None:
    for marks in itertools.product("ab-", repeat=4):
        answered = tuple(mark for mark in marks if mark != "-")
        found = consistency(repeats_of(marks))
        most = max((answered.count(mark) for mark in answered), default=0)
        assert found.agreement == most / 4


@pytest.mark.parametrize("repeats", [[], repeats_of(("a",)), [[], []]])
def test_too_little(repeats: list[list[Row]]) -> None:
    with pytest.raises(UsageError):
        consistency(repeats)


def test_other_cases() -> None:
    one, two = repeats_of(("a", "a"), ("b", "b"))
    with pytest.raises(UsageError, match="different cases"):
        consistency([one, two[:1]])
