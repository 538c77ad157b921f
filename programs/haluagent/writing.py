"""The generator ``haluagent``: a question from a passage of a document, three hallucinated answers, their types.

Three predictors write and are tuned; the verifiers are frozen; code checks what code can check (section 3.1). An item
is one hallucinated answer with its question, so that of one question some may pass and others not. Every
verifier stands in the program once for each time that it is asked, so that calls are counted exactly.

Code checks (section 3.1): the supporting passage must stand in the document, the question must not give its answer
away, all texts are in the document's language, and no two answers say the same in nearly the same words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal

import dspy

from ...cases import Case
from ...evaluation.checked_items import CheckedItem
from ...signatures.haluagent import (
    TYPES,
    AnswerCheck,
    HallucinationCheck,
    LabelCheck,
    LabelHallucinations,
    WriteHallucinations,
    WriteQuestion,
)
from ...text.ranking import letters, near
from ...text.sentences import split
from ...text.tables import table
from ...text.terms import numbers, terms
from ...text.wording import WORDS, chinese_share, count_words, is_chinese, passages
from ..frozen import verifier
from ..generator import Generator
from ..stepwise import Making, Steps, Stepwise
from .judges import DEFINITIONS, definition

_SHORT = 4  # words up to which an answer may be a foreign name or a number


def alike(first: str, second: str) -> bool:
    """Return whether two texts are near-duplicates: equal letters, or equal numbers and nearly the same letters."""
    own, other = letters(first), letters(second)
    return own == other or (numbers(first) == numbers(second) and near(own, other))


def occurs(passage: str, document: str) -> bool:
    """Return whether every sentence of a passage stands in the document, white space aside; an empty one does not."""
    whole = "".join(document.split())
    sentences = ["".join(sentence.text.split()) for sentence in split(passage)]
    return bool(sentences) and all(sentence in whole for sentence in sentences)


def leaks(question: str, answer: str) -> bool:
    """Return whether a question holds its answer: word for word, or all of its words where there is a number in it."""
    # A comparison may name what it compares.
    plain = letters(answer)
    if len(plain) > 1 and plain in letters(question):
        return True
    return bool(numbers(answer)) and set(terms(answer)) <= set(terms(question))


def problems(
    knowledge: str, question: str, answer: str, passage: str, hallucinated: Sequence[str], place: int
) -> Iterator[str]:
    """Yield what is wrong with the hallucinated answer at ``place`` (from 0) and with what it belongs to."""
    if not occurs(passage, knowledge):
        yield "the passage does not stand in the document word for word"
    if leaks(question, answer):
        yield "the question gives its answer away"
    if any(_foreign(text, knowledge) for text in (question, answer, hallucinated[place])):
        yield "a text is not in the language of the document"
    if not letters(hallucinated[place]):
        yield "the hallucinated answer is empty"
    if alike(hallucinated[place], answer):
        yield "the hallucinated answer repeats the correct answer"
    if any(alike(hallucinated[place], other) for other in hallucinated[:place]):
        yield "the hallucinated answer repeats another one"


def _foreign(text: str, document: str) -> bool:
    """Return whether a text is in another language; a few foreign words may be a name."""
    if is_chinese(document):
        return chinese_share(text) < 0.2 and count_words(text) > _SHORT
    return chinese_share(text) >= 0.5


CHECKS: Final = ("answer", "hallucination", "label", "form")
"""The three verifiers (Corr., Halu. and Label of Table 3), and what code checks."""
ANSWERS: Final = 3
"""Hallucinated answers to a question."""


Language = Literal["en", "zh"]
"""Of the instructions; what is written is in the language of the document."""


class HaluAgent(Stepwise):
    """Writes and verifies the items of one passage; the prompt of every step begins with an example (section 3.1)."""

    instead = "its verifiers answer-check, hallucination-check and label-check"

    def __init__(self, language: Language = "en") -> None:
        super().__init__()

        def asking(name: str, signature: type[dspy.Signature]) -> dspy.Predict:
            if language == "zh":  # the same fields
                signature = signature.with_instructions(DEFINITIONS["instructions"][signature.__name__])
            predictor = dspy.Predict(signature)
            example = table(__package__, "examples")[language][name]
            if "type" in example:
                example = {**example, "definition": definition(example["type"], language)}
            predictor.demos = [dspy.Example(**example).with_inputs(*signature.input_fields)]
            return predictor

        self.question = asking("question", WriteQuestion)
        self.hallucinations = asking("hallucinations", WriteHallucinations)
        self.label = asking("label", LabelHallucinations)
        self.answer_check = verifier(asking("answer_check", AnswerCheck))
        self.hallucination_checks = [
            verifier(asking("hallucination_check", HallucinationCheck)) for _ in range(ANSWERS)
        ]
        self.label_checks = [verifier(asking("label_check", LabelCheck)) for _ in range(ANSWERS)]

    def steps(self, **inputs: Any) -> Steps:
        """Return an item with its checks for each hallucinated answer; none if no question was written."""
        knowledge = inputs["knowledge"]
        reply = yield self.question, inputs
        base = {name: str(reply[name] or "") for name in ("question", "correct_answer", "passage")}
        if not base["question"].strip() or not base["correct_answer"].strip():
            return dspy.Prediction(written=[], checks=[])
        written = (yield self.hallucinations, base).hallucinated_answers
        answers = [str(answer) for answer in written or []][:ANSWERS]  # a reply with more has too many
        question = {name: base[name] for name in ("question", "correct_answer")}
        named = (yield self.label, {**question, "hallucinated_answers": answers}).types
        kinds = [str(kind) for kind in named or []]
        if len(kinds) != len(answers):  # a list of another length says nothing of any
            kinds = [""] * len(answers)
        about = {"knowledge": knowledge, "question": base["question"], "answer": base["correct_answer"]}
        correct = _check((yield self.answer_check, about), "correct")
        items, checks = [], []
        for place, (answer, kind) in enumerate(zip(answers, kinds, strict=True)):
            item = {**question, "hallucinated_answer": answer}
            asked = self.hallucination_checks[place], {"knowledge": knowledge, **item}
            hallucinated = _check((yield asked), "hallucinated")
            fits = {"verdict": "no", "reason": "it has no type"}
            if kind in TYPES:
                meaning = definition(kind, "zh" if is_chinese(base["question"]) else "en")
                asked = self.label_checks[place], {**item, "type": kind, "definition": meaning}
                fits = _check((yield asked), "fits")
            wrong = "; ".join(problems(**about, passage=base["passage"], hallucinated=answers, place=place))
            form = {"verdict": "no" if wrong else "yes", "reason": wrong}
            items.append({**base, "hallucinated_answer": answer, "type": kind})
            checks.append({"answer": correct, "hallucination": hallucinated, "label": fits, "form": form})
        return dspy.Prediction(written=items, checks=checks)


def _check(reply: dspy.Prediction, field: str) -> dict[str, Any]:
    """Return a verifier's verdict in a field, with its reason."""
    return {"verdict": reply.get(field), "reason": reply.reason}


def haluagent(*, words: int = WORDS, language: Language = "en", name: str = "haluagent") -> Generator:
    """Return the generator with another context limit or instructions in Chinese, under a name of its own."""
    return Generator(
        name=name,
        description="HaluAgent: questions, hallucinated answers and their types from documents, verified",
        signature=WriteQuestion,
        program=Making(HaluAgent, (language,)),
        checks=CHECKS,
        items=ANSWERS,
        document="knowledge",
        expand=partial(_cut, words=words),
        to_row=_row,
        most_groups=(60, 20),
        bundled="haluagent-docs",
    )


def _cut(row: Mapping[str, Any], words: int) -> list[dict[str, Any]]:
    """Return a document's passages as rows; the authors' own documents name title and topic in their way."""
    shared = {**row, "title": row.get("title") or row.get("ent") or ""}
    shared["topic"] = row.get("topic") or row.get("label") or ""
    return [{**shared, "knowledge": passage} for passage in passages(str(row["knowledge"]), words)]


def _row(case: Case, item: CheckedItem, number: int) -> Mapping[str, Any]:
    """Return the row of an item: its fields, and which question of which document it belongs to."""
    question = f"{case.group}/{case.id[:8]}"
    knowledge = str(case.inputs["knowledge"])
    return {
        "id": f"{question}/{number or 1}",
        "group": case.group,
        "question_id": question,
        "title": case.inputs["title"],
        "language": "zh" if is_chinese(knowledge) else "en",
        "knowledge": knowledge,
        "answer": item.data["correct_answer"],
        **item.data,
    }


HALUAGENT: Final = haluagent()
HALUAGENT_ZH: Final = replace(
    haluagent(language="zh", name="haluagent-zh"),
    variant="chinese",
    description="HaluAgent with Chinese instructions, for Chinese documents",
)
