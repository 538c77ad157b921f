"""Which column of a file is which field: by its name but for capitals and signs, and who gave the labels in it.

A column of a model's labels (a suggestion, a prediction, a confidence, an LLM judge) is never taken for people's. Where
several columns could hold what people said, nobody chooses one silently: the error lists them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from shlex import quote
from typing import Literal, TypeAlias

from ..errors import GoldError
from ..text.turns import as_text
from ..text.wording import plain_spelling
from .rows import unquoted

Giver: TypeAlias = Literal["people", "model", ""]
"""Whose labels a column holds, by its name; empty where the name does not say."""


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


LABEL_WORDS = _word_set(
    "label labels verdict rating ratings score scores judgment judgement grade decision class category target winner "
    "preference outcome"
)
"""Last words of the names of columns that hold labels."""
PEOPLE_WORDS = _word_set(
    "human humans annotation annotations annotated gold golden rater raters annotator annotators expert experts "
    "reviewer reviewers truth groundtruth expected manual"
)
"""Words in the names of columns that people filled in."""
_MODEL = _word_set(
    "suggestion suggestions suggested prediction predictions predicted pred preds model models llm llms confidence "
    "judge judges judged gpt claude gemini llama mistral qwen deepseek ai machine auto automatic automated bot scorer "
    "classifier probability probabilities prob probs logprob logprobs"
)
_PEOPLES_LABEL = PEOPLE_WORDS - _word_set("rater raters annotator annotators reviewer reviewers manual")
"""Words that name people's labels on their own; the others say who gave them, or how."""
_VALUE_WORDS = _word_set("output answer value choice choices said response responses")
"""Last words that name a label where the rest of the name says that it is people's."""
_POLAR = _word_set("yes y true t 1 no n false f 0 1.0 0.0 👍 👎 ✓ ✗ ✔ ✘ ✅ ❌")
"""Labels that answer a question with yes or no."""
_POLAR_QUESTION = _word_set("yes no true false whether if")
"""Words of a prompt that asks for yes or no."""
_ASKS_NUMBER = re.compile(
    r"\d|\b(scores?|rat(e|es|ing|ings)|scale|grades?|points?|stars?|likert|how (much|well))\b"
)
_WORD = re.compile(r"[^\W\d_]+")
_SILENT = _word_set("unsure unknown na nan none null skip skipped idk dontknow") | {""}
"""Words of raters who do not know, as :func:`plain` writes them: no label, unless the judge has such a label."""
_MANY = 20
"""Distinct values above which a column of texts holds no labels."""
_LONGEST = 40
"""Characters of a label."""
_LISTED_VALUES = 4
"""Values of a column that an error lists."""


def find_columns(columns: Iterable[str], fields: Iterable[str]) -> dict[str, str]:
    """Return column -> field for each field that no column is called, and one is but for capitals and signs."""
    return dict(_pair_columns(tuple(columns), tuple(fields)))


@lru_cache(maxsize=256)  # the rows of a file have the same columns
def _pair_columns(columns: tuple[str, ...], fields: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return pairs of a column and the field that it holds under another spelling."""
    by_plain: dict[str, list[str]] = {}
    for column in columns:
        by_plain.setdefault(plain_spelling(str(column)), []).append(column)
    pairs: list[tuple[str, str]] = []
    for field in fields:
        alike = by_plain.get(plain_spelling(field), [])
        if field not in columns and len(alike) == 1 and alike[0] not in fields:
            pairs.append((alike[0], field))
    return tuple(pairs)


def words_of(path: str) -> list[str]:
    """Return the words of a column's name: ``humanLabel_2`` has ``human`` and ``label``."""
    spaced_path = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", path)
    return [word.casefold() for word in _WORD.findall(spaced_path)]


def given_by(path: str) -> Giver:
    """Return whose labels a column or a path holds, by the words of its name."""
    words = set(words_of(path))
    if words & PEOPLE_WORDS:
        return "people"
    if words & _MODEL:
        return "model"
    # Argilla's flat export: NAME.responses are people's, NAME.suggestion is a model's
    if re.search(r"\.responses(\.\d+)?$", path):
        return "people"
    return ""


def may_hold_labels(path: str) -> bool:
    """Whether a column is called as columns of labels are."""
    name = _last_name(path)
    words = words_of(name)
    if not words:
        return False
    last_word = words[-1]
    if last_word in LABEL_WORDS or last_word in _PEOPLES_LABEL or plain_spelling(name) in _PEOPLES_LABEL:
        return True
    if given_by(path) == "people":
        return last_word in _VALUE_WORDS
    return given_by(path) == "model" and last_word in _MODEL


def _last_name(path: str) -> str:
    """Return the last part of a path that is no number; empty if there is none."""
    for part in reversed(path.split(".")):
        if not part.isdecimal():
            return part
    return ""


@dataclass(frozen=True, kw_only=True)
class LabelColumn:
    """A column that could hold the labels."""

    path: str
    giver: Giver
    values: Counter[str]  # value as text -> rows

    def __str__(self) -> str:
        """Name it, with the values that most rows have."""
        values = ", ".join(value for value, _ in self.values.most_common(_LISTED_VALUES))
        if len(self.values) > _LISTED_VALUES:
            values += ", ..."
        return f"{self.path} ({values})"


def label_candidates(
    rows: Sequence[Mapping[str, object]], paths: Iterable[str], other_columns: Iterable[str] = ()
) -> list[LabelColumn]:
    """Return the columns that could hold labels, by their names and their values.

    Args:
        rows: of the file.
        paths: the columns.
        other_columns: columns that hold something else.
    """
    excluded = set(other_columns)
    candidates: list[LabelColumn] = []
    for path in paths:
        if path in excluded or not may_hold_labels(path):
            continue
        values = Counter[str]()
        for row in rows:
            text = label_text(row.get(path))
            if text:
                values[text] += 1
        if values and are_labels(values):
            candidates.append(LabelColumn(path=path, giver=given_by(path), values=values))
    return candidates


def label_text(value: object) -> str:
    """Return a cell of labels as text; empty without one, and for a structure."""
    text = as_text(value)
    if not isinstance(text, str):
        return ""
    return unquoted(text.strip()).strip()


def are_labels(values: Counter[str]) -> bool:
    """Whether values repeat as labels do, or are numbers."""
    if all(map(is_number, values)):
        return True
    repeat = len(values) <= min(_MANY, max(4, values.total() // 2))
    return repeat and max(map(len, values)) <= _LONGEST


def is_number(text: str) -> bool:
    """Whether a text is a number, with a point or a comma."""
    return re.fullmatch(r"[-+]?\d+([.,]\d+)?", text) is not None


def is_silent(text: str) -> bool:
    """Whether a label is what raters write who do not know: a word for it or only dashes, but no emoji."""
    return (plain_spelling(text) or text.strip("-–—?./ ")) in _SILENT


def choose_label_column(
    candidates: Sequence[LabelColumn], path: str, fits: Callable[[Iterable[str]], bool] | None = None
) -> str:
    """Return the column of the labels that people gave; empty if none is called so.

    Args:
        candidates: what could hold them.
        path: the file, for messages.
        fits: tells whether labels are those that the prompt asks for; ``None`` if there is no prompt.

    Raises:
        GoldError: it is not clear which column holds what people said; the message lists them.
    """
    of_people: list[LabelColumn] = []
    unsigned: list[LabelColumn] = []
    for candidate in candidates:
        if candidate.giver == "people":
            of_people.append(candidate)
        elif not candidate.giver:
            unsigned.append(candidate)
    if len(of_people) == 1:
        return of_people[0].path
    if not candidates:
        return ""
    if of_people:
        raise _unclear("several columns could hold the labels that people gave", of_people, path)
    if len(unsigned) > 1:
        raise _unclear("several columns could hold the labels that people gave", unsigned, path)
    if not unsigned:
        raise _unclear("the columns that look like labels are called as a model's are", candidates, path)
    if fits is not None and not fits(unsigned[0].values):
        raise _unclear("the prompt names none of the labels in the column", unsigned, path)
    return unsigned[0].path


def _unclear(problem: str, candidates: Sequence[LabelColumn], path: str) -> GoldError:
    """Return the error that lists the candidates, with the options that choose one of the first three."""
    listed = "; ".join(map(str, candidates))
    options: list[str] = []
    for candidate in candidates[:3]:
        argument = quote(f"{candidate.path}=label")
        options.append(f"--column {argument}")
    hint = f"say which column holds what people said: {' or '.join(options)}"
    shared_values = set(candidates[0].values)
    for candidate in candidates[1:]:
        shared_values &= set(candidate.values)
    if len(candidates) > 1 and shared_values:
        names = quote(",".join(candidate.path for candidate in candidates))
        hint += f"; or, if each holds the labels of one rater, --raters {names}"
    return GoldError(f"{problem}: {listed}", path=path, hint=hint)


def fits_prompt(values: Iterable[str], prompt: str) -> bool:
    """Whether a prompt asks for labels like these: it names one of them, or asks for a number, or for yes or no."""
    labels: set[str] = set()
    for value in values:
        if not is_silent(value):
            labels.add(value.casefold())
    text = prompt.casefold()
    if not labels:
        return False
    for label in labels:
        if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text):
            return True
    if labels <= _POLAR:
        words = set(_WORD.findall(text))
        return "?" in text or bool(words & _POLAR_QUESTION)
    if all(map(is_number, labels)):
        return _ASKS_NUMBER.search(text) is not None
    return not text.isascii() and any(label in text for label in labels)
