"""What proposers are told of values and errors, in the language of the prompt that they improve."""

from collections.abc import Iterable, Mapping
from typing import Final

from ..cases import Value
from ..evaluation.closed_labels import ClosedLabels
from ..evaluation.scale import SHOWN
from ..programs.judge import Judge
from ..programs.languages import label_words
from ..text.tables import read_table
from ..text.wording import Language

PHRASES: Final[Mapping[str, Mapping[str, str]]] = read_table(__package__, "phrases")
"""Language -> the words between which a proposer is shown things."""


def language_of_judge(judge: Judge) -> Language:
    """Return the language of a judge's prompt: English, unless rows or an option chose another."""
    return judge.language or "en"


def task_in_words(judge: Judge) -> str:
    """Return the values that a judge gives, in words."""
    scale = judge.comparison
    language = language_of_judge(judge)
    if language == "en" or not isinstance(scale, ClosedLabels):
        return scale.task_words()
    phrases = PHRASES[language]
    lines = [phrases["labels"].format(labels=_in_words(scale.labels, language))]
    if scale.positive:
        positive = [label for label in scale.labels if label in scale.positive]
        lines.append(phrases["positive"].format(labels=_in_words(positive, language)))
    return "\n".join(lines)


def truth_in_words(judge: Judge, text: str, gold: Value) -> str:
    """Return the gold of a unit in words, with the unit's text."""
    scale = judge.comparison
    language = language_of_judge(judge)
    if language == "en" or not isinstance(scale, ClosedLabels):
        return scale.truth(text, gold)
    return PHRASES[language]["truth"].format(text=text[:SHOWN], gold=_in_words([gold], language))


def feedback_in_words(judge: Judge, text: str, gold: Value, value: Value | None) -> str:
    """Return the gold of a unit and the value that it was judged, in words."""
    scale = judge.comparison
    language = language_of_judge(judge)
    if language == "en" or not isinstance(scale, ClosedLabels):
        return scale.feedback(text, gold, value)
    phrases = PHRASES[language]
    judged = phrases["unusable"]
    if value is not None:
        judged = _in_words([value], language)
    return phrases["feedback"].format(truth=truth_in_words(judge, text, gold), judged=judged)


def _in_words(labels: Iterable[Value], language: Language) -> str:
    """Return labels in the words of a language, as far as it has one."""
    words = label_words(language)
    return PHRASES[language]["comma"].join(words.get(str(label), str(label)) for label in labels)
