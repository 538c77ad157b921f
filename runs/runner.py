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
from ..engines.meter import Budget
from ..errors import BudgetExhausted, CheckpointError, ModelError, StopRequested, UsageError
from ..keeping.loading import LoadedJudge
from ..keeping.locking import alone
from ..keeping.paying import Start, paying
from ..programs.asking import Asker, Verdict
from .output import done_before, line_of

__all__ = ["Summary", "run_cases", "run_judge"]

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
        stopped: which limit, signal or failure of the model ended the run, in words; empty if all rows were judged.
        signal: the number of that signal.
        spend: calls, tokens and cost of this start; answers paid by an earlier one count as ``replayed``.
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
    signal: int | None = None
    spend: Mapping[str, Any] = field(default_factory=dict)

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


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """The judging of rows into a file, as something to be paid for: which rows is the file's own business."""

    output: Path | None
    stamp: Mapping[str, Any]
    budget: Budget
    roles: tuple[str, ...] = ("judge",)

    def fingerprint(self) -> dict[str, Any]:
        return {"run": str(self.output and self.output.resolve()), **self.stamp}

    def start(self, *, resume: bool) -> Start:
        """Return how it is started: its checkpoint stands beside the output, and goes with it."""
        if self.output is None:
            return Start()
        # Without an output to continue there is nothing to go on with, whatever stands there.
        return Start(
            root=self.output.with_name(f".{self.output.name}.jurist"), resume=resume, fresh=not resume
        )


def run_judge(
    judge: LoadedJudge,
    cases: Sequence[Case],
    output: Path | TextIO,
    *,
    budget: Budget | None = None,
    resume: bool = False,
    on_begin: Callable[[Sequence[Case], int], None] = lambda todo, spent: None,
    on_row: Callable[[Verdict], None] = lambda verdict: None,
) -> Summary:
    """Judge ``cases`` and write a JSON line for each: the whole life of a run, which is paid for.

    It ends at the first limit or signal: the rows in flight are finished as far as they are paid, and the others are
    left. What was paid for unfinished rows is kept beside the output, and the limits hold over all that ``resume``
    continues.

    Args:
        judge: who is asked.
        cases: the rows.
        output: a file, or an open text stream.
        budget: hard limits.
        resume: continue a file that an earlier run of the same kind left.
        on_begin: called once, before any row is asked about, with the rows that are left to be judged and the calls
            that earlier starts have made.
        on_row: called after each row.

    Raises:
        UsageError, CheckpointError: the output file cannot be used; see :func:`~jurist.runs.output.done_before`.
            CheckpointError also where another run is writing it.
        StoppedError: a second signal. ModelError: the model cannot be used at all. What was judged is in the file.
    """
    stamp, limits = judge.stamp(), budget or Budget()
    if not isinstance(output, Path):
        work = _Rows(output=None, stamp=stamp, budget=limits)
        return _paid(work, judge, cases, output, False, on_begin, on_row)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with _alone(output):
            todo, before = _left(cases, done_before(output, stamp, resume=resume))
            with _appended(output) as stream:
                work = _Rows(output=output if output.is_file() else None, stamp=stamp, budget=limits)
                summary = _paid(work, judge, todo, stream, resume, on_begin, on_row)
    except OSError as error:
        hint = "name a file that can be written, or make room and add --resume"
        raise UsageError(f"{output}: {error.strerror or error}", hint=hint) from error
    return replace(summary, rows=len(cases), resumed=before.total(), abstained_before=before["abstained"])


def _paid(
    work: _Rows,
    judge: LoadedJudge,
    cases: Sequence[Case],
    stream: TextIO,
    resume: bool,
    on_begin: Callable[[Sequence[Case], int], None],
    on_row: Callable[[Verdict], None],
) -> Summary:
    with paying(work, work.start(resume=resume)) as job:
        on_begin(cases, job.meter.outstanding.calls)
        asker = replace(judge, context=job.contexts["judge"]).asker()
        summary = run_cases(asker, cases, stream, stamp=work.stamp, on_row=on_row)
        job.unfinished = bool(summary.left or summary.verdicts.get("failed"))
        return replace(summary, spend=job.ledger.spend().to_json())


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


def run_cases(
    asker: Asker,
    cases: Sequence[Case],
    stream: TextIO,
    *,
    stamp: Mapping[str, Any],
    on_row: Callable[[Verdict], None] = lambda verdict: None,
) -> Summary:
    """Ask about ``cases``, and write a JSON line for each as its answer comes.

    Args:
        asker: the judge, ready to be asked; the limits are those of its model.
        cases: the rows.
        stream: takes the lines.
        stamp: what every line says about the run: judge, artifact, model.
        on_row: called after each row.

    Raises:
        ModelError: the model cannot be used at all: not one row has been answered.
    """
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
            signal = stop.signal if isinstance(stop, StopRequested) else None
            return replace(counts.summary(len(cases)), stopped=str(stop), signal=signal)
        except ModelError as error:
            if not counts.answered:
                raise
            return replace(counts.summary(len(cases)), stopped=error.message)
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

    @property
    def answered(self) -> int:
        """Rows about which the model said something."""
        return self._status.total() - self._status["failed"]

    def summary(self, rows: int) -> Summary:
        sums: dict[str, Any] = {name: self._sums[name] for name in (*_SUMMED, "several", "votes")}
        return Summary(
            rows=rows,
            resumed=0,
            verdicts=dict(self._status),
            saved_calls=sums["saved"] * self._judge.calls,
            agreeing=(len(self._agreements), math.fsum(self._agreements)),
            totals=self._judge.answer.totals(self._answers),
            total_words=self._judge.answer.total_words(self._answers),
            **sums,
        )
