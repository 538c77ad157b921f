"""The judges of every sentence of a response (CogniBench), what labels imply, and the detector (CogniDet).

One label per sentence says everything: whether it is hallucinated (section 2.2: invented, misleading or speculative),
its type, and, for cognitive statements, its tier. How strict an application needs its answers to be says what counts as
hallucinated: ``rational`` suits entertainment, ``grounded`` assistants, ``irrefutable`` decisions about people's
health, money or rights. What falls below the chosen test is a hallucination; an invented fact is one under all three.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, Self, get_args

import pydantic

from ..cases import Case, Label, Values, text_hash
from ..signatures.cognibench_labels import LABELS, SentenceLabel
from ..text.sentences import locate, split
from ..text.turns import Text, dialogue_text
from .answers.sentences import Listed, PerSentence, Tagged
from .judge import Judge, Row, own_signature
from .options import JudgeOption

Strictness = Literal["rational", "grounded", "irrefutable"]
LEVELS: tuple[str, ...] = get_args(Strictness)
STRICTNESS: Final = "grounded"
"""The default: the paper's own choice for its detection results."""

BELOW: Final[Mapping[str, frozenset[Label]]] = {
    "rational": frozenset({"invented", "misleading"}),
    "grounded": frozenset({"invented", "misleading", "speculative"}),
    "irrefutable": frozenset({"invented", "misleading", "speculative", "reliable"}),
}
"""Strictness -> the sentence labels that are hallucinations under it."""
HALLUCINATED = BELOW[STRICTNESS]


def strictness_option(below: Mapping[str, frozenset[Label]]) -> dict[str, JudgeOption]:
    """Return the option ``strictness`` of a judge, by the labels that are hallucinations under each value."""
    # The prompts ask for the tier, whatever counts as a hallucination.
    settings_of_level: dict[str, Mapping[str, object]] = {}
    for level, labels in below.items():
        settings_of_level[level] = {"positive": labels}
    return {"strictness": settings_of_level}


_TYPES: dict[Label, str] = {"irrelevant": "irrelevant", "faithful": "factual", "invented": "factual"}


def statement_type(label: Label) -> str:
    """Return ``irrelevant``, ``factual`` or ``cognitive``."""
    return _TYPES.get(label, "cognitive")


def verdict_word(label: Label, hallucinated: Collection[Label] = HALLUCINATED) -> str:
    """Return ``irrelevant``, ``faithful`` or ``hallucinated``: the tags of whole-response labelling."""
    if label in hallucinated:
        return "hallucinated"
    if label == "irrelevant":
        return "irrelevant"
    return "faithful"


class Turn(pydantic.BaseModel):
    """One earlier message of a dialogue."""

    role: Literal["user", "assistant"]
    content: str


def _either(schema: dict[str, Any]) -> None:
    """Require in the schema of a row that it has its sentences, or the response that holds them."""
    schema["required"].remove("sentences")
    response = {
        "type": "string",
        "pattern": r"\S",
        "description": "in place of the sentences: it is split into them",
    }
    schema["anyOf"] = [
        {"required": ["sentences"]},
        {"required": ["response"], "properties": {"response": response}},
    ]


class CogniBenchRow(pydantic.BaseModel):
    """One response: its reference, the dialogue before it, its sentences and their labels.

    ``labels`` is as long as ``sentences``; ``null`` stands for an unlabelled sentence. A row may give the
    ``response`` as it is in place of its ``sentences``: then :func:`jurist.text.sentences.split` makes them;
    and the ``dialogue`` as the judge is shown it, in place of ``history`` and ``question``.
    """

    model_config = pydantic.ConfigDict(extra="ignore", json_schema_extra=_either)

    reference: Text = pydantic.Field(min_length=1)
    sentences: list[str] = pydantic.Field(min_length=1)
    response: str | None = None
    history: list[Turn] = pydantic.Field(default_factory=list)
    question: str = ""
    dialogue: Text | None = None
    labels: list[SentenceLabel | None] | None = None
    group: str = ""
    ratings: dict[str, list[SentenceLabel | None]] = pydantic.Field(default_factory=dict)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _split_response(cls, data: object) -> object:
        if not isinstance(data, Mapping) or data.get("sentences") not in (None, ""):
            return data
        response = data.get("response")
        if not isinstance(response, str):
            return data
        sentences = [sentence.text for sentence in split(response)]
        # An empty response gives nothing, which is no missing field.
        return {**data, "sentences": sentences or None}

    @pydantic.model_validator(mode="after")
    def _same_length(self) -> Self:
        if self.labels is not None:
            self._check_length("labels", self.labels)
        for rater, labels in self.ratings.items():
            self._check_length(rater, labels)
        return self

    def _check_length(self, name: str, labels: Sequence[object]) -> None:
        if len(labels) != len(self.sentences):
            raise ValueError(f"{name} has {len(labels)} entries for {len(self.sentences)} sentences")


def dialogue_of(row: CogniBenchRow) -> str:
    """Return the turns before the response, the question last, one to a paragraph with its role."""
    turns = list(row.history)
    if row.question:
        turns.append(Turn(role="user", content=row.question))
    return dialogue_text(turn.model_dump() for turn in turns) or row.dialogue or ""


class _Dialogue(pydantic.BaseModel):
    """The turns of a dialogue, the user first, then in turn."""

    turns: list[Turn] = pydantic.Field(min_length=2)

    @pydantic.field_validator("turns")
    @classmethod
    def _alternate(cls, turns: list[Turn]) -> list[Turn]:
        roles = [turn.role for turn in turns]
        in_turn = roles == ["user", "assistant"] * (len(turns) // 2)
        if not in_turn or not all(turn.content.strip() for turn in turns):
            raise ValueError("the user and the assistant take turns, and each says something")
        return turns


def turns_of(row: Row) -> Sequence[Row]:
    """Return a row for each assistant turn of a dialogue of ``jurist generate dialogue``; another row as it is."""
    if "turns" not in row or row.keys() & {"sentences", "response"}:  # another column of that name
        return (row,)
    turns = [turn.model_dump() for turn in _Dialogue.model_validate({"turns": row["turns"]}).turns]
    shared_fields = {name: row[name] for name in ("reference", "topic", "language") if name in row}
    name = row.get("id") or row.get("group") or "dialogue"
    rows: list[Row] = []
    for start in range(0, len(turns), 2):
        question, answer = turns[start], turns[start + 1]
        rows.append(
            {
                **shared_fields,
                "id": f"{name}_{start // 2}",
                "group": str(row.get("group") or name),
                "history": turns[:start],
                "question": question["content"],
                "response": answer["content"],
            }
        )
    return rows


def _case_of_response(row: CogniBenchRow) -> Case:
    return Case(
        inputs={"reference": row.reference, "dialogue": dialogue_of(row), "sentences": row.sentences},
        group=row.group or text_hash(row.reference)[:12],
        gold=None if row.labels is None else tuple(row.labels),
        ratings={rater: tuple(labels) for rater, labels in row.ratings.items()},
        spans=locate(row.response, row.sentences) if row.response else (),
    )


def sentence_details(label: Label, hallucinated: frozenset[Label]) -> dict[str, str | None]:
    """Return the facts that follow from a sentence's label: ``verdict``, ``type`` and ``tier``."""
    kind = statement_type(label)
    return {
        "verdict": verdict_word(label, hallucinated),
        "type": kind,
        "tier": label if kind == "cognitive" else None,
    }


def response_signature(name: str) -> Any:
    """Return a signature of whole responses by its name, for the declaration of a judge."""
    return own_signature("cognibench", name, "reference", "dialogue", "sentences")


_SENTENCES: dict[str, Any] = {
    "field": "labels",
    "unit": "sentences",
    "labels": LABELS,
    "positive": HALLUCINATED,
    "details": sentence_details,
}


COGNIBENCH = Judge(
    name="cognibench",
    variant="basic",
    description="CogniBench: every sentence of a response, faithful, hallucinated or irrelevant, with type and tier",
    signature=response_signature("TagResponse"),
    answer=PerSentence(**_SENTENCES),
    options=strictness_option(BELOW),
    metric="f1",
    rows=CogniBenchRow,
    to_case=_case_of_response,
    expand=turns_of,
    bundled="cognibench-mini",
)

COGNIBENCH_TAGS = replace(
    COGNIBENCH,
    name="cognibench-tags",
    variant="tags",
    description="CogniBench: the same, every sentence echoed in tags and not numbered (its formative prompting)",
    signature=response_signature("EchoResponse"),
    answer=Tagged(**_SENTENCES),
)
"""The paper's own form; the same rows, labels and rules, so that both can be compared."""


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


def detector_case(row: CogniBenchRow) -> Case:
    """Return the case of a row with two labels (section 2.2): ``hallucinated``, and ``faithful`` for all others."""
    case = _case_of_response(row)
    gold = None if case.gold is None else _merge_labels(case.gold)
    ratings = {rater: _merge_labels(labels) for rater, labels in case.ratings.items()}
    return replace(case, gold=gold, ratings=ratings)


def _merge_labels(labels: Values) -> Values:
    """Return the detector's two labels in place of CogniBench's; of an unlabelled sentence none."""
    merged_labels: list[Label | None] = []
    for label in labels:
        if not label:
            merged_labels.append(label)
        elif label == FOUND or label in HALLUCINATED:
            merged_labels.append(FOUND)
        else:
            merged_labels.append(CLEAR)
    return tuple(merged_labels)


TWO_LABELS: dict[str, Any] = {"unit": "sentences", "labels": (CLEAR, FOUND), "positive": frozenset({FOUND})}
DETECTOR = Judge(
    name="detector",
    variant="basic",
    description="CogniBench's CogniDet: the list of hallucinated sentences of a response, in one pass",
    signature=response_signature("DetectHallucinations"),
    answer=Listed(field="hallucinated", **TWO_LABELS),
    metric="f1",
    rows=DetectorRow,
    to_case=detector_case,
    expand=turns_of,
    bundled="cognibench-mini",
)
