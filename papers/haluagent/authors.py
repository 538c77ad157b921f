"""The authors' released files: documents, generative items and single-choice items, read and written.

A file that is read and written again is the same, byte for byte. Their single-choice rows hold the whole prompt; an
item that has none of its own gets one in our words. They hold no true-or-false items: those are made of
the generative ones (section 3.3).
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pydantic

from ...errors import GoldError, UsageError
from ...gold.readers import read
from ...signatures.haluagent import HallucinationType
from ...text.wording import is_chinese
from .items import LETTERS, Choice, Generative, Item

AUTHORS_TYPES: Final[dict[HallucinationType, str]] = {
    "fabrication": "虚构事实",
    "attribute": "属性错误",
    "entity": "实体错误",
    "relation": "关系错误",
    "spatiotemporal": "时空幻觉",
    "reference": "虚假引用",
}
_TYPES: Final = {name: kind for kind, name in AUTHORS_TYPES.items()}
_GENERATIVE: Final = ("question", "correct_answer", "reason", "halu_type", "ent", "halu_answer")
_CHOICE: Final = ("question", "answers", "labels", "correct_option")
_ASKED: Final = re.compile(r"^(?:问题|Question)[：:]\s*(?P<question>.*?)\nA\. ", re.DOTALL | re.MULTILINE)
_PROMPTS: Final = {
    True: "问题：{question}\n{options}\n请选出正确的一项，只回答一个字母（A、B、C 或 D）。",
    False: "Question: {question}\n{options}\nChoose the correct option. Reply with one letter only (A, B, C or D).",
}


def is_authors_row(row: Any) -> bool:
    """Say whether a row is a generative or single-choice item as the authors write it."""
    return isinstance(row, dict) and tuple(row) in (_GENERATIVE, _CHOICE)


def read_authors(path: str | Path) -> tuple[Item, ...]:
    """Read generative or single-choice items of the authors; their ids are the numbers of their lines."""
    return tuple(_item(row, number, str(path)) for number, row in read(path).rows)


def _item(row: dict[str, Any], number: int, path: str) -> Item:
    hint = f"give rows with {', '.join(_GENERATIVE)}; or with {', '.join(_CHOICE)}"
    if not is_authors_row(row):
        raise GoldError("it is no item of C-FAITH", path=path, line=number, hint=hint)
    try:
        return _generative(row, number) if tuple(row) == _GENERATIVE else _choice(row, number)
    except (pydantic.ValidationError, KeyError, TypeError) as error:
        said = str(error).splitlines()[0]
        raise GoldError(f"it is no item of C-FAITH: {said}", path=path, line=number, hint=hint) from error


def _generative(row: dict[str, Any], number: int) -> Generative:
    return Generative(
        id=f"{number}/generative",
        group=row["ent"],
        language=_language(row["question"]),
        type=_TYPES[row["halu_type"]],
        question=row["question"],
        correct_answer=row["correct_answer"],
        passage=row["reason"],
        hallucinated_answer=row["halu_answer"],
        entity=row["ent"],
    )


def _choice(row: dict[str, Any], number: int) -> Choice:
    kinds = [label if label == "correct" else _TYPES[label] for label in row["labels"]]
    wrong = [kind for kind in kinds if kind != "correct"]
    asked = _ASKED.search(row["question"])
    question = asked["question"] if asked else row["question"]
    return Choice.model_validate(
        {
            "id": f"{number}/single-choice",
            "group": question,
            "language": _language(question),
            "type": max(wrong, key=wrong.count),
            "question": question,
            "options": row["answers"],
            "option_types": kinds,
            "correct": row["correct_option"],
            "prompt": row["question"],
        }
    )


def _language(text: str) -> str:
    return "zh" if is_chinese(text) else "en"


def choice_prompt(item: Choice) -> str:
    """Return the prompt of a single-choice item: its own, or question, options and what to reply."""
    options = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, item.options, strict=True))
    return item.prompt or _PROMPTS[item.language == "zh"].format(question=item.question, options=options)


def authors_lines(items: Iterable[Item]) -> list[str]:
    """Return items as lines of the authors' format, without line breaks."""
    return [json.dumps(_row(item), ensure_ascii=False) for item in items]


def _row(item: Item) -> dict[str, Any]:
    if isinstance(item, Generative):
        return {
            "question": item.question,
            "correct_answer": item.correct_answer,
            "reason": item.passage,
            "halu_type": AUTHORS_TYPES[item.type],
            "ent": item.entity,
            "halu_answer": item.hallucinated_answer,
        }
    if isinstance(item, Choice):
        labels = [kind if kind == "correct" else AUTHORS_TYPES[kind] for kind in item.option_types]
        return {
            "question": choice_prompt(item),
            "answers": list(item.options),
            "labels": labels,
            "correct_option": item.correct,
        }
    raise UsageError(
        f"{item.id}: the authors' format has no true-or-false items",
        hint="write the generative and the single-choice items",
    )
