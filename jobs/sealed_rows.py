"""Which gold rows a judge has seen, which are sealed, and the number of their opening, in a ledger of the user's.

A row is opened whenever a prompt that was never tried on it is scored on it for a choice or a proof: trying the same
prompt again selects nothing. The ledger holds hashes and no text, one opening a line.

A row is known again by any of its own texts, compared by letters and digits alone: long ones that at most two rows of
its set have, and all of its texts together.

Labels ask the same question if one labelling tells at least half of what the other says (mutual information over the
smaller entropy), on the rows that both have: so renamed, merged and a few corrected labels are no other question, as
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
_MOST = 2  # rows of a set that may have a text which identifies them
_LONG = 20  # letters and digits from which a text alone identifies a row
_SAME = 0.5  # of the information in one labelling, the share that another of the same question tells


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
        mine = _marks_of(cases)
        held = {
            rows: _opened(marks, mine) for rows, marks in {line.rows: line.marks for line in lines}.items()
        }
        return tuple(
            _counted([line.prompts for line in lines if place in held[line.rows]], frozenset(prompts))
            for place in range(len(cases))
        )

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


def _counted(lines: Sequence[frozenset[str]], wanted: frozenset[str]) -> Opened:
    """Return how many of the lines opened a row, and which opening trying these prompts on it is."""
    tried: set[str] = set()
    before, number = 0, None
    for prompts in lines:
        if not prompts or not prompts <= tried:
            before += 1
        tried |= prompts
        if number is None and wanted and wanted <= tried:
            number = before
    return Opened(before=before, number=number or before + 1)


def _marks_of(cases: Sequence[Case]) -> list[_Mark]:
    """Return the marks of some rows."""
    rows = [
        [text for value in case.inputs.values() if (text := folded(" ".join(strings(value))))]
        for case in cases
    ]
    rows_with = Counter(text for row in rows for text in set(row))
    numbers: dict[Any, int] = {}
    marks = []
    for row, case in zip(rows, cases, strict=True):
        own = [text for text in row if rows_with[text] <= _MOST and len(text) >= _LONG]
        known_by = [*own, " ".join(sorted(row))]
        labels = [
            -1 if value is None else numbers.setdefault(value, len(numbers)) for value in case.gold or ()
        ]
        marks.append(_Mark([text_hash(text)[:16] for text in known_by], labels))
    return marks


def _opened(known: Sequence[_Mark], marks: Sequence[_Mark]) -> frozenset[int]:
    """Return the places of those rows that the known set has, too; none if its labels ask another question."""
    holding = defaultdict[str, set[int]](set)
    for here, mark in enumerate(marks):
        for text in mark.texts:
            holding[text].add(here)
    pairs = {
        (there, here) for there, mark in enumerate(known) for text in mark.texts for here in holding[text]
    }
    of_known, of_ours = Counter(there for there, _ in pairs), Counter(here for _, here in pairs)
    both = [
        (known[there].labels, marks[here].labels)
        for there, here in sorted(pairs)
        if of_known[there] == of_ours[here] == 1
    ]
    return frozenset(of_ours) if _same_question(both) else frozenset()


def _same_question(rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> bool:
    """Say whether earlier and present labels of the same rows ask the same: see the head of this module."""
    units: list[tuple[Any, Any]] = [(tuple(old), tuple(new)) for old, new in rows]
    if all(len(old) == len(new) for old, new in rows):
        of_units = (pair for old, new in rows for pair in zip(old, new, strict=True))
        units = [(was, now) for was, now in of_units if -1 not in (was, now)]
    before, after, joint = (
        float(scipy.special.entr(np.fromiter(Counter(values).values(), float) / max(1, len(values))).sum())
        for values in ([old for old, _ in units], [new for _, new in units], units)
    )
    return min(before, after) <= 0.0 or before + after - joint >= _SAME * min(before, after)


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
        level, units = self.level / max(1, tests), Counter(case.group for case in cases for _ in case.known)
        labelled = np.array(list(units.values()), dtype=np.int64)
        few = limits(len({case.group for case in cases}), level)
        able = len(labelled) >= fewest_groups(level)  # else ``few`` says it
        powers = str(gains(labelled, level)) if tests and able and comparison.right_means else ""
        return tuple(words for words in (powers, few) if words)

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
    fields = [
        (name, kind, str(field.annotation), str((field.json_schema_extra or {}).get("desc")))
        for predictor in judge.basic().predictors()
        for kind in ("input", "output")
        for name, field in getattr(predictor.signature, f"{kind}_fields").items()
    ]
    usual = sampling.needed == more_than_half(sampling.samples)
    votes = "" if usual else f"{sampling.needed:g} of {sampling.samples}"
    votes = votes if sampling.weights is None else sampling.rule
    return text_hash(repr((state.id, fields, model.name, model.temperature, adapter, votes)))[:16]


def look_at(cases: Sequence[Case], judges: Sequence[Contender] = (), *, chooses: bool = True) -> Look:
    """Return the look that scoring some rows is: an opening if a prompt was never tried on a sealed one of them."""
    ledger = Openings()
    tried = {prompt_of(one.judge, one.state, one.model, one.adapter, one.sampling): one for one in judges}
    known = ledger.of(cases, tried)
    sealed = [(case, row) for case, row in zip(cases, known, strict=True) if row.before]
    new = any(row.number > row.before for _, row in sealed)
    return Look(
        cases=tuple(case for case, _ in sealed),
        opening=max((row.number for _, row in sealed), default=0),
        prompts=frozenset(tried),
        counted=new and (chooses or not all(one.artifact for one in judges)),
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
    seen = set[str]()
    for judge in judges:
        if judge.artifact is not None:
            seen.update(judge.artifact.about.gold.seen)
            seen |= near_rows(judge.judge, gold.cases, judge.artifact.seen())
    return tuple(case for case in gold.cases if case.id not in seen)
