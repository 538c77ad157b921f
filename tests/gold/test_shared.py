"""Inputs that rows share by design are told from documents by counting, and make neither groups nor near copies."""

from dataclasses import replace
from typing import Any, Literal

import dspy
import pytest

from jurist.cases import text_hash
from jurist.gold.copies import near_rows, sketched_rows
from jurist.gold.goldset import Gold
from jurist.programs.judge import Judge


class Sent(dspy.Signature):
    """Say whether the claim may be sent."""

    text: str = dspy.InputField(desc="a policy, a rubric, or a document")
    claim: str = dspy.InputField(desc="what is judged")
    verdict: Literal["send", "hold"] = dspy.OutputField(desc="send or hold")


JUDGE = Judge(name="sent", signature=Sent, positive="hold")


def words(number: int, count: int) -> str:
    """Words that only this number has."""
    return " ".join(text_hash(f"{number} {place}")[:7] for place in range(count))


def rows(texts: int, each: int, talks: int = 0) -> list[dict[str, Any]]:
    """So many rows of each of so many texts; with talks, groups of so many rows."""
    found = []
    for number in range(texts * each):
        row = {"text": words(number % texts, 20), "claim": words(10_000 + number, 8)}
        row["verdict"] = ("send", "hold")[number % 2]
        if talks:
            row["group"] = f"talk-{number // texts // talks}-{number % texts}"
        found.append(row)
    return found


LAYOUTS = {
    # rows, shared inputs, groups that a split has
    "six policies": (rows(6, 26), ["text"], 156),
    "six policies, conversations": (rows(6, 26, 2), ["text"], 78),
    "one rubric": (rows(1, 40), ["text"], 40),
    "two system prompts": (rows(2, 30), ["text"], 60),
    "documents of 2 claims": (rows(40, 2), [], 40),
    "documents of 5 claims": (rows(20, 5), [], 20),
    "documents of 8 claims": (rows(6, 8), [], 6),
    "documents of 8 claims, a group each": (rows(6, 8, 1), [], 6),
    "many documents of many claims": (rows(20, 12), [], 20),
    "all distinct": (rows(60, 1), [], 60),
    "six policies and a few of their own": ([*rows(6, 26), *rows(200, 1)[170:]], ["text"], 186),
    "a note in most rows, documents in the others": (
        [*({**row, "text": ""} for row in rows(60, 1)), *rows(10, 4)],
        [],
        60 + 10,
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_shared_is_told_from_documents(name: str) -> None:
    given, shared, groups = LAYOUTS[name]
    gold = Gold.of(given, JUDGE)
    assert [one.name for one in gold.shared] == shared
    split = gold.split(0)
    assert len({case.group for case in (*split.train, *split.dev, *split.test)}) == groups
    assert len(gold.shared_words) == len(shared)


def test_the_judge_says_otherwise_in_both_directions() -> None:
    given = LAYOUTS["six policies"][0]
    none = Gold.of(given, replace(JUDGE, common=()))
    assert (none.shared, len({case.group for case in none.cases})) == ((), 6)
    few = Gold.of(rows(6, 4), replace(JUDGE, common=("text",)))
    assert (few.shared, len({case.group for case in few.cases}), few.near_copies) == ((), 24, ())


def test_rows_that_were_seen_are_known_by_what_is_not_shared() -> None:
    gold = Gold.of(LAYOUTS["six policies"][0], JUDGE)
    split = gold.split(0)
    seen = sketched_rows(split.judge, split.train)
    assert split.judge.common == ("text",)
    assert not near_rows(split.judge, split.test, seen)
    assert near_rows(split.judge, split.train[:3], seen) == {case.id for case in split.train[:3]}
