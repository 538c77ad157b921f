"""Replies of models and what is read in them: the answer alone, or nothing."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.papers.haluagent.reading import read_choice, read_truth
from jurist.text.wording import chinese_share

OPTIONS = ("14 June 1605", "15 July 1606", "Leiden", "a town")
TRUTHS = {
    True: """
        true | True. | **True** | "true" | TRUE! | (true) | Yes | yes. | Yes, it is. | Correct
        The answer is true. | Answer: true | Final answer: **True** | My verdict: correct
        This statement is true. | That is right. | It is correct. | I think it's true.
        I have doubts about the date.\\nThe answer is true. | 正确 | 正确。 | 对 | 对的 | 是的。
        True, he was born in 1606. | Yes, it is correct. | 回答：正确 | 正确，伦勃朗出生于1606年7月15日。
        Correct: 3 × 4 is 12. | True, since 2×3 = 6. | 正确，面积是3×4米。 | √ | ✓ True | True: √9 is 3.
        Based on what I know, the statement is correct. | True because it is recorded.
        这是正确的。 | 答案：正确 | 答案是正确的 | 没错 | 属实 | True. He was born in 1606. | ｔｒｕｅ
    """,
    False: """
        false | False. | **False** | No | no. | No, it is not. | Incorrect | Wrong! | Not true.
        untrue | The answer is false. | Answer: incorrect | It is not correct. | That is wrong.
        No. The right year is 1902. | 错误 | 错误。 | 不正确 | 不对
        不是 | 否 | 错 | 这是错误的。 | 答案：错误 | False. It was in 1815.
        No, the correct answer is 1902. | 不正确，应为1902年。 | 根据我的知识，这个答案是错误的。
        The answer is incorrect because he was born in 1607. | Incorrect: it should be 1607.
        × | ✗ false | ×，应为1607年。 | False: 3 × 4 is 12.
        错，应该是1607年。 | No. It is false, because he was born later.
    """,
    None: """
        perhaps | It is unclear. | true or false | True/False | I do not know. | not quite right
        Not entirely correct. | partially correct | hardly true | mostly true | It might be true.
        probably not | It is not incorrect. | not wrong | I don't think that is correct.
        It would be wrong to say this is false. | Is this correct? | The correct answer is 1902.
        true, then again false | Yes.\\nNo.
        不完全正确 | 部分正确 | 可能正确 | 正确的是1902年。
        Right, let me think. | Yes, I can help. | True, but only in part. | No idea. | Yes and no.
        True. Actually, no, it is false. | No, it is true. | 对不起，我不能回答。 | Correct, although the day is wrong.
        不能说是错误的 | 对还是错？ | 既对又错 | 我不认为这是正确的。
    """,
}
CHOICES: dict[str | None, str] = {
    "A": "A | The answer is A. | a | 答案：A | A. 14 June 1605 | I choose A | 14 June 1605.",
    "B": r"""
        B | **B** | (B) | B) | B. 15 July 1606 | 选B | 15 July 1606 | Ｂ | Option B | A is wrong.\nB | 答案为B
        正确答案是 B | 我认为答案是B | 正确选项是B。 | The correct answer is option B | 应选B | \boxed{B}
        B because he says so | Answer: option B. | The answer is (B) 15 July 1606. | I choose option B.
        The answer is B, since he was born in July. | Answer A is wrong, B is right.
    """,
    "C": "Answer: C | 答案是C。 | The correct option is C. | Leiden",
    "D": "The correct answer is (D). | My answer: D | D: a town",
    None: """
        Option B is wrong. | Option B, which is wrong. | 选项B不正确 | I would rule out B.
        Some would choose B, but I am not sure.
        If the answer is B, he was born in July. | If A is wrong, B is right. | 如果A错了，答案是B | 答案是A还是B？
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


TABLE = tomllib.loads((Path(__file__).parent / "replies_of_models.toml").read_text(encoding="utf-8"))
ENGLISH = ("Leiden", "Amsterdam", "Utrecht", "Delft")
CHINESE = ("莱顿", "阿姆斯特丹", "乌得勒支", "代尔夫特")


def readings_of_table() -> list[tuple[str, object, object]]:
    """Return each reply of the table, what a careful person reads in it, and what is read."""
    readings: list[tuple[str, object, object]] = []
    for said, replies in TABLE["true_false"].items():
        for reply in replies:
            readings.append((reply, {"true": True, "false": False, "none": None}[said], read_truth(reply)))
    for said, replies in TABLE["choice"].items():
        for reply in replies:
            options = CHINESE if chinese_share(reply) else ENGLISH
            readings.append((reply, None if said == "none" else said, read_choice(reply, options)))
    return readings


def test_of_the_replies_of_models_none_is_read_wrongly_and_hardly_one_is_unread() -> None:
    readings = readings_of_table()
    assert len(readings) == 183
    assert [reading for reading in readings if reading[2] not in (reading[1], None)] == []
    unread = [reply for reply, said, read in readings if read != said]
    assert unread == ["I don't think this is correct."]
