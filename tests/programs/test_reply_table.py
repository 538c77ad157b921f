"""Replies with their right reading (replies.toml), for every kind of answer, through both prompt formats."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import dspy
import pydantic
import pytest
from asking import scripted

from jurist.cases import Case, Values
from jurist.exports.portable_file import portable_spec
from jurist.exports.portable_judge import PortableJudge
from jurist.jobs.exporting import subject_of
from jurist.keeping.card import Card
from jurist.programs.answers.sentences import Listed, Tagged
from jurist.programs.catalogue import find
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState
from jurist.text.replies import match_value

ROWS: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "replies.toml").read_text())["replies"]
SENTENCES = {
    "numbered": ["A b.", "C.", "D!"],
    "echoed": ["A b.", "这是二。", "D!"],
    "listed": [
        "The mill was built in 1798.",
        "It was empty, and nonetheless none came.",
        "磨坊建于1798年。",
        "Yes.",
    ],
    "staged": ["One.", "Two."],
}
TONGUES = Literal[
    "发送", "保留", "正しい", "誤り", "gültig", "ungültig", "vérifié", "réfuté",
    "cierto", "falso", "صحيح", "خطأ", "правда", "ложь", "사실", "거짓", "सही", "गलत",
]  # fmt: skip


class Item(pydantic.BaseModel):
    n: int
    label: Literal["good", "bad"]


class Promise(pydantic.BaseModel):
    what: str
    days: int


def judge_of(
    annotation: Any, *, outputs: Mapping[str, Any] | None = None, bounds: Any = None, **settings: Any
) -> Judge:
    """Return a judge of a text whose field ``answer`` is of a type."""
    sentences = annotation == list[Item] or ("answer" in settings and "unit" not in settings)
    fields: dict[str, Any] = {"text": (list[str] if sentences else str, dspy.InputField())}
    for name, kind in (outputs or {}).items():
        fields[name] = (kind, dspy.OutputField())
    if annotation is not None:
        fields["answer"] = (annotation, dspy.OutputField(**(bounds or {})))
    return Judge(name="some", signature=dspy.Signature(fields, "Judge it."), **settings)


PAIR = dspy.Signature(
    {
        "first": (str, dspy.InputField()),
        "second": (str, dspy.InputField()),
        "answer": (Literal["first", "second", "tie"], dspy.OutputField()),
    },
    "Choose.",
)
CRITERIA = {"grounded": bool, "tone": Literal["polite", "rude"], "stars": Literal[1, 2, 3]}
GOOD_OR_BAD = {"field": "answer", "unit": "text", "labels": ("good", "bad"), "positive": frozenset({"bad"})}
FOUND = {**GOOD_OR_BAD, "labels": ("clear", "found"), "positive": frozenset({"found"})}
JUDGES: dict[str, Judge] = {
    "label": judge_of(Literal["send", "hold", "ask"]),
    "reasoned": judge_of(Literal["send", "hold"], outputs={"reasoning": str}, positive="hold"),
    "words": judge_of(Literal["factual", "non_factual", "not sure", "n/a", "-1"]),
    "tongues": judge_of(TONGUES),
    "bool": judge_of(bool, positive="true"),
    "stars": judge_of(Literal[1, 2, 3, 4, 5]),
    "whole": judge_of(int, bounds={"ge": 0, "le": 100}),
    "share": judge_of(float, bounds={"ge": 0, "le": 1}),
    "several": judge_of(list[Literal["delivery", "billing", "returns"]]),
    "numbered": judge_of(list[Item], positive="bad"),
    "echoed": judge_of(str, answer=Tagged(**GOOD_OR_BAD)),
    "listed": judge_of(list[str], answer=Listed(**FOUND)),
    "objects": judge_of(list[Promise]),
    "criteria": judge_of(None, outputs=CRITERIA),
    "pair": Judge(name="pair", signature=PAIR),
    "verified": find("fect-3d-reasoning"),
    "staged": find("cognibench-staged"),
}
INPUTS: dict[str, dict[str, Any]] = {
    "pair": {"first": "One.", "second": "Two."},
    "verified": {"conversation": "A: hi", "claim": "B"},
    "staged": {"reference": "R.", "dialogue": "", "sentences": SENTENCES["staged"]},
}


def framed(form: str, text: str, judge: str) -> list[tuple[str, str]]:
    """Return the adapter and the whole reply, of each prompt format, that a row's text stands for."""
    field = {"staged": "labels"}.get(judge, "answer")
    if form in ("chat", "json"):
        return [(form, text)]
    value = text if form == "data" else json.dumps(text)
    chat = f"[[ ## {field} ## ]]\n{text}\n\n[[ ## completed ## ]]"
    return [("chat", chat), ("json", f'{{"{field}": {value}}}')]


def exchanged(reply: str) -> str:
    """Return a reply that says of the first what it said of the second."""
    marks = reply.replace("First", "\0F").replace("first", "\0f")
    marks = marks.replace("Second", "First").replace("second", "first")
    return marks.replace("\0F", "Second").replace("\0f", "second")


def values_read(name: str, adapter: str, reply: str) -> Values | None:
    """Return what the judge reads from one reply, asked as ``jurist run`` asks; ``None`` if it abstains."""
    replies: list[str] = []

    def answer(request: Any) -> str:
        replies.append(exchanged(reply) if name == "pair" and len(replies) == 1 else reply)
        return replies[-1]

    judge = JUDGES[name]
    inputs = INPUTS.get(name, {"text": SENTENCES.get(name, "A text.")})
    verdict = scripted(judge, answer, adapter=adapter).ask(Case(inputs=inputs))
    assert verdict.status in ("verdict", "abstained")
    return verdict.values if verdict.status == "verdict" else None


def value_of_file(name: str, adapter: str, reply: str) -> Any:
    """Return the value that the exported file of the judge reads from one reply; ``None`` if it abstains."""
    judge = JUDGES[name]
    subject = replace(
        subject_of(PromptState.of(judge.basic()), judge),
        card=Card(judge=judge.name, adapter=adapter, version=1),
    )
    file = PortableJudge(portable_spec(subject))
    replies: list[str] = []

    def complete(*request: Any) -> tuple[str, str]:
        replies.append(exchanged(reply) if name == "pair" and len(replies) == 1 else reply)
        return replies[-1], "stop"

    verdict = file.ask(complete, INPUTS.get(name, {"text": SENTENCES.get(name, "A text.")}))
    if verdict["status"] == "abstained":
        return None
    value = verdict["value"]
    if isinstance(value, dict):  # of criteria
        return list(value.values())
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", sorted(JUDGES.keys() - {"objects"}))  # sets of objects have no such file
def test_an_exported_file_reads_them_alike(name: str) -> None:
    for row in ROWS:
        if row["judge"] == name:
            for adapter, reply in framed(row["form"], row["read"], name):
                assert value_of_file(name, adapter, reply) == row["reads"], f"{adapter}: {reply}"
            for adapter, reply in framed(row["form"], row["unread"], name):
                assert value_of_file(name, adapter, reply) is None, f"{adapter}: {reply}"


def plain(values: Values, name: str) -> Any:
    """Return values as the table writes them."""
    each = [getattr(value, "value", value) for value in values]
    listed = [list(value) if isinstance(value, tuple) else value for value in each]
    return listed if name in (*SENTENCES, "criteria") else listed[0]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['judge']}: {row['read'][:40]}")
def test_a_reply_is_read_and_its_sibling_is_not(row: dict[str, Any]) -> None:
    for adapter, reply in framed(row["form"], row["read"], row["judge"]):
        values = values_read(row["judge"], adapter, reply)
        assert values is not None, f"{adapter}: {reply}"
        assert plain(values, row["judge"]) == row["reads"], f"{adapter}: {reply}"
    for adapter, reply in framed(row["form"], row["unread"], row["judge"]):
        assert values_read(row["judge"], adapter, reply) is None, f"{adapter}: {reply}"


def test_the_table_has_every_kind_of_answer_and_other_languages() -> None:
    assert {row["judge"] for row in ROWS} == JUDGES.keys()
    assert len(ROWS) >= 150
    assert 3 * sum(row["language"] != "en" for row in ROWS) >= len(ROWS)


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Send", "Send"),
        ("send", "send"),
        ("**Send**", "Send"),
        ("`send`.", "send"),
        ("SEND", None),
        ("sEnd", None),
    ],
)
def test_labels_that_differ_in_capitals_alone_are_told_apart(reply: str, label: str | None) -> None:
    labels = ("Send", "send", "hold")
    if label is None:
        with pytest.raises(ValueError, match="is none of Send, send, hold"):
            match_value(reply, labels)
    else:
        assert match_value(reply, labels) == label
