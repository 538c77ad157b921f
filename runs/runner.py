"""Running a judge on new rows: each is judged once and has its line in the output.

Rows are streamed: one event loop asks about as many at once as the judge's concurrency, whoever is answered takes
the next one, and memory stays flat however many there are. What is said belongs to what was judged: equal rows are
judged once, and a run that goes on never gives a verdict to another row.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from ..cases import Case
from ..engines.meter import Budget, PriorSpend
from ..errors import AnswerPending, BudgetExhausted, CheckpointError, GoldError, ModelError, StopRequested
from ..gold.columns import Rejects
from ..gold.new_rows import NewRow, Source
from ..keeping.loading import LoadedJudge
from ..keeping.paying import PaidJob, Start, paying
from ..programs.asking import Asker
from ..programs.together import collect, flow
from ..text.json_lines import json_line
from .batch_store import check_no_batches
from .canary import Canary
from .changes import Changes
from .collecting import seldom_collected
from .feeding import Feed
from .formats import Lines, flat, lines_in, lines_to
from .lines import kept_name, known_of, line_of, said_of
from .ordering import AsTheyCome, InOrder, Order
from .outputs import checkpoint_of, claimed
from .shards import WHOLE, Shard
from .state import Known, RunState, Seen
from .summary import Counts, Summary
from .survey import OnBadRow, Survey

__all__ = ["Plan", "RunSettings", "Summary", "run_judge"]


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How rows are judged into an output.

    Attributes:
        budget: hard limits.
        resume: continue what an earlier run of the same kind left; rows that failed are asked again.
        retry_failed: the same, for rows that failed only: others that are left stay so.
        fresh: forget an unfinished run of this output.
        on_bad_row: what becomes of a row that cannot be used: it is set aside, or ends the run.
        rejects: the file for those that are set aside; default: beside the output.
        keep: columns of the input that travel into the output; ``None`` for all that are not judged.
        ordered: whether lines stand in the order of the input, or as they come.
        shard: which rows of the input are judged; default: all.
        collecting: answers come in batches: a row without its own is left, and ``resume`` leaves failed ones so.
        canary: what is asked before them, to see whether the model drifted; ``None`` for nothing.
        before: an output whose lines are known, besides those of the own one.
    """

    budget: Budget = field(default_factory=Budget)
    resume: bool = False
    retry_failed: bool = False
    fresh: bool = False
    on_bad_row: OnBadRow = "reject"
    rejects: Path | None = None
    keep: Sequence[str] | None = None
    ordered: bool = True
    shard: Shard = WHOLE
    collecting: bool = False
    canary: Canary | None = None
    before: Path | None = None

    @property
    def going_on(self) -> bool:
        """Whether it continues an earlier run."""
        return self.resume or self.retry_failed


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run is about to do.

    Attributes:
        rows: of the input; ``None`` if it can be read only once.
        to_ask: different cases among them that have to be asked about; ``None`` likewise.
        shown: a few cases, by which a prompt can be measured.
        spent: what earlier starts have spent.
        changes: how the rows differ from those of earlier starts.
        canary: cases that are asked before; none if no row is left to be asked.
        trouble: tells what is waited for and what went wrong, in words; empty while all goes well.
    """

    rows: int | None
    to_ask: int | None
    shown: Sequence[Case]
    spent: PriorSpend
    changes: Changes
    canary: Sequence[Case] = ()
    trouble: Callable[[], str] = str


@dataclass(frozen=True, kw_only=True)
class _Running:
    """The judging of rows into a file, as something to be paid for: which rows is the file's own business."""

    output: Path | None
    stamp: Mapping[str, Any]
    budget: Budget
    roles: tuple[str, ...] = ("judge", "canary")  # whose answers are kept apart

    def fingerprint(self) -> dict[str, Any]:
        return {"run": str(self.output and self.output.resolve()), **self.stamp}

    def start(self, settings: RunSettings) -> Start:
        """Return how it is started: its checkpoint stands beside the output, and goes with it."""
        if self.output is None:
            return Start()
        return Start(root=checkpoint_of(self.output), resume=settings.going_on, fresh=settings.fresh)


def run_judge(
    judge: LoadedJudge,
    source: Source,
    output: Path | TextIO,
    *,
    settings: RunSettings | None = None,
    on_begin: Callable[[Plan], None] = lambda plan: None,
    on_row: Callable[[], None] = lambda: None,
) -> Summary:
    """Judge the rows of a source and write a line for each: the whole life of a run, which is paid for.

    It ends at the first limit or signal: the rows in flight are finished as far as they are paid, and the others are
    left. What was paid for is kept beside the output until no row is left, and the limits hold over all
    that ``resume`` continues.

    Args:
        judge: who is asked.
        source: the rows.
        output: a file, JSONL, CSV or Parquet by its name, or an open text stream, which takes JSONL.
        settings: how.
        on_begin: called once, before any row is asked about.
        on_row: called after each row.

    Raises:
        GoldError: the source cannot be read, or no row of it can be used, or one cannot and ends the run.
        UsageError: the output cannot be used, or no row has a column that is to be kept.
        CheckpointError: the output is of another run, unfinished, or being written by another process.
        StoppedError: a second signal. ModelError: the model cannot be used at all. What was judged is kept.
    """
    settings, stamp = settings or RunSettings(), judge.stamp()
    if not isinstance(output, Path):
        work = _Running(output=None, stamp=stamp, budget=settings.budget)
        return _paid(work, judge, source, output, settings, on_begin, on_row)
    with claimed(output, [source.name], going_on=settings.going_on):
        if not settings.collecting:
            check_no_batches(output, forget=settings.fresh)
        kept = output if output.is_file() or not output.exists() else None
        work = _Running(output=kept, stamp=stamp, budget=settings.budget)
        summary = _paid(work, judge, source, output, settings, on_begin, on_row)
    return summary


def _paid(
    work: _Running,
    judge: LoadedJudge,
    source: Source,
    output: Path | TextIO,
    settings: RunSettings,
    on_begin: Callable[[Plan], None],
    on_row: Callable[[], None],
) -> Summary:
    beside = work.output and work.output.with_name(f"{work.output.stem}.rejected.jsonl")
    first = settings.shard.first
    rejected = settings.rejects or beside if first else None  # the others count them only
    with ExitStack() as stack:
        stack.enter_context(seldom_collected())
        job = stack.enter_context(paying(work, work.start(settings)))
        state = stack.enter_context(
            RunState(job.checkpoint.folder / "rows.sqlite" if job.checkpoint else None)
        )
        rejects = stack.enter_context(Rejects(rejected))
        for known in (work.output, settings.before):
            if known is not None and known.is_file():
                state.load(_lines_of_before(known, work.stamp, settings.shard))
        survey = Survey(source=source, rejects=rejects, on_bad_row=settings.on_bad_row, shard=settings.shard)
        plan = _planned(survey, state, job, settings)
        on_begin(plan)
        drift = None
        if settings.canary and plan.canary:
            drift = settings.canary.ask(replace(judge, context=job.contexts["canary"]))
        asker = replace(judge, context=job.contexts["judge"]).asker()
        with _written(output, survey, settings, state) as (order, lines):
            run = _Run(asker, survey, state, order, settings, work.stamp, job, on_row)
            summary = run.judged()
        job.unfinished = bool(summary.left or summary.unread or summary.verdicts.get("failed"))
        return replace(
            summary,
            spend=job.ledger.spend().to_json(),
            drift=drift,
            changes=plan.changes if plan.rows is not None else summary.changes,
            beside=survey.beside if first else 0,
            rejected=rejects.count if first else 0,
            rejects=str(rejected or "") if rejects.count else "",
            left_out=tuple(sorted(lines.left_out)),
        )
    raise AssertionError("nothing above suppresses an exception")


def _lines_of_before(output: Path, stamp: Mapping[str, Any], shard: Shard) -> Iterator[tuple[Seen, Known]]:
    hint = "name another output file"
    try:
        for number, line in lines_in(output):
            try:
                line["judge"], line["status"]
                for name in (name for name, value in stamp.items() if line.get(name) != value):
                    said = f"written with {name} {line.get(name)!r}, not {stamp[name]!r}"
                    raise CheckpointError(f"{output}:{number}: {said}", hint=hint)
                found = known_of(line)
            except (AttributeError, ValueError, KeyError, TypeError) as error:
                raise CheckpointError(f"{output}:{number}: not a line of a run", hint=hint) from error
            if shard.has(found[0][2]):
                yield found
    except GoldError as error:
        raise CheckpointError(error.message, hint=hint) from error


def _planned(survey: Survey, state: RunState, job: PaidJob, settings: RunSettings) -> Plan:
    again = survey.source.can_be_read_again
    if again:
        survey.all(state)
        survey.check_kept(settings.keep or ())
    to_ask = state.to_ask(failed_only=settings.retry_failed) if again else None
    return Plan(
        rows=survey.rows if again else None,
        to_ask=to_ask,
        canary=[case for case, _ in settings.canary.rows] if settings.canary and to_ask != 0 else (),
        shown=survey.shown,
        spent=job.meter.outstanding,
        changes=state.changes() if again else Changes(),
        trouble=lambda: job.contexts["judge"].trouble,
    )


@contextmanager
def _written(
    output: Path | TextIO, survey: Survey, settings: RunSettings, state: RunState
) -> Iterator[tuple[Order, Lines]]:
    """Open the output; one that is continued is replaced at the end by another with all lines in their order."""
    place, part = output, None
    if isinstance(output, Path) and (flat(output) or (output.is_file() and output.stat().st_size)):
        part = place = output.with_name(f".{output.name}.part")
    new = isinstance(output, Path) and not output.exists()
    names = tuple(survey.columns) if settings.keep is None else settings.keep
    lines = lines_to(place, str(output), [kept_name(name) for name in names])
    order: Order = InOrder(lines, state) if settings.ordered else AsTheyCome(lines)
    try:
        try:
            yield order, lines
        finally:  # whatever ended the run: what is known need not wait any more
            order.flush()
            lines.close()
        if part is not None and isinstance(output, Path) and (part.stat().st_size or survey.empty):
            part.replace(output)
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
        elif new and not survey.empty and isinstance(output, Path) and _nothing_in(output):
            output.unlink()


def _nothing_in(output: Path) -> bool:
    return output.is_file() and not output.stat().st_size


class _Run:
    """The rows of a run on their way through the judge."""

    def __init__(
        self,
        asker: Asker,
        survey: Survey,
        state: RunState,
        order: Order,
        settings: RunSettings,
        stamp: Mapping[str, Any],
        job: PaidJob,
        on_row: Callable[[], None],
    ) -> None:
        self._asker, self._survey, self._state, self._order = asker, survey, state, order
        self._settings, self._stamp, self._job, self._on_row = settings, stamp, job, on_row
        self._counts = Counts(asker.judge)
        self._asking: dict[str, asyncio.Event] = {}

    def judged(self) -> Summary:
        """Judge all rows, or as many as the limits allow.

        Raises:
            ModelError: the model cannot be used at all: not one row has been answered.
        """
        stopped: dict[str, Any] = {}
        try:
            collect(self._all())
        except BudgetExhausted as stop:
            stopped = {
                "stopped": "; ".join(said for said in (str(stop), self._job.silence) if said),
                "signal": stop.signal if isinstance(stop, StopRequested) else None,
            }
        except ModelError as error:
            if not self._counts.answered:
                raise
            stopped = {"stopped": error.message}
        survey = self._survey
        found = replace(
            self._counts.summary(survey.rows),
            unread=not survey.whole,
            **stopped,
        )
        once = survey.whole and not survey.source.can_be_read_again
        return replace(found, changes=self._state.changes()) if once else found

    async def _all(self) -> None:
        survey = self._survey
        again = survey.source.can_be_read_again
        rows = Feed(enumerate(survey.again() if again else survey.found(self._state)))

        async def take() -> tuple[int, NewRow] | None:
            if (signal := self._job.meter.signal) is not None:
                raise StopRequested(signal)
            return await rows.take()

        with self._asker.ready():
            try:
                await flow(take, self._one, concurrency=self._asker.concurrency)
            except (BudgetExhausted, ModelError):
                if (
                    again and self._state.knows_old
                ):  # lines of before that stand further down must not be lost
                    for number, row in rows.rest():
                        if known := self._state.known(row.case.id):
                            self._give(number, row, known)
                            if known.status != "failed":
                                self._counts.add_known(known)
                raise
            finally:
                rows.close()

    async def _one(self, place: tuple[int, NewRow]) -> None:
        number, row = place
        case = row.case
        while (asked := self._asking.get(case.id)) is not None:
            await asked.wait()
        known = self._state.known(case.id)
        if known is not None and (known.new or known.status != "failed" or self._settings.collecting):
            self._counts.add_known(known)
            self._give(number, row, known)
            self._on_row()
        elif known is None and self._settings.retry_failed:
            self._order.give(number, None)
        else:
            await self._ask(number, row)

    async def _ask(self, number: int, row: NewRow) -> None:
        answered = self._asking[row.case.id] = asyncio.Event()
        try:
            verdict = await self._asker.judged(row.case)
            said = said_of(self._asker.judge, row.case, verdict)
            known = Known(row=row.row, status=verdict.status, said=said, new=True)
            self._state.keep(row.case.id, known)
        except AnswerPending:
            self._order.give(number, None)
            self._on_row()
            return
        finally:
            del self._asking[row.case.id]
            answered.set()
        self._give(number, row, known)
        self._counts.add(verdict)
        self._on_row()
        if not self._settings.collecting:  # nothing is spent on what follows
            self._asker.note(verdict)

    def _give(self, number: int, row: NewRow, known: Known) -> None:
        line = line_of(row, known, self._stamp, self._settings.keep)
        self._order.give(number, json_line(line))
