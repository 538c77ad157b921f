"""The words of a prompt in another language: instruction and field descriptions, from ``data/LANGUAGE.toml``.

Fields, their types and their order are those of the signature. The table stands beside the module of the signature, in
its package, and has an entry for each signature that was written in the language; others keep their English words.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

import dspy

from ..cases import Case
from ..text.tables import read_table
from ..text.wording import Language, strings


def in_language(signature: type[dspy.Signature], language: Language) -> type[dspy.Signature]:
    """Return a signature of jurist's own with its words in a language; itself where nobody wrote them."""
    words = _translated_words(signature, language)
    if not words:
        return signature
    translated: type[dspy.Signature] = signature.with_instructions(words["instructions"])
    for field, description in words["fields"].items():
        translated = translated.with_updated_fields(field, desc=description)
    translated.__name__ = signature.__name__
    return translated


def case_texts(cases: Iterable[Case]) -> Iterator[str]:
    """Yield all texts of each case as one, by which a language is chosen."""
    for case in cases:
        yield " ".join(strings(case.inputs))


def _translated_words(signature: type[dspy.Signature], language: Language) -> Mapping[str, Any]:
    """Return the instruction and the field descriptions of a signature in a language; empty without any."""
    package = signature.__module__.rpartition(".")[0]
    own_package = __package__.rpartition(".")[0]
    if language == "en" or not package.startswith(own_package):
        return {}
    if not (files(package) / "data" / f"{language}.toml").is_file():
        return {}
    words: Mapping[str, Any] = read_table(package, language).get(signature.__name__, {})
    return words
