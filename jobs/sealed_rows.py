"""Gold rows that a judge was compiled on, sealed rows, and the number of their opening, in a ledger of the user's.

Scoring a prompt on a row for a choice or a proof opens the row, if that prompt was never tried on it: trying the same
prompt again selects nothing. The ledger holds hashes and no text, one opening a line.

A row is recognised by any of its own texts, compared by letters and digits alone: by long texts that at most two rows
of its set have, and by all of its texts together.

Two labellings ask the same question if one tells at least half of the other's information (mutual information over the
smaller entropy), on the rows that both have. So renamed, merged and a few corrected labels are no other question, as
they would be by a hash. Where rows are too few to tell, the question is the same.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import scipy

from ..cases import Case, text_hash
from ..engines.models import Model
from ..evaluation.paired import fewest_groups, gains, limits
from ..evaluation.proof import level_of
from ..evaluation.scale import Scale
from ..evaluation.votes import Sampling, more_than_half
from ..gold.copies import near_rows
from ..gold.goldset import Gold
from ..gold.splits import Split
from ..keeping.contenders import Contender
from ..keeping.trust import data_file, to_stderr
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..text.ranking import folded
from ..text.wording import strings

ALPHA = 0.05
"""The level of all openings of a row together."""
_MAX_ROWS = 2  # a text that more rows of a set have identifies none of them
_MIN_LENGTH = 20  # a shorter text (letters and digits) alone identifies no row
_SHARED_INFORMATION = 0.5  # labellings of the same question share at least this part of the smaller entropy


@dataclass(frozen=True, kw_only=True)
class Opened:
    """The openings of one row."""

    before: int  # how often it has been opened; 0 if it is not sealed
    # which opening scoring it with certain prompts is: the one in which the last of them was tried on it,
    # or the next one
    number: int


class _Mark(NamedTuple):
    """The marks of a row in the ledger: hashes of its identity, and its labels by their numbers in its set."""

    texts: Sequence[str]
    labels: Sequence[int]  # -1 where nobody labelled


class _Line(NamedTuple):
    """One opening: the prompts that were tried, and on which set of rows."""

    prompts: frozenset[str]
    rows: str
    marks: Sequence[_Mark]


@dataclass(frozen=True)
class Openings:
    """The openings that are known."""

    path: Path = field(default_factory=lambda: data_file("openings.jsonl"))

    def of(self, cases: Sequence[Case], prompts: Collection[str] = ()) -> tuple[Opened, ...]:
        """Return the openings of each row."""
        lines = self._lines()
        if not lines or not cases:
            return (Opened(before=0, number=1),) * len(cases)
        marks = _marks_of(cases)
        marks_of_sets = {line.rows: line.marks for line in lines}
        opened_by_set = {rows: _opened(set_marks, marks) for rows, set_marks in marks_of_sets.items()}
        openings: list[Opened] = []
        for position in range(len(cases)):
            prompts_of_lines = [line.prompts for line in lines if position in opened_by_set[line.rows]]
            openings.append(_counted(prompts_of_lines, frozenset(prompts)))
        return tuple(openings)

    def note(self, what: str, cases: Sequence[Case], prompts: Collection[str] = ()) -> None:
        """Add an opening of these rows, before anything of it is shown."""
        marks = _marks_of(cases)
        rows = hashlib.sha256(json.dumps(marks).encode("utf-8")).hexdigest()[:16]
        line: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "what": what,
            "prompts": sorted(prompts),
            "rows": rows,
        }
        if not self.path.exists():
            to_stderr(f"openings of sealed tests are counted in {self.path}, first use recorded")
        if rows not in {known.rows for known in self._lines(quiet=True)}:
            line["marks"] = marks
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # one write: lines of several processes do not mix; a newline first: one that was cut off stays alone
            with self.path.open("ab", buffering=0) as file:
                file.write(("\n" + json.dumps(line)).encode("utf-8"))
        except OSError as error:
            to_stderr(f"this opening is not counted: {self.path} cannot be written ({error.strerror})")

    def _lines(self, *, quiet: bool = False) -> list[_Line]:
        """Return every opening; what was cut off, or written by an earlier format, is none, and that is said."""
        sets: dict[str, Sequence[_Mark]] = {}
        lines: list[_Line] = []
        try:
            texts = [text for text in self.path.read_bytes().split(b"\n") if text]
        except OSError:
            return []
        for text in texts:
            try:
                data = orjson.loads(text)
                rows = str(data["rows"])
                if rows not in sets:
                    sets[rows] = [_Mark(texts, labels) for texts, labels in data["marks"]]
                lines.append(_Line(frozenset(map(str, data["prompts"])), rows, sets[rows]))
            except (ValueError, TypeError, KeyError):
                continue
        if (unread := len(texts) - len(lines)) and not quiet:
            to_stderr(
                f"{unread} of the lines in {self.path} cannot be read (cut off, or of an earlier format): what they "
                "tell of is not counted"
            )
        return lines


def _counted(lines: Sequence[frozenset[str]], prompts: frozenset[str]) -> Opened:
    """Return the number of lines that opened a row, and the number of the opening for some prompts."""
    tried: set[str] = set()
    before = 0
    number = None
    for line_prompts in lines:
        if not line_prompts or not line_prompts <= tried:
            before += 1
        tried |= line_prompts
        if number is None and prompts and prompts <= tried:
            number = before
    return Opened(before=before, number=number or before + 1)


def _marks_of(cases: Sequence[Case]) -> list[_Mark]:
    """Return the marks of some rows."""
    texts_of_rows: list[list[str]] = []
    row_counts = Counter[str]()  # text -> rows that have it
    for case in cases:
        texts = [folded(" ".join(strings(value))) for value in case.inputs.values()]
        texts = [text for text in texts if text]
        texts_of_rows.append(texts)
        row_counts.update(set(texts))

    label_numbers: dict[Any, int] = {}
    marks: list[_Mark] = []
    for texts, case in zip(texts_of_rows, cases, strict=True):
        identifying = [text for text in texts if row_counts[text] <= _MAX_ROWS and len(text) >= _MIN_LENGTH]
        identifying.append(" ".join(sorted(texts)))
        labels: list[int] = []
        for value in case.gold or ():
            if value is None:
                labels.append(-1)
            else:
                labels.append(label_numbers.setdefault(value, len(label_numbers)))
        marks.append(_Mark([text_hash(text)[:16] for text in identifying], labels))
    return marks


def _opened(ledger_marks: Sequence[_Mark], marks: Sequence[_Mark]) -> frozenset[int]:
    """Return the positions of the rows that a set of the ledger has; none if its labels ask another question."""
    positions_by_text: defaultdict[str, set[int]] = defaultdict(set)
    for position, mark in enumerate(marks):
        for text in mark.texts:
            positions_by_text[text].add(position)
    pairs: set[tuple[int, int]] = set()  # (position in the ledger's set, position among the rows)
    for ledger_position, ledger_mark in enumerate(ledger_marks):
        for text in ledger_mark.texts:
            for position in positions_by_text[text]:
                pairs.add((ledger_position, position))

    ledger_counts = Counter(ledger_position for ledger_position, _ in pairs)
    counts = Counter(position for _, position in pairs)
    shared_labels: list[tuple[Sequence[int], Sequence[int]]] = []
    for ledger_position, position in sorted(pairs):
        is_clear_pair = ledger_counts[ledger_position] == 1 and counts[position] == 1
        if is_clear_pair:
            shared_labels.append((ledger_marks[ledger_position].labels, marks[position].labels))
    if not _same_question(shared_labels):
        return frozenset()
    return frozenset(counts)


def _same_question(rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> bool:
    """Whether labels in the ledger and present labels of the same rows ask the same; the module says when they do."""
    pairs: list[tuple[Any, Any]] = []
    if all(len(ledger_labels) == len(labels) for ledger_labels, labels in rows):
        for ledger_labels, labels in rows:
            for ledger_label, label in zip(ledger_labels, labels, strict=True):
                if ledger_label != -1 and label != -1:
                    pairs.append((ledger_label, label))
    else:
        pairs = [(tuple(ledger_labels), tuple(labels)) for ledger_labels, labels in rows]
    ledger_entropy = _entropy([ledger_label for ledger_label, _ in pairs])
    entropy = _entropy([label for _, label in pairs])
    smaller_entropy = min(ledger_entropy, entropy)
    if smaller_entropy <= 0.0:
        return True
    mutual_information = ledger_entropy + entropy - _entropy(pairs)
    return mutual_information >= _SHARED_INFORMATION * smaller_entropy


def _entropy(values: Sequence[Any]) -> float:
    """Return the entropy of some values, in nats; 0 for none."""
    counts = np.fromiter(Counter(values).values(), float)
    return float(scipy.special.entr(counts / max(1, len(values))).sum())


@dataclass(frozen=True, kw_only=True)
class Look:
    """A look at sealed rows: the cases, the prompts, and the number of the opening."""

    cases: tuple[Case, ...]  # the sealed rows among those that are scored
    opening: int  # which opening of them this is, the highest of all; 0 if none is sealed
    prompts: frozenset[str]  # what is tried on them
    counted: bool  # whether that opens any of them: a prompt that was tried on all of them before opens none
    ledger: Openings  # where it is counted

    @property
    def level(self) -> float:
        """The one-sided level at which differences are tested."""
        return level_of(ALPHA, max(1, self.opening))

    @property
    def words(self) -> str:
        """A line about the opening before anything is spent; empty without sealed rows."""
        if not self.opening:
            return ""
        sealed = f"{len(self.cases)} of these rows are of a sealed test"
        level = f"level {self.level:.3g}"
        if self.counted:
            return f"{sealed}: this is opening {self.opening} of them ({level})"
        return f"{sealed}: this opens none of them again, and tests at the {level} of opening {self.opening}"

    def limits(self, cases: Sequence[Case], comparison: Scale, tests: int = 1) -> tuple[str, ...]:
        """Lines about what so few units and groups can show, before anything is spent."""
        level = self.level / max(1, tests)
        unit_counts = Counter(case.group for case in cases for _ in case.known)
        labelled_units = np.array(list(unit_counts.values()), dtype=np.int64)  # of each labelled group
        lines: list[str] = []
        has_enough_groups = len(labelled_units) >= fewest_groups(level)
        if tests and has_enough_groups and comparison.right_means:
            lines.append(str(gains(labelled_units, level)))
        lines.append(limits(len({case.group for case in cases}), level))
        return tuple(line for line in lines if line)

    def done(self, what: str) -> None:
        """Count it, before anything is shown."""
        if self.counted:
            self.ledger.note(what, self.cases, self.prompts)


@dataclass(frozen=True, kw_only=True)
class Proving(Look):
    """The look that a proof is, which seals its rows."""

    before: int  # how many of its rows were opened before

    @property
    def words(self) -> str:
        """How often the rows were opened; empty where all are opened for the first time."""
        if not self.before or not self.counted:
            return ""
        return (
            f"{self.before} of the {len(self.cases)} sealed rows were opened before: the proof is at opening "
            f"{self.opening} (level {self.level:.3g}); rows that you label anew are at their first, as --holdout"
        )

    def to_card(self) -> dict[str, Any]:
        """Return the number of the opening and of the rows that were used, for a card."""
        rows = {"sealed": len(self.cases), "opened_before": self.before, "used": len(self.cases)}
        return {"test_openings": self.opening, "test_rows": rows}


def prompt_of(judge: Judge, state: PromptState, model: Model, adapter: str, sampling: Sampling) -> str:
    """Return the identity of a prompt in the ledger: its messages, model, settings and threshold."""
    fields: list[tuple[str, str, str, str]] = []
    for predictor in judge.basic().predictors():
        signature = predictor.signature
        for kind, kind_fields in (("input", signature.input_fields), ("output", signature.output_fields)):
            for name, info in kind_fields.items():
                description = str((info.json_schema_extra or {}).get("desc"))
                fields.append((name, kind, str(info.annotation), description))
    is_majority = sampling.needed == more_than_half(sampling.samples)
    if sampling.weights is not None:
        votes = sampling.rule
    elif is_majority:
        votes = ""
    else:
        votes = f"{sampling.needed:g} of {sampling.samples}"
    return text_hash(repr((state.id, fields, model.name, model.temperature, adapter, votes)))[:16]


def look_at(cases: Sequence[Case], judges: Sequence[Contender] = (), *, chooses: bool = True) -> Look:
    """Return the look that scoring some rows is: an opening if a prompt was never tried on a sealed one of them."""
    ledger = Openings()
    prompts: set[str] = set()
    for judge in judges:
        prompts.add(prompt_of(judge.judge, judge.state, judge.model, judge.adapter, judge.sampling))
    sealed_cases: list[Case] = []
    opening = 0
    opens_a_row = False
    for case, row in zip(cases, ledger.of(cases, prompts), strict=True):
        if row.before:
            sealed_cases.append(case)
            opening = max(opening, row.number)
            opens_a_row = opens_a_row or row.number > row.before
    compares_artifacts_alone = all(judge.artifact for judge in judges)
    return Look(
        cases=tuple(sealed_cases),
        opening=opening,
        prompts=frozenset(prompts),
        counted=opens_a_row and (chooses or not compares_artifacts_alone),
        ledger=ledger,
    )


def proof_of(split: Split, prompts: Collection[str] = (), known: int = 0) -> Proving:
    """Return the look that a proof on a test is: at the level of that of its rows which was opened most often."""
    ledger = Openings()
    rows = ledger.of(split.test, prompts)
    return Proving(
        cases=split.test,
        opening=max([known + 1, *(row.number for row in rows)]),
        prompts=frozenset(prompts),
        counted=any(row.number > row.before for row in rows),
        ledger=ledger,
        before=sum(row.before > 0 for row in rows),
    )


def unseen(judges: Sequence[Contender], gold: Gold) -> tuple[Case, ...]:
    """Return the rows of gold that no judge's artifact was trained or selected on, or on near copies of."""
    compiled_on: set[str] = set()
    for judge in judges:
        if judge.artifact is not None:
            compiled_on.update(judge.artifact.about.gold.seen)
            compiled_on.update(near_rows(judge.judge, gold.cases, judge.artifact.seen()))
    return tuple(case for case in gold.cases if case.id not in compiled_on)
