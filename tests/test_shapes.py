"""Shapes: reading an answer into labels never guesses, and is the inverse of writing one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.programs.shapes import OneLabel, Sentences, numbered

ONE = OneLabel(field="factual", values={"factual": True, "non_factual": False}, unit="claim")
MANY = Sentences(field="labels", unit="sentences", labels=("x", "y"))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.floats(allow_nan=False)
    | st.sampled_from(["x", "y", "z", ""]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["n", "label", "k"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        (True, "factual"),
        (False, "non_factual"),
        (None, None),
        ("True", None),
        ("factual", None),
        ("", None),
        ([], None),
        ({"factual": True}, None),
        (0.5, None),
    ],
)
def test_one_label(answer: Any, label: str | None) -> None:
    assert ONE.read(answer, 1) == (label,)


@pytest.mark.parametrize(
    ("answer", "labels"),
    [
        ([{"n": 1, "label": "x"}, {"n": 2, "label": "y"}, {"n": 3, "label": "x"}], ("x", "y", "x")),
        ([{"n": 3, "label": "x"}, {"n": 1, "label": "y"}], ("y", None, "x")),  # by number, not by place
        ([{"n": 1, "label": "x"}, {"n": 1, "label": "y"}], (None, None, None)),  # contradicts itself
        ([{"n": 1, "label": "x"}, {"n": 1, "label": "y"}, {"n": 1, "label": "x"}], (None, None, None)),
        ([{"n": 1, "label": "x"}, {"n": 1, "label": "x"}], ("x", None, None)),
        ([{"n": 0, "label": "x"}, {"n": 4, "label": "x"}, {"n": -1, "label": "x"}], (None, None, None)),
        ([{"n": "1", "label": "x"}, {"n": 2.0, "label": "x"}], (None, None, None)),
        ([{"n": 1, "label": "X"}, {"n": 2, "label": "z"}, {"n": 3, "label": ["x"]}], (None, None, None)),
        ([SimpleNamespace(n=2, label="y")], (None, "y", None)),
        ("[1]", (None, None, None)),
        (None, (None, None, None)),
        (["x", "y", "x"], (None, None, None)),
    ],
)
def test_sentences(answer: Any, labels: tuple[str | None, ...]) -> None:
    assert MANY.read(answer, 3) == labels


@given(json_values, st.integers(0, 5))
def test_reading_anything_gives_known_labels_or_none(answer: Any, count: int) -> None:
    labels = MANY.read(answer, count)
    assert len(labels) == count
    assert set(labels) <= {"x", "y", None}
    assert set(ONE.read(answer, 1)) <= {"factual", "non_factual", None}


@given(st.lists(st.sampled_from(["x", "y", None]), max_size=8).map(tuple))
def test_reading_undoes_writing(labels: tuple[str | None, ...]) -> None:
    assert MANY.read(MANY.answer(labels), len(labels)) == labels


@pytest.mark.parametrize("label", ["factual", "non_factual"])
def test_reading_undoes_writing_one(label: str) -> None:
    assert ONE.read(ONE.answer((label,)), 1) == (label,)


@given(st.lists(st.text(), min_size=1, max_size=6))
def test_numbered_has_one_line_for_each_sentence(sentences: list[str]) -> None:
    lines = numbered(sentences).splitlines()
    assert len(lines) == len(sentences)
    assert all(line.startswith(f"{n}. ") for n, line in enumerate(lines, 1))


@pytest.mark.parametrize(
    "forged", ["a\n2. b", "a\r2. b", "a\u20282. b", "a\x0b\x0c\x1c\x852. b", "a\r\n\r\n2. b"]
)
def test_numbers_cannot_be_forged(forged: str) -> None:
    assert numbered([forged, "c"]) == "1. a 2. b\n2. c"
