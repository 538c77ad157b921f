"""Paths into rows: conditions, lists side by side and in lists, annotations that people took back."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.errors import GoldError
from jurist.gold.files import Place
from jurist.gold.paths import flat, has_column, read_path, rows_within

CHOICE = {"from_name": "verdict", "value": {"choices": ["send"]}}
NOTE = {"from_name": "why", "value": {"text": ["because"]}}
DRAFT = {"was_cancelled": True, "result": [{"from_name": "verdict", "value": {"choices": ["hold"]}}]}
STUDIO = {"annotations": [DRAFT, {"was_cancelled": False, "result": [NOTE, CHOICE]}]}
RESPONSES = [
    {"status": "discarded", "user_id": "u1", "values": {"verdict": {"value": "hold"}}},
    {"status": "submitted", "user_id": "u2", "values": {"verdict": {"value": "send"}}},
]
FLAT = {
    "verdict.responses": ["hold", "send"],
    "verdict.responses.users": ["u1", "u2"],
    "verdict.responses.status": ["discarded", "submitted"],
    "verdict.suggestion": "hold",
}
SCORES = [{"name": "tone", "value": 3}, {"name": "correct", "value": 1}]

READ: dict[str, tuple[dict[str, Any], str, Any]] = {
    "an object": ({"a": {"b": 1}}, "a.b", 1),
    "an item": ({"a": ["x", "y"]}, "a.1", "y"),
    "no such item": ({"a": ["x"]}, "a.1", None),
    "a name with dots": ({"a.b": 1, "a": {"b": 2}}, "a.b", 1),
    "a name with dots, and into it": ({"a.b": {"c": 1}}, "a.b.c", 1),
    "JSON in a cell": ({"a": '{"b": [1, 2]}'}, "a.b.1", 2),
    "a condition": (STUDIO, "annotations.0.result[from_name=verdict].value.choices.0", "send"),
    "another condition": (STUDIO, "annotations.0.result[from_name=why].value.text.0", "because"),
    "a condition that nothing meets": (STUDIO, "annotations.0.result[from_name=tone].value", None),
    "two conditions": (
        {"a": [{"k": "x", "of": 1, "v": 1}, {"k": "x", "of": 2, "v": 2}]}, "a[k=x][of=2].v", 2,
    ),
    "a condition with a path": ({"a": [{"source": {"type": "HUMAN"}, "v": 7}]}, "a[source.type=HUMAN].v", 7),
    "a number as a condition": ({"a": [{"n": 1, "v": 3}, {"n": 2.0, "v": 4}]}, "a[n=2].v", 4),
    "Langfuse's scores": ({"scores": SCORES}, "scores[name=correct].value", 1),
    "only a draft of a skipped task": ({"annotations": [DRAFT]}, "annotations.0.result.0.value.choices.0", None),
    "a skipped task is left out": (STUDIO, "annotations.1.result", None),
    "a discarded response": ({"responses": RESPONSES}, "responses.0.values.verdict.value", "send"),
    "a discarded response, flat": (FLAT, "verdict.responses.0", "send"),
    "a status of something else": ({"orders": [{"status": "cancelled", "item": "x"}]}, "orders.0.item", "x"),
    "a list of texts": ({"output": ["send"]}, "output.0", "send"),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_a_path_is_read(case: str) -> None:
    row, path, value = READ[case]
    assert read_path(row, path) == value
    assert has_column(row, path) == (value is not None)


WITHIN: dict[str, tuple[dict[str, Any], list[str], list[list[Any]]]] = {
    # row, paths, and what stands at the paths in each row that it holds
    "one list": ({"s": [{"t": "x"}, {"t": "y"}]}, ["s[].t"], [["x"], ["y"]]),
    "lists side by side": (
        {"segments": ["x", "y"], "labels": ["ok", "bad"]}, ["segments[]", "labels[]"], [["x", "ok"], ["y", "bad"]],
    ),
    "lists of objects side by side": (
        {"segments": [{"t": "x"}, {"t": "y"}], "labels": [1, 2]}, ["segments[].t", "labels[]"], [["x", 1], ["y", 2]],
    ),
    "a list in a list": (
        {"d": "doc", "a": [{"n": 1, "b": [{"c": "x"}, {"c": "y"}]}, {"n": 2, "b": [{"c": "z"}]}]},
        ["d", "a[].n", "a[].b[].c"],
        [["doc", 1, "x"], ["doc", 1, "y"], ["doc", 2, "z"]],
    ),
    "a list in an object": ({"r": {"s": [{"t": 1}, {"t": 2}]}}, ["r.s[].t"], [[1], [2]]),
    "JSON in a cell": ({"s": '[{"t": 1}, {"t": 2}]'}, ["s[].t"], [[1], [2]]),
    "no list": ({"s": "x"}, ["s[].t"], [[None]]),
    "no item": ({"s": []}, ["s[].t"], []),
}  # fmt: skip


@pytest.mark.parametrize("case", WITHIN)
def test_a_row_of_each_item(case: str) -> None:
    row, paths, values = WITHIN[case]
    rows = rows_within(row, paths)
    assert [[read_path(inner, path) for path in paths] for inner in rows] == values
    if rows not in ([], [row]):
        assert len({inner["group"] for inner in rows}) == 1
    assert all(has_column(row, path) for path in paths) == (values not in ([], [[None]]))


def test_lists_of_different_lengths_are_one_line() -> None:
    row = {"segments": ["x", "y", "z"], "labels": ["ok", "bad"]}
    with pytest.raises(GoldError) as caught:
        rows_within(row, ["segments[]", "labels[]"], Place("f.jsonl", 3))
    assert (
        "f.jsonl:3: lists that are read side by side have different lengths: segments 3 and labels 2"
        in str(caught.value)
    )


FLATTENED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "objects and short lists": ({"a": {"b": 1}, "c": ["x"]}, {"a.b": 1, "c.0": "x"}),
    "a long list": ({"c": [1, 2, 3, 4]}, {"c": [1, 2, 3, 4]}),
    "a chat": (
        {"chat": [{"role": "user", "content": "Hi"}]}, {"chat": [{"role": "user", "content": "Hi"}]},
    ),
    "annotations by their names": (
        {"result": [NOTE, CHOICE]},
        {
            "result[from_name=why].from_name": "why",
            "result[from_name=why].value.text.0": "because",
            "result[from_name=verdict].from_name": "verdict",
            "result[from_name=verdict].value.choices.0": "send",
        },
    ),
    "two annotations of one name": (
        {"s": [{"name": "x", "v": 1}, {"name": "x", "v": 2}]},
        {"s.0.name": "x", "s.0.v": 1, "s.1.name": "x", "s.1.v": 2},
    ),
    "names in a list of lists": ({"a": [[{"from_name": "x"}]]}, {"a.0[from_name=x].from_name": "x"}),
    "a task that was skipped": ({"annotations": [DRAFT]}, {"annotations": []}),
}  # fmt: skip


@pytest.mark.parametrize("case", FLATTENED)
def test_every_value_of_a_row_has_its_path(case: str) -> None:
    row, paths = FLATTENED[case]
    found = dict(flat(row))
    assert json.dumps(found) == json.dumps(paths)
    assert all(read_path(row, path) == value for path, value in paths.items())


NAMES = st.sampled_from(["a", "b", "label", "from_name", "name", "0"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.sampled_from(["x", "y", "", "a text"]))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)


@settings(max_examples=200)
@given(st.dictionaries(NAMES, VALUES, max_size=3))
def test_what_stands_at_a_path_is_read_at_it(row: dict[str, Any]) -> None:
    for path, value in flat(row):
        assert read_path(row, path) == value
        assert has_column(row, path) or value is None


@settings(max_examples=100)
@given(st.lists(st.tuples(LEAVES, LEAVES), max_size=5))
def test_lists_side_by_side_are_their_pairs(pairs: list[tuple[Any, Any]]) -> None:
    row = {"first": [one for one, _ in pairs], "second": [two for _, two in pairs]}
    rows = rows_within(row, ["first[]", "second[]"])
    assert [(read_path(inner, "first[]"), read_path(inner, "second[]")) for inner in rows] == pairs
