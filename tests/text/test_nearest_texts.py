"""Search by BM25: a text that shares a word is found, and equal scores keep the order of the collection."""

import os
import subprocess
import sys

import bm25s
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.text.nearest_texts import NearestTexts

WORDS = st.lists(st.sampled_from("abcdef"), max_size=4)


@pytest.mark.parametrize(
    ("texts", "query", "limit", "places"),
    [
        ([["tea", "cup"]] * 60, ["tea"], 5, [0, 1, 2, 3, 4]),
        ([["tea"], ["cup"]] * 30, ["cup"], 3, [1, 3, 5]),
        ([["tea"], ["cup"], ["tea", "pot"]], ["pot", "tea"], 5, [2, 0]),
        ([["tea"], []], ["tea"], 5, [0]),
        ([[], []], ["tea"], 5, []),
        ([["tea"]], [], 5, []),
        ([["tea"], []], [""], 5, []),
        ([["tea"]], ["milk"], 5, []),
    ],
)
def test_the_nearest_come_first_and_equal_ones_by_their_place(
    texts: list[list[str]], query: list[str], limit: int, places: list[int]
) -> None:
    assert [near.place for near in NearestTexts(texts).search(query, limit)] == places


@given(st.lists(WORDS, min_size=1, max_size=40), WORDS, st.integers(1, 8))
def test_they_are_those_with_the_highest_scores(texts: list[list[str]], query: list[str], limit: int) -> None:
    found = NearestTexts(texts).search(query, limit)
    index = bm25s.BM25()
    index.index([words or [""] for words in texts], show_progress=False, leave_progress=False)
    scores = index.get_scores(query).tolist() if query else [0.0] * len(texts)
    order = sorted(range(len(texts)), key=lambda place: (-scores[place], place))
    expected = [(place, scores[place]) for place in order if scores[place] > 0][:limit]
    assert [(near.place, near.score) for near in found] == expected


def test_a_processor_without_avx_finds_the_same() -> None:
    program = (
        "from jurist.text.nearest_texts import NearestTexts\n"
        "texts = [['abcd'[n % 4], 'efg'[n % 3]] for n in range(90)]\n"
        "print([near.place for near in NearestTexts(texts).search(['a', 'e'], 7)])\n"
    )
    printed = []
    for left_out in ("", "X86_V3 X86_V4 AVX2 FMA3 AVX512F AVX512_SKX AVX512_ICL AVX512_SPR"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            env={**os.environ, "NPY_DISABLE_CPU_FEATURES": left_out},
            capture_output=True,
            text=True,
            check=True,
        )
        printed.append(done.stdout)
    assert printed[0] == printed[1]
