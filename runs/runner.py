"""Running a judge on new rows: each is judged once and has its line in the output, and memory stays flat."""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from dspy import LMError

from ..cases import Case
from ..engines.ledger import Spend
from ..engines.meter import Amount, Budget
from ..errors import AnswerPending, BudgetExhausted, CheckpointError, GoldError, ModelError, StopRequested
from ..gold.new_rows import NewRow, Source
from ..gold.rejects import Rejects
from ..gold.writing import json_line
from ..keeping.loading import LoadedJudge
from ..keeping.paying import PaidJob, Start, paying
from ..programs.asking import Asker
from ..programs.together import run_to_end, work_through
from ..programs.verdicts import FIRST
from .batch_store import check_no_batches
from .canary import Canary
from .feeding import Feed, seldom_collected
from .lines import OF_RUN, RowKey, WrittenVerdict, line_of_row, read_line, verdict_parts
from .outputs import Order, checkpoint_of, claimed, is_csv, lines_in, part_of, put, rejected_of
from .shards import WHOLE, Shard
from .state import RunState
from .summary import Summary
from .survey import Survey

_AHEAD = 100  # rows that are embedded together before the first of them is asked about, at most


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How rows are judged into an output."""

    budget: Budget = field(default_factory=Budget)  # hard limits
    # continue what an earlier run of the same kind left; rows that failed are asked again
    resume: bool = False
    fresh: bool = False  # forget an unfinished run of this output
    rejects: Path | None = None  # the file for rows that cannot be used; default: beside the output
    # columns of the input that travel into the output; ``None`` for all that are not judged
    keep: Sequence[str] | None = None
    shard: Shard = WHOLE  # which rows of the input are judged; default: all
    # answers come in batches: a row without its own is left, and ``resume`` leaves failed ones so
    collecting: bool = False
    # what is asked before them, to see whether the model drifted; ``None`` for nothing
    canary: Canary | None = None
    before: Path | None = None  # an output whose lines are known, besides those of the own one


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """The plan of a run, before it begins."""

    rows: int | None  # of the input; ``None`` if it can be read only once
    to_ask: int | None  # different cases among them that have to be asked about; ``None`` likewise
    shown: Sequence[Case]  # a few cases, by which a prompt can be measured
    spent: Amount  # what earlier starts have spent
    canary: Sequence[Case] = ()  # cases that are asked before; none if no row is left to be asked
    # tells what is waited for and what went wrong, in words; empty while all goes well
    trouble: Callable[[], str] = str


def run_judge(
    judge: LoadedJudge,
    source: Source,
    output: Path | TextIO,
    *,
    settings: RunSettings | None = None,
    on_begin: Callable[[RunPlan], None] = lambda plan: None,
    on_row: Callable[[], None] = lambda: None,
    on_first_replies: Callable[[Spend], None] | None = None,
) -> Summary:
    """Judge the rows of a source and write a line for each; limits hold over all that ``resume`` continues."""
    # at a limit or signal the rows in flight are finished as far as they are paid, and the others are left
    settings = settings or RunSettings()
    work = _Running(
        judge=judge,
        source=source,
        output=output,
        settings=settings,
        on_begin=on_begin,
        on_row=on_row,
        on_first_replies=on_first_replies,
    )
    if not isinstance(output, Path):
        return work.done()
    files = [source.name] if source.records is None else []
    with claimed(output, files, going_on=settings.resume):
        if not settings.collecting:
            check_no_batches(output, forget=settings.fresh)
        return work.done()


def plan_of(judge: LoadedJudge, source: Source, settings: RunSettings, known: Iterable[Path] = ()) -> RunPlan:
    """Return the plan of all shards of a source, after the rows in their ``known`` files."""
    survey = Survey(source=source, rejects=Rejects(None))
    with RunState(None) as state:
        for path in known:
            state.load(_earlier_verdicts(path, judge.stamp(), WHOLE))
        survey.all(state)
        survey.check_kept(settings.keep or ())
        to_ask = sum(state.waiting())
    return RunPlan(rows=survey.rows, to_ask=to_ask, shown=survey.shown, spent=Amount())


@dataclass(frozen=True, kw_only=True)
class _Running:
    """The judging of rows into an output, as something to be paid for: what :func:`run_judge` takes."""

    judge: LoadedJudge
    source: Source
    output: Path | TextIO
    settings: RunSettings
    on_begin: Callable[[RunPlan], None]
    on_row: Callable[[], None]
    on_first_replies: Callable[[Spend], None] | None = None
    roles: tuple[str, ...] = ("judge", "canary")  # whose answers are kept apart

    @property
    def budget(self) -> Budget:
        return self.settings.budget

    def fingerprint(self) -> dict[str, Any]:
        """Return whose answers go where: which rows is the file's own business."""
        return {"run": str(self.file and os.path.realpath(self.file)), **self.stamp}

    @cached_property
    def stamp(self) -> Mapping[str, Any]:
        return self.judge.stamp()

    @cached_property
    def file(self) -> Path | None:
        """The output, if it can be continued: its checkpoint stands beside it, and goes with it."""
        output = self.output if isinstance(self.output, Path) else None
        return output if output and (output.is_file() or not output.exists()) else None

    @property
    def start(self) -> Start:
        root = self.file and checkpoint_of(self.file)
        return Start(
            root=root,
            resume=self.settings.resume,
            fresh=self.settings.fresh,
            on_first_replies=self.on_first_replies,
        )

    @property
    def rejected(self) -> Path | None:
        """The file of rows that cannot be used: one shard has them all, the others count them only."""
        beside = self.file and rejected_of(self.file)
        return self.settings.rejects or beside if self.settings.shard.first else None

    def done(self) -> Summary:
        """Do it, from the first reading of the rows to the last line. Raises what :func:`run_judge` raises."""
        settings, rejects = self.settings, Rejects(self.rejected)
        rejects.check_apart(self.source.name, *([self.file] if self.file else []))
        with ExitStack() as stack:
            stack.enter_context(seldom_collected())
            job = stack.enter_context(paying(self, self.start))
            kept = job.checkpoint.folder / "rows.sqlite" if job.checkpoint else None
            state = stack.enter_context(RunState(kept))
            stack.enter_context(rejects)
            for output in (self.file, settings.before):
                if output is not None and output.is_file():
                    state.load(_earlier_verdicts(output, self.stamp, settings.shard))
            survey = Survey(source=self.source, rejects=rejects, shard=settings.shard)
            plan = self._planned(survey, state, job)
            self.on_begin(plan)
            drift = None
            if settings.canary and plan.canary:
                drift = settings.canary.ask(replace(self.judge, context=job.contexts["canary"]))
            # A judge that cannot be connected fails here, where nobody reads ahead yet.
            asker = replace(self.judge, context=job.contexts["judge"]).asker()
            with _written(self, survey) as order:
                summary = _Rows(self, asker, survey, state, order, job).judged()
            job.unfinished = bool(summary.left or summary.unread or summary.verdicts.get("failed"))
            aside: dict[str, Any] = {"beside": survey.beside, "rejected": rejects.count}
            return replace(
                summary,
                spend=job.ledger.spend().to_json(),
                drift=drift,
                empty=survey.blank,
                rejects=str(rejects.path or "") if rejects.count else "",
                **(aside if settings.shard.first else {}),
            )
        raise AssertionError("nothing above suppresses an exception")

    def _planned(self, survey: Survey, state: RunState, job: PaidJob) -> RunPlan:
        known = RunPlan(
            rows=None,
            to_ask=None,
            canary=[case for case, _ in self.settings.canary.rows] if self.settings.canary else (),
            shown=survey.shown,
            spent=job.meter.outstanding,
            trouble=lambda: job.contexts["judge"].trouble,
        )
        if not self.source.can_be_read_again:
            return known
        survey.all(state)
        survey.check_kept(self.settings.keep or ())
        to_ask = sum(state.waiting())
        canary = known.canary if to_ask else ()
        return replace(known, rows=survey.rows, to_ask=to_ask, canary=canary)


def _earlier_verdicts(
    output: Path, stamp: Mapping[str, Any], shard: Shard
) -> Iterator[tuple[RowKey, WrittenVerdict]]:
    """Yield the verdicts of an output on the cases of a shard; refuse lines of another judge or sampling."""
    hint = "name another output file"
    try:
        for number, line in lines_in(output):
            try:
                key, verdict = read_line(line)
            except (AttributeError, ValueError, KeyError, TypeError) as error:
                raise CheckpointError(f"{output}:{number}: not a line of a run", hint=hint) from error
            for name in OF_RUN:
                if line.get(name) != stamp.get(name):
                    other = f"written with {name} {line.get(name)!r}, not {stamp.get(name)!r}"
                    raise CheckpointError(f"{output}:{number}: {other}", hint=hint)
            if shard.has(key.case_id):
                yield key, verdict
    except GoldError as error:
        raise CheckpointError(error.message, hint=hint) from error


@contextmanager
def _written(work: _Running, survey: Survey) -> Iterator[Order]:
    """Open the output; one that is continued is replaced at the end by another with all lines in their order."""
    output = work.output
    if not isinstance(output, Path):
        with closing(Order(output)) as order:
            yield order
        return
    whole = is_csv(output) or (output.is_file() and output.stat().st_size > 0)
    path, new = part_of(output) if whole else output, not output.exists()
    try:
        with path.open("w", encoding="utf-8") as stream, closing(Order(stream)) as order:
            yield order
        if whole and (path.stat().st_size or survey.empty):
            put(path, output)
    finally:
        if whole or (new and not survey.empty and path.is_file() and not path.stat().st_size):
            path.unlink(missing_ok=True)


@dataclass
class _Rows:
    """The rows of a run on their way through the judge."""

    work: _Running
    asker: Asker
    survey: Survey
    state: RunState
    order: Order
    job: PaidJob
    asking: dict[str, asyncio.Event] = field(default_factory=dict)
    counts: Summary = field(default_factory=Summary)
    writes: bool = True  # whether rows come in the order of the input, so that their lines are written
    early: set[int] = field(default_factory=set)  # numbers of rows that were judged before their turn

    def judged(self) -> Summary:
        """Judge all rows, or as many as the limits allow."""
        counts = self.counts
        try:
            run_to_end(self._all())
        except BudgetExhausted as stop:
            counts.stopped = "; ".join(filter(None, (str(stop), self.job.no_answer_words)))
            counts.signal = stop.signal if isinstance(stop, StopRequested) else None
        except ModelError as error:
            if not counts.answered:
                raise
            counts.stopped = error.message
        counts.rows, counts.unread = self.survey.rows, not self.survey.whole
        counts.end(self.asker.judge)
        return counts

    async def _all(self) -> None:
        """Judge rows that were never asked about, then all others in their order, those that failed before too."""
        source, state = self.survey.source, self.state
        async with self.asker.ready():
            if source.can_be_read_again and not self.work.settings.collecting:
                never_asked, failed = state.waiting()
                if never_asked and failed:
                    await self._judge_never_asked()
            await self._judge_in_order()

    async def _judge_never_asked(self) -> None:
        """Judge the rows that were never asked about; their lines are written later, in the order of the input."""
        # A row that failed may fail again, and must not keep the run from the others.
        rows = Feed(enumerate(self.survey.again()))
        take = self._taking(rows, deque(), self._never_asked)
        self.writes = False
        try:
            await work_through(take, self._judge, concurrency=self.asker.settings.concurrency)
        except (BudgetExhausted, ModelError):
            self.writes = True
            self._give_known(enumerate(self.survey.again()))
            raise
        finally:
            self.writes = True
            rows.close()

    async def _judge_in_order(self) -> None:
        """Judge the rows that are left in the order of the input, and write the lines of all."""
        survey = self.survey
        again = survey.source.can_be_read_again
        rows = Feed(enumerate(survey.again() if again else survey.found(self.state)))
        ahead = deque[tuple[int, NewRow]]()
        try:
            await work_through(
                self._taking(rows, ahead), self._judge, concurrency=self.asker.settings.concurrency
            )
        except (BudgetExhausted, ModelError):
            if again and self.state.has_earlier:  # lines of before that stand further down must not be lost
                self._give_known(chain(ahead, rows.rest()))
            raise
        finally:
            rows.close()

    def _taking(
        self,
        rows: "Feed[tuple[int, NewRow]]",
        ahead: "deque[tuple[int, NewRow]]",
        wanted: Callable[[NewRow], bool] = lambda row: True,
    ) -> Callable[[], Awaitable[tuple[int, NewRow] | None]]:
        """Return a function that takes the next row to judge; ``ahead`` holds rows that are embedded together."""
        turn = asyncio.Lock()

        async def next_row() -> tuple[int, NewRow] | None:
            while (numbered := await rows.take()) is not None:
                if wanted(numbered[1]):
                    return numbered
            return None

        async def take() -> tuple[int, NewRow] | None:
            if (signal := self.job.meter.signal) is not None:
                raise StopRequested(signal)
            if not self.asker.embedded:
                return await next_row()
            async with turn:
                if not ahead and (first := await next_row()) is not None:
                    following = rows.ready(_AHEAD - 1)
                    ahead.append(first)
                    ahead.extend(item for item in following if wanted(item[1]))
                    with suppress(LMError):  # a row alone may be embedded, or fail, when it is asked about
                        await self.asker.embed([row.case for _, row in ahead if not self._final(row.case)])
                return ahead.popleft() if ahead else None

        return take

    def _never_asked(self, row: NewRow) -> bool:
        """Whether no earlier start has asked about the case of a row."""
        written = self.state.verdict(row.case.id)
        return written is None or written.new

    def _give_known(self, rows: Iterable[tuple[int, NewRow]]) -> None:
        """Give the lines of rows that are known, when the run ends before it has come to them."""
        for number, row in rows:
            written = self.state.verdict(row.case.id)
            if written is None:
                continue
            self._give(number, row, written)
            if number not in self.early and written.status != "failed":
                self.counts.add_written(self.asker.judge, written)

    async def _judge(self, numbered: tuple[int, NewRow]) -> None:
        """Give a row its line: what is known of its case, or what is answered now."""
        number, row = numbered
        case = row.case
        if self.writes and number in self.early:
            written = self.state.verdict(case.id)
            if written is not None:
                self._give(number, row, written)
                return
        while (asked := self.asking.get(case.id)) is not None:
            await asked.wait()
        written = self._final(case)
        if written is not None:
            self.counts.add_written(self.asker.judge, written)
            self._give(number, row, written)
            self.work.on_row()
        else:
            await self._ask(number, row)

    def _final(self, case: Case) -> WrittenVerdict | None:
        """Return the verdict on a case that needs not be asked about again; ``None`` without one."""
        written = self.state.verdict(case.id)
        if written is None:
            return None
        final = written.new or written.status != "failed" or self.work.settings.collecting
        return written if final else None

    async def _ask(self, number: int, row: NewRow) -> None:
        """Ask about a case that nobody asks about yet; rows of the same case wait meanwhile."""
        answered = self.asking[row.case.id] = asyncio.Event()
        try:
            verdict = await self.asker.judged(row.case)
            parts = verdict_parts(self.asker.judge, row.case, verdict)
            written = WrittenVerdict(row=row.row, status=verdict.status, parts=parts, new=True)
            self.state.keep(row.case.id, written)
        except AnswerPending:
            self.order.give(number, None)
            self.work.on_row()
            return
        finally:
            del self.asking[row.case.id]
            answered.set()
        self._give(number, row, written)
        self.counts.add(self.asker.judge, verdict)
        self.work.on_row()
        replies = self.counts.answered - self.counts.refused
        unread = self.counts.unread_replies
        if replies == FIRST and 2 * unread > FIRST and self.work.judge.finds_adapter:
            raise ModelError(
                f"{unread} of the first {FIRST} replies cannot be read: {verdict.error}; try --adapter json, or a "
                "larger --model; --adapter chat goes on all the same"
            )
        if not self.work.settings.collecting:  # nothing is spent on what follows
            self.asker.note(verdict)

    def _give(self, number: int, row: NewRow, written: WrittenVerdict) -> None:
        """Write the line of a row, or remember that the row is judged where it came before its turn."""
        if not self.writes:
            self.early.add(number)
            return
        line = line_of_row(row, written, self.work.stamp, self.work.settings.keep)
        self.order.give(number, json_line(line))
