"""The worked examples that ship, held against the conditions of the definitions and the gold of the verifiers."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import pytest

from jurist.gold.sources import read
from jurist.programs.haluagent.writing import ANSWERS, HaluAgent, find_form_faults
from jurist.programs.languages import label_words
from jurist.signatures.haluagent_labels import TYPES, HallucinationType
from jurist.text.tables import read_table

LANGUAGES: Final[tuple[Literal["en", "zh"], ...]] = ("en", "zh")
EXAMPLES: Final[Mapping[str, Any]] = read_table("jurist.programs.haluagent", "examples")
SOURCE: Final = re.compile(r'"[^"]+"|《[^》]+》|\bwww\.|\bas [^,.]+ reports\b|^据.+报道')
"""What names a source; one that the question names already is none of the answer's own."""
QUESTIONS: Final[tuple[tuple[HallucinationType, str], ...]] = (
    ("relation", r"^Which .+, .+ or .+\?|\bcompare\b|[和与].+(?:，|相比|哪[个座]).*更"),
    ("spatiotemporal", r"^(?:When|Where)\b|^In which city\b|什么时候|哪一年|哪里|哪座城市"),
    ("entity", r"^Who\b|^Which\b|是谁|^谁|哪位"),
    ("fabrication", r"^(?:How did|Why)\b|^What causes\b|怎样"),
    ("attribute", r"^What\b|什么|多少"),
)
"""Type -> how a question asks for it, in the order of precedence after a source."""


def type_by_conditions(question: str, hallucinated_answer: str) -> str:
    """Return the first type whose conditions hold, by the words of the question and the sources in the answer."""
    named_in_question = SOURCE.findall(question)
    for source in SOURCE.findall(hallucinated_answer):
        if source not in named_in_question:
            return "reference"
    for kind, pattern in QUESTIONS:
        if re.search(pattern, question):
            return kind
    raise AssertionError(f"no type asks: {question}")


LABELLED: Final = [row for _, row in read("haluagent-label-check").rows]


def test_the_conditions_say_what_the_gold_of_label_check_says() -> None:
    for row in LABELLED:
        kind = type_by_conditions(row["question"], row["hallucinated_answer"])
        assert (kind == row["type"]) == (row["fits"] == "yes"), row


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_type_has_a_question_and_every_label_meets_its_conditions(language: str) -> None:
    examples = EXAMPLES[language]["writing"]
    assert [example["type"] for example in examples] == list(TYPES)
    for example in examples:
        assert len(example["hallucinated_answers"]) == len(example["types"]) == ANSWERS
        # The type of most hallucinated answers is the one that the question is to induce (section 4.1).
        assert example["types"].count(example["type"]) > ANSWERS / 2
        for answer, kind in zip(example["hallucinated_answers"], example["types"], strict=True):
            assert type_by_conditions(example["question"], answer) == kind
    labels = {kind for example in examples for kind in example["types"]}
    assert labels == set(TYPES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_writers_are_shown_passes_every_check_by_code(language: str) -> None:
    document = EXAMPLES[language]["document"]
    for example in EXAMPLES[language]["writing"]:
        for place in range(ANSWERS):
            problems = find_form_faults(
                document["knowledge"],
                example["question"],
                example["correct_answer"],
                example["passage"],
                example["hallucinated_answers"],
                place,
            )
            assert list(problems) == []
        # The question stands alone: it names its subject, and no document.
        assert re.search("Hallin|Ferry Island|海林|渡船岛", example["question"])
        assert not re.search(r"\b(?:document|text|passage|author)\b|文档|文中|作者", example["question"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_verifier_is_shown_each_of_its_verdicts_and_none_against_a_definition(language: str) -> None:
    tables = EXAMPLES[language]
    verdicts = (("answer_check", "correct"), ("hallucination_check", "hallucinated"), ("label_check", "fits"))
    for step, field in verdicts:
        assert sorted(example[field] for example in tables[step]) == ["no", "uncertain", "yes"]
    for example in tables["label_check"]:
        kind = type_by_conditions(example["question"], example["hallucinated_answer"])
        if example["fits"] != "uncertain":
            assert (kind == example["type"]) == (example["fits"] == "yes")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_labeller_is_told_the_order_in_which_the_conditions_are_asked(
    language: Literal["en", "zh"],
) -> None:
    instruction = HaluAgent(language).label.signature.instructions
    label_of_word = {word: label for label, word in label_words(language).items()}
    order = [label_of_word.get(name, name) for name in re.findall(r"^\d\. (\w+)[：:]", instruction, re.M)]
    assert order == ["reference", "relation", "spatiotemporal", "entity", "attribute", "fabrication"]
    assert order[1:4] == [kind for kind, _ in QUESTIONS[:3]]
