"""A generator of one's own: a question with its answer from each document, verified. See docs/generators.md."""

from typing import Literal

import dspy

import jurist


class WriteQuestion(dspy.Signature):
    """Write one question that the document answers, and the answer in one sentence."""

    document: str = dspy.InputField(desc="the only source of facts")
    question: str = dspy.OutputField(desc="what a reader may ask")
    answer: str = dspy.OutputField(desc="the answer, in one sentence")


class AnswerHolds(dspy.Signature):
    """Does the document support the answer to the question?"""

    document: str = dspy.InputField(desc="the document")
    question: str = dspy.InputField(desc="a question about it")
    answer: str = dspy.InputField(desc="the answer to check")
    verdict: Literal["yes", "no", "uncertain"] = dspy.OutputField(desc="yes, no, or uncertain")
    reason: str = dspy.OutputField(desc="why, in one sentence")


class QuestionIsClear(AnswerHolds):
    """Can the question be understood by someone who does not see the document?"""


class Quiz(dspy.Module):
    """Writes an item and has it verified."""

    def __init__(self) -> None:
        super().__init__()
        self.write = dspy.Predict(WriteQuestion)  # tuned
        self.holds = jurist.verifier(dspy.Predict(AnswerHolds))  # asked as it is
        self.clear = jurist.verifier(dspy.Predict(QuestionIsClear))

    async def aforward(self, document: str) -> dspy.Prediction:
        """Return one item with its checks."""
        item = dict(await self.write.acall(document=document))
        checks = {
            "holds": await self.holds.acall(document=document, **item),
            "clear": await self.clear.acall(document=document, **item),
            "short": len(item["answer"].split()) <= 30,  # what code can check, code checks
        }
        return dspy.Prediction(written=[item], checks=[checks])


generator = jurist.Generator(
    name="quiz", signature=WriteQuestion, program=Quiz, checks=("holds", "clear", "short")
)
