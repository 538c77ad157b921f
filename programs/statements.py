"""Judges of one sentence: what it does, whether a stated fact is there, and its tier (CogniBench sections 2.1, 2.2).

Their rows are sentences. A row of CogniBench (a whole response with a label for each sentence, or a dialogue) is
expanded: each sentence that concerns the judge becomes a row, with the response before it as context, and its group
stays the dialogue's.

The tier of a cognitive statement takes up to three decisions in sequence (figure 3). Is it rational? Only if so: is it
grounded? Only if so: is it irrefutable? The first no ends it, as it does for the paper's annotators (table 1: deciding
in sequence agrees better than choosing among the tiers). Each decision is a call of its own with its reason; a reply
that cannot be read makes the whole sample unusable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, get_args

import pydantic

from ..cases import Case, Label, text_hash
from ..signatures.cognibench_labels import LABELS, TIERS, Faithfulness, StatementType, Tier
from ..text.sentences import locate
from ..text.turns import Text
from .answers.labels import OneLabel
from .cognibench import (
    BELOW,
    STRICTNESS,
    CogniBenchRow,
    dialogue_of,
    statement_type,
    strictness_option,
    turns_of,
)
from .judge import Judge, OwnProgram, Row, own_signature

if TYPE_CHECKING:
    from .state import Demo


class SentenceRow(pydantic.BaseModel):
    """One sentence of a response: its reference, the dialogue, and what the response said before it.

    ``span`` is its (start, end) in the response, where that is known.
    """

    model_config = pydantic.ConfigDict(extra="ignore")

    reference: Text = pydantic.Field(min_length=1)
    dialogue: Text = ""
    before: Text = ""
    sentence: Text = pydantic.Field(min_length=1)
    group: str = ""
    span: tuple[int, int] | None = None


def by_sentence(row: Row, field: str, labels: Mapping[Label, Label]) -> Sequence[Row]:
    """Return the rows of a response's sentences, or a dialogue's, that concern a judge; another row as it is."""
    # ``labels`` are CogniBench's labels with the judge's, which go to ``field``; a label that is not there does not
    # concern it. A sentence that nobody labelled concerns every judge, and comes out unlabelled. Raters who gave a
    # sentence a label that does not concern the judge are not among its ratings.
    if "sentence" in row or not row.keys() & {"sentences", "response", "turns"}:
        return (row,)
    rows: list[Row] = []
    for response_row in turns_of(row):
        rows.extend(_rows_of_response(response_row, field, labels))
    return rows


def _rows_of_response(row: Row, field: str, labels: Mapping[Label, Label]) -> list[Row]:
    """Return the rows of a response's sentences that concern a judge."""
    response = CogniBenchRow.model_validate(dict(row))
    shared_fields = {
        "reference": response.reference,
        "dialogue": dialogue_of(response),
        "group": response.group or text_hash(response.reference)[:12],
    }
    spans = locate(response.response, response.sentences) if response.response else ()
    rows: list[Row] = []
    for place, sentence in enumerate(response.sentences):
        gold = response.labels[place] if response.labels else None
        ratings = _ratings_of_sentence(response, place)
        judge_ratings: dict[str, Label] = {}
        for rater, label in ratings.items():
            if label in labels:
                judge_ratings[rater] = labels[label]
        is_concerned = bool(judge_ratings) or not ratings
        if gold:
            is_concerned = gold in labels
        if not sentence.strip() or not is_concerned:
            continue
        sentence_row: dict[str, object] = {
            **shared_fields,
            "before": " ".join(response.sentences[:place]),
            "sentence": sentence,
            field: labels[gold] if gold else None,
        }
        if spans:
            sentence_row["span"] = list(spans[place])
        if judge_ratings:
            sentence_row["ratings"] = judge_ratings
        rows.append(sentence_row)
    return rows


def _ratings_of_sentence(response: CogniBenchRow, place: int) -> dict[str, Label]:
    """Return rater -> label of a sentence, of the raters who labelled it."""
    ratings: dict[str, Label] = {}
    for rater, labels in response.ratings.items():
        label = labels[place]
        if label:
            ratings[rater] = label
    return ratings


def _judge_of_sentence(field: str, kind: Any, labels: Mapping[Label, Label]) -> dict[str, Any]:
    """Return the settings that differ between judges of one sentence: rows, and how they become cases."""

    def case(row: Any) -> Case:
        label = getattr(row, field)
        return Case(
            inputs={
                "reference": row.reference,
                "dialogue": row.dialogue,
                "before": row.before,
                "sentence": row.sentence,
            },
            group=row.group or text_hash(row.reference)[:12],
            gold=None if label is None else (label,),
            spans=() if row.span is None else (row.span,),
        )

    column: dict[str, Any] = {field: (kind | None, None)}
    return {
        "rows": pydantic.create_model(f"{field}_row", __base__=SentenceRow, **column),
        "to_case": case,
        "expand": partial(by_sentence, field=field, labels=labels),
        "bundled": "cognibench-mini",
    }


def _sentence_signature(name: str) -> Any:
    """Return a signature of one sentence by its name, for the declaration of a judge."""
    return own_signature("cognibench", name, "reference", "dialogue", "before", "sentence")


def _answer(field: str, labels: Sequence[Label], positive: frozenset[Label]) -> OneLabel:
    """Return the answer of a judge of one sentence."""
    return OneLabel(
        field=field, unit="sentence", values={label: label for label in labels}, positive=positive
    )


STATEMENT_TYPE = Judge(
    name="statement-type",
    description="CogniBench: does a sentence state facts, go beyond them (cognitive), or neither (irrelevant)",
    signature=_sentence_signature("TypeOfStatement"),
    answer=_answer("statement_type", get_args(StatementType), frozenset({"cognitive"})),
    metric="macro_f1",  # no type is the one that is looked for
    **_judge_of_sentence("statement_type", StatementType, {label: statement_type(label) for label in LABELS}),
)
FACTUAL = Judge(
    name="factual",
    description="CogniBench: is a sentence that states facts faithful to the reference, or invented",
    signature=_sentence_signature("FactIsFaithful"),
    answer=_answer("faithfulness", get_args(Faithfulness), frozenset({"invented"})),
    metric="f1",
    **_judge_of_sentence("faithfulness", Faithfulness, {"faithful": "faithful", "invented": "invented"}),
)


STEPS: Final = ("rational", "grounded", "irrefutable")
_BELOW: Final = {level: labels - {"invented"} for level, labels in BELOW.items()}
"""Strictness -> the tiers that are hallucinations under it: of cognitive sentences only."""


def decisions(tier: Label) -> dict[str, bool]:
    """Return the decisions that lead to a tier, in order: ``speculative`` is rational and not grounded."""
    failed = TIERS.index(tier)
    passed_steps: dict[str, bool] = {}
    for place, step in enumerate(STEPS[: failed + 1]):
        passed_steps[step] = place < failed
    return passed_steps


def _demonstrate_decisions(case: Case) -> "dict[str, Demo]":
    """Return the decisions that gold implies; gold has no reasons, and steps that it does not come to are absent."""
    label = case.gold[0] if case.gold else None
    if label is None:
        raise ValueError(f"case {case.id} has no gold labels")
    inputs = TIER.prompt_values(case.inputs)
    demos: dict[str, Demo] = {}
    for step, passed in decisions(label).items():
        demos[step] = {**inputs, step: passed}
    return demos


TIER = Judge(
    name="tier",
    variant="steps",
    description="CogniBench: the tier of a sentence that goes beyond facts: rational, then grounded, then irrefutable",
    signature=_sentence_signature("TierOfStatement"),
    program=OwnProgram("tier_steps", "TierSteps"),
    answer=replace(
        _answer("tier", TIERS, _BELOW[STRICTNESS]),
        details=lambda tier, hallucinated: {**dict.fromkeys(STEPS), **decisions(tier)},
    ),
    options=strictness_option(_BELOW),
    metric="f1",
    demonstrations=_demonstrate_decisions,
    **_judge_of_sentence("tier", Tier, {tier: tier for tier in TIERS}),
)
TIER_DIRECT = replace(
    TIER,
    name="tier-direct",
    variant="direct",
    description="CogniBench: the same tier, chosen among the four in one call (the other line of Table 1)",
    signature=_sentence_signature("TierOfStatement"),
    program=None,
    demonstrations=None,
)
