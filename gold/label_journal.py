"""The journal of the review page: one JSON line a label, on the disk before it counts, and never changed again.

The first line of a case holds its row; the last line of a rater on a unit counts, and an empty label takes it back.
"""

import json
import os
import threading
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pydantic

from ..errors import GoldError, system_message
from .files import Place
from .writing import json_text


class JournalLabel(pydantic.BaseModel, frozen=True, extra="forbid"):
    """One rater's label of one unit: a line of the journal."""

    case: str  # the id of its case
    unit: int  # its place in the case, from 1
    rater: str  # the name
    label: str  # as it was given; empty if there is none, or an earlier one is taken back
    ambiguity: str = ""  # why the unit is ambiguous; empty if it is not
    reason: str = ""  # why the label is right, in the rater's words
    skipped: bool = False  # the rater left it for later
    # this line undoes the last label of the unit; its ``label`` is the one that counts again
    undo: bool = False
    request: str = ""  # the name of the request that gave it, so that it is kept once
    group: str = ""
    row: dict[str, Any] = {}  # of the case, without labels

    @property
    def unit_name(self) -> str:
        """The name of the unit: the id of its case and its number, as ``CASE:1``."""
        return f"{self.case}:{self.unit}"

    @property
    def key(self) -> tuple[str, int, str]:
        """The unit and the rater; of several labels with one key the last counts."""
        return self.case, self.unit, self.rater


def read_label(line: Mapping[str, Any] | bytes, place: Place) -> JournalLabel:
    """Return the label in a line of a journal.

    Raises:
        GoldError: it is no such line.
    """
    try:
        if isinstance(line, bytes):
            # not by pydantic's own reader, which knows no halves of characters
            line = json.loads(line)
        return JournalLabel.model_validate(line)
    except ValueError as error:
        hint = "name a new file, or one that jurist review wrote"
        raise place.wrong("not a line of a review", hint=hint) from error


class LabelJournal:
    """The labels of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.RLock()
        # by rater, without undone labels
        self._histories: defaultdict[str, list[JournalLabel]] = defaultdict(list)
        self._cases: set[str] = set()
        self._requests: set[str] = set()
        if path.exists():
            self._read()

    def _read(self) -> None:
        """Read the file, and cut off a line that was torn by a kill: it was never said to be saved."""
        try:
            data = self.path.read_bytes()
            size = data.rfind(b"\n") + 1
            if size != len(data):
                os.truncate(self.path, size)
        except OSError as error:
            raise GoldError(f"it cannot be read: {system_message(error)}", path=str(self.path)) from error
        for number, line in enumerate(data[:size].splitlines(), 1):
            self._take_in(read_label(line, Place(str(self.path), number)))

    def _take_in(self, label: JournalLabel) -> None:
        """Add the label of a line to the history of its rater, or remove the label that the line undoes."""
        history = self._histories[label.rater]
        if label.undo:
            undone = _find_last(history, label.key)
            if undone is not None:
                del history[undone]
        else:
            history.append(label)
        self._cases.add(label.case)
        self._requests.add(label.request)

    def add(self, label: JournalLabel, row: Mapping[str, Any], group: str) -> None:
        """Write a label, once for each request that has a name; it is on the disk when this returns."""
        with self._guard:
            if label.request and label.request in self._requests:
                return  # it was saved, and the answer was lost
            if label.case not in self._cases:
                label = label.model_copy(update={"group": group, "row": dict(row)})
            line = (json_text(label.model_dump(exclude_defaults=True)) + "\n").encode()
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("ab", buffering=0) as file:
                    size = file.tell()
                    if file.write(line) < len(line):  # the disk is full; half a line would spoil the next one
                        file.truncate(size)
                        raise OSError(ENOSPC, os.strerror(ENOSPC))
                    os.fsync(file.fileno())
            except OSError as error:
                raise GoldError(
                    f"it cannot be written: {system_message(error)}", path=str(self.path)
                ) from error
            self._take_in(label)

    def undo(self, rater: str, request: str = "", unit_names: Container[str] | None = None) -> None:
        """Take a rater's last label of some units back: the rater's label of the unit before it stands again.

        Args:
            rater: who gave the label.
            request: the name of the request.
            unit_names: the units, as :attr:`JournalLabel.unit_name` names them; default: all.
        """
        with self._guard:
            labels: list[JournalLabel] = []
            for label in self._histories.get(rater, ()):
                if unit_names is None or label.unit_name in unit_names:
                    labels.append(label)
            if not labels:
                return
            last = labels.pop()
            earlier = _find_last(labels, last.key)
            if earlier is None:
                valid_label = JournalLabel(case=last.case, unit=last.unit, rater=rater, label="")
            else:
                valid_label = labels[earlier]
            self.add(valid_label.model_copy(update={"request": request, "undo": True}), {}, "")

    def history(self, rater: str) -> Sequence[JournalLabel]:
        """Return the labels that a rater gave and did not undo, in order; the last of each unit counts."""
        with self._guard:
            return list(self._histories.get(rater, ()))

    def labels(self) -> Sequence[JournalLabel]:
        """Return the valid labels: the last of each rater on each unit, unless it was taken back."""
        last_labels: dict[tuple[str, int, str], JournalLabel] = {}
        with self._guard:
            for history in self._histories.values():
                for label in history:
                    last_labels[label.key] = label
        valid_labels: list[JournalLabel] = []
        for label in last_labels.values():
            if label.label or label.ambiguity:
                valid_labels.append(label)
        return valid_labels


def _find_last(labels: Sequence[JournalLabel], key: tuple[str, int, str]) -> int | None:
    """Return the place of the last label with a key; ``None`` without one."""
    for place in reversed(range(len(labels))):
        if labels[place].key == key:
            return place
    return None
