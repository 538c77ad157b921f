"""Support signals: what is copied from the evidence, and what the evidence lacks."""

import math

import pytest

from jurist.text.support_signals import SIGNAL_NAMES, SupportIndex, measure_support

EVIDENCE = "The ship left Genoa on 12 May with 1,250 crates. It did not stop at Malta. The crew was tired."


def signal(name: str, text: str, evidence: str = EVIDENCE) -> float:
    """Return one support signal of a text."""
    return dict(zip(SIGNAL_NAMES, measure_support(text, evidence), strict=True))[name]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("the share of words in copied runs", "The ship left Genoa", 1.0),
        ("the share of words in copied runs", "A boat left Rome", 0.25),
        ("the mean square of copied runs", "The ship left Rome", math.log1p(9 / 4)),
        ("the longest copied run", "They said the ship left", math.log1p(3)),
        ("the longest copied run as a share", "They said the ship left", 3 / 5),
        ("words that the evidence lacks", "the ship the boat", 1 / 3),
        ("pairs of words that the evidence lacks", "the ship left Rome", 1 / 3),
        ("triples of words that the evidence lacks", "the ship left Rome", 1 / 2),
        ("rare stems that the evidence lacks", "pirates attacked", 1.0),
        ("rare stems that the evidence lacks", "The crates and the crew", 0.0),
        ("how well one sentence of the evidence fits", "The crew was tired.", 1.0),
        ("how badly the worst sentence is covered", "The crew was tired. Pirates attacked.", 0.0),
        ("numbers that the evidence lacks", "1250 crates on 13 May", math.log1p(1)),
        ("the share of numbers that the evidence lacks", "1,250 crates on 13 May", 0.5),
        ("names that the evidence lacks", "It left Genoa for Tunis", math.log1p(1)),
        ("names that the evidence lacks", "Tunis is far", 0.0),  # a word that opens a sentence
        ("the share of names that the evidence lacks", "It left Genoa for Tunis", 0.5),
        ("how many stems the evidence lacks", "pirates attacked", math.log1p(2)),
        ("a negation where the evidence has none, or none where it has one", "It stopped at Malta", 1.0),
        ("a negation where the evidence has none, or none where it has one", "It did not stop at Malta", 0.0),
        ("a negation", "It didn't stop", 1.0),
        ("a negation", "船没有停", 1.0),
        ("the number of sentences", "One. Two. Three.", math.log1p(3)),
    ],
)
def test_a_signal_measures_what_its_name_says(name: str, text: str, value: float) -> None:
    assert signal(name, text) == pytest.approx(value)


@pytest.mark.parametrize(("text", "evidence"), [("", ""), ("", EVIDENCE), ("The ship", ""), ("...", "\n\n")])
def test_texts_without_words_have_signals(text: str, evidence: str) -> None:
    figures = measure_support(text, evidence)
    assert len(figures) == len(SIGNAL_NAMES)
    assert all(map(math.isfinite, figures))


def test_a_copied_run_is_the_longest_from_its_place_on() -> None:
    index = SupportIndex("a b c a b d e")
    assert index.copied_runs(["a", "b", "d", "x", "b", "c"]) == [3, 2]
    assert index.copied_runs([]) == []
