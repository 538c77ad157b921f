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
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import pydantic

from ...errors import GoldError
from ...gold.sources import read, read_typed
from ...signatures.haluagent import HallucinationType
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
_ASKED: Final = re.compile(r"^(?:问题|Question)[：:]\s*(?P<question>.*?)\nA\. ", re.DOTALL | re.MULTILINE)
_PROMPTS: Final = {
    True: "问题：{question}\n{options}\n请选出正确的一项，只回答一个字母（A、B、C 或 D）。",
    False: "Question: {question}\n{options}\nChoose the correct option. Reply with one letter only (A, B, C or D).",
}


class _Frozen(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")


class Hallucinated(_Frozen):
    """A hallucinated answer and its type."""

    text: str = pydantic.Field(min_length=1)
    type: HallucinationType


class Question(_Frozen):
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


class _Row(_Frozen):
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


def read_items(path: str | Path) -> tuple[Item, ...]:
    """Read a benchmark file."""
    return read_typed(path, _ITEM, hint="see docs/haluagent.md for the rows of each format")


def read_authors(path: str | Path) -> tuple[Item, ...]:
    """Read generative or single-choice items of the authors; their ids are the numbers of their lines."""
    hint = f"give rows with {', '.join(_GENERATIVE)}; or with {', '.join(_CHOICE)}"
    items = []
    for number, (_, row) in enumerate(read(path).rows, 1):
        problem = ""
        try:
            read_item = {_GENERATIVE: _read_generative, _CHOICE: _read_choice}.get(tuple(row))
            if read_item:
                items.append(read_item(row, number))
                continue
        except (pydantic.ValidationError, KeyError, TypeError) as error:
            problem = f": {str(error).splitlines()[0]}"
        raise GoldError(f"it is no item of C-FAITH{problem}", path=str(path), line=number, hint=hint)
    return tuple(items)


def _read_generative(row: dict[str, Any], number: int) -> Item:
    return Generative(
        id=f"{number}/generative",
        group=row["ent"],
        language=language_of(row["question"]),
        type=_TYPES[row["halu_type"]],
        question=row["question"],
        correct_answer=row["correct_answer"],
        passage=row["reason"],
        hallucinated_answer=row["halu_answer"],
        entity=row["ent"],
    )


def _read_choice(row: dict[str, Any], number: int) -> Item:
    kinds, wrong = [], []
    for label in row["labels"]:
        if label == "correct":
            kinds.append(label)
        else:
            kinds.append(_TYPES[label])
            wrong.append(_TYPES[label])
    question = row["question"]
    match = _ASKED.search(question)
    if match:
        question = match["question"]
    return Choice.model_validate(
        {
            "id": f"{number}/single-choice",
            "group": question,
            "language": language_of(question),
            "type": max(wrong, key=wrong.count),
            "question": question,
            "options": row["answers"],
            "option_types": kinds,
            "correct": row["correct_option"],
            "prompt": row["question"],
        }
    )


def choice_prompt(item: Choice) -> str:
    """Return the prompt of a single-choice item: its own, or question, options and what to reply."""
    options = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, item.options, strict=True))
    return item.prompt or _PROMPTS[item.language == "zh"].format(question=item.question, options=options)
