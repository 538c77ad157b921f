"""Running a judge on new rows: each is judged once and written at once.

Rows are handed to the event loop in bounded batches, so that memory stays flat
however many there are.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from ..cases import Case
from ..errors import BudgetExhausted, CheckpointError, UsageError
from ..keeping.locking import alone
from ..programs.asking import Asker, Verdict
from .output import done_before, line_of

__all__ = ["Summary", "run_cases"]

_BATCH = 1024
_SUMMED = ("inconsistent", "drawn", "saved", "identical", "reasked", "extra", "duplicated")


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How a run ended. All counts but the first three are of the rows judged now.

    Attributes:
        rows: rows of the input.
        resumed: rows that an earlier run had done.
        abstained_before: those of them that abstained.
        verdicts: rows by status.
        totals: what the rows' answers add up to, as JSON values: of closed labels, ``positive`` rows.
        total_words: the same for people.
        inconsistent: samples whose answer contradicted itself, whatever was made of them.
        drawn: samples that were asked.
        saved: samples that were not, because no outcome of their row could change any more.
        saved_calls: the calls they would have taken, at most.
        votes: votes cast, over all units.
        agreeing: units with a label, and the sum of their agreement.
        several: rows with two samples or more.
        identical: those of them whose replies were all the same text.
        reasked: samples in which missing units were asked for again.
        extra: answers for something that was not asked.
        duplicated: units that a reply gave two different labels.
        stopped: which limit ended the run, in words; empty if all rows were judged.
    """

    rows: int
    resumed: int
    abstained_before: int = 0
    verdicts: Mapping[str, int]
    totals: Mapping[str, Any] = field(default_factory=dict)
    total_words: tuple[str, ...] = ()
    inconsistent: int = 0
    drawn: int = 0
    saved: int = 0
    saved_calls: int = 0
    votes: int = 0
    agreeing: tuple[int, float] = (0, 0.0)
    several: int = 0
    identical: int = 0
    reasked: int = 0
    extra: int = 0
    duplicated: int = 0
    stopped: str = ""

    @property
    def left(self) -> int:
        """Rows that a limit left to be judged."""
        return self.rows - self.resumed - sum(self.verdicts.values())

    @property
    def unusable(self) -> float:
        """The share of the rows with a line in the output that failed or abstained, 0 to 1.

        Rows of earlier runs count, so that repeating a bad run with nothing left to do does not make it good.
        """
        judged = sum(self.verdicts.values())
        bad = judged - self.verdicts.get("verdict", 0) + self.abstained_before
        return bad / (judged + self.resumed) if judged + self.resumed else 0.0

    @property
    def agreement(self) -> float | None:
        """The mean over units of the share of votes that went to the label; ``None`` without a label."""
        units, total = self.agreeing
        return total / units if units else None

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            "rows": self.rows,
            "resumed": self.resumed,
            "abstained_before": self.abstained_before,
            "verdict": self.verdicts.get("verdict", 0),
            "abstained": self.verdicts.get("abstained", 0),
            "failed": self.verdicts.get("failed", 0),
            **self.totals,
            "inconsistent": self.inconsistent,
            "drawn": self.drawn,
            "saved": self.saved,
            "saved_calls": self.saved_calls,
            "votes": self.votes,
            "agreement": self.agreement,
            "several": self.several,
            "identical": self.identical,
            "reasked": self.reasked,
            "extra": self.extra,
            "duplicated": self.duplicated,
            "stopped": self.stopped,
            "left": self.left,
        }

    @property
    def lines(self) -> tuple[str, ...]:
        """What there is to say about samples and incomplete replies, for people."""
        found = []
        if self.several and self.agreement is not None:
            found.append(f"{self.drawn} samples, mean agreement {self.agreement:.3f} of the votes cast")
        if self.saved:
            found.append(
                f"{self.saved} samples not drawn, as nothing could change ({self.saved_calls} calls)"
            )
        if self.identical:
            found.append(
                f"{self.identical} of {self.several} rows with several samples got the same text each time: a short "
                "answer may recur, but if the provider does not really sample, these votes are one vote"
            )
        if self.inconsistent:
            found.append(f"{self.inconsistent} answers contradicted themselves")
        if self.reasked:
            found.append(
                f"{self.reasked} replies left units out or labelled them twice; those were asked again"
            )
        if self.extra:
            found.append(f"{self.extra} labels were for nothing that was asked")
        return tuple(found)


def run_cases(
    asker: Asker,
    cases: Sequence[Case],
    output: Path | TextIO,
    *,
    stamp: Mapping[str, Any],
    resume: bool = False,
    on_begin: Callable[[Sequence[Case]], None] = lambda todo: None,
    on_row: Callable[[Verdict], None] = lambda verdict: None,
) -> Summary:
    """Judge ``cases`` and write a JSON line for each.

    Where the asker's model has limits, the run ends at the first that is met: the rows in flight are finished as
    far as they are paid, and the others are left.

    Args:
        asker: the judge, ready to be asked.
        cases: the rows.
        output: a file, or an open text stream.
        stamp: what every line says about the run: judge, artifact, model.
        resume: continue a file that an earlier run of the same kind left.
        on_begin: called once with the rows that are left to be judged, before any is asked about.
        on_row: called after each row.

    Raises:
        UsageError, CheckpointError: the output file cannot be used; see :func:`~jurist.runs.output.done_before`.
            CheckpointError also where another run is writing it.
        ModelError: the model cannot be used at all. What was judged is in the file.
    """
    if not isinstance(output, Path):
        on_begin(cases)
        return _run(asker, cases, output, stamp, on_row)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with _alone(output):
            todo, before = _left(cases, done_before(output, stamp, resume=resume))
            with _appended(output) as stream:
                on_begin(todo)
                summary = _run(asker, todo, stream, stamp, on_row)
    except OSError as error:
        hint = "name a file that can be written, or make room and add --resume"
        raise UsageError(f"{output}: {error.strerror or error}", hint=hint) from error
    return replace(summary, rows=len(cases), resumed=before.total(), abstained_before=before["abstained"])


def _left(cases: Sequence[Case], done: Mapping[str, list[str]]) -> tuple[list[Case], Counter[str]]:
    """Return the rows to be asked about, and how those ended that were done: equal rows each have their own line."""
    todo: list[Case] = []
    before: Counter[str] = Counter()
    for case in cases:
        if ended := done.get(case.id):
            before[ended.pop(0)] += 1
        else:
            todo.append(case)
    return todo, before


@contextmanager
def _alone(output: Path) -> Iterator[None]:
    """Keep other runs off the output from before it is read until the last line is written.

    Without it, a second run with ``--resume`` would pay for the same rows, and replace the file while the first
    still writes its paid lines into the old one. Devices and pipes are nobody's to continue.
    """
    if output.exists() and not output.is_file():
        yield
        return
    with alone(output) as free:
        if not free:
            raise CheckpointError(
                f"another process is writing {output}",
                hint="wait until it has ended, or name another output file",
            )
        yield


@contextmanager
def _appended(path: Path) -> Iterator[TextIO]:
    """Open a file for appending; if nothing is written, a new one does not stay."""
    new = not path.exists()
    try:
        with path.open("a", encoding="utf-8") as stream:
            yield stream
    finally:
        if new and path.is_file() and path.stat().st_size == 0:
            path.unlink()


def _run(
    asker: Asker,
    cases: Sequence[Case],
    stream: TextIO,
    stamp: Mapping[str, Any],
    on_row: Callable[[Verdict], None],
) -> Summary:
    counts = _Counts(asker)
    for start in range(0, len(cases), _BATCH):
        batch = cases[start : start + _BATCH]

        def write(index: int, verdict: Verdict, batch: Sequence[Case] = batch) -> None:
            line = line_of(asker.judge, batch[index], verdict, stamp)
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            stream.flush()
            counts.add(verdict)
            on_row(verdict)

        try:
            asker.ask_all(batch, write)
        except BudgetExhausted as stop:
            return counts.summary(len(cases), str(stop))
    return counts.summary(len(cases))


class _Counts:
    """What a run adds up as its rows come."""

    def __init__(self, asker: Asker) -> None:
        self._judge = asker.judge
        self._status: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()
        self._answers: Counter[str] = Counter()
        self._agreements: list[float] = []

    def add(self, verdict: Verdict) -> None:
        self._status[verdict.status] += 1
        self._sums.update({name: int(getattr(verdict, name)) for name in _SUMMED})
        self._answers.update(self._judge.answer.tally(verdict.values, verdict.counts))
        self._sums["several"] += verdict.drawn > 1
        self._sums["votes"] += sum(sum(votes.values()) for votes in verdict.votes)
        self._agreements += [share for share in verdict.agreement if share is not None]

    def summary(self, rows: int, stopped: str = "") -> Summary:
        sums = {name: self._sums[name] for name in (*_SUMMED, "several", "votes")}
        return Summary(
            rows=rows,
            resumed=0,
            verdicts=dict(self._status),
            saved_calls=sums["saved"] * self._judge.calls,
            agreeing=(len(self._agreements), math.fsum(self._agreements)),
            stopped=stopped,
            totals=self._judge.answer.totals(self._answers),
            total_words=self._judge.answer.total_words(self._answers),
            **sums,
        )
