"""Replies of models and what is read in them: the answer alone, or nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.papers.haluagent.assess import read_choice, read_truth

OPTIONS = ("14 June 1605", "15 July 1606", "Leiden", "a town")
TRUTHS = {
    True: """
        true | True. | **True** | "true" | TRUE! | (true) | Yes | yes. | Yes, it is. | Correct
        The answer is true. | Answer: true | Final answer: **True** | My verdict: correct
        This statement is true. | That is right. | It is correct. | I think it's true.
        I have doubts about the date.\\nThe answer is true. | 正确 | 正确。 | 对 | 对的 | 是的。
        这是正确的。 | 答案：正确 | 答案是正确的 | 没错 | 属实 | True. He was born in 1606. | ｔｒｕｅ
    """,
    False: """
        false | False. | **False** | No | no. | No, it is not. | Incorrect | Wrong! | Not true.
        untrue | The answer is false. | Answer: incorrect | It is not correct. | That is wrong.
        No. The right year is 1902. | 错误 | 错误。 | 不正确 | 不对
        不是 | 否 | 错 | 这是错误的。 | 答案：错误 | False. It was in 1815.
    """,
    None: """
        perhaps | It is unclear. | true or false | True/False | I do not know. | not quite right
        Not entirely correct. | partially correct | hardly true | mostly true | It might be true.
        probably not | It is not incorrect. | not wrong | I don't think that is correct.
        It would be wrong to say this is false. | Is this correct? | The correct answer is 1902.
        No, the correct answer is 1902. | 不正确，应为1902年。
        true, then again false | Yes.\\nNo.
        不完全正确 | 部分正确 | 可能正确 | 正确的是1902年。
        不能说是错误的 | 对还是错？ | 既对又错 | 我不认为这是正确的。
    """,
}
CHOICES = {
    "A": "A | The answer is A. | a | 答案：A | A. 14 June 1605 | I choose A | 14 June 1605.",
    "B": "B | **B** | (B) | B) | B. 15 July 1606 | 选B | 15 July 1606 | Ｂ | Option B | A is wrong.\\nB | 答案为B",
    "C": "Answer: C | 答案是C。 | The correct option is C. | Leiden",
    "D": "The correct answer is (D). | My answer: D | D: a town",
    None: """
        A or B | The answer is A or B. | A, B | The answer is A/B. | A good question. | E | Bravo
        14 June 1605 or 15 July 1606 | 以上都不对 | The answer is not A. | A is wrong. | 答案不是A。
        I would not choose C. | Neither A nor B is correct. | Is the answer A? | A. 15 July 1606 | A.\\nB.
    """,
}


def rows(table: dict) -> list:
    return [
        pytest.param(reply.strip().replace("\\n", "\n"), said, id=reply.strip()[:60])
        for said, replies in table.items()
        for line in replies.strip().splitlines()
        for reply in line.split(" | ")
    ]


@pytest.mark.parametrize(("reply", "said"), rows(TRUTHS))
def test_a_truth_value_is_read_or_not_there(reply: str, said: bool | None) -> None:
    assert read_truth(reply) is said


@pytest.mark.parametrize(("reply", "letter"), rows(CHOICES))
def test_a_choice_is_read_or_not_there(reply: str, letter: str | None) -> None:
    assert read_choice(reply, OPTIONS) == letter


@given(st.text(max_size=60))
@settings(max_examples=100)
def test_no_reply_breaks_the_readers(reply: str) -> None:
    assert read_choice(reply, OPTIONS) in {"A", "B", "C", "D", None}
    assert read_truth(reply) in {True, False, None}


LINES = [row for row in rows(TRUTHS) if "\n" not in row.values[0]]


@given(st.sampled_from([row for row in LINES if row.values[1] is not None]), st.sampled_from(LINES))
def test_two_replies_one_after_the_other_are_never_read_as_what_neither_says(one, two) -> None:
    read = read_truth(f"{one.values[0]}\n{two.values[0]}")
    assert read in {one.values[1], two.values[1], None}
