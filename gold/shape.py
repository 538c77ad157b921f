"""What the columns of somebody's file are to a judge that is made for it: its inputs, the label, the group."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from ..errors import GoldError, UsageError, choices
from ..evaluation.closed_labels import SHORT
from ..programs.answers.labels import Preference
from ..text.turns import as_text
from ..text.wording import plain
from .mapping import has_column, is_silent, rows_within
from .rows import is_rating
from .sources import read

_LABEL = (
    *("label", "labels", "gold", "verdict", "human", "annotation", "rating", "score", "judgment", "grade"),
    *("decision", "class", "target", "winner", "preference"),
)
_GROUP = re.compile(r"(conv(ersation)?|chat|dialog(ue)?|session|thread|document|doc|trace|ticket|group)(id)?")
_SIDE = re.compile(
    r"^(model|response|answer|reply|output|option|assistant|conversation)(?=[ab]$)|^tie(?=both)|bad$"
)
_MERGE = "leave --gold out, say --labels or --score, and merge what raters said with jurist gold import"
_CHOICE = Preference.columns
_ITEMS = 3  # of a list at most, where each is a column of its own


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How a file is read: its columns by what they are to the judge, and the labels in it, the rarest last."""

    columns: Mapping[str, str]  # column -> input, ``label`` or ``group``
    labels: Sequence[str]  # as most rows spell each
    silent: Sequence[str]  # labels that say nothing
    pair: Sequence[str]  # the two inputs that ``chosen`` and ``rejected`` are, if they are columns


def shape_of(source: str | Path, inputs: Sequence[str], named: Mapping[str, str]) -> Shape:
    """Find the columns of a prompt by their names; ``named`` is column -> input, ``label`` or ``group``."""
    reading = read(source)
    items = [item for _, row in reading.rows for item in rows_within(row, named)]
    rows = [dict(flat(item)) for item in items]
    names = list(dict.fromkeys(name for row in rows for name in row))
    have = {*named.values(), *map(plain, names)}
    wanted = (*inputs, "label", "group")
    pair = [name for name in inputs if not have & {name, plain(name)}] if have.issuperset(_CHOICE) else []
    if pair and len(pair) == len(_CHOICE):
        wanted = (*(name for name in inputs if name not in pair), *_CHOICE, "group")
    for column, name in named.items():
        hint = choices(column, names) if name in wanted else choices(name, wanted)
        if name == "rater" or is_rating(name):
            hint = _MERGE
        if name not in wanted:
            raise UsageError(f"--column {column}={name}: {name!r} is nothing of this judge", hint=hint)
        if not any(has_column(item, column) for item in items):
            raise GoldError("no row has this column", path=reading.path, field=column, hint=hint)
    columns, unclear = dict(named), list[str]()
    last = {name: plain(name.rpartition(".")[2]) for name in names}
    for name in wanted:
        free = [column for column in names if column not in columns]
        if name in columns.values():
            continue
        if name == "label":
            fits = [column for usual in _LABEL for column in free if last[column] == usual]
        elif name == "group":
            fits = [column for column in free if _GROUP.fullmatch(last[column])]
        else:
            fits = [column for column in free if plain(column) == plain(name)]
        if fits:
            columns[fits[0]] = name
        elif name != "group":
            unclear.append(name)
    if unclear:
        missing = " ".join(f"--column COLUMN={name}" for name in unclear)
        hint = f"say which: {missing}; there are {', '.join(one for one in names if one not in columns) or 'no others'}"
        if unclear == ["label"] and any(one.startswith("ratings.") or is_rating(one) for one in names):
            hint = _MERGE
        if "label" in unclear and have.issuperset(_CHOICE):
            hint = "leave just two inputs without a column, for chosen and rejected: --column COLUMN=INPUT for others"
        raise GoldError(f"no column is clearly the {' or the '.join(unclear)}", path=reading.path, hint=hint)
    labels = [column for column, name in columns.items() if name == "label"][:1]
    labels_read = [row.get(label) for label in labels for row in rows]
    values = Counter(str(as_text(value)).strip() for value in labels_read if value is not None)
    silent = sorted(text for text in values if text and is_silent(text))
    return Shape(columns=columns, labels=_spelled(values), silent=silent, pair=pair)


def flat(row: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """Give what stands at each path of a row; of a list of a few, too, as ``outputs.0``."""
    for name, value in row.items():
        inner = value if isinstance(value, Mapping) else {}
        if isinstance(value, list) and len(value) <= _ITEMS and as_text(value) is value:
            inner = {str(place): item for place, item in enumerate(value)}
        if inner:
            yield from flat(inner, f"{start}{name}.")
        else:
            yield f"{start}{name}", value


def _spelled(values: Mapping[str, int]) -> list[str]:
    """Return the labels among values, each as it is mostly spelled, the rarest last; y is yes where both occur."""
    folded = {text.casefold() for text in values}
    kinds: dict[str, Counter[str]] = {}
    for text, count in values.items():
        if not is_silent(text):
            kind = SHORT.get(text.casefold())
            kinds.setdefault(kind if kind and kind in folded else text.casefold(), Counter())[text] += count
    return [
        max(kind, key=lambda text: (len(text) > 1, kind[text], text.islower()))
        for kind in sorted(kinds.values(), key=lambda kind: -kind.total())
    ]


def scale_of(labels: Sequence[str]) -> str:
    """Return the usual scale of labels that are three numbers or more, as ``1-5``; empty if they are none."""
    if len(labels) < 3 or not all(re.fullmatch(r"\d+([.,]\d+)?", label) for label in labels):
        return ""
    numbers = [float(label.replace(",", ".")) for label in labels]
    if any(number % 1 for number in numbers):
        return "0.0-1.0" if max(numbers) <= 1 else f"{min(numbers)}-{max(numbers)}"
    high = next((end for end in (3, 5, 7, 10, 100) if end >= max(numbers)), int(max(numbers)))
    return f"{min(1, int(min(numbers)))}-{high}"


def sides(shape: Shape, pair: Sequence[str], named: Mapping[str, str]) -> dict[str, str]:
    """Return what labels of a file say of a pair: its inputs' names, A and B, or both; ``named`` goes before."""
    words = {plain(pair[0]): "first", plain(pair[1]): "second", "a": "first", "b": "second", "both": "tie"}
    known = {*map(str.casefold, named), "first", "second", "tie"}
    own = [label for label in shape.labels if label.casefold() not in known]
    # Chatbot Arena has model_a, tie (bothbad) and the like
    texts = {label: _SIDE.sub("", plain(label)) for label in own}
    meanings = {label: words[text] for label, text in texts.items() if text in words}
    if unread := [label for label in own if label not in meanings]:
        hint = f"say what each means: --map {quote(unread[0])}=first (or second, or tie; nothing after =: no label)"
        raise UsageError(f"the labels {', '.join(unread)} do not say which of the two is better", hint=hint)
    return meanings
