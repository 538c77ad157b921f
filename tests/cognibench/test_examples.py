"""The worked examples of CogniBench's prompts: one for each label, and none against a definition."""

from itertools import pairwise

import pytest

from jurist.programs.catalogue import CATALOGUE
from jurist.programs.cognibench import HALLUCINATED, statement_type, verdict_word
from jurist.signatures.cognibench_examples import EXAMPLES, REFERENCE, WorkedExample
from jurist.signatures.cognibench_labels import LABELS
from jurist.text.terms import numbers, terms

JUDGES = (
    "cognibench",
    "cognibench-tags",
    "cognibench-staged",
    "cognibench-tags-staged",
    "statement-type",
    "factual",
    "tier",
    "tier-direct",
    "detector",
)
SUBJECTIVE = {"heavy", "important", "great", "much", "probably", "surely"}
NAMES = {
    **{label: lambda label: label for label in LABELS},
    "hallucinated": lambda label: verdict_word(label),
    "factual": statement_type,
    "cognitive": statement_type,
    "listed": lambda label: "listed" if label in HALLUCINATED else "left out",
    "left out": lambda label: "listed" if label in HALLUCINATED else "left out",
    "rational": lambda label: "not rational" if label == "misleading" else "rational",
    "not rational": lambda label: "not rational" if label == "misleading" else "rational",
    "grounded": lambda label: "grounded" if label in ("reliable", "irrefutable") else "not grounded",
    "not grounded": lambda label: "grounded" if label in ("reliable", "irrefutable") else "not grounded",
    "irrefutable": lambda label: "irrefutable" if label == "irrefutable" else "not irrefutable",
    "not irrefutable": lambda label: "irrefutable" if label == "irrefutable" else "not irrefutable",
}
"""Name that a judge shows for an example -> what the definitions call a sentence of its label."""


def shown_examples(name: str) -> list[tuple[str, str]]:
    """Return the name and the sentence of each example that a judge's prompts show."""
    shown = []
    for predictor in CATALOGUE[name].basic().predictors():
        for line in predictor.signature.instructions.splitlines():
            for example in EXAMPLES:
                if f': "{example.sentence}"' in line:
                    shown.append((line.partition(":")[0], example.sentence))
    return shown


def test_each_label_has_one_example() -> None:
    assert [example.label for example in EXAMPLES] == list(LABELS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.label)
def test_an_example_is_what_the_definition_of_its_label_says(example: WorkedExample) -> None:
    stated = set(terms(example.sentence)) & set(terms(REFERENCE))
    if example.label == "irrelevant":
        assert not stated
    if example.label == "faithful":
        assert numbers(example.sentence) <= numbers(REFERENCE)
        assert len(stated) >= 4
    if example.label == "invented":
        assert "steam" in terms(example.sentence)
        assert "steam" not in terms(REFERENCE)
    words = set(example.sentence.lower().strip(".").split())
    assert bool(words & SUBJECTIVE) == (example.label in ("reliable", "speculative"))


@pytest.mark.parametrize("name", JUDGES)
def test_every_example_is_called_what_the_definitions_call_it(name: str) -> None:
    shown = shown_examples(name)
    assert len(shown) >= 2
    labels = {example.sentence: example.label for example in EXAMPLES}
    for shown_name, sentence in shown:
        tag, _, label = shown_name.rpartition("] ")
        if tag:
            assert tag == f"[{verdict_word(labels[sentence])}"
            assert label == (labels[sentence] if statement_type(labels[sentence]) == "cognitive" else "fact")
            continue
        assert shown_name in allowed_names(labels[sentence]), sentence


def allowed_names(label: str) -> set[str]:
    """Return all names that the definitions give to a sentence of a label."""
    return {label} | {name_of(label) for name_of in NAMES.values()}


def test_each_prompt_shows_every_verdict_it_can_give() -> None:
    for name, verdicts in (
        ("cognibench", set(LABELS)),
        ("statement-type", {"irrelevant", "factual", "cognitive"}),
        ("factual", {"faithful", "invented"}),
        ("tier-direct", {"misleading", "speculative", "reliable", "irrefutable"}),
        ("detector", {"listed", "left out"}),
    ):
        assert {shown_name for shown_name, _ in shown_examples(name)} == verdicts, name


def test_examples_stand_in_the_order_of_the_labels() -> None:
    places = [LABELS.index(example.label) for example in EXAMPLES]
    assert all(first < second for first, second in pairwise(places))
