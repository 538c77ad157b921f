"""The journal of the review page: one JSON line a label, on the disk before it counts, and never changed again.

A line names the case and the unit, who labelled, and what; an empty label takes an earlier one back. The first line of
a case holds its row, so that the file can be read as gold without any other; the last line of a rater on a unit counts.
"""

import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import GoldError, why
from .files import Place, Row

_FIELDS = {"case", "unit", "rater", "label"}


@dataclass(frozen=True, kw_only=True)
class Label:
    """What one rater said of one unit."""

    case: str  # the id of its case
    unit: int  # its place in the case, from 0
    rater: str  # the name
    label: str  # as it was given; empty if an earlier one is taken back
    category: str = ""  # why the unit is ambiguous; empty if it is not

    @property
    def key(self) -> tuple[str, int, str]:
        """Of the labels with the same one the last counts."""
        return self.case, self.unit, self.rater


def is_journal(row: Mapping[str, Any]) -> bool:
    """Say whether a row is a line of a journal."""
    return row.keys() >= _FIELDS and ("row" in row or "ambiguity" in row or len(row) == len(_FIELDS))


def label_of(row: Any, place: Place) -> Label:
    """Return the label in a line of a journal."""
    try:
        return Label(
            case=str(row["case"]),
            unit=row["unit"] - 1,
            rater=str(row["rater"]),
            label=str(row["label"]),
            category=str(row.get("ambiguity") or ""),
        )
    except (KeyError, TypeError) as error:
        hint = "name a new file, or one that jurist review wrote"
        raise place.wrong("not a line of a review", hint=hint) from error


class LabelJournal:
    """The labels of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.Lock()
        self._labels: dict[tuple[str, int, str], Label] = {}
        if path.exists():
            self._read()

    def _read(self) -> None:
        try:
            data = self.path.read_bytes()
            whole = data.rfind(b"\n") + 1
            if whole != len(data):  # torn by a kill in the middle of a line, which was never said to be saved
                os.truncate(self.path, whole)
        except OSError as error:
            raise GoldError(f"it cannot be read: {why(error)}", path=str(self.path)) from error
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            label = label_of(row, Place(str(self.path), number))
            self._labels[label.key] = label

    def add(self, label: Label, row: Mapping[str, Any], group: str) -> None:
        """Write a label; it is on the disk when this returns."""
        line: Row = {"case": label.case, "unit": label.unit + 1, "rater": label.rater, "label": label.label}
        if label.category:
            line["ambiguity"] = label.category
        with self._guard:
            if all(case != label.case for case, _, _ in self._labels):
                line |= {"group": group, "row": dict(row)}
            text = json.dumps(line, ensure_ascii=False) + "\n"
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("ab") as file:
                    file.write(text.encode("utf-8", "surrogatepass"))
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise GoldError(f"it cannot be written: {why(error)}", path=str(self.path)) from error
            self._labels[label.key] = label

    def labels(self) -> Sequence[Label]:
        """Return what counts: the last of each rater on each unit, unless it was taken back."""
        with self._guard:
            return [one for one in self._labels.values() if one.label or one.category]
