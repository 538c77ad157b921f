"""Probabilities of a decision model's answers: how a reply gives them, and the labels and scores that they make.

Written with the standard library, because exports carry this source along and have to give the same numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

Distribution: TypeAlias = Mapping[str, float]
"""Choice, or place of a level from 0 -> probability; of a predicate, ``true`` and ``false``."""

YES: Final = "true"
"""The choice of a predicate that says yes."""
NO: Final = "false"
"""The choice of a predicate that says no."""


def checked_probability(value: object) -> float:
    """Return a probability; ``ValueError`` where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{value!r} is no probability")
    return float(value)


def predicate_distribution(probability: object) -> Distribution:
    """Return the distribution of a predicate by its probability of yes."""
    checked = checked_probability(probability)
    return {YES: checked, NO: 1.0 - checked}


def openai_distribution(kind: str, answer: Mapping[str, Any]) -> Distribution:
    """Return the distribution of an answer of OpenAI's endpoint.

    Args:
        kind: that of the question: ``predicate``, ``choice`` or ``score``.
        answer: an entry of the reply's ``answers``.

    Raises:
        ValueError: it answers another kind of question, or holds no probabilities.
    """
    if answer["type"] != kind:
        raise ValueError(f"{answer.get('name')} is answered by {answer['type']!r}")
    if kind == "predicate":
        return predicate_distribution(answer["probability"])
    distribution: dict[str, float] = {}
    for place, entry in enumerate(answer["probabilities"]):
        choice = str(entry["value"]) if kind == "choice" else str(place)
        distribution[choice] = checked_probability(entry["probability"])
    return distribution


def mean_place(answer: Distribution) -> float:
    """Return the mean of the places of a score's levels, from 0, by their probabilities.

    Raises:
        ValueError: all of them are 0.
    """
    total = 0.0
    mass = 0.0
    for place, probability in answer.items():
        total += int(place) * probability
        mass += probability
    if not mass > 0:
        raise ValueError("no level has a probability")
    return total / mass


def expected_score(answer: Distribution, low: float, *, is_whole: bool) -> float:
    """Return the mean of a score's levels by their probabilities; of a whole score, the nearest whole number."""
    mean = low + mean_place(answer)
    if is_whole:
        return int(mean + 0.5)
    return round(mean, 4)


def label_shares(labels: Sequence[str], affirmative: str, answer: Distribution) -> dict[str, float]:
    """Return label -> probability of an answer, scaled to a sum of 1.

    Args:
        labels: all labels.
        affirmative: the label that says yes, where a predicate asked for it; empty for a choice.
        answer: the probabilities of the choices.

    Raises:
        ValueError: all of them are 0. KeyError: the answer lacks a label.
    """
    shares: dict[str, float] = {}
    for label in labels:
        choice = label
        if affirmative:
            choice = YES if label == affirmative else NO
        shares[label] = answer[choice]
    total = sum(shares.values())
    if not total > 0:
        raise ValueError("no choice has a probability")
    return {label: round(share / total, 6) for label, share in shares.items()}


def likeliest_label(shares: Mapping[str, float]) -> str:
    """Return the label with the highest probability, the first among equals."""
    return max(shares, key=lambda label: shares[label])
