"""Gold sets: labelled cases with their card, read from anywhere, checked, split and written.

A gold set is refused as a whole when any row of it is wrong: a judge compiled
on half of a file would be proved on the wrong thing. It knows nothing of models.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cases import Case, text_hash
from .errors import GoldError
from .leaks import check_leaks
from .reading.goldrows import canonical_row, label_keys, make_case, prepared
from .reading.readers import Reading, bundled_names, read
from .reading.rowfiles import Row
from .splits import PARTS, Split, split_gold

if TYPE_CHECKING:
    from .programs.judge import Judge

__all__ = [
    "Gold",
    "Split",
    "bundled_names",
    "check_leaks",
    "describe",
    "import_gold",
    "write_jsonl",
    "write_split",
]


@dataclass(frozen=True, kw_only=True)
class Gold:
    """A gold set.

    Attributes:
        name: a short name for cards and reports.
        judge: whose cases they are.
        cases: in the order of the source; no two with equal inputs.
        source: where it was read from, as the user named it.
        card: source, licence, how labelled, by how many raters; empty if there is none.
        rows: case id -> the row it was read from.
        skipped: rows left out because they carry no label.
        merged: rows left out because an equal row came before.
    """

    name: str
    judge: Judge = field(repr=False)
    cases: tuple[Case, ...] = field(repr=False)
    source: str = ""
    card: Mapping[str, Any] = field(default_factory=dict, repr=False)
    rows: Mapping[str, Row] = field(default_factory=dict, repr=False)
    skipped: int = 0
    merged: int = 0

    @cached_property
    def sha256(self) -> str:
        """The hash of ids, groups and gold labels, in any order of rows and from any file format."""
        content = sorted([case.id, case.group, list(case.gold or ())] for case in self.cases)
        return text_hash(json.dumps(content, ensure_ascii=False, separators=(",", ":")))

    @classmethod
    def load(cls, source: str | Path, judge: Judge, *, labelled: bool = True) -> Gold:
        """Read and check a gold set.

        Args:
            source: see :func:`jurist.readers.read`.
            judge: whose rows they are.
            labelled: True leaves out rows without any label and demands both classes;
                False is for new data, where labels are optional.

        Raises:
            GoldError: the source or one of its rows cannot be used, with file, line and field.
        """
        return _build(read(source), judge, str(source), labelled)

    @classmethod
    def of(
        cls, rows: Iterable[Mapping[str, Any]], judge: Judge, name: str = "rows", *, labelled: bool = True
    ) -> Gold:
        """Make a gold set from rows in Python; messages count them from 1.

        Raises:
            GoldError: a row cannot be used, or there is none.
        """
        numbered = [(number, dict(row)) for number, row in enumerate(rows, 1)]
        return _build(Reading(name=name, path=name, rows=numbered), judge, name, labelled)

    def split(self, seed: int, shares: tuple[float, float, float] = (0.5, 0.2, 0.3)) -> Split:
        """Split by group into train, dev and test.

        The part of a group depends on seed and group alone: adding rows never moves a case.

        Raises:
            UsageError: the shares are not three positive numbers with the sum 1.
            GoldError: a part would come out empty or without one of the classes.
        """
        return split_gold(self, seed, shares)


def describe(gold: Gold) -> dict[str, Any]:
    """Return what a gold set holds, as JSON values.

    ``cases``, ``groups`` and ``units`` are counts, ``labels`` counts units by label, ``unlabelled``
    counts units without a label, ``positive`` is the positive share of the labelled units (None if there
    are none), ``raters`` counts the cases each rater rated, ``skipped`` and ``merged`` count rows left out.
    """
    judge = gold.judge
    units = [
        label
        for case in gold.cases
        for label in (case.gold or (None,) * len(judge.answer_shape.units(case.inputs)))
    ]
    counts = Counter(label for label in units if label is not None)
    total = sum(counts.values())
    raters = Counter(rater for case in gold.cases for rater in case.ratings)
    return {
        "name": gold.name,
        "source": gold.source,
        "sha256": gold.sha256,
        "judge": judge.name,
        "cases": len(gold.cases),
        "groups": len({case.group for case in gold.cases}),
        "units": len(units),
        "labels": {label: counts[label] for label in judge.labels},
        "unlabelled": len(units) - total,
        "positive": sum(counts[label] for label in judge.positive) / total if total else None,
        "raters": dict(sorted(raters.items())),
        "skipped": gold.skipped,
        "merged": gold.merged,
    }


def import_gold(source: str | Path, judge: Judge, path: str | Path, *, labelled: bool = True) -> Gold:
    """Read any source and write it as canonical JSONL: the judge's own fields, groups and ratings.

    Reading the file gives a gold set with the same ``sha256``.

    Raises:
        GoldError: the source cannot be used, or the file cannot be written.
    """
    gold = Gold.load(source, judge, labelled=labelled)
    write_jsonl((canonical_row(judge, gold.rows[case.id], case) for case in gold.cases), path)
    return gold


def write_split(split: Split, folder: str | Path) -> None:
    """Write ``train.jsonl``, ``dev.jsonl``, ``test.jsonl`` and ``split.json`` into a folder.

    ``split.json`` holds the seed, the shares, the number of cases of each part and the test hash.

    Raises:
        GoldError: a file cannot be written.
    """
    place = Path(folder)
    for name in PARTS:
        cases = split.part(name)
        write_jsonl(
            (canonical_row(split.judge, split.rows[case.id], case) for case in cases), place / f"{name}.jsonl"
        )
    sizes = {name: len(split.part(name)) for name in PARTS}
    about = {"seed": split.seed, "shares": list(split.shares), "sizes": sizes, "test_hash": split.test_hash}
    _write(json.dumps(about, indent=2, sort_keys=True) + "\n", place / "split.json")


def write_jsonl(rows: Iterable[Mapping[str, Any]], path: str | Path) -> int:
    """Write rows as JSONL in UTF-8, whole or not at all, and return how many there are.

    Raises:
        GoldError: the file cannot be written.
    """
    lines = [_line(row) for row in rows]
    _write("".join(lines), Path(path))
    return len(lines)


def _line(row: Mapping[str, Any]) -> str:
    text = json.dumps(dict(row), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can carry
        text = json.dumps(dict(row))
    return text + "\n"


def _write(text: str, path: Path) -> None:
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        hint = "name a file in a folder that can be written"
        raise GoldError(f"cannot write: {error.strerror or error}", path=str(path), hint=hint) from error


def _build(reading: Reading, judge: Judge, source: str, labelled: bool) -> Gold:
    if not reading.rows:
        raise GoldError("there are no rows", path=reading.path, hint="give at least one row")
    found: dict[str, tuple[Case, Row]] = {}
    skipped = merged = 0
    for number, (line, raw) in enumerate(reading.rows):
        row = prepared(judge, raw, reading.kind)
        if number in reading.second:
            row = _with_second(judge, row, reading, number)
        case = make_case(judge, row, path=reading.path, line=line)
        if labelled and not _labels([case]):
            skipped += 1
        elif case.id in found:
            merged += 1
            found[case.id] = _merged(found[case.id], (case, row))
        else:
            found[case.id] = case, row
    gold = Gold(
        name=reading.name,
        judge=judge,
        cases=tuple(case for case, _ in found.values()),
        source=source,
        card=reading.card,
        rows={key: row for key, (_, row) in found.items()},
        skipped=skipped,
        merged=merged,
    )
    if labelled:
        _check_classes(gold, reading.path)
    return gold


def _labels(cases: Iterable[Case]) -> set[str]:
    return {label for case in cases for label in case.gold or () if label is not None}


def _with_second(judge: Judge, row: Row, reading: Reading, number: int) -> Row:
    """Return the row with the ratings ``first`` (its own labels) and ``second`` (the second rater's)."""
    line, other = reading.second[number]
    keys, ratings = label_keys(judge), row.get("ratings", {})
    if not isinstance(ratings, Mapping):
        return row  # reading the row will say so
    rated = next((key for key in keys if key in other), None)
    if rated is None:
        names = " or ".join(repr(key) for key in keys) or "the labels"
        hint = f"write the row's number and {names}, as in gold.jsonl"
        raise GoldError(
            "the second rater's labels are missing", path=reading.second_path, line=line, hint=hint
        )
    # read it once by itself, so that a fault is reported in the second rater's file
    second = prepared(judge, {**row, keys[0]: other[rated]})
    make_case(judge, {k: v for k, v in second.items() if k != "ratings"}, path=reading.second_path, line=line)
    own = next((row[key] for key in keys if key in row), None)
    pair = {"first": own, "second": second[keys[0]], **ratings}
    return {**row, "ratings": {rater: value for rater, value in pair.items() if value is not None}}


def _merged(first: tuple[Case, Row], again: tuple[Case, Row]) -> tuple[Case, Row]:
    """Return the one case, with its row, for two rows with equal inputs."""
    (one, _), (two, _) = first, again
    places = f"{one.source} and {two.source}"
    if one.gold != two.gold and None not in (one.gold, two.gold):
        raise GoldError(
            f"{places} have equal inputs and different labels ({_shown(one)} and {_shown(two)})",
            hint="decide on one label, and keep the other rater's under ratings",
        )
    if one.group != two.group:
        raise GoldError(
            f"{places} have equal inputs and different groups ({one.group!r} and {two.group!r})",
            hint="give both the same group",
        )
    (case, row), (other, other_row) = (first, again) if one.gold is not None else (again, first)
    if not other.ratings:
        return case, row
    row = {**row, "ratings": {**other_row["ratings"], **row.get("ratings", {})}}
    return replace(case, ratings={**other.ratings, **case.ratings}), row


def _shown(case: Case) -> str:
    return ", ".join(str(label) for label in case.gold or ())[:60]


def _check_classes(gold: Gold, path: str) -> None:
    labels = _labels(gold.cases)
    judge = gold.judge
    if not labels:
        key = (label_keys(judge) or [judge.answer_shape.field])[0]
        raise GoldError(
            f"none of the {gold.skipped} rows has a label",
            path=path,
            field=key,
            hint=f"add the column {key!r} with one of: {', '.join(judge.labels)}",
        )
    for missing, kind in ((judge.positive, "positive"), (judge.negative, "negative")):
        if not labels & missing:
            raise GoldError(
                f"all labels are {' or '.join(sorted(labels))}: there is no {kind} one",
                path=path,
                hint=f"add rows labelled {' or '.join(sorted(missing))}",
            )
