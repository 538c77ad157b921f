"""Scores, sets of labels, sets of objects and preferences: what the offline engine answers, and what it learns.

The rules below are known to the demonstrations alone; what is learned is measured on rows that are not shown.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, Literal

import dspy
import pydantic
import pytest

from jurist.engines.adapters import adapter
from jurist.engines.offline import OfflineEngine

POLICY = "Orders are sent within two days. Returns are free for thirty days. Gift cards cannot be returned."
THINGS = ("parcel", "lamp", "chair", "gift card", "order", "invoice", "kettle", "return")
OPENINGS = ("The {} is on its way.", "We have looked into the {}.", "Your {} was found.", "The {} is ready.")
FIGURE = ("It costs 14 euros.", "You will get 20 euros back.", "Please allow 5 days.")
HEDGE = ("Perhaps it may take longer.", "It might possibly be late.", "It could probably arrive soon.")
MOOD = (
    "We are so happy and grateful!",
    "We are worried and upset about it.",
    "How disappointed you must be!",
)


def reply(rng: random.Random) -> tuple[str, tuple[bool, bool, bool]]:
    """Return a drafted reply, and whether it names a figure, hedges, and shows feelings."""
    marks = tuple(rng.random() < 0.5 for _ in range(3))
    parts = [rng.choice(OPENINGS).format(rng.choice(THINGS))]
    parts += [rng.choice(texts) for texts, wanted in zip((FIGURE, HEDGE, MOOD), marks, strict=True) if wanted]
    return " ".join(parts), (marks[0], marks[1], marks[2])


def ask(signature: Any, demos: Sequence[Any], rows: Sequence[dict[str, Any]]) -> list[Any]:
    program = dspy.Predict(signature)
    program.demos = list(demos)
    lm = dspy.LM("jurist/offline", engine=OfflineEngine(), cache=False, temperature=0.0)
    with dspy.context(lm=lm, adapter=adapter("chat")):
        return [program(**row) for row in rows]


class Tone(dspy.Signature):
    """Grade the reply."""

    policy: str = dspy.InputField()
    reply: str = dspy.InputField()
    grade: Literal[1, 2, 3, 4, 5] = dspy.OutputField()
    share: float = dspy.OutputField(ge=0, le=1)
    points: int = dspy.OutputField(desc="0 to 100")


def graded(seed: int, count: int) -> list[dspy.Example]:
    rows = [reply(random.Random(f"{seed}/{n}")) for n in range(count)]
    grades = [1 + 2 * marks[0] + 2 * (not marks[2]) for _, marks in rows]
    return [
        dspy.Example(policy=POLICY, reply=text, grade=grade, share=(grade - 1) / 4, points=25 * (grade - 1))
        for (text, _), grade in zip(rows, grades, strict=True)
    ]


def inputs_of(rows: Sequence[Any], *names: str) -> list[dict[str, Any]]:
    return [{name: row[name] for name in names} for row in rows]


def test_scores_are_in_range_and_learned() -> None:
    held_out = graded(1, 24)
    rows = inputs_of(held_out, "policy", "reply")

    def miss(demos: list[dspy.Example]) -> float:
        answers = ask(Tone, demos, rows)
        for answer in answers:
            assert answer.grade in (1, 2, 3, 4, 5)
            assert 0 <= answer.share <= 1
            assert 0 <= answer.points <= 100
        return sum(abs(answer.grade - row.grade) for answer, row in zip(answers, held_out, strict=True)) / 24

    assert miss(graded(0, 24)) < 0.5 < 1.0 < miss([])


class Topics(dspy.Signature):
    """Which topics does the message raise? money: it is about euros, a price or a refund."""

    message: str = dspy.InputField()
    topics: list[Literal["money", "delivery", "doubt"]] = dspy.OutputField()


def topical(seed: int, count: int) -> list[dspy.Example]:
    found = []
    for n in range(count):
        text, marks = reply(random.Random(f"{seed}/{n}"))
        topics = [
            name for name, has in zip(("money", "doubt"), ("euros" in text, marks[1]), strict=True) if has
        ]
        found.append(dspy.Example(message=text, topics=topics))
    return found


def test_several_labels_are_learned_one_by_one() -> None:
    held_out = topical(1, 24)

    def wrong(demos: list[dspy.Example]) -> float:
        answers = ask(Topics, demos, inputs_of(held_out, "message"))
        return sum(
            len(set(answer.topics) ^ set(row.topics)) for answer, row in zip(answers, held_out, strict=True)
        ) / len(held_out)

    assert wrong(topical(0, 24)) < 0.25 < wrong([])


class Better(dspy.Signature):
    """Which reply is better?"""

    policy: str = dspy.InputField()
    reply_a: str = dspy.InputField()
    reply_b: str = dspy.InputField()
    verdict: Literal["first", "second", "tie"] = dspy.OutputField()


def paired(seed: int, count: int, *, taste: Callable[[tuple[bool, bool, bool]], int]) -> list[dspy.Example]:
    found = []
    for n in range(count):
        rng = random.Random(f"{seed}/{n}")
        (one, of_one), (other, of_other) = reply(rng), reply(rng)
        gap = taste(of_one) - taste(of_other)
        verdict = "tie" if gap == 0 else "first" if gap > 0 else "second"
        found.append(dspy.Example(policy=POLICY, reply_a=one, reply_b=other, verdict=verdict))
    return found


OTHER = {"first": "second", "second": "first", "tie": "tie"}


def test_preferences_are_learned_and_have_no_place() -> None:
    def taste(marks: tuple[bool, bool, bool]) -> int:
        return 2 * (not marks[1]) + marks[0]

    held_out = paired(1, 32, taste=taste)
    rows = inputs_of(held_out, "policy", "reply_a", "reply_b")
    turned = [{**row, "reply_a": row["reply_b"], "reply_b": row["reply_a"]} for row in rows]

    def right(demos: list[dspy.Example]) -> float:
        said = [answer.verdict for answer in ask(Better, demos, rows)]
        assert [answer.verdict for answer in ask(Better, demos, turned)] == [OTHER[one] for one in said]
        return sum(one == row.verdict for one, row in zip(said, held_out, strict=True)) / 32

    assert right([]) < 0.6 < 0.75 < right(paired(0, 32, taste=taste))


class Wish(pydantic.BaseModel):
    text: str
    weight: Literal["must", "may"]
    hard: bool


class Wishes(dspy.Signature):
    """List what the query asks for."""

    query: str = dspy.InputField()
    wishes: list[Wish] = dspy.OutputField()


MUSTS = ("it must name {}", "it must mention {}", "it must not leave out {}")
MAYS = ("it may mention {}", "it may show {}", "it may be about {}")
CHATTER = ("I love {}", "my friend told me of {}", "we once saw {}")
NOUNS = ("a river", "two birds", "the old mill", "her brother", "a red boat", "the winter", "some bread")


def wished(seed: int, count: int) -> list[dspy.Example]:
    found = []
    for n in range(count):
        rng = random.Random(f"{seed}/{n}")
        kinds = [rng.choice((MUSTS, MAYS, CHATTER)) for _ in range(4)]
        clauses = [rng.choice(kind).format(rng.choice(NOUNS)) for kind in kinds]
        wishes = [
            Wish(text=clause, weight="must" if kind is MUSTS else "may", hard=kind is MUSTS)
            for clause, kind in zip(clauses, kinds, strict=True)
            if kind is not CHATTER
        ]
        found.append(dspy.Example(query="Write a poem, " + ", ".join(clauses) + ".", wishes=wishes))
    return found


@pytest.mark.parametrize("text", ["", " ", "?", "。", "1.", "x" * 20_000], ids=range(6))
@pytest.mark.parametrize("signature", [Tone, Topics, Better, Wishes])
def test_odd_texts_get_an_answer(signature: Any, text: str) -> None:
    demos = {Tone: graded(0, 2), Topics: topical(0, 2), Wishes: wished(0, 2)}.get(signature, [])
    ask(signature, demos, [dict.fromkeys(signature.input_fields, text)])
