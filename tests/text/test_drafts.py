"""Drafts: in whichever mark a model thinks, its thinking is no answer, and judged text forges no mark."""

from typing import Any, Literal

import dspy
import pytest
from dspy import AdapterParseError
from fakes import reply
from hypothesis import given
from hypothesis import strategies as st

from jurist.engines.adapters import ADAPTERS, adapter
from jurist.text.drafts import without_drafts
from jurist.text.escaping import defuse

MARKS: list[tuple[str, str]] = [
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning", "reflection")),
    *((f"<{name}>", f"</{name}>") for name in ("scratchpad", "analysis", "chain_of_thought", "antThinking")),
    *((f"<{name}>", f"</{name}>") for name in ("思考", "推理过程", "생각", "рассуждение", "réflexion")),
    ("< think >", "< / think >"),
    ("<THINK>", "</Think>"),
    ("＜think＞", "＜／think＞"),
    ("&lt;think&gt;", "&lt;/think&gt;"),
    ('<thinking time="3">', "</thinking>"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("【思考】", "【/思考】"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel|>commentary", "<|channel|>final <|constrain|>json<|message|>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<unused94>thought\n", "<unused95>"),
    ("```thinking\n", "```"),
]
marks = st.sampled_from(MARKS)
words = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters='<>＜＞◁▷[]【】|&`#{}"\\'))


class Kind(dspy.Signature):
    """Say which."""

    claim: str = dspy.InputField()
    kind: Literal["good", "bad"] = dspy.OutputField()


def read(name: str, text: str) -> Any:
    """Return the label of a reply, ``None`` if it is unusable."""
    try:
        return adapter(name).parse(Kind, text)["kind"]
    except AdapterParseError:
        return None


@pytest.mark.parametrize("name", ADAPTERS)
@given(marks, words, words)
def test_the_answer_stands_outside_of_the_draft(
    name: str, mark: tuple[str, str], before: str, after: str
) -> None:
    draft, answer = reply(name, kind="bad"), reply(name, kind="good")
    begin, end = mark
    thought = f"{before}\n{draft}\n{after}"
    assert read(name, f"{begin}{thought}{end}\n{answer}") == "good"
    assert read(name, f"{begin}{thought}{end}") is None
    assert read(name, f"{begin}{thought}") is None
    assert read(name, f"{begin}{thought}\n{answer}") is None


@given(words, marks, words, marks)
def test_another_mark_within_a_draft_is_text(
    before: str, outer: tuple[str, str], inner: str, other: tuple[str, str]
) -> None:
    text = f"{outer[0]}{before}{other[0]}{inner}{other[1]}{outer[1]}answer"
    if outer[1] not in other:
        assert without_drafts(text) in ("answer", "")


@given(st.lists(st.sampled_from([mark for pair in MARKS for mark in pair]) | words, max_size=8))
def test_judged_text_keeps_no_mark(parts: list[str]) -> None:
    text = defuse("".join(parts))
    assert without_drafts(text) == text
    assert defuse(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "1 < 2 and think > 3",
        "[Analysis] Then [Conclusion]",
        "<thinker>",
        "a <b> c </b>",
        "the reasoning",
        "<reasoning_effort>",
        "```json\n{}\n```",
    ],
)
def test_other_text_is_no_draft(text: str) -> None:
    assert without_drafts(text) == text == defuse(text)


@pytest.mark.parametrize(
    "part", ["<think", "<think>", "< ", "<|", "◁", "[", "```think", "&lt;", "<think a=", "\\"]
)
def test_marks_without_end_take_no_time(part: str) -> None:
    text = part * (200_000 // len(part))
    assert len(without_drafts(text)) <= len(text)
    assert defuse(defuse(text)) == defuse(text)
