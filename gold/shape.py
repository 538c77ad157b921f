"""What the columns of somebody's file are to a judge that is made for it: its inputs, the label, the group."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import GoldError, UsageError, choices
from .mapping import SILENT, has_column, plain
from .sources import read

_LABEL = ("label", "labels", "gold", "verdict", "human", "annotation", "rating", "score", "judgment", "grade")
_GROUP = re.compile(r"(conversation|chat|dialog(ue)?|session|thread|document|doc|trace|ticket|group)(id)?")
_MACHINE = {"gpt", "llm", "model", "judge", "auto", "machine", "predicted", "prediction"}
_ITEMS = 3  # of a list at most, where each is a column of its own
_MOST = 12  # different values that a column of labels has at most


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How a file is read: its columns by what they are to the judge, and the labels in it, the rarest last."""

    columns: Mapping[str, str]  # column -> input, ``label`` or ``group``
    labels: Sequence[str]  # as most rows spell each
    silent: Sequence[str]  # labels that say nothing


def shape_of(
    source: str | Path,
    inputs: Sequence[str],
    given: Mapping[str, str],
) -> Shape:
    """Find what each column of a file is to a prompt; ``given`` is column -> input, ``label`` or ``group``."""
    reading = read(source)
    rows = [dict(flat(row)) for _, row in reading.rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    wanted = (*inputs, "label", "group")
    for column, name in given.items():
        hint = choices(column, names) if name in wanted else choices(name, wanted)
        if name not in wanted:
            raise UsageError(f"--column {column}={name}: {name!r} is nothing of this judge", hint=hint)
        if not any(has_column(row, column) for _, row in reading.rows):
            raise GoldError("no row has this column", path=reading.path, field=column, hint=hint)
    counts = {name: Counter(_text(row.get(name)) for row in rows) for name in names}
    found = {name: column for column, name in given.items()}
    for name in wanted:
        free = [column for column in names if column not in found.values()]
        if name in found:
            continue
        if name == "label":
            few = {column: _spelled(counts[column]) for column in free}
            fits = _labels([column for column in free if 2 <= len(few[column]) <= min(_MOST, len(rows) // 2)])
        elif name == "group":
            last = {
                column: plain(column.rpartition(".")[2]) for column in free if len(counts[column]) < len(rows)
            }
            fits = [column for column, word in last.items() if _GROUP.fullmatch(word)]
        else:
            fits = _inputs(name, free)
        if not fits and name != "group":
            hint = f"say which: --column COLUMN={name}; there are {', '.join(free)}"
            raise GoldError(f"no column is clearly the {name}", path=reading.path, hint=hint)
        if fits:
            found[name] = fits[0]
    values = counts.get(found["label"], Counter())
    silent = sorted(text for text in values if text and plain(text) in SILENT)
    columns = {column: name for name, column in found.items()}
    return Shape(columns=columns, labels=_spelled(values), silent=silent)


def _inputs(name: str, columns: Sequence[str]) -> list[str]:
    """Return the columns that may be an input: those called so, or the only one with that word."""
    own = [column for column in columns if plain(column) == plain(name)]
    within = [column for column in columns if name.casefold() in _words(column)]
    return own or (within if len(within) == 1 else [])


def _labels(few: Sequence[str]) -> Sequence[str]:
    """Return the columns of few values that may be the label: of a usual name, people's first; else the only one."""
    people = [column for column in few if not _MACHINE & _words(column)] or few
    named = [column for usual in _LABEL for column in people if usual in plain(column)]
    return named or (few if len(few) == 1 else [])


def flat(row: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """Give what stands at each path of a row; of a list of a few, too, as ``outputs.0``."""
    for name, value in row.items():
        inner = value if isinstance(value, Mapping) else {}
        if isinstance(value, list) and len(value) <= _ITEMS:
            inner = {str(place): item for place, item in enumerate(value)}
        if inner:
            yield from flat(inner, f"{start}{name}.")
        else:
            yield f"{start}{name}", value


def _words(name: str) -> set[str]:
    """Return the words of a name: ``botResponse``, ``bot_response`` and ``Bot response`` have the same two."""
    return {word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip() if not isinstance(value, bool) else str(value).lower()


def _spelled(values: Mapping[str, int]) -> list[str]:
    """Return the labels among values, each as it is mostly spelled, the rarest last."""
    kinds: dict[str, Counter[str]] = {}
    for text, count in values.items():
        if plain(text) not in SILENT:
            kinds.setdefault(text.casefold(), Counter())[text] += count
    return [
        max(kind, key=lambda text: (kind[text], text.islower()))
        for kind in sorted(kinds.values(), key=lambda one: -one.total())
    ]


def scale_of(labels: Sequence[str]) -> str:
    """Return the usual scale of labels that are three numbers or more, as ``1-5``; empty if they are none."""
    if len(labels) < 3 or not all(re.fullmatch(r"\d+([.]\d+)?", one) for one in labels):
        return ""
    numbers = [float(one) for one in labels]
    if any(number % 1 for number in numbers):
        return "0.0-1.0" if max(numbers) <= 1 else f"{min(numbers)}-{max(numbers)}"
    high = next((end for end in (3, 5, 7, 10, 100) if end >= max(numbers)), int(max(numbers)))
    return f"{min(1, int(min(numbers)))}-{high}"


def sides(shape: Shape, pair: Sequence[str]) -> dict[str, str]:
    """Return what labels of a file say of a pair: the names of its inputs, of their columns, A and B, or a tie."""
    columns = {name: column for column, name in shape.columns.items()}
    words = dict.fromkeys(("both", "draw", "equal", "same", "neither"), "tie")
    for side, name, marks in (("first", pair[0], "a1"), ("second", pair[1], "b2")):
        kinds = ("", "model", "output", "response", "answer")
        own = (plain(name), plain(columns[name]), *(kind + mark for kind in kinds for mark in marks))
        words |= dict.fromkeys(own, side)
    meant = {label: words.get(plain(label), label) for label in shape.labels}
    return {label: side for label, side in meant.items() if side != label}
