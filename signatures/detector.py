"""What is asked of a detector: the hallucinated sentences of a response, in one pass (CogniBench, CogniDet).

Input and output are those of the paper's appendices A.8.2 and A.10 (figure 13): reference, dialogue and response in,
a list of sentences out. Below them is what is asked of the detectors of Table 3 that language models answer: FAVA's
(marked text), RAGTruth's (spans as JSON) and SelfCheckGPT's (another response, and whether it bears a sentence out).
The wording is ours, so a model that was tuned on the wording of its authors hears another one.
"""

from typing import Literal

import dspy
import pydantic


class DetectHallucinations(dspy.Signature):
    """List every sentence of an assistant's response that the reference does not bear out.

    List a sentence if any part of it states a fact that is not in the reference, however true it may be, if it
    goes against the reference, or if it infers, explains or evaluates what the reference gives no grounds for.
    Leave out greetings, fillers and offers of help, facts that the reference supports, and inferences that follow
    from it. Copy each listed sentence exactly, in the order of the response; an empty list means that there is none.
    """

    reference: str = dspy.InputField(desc="the only source of facts")
    dialogue: str = dspy.InputField(desc="the earlier turns and the user's message that is answered")
    sentences: str = dspy.InputField(desc="the response, one sentence per line")
    hallucinated: list[str] = dspy.OutputField(
        desc="the sentences that the reference does not bear out, each copied word for word; [] if there are none"
    )


class _OfPassage(dspy.Signature):
    """Find what is wrong in a text."""

    reference: str = dspy.InputField(desc="the only source of facts")
    dialogue: str = dspy.InputField(desc="the earlier turns and the user's message that is answered")
    sentences: str = dspy.InputField(desc="the text, as one passage")


class MarkErrors(_OfPassage):
    """Repeat the text word for word, and mark in it what the references do not bear out.

    Put <entity> or <relation> around a wrong name or relation, with the wrong words in <delete></delete> and better
    ones in <mark></mark>. Put <contradictory>, <invented>, <subjective> or <unverifiable> around a whole statement of
    that kind. Close every tag. Change and add nothing else.
    """

    hallucinated: list[str] = dspy.OutputField(desc="the marked spans")


class ListSpans(_OfPassage):
    """List the spans of the text that go against the references, or that the references do not hold.

    Answer with JSON alone: {"hallucination list": [...]}, each span copied word for word from the text; the list is
    empty if there are none.
    """

    hallucinated: list[str] = dspy.OutputField(desc="the listed spans")


class RespondAnew(dspy.Signature):
    """Answer the user's message with the help of the reference, in plain prose."""

    reference: str = dspy.InputField(desc="the only source of facts")
    dialogue: str = dspy.InputField(desc="the earlier turns, and the user's message to answer last")
    response: str = dspy.OutputField(desc="the answer")


class BorneOut(pydantic.BaseModel):
    """What is said of one numbered sentence."""

    n: int
    label: Literal["faithful", "hallucinated"]


class CompareWithSample(dspy.Signature):
    """Say of every numbered sentence whether the text bears it out: faithful if it does, else hallucinated."""

    reference: str = dspy.InputField(desc="the text")
    sentences: str = dspy.InputField(desc="the sentences, one per line, each with its number")
    labels: list[BorneOut] = dspy.OutputField(
        desc="exactly one item for each numbered sentence, with its number n and its label"
    )
