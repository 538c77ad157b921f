"""The detector (CogniBench's CogniDet): which sentences of a response are hallucinated, in a single pass.

It reads the same rows as the judge ``cognibench`` and has the same case ids, so that both can be scored on the same
gold. Invented, misleading and speculative sentences are hallucinated (section 2.2); all others, irrelevant ones
included, count as faithful.
"""

from dataclasses import replace
from typing import Any, Literal

import pydantic

from ..cases import Case, Label, Labels
from ..signatures.cognibench import SentenceLabel
from ..signatures.detector import DetectHallucinations
from .answers.sentences import PerSentence
from .answers.spans import Listed
from .cognibench import COGNIBENCH, HALLUCINATED, CogniBenchRow
from .judge import Judge

FOUND = "hallucinated"
CLEAR = "faithful"


class DetectorRow(CogniBenchRow):
    """A CogniBench row; its labels are that benchmark's, or ``hallucinated`` and ``faithful``."""

    labels: list[SentenceLabel | Literal["hallucinated"] | None] | None = pydantic.Field(  # type: ignore[assignment]
        default=None, validation_alias=pydantic.AliasChoices("labels", "hallucinated")
    )
    ratings: dict[str, list[SentenceLabel | Literal["hallucinated"] | None]] = pydantic.Field(  # type: ignore[assignment]
        default_factory=dict
    )


def detector_case(row: Any) -> Case:
    """Return the case of a row, its labels as ``hallucinated`` or ``faithful``."""
    assert COGNIBENCH.to_case is not None
    case = COGNIBENCH.to_case(row)
    return replace(
        case,
        gold=None if case.gold is None else _two(case.gold),
        ratings={rater: _two(labels) for rater, labels in case.ratings.items()},
    )


def _two(labels: Labels) -> Labels:
    return tuple(map(_one, labels))


def _one(label: Label | None) -> Label | None:
    if label is None:
        return None
    return FOUND if label == FOUND or label in HALLUCINATED else CLEAR


LISTED = PerSentence(
    field="hallucinated",
    unit="sentences",
    labels=(CLEAR, FOUND),
    positive=frozenset({FOUND}),
    form=Listed(),
)
DETECTOR = Judge(
    name="detector",
    variant="basic",
    description="CogniBench's CogniDet: the list of hallucinated sentences of a response, in one pass",
    signature=DetectHallucinations,
    answer=LISTED,
    metric="f1",
    rows=DetectorRow,
    to_case=detector_case,
    bundled="cognibench-mini",
)
