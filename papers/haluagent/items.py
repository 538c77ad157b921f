"""The benchmark's data: verified questions with their hallucinated answers, and the items made of them.

An item is a row of the benchmark file (JSON Lines). All have ``id``, ``format``, ``group`` (the document), ``topic``,
``language``, ``type`` (the primary hallucination type of the question) and ``question``. Further, by format:

- ``generative``: ``correct_answer``, ``passage`` (what it rests on), ``hallucinated_answer`` (of that type),
  ``entity`` (what the document is about).
- ``single-choice``: ``options`` (four texts), ``option_types`` (``correct`` or a type for each) and ``correct``
  (``A`` to ``D``); ``prompt`` where the item came with a whole prompt of its own.
- ``true-false``: ``answer``, ``correct`` (true: it is the correct answer; false: a hallucinated one).
"""

import json
from pathlib import Path
from typing import Annotated, Final, Literal

import pydantic

from ...gold.typed_rows import read_typed
from ...signatures.haluagent import HallucinationType

Format = Literal["generative", "single-choice", "true-false"]
FORMATS: Final[tuple[Format, ...]] = ("generative", "single-choice", "true-false")
LETTERS: Final = "ABCD"


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
        kinds = [one.type for one in self.hallucinated]
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
        right = [LETTERS[place] for place, kind in enumerate(self.option_types) if kind == "correct"]
        if len(self.option_types) != len(self.options) or right != [self.correct]:
            raise ValueError(f"option_types says that {right} are correct, and correct says {self.correct!r}")
        return self


class TrueFalse(_Row):
    """Say whether an answer is correct."""

    format: Literal["true-false"] = "true-false"
    answer: str = pydantic.Field(min_length=1)
    correct: bool


Item = Annotated[Generative | Choice | TrueFalse, pydantic.Field(discriminator="format")]
_ITEM: Final[pydantic.TypeAdapter[Item]] = pydantic.TypeAdapter(Item)
_FIRST: Final = ("id", "format")


def item_line(item: Item) -> str:
    """Return an item as its line of the file, without the line break."""
    row = item.model_dump(mode="json")
    ordered = {name: row[name] for name in _FIRST} | {name: row[name] for name in row if name not in _FIRST}
    return json.dumps(ordered, ensure_ascii=False)


def read_items(path: str | Path) -> tuple[Item, ...]:
    """Read a benchmark file."""
    return read_typed(path, _ITEM, hint="see docs/haluagent.md for the rows of each format")
