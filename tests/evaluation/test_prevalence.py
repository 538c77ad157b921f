"""Corrected shares, by known errors: known cases, laws, coverage."""

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


def both(hits: int, of: int, groups: int = 2) -> dict[str, tuple[int, int]]:
    """The same counts in each group."""
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
        ((both(0, 10, 40), both(6, 10, 40), both(6, 10, 40)), {"value": None, "problem": "fewer here"}),
        (({}, both(1, 2), both(1, 2)), {"raw": None, "value": None, "problem": "there is no unit"}),
    ],
)
def test_known_cases(counts: tuple[dict, dict, dict], expected: dict[str, object]) -> None:
    found = prevalence(*counts)
    for name, value in expected.items():
        if name == "problem":
            assert str(value) in found.problem
        else:
            assert getattr(found, name) == (pytest.approx(value) if isinstance(value, float) else value)


@given(COUNTS, COUNTS, COUNTS)
@settings(max_examples=100)
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
@settings(max_examples=60)
def test_the_opposite_question_has_the_opposite_answer(
    apparent: dict[str, tuple[int, int]], se: dict[str, tuple[int, int]], sp: dict[str, tuple[int, int]]
) -> None:
    one, two = prevalence(apparent, se, sp), prevalence(swapped(apparent), sp, se)
    assert (one.value is None) == (two.value is None)
    if one.value is not None and two.value is not None:
        assert one.value == pytest.approx(1 - two.value, abs=1e-9)
        assert one.low == pytest.approx(1 - two.high, abs=2e-3)
        assert one.high == pytest.approx(1 - two.low, abs=2e-3)


Triples = list[tuple[str, bool, bool]]


def drawn(rng: np.random.Generator, groups: int, share: float, se: float, sp: float, most: int) -> Triples:
    """Units of groups that differ in all three rates."""
    found = []
    for group in range(groups):
        p, hit, spare = (float(rng.beta(mean * 12, (1 - mean) * 12)) for mean in (share, se, sp))
        for _ in range(int(rng.integers(1, most + 1))):
            truth = rng.random() < p
            found.append((str(group), bool(truth), bool(rng.random() < (hit if truth else 1 - spare))))
    return found


@pytest.mark.parametrize(
    ("share", "se", "sp", "groups", "calibrated"),
    [(0.3, 0.8, 0.85, 30, 28), (0.1, 0.9, 0.8, 40, 20)],
)
def test_coverage_by_simulation(share: float, se: float, sp: float, groups: int, calibrated: int) -> None:
    """95 % intervals hold the truth about 95 times in 100, clusters that differ in all three rates included."""
    rng, held, wide, runs = np.random.default_rng(7), 0, 0, 120
    for _ in range(runs):
        apparent, known = (drawn(rng, count, share, se, sp, 12) for count in (groups, calibrated))
        result = prevalence(
            tallies((group, said) for group, _, said in apparent),
            tallies((group, said) for group, truth, said in known if truth),
            tallies((group, not said) for group, truth, said in known if not truth),
        )
        if result.value is None:
            held += "another kind" not in result.problem  # no statement, no error
            continue
        held += result.low <= share <= result.high
        wide += result.low == 0.0 and result.high == 1.0
    assert held / runs >= 0.92
    assert wide / runs < 0.07
