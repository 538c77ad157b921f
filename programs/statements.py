"""Judges of one sentence: what it does, and whether a stated fact is there (CogniBench sections 2.1, 2.2).

Their rows are sentences. A row of CogniBench (a whole response with a label for
each sentence) is expanded: each sentence that concerns the judge becomes a row,
with the response before it as context, and its group stays the dialogue's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic

from ..cases import Case, Label, text_hash
from ..signatures.cognibench import LABELS, FactIsFaithful, Faithfulness, StatementType, TypeOfStatement
from ..text.sentences import locate
from .cognibench import CogniBenchRow, dialogue_of, statement_type
from .judge import Judge


class SentenceRow(pydantic.BaseModel):
    """One sentence of a response: its reference, the dialogue, and what the response said before it.

    ``span`` is its (start, end) in the response, where that is known.
    """

    model_config = pydantic.ConfigDict(extra="ignore")

    reference: str = pydantic.Field(min_length=1)
    dialogue: str = ""
    before: str = ""
    sentence: str = pydantic.Field(min_length=1)
    group: str = ""
    span: tuple[int, int] | None = None


class TypeRow(SentenceRow):
    """A sentence with its type."""

    statement_type: StatementType | None = None


class FactRow(SentenceRow):
    """A factual sentence, faithful or invented."""

    faithfulness: Faithfulness | None = None


def case_of(field: str) -> Callable[[SentenceRow], Case]:
    """Return what makes a case of a row whose label is in ``field``."""

    def make(row: SentenceRow) -> Case:
        label = getattr(row, field)
        return Case(
            inputs={name: getattr(row, name) for name in ("reference", "dialogue", "before", "sentence")},
            group=row.group or text_hash(row.reference)[:12],
            gold=None if label is None else (label,),
            spans=() if row.span is None else (row.span,),
        )

    return make


def response_of(row: Mapping[str, Any]) -> CogniBenchRow | None:
    """Return the response that a row holds, or ``None`` if it is a row about one sentence, or something else."""
    if "sentence" in row or not row.keys() & {"sentences", "response"}:
        return None
    return CogniBenchRow.model_validate(dict(row))


@dataclass(frozen=True, kw_only=True)
class BySentence:
    """Expands the row of a response into the sentences that concern a judge of one sentence.

    A sentence that nobody labelled concerns every judge, and comes out unlabelled. Raters who gave a
    sentence a label that does not concern the judge are not among its ratings.
    """

    field: str  # where the judge's rows hold the label
    # CogniBench's label of a sentence -> the judge's; a label that is not there does not concern it
    labels: Mapping[Label, Label]

    def __call__(self, row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return the rows of the sentences; the row itself if it is none of a response."""
        response = response_of(row)
        if response is None:
            return (row,)
        shared = {
            "reference": response.reference,
            "dialogue": dialogue_of(response),
            "group": response.group or text_hash(response.reference)[:12],
        }
        spans = locate(response.response, response.sentences) if response.response else ()
        found = []
        for place, sentence in enumerate(response.sentences):
            gold = response.labels[place] if response.labels else None
            said = {rater: given[place] for rater, given in response.ratings.items() if given[place]}
            rated = {
                rater: self.labels[label] for rater, label in said.items() if label and label in self.labels
            }
            if not sentence.strip() or not (gold in self.labels if gold else rated or not said):
                continue
            mine: dict[str, Any] = {
                **shared,
                "before": " ".join(response.sentences[:place]),
                "sentence": sentence,
                self.field: self.labels[gold] if gold else None,
                **({"span": list(spans[place])} if spans else {}),
            }
            found.append({**mine, "ratings": rated} if rated else mine)
        return found


STATEMENT_TYPE = Judge(
    name="statement-type",
    description="CogniBench: does a sentence state facts, go beyond them (cognitive), or neither (irrelevant)",
    signature=TypeOfStatement,
    positive=frozenset({"cognitive"}),
    metric="macro_f1",  # no type is the one that is looked for
    rows=TypeRow,
    unit="sentence",
    to_case=case_of("statement_type"),
    expand=BySentence(field="statement_type", labels={label: statement_type(label) for label in LABELS}),
    bundled="cognibench-mini",
)

FACTUAL = Judge(
    name="factual",
    description="CogniBench: is a sentence that states facts faithful to the reference, or invented",
    signature=FactIsFaithful,
    positive=frozenset({"invented"}),
    metric="f1",
    rows=FactRow,
    unit="sentence",
    to_case=case_of("faithfulness"),
    expand=BySentence(field="faithfulness", labels={label: label for label in ("faithful", "invented")}),
    bundled="cognibench-mini",
)
