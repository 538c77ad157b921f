"""The ledger of openings of sealed rows, a file of the user's.

Scoring a prompt on a row for a choice or a proof opens the row, unless the prompt was scored on it before: trying the
same prompt again selects nothing. The ledger holds hashes and no text, one opening a line.

A row is recognised by any of its own texts, compared by letters and digits alone: by long texts that at most two rows
of its set have, and by all of its texts together.

Two labellings ask the same question if one tells at least half of the other's information (mutual information over the
smaller entropy), on the rows that both have. So renamed, merged and a few corrected labels are no other question, as
they would be by a hash. Where rows are too few to tell, the question is the same.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import orjson
import scipy

from ..cases import Case, Value, text_hash
from ..keeping.trust import to_stderr
from ..text.files import data_file
from ..text.ranking import folded
from ..text.wording import strings

_MAX_ROWS = 2  # a text that more rows of a set have identifies none of them
_MIN_LENGTH = 20  # a shorter text (letters and digits) alone identifies no row
_SHARED_INFORMATION = 0.5  # labellings of the same question share at least this part of the smaller entropy
_UNLABELLED = -1  # the number of a label that nobody gave


@dataclass(frozen=True, kw_only=True)
class Opened:
    """The openings of one row."""

    openings: int  # how often it has been opened; 0 if it is not sealed
    # which opening scoring it with certain prompts is: the one in which the last of them was tried on it,
    # or the next one
    number: int


class _Mark(NamedTuple):
    """The marks of a row in the ledger: hashes of its identity, and its labels by their numbers in its set."""

    texts: Sequence[str]
    labels: Sequence[int]


class _Line(NamedTuple):
    """One opening: the prompts that were tried, and on which set of rows."""

    prompts: frozenset[str]
    rows: str
    marks: Sequence[_Mark]


_LabelPairs: TypeAlias = Sequence[tuple[Sequence[int], Sequence[int]]]
"""For each row that the ledger has: its labels in the ledger, and its labels now."""


@dataclass(frozen=True)
class Openings:
    """The openings that are in the ledger."""

    path: Path = field(default_factory=lambda: data_file("openings.jsonl"))

    def of(self, cases: Sequence[Case], prompts: Collection[str] = ()) -> tuple[Opened, ...]:
        """Return the openings of each row, and the number of the one in which these prompts are scored on it."""
        lines = self._read_lines()
        if not lines or not cases:
            return (Opened(openings=0, number=1),) * len(cases)
        prompts_by_row = _find_tried_prompts(lines, _mark_rows(cases))
        openings: list[Opened] = []
        for prompts_of_row in prompts_by_row:
            openings.append(_number_openings(prompts_of_row, frozenset(prompts)))
        return tuple(openings)

    def note(self, what: str, cases: Sequence[Case], prompts: Collection[str] = ()) -> None:
        """Add an opening of these rows, before anything of it is shown."""
        marks = _mark_rows(cases)
        rows = hashlib.sha256(json.dumps(marks).encode("utf-8")).hexdigest()[:16]
        line: dict[str, object] = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "what": what,
            "prompts": sorted(prompts),
            "rows": rows,
        }
        if not self.path.exists():
            to_stderr(f"openings of sealed tests are counted in {self.path}, first use recorded")
        sets_in_ledger = {earlier_line.rows for earlier_line in self._read_lines(quiet=True)}
        if rows not in sets_in_ledger:
            line["marks"] = marks
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # one write: lines of several processes do not mix; a newline first: one that was cut off stays alone
            with self.path.open("ab", buffering=0) as file:
                file.write(("\n" + json.dumps(line)).encode("utf-8"))
        except OSError as error:
            to_stderr(f"this opening is not counted: {self.path} cannot be written ({error.strerror})")

    def _read_lines(self, *, quiet: bool = False) -> list[_Line]:
        """Return every opening; a line that was cut off, or written by an earlier format, is left out with a note."""
        try:
            texts = list(filter(None, self.path.read_bytes().split(b"\n")))
        except OSError:
            return []
        marks_of_sets: dict[str, Sequence[_Mark]] = {}
        lines: list[_Line] = []
        for text in texts:
            try:
                lines.append(_read_line(text, marks_of_sets))
            except (ValueError, TypeError, KeyError):
                continue
        unreadable = len(texts) - len(lines)
        if unreadable and not quiet:
            to_stderr(
                f"{unreadable} of the lines in {self.path} cannot be read (cut off, or of an earlier format): "
                "what they tell of is not counted"
            )
        return lines


def _read_line(text: bytes, marks_of_sets: dict[str, Sequence[_Mark]]) -> _Line:
    """Return an opening from a line of the ledger; the marks of a set stand in the first line of the set.

    Args:
        text: the line.
        marks_of_sets: the marks in earlier lines, to which those of this line are added.

    Raises:
        ValueError, TypeError, KeyError: the line was cut off, or is of an earlier format.
    """
    data = orjson.loads(text)
    rows = str(data["rows"])
    if rows not in marks_of_sets:
        marks_of_sets[rows] = [_Mark(texts, labels) for texts, labels in data["marks"]]
    return _Line(frozenset(map(str, data["prompts"])), rows, marks_of_sets[rows])


def _find_tried_prompts(lines: Sequence[_Line], marks: Sequence[_Mark]) -> list[list[frozenset[str]]]:
    """Return for each row the prompts of each opening of it, in the order of the ledger."""
    positions_of_sets: dict[str, frozenset[int]] = {}
    prompts_by_row: list[list[frozenset[str]]] = [[] for _ in marks]
    for line in lines:
        if line.rows not in positions_of_sets:
            positions_of_sets[line.rows] = _find_rows(line.marks, marks)
        for position in positions_of_sets[line.rows]:
            prompts_by_row[position].append(line.prompts)
    return prompts_by_row


def _number_openings(lines: Sequence[frozenset[str]], prompts: frozenset[str]) -> Opened:
    """Return the number of lines that opened a row, and the number of the opening for some prompts."""
    tried_prompts: set[str] = set()
    openings = 0
    number = None
    for line_prompts in lines:
        if not line_prompts or not line_prompts <= tried_prompts:
            openings += 1
        tried_prompts |= line_prompts
        if number is None and prompts and prompts <= tried_prompts:
            number = openings
    return Opened(openings=openings, number=number or openings + 1)


def _mark_rows(cases: Sequence[Case]) -> list[_Mark]:
    """Return the marks of some rows."""
    texts_of_rows: list[list[str]] = []
    row_counts = Counter[str]()  # text -> rows that have it
    for case in cases:
        texts = _fold_texts(case)
        texts_of_rows.append(texts)
        row_counts.update(set(texts))

    label_numbers: dict[Value, int] = {}
    marks: list[_Mark] = []
    for texts, case in zip(texts_of_rows, cases, strict=True):
        hashes: list[str] = []
        for text in texts:
            if row_counts[text] <= _MAX_ROWS and len(text) >= _MIN_LENGTH:
                hashes.append(text_hash(text)[:16])
        hashes.append(text_hash(" ".join(sorted(texts)))[:16])
        marks.append(_Mark(hashes, _number_labels(case, label_numbers)))
    return marks


def _fold_texts(case: Case) -> list[str]:
    """Return the letters and digits of each input that has some."""
    texts: list[str] = []
    for value in case.inputs.values():
        text = folded(" ".join(strings(value)))
        if text:
            texts.append(text)
    return texts


def _number_labels(case: Case, label_numbers: dict[Value, int]) -> list[int]:
    """Return the number of each label of a case; a label that was not met before takes the next number."""
    numbers: list[int] = []
    for value in case.gold or ():
        if value is None:
            numbers.append(_UNLABELLED)
        else:
            numbers.append(label_numbers.setdefault(value, len(label_numbers)))
    return numbers


def _find_rows(ledger_marks: Sequence[_Mark], marks: Sequence[_Mark]) -> frozenset[int]:
    """Return the positions of the rows that a set of the ledger has; none if its labels ask another question."""
    pairs = _pair_rows(ledger_marks, marks)
    ledger_counts = Counter(ledger_position for ledger_position, _ in pairs)
    counts = Counter(position for _, position in pairs)
    shared_labels: list[tuple[Sequence[int], Sequence[int]]] = []
    for ledger_position, position in sorted(pairs):
        is_clear_pair = ledger_counts[ledger_position] == 1 and counts[position] == 1
        if is_clear_pair:
            shared_labels.append((ledger_marks[ledger_position].labels, marks[position].labels))
    if not _ask_same_question(shared_labels):
        return frozenset()
    return frozenset(counts)


def _pair_rows(ledger_marks: Sequence[_Mark], marks: Sequence[_Mark]) -> set[tuple[int, int]]:
    """Return the positions of rows with a text in common: in the ledger's set, and among the present rows."""
    positions_by_text: defaultdict[str, set[int]] = defaultdict(set)
    for position, mark in enumerate(marks):
        for text in mark.texts:
            positions_by_text[text].add(position)
    pairs: set[tuple[int, int]] = set()
    for ledger_position, ledger_mark in enumerate(ledger_marks):
        for text in ledger_mark.texts:
            for position in positions_by_text[text]:
                pairs.add((ledger_position, position))
    return pairs


def _ask_same_question(rows: _LabelPairs) -> bool:
    """Whether labels in the ledger and present labels of the same rows ask the same; the module says when they do."""
    ledger_labels, labels = _align_labels(rows)
    ledger_entropy = _entropy(Counter(ledger_labels))
    entropy = _entropy(Counter(labels))
    smaller_entropy = min(ledger_entropy, entropy)
    if smaller_entropy <= 0.0:
        return True
    joint_entropy = _entropy(Counter(zip(ledger_labels, labels, strict=True)))
    mutual_information = ledger_entropy + entropy - joint_entropy
    return mutual_information >= _SHARED_INFORMATION * smaller_entropy


def _align_labels(rows: _LabelPairs) -> tuple[list[Hashable], list[Hashable]]:
    """Return the labels in the ledger and the present ones, unit by unit; row by row where units do not correspond."""
    have_same_units = all(len(ledger_labels) == len(labels) for ledger_labels, labels in rows)
    aligned_ledger_labels: list[Hashable] = []
    aligned_labels: list[Hashable] = []
    for ledger_labels, labels in rows:
        if not have_same_units:
            aligned_ledger_labels.append(tuple(ledger_labels))
            aligned_labels.append(tuple(labels))
            continue
        for ledger_label, label in zip(ledger_labels, labels, strict=True):
            if ledger_label != _UNLABELLED and label != _UNLABELLED:
                aligned_ledger_labels.append(ledger_label)
                aligned_labels.append(label)
    return aligned_ledger_labels, aligned_labels


def _entropy(counts: Mapping[Hashable, int]) -> float:
    """Return the entropy of values with these counts, in nats; 0 for none."""
    numbers = np.fromiter(counts.values(), float)
    return float(scipy.special.entr(numbers / max(1, sum(counts.values()))).sum())
