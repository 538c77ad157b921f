"""Shares by labels and a judge: laws, the papers' own package, and coverage by simulation."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jurist.evaluation.prevalence import powered, tallies

Triples = list[tuple[str, bool, bool]]
CELLS = [(group, truth, said) for group in "abcd" for truth in (False, True) for said in (False, True)]
UNITS = st.lists(st.sampled_from(CELLS), min_size=1, max_size=16)

LAW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def drawn(rng: np.random.Generator, groups: int, share: float, se: float, sp: float, most: int) -> Triples:
    """Units of groups that differ in all three rates."""
    found = []
    for group in range(groups):
        p, hit, spare = (float(rng.beta(mean * 12, (1 - mean) * 12)) for mean in (share, se, sp))
        for _ in range(int(rng.integers(1, most + 1))):
            truth = rng.random() < p
            found.append((str(group), bool(truth), bool(rng.random() < (hit if truth else 1 - spare))))
    return found


@LAW
@given(UNITS, UNITS)
def test_it_is_a_share_and_the_opposite_question_has_the_opposite_answer(
    labelled: Triples, rest: Triples
) -> None:
    one = powered(labelled, tallies((group, said) for group, _, said in rest))
    flipped = [(group, not truth, not said) for group, truth, said in labelled]
    two = powered(flipped, tallies((group, not said) for group, _, said in rest))
    assert 0 <= one.low <= one.value <= one.high <= 1
    assert 0 <= one.weight <= 1
    assert (one.value, one.low, one.high) == pytest.approx((1 - two.value, 1 - two.high, 1 - two.low))


@LAW
@given(UNITS)
def test_without_others_it_is_what_people_said(labelled: Triples) -> None:
    found = powered(labelled, {})
    assert found.weight == 0
    assert found.value == pytest.approx(sum(truth for _, truth, _ in labelled) / len(labelled))


def test_labels_of_chosen_rows_are_said_to_be_no_random_draw() -> None:
    others = tallies((str(n), n % 5 == 0) for n in range(500))
    chosen = [(f"l{n}", n % 2 == 0, n < 45) for n in range(50)]
    assert powered(chosen, others).unlike == (0.9, 0.2)
    assert powered([(f"l{n}", n % 5 == 0, n % 5 == 0) for n in range(50)], others).unlike is None
    assert powered([], others).value is None


@pytest.mark.parametrize(
    ("labels", "rest", "share", "se", "sp"), [(50, 500, 0.3, 0.8, 0.85), (80, 90, 0.5, 0.5, 0.5)]
)
def test_with_a_group_for_each_unit_it_is_ppi_python(
    labels: int, rest: int, share: float, se: float, sp: float
) -> None:
    ppi = pytest.importorskip("ppi_py", reason="needs the extra ppi")
    rng = np.random.default_rng(5)
    units = [(str(n), *one[1:]) for n, one in enumerate(drawn(rng, labels + rest, share, se, sp, 1))]
    mine, others = units[:labels], units[labels:]
    gold, said = (np.array([one[place] for one in mine], dtype=float) for place in (1, 2))
    more = np.array([one[2] for one in others], dtype=float)
    for weight in (None, 0.4, 1.0):
        found = powered(mine, tallies((group, hit) for group, _, hit in others), weight)
        low, high = (end.item() for end in ppi.ppi_mean_ci(gold, said, more, alpha=0.05, lam=weight))
        assert found.value == pytest.approx((low + high) / 2, abs=1e-9)
        assert found.error == pytest.approx((high - low) / 2 / 1.959963984540054, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "rest", "share", "se", "sp", "most"),
    [(30, 300, 0.3, 0.85, 0.85, 1), (40, 200, 0.1, 0.9, 0.95, 4), (20, 100, 0.5, 0.98, 0.98, 6)],
)
def test_coverage_by_simulation(
    labels: int, rest: int, share: float, se: float, sp: float, most: int
) -> None:
    rng, held, narrower, runs = np.random.default_rng(7), 0, 0, 1000
    for _ in range(runs):
        mine = [(f"l{group}", truth, said) for group, truth, said in drawn(rng, labels, share, se, sp, most)]
        others = drawn(rng, rest, share, se, sp, most)
        found, alone = powered(mine, tallies((group, said) for group, _, said in others)), powered(mine, {})
        held += found.low <= share <= found.high
        narrower += found.high - found.low < alone.high - alone.low
    assert held / runs >= 0.93
    assert narrower / runs > 0.85
