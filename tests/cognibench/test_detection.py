"""Scores of hallucinated sentences by kind and by words, against scikit-learn and by enumeration."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from jurist.engines.ledger import Spend
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.rows import JudgedRow
from jurist.papers.cognibench.detection import KINDS, STATISTICS, DetectorScores
from jurist.programs.cognibench import BELOW, statement_type
from jurist.signatures.cognibench_labels import LABELS

KIND_OF = {label: statement_type(label) for label in LABELS}
GROUNDED = BELOW["grounded"]
KIND = ClosedLabels(LABELS, GROUNDED)
WORDS = ("one", "two words", "and three words", "七个字的中文句")


def row(name: str, gold: Sequence[str | None], predicted: Sequence[str | None]) -> JudgedRow:
    return JudgedRow(id=name, group=f"g{len(name) % 3}", gold=tuple(gold), predicted=tuple(predicted))


def scored(rows: Sequence[JudgedRow]) -> DetectorScores:
    return DetectorScores.of(rows, texts_of(rows), KIND, name="d", model="m", spend=Spend())


def texts_of(rows: Sequence[JudgedRow]) -> dict[str, list[str]]:
    return {one.id: [WORDS[place % len(WORDS)] for place in range(len(one.gold))] for one in rows}


labels = st.sampled_from(LABELS)
answers = st.one_of(st.none(), labels)


@st.composite
def responses(draw: st.DrawFn, gaps: bool = True) -> list[JudgedRow]:
    rows = []
    for number in range(draw(st.integers(1, 5))):
        gold = draw(st.lists(answers, min_size=1, max_size=6))
        said = [draw(answers if gaps else labels) for _ in gold]
        rows.append(row("r" * (number + 1), gold, said))
    labelled = any(label for one in rows for label in one.gold)
    return rows if labelled else [row("r", ["invented"], ["faithful"])]


def sides(rows: Sequence[JudgedRow], kind: str) -> tuple[list[bool], list[bool], list[int]]:
    """Gold and predicted sides and words of the answered sentences of a kind, without any code of ours."""
    gold, said, words = [], [], []
    for one in rows:
        for place, (truth, answer) in enumerate(zip(one.gold, one.predicted, strict=True)):
            if truth is None or answer is None or (kind != "overall" and KIND_OF[truth] != kind):
                continue
            gold.append(truth in GROUNDED)
            said.append(answer in GROUNDED)
            words.append((1, 2, 3, 7)[place % 4])
    return gold, said, words


@settings(max_examples=60)
@given(responses())
def test_scikit_learn_says_the_same(rows: list[JudgedRow]) -> None:
    found = scored(rows)
    for weighting in ("sentence", "word"):
        macro: list[tuple[float, ...]] = []
        for kind in ("factual", "cognitive", "overall"):
            gold, said, words = sides(rows, kind)
            weights = words if weighting == "word" else None
            expected: Any = (0.0, 0.0, 0.0)
            if gold:
                expected = precision_recall_fscore_support(
                    gold, said, average="binary", zero_division=0, sample_weight=weights
                )[:3]
            ours = tuple(found.cell(kind, name, weighting).value for name in STATISTICS)  # type: ignore[arg-type]
            assert ours == pytest.approx(expected), (kind, weighting)
            macro += [expected] if kind != "overall" else []
        ours = tuple(found.cell("macro", name, weighting).value for name in STATISTICS)  # type: ignore[arg-type]
        assert ours == pytest.approx([(one + two) / 2 for one, two in zip(*macro, strict=True)])


@settings(max_examples=25)
@given(st.lists(st.tuples(labels, answers), min_size=1, max_size=4))
def test_bounds_hold_whatever_the_unanswered_would_have_been(pairs: list[tuple[str, str | None]]) -> None:
    rows = [row("a", [gold for gold, _ in pairs], [said for _, said in pairs])]
    found = scored(rows)
    holes = [place for place, (_, said) in enumerate(pairs) if said is None]
    seen: dict[tuple[str, str], list[float]] = {}
    for filling in itertools.product(("invented", "faithful"), repeat=len(holes)):
        said = list(rows[0].predicted)
        for place, label in zip(holes, filling, strict=True):
            said[place] = label
        full = scored([replace(rows[0], predicted=tuple(said))])
        for kind in KINDS:
            for name in STATISTICS:
                seen.setdefault((kind, name), []).append(full.cell(kind, name).value)
    for (kind, name), values in seen.items():
        score = found.cell(kind, name)  # type: ignore[arg-type]
        assert (score.worst, score.best) == pytest.approx((min(values), max(values))), (kind, name)
