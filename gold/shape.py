"""What the columns of somebody's file are to a judge that is made for it: its inputs, the label, the group."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from shlex import quote

from ..errors import GoldError, UsageError, choices
from ..evaluation.closed_labels import SHORT
from ..programs.answers.labels import Preference
from ..text.wording import plain
from .columns import (
    choose_label_column,
    find_columns,
    fits_prompt,
    is_number,
    is_silent,
    label_candidates,
    label_text,
)
from .files import Row
from .paths import flat, has_column, read_path, rows_within
from .rows import is_rating
from .sources import read

_GROUP = re.compile(r"(conv(ersation)?|chat|dialog(ue)?|session|thread|document|doc|trace|ticket|group)(id)?")
_SIDE = re.compile(
    r"^(model|response|answer|reply|output|option|assistant|conversation)(?=[ab]$)|^tie(?=both)|bad$"
)
_CHOICE = Preference.columns
_SIDE_WORDS = {"a": "b", "1": "2", "first": "second", "left": "right"}
"""What tells the two inputs of a pair apart."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How a file is read: its columns by what they are to the judge, and the labels in it, the rarest last."""

    columns: Mapping[str, str]  # column -> input, ``label`` or ``group``
    labels: Sequence[str]  # as most rows spell each
    silent: Sequence[str]  # labels that say nothing
    pair: Sequence[str]  # the two inputs that ``chosen`` and ``rejected`` are, if they are columns
    rated: bool = (
        False  # whether the labels are ratings of several people, which are no gold before they are merged
    )


def shape_of(
    source: str | Path,
    inputs: Sequence[str],
    named: Mapping[str, str],
    prompt: str | None = None,
    compared: Sequence[str] = (),
) -> Shape:
    """Find the columns of a prompt by their names.

    Args:
        source: the labelled rows.
        inputs: the inputs of the prompt.
        named: column -> input, ``label``, ``group``, ``rater`` or ``rater:NAME``, as the user says it.
        prompt: the text that says which labels there are: of the prompt, and of options.
        compared: the two inputs of which the judge prefers one; empty for other judges.
    """

    def fits(labels: Iterable[str]) -> bool:
        if prompt is None or fits_prompt(labels, prompt):
            return True
        return any(_side_named(label, compared) for label in labels)

    reading = read(source)
    items: list[Row] = []
    for place, row in reading.rows:
        items += rows_within(row, named, place)
    rows = [dict(flat(item)) for item in items]
    names = list(dict.fromkeys(name for row in rows for name in row))
    pair = _pair_of(inputs, named, names)
    wanted = (*inputs, "label", "group")
    if pair:
        wanted = (*(name for name in inputs if name not in pair), *_CHOICE, "group")
    _check_named(named, wanted, items, names, reading.path)

    columns = dict(named)
    unclear: list[str] = []
    free = [name for name in names if name not in columns]
    columns |= find_columns(free, [name for name in wanted if name not in columns.values()])
    columns |= {name: name for name in wanted if name in free and name not in columns.values()}
    for name in wanted:
        if name in columns.values() or name == "label":
            continue
        if name == "group":
            for path in free:
                if path not in columns and _GROUP.fullmatch(plain(path.rpartition(".")[2])):
                    columns[path] = name
                    break
        else:
            unclear.append(name)
    ratings = [name for name in (*named, *names) if _is_of_rater(named.get(name, name))]
    candidates = None
    if "label" in wanted and "label" not in named.values():
        columns = {column: name for column, name in columns.items() if name != "label"}
        candidates = label_candidates(rows, names, (*columns, *ratings))
        if ratings:  # what raters said is there: a model's column raises no question
            candidates = [candidate for candidate in candidates if candidate.giver != "model"]
        if not candidates and not ratings:
            unclear.append("label")
    if unclear:
        raise _no_clear_columns(unclear, columns, names, reading.path)
    if candidates:
        columns[choose_label_column(candidates, reading.path, fits)] = "label"

    labels = [column for column, name in columns.items() if name == "label"][:1]
    values = Counter[str]()
    for item in items:
        for label in labels or dict.fromkeys(ratings):
            values[label_text(read_path(item, label))] += 1
    silent = sorted(text for text in values if text and is_silent(text))
    rated = "rater" in columns.values() or (not labels and bool(ratings))
    return Shape(columns=columns, labels=label_spellings(values), silent=silent, pair=pair, rated=rated)


def _is_of_rater(name: str) -> bool:
    """Whether a column, or a path, holds what one rater said."""
    return is_rating(name) or name.startswith("ratings.")


def _pair_of(inputs: Sequence[str], named: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Return the two inputs that ``chosen`` and ``rejected`` are, where those are columns and the inputs are none."""
    have = {*named.values(), *map(plain, names)}
    if not have.issuperset(_CHOICE):
        return []
    pair = [name for name in inputs if name not in have and plain(name) not in have]
    return pair if len(pair) == len(_CHOICE) else []


def _check_named(
    named: Mapping[str, str], wanted: Sequence[str], items: Sequence[Row], names: Sequence[str], path: str
) -> None:
    """Refuse columns that the user names for nothing of the judge, and those that no row has."""
    for column, name in named.items():
        of_rater = name == "rater" or is_rating(name)
        hint = choices(column, names) if name in wanted or of_rater else choices(name, wanted)
        if name not in wanted and not of_rater:
            raise UsageError(f"--column {column}={name}: {name!r} is nothing of this judge", hint=hint)
        if not any(has_column(item, column) for item in items):
            raise GoldError("no row has this column", path=path, field=column, hint=hint)


def _no_clear_columns(
    unclear: Sequence[str], columns: Mapping[str, str], names: Sequence[str], path: str
) -> GoldError:
    """Return the error for fields of which no column is called so."""
    missing = " ".join(f"--column COLUMN={name}" for name in unclear)
    others = ", ".join(name for name in names if name not in columns) or "no others"
    hint = f"say which: {missing}; there are {others}"
    if "label" in unclear and {*columns.values(), *map(plain, names)}.issuperset(_CHOICE):
        hint = "leave just two inputs without a column, for chosen and rejected: --column COLUMN=INPUT for others"
    return GoldError(f"no column is clearly the {' or the '.join(unclear)}", path=path, hint=hint)


def label_spellings(counts: Mapping[str, int]) -> list[str]:
    """Return each label in its most frequent spelling, rarest label last; "y" is "yes" where the file has both."""
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
    by_frequency = sorted(spellings.values(), key=Counter.total, reverse=True)
    return [_preferred_spelling(spelling) for spelling in by_frequency]


def _preferred_spelling(spelling: Counter[str]) -> str:
    """Return the spelling that most rows have: a word before its first letter, small letters before capitals."""
    return max(spelling, key=lambda text: (len(text) > 1, spelling[text], text.islower()))


def scale_of(labels: Sequence[str]) -> str:
    """Return the usual scale of labels that are three numbers or more, as ``1-5``; empty if they are none."""
    if len(labels) < 3 or not all(is_number(label) for label in labels):
        return ""
    numbers = [float(label.replace(",", ".")) for label in labels]
    low, high = min(numbers), max(numbers)
    if low < 0:
        return f"{low:g}-{high:g}" if all(number.is_integer() for number in numbers) else f"{low}-{high}"
    if not all(number.is_integer() for number in numbers):
        if high <= 1:
            return "0.0-1.0"
        return f"{_low_end(low):.1f}-{_high_end(low, high):.1f}"
    return f"{_low_end(low):.0f}-{_high_end(low, high):.0f}"


def _low_end(low: float) -> float:
    """Return where a scale begins that has this lowest value: at 0 or at 1."""
    return 0.0 if low < 1 else 1.0


def _high_end(low: float, high: float) -> float:
    """Return where a scale ends that has these lowest and highest values: at the next usual end."""
    ends = (3, 5, 7, 10, 100) if low >= 1 else (2, 3, 4, 5, 7, 10, 100)
    return next((float(end) for end in ends if end >= high), high)


def sides_by_number(labels: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Return the two inputs that numbers up to 2 may be a preference between; none where they are no such numbers."""
    if not labels or not set(labels) <= {"0", "1", "2"}:
        return []
    for first, second in pairwise(inputs):
        if any(_differ_by(first, second, one, other) for one, other in _SIDE_WORDS.items()):
            return [first, second]
    return []


def _differ_by(first: str, second: str, one: str, other: str) -> bool:
    """Whether two names are the same but for a word: ``answer_a`` and ``answer_b``."""
    parts, others = first.casefold().split("_"), second.casefold().split("_")
    differing = [pair for pair in zip(parts, others, strict=False) if pair[0] != pair[1]]
    if len(parts) == len(others) and differing == [(one, other)]:
        return True
    return plain(first).removesuffix(one) == plain(second).removesuffix(other) != plain(first)


def sides(shape: Shape, pair: Sequence[str], named: Mapping[str, str]) -> dict[str, str]:
    """Return what labels of a file say of a pair: its inputs' names, A and B, or both; ``named`` goes before."""
    named_labels = {*map(str.casefold, named), "first", "second", "tie"}
    meanings: dict[str, str] = {}
    unread: list[str] = []
    for label in shape.labels:
        if label.casefold() in named_labels:
            continue
        side = _side_named(label, pair)
        if side:
            meanings[label] = side
        else:
            unread.append(label)
    if unread:
        hint = f"say what each means: --map {quote(unread[0])}=first (or second, or tie; nothing after =: no label)"
        raise UsageError(f"the labels {', '.join(unread)} do not say which of the two is better", hint=hint)
    return meanings


def _side_named(label: str, pair: Sequence[str]) -> str:
    """Return which input of a pair a label prefers: ``first``, ``second`` or ``tie``; empty if it names none."""
    if len(pair) != 2:
        return ""
    words = {plain(pair[0]): "first", plain(pair[1]): "second", "a": "first", "b": "second", "both": "tie"}
    words |= {"first": "first", "second": "second", "tie": "tie"}
    # Chatbot Arena has model_a, tie (bothbad) and the like
    return words.get(_SIDE.sub("", plain(label)), "")
