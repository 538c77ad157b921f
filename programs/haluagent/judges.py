"""The four judges of HaluAgent: three verify what was written (appendix A), one compares replies (section 4.2).

What counts as found by a verifier is what it does not let pass: ``no`` and ``uncertain``.
"""

from collections.abc import Mapping
from typing import Any, Final, get_args

import pydantic

from ...cases import Case, text_hash
from ...signatures.haluagent_labels import HallucinationType, Verdict
from ...text.tables import read_table
from ...text.turns import Text
from ...text.wording import language_of
from ..answers.labels import OneLabel
from ..judge import Judge, own_signature

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


def _verifier(name: str, decides: str, signature: Any, field: str, unit: str, **settings: Any) -> Judge:
    """Return a judge that verifies items; ``field`` holds its verdict on ``unit``."""
    return Judge(
        name=name,
        description=f"HaluAgent: {decides}",
        signature=signature,
        answer=OneLabel(
            field=field,
            unit=unit,
            values={verdict: verdict for verdict in get_args(Verdict)},
            positive=_HELD_BACK,
        ),
        metric="f1",
        languages=("en", "zh"),
        bundled=f"haluagent-{name}",
        **settings,
    )


_WRONG: Final = "hallucinated_answer"
ANSWER_CHECK: Final = _verifier(
    "answer-check",
    "is the answer to a question correct and supported",
    own_signature("haluagent", "AnswerCheck", "knowledge", "title", "question", "answer", optional="title"),
    "correct",
    "answer",
)
HALLUCINATION_CHECK: Final = _verifier(
    "hallucination-check",
    "is a hallucinated answer wrong, and yet plausible",
    own_signature(
        "haluagent", "HallucinationCheck", "knowledge", "title", "question", "correct_answer", _WRONG,
        optional="title",
    ),
    "hallucinated",
    _WRONG,
)  # fmt: skip
LABEL_CHECK: Final = _verifier(
    "label-check",
    "does the type of a hallucinated answer fit its definition",
    own_signature(
        "haluagent", "LabelCheck", "title", "question", "correct_answer", _WRONG, "type", "definition"
    ),
    "fits",
    _WRONG,
    rows=LabelCheckRow,
    to_case=_label_case,
    common=("definition",),
)
VERIFIERS: Final = (ANSWER_CHECK, HALLUCINATION_CHECK, LABEL_CHECK)
"""The judges that verify an item, in the order in which they are asked."""
QA_CONFLICT: Final = Judge(
    name="qa-conflict",
    description="C-FAITH: does a reply to a question conflict with the correct answer",
    signature=own_signature("haluagent", "QAConflict", "question", "correct_answer", "response"),
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
