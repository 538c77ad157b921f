"""The words of a prompt in another language, from ``data/LANGUAGE.toml``: instruction, field descriptions and labels.

Fields and their order are those of the signature. The table stands beside the module of the signature, in its package,
and has an entry for each signature that was written in the language; others keep their English words. The table of our
signatures has ``labels`` besides, the word for each label in English: closed labels that all stand there are asked for
in these words. Rows, items and scores hold labels in English.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any, Literal, get_args, get_origin

import dspy

from ..cases import Case
from ..text.tables import read_table
from ..text.wording import Language, strings
from .answers.base import Answer
from .answers.labels import OneLabel

_PACKAGE = __package__.rpartition(".")[0]


def in_language(signature: type[dspy.Signature], language: Language) -> type[dspy.Signature]:
    """Return a signature of jurist's own with its words in a language; itself where nobody wrote them."""
    words = _translated_words(signature, language)
    if not words:
        return signature
    translated: type[dspy.Signature] = signature.with_instructions(words["instructions"])
    for field, description in words["fields"].items():
        annotation = _translated_type(signature.fields[field].annotation, language)
        translated = translated.with_updated_fields(field, type_=annotation, desc=description)
    translated.__name__ = signature.__name__
    return translated


def answer_in_language(answer: Answer, language: Language) -> Answer:
    """Return an answer whose labels are asked for in the words of a language; itself where one has no word."""
    words = label_words(language)
    if not isinstance(answer, OneLabel) or not answer.values.keys() <= words.keys():
        return answer
    values = {label: words[label] for label in answer.values}
    return replace(answer, values=values, row_values=answer.row_values or answer.values)


def with_labels_of(signature: type[dspy.Signature], answer: Answer) -> type[dspy.Signature]:
    """Return a signature whose output field lists the labels in the words that the answer reads."""
    if not isinstance(answer, OneLabel):
        return signature
    with_labels: type[dspy.Signature] = signature.with_updated_fields(
        answer.field, type_=Literal[*answer.values.values()]
    )
    return with_labels


def label_words(language: Language) -> Mapping[str, str]:
    """Return label in English -> its word in the prompts of a language; empty for English."""
    if language == "en":
        return {}
    words: Mapping[str, str] = read_table(f"{_PACKAGE}.signatures", language)["labels"]
    return words


def in_label_words(
    signature: type[dspy.Signature], values: Mapping[str, Any], language: Language
) -> dict[str, Any]:
    """Return field -> value, with labels in the words of a language where the field takes labels in these words."""
    words = label_words(language)
    values_in_words = dict(values)
    for name, value in values.items():
        field = signature.fields.get(name)
        if field is None or not worded_labels(field.annotation, language):
            continue
        if isinstance(value, list):
            values_in_words[name] = [words.get(label, label) for label in value]
        else:
            values_in_words[name] = words.get(value, value)
    return values_in_words


def worded_labels(annotation: Any, language: Language) -> tuple[str, ...]:
    """Return the labels of a type if they are in the words of a language; none of any other type."""
    labels = _labels_of(annotation)
    if labels and set(labels) <= set(label_words(language).values()):
        return labels
    return ()


def in_english(word: object, language: Language) -> object:
    """Return the label in English that a language has this word for; any other value as it is."""
    for label, label_word in label_words(language).items():
        if label_word == word:
            return label
    return word


def case_texts(cases: Iterable[Case]) -> Iterator[str]:
    """Yield all texts of each case as one, by which a language is chosen."""
    for case in cases:
        yield " ".join(strings(case.inputs))


def _translated_words(signature: type[dspy.Signature], language: Language) -> Mapping[str, Any]:
    """Return the instruction and the field descriptions of a signature in a language; empty without any."""
    package = signature.__module__.rpartition(".")[0]
    if language == "en" or not package.startswith(_PACKAGE):
        return {}
    if not (files(package) / "data" / f"{language}.toml").is_file():
        return {}
    words: Mapping[str, Any] = read_table(package, language).get(signature.__name__, {})
    return words


def _translated_type(annotation: Any, language: Language) -> Any:
    """Return a type, or a list of it, with its closed labels in the words of a language, if it has words for all."""
    words = label_words(language)
    labels = _labels_of(annotation)
    if not labels or not set(labels) <= words.keys():
        return annotation
    translated: Any = Literal[*[words[label] for label in labels]]
    if get_origin(annotation) is list:
        return list[translated]
    return translated


def _labels_of(annotation: Any) -> tuple[str, ...]:
    """Return the closed labels of a type, or of the items of a list; none for any other type."""
    if get_origin(annotation) is list:
        (annotation,) = get_args(annotation)
    if get_origin(annotation) is not Literal:
        return ()
    return get_args(annotation)
