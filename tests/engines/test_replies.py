"""What a reply says, and what it does not: drafts, contradictions and halves, in every prompt format."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import dspy
import pytest
from asking import scripted
from dspy import AdapterParseError
from fakes import reply
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from jurist.engines.adapters import ADAPTERS, adapter
from jurist.engines.draws import change_draw, current_draw
from jurist.engines.journal import StoredResponse
from jurist.programs.fect import FECT
from jurist.text.drafts import without_drafts

SAFE = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="<>&[]{}\"'\\#")
TEXT = st.text(SAFE, max_size=20)


class Part(BaseModel):
    text: str
    verified: bool


class Factual(dspy.Signature):
    """Is it so?"""

    claim: str = dspy.InputField()
    factual: bool = dspy.OutputField()


class Parts(dspy.Signature):
    """Which parts are so?"""

    claim: str = dspy.InputField()
    parts: list[Part] = dspy.OutputField()


class Kind(dspy.Signature):
    """Which kind is it?"""

    claim: str = dspy.InputField()
    kind: Literal["T", "True", "Truest"] = dspy.OutputField()


class Score(dspy.Signature):
    """How good is it?"""

    claim: str = dspy.InputField()
    score: int = dspy.OutputField()


def said(name: str, signature: Any, text: str) -> Any:
    """Return the one field of a reply, ``None`` if it is unusable."""
    try:
        fields = adapter(name).parse(signature, text)
    except AdapterParseError:
        return None
    return next(iter(fields.values()))


def asked(name: str, text: str) -> Any:
    """Return the verdict of a judge that gets one reply."""
    return scripted(FECT, [text], adapter=name).ask(FECT.case({"conversation": "a", "claim": "b"}))


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize(
    ("draft", "status"),
    [
        ("<think>{draft}</think>\n{verdict}", "verdict"),
        ("<THINK>\n{draft}\n</THINK>\n\n{verdict}", "verdict"),
        ("<think>a <think>{draft}</think> {draft}</think>{verdict}", "verdict"),
        ("{draft}\n</think>\n{verdict}", "verdict"),
        ("{verdict}\n<think>{draft}", "verdict"),
        ("<think>{draft}\n{verdict}", "abstained"),
        ("<think>{draft}", "abstained"),
        ("{draft}\n{verdict}", "abstained"),
    ],
)
def test_a_draft_is_no_answer(name: str, draft: str, status: str) -> None:
    text = draft.format(draft=reply(name, factual=True), verdict=reply(name, factual=False))
    verdict = asked(name, text)
    assert (verdict.status, verdict.values) == (status, ("non_factual" if status == "verdict" else None,))


@pytest.mark.parametrize("name", ADAPTERS)
def test_two_values_are_an_abstention_that_is_counted_and_said(name: str) -> None:
    once, again = reply(name, factual=True), reply(name, factual=False)
    verdict = asked(name, f"{once}\n{again}")
    assert (verdict.status, verdict.duplicated) == ("abstained", 1)
    assert verdict.error == "unusable reply: 'factual' is given twice, with different values"
    assert asked(name, f"{once}\n{once}").values == ("factual",)


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize("word", ["1", "0", "on", "off", "yes", "no", "t", "y", "1.0", "Tru", "", "null"])
def test_only_true_and_false_are_booleans(name: str, word: str) -> None:
    assert said(name, Factual, reply(name, factual=word)) is None
    text = reply(name, parts=[{"text": "a", "verified": word}])
    assert said(name, Parts, text) is None


class Reasoned(dspy.Signature):
    """How good is it, and why?"""

    claim: str = dspy.InputField()
    r: str = dspy.OutputField()
    n: int = dspy.OutputField()


@pytest.mark.parametrize(
    "between", ["bla", "bla <think>x</think>", "<think>x</think>bla <think>y</think> bla"]
)
def test_the_half_of_a_cut_reply_is_no_answer_wherever_its_drafts_are(between: str) -> None:
    text = f"[[ ## r ## ]]\n{between}\n[[ ## n ## ]]\n1"
    assert adapter("chat").parse(Reasoned, text)["n"] == 1
    with cut_off(text), pytest.raises(AdapterParseError, match="n may be half"):
        adapter("chat").parse(Reasoned, text)


@contextmanager
def cut_off(text: str) -> Iterator[None]:
    """Take a text for a reply that was ended before it was over."""
    token = change_draw(answers=[StoredResponse(text=text, finish_reason="length")])
    try:
        yield
    finally:
        current_draw.reset(token)


@given(st.sampled_from(["T", "True", "Truest"]), TEXT, st.data())
def test_no_half_of_json_is_an_answer(kind: str, note: str, data: Any) -> None:
    whole = json.dumps({"note": note, "kind": kind}, ensure_ascii=False)
    assert said("json", Kind, whole) == kind
    end = data.draw(st.integers(0, len(whole) - 1))
    assert said("json", Kind, whole[:end]) is None


@pytest.mark.parametrize("name", ["chat", "json"])
@given(items=st.lists(st.tuples(TEXT, st.booleans()), min_size=1, max_size=4), data=st.data())
def test_no_half_of_a_list_is_an_answer(name: str, items: list[tuple[str, bool]], data: Any) -> None:
    given_parts = [{"text": text, "verified": verified} for text, verified in items]
    whole = json.dumps(given_parts, ensure_ascii=False)
    around = "[[ ## parts ## ]]\n{}" if name == "chat" else '{{"parts": {}'
    closed = around.format(whole) + ("}" if name == "json" else "")
    assert [part.model_dump() for part in said(name, Parts, closed)] == given_parts
    end = data.draw(st.integers(0, len(whole) - 1))
    assert said(name, Parts, around.format(whole[:end])) is None


@pytest.mark.parametrize("name", ADAPTERS)
@given(draft=st.booleans(), verdict=st.booleans(), before=TEXT, after=TEXT)
def test_a_draft_changes_nothing(name: str, draft: bool, verdict: bool, before: str, after: str) -> None:
    thought = f"<think>{before}\n{reply(name, factual=draft)}\n{after}</think>\n"
    assert said(name, Factual, thought + reply(name, factual=verdict)) is verdict


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", "b", "<thinking>", "<b>"]), max_size=12))
def test_drafts_leave_no_tags_and_invent_nothing(parts: list[str]) -> None:
    kept = without_drafts("".join(parts))
    assert "think" not in kept
    assert without_drafts(kept) == kept
    if not {"<think>", "</think>", "<thinking>"} & set(parts):
        assert kept == "".join(parts)


JSON = [
    (Factual, '{"factual": true, "factual": false}', None),
    (Factual, '{"factual": True, "factual": False}', None),
    (Parts, '{"parts": [{"text": "a", "verified": true, "verified": false}]}', None),
    (Factual, '{"factual": true, "factual": true}', True),
    (Factual, '{"factual": 1}', None),
    (Factual, '{"factual": 0.0}', None),
    (Score, '{"score": true}', None),
    (Score, '{"score": 4}', 4),
    (Factual, '```json\n{"factual": true}\n```', True),
    (Factual, 'Here it is: {"factual": true}.', None),
    (Factual, '{"factual": true}.', None),
    (Factual, "{'factual': True}", True),
    (Factual, '{"factual": True,}', True),
    (Factual, '{"factual": false, "note": "a } and a { in \\"quotes\\""}', False),
    (Factual, '[{"factual": true}]', True),
    (Factual, '{"factual": "T', None),
    (Factual, '{"factual": true', None),
    (Factual, '{"a": {"factual": true}', None),
    (Factual, '{"factual": true} or rather {"factual": fal', None),
    (Factual, '{"factual": maybe}', None),
]


@pytest.mark.parametrize(("signature", "text", "value"), JSON)
def test_json_as_models_write_it(signature: Any, text: str, value: Any) -> None:
    assert said("json", signature, text) == value


ENDLESS = ["{" * 100_000, '{"factual": ' + "[" * 100_000, "<think>" * 100_000, "(" * 9_000]
OPENINGS = ["\\'", "'", '"', "{'", "\\'[[ ## factual ## ]]\n", "<think>", "<factual>", "["]
ENDLESS += ["{" + part * (400_000 // len(part)) for part in OPENINGS]


@pytest.mark.parametrize("text", ENDLESS, ids=range(len(ENDLESS)))
def test_no_reply_takes_for_ever_or_breaks_the_reader(text: str) -> None:
    for name in ADAPTERS:
        assert said(name, Factual, text) is None
        assert said(name, Factual, f"[[ ## factual ## ]]\n{text}") is None


def test_a_field_of_that_name_is_a_field() -> None:
    signature = dspy.Signature("claim -> thinking: str, factual: bool")
    fields = adapter("chat").parse(signature, reply("chat", thinking="well", factual="True"))
    assert fields == {"thinking": "well", "factual": True}
    assert said("chat", Score, "[[ ## score ## ]]\nTrue") is None
