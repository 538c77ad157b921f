"""The roles of a file's columns for a judge that is made for it: inputs, label, group."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from shlex import quote

from ..errors import GoldError, UsageError, suggest_name
from ..evaluation.closed_labels import SHORT
from ..programs.answers.labels import Preference
from ..text.trace_reading import holds_tool_calls
from ..text.wording import plain_spelling
from .columns import (
    LabelColumn,
    choose_label_column,
    find_columns,
    fits_prompt,
    is_number,
    is_silent,
    label_candidates,
    label_text,
)
from .files import Row
from .misspelt import Misspelling, find_misspellings
from .paths import flat, has_column, paths_within, read_path, rows_within
from .rater_columns import find_rater_columns, hold_same_labels, match_rater_columns, raters_option
from .rows import is_rating
from .sources import OnBad, read, refuse

_GROUP = re.compile(r"(conv(ersation)?|chat|dialog(ue)?|session|thread|document|doc|trace|ticket|group)(id)?")
_SIDE = re.compile(
    r"^(model|response|answer|reply|output|option|assistant|conversation)(?=[ab]$)|^tie(?=both)|bad$"
)
_CHOICE = Preference.columns
_SIDE_WORDS = {"a": "b", "1": "2", "first": "second", "left": "right"}
"""The words by which the names of the two inputs of a pair differ."""
_PATHS_SHOWN = 8
"""Paths into values that an error lists at most."""
_ROWS_SEEN = 50
"""Rows in which an input is looked at for traces."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The reading of a file: its columns by what they are to the judge, and the labels in it, the rarest last."""

    columns: Mapping[str, str]  # column -> input, ``label``, ``group`` or ``rater:NAME``
    labels: Sequence[str]  # as most rows spell each
    silent: Sequence[str]  # labels that say nothing
    misspelt: Sequence[Misspelling]  # labels that are near spellings of more frequent ones
    pair: Sequence[str]  # the two inputs that ``chosen`` and ``rejected`` are, if they are columns
    rated: bool = False  # True where the labels are ratings of several people, which are merged
    raters: Sequence[str] = ()  # the columns of raters that were found by their names
    traces: Sequence[str] = ()  # inputs whose columns hold traces of agents


def shape_of(
    source: str | Path,
    inputs: Sequence[str],
    role_of_column: Mapping[str, str],
    prompt: str | None = None,
    compared: Sequence[str] = (),
    raters: Sequence[str] = (),
    on_bad: OnBad = refuse,
) -> Shape:
    """Find the columns of a prompt by their names.

    Args:
        source: the labelled rows.
        inputs: the inputs of the prompt.
        role_of_column: column -> input, ``label``, ``group``, ``rater`` or ``rater:NAME``, as the user says it.
        prompt: the text that says which labels there are: of the prompt, and of options.
        compared: the two inputs of which the judge prefers one; empty for other judges.
        raters: the columns of raters, or patterns of their names, as the user says it.
        on_bad: takes the rows that cannot be read.
    """

    def fits(labels: Iterable[str]) -> bool:
        if prompt is None or fits_prompt(labels, prompt):
            return True
        return any(_side_of_label(label, compared) for label in labels)

    table = _read_table(source, list(role_of_column) + list(raters), on_bad)
    role_of_column = {**match_rater_columns(raters, table.names, table.path), **role_of_column}
    pair = _pair_of(inputs, role_of_column, table.names)
    roles = _roles_of(inputs, pair)
    _check_named_columns(role_of_column, roles, table)
    columns = _columns_of_roles(roles, role_of_column, table)
    ratings = _rating_columns(role_of_column, table.names)
    unclear = []
    for role in roles:
        if role not in columns.values() and role not in ("label", "group"):
            unclear.append(role)
    candidates: Sequence[LabelColumn] = ()
    found_raters: dict[str, str] = {}
    if "label" in roles and "label" not in role_of_column.values():
        for column, role in list(columns.items()):
            if role == "label":
                del columns[column]
        if not ratings:
            free_columns = [name for name in table.names if name not in columns]
            found_raters = find_rater_columns(table.flat_rows, free_columns, prompt or "", fits)
            columns |= found_raters
            ratings = list(found_raters)
        candidates = _find_label_columns(table, columns, ratings)
        if found_raters:
            # A further column counts as the label if it holds what the prompt asks for, such as a settled label.
            candidates = [candidate for candidate in candidates if fits(candidate.values)]
        if not candidates and not ratings:
            unclear.append("label")
    if unclear:
        raise _no_clear_columns(unclear, columns, table, fits)
    if candidates:
        columns[choose_label_column(candidates, table.path, fits)] = "label"

    label_columns = [column for column, role in columns.items() if role == "label"][:1]
    has_raters_only = bool(ratings) and not label_columns
    counts = _count_labels(table.items, label_columns or dict.fromkeys(ratings))
    rows_of_label = label_spellings(counts)
    return Shape(
        columns=columns,
        labels=list(rows_of_label),
        misspelt=find_misspellings(rows_of_label, prompt or ""),
        silent=_silent_labels(counts),
        pair=pair,
        rated="rater" in columns.values() or has_raters_only,
        raters=list(found_raters),
        traces=_trace_inputs(table, columns),
    )


@dataclass(frozen=True, kw_only=True)
class _Table:
    """The rows of a source whose columns are looked for."""

    path: str  # the file to name in messages
    items: Sequence[Row]  # the rows, also those that rows hold
    flat_rows: Sequence[Row]  # the same rows with a column for each path in them
    names: Sequence[str]  # these columns, each once, in the order in which they occur


def _read_table(source: str | Path, paths: Sequence[str], on_bad: OnBad) -> _Table:
    """Return the rows of a source, one for each item of the lists that some paths name."""
    reading = read(source, on_bad)
    items: list[Row] = []
    flat_rows: list[Row] = []
    names: dict[str, None] = {}
    for place, row in reading.rows:
        for item in rows_within(row, paths, place):
            flat_row = dict(flat(item))
            items.append(item)
            flat_rows.append(flat_row)
            names.update(dict.fromkeys(flat_row))
    return _Table(path=reading.path, items=items, flat_rows=flat_rows, names=list(names))


def _trace_inputs(table: _Table, role_of_column: Mapping[str, str]) -> list[str]:
    """Return the inputs whose columns hold a trace, with a tool that was called, in half of the first rows or more."""
    inputs: list[str] = []
    for column, role in role_of_column.items():
        trace_count = 0
        rows = table.items[:_ROWS_SEEN]
        for row in rows:
            trace_count += holds_tool_calls(read_path(row, column))
        if trace_count and 2 * trace_count >= len(rows):
            inputs.append(role)
    return inputs


def _find_label_columns(table: _Table, columns: Iterable[str], ratings: Sequence[str]) -> list[LabelColumn]:
    """Return the columns that may hold the label; beside the labels of raters, none that a model filled in."""
    columns_in_use = list(columns) + list(ratings)
    candidates = []
    for candidate in label_candidates(table.flat_rows, table.names, columns_in_use):
        if not ratings or candidate.giver != "model":
            candidates.append(candidate)
    return candidates


def _roles_of(inputs: Sequence[str], pair: Sequence[str]) -> list[str]:
    """Return the roles that columns may have for a judge; two inputs that are ``chosen`` and ``rejected`` have none."""
    if not pair:
        return list(inputs) + ["label", "group"]
    roles = []
    for name in inputs:
        if name not in pair:
            roles.append(name)
    roles.extend(_CHOICE)
    roles.append("group")
    return roles


def _rating_columns(role_of_column: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Return the columns of one rater's labels: the ones that the user names first, then those of the file."""
    ratings = []
    for column in list(role_of_column) + list(names):
        if _is_of_rater(role_of_column.get(column, column)):
            ratings.append(column)
    return ratings


def _silent_labels(labels: Iterable[str]) -> list[str]:
    """Return the labels that say nothing, sorted."""
    silent = []
    for label in sorted(labels):
        if label and is_silent(label):
            silent.append(label)
    return silent


def _count_labels(items: Sequence[Row], columns: Iterable[str]) -> Counter[str]:
    """Return label -> how many times the columns have it."""
    counts = Counter[str]()
    for item in items:
        for column in columns:
            counts[label_text(read_path(item, column))] += 1
    return counts


def _columns_of_roles(
    roles: Sequence[str], role_of_column: Mapping[str, str], table: _Table
) -> dict[str, str]:
    """Return column -> role: as the user names it, then by its name, and the group by the end of a path."""
    columns = dict(role_of_column)
    free_columns = [name for name in table.names if name not in columns]
    free_roles = [role for role in roles if role not in columns.values()]
    columns |= find_columns(free_columns, free_roles)
    for role in roles:
        if role in free_columns and role not in columns.values():
            columns[role] = role
    if "group" not in columns.values():
        free_columns = [name for name in free_columns if name not in columns]
        for column in _group_columns(free_columns, table)[:1]:
            columns[column] = "group"
    return columns


def _group_columns(names: Sequence[str], table: _Table) -> list[str]:
    """Return the columns that may name the group by their name, those in which a value repeats first."""
    repeating: list[str] = []
    distinct: list[str] = []
    for name in names:
        if not _GROUP.fullmatch(plain_spelling(name.rpartition(".")[2])):
            continue
        values: list[str] = []
        for row in table.flat_rows:
            if row.get(name):
                values.append(str(row[name]))
        if len(set(values)) < len(values):
            repeating.append(name)
        else:
            distinct.append(name)
    return repeating + distinct


def _is_of_rater(name: str) -> bool:
    """Say whether a column, or a path, holds the labels of one rater."""
    return is_rating(name) or name.startswith("ratings.")


def _pair_of(inputs: Sequence[str], role_of_column: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Return the two inputs that ``chosen`` and ``rejected`` are: columns have these names, and no input's."""
    available = _available_names(role_of_column.values(), names)
    if not available.issuperset(_CHOICE):
        return []
    pair = []
    for name in inputs:
        if name not in available and plain_spelling(name) not in available:
            pair.append(name)
    if len(pair) != len(_CHOICE):
        return []
    return pair


def _available_names(roles: Iterable[str], names: Iterable[str]) -> set[str]:
    """Return roles that have a column, and the plain names of all columns."""
    return set(roles).union(map(plain_spelling, names))


def _check_named_columns(role_of_column: Mapping[str, str], roles: Sequence[str], table: _Table) -> None:
    """Refuse columns that the user names for nothing of the judge, and those that no row has."""
    for column, role in role_of_column.items():
        if role not in roles and role != "rater" and not is_rating(role):
            message = f"--column {column}={role}: {role!r} is nothing of this judge"
            raise UsageError(message, hint=suggest_name(role, roles))
        if not any(has_column(item, column) for item in table.items):
            hint = suggest_name(column, table.names)
            raise GoldError("no row has this column", path=table.path, field=column, hint=hint)


def _no_clear_columns(
    unclear: Sequence[str],
    columns: Mapping[str, str],
    table: _Table,
    fits: Callable[[Iterable[str]], bool],
) -> GoldError:
    """Return the error for roles that no column's name fits."""
    paths = [path for path in _paths_in_cells(table) if path not in columns]
    option_words = []
    for role in unclear:
        named_alike = [path for path in paths if path.rpartition(".")[2] == role]
        column = named_alike[0] if len(named_alike) == 1 else "COLUMN"
        option_words.append(f"--column {quote(f'{column}={role}')}")
    options = " ".join(option_words)
    free_columns = [name for name in table.names if name not in columns]
    hint = f"say which: {options}; there are {', '.join(free_columns) or 'no others'}"
    further_paths = [quote(path) for path in paths if path not in free_columns]
    if further_paths:
        hint += f", and in their values {', '.join(further_paths[:_PATHS_SHOWN])}"
    fitting_columns = []
    for column in free_columns:
        if hold_same_labels(table.flat_rows, [column], fits):
            fitting_columns.append(column)
    if list(unclear) == ["label"] and len(fitting_columns) > 1:
        hint = f"say which: {options}"
        if hold_same_labels(table.flat_rows, fitting_columns, fits):
            option = raters_option(fitting_columns, table.names)
            hint += f", or {option} if each holds the labels of one rater"
        together = ", ".join(fitting_columns)
        hint += f"; to judge {together} together, write a judge with a field for each (docs/own-judge.md)"
    if "label" in unclear and _available_names(columns.values(), table.names).issuperset(_CHOICE):
        hint = "leave just two inputs without a column, for chosen and rejected: --column COLUMN=INPUT for others"
    return GoldError(f"no column is clearly the {' or the '.join(unclear)}", path=table.path, hint=hint)


def _paths_in_cells(table: _Table) -> list[str]:
    """Return the paths into the values of the first rows, also into JSON in a cell, without repeats."""
    paths: dict[str, None] = {}
    for item in table.items[:_ROWS_SEEN]:
        paths.update(dict.fromkeys(paths_within(item)))
    return list(paths)


def label_spellings(counts: Mapping[str, int]) -> dict[str, int]:
    """Return each label in its most frequent spelling -> its rows, rarest last; "y" is "yes" where both occur."""
    lower_case_labels = {label.casefold() for label in counts}
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for label, count in counts.items():
        if not label or is_silent(label):
            continue
        key = label.casefold()
        long_form = SHORT.get(key, key)
        if long_form in lower_case_labels:
            key = long_form
        spellings[key][label] += count
    rows_of_label: dict[str, int] = {}
    for spelling in sorted(spellings.values(), key=Counter.total, reverse=True):
        rows_of_label[_preferred_spelling(spelling)] = spelling.total()
    return rows_of_label


def _preferred_spelling(spelling: Counter[str]) -> str:
    """Return the spelling that most rows have: a word before its first letter, small letters before capitals."""
    return max(spelling, key=lambda text: (len(text) > 1, spelling[text], text.islower()))


def scale_of(labels: Sequence[str]) -> str:
    """Return the usual scale of labels that are three numbers or more, as ``1-5``; empty for other labels."""
    if len(labels) < 3 or not all(is_number(label) for label in labels):
        return ""
    numbers = [float(label.replace(",", ".")) for label in labels]
    low = min(numbers)
    high = max(numbers)
    are_whole = all(number.is_integer() for number in numbers)
    if low < 0:
        if are_whole:
            return f"{low:g}-{high:g}"
        return f"{low}-{high}"
    if not are_whole:
        if high <= 1:
            return "0.0-1.0"
        return f"{_low_end(low):.1f}-{_high_end(low, high):.1f}"
    return f"{_low_end(low):.0f}-{_high_end(low, high):.0f}"


def _low_end(low: float) -> float:
    """Return where a scale begins that has this lowest value: at 0 or at 1."""
    if low < 1:
        return 0.0
    return 1.0


def _high_end(low: float, high: float) -> float:
    """Return where a scale ends that has these lowest and highest values: at the next usual end."""
    usual_ends: tuple[int, ...] = (3, 5, 7, 10, 100)
    if low < 1:
        usual_ends = (2, 3, 4, 5, 7, 10, 100)
    for end in usual_ends:
        if end >= high:
            return float(end)
    return high


def sides_by_number(labels: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Return the two inputs that numbers up to 2 may be a preference between; none where they are no such numbers."""
    if not labels or not set(labels) <= {"0", "1", "2"}:
        return []
    return _sides_of_inputs(inputs)


def sides_by_name(labels: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Return the two inputs that labels such as A, B and tie are a preference between; none for other labels."""
    pair = _sides_of_inputs(inputs)
    named_sides = {_side_of_label(label, pair) for label in labels}
    if named_sides in ({"first", "second"}, {"first", "second", "tie"}):
        return pair
    return []


def _sides_of_inputs(inputs: Sequence[str]) -> list[str]:
    """Return the first two inputs whose names differ by the words of two sides; none without such names."""
    for first, second in pairwise(inputs):
        for first_word, second_word in _SIDE_WORDS.items():
            if _differ_by(first, second, first_word, second_word):
                return [first, second]
    return []


def _differ_by(first: str, second: str, first_word: str, second_word: str) -> bool:
    """Say whether two names are the same but for a word: ``answer_a`` and ``answer_b``."""
    first_parts = first.casefold().split("_")
    second_parts = second.casefold().split("_")
    if len(first_parts) == len(second_parts):
        differing = []
        for first_part, second_part in zip(first_parts, second_parts, strict=True):
            if first_part != second_part:
                differing.append((first_part, second_part))
        if differing == [(first_word, second_word)]:
            return True
    stem = plain_spelling(first).removesuffix(first_word)
    return stem != plain_spelling(first) and stem == plain_spelling(second).removesuffix(second_word)


def sides(shape: Shape, pair: Sequence[str], mapped_labels: Iterable[str]) -> dict[str, str]:
    """Return label -> ``first``, ``second`` or ``tie`` for the labels of a file that the user has not mapped."""
    clear_labels = {"first", "second", "tie"}
    clear_labels.update(map(str.casefold, mapped_labels))
    meanings: dict[str, str] = {}
    unclear: list[str] = []
    for label in shape.labels:
        if label.casefold() in clear_labels:
            continue
        side = _side_of_label(label, pair)
        if side:
            meanings[label] = side
        else:
            unclear.append(label)
    if unclear:
        hint = f"say what each means: --map {quote(unclear[0])}=first (or second, or tie; nothing after =: no label)"
        raise UsageError(f"the labels {', '.join(unclear)} do not say which of the two is better", hint=hint)
    return meanings


def _side_of_label(label: str, pair: Sequence[str]) -> str:
    """Return which input of a pair a label prefers: ``first``, ``second`` or ``tie``; empty if it names none."""
    if len(pair) != 2:
        return ""
    words = {
        plain_spelling(pair[0]): "first",
        plain_spelling(pair[1]): "second",
        "a": "first",
        "b": "second",
        "both": "tie",
    }
    words |= {"first": "first", "second": "second", "tie": "tie"}
    # Chatbot Arena has model_a, tie (bothbad) and the like
    return words.get(_SIDE.sub("", plain_spelling(label)), "")
