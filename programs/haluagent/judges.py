"""The four judges of HaluAgent: three verify what was written (appendix A), one compares replies (section 4.2).

What counts as found by a verifier is what it does not let pass: ``no`` and ``uncertain``.
"""

from collections.abc import Mapping
from typing import Any, Final

import dspy
import pydantic

from ...cases import Case, text_hash
from ...signatures.haluagent import (
    AnswerCheck,
    HallucinationCheck,
    HallucinationType,
    LabelCheck,
    QAConflict,
    Verdict,
)
from ...text.tables import read_table
from ...text.turns import Text
from ...text.wording import language_of
from ..answers.labels import OneLabel
from ..judge import Judge

DEFINITIONS: Final[Mapping[str, Any]] = read_table(__package__, "definitions")
"""Language -> type -> when the type applies."""


def definition(kind: HallucinationType, language: str) -> str:
    """Return when a type applies, in ``zh`` or (any other language) in English."""
    return str(DEFINITIONS["zh" if language == "zh" else "en"][kind])


_HELD_BACK: Final = frozenset({"no", "uncertain"})


class LabelCheckRow(pydantic.BaseModel):
    """A row of ``label-check``: the definition follows from the type and the language of the question."""

    model_config = pydantic.ConfigDict(extra="ignore")

    title: Text = ""
    question: Text = pydantic.Field(min_length=1)
    correct_answer: Text = pydantic.Field(min_length=1)
    hallucinated_answer: Text = pydantic.Field(min_length=1)
    type: HallucinationType
    fits: Verdict | None = None
    group: str = ""
    ratings: dict[str, Verdict | None] = pydantic.Field(default_factory=dict)


def _label_case(row: LabelCheckRow) -> Case:
    inputs: dict[str, Any] = row.model_dump(
        include={"title", "question", "correct_answer", "hallucinated_answer", "type"}
    )
    inputs["definition"] = definition(row.type, language_of(row.question))
    return Case(
        inputs=inputs,
        group=row.group or text_hash(row.question)[:12],
        gold=None if row.fits is None else (row.fits,),
        ratings={rater: (value,) for rater, value in row.ratings.items()},
    )


_WRONG: Final = "hallucinated_answer"
_DECIDE: Final[tuple[tuple[str, str, type[dspy.Signature], dict[str, Any]], ...]] = (
    ("answer", "is the answer to a question correct and supported", AnswerCheck, {"unit": "answer"}),
    ("hallucination", "is a hallucinated answer wrong, and yet plausible", HallucinationCheck, {"unit": _WRONG}),
    ("label", "does the type of a hallucinated answer fit its definition", LabelCheck,
     {"unit": _WRONG, "rows": LabelCheckRow, "to_case": _label_case, "common": ("definition",)}),
)  # fmt: skip
VERIFIERS: Final = tuple(
    Judge(
        name=f"{name}-check",
        description=f"HaluAgent: {decides}",
        signature=signature,
        positive=_HELD_BACK,
        metric="f1",
        languages=("en", "zh"),
        bundled=f"haluagent-{name}-check",
        **settings,
    )
    for name, decides, signature, settings in _DECIDE
)
"""The judges that verify an item, in the order in which they are asked."""
ANSWER_CHECK, HALLUCINATION_CHECK, LABEL_CHECK = VERIFIERS
QA_CONFLICT: Final = Judge(
    name="qa-conflict",
    description="C-FAITH: does a reply to a question conflict with the correct answer",
    signature=QAConflict,
    answer=OneLabel(
        field="conflict",
        unit="response",
        values={"conflict": True, "agrees": False},
        positive=frozenset({"conflict"}),
    ),
    metric="f1",
    languages=("en", "zh"),
    bundled="haluagent-qa-conflict",
)
