"""What the offline engine writes is right by construction: figures left out, other figures, sentences as they are."""

import itertools
import random
import re
from typing import Any

import dspy
import pytest
from asking import offline as ask
from hypothesis import example, given
from hypothesis import strategies as st

from jurist.gold.sources import read
from jurist.programs import offline_writers  # noqa: F401 - registers what the engine writes
from jurist.programs.faithqa.offline import conditions, instruction_of, missing_parts
from jurist.programs.haluagent.offline import gaps, kind_of_figure, wrong_figures
from jurist.programs.haluagent.writing import find_form_faults
from jurist.signatures.cognibench import NextTurn
from jurist.signatures.faithqa import AnswerQuery
from jurist.signatures.haluagent import (
    AnswerQuestion,
    LabelHallucinations,
    WriteHallucinations,
    WriteQuestion,
)
from jurist.text.ranking import letters
from jurist.text.sentences import split
from jurist.text.terms import numbers
from jurist.text.wording import count_words

DOCUMENTS = [row for _, row in read("haluagent-docs").rows]
FOUND = [(row, gap) for row in DOCUMENTS for gap in gaps(row["text"])]


def test_a_gap_is_a_figure_of_the_document_that_its_question_does_not_give_away() -> None:
    """And wrong answers are other figures of the same kind."""
    assert {(row["language"], gap.kind) for row, gap in FOUND} == {
        *itertools.product(("en", "zh"), ("year", "number"))
    }
    for row, gap in FOUND:
        assert gap.sentence in row["text"]
        assert gap.sentence[gap.start :].startswith(gap.text)
        assert "____" in gap.question
        assert letters(gap.text) not in letters(gap.question)
        assert kind_of_figure(gap.question, gap.text) == gap.kind
        wrong = wrong_figures(gap.text, gap.question, gap.sentence, random.Random(gap.text))
        assert len(set(wrong)) == len(wrong) in (0, 3)
        assert all(kind_of_figure(gap.question, one) == gap.kind for one in wrong)
        assert not numbers(" ".join(wrong)) & numbers(gap.sentence)
        for place in range(len(wrong)):
            assert not list(find_form_faults(row["text"], gap.question, gap.text, gap.sentence, wrong, place))


@pytest.mark.parametrize(
    "text",
    [
        "He was born in 1814.",  # whom, no sentence says
        "The ship had seven masts.",  # no figure
        "Apollo 11 landed on a Sunday.",  # a name
        "It opened in 1900 and closed in 1900.",
        "这座桥于1505年建成，1505年通车。",
        "全书成于约3000年前。",
        "",
    ],
)
def test_nothing_is_asked_where_nothing_is_certain(text: str) -> None:
    said = ask(WriteQuestion, knowledge=text, title="")
    assert (said.question, said.correct_answer, said.passage) == ("", "", "")


def test_what_is_not_certain_is_not_named_and_the_world_is_not_known() -> None:
    asked = {"question": "Who wrote it?", "correct_answer": "Ada"}
    assert ask(WriteHallucinations, **asked, passage="Ada wrote it.").hallucinated_answers == []
    assert ask(LabelHallucinations, **asked, hallucinated_answers=["Bob", "Cy", "Di"]).types == []
    assert ask(AnswerQuestion, prompt="Who built it?").response == "I do not know."
    assert ask(AnswerQuestion, prompt="Who?\nA. Bob\nB. Cy\nC. Di\nD. Ed").response == "A"
    assert ask(AnswerQuestion, prompt="1505年？\n只回答“正确”或“错误”。").response == "正确"
    assert ask(AnswerQuery, query="Name a river.").response == "I do not know."


def talk(row: dict[str, Any], heat: float, turns: int, length: str) -> list[tuple[str, str]]:
    told = {"reference": row["text"], "topic": row["title"], "length": length, "complaint": ""}
    told["language"] = "Chinese" if row["language"] == "zh" else "English"
    said: list[tuple[str, str]] = []
    for _ in range(turns):
        dialogue = "\n".join(f"user: {one}\nassistant: {two}" for one, two in said)
        turn = ask(NextTurn, heat=heat, dialogue=dialogue, **told)
        said.append((turn.user_message, turn.assistant_message))
    return said


@pytest.mark.parametrize("row", [DOCUMENTS[0], DOCUMENTS[-1]], ids=["en", "zh"])
@pytest.mark.parametrize("heat", [0.0, 1.0])
def test_a_conversation_tells_sentences_of_its_reference_each_once(row: dict[str, Any], heat: float) -> None:
    lines = [one.text for one in split(row["text"])]
    said = talk(row, heat, 3, "30 to 90 words")
    told = [line.text for _, answer in said for line in split(answer)]
    assert set() < set(told) <= set(lines)
    assert len(set(told)) == len(told)
    assert all(30 <= count_words(answer) <= 90 for _, answer in said if answer)
    assert len({question for question, _ in said}) == 3


@pytest.mark.parametrize(
    ("signature", "inputs"),
    [
        ("word, definition -> fits: bool", {"word": "cat", "definition": "a tame animal"}),
        ("prompt -> response: Literal['yes', 'no']", {"prompt": "Is tea hot?"}),
        ("article -> question: bool", {"article": "Tea is hot."}),
        ("context -> question, answer: bool", {"context": "It was built in 1893 by three men."}),
        ("query -> answerable: Literal['yes', 'no']", {"query": "List three cats"}),
        ("query -> constraints: list[str]", {"query": "List three cats"}),
        ("articles, kind -> instruction", {"articles": "Tea is hot.", "kind": "forms"}),
    ],
)
def test_fields_of_a_judge_that_are_called_like_ours_are_answered(
    signature: str, inputs: dict[str, str]
) -> None:
    ask(dspy.Signature(signature), **inputs)  # a reply that cannot be read raises


@given(st.text(alphabet="abc XYZ 19,.;:?\n“”三不要用字写Writelist", max_size=120))
@example("List three cats and dogs, and brandy")
def test_anchors_are_words_of_the_query_and_apart(query: str) -> None:
    found, asked = conditions(query), instruction_of(query)
    assert all(asked[one.start :].startswith(one.anchor) for one in found)
    assert not any(re.fullmatch("[a-z]{2}", asked[max(0, one.start - 1) : one.start + 1]) for one in found)
    assert all(one.start + len(one.anchor) <= other.start for one, other in itertools.pairwise(found))
    missing_parts(query)
