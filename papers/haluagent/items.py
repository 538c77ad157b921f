"""The benchmark's data: verified questions with their hallucinated answers, and the items made of them.

An item is a row of the benchmark file (JSON Lines). All have ``id``, ``format``, ``group`` (the document), ``topic``,
``language``, ``type`` (the primary hallucination type of the question) and ``question``. Further, by format:

- ``generative``: ``correct_answer``, ``passage`` (what it rests on), ``hallucinated_answer`` (of that type),
  ``entity`` (what the document is about).
- ``single-choice``: ``options`` (four texts), ``option_types`` (``correct`` or a type for each) and ``correct``
  (``A`` to ``D``); ``prompt`` where the item came with a whole prompt of its own.
- ``true-false``: ``answer``, ``correct`` (true: it is the correct answer; false: a hallucinated one).

The authors' released files hold generative and single-choice items, and no true-or-false ones: those are made of the
generative ones (section 3.3). Their single-choice rows hold the whole prompt; an item that has none of its own gets one
in our words.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import pydantic

from ...errors import GoldError
from ...gold.files import Place
from ...gold.sources import OnBad, read, read_typed, refuse
from ...signatures.haluagent_labels import HallucinationType
from ...text.wording import language_of

Format = Literal["generative", "single-choice", "true-false"]
FORMATS: Final[tuple[Format, ...]] = ("generative", "single-choice", "true-false")
LETTERS: Final = "ABCD"
_TYPES: Final[dict[str, HallucinationType]] = {
    "虚构事实": "fabrication",
    "属性错误": "attribute",
    "实体错误": "entity",
    "关系错误": "relation",
    "时空幻觉": "spatiotemporal",
    "虚假引用": "reference",
}
"""The authors' names of the types."""
_GENERATIVE: Final = ("question", "correct_answer", "reason", "halu_type", "ent", "halu_answer")
_CHOICE: Final = ("question", "answers", "labels", "correct_option")
_LAYOUTS: Final = f"give rows with {', '.join(_GENERATIVE)}; or with {', '.join(_CHOICE)}"
_ASKED: Final = re.compile(r"^(?:问题|Question)[：:]\s*(?P<question>.*?)\nA\. ", re.DOTALL | re.MULTILINE)
_PROMPTS: Final = {
    True: "问题：{question}\n{options}\n请选出正确的一项，只回答一个字母（A、B、C 或 D）。",
    False: "Question: {question}\n{options}\nChoose the correct option. Reply with one letter only (A, B, C or D).",
}


class _FrozenModel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")


class Hallucinated(_FrozenModel):
    """A hallucinated answer and its type."""

    text: str = pydantic.Field(min_length=1)
    type: HallucinationType


class Question(_FrozenModel):
    """A verified question: its correct answer and one to three hallucinated ones."""

    id: str
    group: str = ""
    topic: str = ""
    language: str = ""
    question: str = pydantic.Field(min_length=1)
    correct_answer: str = pydantic.Field(min_length=1)
    passage: str = ""
    title: str = ""
    hallucinated: tuple[Hallucinated, ...] = pydantic.Field(min_length=1)

    @property
    def primary(self) -> HallucinationType:
        """The type of most of its hallucinated answers, the first of them if there are several (section 4.1)."""
        kinds = [answer.type for answer in self.hallucinated]
        return max(kinds, key=kinds.count)


class _Row(_FrozenModel):
    id: str = pydantic.Field(min_length=1)
    group: str = ""
    topic: str = ""
    language: str = ""
    type: HallucinationType
    question: str = pydantic.Field(min_length=1)


class Generative(_Row):
    """Answer in free text."""

    format: Literal["generative"] = "generative"
    correct_answer: str = pydantic.Field(min_length=1)
    passage: str = ""
    hallucinated_answer: str = ""
    entity: str = ""


class Choice(_Row):
    """Choose one of four."""

    format: Literal["single-choice"] = "single-choice"
    options: tuple[str, str, str, str]
    option_types: tuple[HallucinationType | Literal["correct"], ...]
    correct: Literal["A", "B", "C", "D"]
    prompt: str = ""

    @pydantic.model_validator(mode="after")
    def _fits(self) -> "Choice":
        if len(set(self.options)) < len(self.options):
            raise ValueError("two options are equal")
        right = []
        for place, kind in enumerate(self.option_types):
            if kind == "correct":
                right.append(LETTERS[place])
        if len(self.option_types) != len(self.options) or right != [self.correct]:
            raise ValueError(f"option_types says that {right} are correct, and correct says {self.correct!r}")
        return self


class TrueFalse(_Row):
    """Return whether an answer is correct."""

    format: Literal["true-false"] = "true-false"
    answer: str = pydantic.Field(min_length=1)
    correct: bool


Item = Annotated[Generative | Choice | TrueFalse, pydantic.Field(discriminator="format")]
_ITEM: Final[pydantic.TypeAdapter[Item]] = pydantic.TypeAdapter(Item)


def item_line(item: Item) -> str:
    """Return an item as its line of the file, without the line break."""
    return json.dumps(item.model_dump(mode="json"), ensure_ascii=False)


def read_items(path: str | Path, on_bad: OnBad = refuse) -> tuple[Item, ...]:
    """Read a benchmark file; ``on_bad`` takes the rows that are no items."""
    return read_typed(path, _ITEM, hint="see docs/haluagent.md for the rows of each format", on_bad=on_bad)


def read_authors(path: str | Path, on_bad: OnBad = refuse) -> tuple[Item, ...]:
    """Read items of all formats from rows in the layout of the authors; ``on_bad`` takes the rows that are no items.

    A generative row gives two true-or-false items beside its own. Documents, which stand in a folder with the items,
    are left out. The columns of a row may stand in any order, beside others. Ids are the numbers of the rows.
    """
    items: list[Item] = []
    for number, (place, row) in enumerate(read(path, on_bad).rows, 1):
        if _is_document(row):
            continue
        try:
            items += _read_row(row, number, place)
        except GoldError as error:
            on_bad(error, row)
    return tuple(items)


def _is_document(row: Mapping[str, Any]) -> bool:
    """Say whether a row of the authors' files is a document that questions were made from."""
    return "knowledge" in row and "question" not in row


def _read_row(row: Mapping[str, Any], number: int, place: Place) -> list[Item]:
    """Return the items of a row of the authors' files. Raises ``GoldError`` for a row that has none."""
    try:
        if row.keys() >= set(_GENERATIVE):
            return _read_generative(row, number)
        if row.keys() >= set(_CHOICE):
            return [_read_choice(row, number)]
    except pydantic.ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field = ".".join(map(str, fault["loc"]))
        raise place.wrong(fault["msg"].removeprefix("Value error, "), field, hint=_LAYOUTS) from error
    except _UnknownTypeError as error:
        hint = "keep the rows with " + ", ".join(_TYPES)
        raise place.wrong(f"C-FAITH has no type called {error}", hint=hint) from error
    raise place.wrong("it is no item of C-FAITH", hint=_LAYOUTS)


class _UnknownTypeError(Exception):
    """A row names a type that is none of the six."""


def _type_called(name: object) -> HallucinationType:
    """Return the type that the authors call so."""
    for authors_name, kind in _TYPES.items():
        if authors_name == name:
            return kind
    raise _UnknownTypeError(repr(name)[:40])


def _listed_values(value: object) -> list[object]:
    """Return the list in a column, which a table holds as JSON text; empty if it is none."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = json.loads(value)
    if isinstance(value, list | tuple):
        return list(value)
    return []


def _read_generative(row: Mapping[str, Any], number: int) -> list[Item]:
    """Return the generative item of a row, and whether each of its two answers is true (section 3.3, Table 4)."""
    common_fields: dict[str, Any] = {
        "group": row["ent"],
        "language": language_of(str(row["question"])),
        "type": _type_called(row["halu_type"]),
        "question": row["question"],
    }
    correct_answer, hallucinated_answer = row["correct_answer"], row["halu_answer"]
    items: list[Item] = [
        Generative(
            id=f"{number}/generative",
            correct_answer=correct_answer,
            passage=row["reason"],
            hallucinated_answer=hallucinated_answer,
            entity=row["ent"],
            **common_fields,
        ),
        TrueFalse(id=f"{number}/true", answer=correct_answer, correct=True, **common_fields),
    ]
    if hallucinated_answer:
        items.append(
            TrueFalse(id=f"{number}/false", answer=hallucinated_answer, correct=False, **common_fields)
        )
    return items


def _read_choice(row: Mapping[str, Any], number: int) -> Item:
    kinds: list[str] = []
    wrong: list[HallucinationType] = []
    for label in _listed_values(row["labels"]):
        if label == "correct":
            kinds.append("correct")
            continue
        kind = _type_called(label)
        kinds.append(kind)
        wrong.append(kind)
    prompt = str(row["question"])
    question = prompt
    match = _ASKED.search(prompt)
    if match:
        question = match["question"]
    return Choice.model_validate(
        {
            "id": f"{number}/single-choice",
            "group": question,
            "language": language_of(question),
            "type": max(wrong, key=wrong.count, default=None),
            "question": question,
            "options": _listed_values(row["answers"]),
            "option_types": kinds,
            "correct": row["correct_option"],
            "prompt": prompt,
        }
    )


def choice_prompt(item: Choice) -> str:
    """Return the prompt of a single-choice item: its own, or question, options and what to reply."""
    options = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, item.options, strict=True))
    return item.prompt or _PROMPTS[item.language == "zh"].format(question=item.question, options=options)
