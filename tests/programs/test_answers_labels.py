"""Closed labels: reading a reply into labels never guesses, and is the inverse of writing one."""

from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.errors import JudgeError
from jurist.programs.answers.base import Reading
from jurist.programs.answers.labels import OneLabel, Verified
from jurist.programs.answers.sentences import PerSentence, numbered

ONE = OneLabel(field="factual", values={"factual": True, "non_factual": False}, unit="claim")
MANY = PerSentence(field="labels", unit="sentences", labels=("x", "y"))
BOTH = Verified(
    field="factual",
    values={"factual": True, "non_factual": False},
    unit="claim",
    parts="units",
    holds="factual",
    fails="non_factual",
)


def rows(count: int) -> dict[str, list[str]]:
    return {"sentences": ["A."] * count}


POLICIES = ("abstain", "units", "label")


def part(verified: Any, **more: Any) -> dict[str, Any]:
    return {"text": "plan", "kind": "concrete", "reasoning": "named", "verified": verified, **more}


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
    assert ONE.read({"factual": answer}, {}).values == (label,)


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
    assert MANY.read({"labels": answer}, rows(3)).values == labels


@given(json_values, st.integers(0, 5))
def test_reading_anything_gives_known_labels_or_none(answer: Any, count: int) -> None:
    labels = MANY.read({"labels": answer}, rows(count)).values
    assert len(labels) == count
    assert set(labels) <= {"x", "y", None}
    assert set(ONE.read({"factual": answer}, {}).values) <= {"factual", "non_factual", None}


@given(st.lists(st.sampled_from(["x", "y", None]), max_size=8).map(tuple))
def test_reading_undoes_writing(labels: tuple[str | None, ...]) -> None:
    assert MANY.read({"labels": MANY.example(labels, rows(len(labels)))}, rows(len(labels))).values == labels


@pytest.mark.parametrize("label", ["factual", "non_factual"])
def test_reading_undoes_writing_one(label: str) -> None:
    assert ONE.read({"factual": ONE.example((label,), {})}, {}).values == (label,)


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


@pytest.mark.parametrize(
    ("units", "said", "shown", "consistent"),
    [
        ([part(True), part(True)], True, "factual", True),
        ([part(True), part(False)], False, "non_factual", True),
        ([], False, "non_factual", True),
        ([part(True), part(False)], True, "non_factual", False),
        ([part(True), part(True)], False, "factual", False),
        ([], True, "non_factual", False),
        ([SimpleNamespace(**part(True))], True, "factual", True),
    ],
)
@pytest.mark.parametrize("policy", POLICIES)
def test_units_against_label(units: list[Any], said: bool, shown: str, consistent: bool, policy: Any) -> None:
    answer = replace(BOTH, policy=policy).read({"units": units, "factual": said}, {})
    kept = "factual" if said else "non_factual"
    settled = {"abstain": None, "units": shown, "label": kept}[policy]
    assert answer.values == (kept if consistent else settled,)
    assert answer.inconsistent is not consistent
    assert answer.reasoning.count("\n") == max(0, len(units) - 1)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"factual": True},
        {"units": [part(True)]},
        {"units": [part(True)], "factual": "perhaps"},
        {"units": None, "factual": True},
        {"units": "[]", "factual": False},
        {"units": [part("yes")], "factual": True},
        {"units": [part(1)], "factual": True},
        {"units": ["plan"], "factual": True},
        {"units": [part(True), None], "factual": True},
    ],
)
def test_what_cannot_be_checked_is_no_label_and_no_contradiction(reply: dict[str, Any], policy: Any) -> None:
    answer = replace(BOTH, policy=policy).read(reply, {})
    assert (answer.values, answer.inconsistent) == ((None,), False)


@given(json_values, json_values, st.sampled_from(POLICIES))
def test_reading_any_units_never_guesses(units: Any, said: Any, policy: Any) -> None:
    answer = replace(BOTH, policy=policy).read({"units": units, "factual": said}, {})
    assert set(answer.values) <= {"factual", "non_factual", None}
    if answer.values != (None,):
        assert isinstance(units, list)
        assert said in (True, False)


def test_the_units_are_the_reasoning_on_a_line_each() -> None:
    units = [
        part(True),
        part(False, kind="relation", text="a\n\nb", reasoning="x\ny"),
        part(True, reasoning=""),
    ]
    assert BOTH.read({"units": units, "factual": False}, {}).reasoning.split("\n") == [
        'verified: concrete "plan": named',
        'not verified: relation "a b": x y',
        'verified: concrete "plan"',
    ]


@pytest.mark.parametrize("shape", [ONE, MANY], ids=["one", "many"])
def test_free_reasoning_is_kept(shape: Any) -> None:
    assert shape.read({"reasoning": "because"}, rows(1)).reasoning == "because"
    assert shape.read({"reasoning": None}, rows(1)).reasoning == ""


@pytest.mark.parametrize("wrong", [{"policy": "guess"}, {"holds": "true"}, {"fails": "false"}])
def test_a_shape_that_cannot_work_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(JudgeError, match=next(iter(wrong.values()))):
        replace(BOTH, **wrong)


@pytest.mark.parametrize(
    ("items", "units", "labels", "extra", "duplicated"),
    [
        ([(1, "x"), (2, "y"), (3, "x")], (0, 1, 2), ("x", "y", "x"), 0, 0),
        ([(1, "x"), (3, "x")], (0, 1, 2), ("x", None, "x"), 0, 0),
        ([(1, "x"), (4, "x"), (0, "y"), (-2, "y")], (0, 1, 2), ("x", None, None), 3, 0),
        ([(1, "x"), (1, "y"), (2, "y"), (2, "y")], (0, 1, 2), (None, "y", None), 0, 1),
        ([(2, "y")], (1,), (None, "y", None), 0, 0),
        ([(1, "x"), (2, "y"), (3, "x")], (1,), (None, "y", None), 2, 0),  # its own number, and no other
        ([(3, "x")], (0, 2), (None, None, "x"), 0, 0),
        ([(1, "y")], (1, 2), (None, None, None), 1, 0),  # counted from 1 again: not the number it has
    ],
)
def test_numbers_are_those_of_the_whole(
    items: list[tuple[int, str]],
    units: tuple[int, ...],
    labels: tuple[str | None, ...],
    extra: int,
    duplicated: int,
) -> None:
    answer = MANY.read({"labels": [{"n": n, "label": label} for n, label in items]}, rows(3), units)
    assert (answer.values, answer.extra, answer.duplicated) == (labels, extra, duplicated)


def test_a_part_is_shown_under_its_own_numbers() -> None:
    inputs = {"other": "kept", "sentences": ["a", "b\n1. z", "", "d"]}
    assert MANY.render(inputs, (1, 2)) == {"other": "kept", "sentences": "2. b 1. z\n3. (blank)"}
    assert MANY.render(inputs, range(4)) == MANY.render(inputs)
    assert MANY.repeatable
    assert not ONE.repeatable
    assert not BOTH.repeatable


@given(
    st.lists(st.sampled_from(["x", "y", None]), min_size=1, max_size=8),
    st.lists(st.sampled_from(["x", "y", None]), min_size=8, max_size=8),
)
def test_a_second_answer_fills_in_and_changes_nothing(
    first: list[str | None], second: list[str | None]
) -> None:
    one = Reading(values=tuple(first), extra=1, reasoning="r")
    both = one.completed(Reading(values=tuple(second[: len(first)]), extra=2, duplicated=1))
    assert (both.extra, both.duplicated, both.reasoning) == (3, 1, "r")
    for before, again, after in zip(first, second, both.values, strict=False):
        assert after == (again if before is None else before)
    assert set(both.missing) <= set(one.missing)


def test_a_probability_is_the_same_whatever_the_order_in_which_a_set_has_its_labels() -> None:
    """A set has another order in every process; sums would differ in their last digits, and choices with them."""
    answer = PerSentence(field="labels", unit="sentences", labels="wxyz", positive=frozenset("xyz"))
    found = {
        answer.scale.probability(dict(zip("wxyz", (0.4, *shares), strict=True)))
        for shares in permutations((0.1, 0.2, 0.3))
    }
    assert found == {0.6}
