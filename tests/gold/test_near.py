"""Near copies: what folding and sketches take for the same text, against similarities counted out."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components as scipy_components

from jurist.gold.near import clusters, connected_components, from_text, sketches, to_text
from jurist.text.ranking import folded

TEXT = "The tenant may keep one small dog in the flat, but the landlord must be told before it moves in."


def shingled(text: str) -> set[str]:
    plain = folded(text)
    return {plain[place : place + 5] for place in range(len(plain) - 4)}


def words(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(count)]


@pytest.mark.parametrize(
    "other",
    [
        TEXT.upper(),
        TEXT.replace(".", " ."),
        TEXT.replace(" ", "  ").replace(",", ""),
        TEXT.replace("dog", "d\u200bo\u200bg"),
        "\uff34" + TEXT[1:],  # a full-width letter
        TEXT.replace("small", "tiny"),
    ],
)
def test_what_is_near(other: str) -> None:
    other_text = "Nobody may smoke on the stairs, and bicycles are to be left in the yard behind the house."
    assert np.unique(clusters(sketches([TEXT, other, other_text])), return_counts=True)[1].tolist() in (
        [2, 1],
        [1, 2],
    )


def test_short_texts_are_near_only_if_equal() -> None:
    assert len(set(clusters(sketches(["Hi there.", "hi there", "hi theremin", "", "?", "!"])).tolist())) == 5


def test_sketches_estimate_the_similarity() -> None:
    errors = []
    for seed in range(300):
        base, draw = words(seed, 60), random.Random(seed)
        other = [draw.choice(base) if draw.random() < draw.random() else word for word in base]
        one, two = shingled(" ".join(base)), shingled(" ".join(other))
        pair = sketches([" ".join(base), " ".join(other)])
        errors.append(float((pair[0] == pair[1]).mean()) - len(one & two) / len(one | two))
    assert abs(np.mean(errors)) < 0.015
    assert np.std(errors) < 0.07


def test_pairs_are_found_among_many() -> None:
    texts = [" ".join(words(seed, 40)) for seed in range(3000)]
    near = [text[: len(text) // 2] + "zq" + text[len(text) // 2 :] for text in texts]
    found = clusters(sketches([*texts, *near]))
    assert np.mean(found[:3000] == found[3000:]) > 0.99
    assert len(np.unique(found)) >= 2990


@given(st.lists(st.text(max_size=40), max_size=6))
def test_sketches_survive_being_written(texts: list[str]) -> None:
    found = sketches(texts)
    assert (from_text([to_text(one) for one in found]) == found).all()
    assert (sketches(texts[::-1]) == found[::-1]).all()
    same = clusters(sketches([*texts, *texts]))
    assert same[: len(texts)].tolist() == same[len(texts) :].tolist()


@pytest.mark.parametrize(("size", "edges"), [(1, 0), (2, 1), (60, 30), (300, 250), (300, 1000)])
def test_components_are_those_of_scipy(size: int, edges: int) -> None:
    generator = np.random.default_rng(size + edges)
    first, second = generator.integers(0, size, edges), generator.integers(0, size, edges)
    graph = coo_array((np.ones(edges), (first, second)), shape=(size, size))
    expected = scipy_components(graph, directed=False)[1]
    assert connected_components(size, first, second).tolist() == expected.tolist()
    chain = np.arange(size - 1)
    assert set(connected_components(size, chain, chain + 1).tolist()) == {0}
