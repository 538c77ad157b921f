"""Labelled results of Inspect, promptfoo, DeepEval, Phoenix and Langfuse as plain rows.

A row has the tool's variables or metadata under their own names, ``input``, ``output`` and ``expected`` where the tool
has them, and what was scored. What a person said stands under the score's name; what a machine said under
``machine:NAME``, so that nobody compiles against another judge's verdicts without having said so.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from .files import Row, Rows

_Score: TypeAlias = tuple[Any, Any, bool]
"""Name, value, and whether a person gave it."""


def unfolded(rows: Rows) -> Rows:
    """Return the rows of a tool's results, numbered from 1; rows of anything else as they are."""
    found: list[Row] = []
    for _, row in rows:
        read = next((tool for holds, tool in _TOOLS if holds(row)), None)
        if read is None:
            return rows
        found += read(row)
    return list(enumerate(found, 1))


def _inspect(log: Row) -> Iterator[Row]:
    """Yield the samples of an evaluation log in JSON; a score that a person edited is that person's."""
    for sample in _rows(log, "samples"):
        scores = [
            (name, score.get("value"), any(edit.get("provenance") for edit in _rows(score, "history")))
            for name, score in _of(sample, "scores").items()
        ]
        said = {
            "input": _text(sample.get("input")),
            "output": _of(sample, "output").get("completion"),
            "expected": sample.get("target"),
        }
        yield _row(said, _of(sample, "metadata"), scores)


def _promptfoo(results: Row) -> Iterator[Row]:
    """Yield the results of an evaluation; a rating given on its page is a person's, and called ``human``."""
    for one in _rows(_of(results, "results"), "results"):
        parts = _rows(_of(one, "gradingResult"), "componentResults")
        rated = [part.get("pass") for part in parts if _of(part, "assertion").get("type") == "human"]
        scored = ("human", rated[-1], True) if rated else ("pass", one.get("success"), False)
        yield _row({"output": _of(one, "response").get("output")}, _of(one, "vars"), [scored])


def _deepeval(run: Row) -> Iterator[Row]:
    """Yield the test cases of a test run; all of its scores are a machine's."""
    for one in _rows(run, "testCases"):
        said = {
            "input": one.get("input"),
            "output": one.get("actualOutput"),
            "expected": one.get("expectedOutput"),
            "context": one.get("context"),
            "retrieval_context": one.get("retrievalContext"),
        }
        scores = [(part.get("name"), part.get("score"), False) for part in _rows(one, "metricsData")]
        yield _row(said, _of(one, "metadata"), scores)


def _phoenix(row: Row) -> Iterator[Row]:
    """Yield a row of evaluated data; scores of the kind ``human`` are a person's."""
    scores = {key: row[key] for key in row if _is_phoenix_score(key, row)}
    others = {
        key: value
        for key, value in row.items()
        if key not in scores and not key.endswith("_execution_details")
    }
    said = [
        (score["name"], score.get("label", score.get("score")), score.get("kind") == "human")
        for score in scores.values()
    ]
    yield _row({}, others, said)


def _langfuse(answer: Row) -> Iterator[Row]:
    """Yield an experiment's or dataset's items, or traces, as the API gives them; annotations are a person's."""
    for item in _rows(answer, "data") if "data" in answer else [answer]:
        scores = [
            (one.get("name"), one.get("stringValue") or one.get("value"), one.get("source") == "ANNOTATION")
            for one in _rows(item, "scores")
        ]
        given = item.get("input")
        said = {
            "output": item.get("output"),
            "expected": item.get("expectedOutput"),
            "group": item.get("sessionId"),
        }
        inputs = given if isinstance(given, Mapping) else {"input": given}
        own = {**_of(item, "metadata"), **_of(item, "experimentItemMetadata"), **inputs}
        yield _row(said, own, scores)


def _is_langfuse(answer: Row) -> bool:
    parts = (answer, *_rows(answer, "data"))
    return any("source" in one for part in parts for one in _rows(part, "scores")) or any(
        "expectedOutput" in part and ("datasetId" in part or "experimentId" in part) for part in parts
    )


def _row(said: Row, own: Mapping[str, Any], scores: Iterable[_Score]) -> Row:
    """Return a row of what the tool names, over that the row's own names, and what people and machines said."""
    judged = {str(name) if person else f"machine:{name}": value for name, value, person in scores}
    whole = {**said, **own, **judged}
    return {key: value for key, value in whole.items() if value is not None and not _is_nan(value)}


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_phoenix_score(key: str, row: Mapping[str, Any]) -> bool:
    return key.endswith("_score") and isinstance(row[key], Mapping) and "name" in row[key]


def _of(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = row.get(key)
    return value if isinstance(value, Mapping) else {}


def _rows(row: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = row.get(key)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _text(given: Any) -> Any:
    """Return chat messages as one text, a speaker a line."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        return given
    return "\n".join(f"{one.get('role')}: {one.get('content')}" for one in given if isinstance(one, Mapping))


_TOOLS: Final[Sequence[tuple[Callable[[Row], bool], Callable[[Row], Iterator[Row]]]]] = (
    (lambda row: {"eval", "samples"} <= row.keys(), _inspect),
    (lambda row: "evalId" in row and "results" in _of(row, "results"), _promptfoo),
    (lambda row: {"testCases", "metricsScores"} <= row.keys(), _deepeval),
    (lambda row: any(_is_phoenix_score(key, row) for key in row), _phoenix),
    (_is_langfuse, _langfuse),
)
"""Whether an object is a tool's, and how its rows are read."""
