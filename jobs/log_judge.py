"""A judge that is inferred from gold and logs alone: its inputs, its answer and its labels are read from their rows."""

import keyword
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Annotated, Any, Literal

import dspy
import pydantic

from ..cases import Case
from ..errors import GoldError, UsageError
from ..gold.columns import choose_label_column, is_silent, label_candidates
from ..gold.files import Row
from ..gold.goldset import Gold
from ..gold.mapping import RowMapping
from ..gold.rater_columns import hold_same_labels, raters_option
from ..gold.rows import is_rating
from ..keeping.logs import LogReference
from ..programs.judge import Judge
from ..programs.records import records
from ..text.turns import Text
from ..text.wording import plain_spelling
from .log_columns import (
    DESCRIBING_COLUMNS,
    ID_COLUMNS,
    LONGEST_LABEL,
    MOST_LABELS,
    add_nested_values,
    cell_text,
    columns_of_rows,
    find_columns_like_labels,
    find_verdict_column,
    has_label_values,
    iterate_flat_rows,
    parse_number,
    read_log_rows,
)

RECORDED_JUDGE = "recorded"
"""The name of a judge that is made of a log and gold alone."""
_WORDS_FOR_BOOLEANS = {"true", "yes", "y", "false", "no", "n", "1", "0"}
_MARKS_OF_SENTENCES = frozenset('.:;,!?{}[]"\n')
"""Marks that no label has: a text with one of them is a sentence, or a structure."""


def infer_judge(logs: Sequence[LogReference], gold: object, mapping: RowMapping) -> Judge:
    """Return a judge of the values that gold and logs hold; its inputs are texts that the gold's rows have."""
    if isinstance(gold, Gold):
        return gold.judge
    path = os.fspath(gold) if isinstance(gold, str | os.PathLike) else ""
    rows = _read_gold_rows(gold, path, mapping)
    label_columns: list[str] = []  # of raters, where the labels are merged
    if mapping.raters:
        label_columns = list(filter(is_rating, columns_of_rows(rows)))
    answer_columns = list(label_columns)
    for log in logs:
        if log.file == path:
            answer_columns.append(log.column)
    if label_columns or "label" in mapping.columns.values():
        label_column = "label"
    else:
        label_column = _find_label_column(rows, answer_columns, path or "gold")
    answer_columns.append(label_column)

    contents = _read_log_contents(logs, mapping)
    labels: list[str] = []
    labelled_rows: list[Row] = []  # a total below the rows says nothing of the columns
    for row in rows:
        row_labels = [cell_text(row.get(column)) for column in label_columns or [label_column]]
        labels.extend(map(mapping.judge_label, row_labels))
        if any(row_labels):
            labelled_rows.append(row)
    answer = _infer_answer(labels, contents.verdicts)
    inputs = _find_input_columns(labelled_rows, answer_columns, contents.shared_columns)
    if not inputs:
        hint = "hold the log beside a judge: jurist compare JUDGE recorded:FILE --gold F"
        raise GoldError("the rows hold no texts that tell them apart", path=path, hint=hint)
    return _make_judge(inputs, label_column, answer)


def _read_gold_rows(gold: object, path: str, mapping: RowMapping) -> list[Row]:
    """Return the rows of gold, from a file or from Python, with nested values and mapped names of columns."""
    if path:
        rows: Iterable[Row] = iterate_flat_rows(path)
    else:
        rows = map(add_nested_values, records(gold, "gold"))
    if mapping.raters:
        rows = list(rows)
        mapping = mapping.with_raters(rows, path)
    renamed_rows: list[Row] = []
    for row in rows:
        renamed_rows.append({mapping.columns.get(column, column): value for column, value in row.items()})
    return renamed_rows


@dataclass(frozen=True, kw_only=True)
class _LogContents:
    """The verdicts of all logs with their counts, and the plain names of the columns that all logs have."""

    verdicts: Counter[str]
    shared_columns: Collection[str]


def _read_log_contents(logs: Sequence[LogReference], mapping: RowMapping) -> _LogContents:
    """Return the contents of the logs, and the columns that they share."""
    verdicts = Counter[str]()
    shared_columns: set[str] | None = None
    for log in logs:
        rows = read_log_rows(log)
        verdict_column = find_verdict_column(log, rows)
        for row in rows:
            verdicts[mapping.judge_label(cell_text(row.get(verdict_column)))] += 1
        columns = {plain_spelling(name) for name in columns_of_rows(rows)}
        shared_columns = columns if shared_columns is None else shared_columns & columns
    return _LogContents(verdicts=verdicts, shared_columns=shared_columns or set())


def _find_label_column(rows: Sequence[Row], log_columns: Sequence[str], path: str) -> str:
    """Return the column of the gold that holds what people said: as it is called, else the only one like labels."""
    columns = columns_of_rows(rows)
    column = choose_label_column(label_candidates(rows, columns, log_columns), path)
    if column:
        return column
    label_columns = find_columns_like_labels(rows, columns, log_columns)
    if len(label_columns) == 1:
        return label_columns[0]
    hint = "say which one it is: --column THEIRS=label"
    if len(label_columns) > 1 and hold_same_labels(rows, label_columns, lambda labels: True):
        hint += f", or {raters_option(label_columns, columns)} if each holds the labels of one rater"
    elif label_columns:
        first = label_columns[0]
        hint = (
            f"say which one it is: --column {quote(f'{first}=label')} (a criterion: {quote(f'recorded:LOG#{first}')}); "
            "or score all criteria with a judge that gives them: jurist compare JUDGE recorded:LOG --gold F"
        )
    problem = f"which column holds the answers is not clear: it has {', '.join(columns)}"
    raise GoldError(problem, path=path, hint=hint)


def _find_input_columns(
    rows: Sequence[Row], answer_columns: Collection[str], columns_of_logs: Collection[str]
) -> list[str]:
    """Return the columns of texts that most rows fill in, of which those that the logs have too go first.

    Args:
        rows: of gold.
        answer_columns: columns with labels or verdicts.
        columns_of_logs: plain names of columns that all logs have.
    """
    texts = _find_text_columns(rows, answer_columns)
    varied_texts: list[str] = []
    for name in texts:
        if not has_label_values(rows, name):
            varied_texts.append(name)
    inputs = varied_texts
    if _count_distinct(rows, varied_texts) < _count_distinct(rows, texts):
        inputs = texts  # a column of few values, such as a photo with several captions, tells rows apart, too
    ids = _find_filled_ids(rows)
    if not inputs:
        return ids[:1]
    shared_ids = _select_shared(ids, columns_of_logs)
    if shared_ids:  # rows that are found by an id keep all of their texts
        return inputs
    return _select_shared(inputs, columns_of_logs) or inputs


def _count_distinct(rows: Sequence[Row], columns: Sequence[str]) -> int:
    """Return the number of rows that differ in some columns."""
    contents = set()
    for row in rows:
        contents.add(tuple(cell_text(row.get(column)) for column in columns))
    return len(contents)


def _select_shared(columns: Sequence[str], columns_of_logs: Collection[str]) -> list[str]:
    """Return the columns that all logs have, too."""
    shared: list[str] = []
    for column in columns:
        if plain_spelling(column) in columns_of_logs:
            shared.append(column)
    return shared


def _find_text_columns(rows: Sequence[Row], answer_columns: Collection[str]) -> list[str]:
    """Return the columns of texts, one for each name of a field, without answers and descriptions of a row."""
    column_of_field: dict[str, str] = {}
    for column in columns_of_rows(rows):
        column_of_field.setdefault(_field_name(column), column)
    texts: list[str] = []
    for column in column_of_field.values():
        last_name = column.lower().rpartition(".")[2]
        if column in answer_columns or last_name in ID_COLUMNS or last_name in DESCRIBING_COLUMNS:
            continue
        if not is_rating(column) and _most_are_texts(rows, column):
            texts.append(column)
    return texts


def _find_filled_ids(rows: Sequence[Row]) -> list[str]:
    """Return the columns of ids that are filled in each row."""
    if not rows:
        return []
    ids: list[str] = []
    for name in ID_COLUMNS:
        if all(cell_text(row.get(name)) for row in rows):
            ids.append(name)
    return ids


def _most_are_texts(rows: Sequence[Row], column: str) -> bool:
    """Whether a column holds texts alone, and more than half of the rows have one."""
    filled = 0
    for row in rows:
        value = row.get(column)
        if value is None:
            continue
        if not isinstance(value, str):
            return False
        if value.strip():
            filled += 1
    return 2 * filled > len(rows)


def _field_name(column: str) -> str:
    """Return the name of the field that is read from a column or a path, as ``scores_overall``."""
    name = re.sub(r"\W+", "_", column).strip("_")
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    return f"field_{name}"


@dataclass(frozen=True, kw_only=True)
class _InferredAnswer:
    """The type of an answer, with the limits of its numbers or its positive label."""

    type: Any
    limits: Mapping[str, float] = field(default_factory=dict)
    positive: str | tuple[()] = ()


def _infer_answer(labels: Sequence[str], verdicts: Counter[str]) -> _InferredAnswer:
    """Return the answer whose values are these labels of people and verdicts of logs, with the rows of each verdict."""
    clear_labels: list[str] = []
    for label in labels:
        if label and not is_silent(label):
            clear_labels.append(label)
    if not clear_labels:
        hint = "say which column holds it: --column THEIRS=label"
        raise UsageError("no row of the gold has a label", hint=hint)
    if set(_fold_case(clear_labels)) <= _WORDS_FOR_BOOLEANS:
        return _InferredAnswer(type=bool, positive="true")
    numbers_of_labels = _parse_numbers(clear_labels)
    if len(numbers_of_labels) == len(clear_labels):
        return _infer_numeric_answer(numbers_of_labels + _parse_numbers(verdicts))
    return _infer_closed_labels(clear_labels, verdicts)


def _fold_case(labels: Iterable[str]) -> list[str]:
    """Return labels without a difference of capitals."""
    return [label.casefold() for label in labels]


def _parse_numbers(texts: Iterable[str]) -> list[float]:
    """Return the numbers among some texts."""
    numbers: list[float] = []
    for text in texts:
        number = parse_number(text)
        if number is not None:
            numbers.append(number)
    return numbers


def _infer_numeric_answer(numbers: Sequence[float]) -> _InferredAnswer:
    """Return an answer whose numbers lie between the smallest and the largest of these."""
    are_integers = all(number == round(number) for number in numbers)
    limits = {"ge": min(numbers), "le": max(numbers)}
    return _InferredAnswer(type=int if are_integers else float, limits=limits)


def _infer_closed_labels(labels: Sequence[str], verdicts: Counter[str]) -> _InferredAnswer:
    """Return an answer with these labels, each in its most common spelling; of two the rarer one is positive."""
    choices = _spell_choices(labels, verdicts)
    if len(choices) > MOST_LABELS:
        raise UsageError(
            f"{len(choices)} different labels are no labels: {', '.join(choices[:5])}, ...",
            hint="say which columns hold them: recorded:FILE#COLUMN, --column THEIRS=label",
        )
    answer = _InferredAnswer(type=Literal[tuple(choices)])
    if len(choices) > 2:
        return answer
    label_counts = Counter(_fold_case(labels))
    # a verdict that no person gave is as common as all labels together
    rarest = min(choices, key=lambda text: (label_counts[text.casefold()] or len(labels), text))
    return replace(answer, positive=rarest)


def _spell_choices(labels: Sequence[str], verdicts: Counter[str]) -> list[str]:
    """Return the labels of people and logs, sorted, each in its most common spelling."""
    texts = Counter(labels)
    labels_of_people = set(_fold_case(labels))
    labels_of_logs = set(_fold_case(verdicts))
    # a log in other words says no labels of these people
    if labels_of_people & labels_of_logs:
        for verdict, rows in verdicts.items():
            if rows > 1 and _may_be_label(verdict):
                texts[verdict] += rows
    spellings: dict[str, str] = {}
    for text, _ in texts.most_common():
        spellings.setdefault(text.casefold(), text)
    return sorted(spellings.values())


def _may_be_label(verdict: str) -> bool:
    """Whether a verdict of a log is short, without marks of a sentence, and neither a number nor silent."""
    is_short = len(verdict) <= LONGEST_LABEL and _MARKS_OF_SENTENCES.isdisjoint(verdict)
    return is_short and parse_number(verdict) is None and not is_silent(verdict)


def _make_judge(inputs: Sequence[str], label_column: str, answer: _InferredAnswer) -> Judge:
    """Return a judge with a field for each column of inputs, and one for the label."""
    fields: dict[str, tuple[object, object]] = {}
    for column in inputs:
        fields[_field_name(column)] = (str, dspy.InputField())
    fields[_field_name(label_column)] = (answer.type, dspy.OutputField(**answer.limits))
    columns: dict[str, str] = {}
    for column in list(inputs) + [label_column]:
        if column != _field_name(column):
            columns[column] = _field_name(column)
    judge = Judge(
        name=RECORDED_JUDGE,
        signature=dspy.make_signature(fields, "Say what the log says.", "Recorded"),
        positive=answer.positive,
        columns=columns,
    )
    return _allow_empty_cells(judge)


def _allow_empty_cells(judge: Judge) -> Judge:
    """Return a judge of which a row may leave inputs out: a log is held against rows as they are."""
    optional_text = (Annotated[Text, pydantic.BeforeValidator(_empty_for_none)], "")
    optional: dict[str, Any] = dict.fromkeys(judge.input_fields, optional_text)
    model = pydantic.create_model("RecordedRow", __base__=judge.row_model, **optional)

    def make_case(row: Any) -> Case:
        label = getattr(row, judge.answer.field)
        return Case(
            inputs={name: getattr(row, name) for name in judge.input_fields},
            group=row.group,
            gold=None if label is None else judge.answer.values_of(label),
        )

    return replace(judge, rows=model, to_case=make_case)


def _empty_for_none(value: object) -> object:
    return "" if value is None else value
