"""What is asked when hallucination items are written and verified (HaluAgent and C-FAITH, sections 3 and 4).

Three steps write: a question with its correct answer, hallucinated answers to it, and the type of each (section 3.1).
Three verify, each with yes, no or uncertain (appendix A), and one compares a model's reply with the correct answer
(section 4.2). Conditions are those of appendix A in our own words.
"""

import dspy

from .haluagent_labels import HallucinationType, Verdict

_TITLE = "what the document is about; may be empty"


class WriteQuestion(dspy.Signature):
    """Write a question of the wanted type about the document, and its correct answer.

    1. The question is put to somebody who does not have the document. It names its subject in full and stands
    alone: no "the document", "the text" or "the author", and no "he", "she" or "it" without a name before it.
    2. It has one correct answer. The document states this answer, and it can be checked there.
    3. It is as hard as the document allows: prefer what a reader has to look for, or to put together.
    4. It does not give its answer away.
    5. The answer answers the question, agrees with the document, and needs nothing else to be understood.

    What a question of each type asks for:
    fabrication: how or why something came about, or what happened, so that events could be made up.
    attribute: a property of one thing: what it consists of, what it does, what it is for, how it looks, how many.
    entity: one named thing: a person, an organisation, a work, an event. The answer is its name.
    relation: how two or more named things stand to each other: which is older, larger, earlier, part of which.
    The question names all of them.
    spatiotemporal: when or where something happened. The answer is a time or a place.
    reference: a source: which book, article, report or speech says something, or whose words something is.
    """

    knowledge: str = dspy.InputField(desc="the document: the only source of facts")
    title: str = dspy.InputField(desc=_TITLE)
    type: HallucinationType = dspy.InputField(desc="the type of the question")
    question: str = dspy.OutputField(desc="one question, in the language of the document")
    correct_answer: str = dspy.OutputField(desc="the answer to it, in the language of the document")
    passage: str = dspy.OutputField(
        desc="the sentences of the document that the answer rests on, copied word for word"
    )


class WriteHallucinations(dspy.Signature):
    """Write three hallucinated answers to the question.

    1. Each replies to the question, and gives the kind of thing that the question asks for.
    2. Each disagrees with the passage and with the correct answer.
    3. Each sounds reasonable to somebody who does not know the subject.
    4. No two say the same.
    5. Write the replies only, without explanations.
    """

    question: str = dspy.InputField(desc="the question")
    correct_answer: str = dspy.InputField(desc="its correct answer")
    passage: str = dspy.InputField(desc="the passage that the correct answer rests on")
    hallucinated_answers: list[str] = dspy.OutputField(
        desc="three hallucinated answers, in the language of the question"
    )


class LabelHallucinations(dspy.Signature):
    """Name the type of each hallucinated answer.

    Read the question first. Then take the first type of this list whose conditions all hold:
    1. reference: the hallucinated answer names a source (a book, an article, a quotation, a site, a link), and this
    source does not exist or says something else.
    2. relation: the question asks how two or more named things stand to each other (older, larger, earlier, part of),
    and the hallucinated answer states this relation wrongly.
    3. spatiotemporal: the question asks when or where, the correct and the hallucinated answer are both a time or
    both a place, and nothing else is wrong.
    4. entity: the question asks for one named thing (a person, an organisation, a work, an event), and the
    hallucinated answer names another thing of that kind.
    5. attribute: the question asks for a property of something (what it consists of, what it does, what it is for,
    how it looks, how many), and the hallucinated answer gives the real thing a property that it does not have.
    6. fabrication: none of these. The core of the hallucinated answer (an event, a cause, a creature, a thing) is
    made up.
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
    title: str = dspy.InputField(desc=_TITLE, default="")
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
    title: str = dspy.InputField(desc=_TITLE, default="")
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

    title: str = dspy.InputField(desc="what question and answers are about; may be empty", default="")
    question: str = dspy.InputField(desc="the question")
    correct_answer: str = dspy.InputField(desc="its correct answer")
    hallucinated_answer: str = dspy.InputField(desc="the hallucinated answer")
    type: HallucinationType = dspy.InputField(desc="the type to check")
    definition: str = dspy.InputField(desc="when this type applies")
    reason: str = dspy.OutputField(desc="why, in one sentence")
    fits: Verdict = dspy.OutputField(desc="yes, no, or uncertain: whether the definition is met")


class QAConflict(dspy.Signature):
    """Decide whether a reply to a question conflicts with the correct answer.

    It conflicts if it states something that cannot be true together with the correct answer, or gives another
    answer. Other words for the same, and additions that leave the correct answer as it is, are no conflict. A
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
