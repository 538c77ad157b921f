"""The columns that hold one rater's labels each: as a user names them, or by their names and values."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from shlex import quote

from ..errors import GoldError, suggest_name
from .columns import LABEL_WORDS, PEOPLE_WORDS, are_labels, given_by, is_number, is_silent, label_text
from .files import Row
from .rows import RATER

_NAME_PART = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")
"""A word or a number in the name of a column: ``labelAnn_2`` has ``label``, ``Ann`` and ``2``."""
_SETTLING_WORDS = frozenset(
    "gold golden final consensus majority adjudicated agreed resolved truth mean average median".split()  # noqa: SIM905
)
"""Words for a label that settles what raters said."""
_FEWEST_COLUMNS = 3
"""Columns that make raters, where no name says that people gave the labels."""
_FEWEST_COLUMNS_OF_PEOPLE = 2
"""Columns that make raters, where the names say that people gave the labels."""


def match_rater_columns(
    patterns: Sequence[str], names: Sequence[str], path: str, columns_of_file: Collection[str] = ()
) -> dict[str, str]:
    """Return column -> ``rater:NAME`` for the columns that the patterns of a user match, such as ``label_*``.

    Args:
        patterns: names of columns, or patterns with ``*`` and ``?``.
        names: the columns of the file, and the paths into them.
        path: the file, for messages.
        columns_of_file: those of the names that are columns, and no part of another.

    Raises:
        GoldError: a pattern names none of the columns.
    """
    columns: dict[str, str] = {}
    for pattern in patterns:
        matches = _without_parts(_matching_names(pattern, names), columns_of_file)
        if not matches:
            hint = suggest_name(pattern, names) or f"the columns are {', '.join(names)}"
            raise GoldError("no column of a rater is called so", path=path, field=pattern, hint=hint)
        for name in matches:
            columns[name] = _rater_field(name, _starred_part(name, pattern), columns.values())
    return columns


def _matching_names(pattern: str, names: Sequence[str]) -> list[str]:
    """Return the names that a pattern names; a name is no pattern where a column is called so."""
    if pattern in names:
        return [pattern]
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return [name for name in names if re.fullmatch(expression, name)]


def _without_parts(names: Sequence[str], columns: Collection[str]) -> list[str]:
    """Return the names without the paths into columns that are among them, such as ``labels_ann.0`` of a list."""
    wholes = tuple(f"{name}." for name in names)
    return [name for name in names if name in columns or not name.startswith(wholes)]


def _starred_part(name: str, pattern: str) -> str:
    """Return the part of a name for which the one star of a pattern stands; the name, if there is no such star."""
    if name == pattern or pattern.count("*") != 1 or "?" in pattern:
        return name
    prefix, _, suffix = pattern.partition("*")
    return name[len(prefix) : len(name) - len(suffix)].strip(" _-.:")


def _rater_field(column: str, rater: str, fields_in_use: Iterable[str]) -> str:
    """Return the field of a rater's column; a number, or a name that another column has, gives way to the column's."""
    name = rater.removeprefix(RATER)
    if not name or name.isdecimal() or f"{RATER}{name}" in fields_in_use:
        name = column.removeprefix(RATER)
    return f"{RATER}{name}"


def find_rater_columns(
    rows: Sequence[Row],
    names: Sequence[str],
    prompt: str,
    fits: Callable[[Iterable[str]], bool],
) -> dict[str, str]:
    """Return column -> ``rater:NAME`` where some columns look like the labels of raters; empty where none do.

    The names differ in one word or number (``label_ann``, ``label_bob``, ``label_cho``), say that they are labels or of
    people, and the columns hold the same labels. A word that the prompt names is rather a criterion than a rater.

    Args:
        rows: of the file.
        names: the columns that hold nothing else.
        prompt: the text that says what is judged.
        fits: tells whether labels are those that the prompt asks for.
    """
    prompt_words = {word.casefold() for word in _NAME_PART.findall(prompt)}
    largest: dict[str, str] = {}
    for stem, rater_of_column in _columns_by_stem(names, prompt_words).items():
        is_of_people = not PEOPLE_WORDS.isdisjoint(stem)
        if len(rater_of_column) < (_FEWEST_COLUMNS_OF_PEOPLE if is_of_people else _FEWEST_COLUMNS):
            continue
        if len(rater_of_column) > len(largest) and hold_same_labels(rows, list(rater_of_column), fits):
            largest = rater_of_column
    columns: dict[str, str] = {}
    for column, rater in largest.items():
        columns[column] = _rater_field(column, rater, columns.values())
    return columns


def _columns_by_stem(names: Sequence[str], prompt_words: set[str]) -> dict[tuple[str, ...], dict[str, str]]:
    """Return stem -> column -> the part in which it differs from the others with this stem, of columns of labels."""
    columns: defaultdict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for name in names:
        parts = _NAME_PART.findall(name)
        if given_by(name) == "model" or len(parts) < 2:
            continue
        for position, part in enumerate(parts):
            words = [word.casefold() for word in parts]
            words[position] = "*"
            # A number is a rater's, also where the prompt names it: it asks for a score from 1 to 5.
            is_rater = part.isdecimal() or part.casefold() not in prompt_words | _SETTLING_WORDS
            if is_rater and not (LABEL_WORDS | PEOPLE_WORDS).isdisjoint(words):
                columns[tuple(words)][name] = part
    return columns


def hold_same_labels(
    rows: Sequence[Row], names: Sequence[str], fits: Callable[[Iterable[str]], bool]
) -> bool:
    """Say whether columns hold labels, all from the same few or all numbers, which the prompt asks for."""
    all_labels: set[str] = set()
    labels_of_columns: list[set[str]] = []
    for name in names:
        counts = _rows_by_label(rows, name)
        if not counts or not are_labels(counts):
            return False
        labels_of_columns.append(set(counts))
        all_labels.update(counts)
    if not all(map(is_number, all_labels)):
        for labels in labels_of_columns:
            for other_labels in labels_of_columns:
                if labels.isdisjoint(other_labels):
                    return False
    return fits(all_labels)


def _rows_by_label(rows: Sequence[Mapping[str, object]], name: str) -> Counter[str]:
    """Return label -> number of rows of a column, in small letters, without labels that say nothing."""
    counts = Counter[str]()
    for row in rows:
        label = label_text(row.get(name)).casefold()
        if not is_silent(label):
            counts[label] += 1
    return counts


def raters_option(columns: Sequence[str], all_columns: Iterable[str]) -> str:
    """Return the option that names columns of raters: by a pattern that only they match, else one by one."""
    stem = re.sub(r"[^\W_]*$", "", columns[0])  # without its last word
    pattern = f"{stem}*"
    names = ",".join(columns)
    if stem and _matching_names(pattern, list(all_columns)) == list(columns):
        names = pattern
    return f"--raters {quote(names)}"
