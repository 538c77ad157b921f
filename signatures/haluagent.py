"""What is asked when hallucination items are written and verified (HaluAgent and C-FAITH, sections 3 and 4).

Three steps write: a question with its correct answer, hallucinated answers to it, and the type of each (section 3.1).
Three verify, each with yes, no or uncertain (appendix A), and one compares a model's reply with the correct answer
(section 4.2). Conditions are those of appendix A in our own words.
"""

from typing import Final, Literal, get_args

import dspy

HallucinationType = Literal["fabrication", "attribute", "entity", "relation", "spatiotemporal", "reference"]
"""The six types of Table 1."""

TYPES: Final[tuple[HallucinationType, ...]] = get_args(HallucinationType)

Verdict = Literal["yes", "no", "uncertain"]
"""What a verifier says; only yes passes."""


class WriteQuestion(dspy.Signature):
    """Write a question about the document, and its correct answer.

    The question is hard and is about what the document tells. The answer answers it, and is true and logical.
    """

    knowledge: str = dspy.InputField(desc="the document: the only source of facts")
    title: str = dspy.InputField(desc="what the document is about; may be empty")
    question: str = dspy.OutputField(desc="one question, in the language of the document")
    correct_answer: str = dspy.OutputField(desc="the answer to it, in the language of the document")
    passage: str = dspy.OutputField(desc="the sentences of the document that the answer rests on, copied")


class WriteHallucinations(dspy.Signature):
    """Write three hallucinated answers to the question.

    Each is a reply to the question and disagrees with the passage and with the correct answer. Write the replies
    only, without explanations.
    """

    question: str = dspy.InputField(desc="the question")
    correct_answer: str = dspy.InputField(desc="its correct answer")
    passage: str = dspy.InputField(desc="the passage that the correct answer rests on")
    hallucinated_answers: list[str] = dspy.OutputField(
        desc="three hallucinated answers, in the language of the question"
    )


class LabelHallucinations(dspy.Signature):
    """Say of which type each hallucinated answer is.

    fabrication: it is made up. attribute: it is wrong about a feature. entity: it gives another entity.
    relation: it is wrong about how things are related. spatiotemporal: it has a wrong time or place.
    reference: it supports itself with a false source.
    """

    question: str = dspy.InputField(desc="the question")
    correct_answer: str = dspy.InputField(desc="its correct answer")
    hallucinated_answers: list[str] = dspy.InputField(desc="the hallucinated answers")
    types: list[HallucinationType] = dspy.OutputField(
        desc="the type of each hallucinated answer, in their order"
    )


class AnswerCheck(dspy.Signature):
    """Check whether an answer to a question is correct. Take the document as true.

    Yes, if the question can be answered from the document, the answer answers it, agrees with the document, and
    makes sense in itself. No, if one of these fails. Uncertain, if you cannot tell.
    """

    knowledge: str = dspy.InputField(desc="the document, to be taken as true")
    question: str = dspy.InputField(desc="the question")
    answer: str = dspy.InputField(desc="the answer to check")
    reason: str = dspy.OutputField(desc="why, in one sentence")
    correct: Verdict = dspy.OutputField(desc="yes, no, or uncertain: whether the answer is correct")


class HallucinationCheck(dspy.Signature):
    """Check whether a hallucinated answer is usable: wrong, and yet a plausible reply to the question.

    Yes, if it replies to the question, goes against the document and the correct answer, and sounds reasonable to
    somebody who does not know the document. No, if it says what the correct answer says, does not reply to the
    question, gives another kind of thing than the one that is asked for, is not grammatical, or makes no sense.
    Uncertain, if you cannot tell.
    """

    knowledge: str = dspy.InputField(desc="the document, to be taken as true")
    question: str = dspy.InputField(desc="the question")
    correct_answer: str = dspy.InputField(desc="its correct answer")
    hallucinated_answer: str = dspy.InputField(desc="the hallucinated answer to check")
    reason: str = dspy.OutputField(desc="why, in one sentence")
    hallucinated: Verdict = dspy.OutputField(desc="yes, no, or uncertain: whether it is wrong and plausible")


class LabelCheck(dspy.Signature):
    """Check whether a hallucinated answer is of the type that it is said to be.

    Yes, if the question, the correct answer and the hallucinated answer meet every condition of the definition.
    No, if one is not met. Uncertain, if you cannot tell.
    """

    question: str = dspy.InputField(desc="the question")
    correct_answer: str = dspy.InputField(desc="its correct answer")
    hallucinated_answer: str = dspy.InputField(desc="the hallucinated answer")
    type: HallucinationType = dspy.InputField(desc="the type to check")
    definition: str = dspy.InputField(desc="when this type applies")
    reason: str = dspy.OutputField(desc="why, in one sentence")
    fits: Verdict = dspy.OutputField(desc="yes, no, or uncertain: whether the definition is met")


class QAConflict(dspy.Signature):
    """Decide whether a reply to a question conflicts with the correct answer.

    It conflicts if it states something that cannot be true together with the correct answer, or answers
    otherwise. Other words for the same, and additions that leave the correct answer as it is, are no conflict. A
    reply that gives no answer at all is no conflict either.
    """

    question: str = dspy.InputField(desc="the question")
    correct_answer: str = dspy.InputField(desc="its correct answer")
    response: str = dspy.InputField(desc="the reply to judge")
    conflict: bool = dspy.OutputField(desc="True if the reply conflicts with the correct answer")


class AnswerQuestion(dspy.Signature):
    """Answer the prompt, in its language."""

    prompt: str = dspy.InputField(desc="a question, perhaps with options or with an answer to assess")
    response: str = dspy.OutputField(desc="the answer")
