"""Replies of models and what is read in them: what a person would take them to say, or that nothing can be read.

The tables were written before the readers. A rule that reads one reply has another here that must go the other way.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.papers.haluagent.replies import read_choice, read_truth

OPTIONS = ("14 June 1605", "15 July 1606", "Leiden", "a town")
TRUTHS = {
    True: """
        true | True. | **True** | "true" | TRUE! | (true) | Yes | yes. | Yes, it is. | Correct
        correct! | Right. | The answer is true. | The answer is correct. | Answer: true
        Final answer: **True** | My verdict: correct | This statement is true. | That is right.
        It is correct. | I believe this is correct. | I think it's true. | Yes, that is correct.
        The statement is accurate. | Yes, the correct answer is 1606.
        At first I had doubts about the date. The answer is true.
        It says 1605 in one place, which is wrong. Answer: true | 正确 | 正确。 | 对 | 对的 | 是
        是的。 | 这是正确的。 | 这个答案是对的。 | 答案：正确 | 答案是正确的 | 判断：是的，没有错
        没错 | 属实 | Yes, this is true according to the passage. | True, he was born in 1606.
        I agree, it is correct. | 对，没有问题
        The given answer is correct because the text says so.
        After checking, I conclude that it is true. | 这个答案正确。 | 我认为这是正确的。
        是的，正确答案是1606年。 | ｔｒｕｅ
    """,
    False: """
        false | False. | **False** | No | no. | No, it is not. | Incorrect | Wrong! | Not true.
        not correct | untrue | The answer is false. | Answer: incorrect | Final answer: **false**
        It is not correct. | This isn't true. | I don't think that is correct.
        I do not believe this is true. | That is wrong. | It is never true.
        No, the correct answer is 1902. | No. The right year is 1902. | The statement is inaccurate.
        It says 1606, which is right. But the answer is false. | No, that's incorrect.
        This cannot be right. | 错误 | 错误。 | 不正确 | 不对 | 不是 | 否 | 错 | 这是错误的。
        答案：错误 | 答案是：错误 | 答案 是 错误的 | 判断：不正确 | 不属实
        False. The battle was in 1815. | No, the answer is wrong; it was 1902.
        The answer is not true. | 这是不对的 | Based on the passage, this is not accurate.
        答案错误，正确答案是701年。 | 错误，应为1902年。 | 该答案是不正确的。 | 我不认为这是正确的。
        我认为这不正确。 | 不，正确的是1902年。 | 不对，应该是1902年。 | 这个说法有误。 | 并不正确
    """,
    None: """
        perhaps | It is unclear. | true or false | True/False | I do not know. | Cannot say.
        not quite right | Not entirely correct. | partially correct | It is partly true.
        hardly true | mostly true | almost right | half true | It might be true.
        It could be correct. | probably not | It is not incorrect. | not wrong
        It would be wrong to say this is false. | If this is correct, then so is the other.
        It depends. | There is no evidence that this is correct. | I am not sure this is correct.
        Is this correct? | You asked whether the answer is true. | The correct answer is 1902.
        The right year is 1902. | Yes and no. | Yes, but that is wrong. | No, it is true.
        true, then again false | to be correct, it needs a date
        It can't be ruled out that this is true. | neither true nor false
        I can neither confirm nor deny it. | The passage does not say whether this is true.
        It is correct except for the date. | It is true in part. | It was once believed to be true.
        It used to be correct. | Some say it is true, others that it is false. | 正确与否不得而知
        是不是正确我不知道 | 答案有一部分是对的 | 不完全是错的 | 文中没有提到 | 不完全正确
        部分正确 | 基本正确 | 可能正确 | 也许是对的 | 几乎正确 | 不一定 | 不一定正确 | 不太对
        难以判断 | 无法确定是否正确 | 正确的是1902年。 | 如果正确的话 | 并非不正确 | 不能说是错误的
        对还是错？ | 既对又错 | 对于这个问题，我不知道。 | 不清楚 | 这是什么？
    """,
}
CHOICES = {
    "A": """
        A | The answer is A. | a | 答案：A | A. 14 June 1605 | I choose A | It was on 14 June 1605.
        The answer is A because of its date.
    """,
    "B": """
        B | b | **B** | (B) | B. | B) | B. 15 July 1606 | 选B | 15 July 1606
        He was born on 15 July 1606. | Ｂ | Option B | B is the answer. | B - 15 July 1606
        The right choice is B, not C. | I'd say B. | 应该选B | 答案为B | A is wrong and so is C.\\nB
        The answer is not A. The answer is B. | Not A. The answer should be B.
        A and C can be ruled out, so the answer is B. | Answer: B (not A) | 不是A，答案是B。
        A不对，应选B。
    """,
    "C": """
        Answer: C | 答案是C。 | A is wrong; the answer should be C. | The correct option is C.
        I would go for C: answer C. | A is incorrect. C is correct. | C is the correct answer.
        C is right. | 正确选项是C | C是正确的。
    """,
    "D": """
        The correct answer is (D). | 我选择D | D is correct. | My answer: D
    """,
    None: """
        A or B | The answer is A or B. | Answer: A and B | either A or C | A, B
        The answer is A/B. | A good question. | E | Bravo | 14 June 1605 or 15 July 1606
        以上都不对 | The answer is not A. | A is wrong. | It is not B. | The answer cannot be C.
        答案不是A。 | A不对。 | 答案是A或B | The answer is A. No, the answer is B.
        I would not choose C. | All of the above. | B and D are both right. | 不选A | Could be D.
        A seems wrong. | Neither A nor B is correct.
        If the answer is A, then he lived in Leiden or a town. | Is the answer A?
        The answer might be A, or B. | None of A, B, C and D.
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
@settings(max_examples=200)
def test_no_reply_breaks_the_readers(reply: str) -> None:
    assert read_choice(reply, OPTIONS) in {"A", "B", "C", "D", None}
    assert read_truth(reply) in {True, False, None}


@given(st.sampled_from(["", "I have thought about it. ", "Let me see.\n"]), st.sampled_from(rows(TRUTHS)))
def test_words_before_that_say_nothing_change_nothing(before: str, row) -> None:
    reply, said = row.values
    assert read_truth(before + reply) is said


@given(
    st.sampled_from([row for row in rows(TRUTHS) if row.values[1] is not None]), st.sampled_from(rows(TRUTHS))
)
def test_two_replies_one_after_the_other_are_never_read_as_what_neither_says(one, two) -> None:
    read = read_truth(f"{one.values[0]}\n{two.values[0]}")
    assert read in {one.values[1], two.values[1], None}
