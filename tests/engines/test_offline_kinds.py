"""Scores, sets of labels, sets of objects and preferences: what the offline engine answers, and what it learns."""

import random
from collections.abc import Sequence
from typing import Any, Literal

import dspy
import pydantic
import pytest
from asking import offline

POLICY = "Orders are sent within two days. Returns are free for thirty days. Gift cards cannot be returned."
FIGURE = ("It costs 14 euros.", "You will get 20 euros back.", "Please allow 5 days.")
HEDGE = ("Perhaps it may take longer.", "It might possibly be late.", "It could probably arrive soon.")
OTHER = {"first": "second", "second": "first", "tie": "tie"}


class Wish(pydantic.BaseModel):
    text: str
    weight: Literal["must", "may"]
    hard: bool


class Tone(dspy.Signature):
    """Grade the reply."""

    policy: str = dspy.InputField()
    reply: str = dspy.InputField()
    grade: Literal[1, 2, 3, 4, 5] = dspy.OutputField()
    share: float = dspy.OutputField(ge=0, le=1)
    points: int = dspy.OutputField(desc="0 to 100")


class Topics(dspy.Signature):
    """Which topics does the message raise? money: it is about euros, a price or a refund."""

    message: str = dspy.InputField()
    topics: list[Literal["money", "delivery", "doubt"]] = dspy.OutputField()


class Better(dspy.Signature):
    """Which reply is better?"""

    policy: str = dspy.InputField()
    reply_a: str = dspy.InputField()
    reply_b: str = dspy.InputField()
    verdict: Literal["first", "second", "tie"] = dspy.OutputField()


class Wishes(dspy.Signature):
    """List what the query asks for."""

    query: str = dspy.InputField()
    wishes: list[Wish] = dspy.OutputField()


WISH = dspy.Example(query="it must rain, snow", wishes=[Wish(text="it must rain", weight="must", hard=True)])


def ask(signature: Any, demos: Sequence[Any], rows: Sequence[dict[str, Any]]) -> list[Any]:
    return [offline(signature, "chat", demos, **row) for row in rows]


def messages(seed: int) -> list[dspy.Example]:
    """Return messages with their topics, which only demonstrations tell apart."""
    draw, found = random.Random(seed), []
    for number in range(24):
        parts = {"money": draw.choice(FIGURE[:2]), "doubt": draw.choice(HEDGE)}
        topics = [name for name in parts if draw.random() < 0.5]
        text = " ".join([f"The parcel {number} is found.", *(parts[name] for name in topics)])
        found.append(dspy.Example(message=text, topics=topics))
    return found


def test_several_labels_are_learned_one_by_one() -> None:
    held_out = messages(1)

    def wrong(demos: list[dspy.Example]) -> float:
        answers = ask(Topics, demos, [{"message": row.message} for row in held_out])
        pairs = zip(answers, held_out, strict=True)
        return sum(len(set(said.topics) ^ set(row.topics)) for said, row in pairs) / len(held_out)

    assert wrong(messages(0)) < 0.25 < wrong([])


def test_preferences_have_no_place() -> None:
    texts = ["We have looked into it.", *FIGURE, *HEDGE]
    pairs = [(one, other) for one in texts for other in texts]
    rows = [{"policy": POLICY, "reply_a": one, "reply_b": other} for one, other in pairs]
    turned = [{"policy": POLICY, "reply_a": other, "reply_b": one} for one, other in pairs]
    said = [answer.verdict for answer in ask(Better, [], rows)]
    assert [answer.verdict for answer in ask(Better, [], turned)] == [OTHER[one] for one in said]
    assert set(said) == {*OTHER}


@pytest.mark.parametrize("text", ["", " ", "?", "。", "1.", "x" * 20_000], ids=range(6))
@pytest.mark.parametrize("signature", [Tone, Topics, Better, Wishes])
def test_odd_texts_get_an_answer(signature: Any, text: str) -> None:
    demos = {Topics: messages(0)[:2], Wishes: [WISH]}.get(signature, [])
    ask(signature, demos, [dict.fromkeys(signature.input_fields, text)])


@pytest.mark.parametrize("query", ["", " \n"])
def test_a_demonstration_with_a_blank_text_teaches_nothing(query: str) -> None:
    rows = [{"query": "it must rain, snow"}]
    blank = dspy.Example(query=query, wishes=[])
    assert ask(Wishes, [blank], rows)[0].toDict() == ask(Wishes, [], rows)[0].toDict()


def test_scores_are_in_range_and_objects_are_spans_that_demonstrations_choose() -> None:
    (grade,) = ask(Tone, [], [{"policy": POLICY, "reply": FIGURE[0]}])
    assert (grade.grade in range(1, 6), 0 <= grade.share <= 1, 0 <= grade.points <= 100) == (True,) * 3
    (found,) = ask(Wishes, [WISH] * 4, [{"query": "it must name a river, we like boats"}])
    (wish,) = found.wishes
    assert wish.text == "it must name a river"
