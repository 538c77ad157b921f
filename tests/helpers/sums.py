"""A judge of replies to sums, and a model that is right about them where it compares them with its own answer."""

import random
import re
from pathlib import Path
from typing import Any

from loopback import field_of, truth_of

JUDGE = '''
import dspy
from typing import Literal
import jurist


class Reply(dspy.Signature):
    """Decide whether the reply answers the question correctly."""

    question: str = dspy.InputField()
    reply: str = dspy.InputField()
    verdict: Literal["right", "wrong"] = dspy.OutputField()


class Grade(dspy.Signature):
    """Grade how good the reply to the question is."""

    question: str = dspy.InputField()
    reply: str = dspy.InputField()
    grade: int = dspy.OutputField(ge=1, le=5)


class Better(dspy.Signature):
    """Say which reply to the question is better."""

    question: str = dspy.InputField()
    left: str = dspy.InputField()
    right: str = dspy.InputField()
    better: Literal["first", "second", "tie"] = dspy.OutputField()


judge = jurist.Judge(name="sums", signature=Reply, positive="wrong", metric="accuracy")
grade = jurist.Judge(name="grade", signature=Grade, unit="reply")
better = jurist.Judge(
    name="better", signature=Better, answer=jurist.Preference(first="left", second="right")
)
'''
OWN = "\n\nYour own earlier answer"
_SUM = re.compile(r"What is (\d+) \+ (\d+)")


def rows(count: int = 160, seed: int = 0) -> list[dict[str, Any]]:
    """Return labelled replies to sums, two to each."""
    draw = random.Random(seed)
    made = []
    for number in range(count // 2):
        first, second = draw.randrange(100, 900), draw.randrange(100, 900)
        for _ in range(2):
            is_right = draw.random() < 0.5
            total = first + second + (0 if is_right else draw.choice((-10, -1, 1, 10)))
            made.append(
                {
                    "question": f"What is {first} + {second}?",
                    "reply": f"It is {total}.",
                    "verdict": "right" if is_right else "wrong",
                    "group": str(number),
                }
            )
    return made


def is_own(messages: list[dict[str, Any]]) -> bool:
    """Say whether a request asks for an own answer."""
    return "Do it yourself" in str(messages[-1]["content"])


def answers(messages: list[dict[str, Any]]) -> str:
    """Answer a request: the sum itself, a verdict, a grade, a preference, or an instruction that changes nothing."""
    asked = str(messages[-1]["content"])
    if is_own(messages):
        return f"It is {_total(asked)}."
    question = field_of(asked, "question")
    if _SUM.match(question) is None:
        return f"[[ ## instruction ## ]]\nBe careful, {len(asked)}.\n\n[[ ## completed ## ]]"
    compares = OWN in question
    if field_of(asked, "left"):
        said = "tie"
        if compares:
            said = "first" if str(_total(question)) in field_of(asked, "left") else "second"
        return f"[[ ## better ## ]]\n{said}\n\n[[ ## completed ## ]]"
    reply = field_of(asked, "reply")
    is_right = str(_total(question)) in reply
    if not compares:
        is_right = is_right == truth_of(question + reply, (True, True, False))
    if "`grade`" in str(messages[0]["content"]):
        return f"[[ ## grade ## ]]\n{5 if is_right else 1}\n\n[[ ## completed ## ]]"
    return f"[[ ## verdict ## ]]\n{'right' if is_right else 'wrong'}\n\n[[ ## completed ## ]]"


def _total(task: str) -> int:
    found = _SUM.search(task)
    assert found is not None
    return int(found[1]) + int(found[2])


def settle(folder: Path) -> None:
    """Write the judges and the gold into a folder."""
    from small import write_jsonl

    (folder / "sums.py").write_text(JUDGE, encoding="utf-8")
    write_jsonl(folder / "gold.jsonl", rows())
