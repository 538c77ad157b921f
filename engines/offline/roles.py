"""Who is who among the inputs: the evidence, the thing judged (in units), and the context.

Names decide first, then descriptions, then documented fallbacks: evidence is the longest field,
the thing judged the last field that is not evidence.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ...text.terms import sentences
from .request import Ask, Field

# Ranked: an earlier line wins over a later one; fields of the same line are read together.
_EVIDENCE: Final = (
    "reference evidence document documents source sources knowledge passage passages article policy "
    "transcript facts grounding retrieved ground_truth 参考 证据 文档 资料 知识 原文 来源",
    "conversation context contexts premise text dialogue_text correct_answer gold_answer 对话 上下文 背景",
    "dialogue dialog history chat 历史",
)
_JUDGED: Final = (
    "claim claims statement statements sentence sentences hypothesis assertion unit "
    "units 声明 论断 句子 陈述",
    "constraint constraints criterion criteria item items 约束 条件",
    "response answer reply summary prediction candidate output completion "
    "model_answer 回复 回答 答案 摘要 总结",
)
_NUMBERED: Final = re.compile(r"^[ \t]*(?:(\d{1,5})[.)、:：][ \t]*(?=\S)|[\[<(](\d{1,5})[\])>][ \t]*)", re.M)
_WRAPPED: Final = re.compile(r"<>(.*)</>", re.S)
_PLURAL: Final = ("sentences", "statements", "claims", "units", "lines", "items", "constraints", "criteria")
_LIST_KINDS: Final = ("labels", "tags", "bools", "indices", "texts")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One thing to judge: its number (1-based, as written) and its text."""

    number: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Field names by role."""

    evidence: tuple[str, ...]
    judged: str
    context: tuple[str, ...]


@lru_cache(maxsize=1024)
def _rank(field: Field, table: tuple[str, ...]) -> int:
    """Return the best rank of a field in a table by name (0..), by description (10..), or 99."""
    name = field.name.lower()
    words = set(re.split(r"_+", name)) | {name}
    about = set(re.findall(r"[a-z]+|[\u4e00-\u9fff]{2}", field.description.lower()))
    for offset, have in ((0, words), (10, about)):
        for rank, line in enumerate(table):
            if have & set(line.split()):
                return offset + rank
    return 99


def assign_roles(ask: Ask) -> Roles:
    """Assign roles from the declared fields; the values only break ties (numbered lines, length)."""
    fields = [field for field in ask.inputs if field.name in ask.values] or list(ask.inputs)
    judged_ranks = {field.name: _rank(field, _JUDGED) for field in fields}
    evidence_ranks = {field.name: _rank(field, _EVIDENCE) for field in fields}
    claimants = [name for name, rank in judged_ranks.items() if rank < 10 and evidence_ranks[name] >= rank]
    numbered = []
    if any(field.shape.kind in _LIST_KINDS for field in ask.outputs):
        numbered = [name for name in claimants if _NUMBERED.search(ask.values.get(name, "")[:4000])]
    judged = min(numbered or claimants, key=lambda name: judged_ranks[name], default="")
    rest = [field.name for field in fields if field.name != judged]
    best = min((evidence_ranks[name] for name in rest), default=99)
    evidence = [name for name in rest if evidence_ranks[name] == best and best < 99]
    if not evidence and rest:
        evidence = [max(rest, key=lambda name: len(ask.values.get(name, "")))]
    others = [name for name in rest if name not in evidence]
    if not judged and others:
        described = min(others, key=lambda name: judged_ranks[name])
        judged = described if judged_ranks[described] < 99 else others[-1]
    elif not judged and evidence:
        judged = evidence.pop()
    return Roles(
        evidence=tuple(evidence), judged=judged, context=tuple(name for name in others if name != judged)
    )


def in_lines(name: str, values: Mapping[str, str]) -> bool:
    """Return whether a judged field holds one thing per line: numbered or tagged lines, or a name in the plural."""
    text = values.get(name, "").lstrip()
    return bool(_NUMBERED.match(text)) or text.startswith("<>") or name.lower().split("_")[-1] in _PLURAL


def split_units(text: str) -> tuple[Unit, ...]:
    """Split numbered lines ``1. text`` into units; without numbering each line is one unit.

    Numbers must grow by exactly one from the first line on, so that a list inside a sentence
    ("1. pioneering ...") does not open a unit of its own. Where every line has a number, they may leave
    some out: a part of the sentences, under the numbers they have in the whole.
    """
    marks: list[tuple[int, int, int]] = []
    every = len(_NUMBERED.findall(text)) == sum(bool(line.strip()) for line in text.splitlines())
    for match in _NUMBERED.finditer(text):
        number = int(match.group(1) or match.group(2))
        if not marks or number == marks[-1][0] + 1 or (every and number > marks[-1][0]):
            marks.append((number, match.start(), match.end()))
    if marks and not text[: marks[0][1]].strip():
        ends = [start for _, start, _ in marks[1:]] + [len(text)]
        return tuple(
            Unit(number=number, text=text[start:end].strip())
            for (number, _, start), end in zip(marks, ends, strict=True)
        )
    lines = _lines(text)
    return _units([found[1].strip() if (found := _WRAPPED.fullmatch(line)) else line for line in lines])


def split_lines(text: str) -> tuple[Unit, ...]:
    """Return units for answers that quote: what is quoted has to stand in the text, so a line stays as it is.

    Only where every line is numbered, from 1 on, are the numbers taken off; a text on one line is cut into its
    sentences.
    """
    lines = _lines(text)
    if len(lines) == 1:
        return _units(sentences(lines[0]))
    units = split_units(text)
    return units if len(units) == len(lines) and units[:1] and units[0].number == 1 else _units(lines)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _units(texts: list[str]) -> tuple[Unit, ...]:
    return tuple(Unit(number=number, text=text) for number, text in enumerate(texts, 1))
