"""What is asked when hallucination items are written and verified (HaluAgent and C-FAITH, sections 3 and 4).

Three steps write: a question with its correct answer, hallucinated answers to it, and the type of each (section 3.1).
Three verify, each with yes, no or uncertain (appendix A), and one compares a model's reply with the correct answer
(section 4.2). Definitions and conditions are those of Table 1 and appendix A in our own words. A Chinese
variant has the same fields and another instruction.
"""

from typing import Final, Literal, get_args

import dspy

HallucinationType = Literal["fabrication", "attribute", "entity", "relation", "spatiotemporal", "reference"]
"""The six types of Table 1."""

TYPES: Final[tuple[HallucinationType, ...]] = get_args(HallucinationType)

Verdict = Literal["yes", "no", "uncertain"]
"""What a verifier says; only yes passes."""

DEFINITIONS: Final[dict[str, dict[HallucinationType, str]]] = {
    "en": {
        "fabrication": "The hallucinated answer rests on something that does not exist or that no source could "
        "confirm: an invented event, creature, person, place or figure, so that nothing of its core is real. It is "
        "not a fabrication if the question asks for a property of something (function, feature, composition).",
        "attribute": "The question asks for a property of something (function, feature, composition, use, "
        "appearance, quantity), and the hallucinated answer gives the real thing a property that it does not have.",
        "entity": "The question asks for a definite entity (a person, an organisation, a work, an event, a named "
        "thing), and the hallucinated answer names another one that exists.",
        "relation": "The question asks how different entities stand to each other (older, larger, before, part of), "
        "and the hallucinated answer states that relation wrongly; describing each by itself is not enough.",
        "spatiotemporal": "The question asks when or where, the correct and the hallucinated answer both give a "
        "time or a place, and only that time or place is wrong; what happened is told correctly.",
        "reference": "The hallucinated answer cites a source (a book, an article, a quotation, a link) that does not "
        "exist or that says something else.",
    },
    "zh": {
        "fabrication": "幻觉答案以不存在或任何资料都无法证实的内容为核心，例如编造的事件、生物、人物、地点或数据。"
        "如果问题问的是事物的属性（功能、特征、组成），则不属于虚构事实。",
        "attribute": "问题问的是某事物的属性（功能、特征、组成、用途、外观、数量），"
        "幻觉答案给这个真实的事物安上了它没有的属性。",
        "entity": "问题问的是一个明确的实体（人物、机构、作品、事件、有名称的事物），"
        "幻觉答案说的是另一个真实存在的实体。",
        "relation": "问题问的是不同实体之间的关系（谁更早、谁更大、先后、从属），幻觉答案把这种关系说错；"
        "只是分别描述每个实体不算。",
        "spatiotemporal": "问题问的是时间或地点，正确答案和幻觉答案给出的都是时间或地点，"
        "错的只是这个时间或地点，事情本身没有说错。",
        "reference": "幻觉答案引用了来源（书、文章、名言、链接），而这个来源并不存在，或者说的是别的内容。",
    },
}
"""Language -> type -> when the type applies."""


def definition(kind: HallucinationType, language: str) -> str:
    """Return when a type applies, in ``zh`` or (any other language) in English."""
    return DEFINITIONS["zh" if language == "zh" else "en"][kind]


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


_CHINESE: Final[dict[type[dspy.Signature], str]] = {
    WriteQuestion: """根据文档写一个问题及其正确答案。

问题要难，并且与文档讲述的内容有关。答案要回答这个问题，真实而且合乎逻辑。""",
    WriteHallucinations: """为问题写三个幻觉答案。

每个答案都是对问题的回复，与依据和正确答案都不一致。只写回复本身，不写解释。""",
    LabelHallucinations: """判断每个幻觉答案属于哪种类型。

fabrication 虚构事实：内容是编造的。attribute 属性错误：特征说错。entity 实体错误：说成另一个实体。
relation 关系错误：事物之间的关系说错。spatiotemporal 时空幻觉：时间或地点有误。reference 虚假引用：用假的来源佐证。""",
    AnswerCheck: """检查问题的答案是否正确。文档的内容视为事实。

如果问题能够根据文档回答，答案回答了问题、与文档相符、自身也合理，则为 yes；
有一条不满足则为 no；无法判断则为 uncertain。""",
    HallucinationCheck: """检查一个幻觉答案是否可用：它是错的，但看起来是对问题的合理回复。

如果它回复了问题，与文档和正确答案相违背，并且不了解文档的人会觉得合理，则为 yes。
如果它说的和正确答案一样、没有回复问题、说的不是所问的那一类事物、不合语法或者不通，则为 no。
无法判断则为 uncertain。""",
    LabelCheck: """检查幻觉答案是否属于所标的类型。

如果问题、正确答案和幻觉答案满足定义的每一个条件，则为 yes；有一个不满足则为 no；无法判断则为 uncertain。""",
}


def chinese(signature: type[dspy.Signature]) -> type[dspy.Signature]:
    """Return a signature that writes or verifies with its Chinese instruction: the same fields."""
    found: type[dspy.Signature] = signature.with_instructions(_CHINESE[signature])
    return found
