"""Labelled results of Inspect, promptfoo, DeepEval, Phoenix and Langfuse as plain rows.

What a machine said stands under ``machine:NAME``, so that nobody compiles against it without having said so.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from .files import Row, Rows

_Object: TypeAlias = Mapping[str, Any]
_Sample: TypeAlias = tuple[Row, _Object, list[tuple[Any, Any, Any]]]
"""What the tool names, the row's own names, and the scores: name, value, and of a person's why (empty if not said)."""


def unfolded(rows: Rows) -> Rows:
    """Return the rows of a tool's results, numbered from 1; rows of anything else as they are."""
    plain: list[Row] = []
    for _, row in rows:
        read = next((tool for holds, tool in _TOOLS if holds(row)), None)
        if read is None:
            return rows
        for named, own, scores in read(row):
            judged = {f"machine:{name}" if why is None else str(name): value for name, value, why in scores}
            reasons = {f"reason:{name}": why for name, _, why in scores if why}
            whole = {**reasons, **named, **own, **judged}
            absent = [k for k, v in whole.items() if v is None or (isinstance(v, float) and math.isnan(v))]
            plain.append({key: value for key, value in whole.items() if key not in absent})
    return list(enumerate(plain, 1))


def _inspect(log: _Object) -> Iterator[_Sample]:
    """Yield the samples of an evaluation log in JSON; a score that a person edited is that person's."""
    for sample in _list(log, "samples"):
        scores = []
        for name, score in _of(sample, "scores").items():
            edits = [
                by.get("reason") or "" for one in _list(score, "history") if (by := _of(one, "provenance"))
            ]
            scores.append((name, score.get("value"), edits[-1] if edits else None))
        asked = sample.get("input")
        if isinstance(asked, list):  # chat messages, a speaker a line
            told = (one for one in asked if isinstance(one, Mapping))
            asked = "\n".join(f"{one.get('role')}: {one.get('content')}" for one in told)
        output = _of(sample, "output").get("completion")
        yield (
            {"input": asked, "output": output, "expected": sample.get("target")},
            _of(sample, "metadata"),
            scores,
        )


def _promptfoo(results: _Object) -> Iterator[_Sample]:
    """Yield the results of an evaluation; a rating given on its page is a person's, and called ``human``."""
    for one in _list(_of(results, "results"), "results"):
        parts = _list(_of(one, "gradingResult"), "componentResults")
        rated = [part.get("pass") for part in parts if _of(part, "assertion").get("type") == "human"]
        comment = _of(one, "gradingResult").get("comment") or ""
        score = ("human", rated[-1], comment) if rated else ("pass", one.get("success"), None)
        yield {"output": _of(one, "response").get("output")}, _of(one, "vars"), [score]


def _deepeval(run: _Object) -> Iterator[_Sample]:
    """Yield the test cases of a test run; all of its scores are a machine's."""
    names = {
        "input": "input",
        "output": "actualOutput",
        "expected": "expectedOutput",
        "context": "context",
        "retrieval_context": "retrievalContext",
    }
    for one in _list(run, "testCases"):
        scores = [(part.get("name"), part.get("score"), None) for part in _list(one, "metricsData")]
        yield {ours: one.get(theirs) for ours, theirs in names.items()}, _of(one, "metadata"), scores


def _phoenix(row: _Object) -> Iterator[_Sample]:
    """Yield a row of evaluated data; scores of the kind ``human`` are a person's."""
    scores = _phoenix_scores(row)
    own = {key: row[key] for key in row if key not in scores and not key.endswith("_execution_details")}
    judged = []
    for score in scores.values():
        why = (score.get("explanation") or "") if score.get("kind") == "human" else None
        judged.append((score["name"], score.get("label", score.get("score")), why))
    yield {}, own, judged


def _phoenix_scores(row: _Object) -> _Object:
    return {key: score for key in row if key.endswith("_score") and "name" in (score := _of(row, key))}


def _langfuse(answer: _Object) -> Iterator[_Sample]:
    """Yield an experiment's or dataset's items, or traces, as the API gives them; annotations are a person's."""
    for item in _list(answer, "data") if "data" in answer else [answer]:
        scores = []
        for one in _list(item, "scores"):
            why = (one.get("comment") or "") if one.get("source") == "ANNOTATION" else None
            scores.append((one.get("name"), one.get("stringValue") or one.get("value"), why))
        asked = item.get("input")
        inputs = asked if isinstance(asked, Mapping) else {"input": asked}
        names = {"output": "output", "expected": "expectedOutput", "group": "sessionId"}
        named = {ours: item.get(theirs) for ours, theirs in names.items()}
        yield named, {**_of(item, "metadata"), **_of(item, "experimentItemMetadata"), **inputs}, scores


def _is_langfuse(answer: _Object) -> bool:
    parts = (answer, *_list(answer, "data"))
    return any("source" in one for part in parts for one in _list(part, "scores")) or any(
        "expectedOutput" in part and ("datasetId" in part or "experimentId" in part) for part in parts
    )


def _of(row: _Object, key: str) -> _Object:
    value = row.get(key)
    return value if isinstance(value, Mapping) else {}


def _list(row: _Object, key: str) -> list[_Object]:
    value = row.get(key)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


_TOOLS: Final[Sequence[tuple[Callable[[_Object], Any], Callable[[_Object], Iterator[_Sample]]]]] = (
    (lambda row: {"eval", "samples"} <= row.keys(), _inspect),
    (lambda row: "evalId" in row and "results" in _of(row, "results"), _promptfoo),
    (lambda row: {"testCases", "metricsScores"} <= row.keys(), _deepeval),
    (_phoenix_scores, _phoenix),
    (_is_langfuse, _langfuse),
)
"""Whether an object is a tool's, and how its samples are read."""
