"""Constraint Score, by hand (section 4.2 of the FAITHQA paper) and by its laws."""

from collections.abc import Mapping
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.programs.faithqa.constraints import MARKS, WEIGHTS, constraint_score
from jurist.programs.faithqa.scoring import band
from jurist.signatures.faithqa_labels import Category, Mark


# Section 4.2: W_t = w_m |C_m| + w_i |C_i| + w_o |C_o|, W_s the same over the satisfied ones, score = W_s / W_t x 10.
# Section 4.1 puts location, time, subject and action into C_m, qualifiers and quantity into C_i, the rest into C_o.
@pytest.mark.parametrize(
    ("constraints", "weights", "score"),
    [
        ("action+ subject+ quantity+", (3, 2, 1), 10.0),  # 8 of 8
        ("action- subject- quantity-", (3, 2, 1), 0.0),  # 0 of 8
        ("action+ subject+ quantity-", (3, 2, 1), 7.5),  # 6 of 8
        ("action+ subject- quantity+", (3, 2, 1), 6.25),  # 5 of 8
        ("action+ time+ other-", (3, 2, 1), 60 / 7),  # 6 of 7
        ("location+ time- qualifier+ other+", (3, 2, 1), 60 / 9),  # 3 + 2 + 1 of 3 + 3 + 2 + 1
        ("location- time+ qualifier- quantity+", (3, 2, 1), 5.0),  # 5 of 10
        ("action+ subject+ quantity-", (1, 1, 1), 20 / 3),  # equal weights: two of three
        ("action+ subject+ quantity- other-", (5, 3, 0.5), 100 / 13.5),  # 10 of 13.5
        ("other+", (3, 2, 1), 10.0),
        ("quantity- quantity+", (3, 2, 1), 5.0),
    ],
)
def test_scores_by_hand(constraints: str, weights: tuple[float, float, float], score: float) -> None:
    said = constraints.split()
    held = [word.endswith("+") for word in said]
    found = constraint_score([word[:-1] for word in said], held, dict(zip(WEIGHTS, weights, strict=True)))
    assert found == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("score", "said"),
    [(10, "strong"), (9, "strong"), (8.99, "partial"), (7.01, "partial"), (7, "major"), (0, "major")],
)
def test_bands_of_section_4_2(score: float, said: str) -> None:
    assert band(score) == said


PAIR = st.tuples(st.sampled_from(get_args(Category)), st.sampled_from(MARKS))
MARKED = st.lists(PAIR, min_size=1, max_size=9)


@given(MARKED, st.randoms(), st.floats(0.1, 50))
def test_laws_of_the_score(marked: list[tuple[Category, Mark]], random: object, factor: float) -> None:
    def score(items: list[tuple[Category, Mark]], weights: Mapping[str, float]) -> float:
        return constraint_score([c for c, _ in items], [m == "satisfied" for _, m in items], weights)

    base = WEIGHTS
    found = score(marked, base)
    assert 0 <= found <= 10
    assert (found == 10) == all(mark == "satisfied" for _, mark in marked)
    shuffled = list(marked)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert score(shuffled, base) == pytest.approx(found)
    scaled = {name: value * factor for name, value in WEIGHTS.items()}
    assert score(marked, scaled) == pytest.approx(found)
    worse = [*marked[:-1], (marked[-1][0], "omitted")]
    assert score(worse, base) <= found  # type: ignore[arg-type]
