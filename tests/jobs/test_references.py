"""References beside scores: a constant answer, words, neighbours and people; what holds of them on any rows."""

import functools
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import own_kinds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import claims

import jurist
from jurist.cases import Case
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.measured import warn_if_lopsided
from jurist.evaluation.rows import JudgedRow
from jurist.jobs.references import NAMES, References, score_references, score_references_beside
from jurist.programs.faithqa.writing import FAITHQA_QUERIES
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge


@functools.cache
def _own(kind: str) -> Judge:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "own.py"
        file.write_text(own_kinds.SOURCE, encoding="utf-8")
        return jurist.judge(f"{file}:{kind}")


@functools.cache
def _gold(kind: str) -> jurist.Gold:
    if kind == "fect":
        return jurist.Gold.of(claims(), FECT, "claims")
    return jurist.Gold.of(own_kinds.rows(kind), _own(kind), kind)


def _answers(found: References) -> dict[str, dict[str, Any]]:
    return {name: {row.id: row.predicted for row in one.rows} for name, one in found.by_name.items()}


def _relabelled(case: Case, other: Case) -> Case:
    return replace(case, gold=other.gold)


KINDS = ("fect", *own_kinds.KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_answer_has_them_and_gives_nothing_else_than_it_can(kind: str) -> None:
    gold = _gold(kind)
    found = score_references_beside(gold.judge, gold, gold.cases)
    assert tuple(found.by_name) == NAMES
    for one in found.by_name.values():
        assert [row.id for row in one.rows] == [case.id for case in gold.cases]
        said = [value for row in one.rows for value in row.predicted]
        scale = gold.judge.comparison
        assert [scale.of_json(scale.to_json(value)) for value in said] == list(said)
        assert one.score.interval.low <= one.score.value <= one.score.interval.high
    assert found.to_card()["people"] is None
    assert found.by_name["constant"].answer.startswith("always ")


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_nobody_answers_a_group_whose_labels_it_has_seen(data: st.DataObject) -> None:
    """Whatever is said of a group, it gets the same answers, in parts and after a split."""
    gold = _gold(data.draw(st.sampled_from(KINDS)))
    judge, rows = gold.judge, gold.cases[:16]
    group = data.draw(st.sampled_from(sorted({case.group for case in rows})))
    other = data.draw(st.sampled_from(rows))
    changed = [_relabelled(case, other) if case.group == group else case for case in rows]
    learners = ("words", "neighbours")
    before, after = (_answers(score_references(judge, (), cases)) for cases in (rows, changed))
    own = [case.id for case in rows if case.group == group]
    for name in learners:
        assert [before[name][id_] for id_ in own] == [after[name][id_] for id_ in own]
    asked = [case for case in rows if case.group == group]
    learn = [case for case in rows if case.group != group]
    kept, told, blind = (
        score_references(judge, known, asked)
        for known in (learn, [*learn, *(_relabelled(case, other) for case in asked)], learn)
    )
    assert _answers(kept) == _answers(told) == _answers(blind)


class _Always(dspy.Predict):
    """Says one thing, whatever it is asked."""

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return dspy.Prediction(factual=True)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return self.forward(**inputs)


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "kappa"])
def test_a_constant_judge_has_the_score_of_the_constant(metric: str) -> None:
    rows = [{**row, "factual": number % 5 > 0} for number, row in enumerate(claims())]
    judge = replace(FECT, metric=metric, program=lambda: _Always(FECT.signature))
    found = jurist.evaluate(jurist.load(judge, version="basic"), rows)
    constant = found.references["constant"]
    assert constant["answer"] == 'always "factual"'
    assert constant["score"] == found[metric].value
    # the kappa of one answer to all is 0, whatever the rows
    assert constant["low"] == (0.0 if metric == "kappa" else found[metric].interval.low)
    assert "gives one answer, factual, to 42 of 42 units (100%)" in found.warnings[0]


def test_a_generator_has_none() -> None:
    case = Case(
        inputs=dict.fromkeys(FAITHQA_QUERIES.input_fields, "a text"),
        gold=(FAITHQA_QUERIES.checked.scale.expected,),
    )
    assert set(score_references(FAITHQA_QUERIES, (), [case]).to_card().values()) == {None}


@pytest.mark.parametrize(
    ("gold", "said", "words"),
    [
        ("aaab", "aabb", []),
        (
            "abababababababababab",
            "a" * 20,
            ["j gives one answer, a, to 20 of 20 units (100%), which is the label of 10"],
        ),
        ("aabbc", "aabbb", ["j never answers c, the label of 1 of 5 units"]),
        ("a", "a", []),
    ],
)
def test_answers_that_tell_little_apart_are_told_of(gold: str, said: str, words: list[str]) -> None:
    rows = [
        JudgedRow(id=str(n), group="", gold=(g,), predicted=(s,))
        for n, (g, s) in enumerate(zip(gold, said, strict=True))
    ]
    found = warn_if_lopsided("j", rows, ClosedLabels(("a", "b", "c"), {"b"}))
    assert [one.partition(":")[0] for one in found] == words


def test_the_constant_answer_is_the_one_that_fits_the_rows_it_may_learn_from() -> None:
    cases = _gold("fect").cases
    positive = [case for case in cases if case.labels == ("non_factual",)]
    negative = [case for case in cases if case.labels == ("factual",)]
    judge = replace(FECT, metric="accuracy")
    learn, asked = [*positive[:8], *negative[:2]], [*positive[8:10], *negative[2:10]]
    learned = score_references(judge, [replace(case, group=case.id) for case in learn], asked).constant
    assert learned is not None
    assert learned[0] == 'always "non_factual"'  # though "factual" would fit the rows that are asked
