"""Judges of a user's own for each kind of answer, and small gold that follows a rule."""

import random
from typing import Any

SOURCE = '''
from typing import Literal

import dspy
import pydantic

import jurist


class Promise(pydantic.BaseModel):
    what: str
    figure: str = ""


class Topics(dspy.Signature):
    """Say which topics a message is about."""

    message: str = dspy.InputField(desc="a message")
    topics: list[Literal["delivery", "billing", "returns"]] = dspy.OutputField()


class Promises(dspy.Signature):
    """List what a reply promises."""

    reply: str = dspy.InputField(desc="a reply")
    promises: list[Promise] = dspy.OutputField()


class Share(dspy.Signature):
    """Say how much of a message is about money, from 0 to 1."""

    message: str = dspy.InputField(desc="a message")
    share: float = dspy.OutputField(ge=0, le=1)


class Better(dspy.Signature):
    """Say which of two messages names a figure."""

    left: str = dspy.InputField(desc="a message")
    right: str = dspy.InputField(desc="another message")
    better: Literal["first", "second", "tie"] = dspy.OutputField()


topics = jurist.Judge(name="topics", signature=Topics)
promises = jurist.Judge(name="promises", signature=Promises)
share = jurist.Judge(name="share", signature=Share)
better = jurist.Judge(
    name="better", signature=Better, answer=jurist.Preference(first="left", second="right")
)
'''

KINDS = {
    "topics": {"answer": "label set", "field": "topics"},
    "promises": {"answer": "object set", "field": "promises"},
    "share": {"answer": "score", "field": "share"},
    "better": {"answer": "preference", "field": "better"},
}
"""Name -> what its card says."""

_TOPICS = {
    "delivery": ("The parcel never came.", "Where is my parcel?"),
    "billing": ("I was charged twice.", "The invoice is wrong."),
    "returns": ("I want to send it back.", "It does not fit."),
}
_PROMISES = ("refund the fare", "send a new lid", "call you back")
_THINGS = """
    lamp kettle sofa curtain ladder mirror bucket candle blanket drawer hammer teapot carpet pillow saucer basket
    trolley cabinet whisk doormat
"""
_LOOKS = ("blue", "round", "heavy", "striped", "wooden", "shiny", "plain", "velvet")


def rows(kind: str, groups: int = 18, per_group: int = 3) -> list[dict[str, Any]]:
    """Return labelled rows of one of the judges, the same each time."""
    draw = random.Random(kind)
    numbers = [(group, number) for group in range(groups) for number in range(per_group)]
    return [{**_ROW[kind](draw, f"{group}.{number}"), "group": f"g{group}"} for group, number in numbers]


def _topics(draw: random.Random, name: str) -> dict[str, Any]:
    chosen = sorted(draw.sample(list(_TOPICS), draw.choice((0, 1, 1, 2))))
    text = " ".join(draw.choice(_TOPICS[topic]) for topic in chosen)
    return {"message": f"Message {name}. {text}", "topics": chosen}


def _promises(draw: random.Random, name: str) -> dict[str, Any]:
    chosen = [(what, draw.choice(("", "3 days"))) for what in draw.sample(_PROMISES, draw.choice((0, 1, 2)))]
    text = " ".join(f"We will {what}{' within ' * bool(figure)}{figure}." for what, figure in chosen)
    objects = [{"what": what, "figure": figure} for what, figure in chosen]
    return {"reply": f"Reply {name}. {text or 'Thank you.'}", "promises": objects}


def _share(draw: random.Random, name: str) -> dict[str, Any]:
    count = draw.randrange(5)
    # rows that nearly repeat each other are never in two parts of a split
    things = draw.sample(_THINGS.split(), 4)
    parts = [f"The {thing} costs {draw.randrange(2, 99)} euros." for thing in things[:count]]
    parts += [f"The {thing} is {draw.choice(_LOOKS)}." for thing in things[count:]]
    draw.shuffle(parts)
    return {"message": f"Message {name}. {' '.join(parts)}", "share": count / 4}


def _better(draw: random.Random, name: str) -> dict[str, Any]:
    named = draw.choice(("first", "second", "tie"))
    texts = dict.fromkeys(("first", "second"), f"It is blue, {name}.")
    texts[named] = f"It costs 9 euros, {name}."
    return {"left": texts["first"], "right": texts["second"], "better": named}


_ROW = {"topics": _topics, "promises": _promises, "share": _share, "better": _better}
