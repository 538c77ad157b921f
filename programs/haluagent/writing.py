"""The generator ``haluagent``: a question of a type about a document, three hallucinated answers, their types.

A document gets a question of each of the six types. Three predictors write and are optimized; the verifiers are
frozen; code checks the form (section 3.1). An item is one hallucinated answer with its question, so that some answers
to a question may pass and others not. The program has a predictor for each time that a verifier is asked, so that calls
are counted exactly.

Code checks (section 3.1): the supporting passage must stand in the document, the question must not give its answer
away, all texts are in the document's language, and no two answers say the same in nearly the same words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Final

import dspy

from ...cases import Case
from ...errors import UsageError, suggest_name
from ...evaluation.checked_items import CheckedItem
from ...signatures.haluagent import (
    AnswerCheck,
    HallucinationCheck,
    LabelCheck,
    LabelHallucinations,
    WriteHallucinations,
    WriteQuestion,
)
from ...signatures.haluagent_labels import TYPES, HallucinationType
from ...text.numerals import comparable_letters, with_digits
from ...text.passages import passages
from ...text.ranking import near
from ...text.sentences import split
from ...text.tables import read_table
from ...text.terms import numbers, terms
from ...text.wording import Language, chinese_share, count_words, is_chinese, language_of
from ..frozen import Frozen, verifier
from ..generator import REASONS_JOINT, Generator
from ..judge import Judge, Row
from ..languages import in_english, in_label_words, in_language, label_words
from ..stepwise import Making, PartOfSteps, Steps, Stepwise
from .judges import definition

_SHORT = 4  # words of an answer that may be a foreign name or a number, at most
_SAME_ORDER = 0.8  # the share of letters that near-duplicates have in the same order, at least
_LONGEST_PARTICLE = 4  # letters of a word that is not capitalised in a title, such as "from"


def are_near_duplicates(first: str, second: str) -> bool:
    """Say whether two texts are near-duplicates: equal letters, or equal numbers and nearly equal letters in order."""
    # The shorter text first: the order of the arguments changes the matcher's ratio.
    first_letters, second_letters = sorted(
        (comparable_letters(first), comparable_letters(second)), key=lambda text: (len(text), text)
    )
    if first_letters == second_letters:
        return True
    if _numbers_in(first) != _numbers_in(second) or not near(first_letters, second_letters):
        return False
    # "A is older than B" and "B is older than A" have the same words and are opposites.
    return SequenceMatcher(None, first_letters, second_letters, autojunk=False).ratio() >= _SAME_ORDER


def _numbers_in(text: str) -> set[str]:
    """Return the numbers of a text in digits; in Chinese without 1, which is mostly an article there."""
    text_numbers = numbers(with_digits(text))
    if is_chinese(text):
        text_numbers.discard("1")
    return text_numbers


def stands_in_document(passage: str, document: str) -> bool:
    """Say whether every sentence of a passage stands in the document; never for a passage without letters or digits.

    White space, stops, quotes and widths make no difference, nor does the script of a numeral.
    """
    document_letters = comparable_letters(document)
    sentences = [comparable_letters(sentence.text) for sentence in split(passage)]
    for sentence in sentences:
        if sentence not in document_letters:
            return False
    return any(sentences)


def gives_answer_away(question: str, answer: str) -> bool:
    """Say whether a question holds its answer: word for word, or all words of an answer with a number."""
    plain = comparable_letters(answer)
    # 10 does not stand in 1910.
    if len(plain) > 1 and re.search(rf"(?<!\d){re.escape(plain)}(?!\d)", comparable_letters(question)):
        return True
    # All words of an answer without a number are no leak: "Is A or B larger?" names both, and one is the answer.
    answer_in_digits = with_digits(answer)
    return bool(numbers(answer_in_digits)) and set(terms(answer_in_digits)) <= set(
        terms(with_digits(question))
    )


_FAULTS: Final[Mapping[str, Mapping[str, str]]] = read_table(__package__, "faults")
"""Language -> fault -> the words for it."""
_STEPS_OF_FAULTS: Final = {
    "passage": "question",
    "leak": "question",
    "language": "question",
    "hallucination_language": "hallucinations",
    "empty": "hallucinations",
    "correct": "hallucinations",
    "repeated": "hallucinations",
}
"""Fault -> the step that wrote the text at fault."""


def find_form_faults(
    knowledge: str, question: str, answer: str, passage: str, hallucinated: Sequence[str], place: int
) -> Iterator[str]:
    """Yield the faults of the hallucinated answer at ``place`` (from 0), and of the question that it belongs to."""
    words = _FAULTS[language_of(knowledge)]
    if not stands_in_document(passage, knowledge):
        yield words["passage"]
    if gives_answer_away(question, answer):
        yield words["leak"]
    hallucinated_answer = hallucinated[place]
    if _is_foreign(question, knowledge) or _is_foreign(answer, knowledge):
        yield words["language"]
    if _is_foreign(hallucinated_answer, knowledge):
        yield words["hallucination_language"]
    if not comparable_letters(hallucinated_answer):
        yield words["empty"]
    if are_near_duplicates(hallucinated_answer, answer):
        yield words["correct"]
    if any(
        are_near_duplicates(hallucinated_answer, earlier_answer) for earlier_answer in hallucinated[:place]
    ):
        yield words["repeated"]


def _concerned_steps() -> dict[str, tuple[str, ...]]:
    """Return check, or words of a fault -> the steps that wrote the text it is about (C-FAITH section 3.2)."""
    steps: dict[str, tuple[str, ...]] = {
        "answer": ("question",),
        "hallucination": ("hallucinations",),
        "label": ("label",),
    }
    for words in _FAULTS.values():
        for fault, step in _STEPS_OF_FAULTS.items():
            steps[words[fault]] = (step,)
    return steps


def _is_foreign(text: str, document: str) -> bool:
    """Say whether a text is in another language than the document; a foreign name, such as a film's, is no fault."""
    if not is_chinese(document):
        return chinese_share(text) >= 0.5
    if chinese_share(text) >= 0.2 or count_words(text) <= _SHORT:
        return False
    return not _is_name(text) and comparable_letters(text) not in comparable_letters(document)


def _is_name(text: str) -> bool:
    """Say whether all longer words of a text in Latin letters have a capital, as in a title."""
    words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text)
    return all(word[0].isupper() for word in words if len(word) > _LONGEST_PARTICLE)


CHECKS: Final = ("answer", "hallucination", "label", "form")
"""The checks of an item: the three verifiers (Corr., Halu. and Label of Table 3), and code, which checks the form."""
ANSWERS: Final = 3
"""Hallucinated answers to a question."""
CHARACTERS: Final = 3000
"""Characters of a document, unless another limit is asked for."""


def examples_of(name: str, signature: type[dspy.Signature], language: Language) -> list[dspy.Example]:
    """Return the worked examples of a step, each with the fields of its signature."""
    tables = read_table(__package__, "examples")[language]
    examples: list[dspy.Example] = []
    for entry in tables[name]:
        values = {**tables["document"], **entry}
        if "definition" in signature.input_fields:
            values["definition"] = definition(entry["type"], language)
        fields = in_label_words(signature, {field: values[field] for field in signature.fields}, language)
        examples.append(dspy.Example(**fields).with_inputs(*signature.input_fields))
    return examples


class HaluAgent(Stepwise):
    """Writes and verifies the items of one question; the prompt of every step begins with examples (section 3.1)."""

    # named in the message that the generator itself cannot be exported
    instead = "its verifiers answer-check, hallucination-check and label-check"

    def __init__(self, language: Language = "en") -> None:
        super().__init__()

        def with_examples(name: str, signature: type[dspy.Signature]) -> dspy.Predict:
            """Return the predictor of a step, with the examples of a table as demonstrations."""
            predictor = dspy.Predict(in_language(signature, language))
            predictor.demos = examples_of(name, predictor.signature, language)
            return predictor

        self._language: Language = language
        self.question = with_examples("writing", WriteQuestion)
        self.hallucinations = with_examples("writing", WriteHallucinations)
        self.label = with_examples("writing", LabelHallucinations)
        self.answer_check = verifier(with_examples("answer_check", AnswerCheck))
        self.hallucination_checks: list[Frozen] = []
        self.label_checks: list[Frozen] = []
        for _ in range(ANSWERS):
            self.hallucination_checks.append(
                verifier(with_examples("hallucination_check", HallucinationCheck))
            )
            self.label_checks.append(verifier(with_examples("label_check", LabelCheck)))

    def steps(self, **inputs: Any) -> Steps:
        """Return an item with its checks for each hallucinated answer; none if no question was written."""
        knowledge = inputs["knowledge"]
        asked_type = self._in_english(inputs["type"])
        question_reply = yield self.question, {**inputs, "type": self._in_words(asked_type)}
        question_fields = {
            name: str(question_reply[name] or "") for name in ("question", "correct_answer", "passage")
        }
        if not question_fields["question"].strip() or not question_fields["correct_answer"].strip():
            return dspy.Prediction(written=[], checks=[])
        answers_reply = yield self.hallucinations, question_fields
        # A reply may have more answers than were asked for.
        answers = [str(answer) for answer in answers_reply.hallucinated_answers or []][:ANSWERS]
        question = {
            "question": question_fields["question"],
            "correct_answer": question_fields["correct_answer"],
        }
        types_reply = yield self.label, {**question, "hallucinated_answers": answers}
        kinds = [self._in_english(kind) for kind in types_reply.types or []]
        if len(kinds) != len(answers):  # then nobody knows which type belongs to which answer
            kinds = [""] * len(answers)
        correct_pair = {
            "knowledge": knowledge,
            "question": question_fields["question"],
            "answer": question_fields["correct_answer"],
        }
        title = str(inputs["title"])
        answer_reply = yield self.answer_check, {"title": title, **correct_pair}
        answer_check = self._verifier_check(answer_reply, "correct")
        items: list[dict[str, str]] = []
        checks: list[dict[str, dict[str, object]]] = []
        for place, (answer, kind) in enumerate(zip(answers, kinds, strict=True)):
            item = {**question, "hallucinated_answer": answer}
            verified = yield from self._verify(place, {"title": title, **item}, kind, knowledge)
            faults = find_form_faults(
                **correct_pair, passage=question_fields["passage"], hallucinated=answers, place=place
            )
            written = {**question_fields, "hallucinated_answer": answer, "type": kind}
            items.append({**written, "asked_type": asked_type})
            checks.append({"answer": answer_check, **verified, "form": _form_check(list(faults))})
        return dspy.Prediction(written=items, checks=checks)

    def _verify(
        self, place: int, item: Mapping[str, str], kind: str, knowledge: str
    ) -> PartOfSteps[dict[str, dict[str, object]]]:
        """Ask the verifiers of the hallucinated answer at ``place``, and return their checks of it and its type."""
        reply = yield self.hallucination_checks[place], {"knowledge": knowledge, **item}
        checks = {"hallucination": self._verifier_check(reply, "hallucinated")}
        if kind not in TYPES:
            checks["label"] = {"verdict": "no", "reason": _FAULTS[self._language]["type"]}
            return checks
        meaning = definition(kind, language_of(item["question"]))
        typed_item = {**item, "type": self._in_words(kind), "definition": meaning}
        label_reply = yield self.label_checks[place], typed_item
        checks["label"] = self._verifier_check(label_reply, "fits")
        return checks

    def _verifier_check(self, reply: dspy.Prediction, field: str) -> dict[str, object]:
        """Return a verifier's verdict in a field, with its reason."""
        return {"verdict": in_english(reply.get(field), self._language), "reason": reply.reason}

    def _in_english(self, kind: object) -> str:
        """Return a type in English; a text that names none stays as it is."""
        return str(in_english(kind, self._language))

    def _in_words(self, kind: str) -> str:
        """Return the word for a type in the prompts of the generator."""
        return label_words(self._language).get(kind, kind)


def _form_check(faults: Sequence[str]) -> dict[str, object]:
    """Return the verdict of the checks by code, with all faults as its reason."""
    return {"verdict": "no" if faults else "yes", "reason": REASONS_JOINT.join(faults)}


@dataclass(frozen=True, kw_only=True)
class QuestionsOfDocument:
    """Makes the rows of a document: one for each question that is to be asked of it."""

    types: tuple[HallucinationType, ...] = TYPES  # the types of the questions, one of each
    # of a document; a longer one is cut at sentence ends, and each part has questions
    characters: int = CHARACTERS

    def __call__(self, row: Row) -> Sequence[Row]:
        """Return the rows of a document; documents of the paper's authors have their title in ``ent``."""
        if row.get("type") in TYPES:  # a row of ours: one question
            return (row,)
        document = {**row, "title": row.get("title") or row.get("ent") or ""}
        document["topic"] = row.get("topic") or row.get("label") or ""
        rows: list[Row] = []
        for part in passages(str(row["knowledge"]), self.characters, len):
            for kind in self.types:
                rows.append({**document, "knowledge": part, "type": kind})
        return rows


def with_document_questions(
    judge: Judge, *, per_document: int | None, types: str | None, characters: int | None
) -> Judge:
    """Return the generator with other questions of a document; what is ``None`` stays as it is.

    Args:
        judge: the generator.
        per_document: the most questions of a document that a compilation uses, at least 1.
        types: the types of the questions, with commas between them.
        characters: the most characters of a document, at least 1.

    Raises:
        UsageError: a type is unknown, or the judge is no ``haluagent``.
    """
    if per_document is None and types is None and characters is None:
        return judge
    questions = judge.expand
    if not isinstance(questions, QuestionsOfDocument):
        hint = "leave out --per-document, --types and --characters, or name haluagent"
        raise UsageError(f"{judge.name} asks no questions of documents", hint=hint)
    if types is not None:
        questions = replace(questions, types=_read_types(types))
    if characters is not None:
        questions = replace(questions, characters=characters)
    judge = replace(judge, expand=questions)
    if per_document is not None:
        judge = replace(judge, most_cases=("type", per_document))
    return judge


def _read_types(text: str) -> tuple[HallucinationType, ...]:
    """Return the types that a text names, each once."""
    types: list[HallucinationType] = []
    for written in text.split(","):
        name = written.strip()
        matches = [kind for kind in TYPES if kind == name]
        if not matches:
            raise UsageError(f"{name!r} is no type of hallucination", hint=suggest_name(name, TYPES))
        types += matches
    return tuple(dict.fromkeys(types))


def haluagent(
    *,
    language: Language | None = None,
    name: str = "haluagent",
    types: tuple[HallucinationType, ...] = TYPES,
    characters: int = CHARACTERS,
) -> Generator:
    """Return the generator under a name of its own.

    Args:
        language: of the instructions and examples; default: that of most documents.
        name: of the generator.
        types: the types of the questions; a document gets one of each.
        characters: the most characters of a document, at least 1; a longer one is cut at sentence ends.
    """
    programs: dict[Language, Making] = {"en": Making(HaluAgent, ("en",)), "zh": Making(HaluAgent, ("zh",))}
    generator = Generator(
        name=name,
        description="HaluAgent: questions, hallucinated answers and their types from documents, verified",
        signature=WriteQuestion,
        program=programs["en"],
        programs=programs,
        languages=("en", "zh"),
        checks=CHECKS,
        concerns=_concerned_steps(),
        verifiers={
            "answer-check": "answer_check",
            "hallucination-check": "hallucination_checks",
            "label-check": "label_checks",
        },
        items=ANSWERS,
        document="knowledge",
        expand=QuestionsOfDocument(types=types, characters=characters),
        to_row=_row_of_item,
        most_groups=(60, 20),
        most_cases=("type", 2),
        case_nouns=("question", "questions"),
        bundled="haluagent-docs",
    )
    if language is None:
        return generator
    return replace(
        generator, signature=in_language(WriteQuestion, language), program=programs[language], languages=()
    )


def _row_of_item(case: Case, item: CheckedItem, number: int) -> Mapping[str, object]:
    """Return the row of an item: its fields, and the ids of its question and its document."""
    question = f"{case.group}/{case.id[:8]}"
    knowledge = str(case.inputs["knowledge"])
    return {
        "id": f"{question}/{number or 1}",
        "group": case.group,
        "question_id": question,
        "title": case.inputs["title"],
        "language": language_of(knowledge),
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
