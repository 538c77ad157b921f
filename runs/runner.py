"""Running a judge on new rows: each is judged once and has its line in the output, and memory stays flat."""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from dspy import LMError

from ..cases import Case
from ..engines.ledger import Spend
from ..engines.meter import Amount, Budget, Meter
from ..errors import (
    AnswerPending,
    BudgetExhausted,
    CheckpointError,
    GoldError,
    ModelError,
    StopRequested,
    as_data,
    system_message,
)
from ..gold.new_rows import Source
from ..gold.rejects import Rejects
from ..gold.writing import json_line
from ..keeping.loading import LoadedJudge, naming_move
from ..keeping.paying import PaidJob, Start, paying
from ..programs.asking import Asker
from ..programs.together import run_to_end, work_through
from ..programs.verdict_sources import FIRST_CASES, unreadable_error
from ..programs.verdicts import Verdict
from .feeding import Feed, seldom_collected
from .lines import OF_RUN, JsonObject, RowKey, line_of_case, read_line, written_verdict
from .outputs import (
    OrderedLines,
    check_no_batches,
    checkpoint_of,
    claimed,
    earlier_files_of,
    is_csv,
    keep_left_out,
    lines_in,
    part_of,
    publish,
    rejected_of,
    writing,
)
from .shards import WHOLE, Shard
from .state import RunState
from .summary import Summary
from .survey import Survey

if TYPE_CHECKING:
    from .canary import Canary

_ENGLISH = "en"
_ROWS_EMBEDDED = 100  # together, at most, before the first of them is asked about


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The settings of a run."""

    budget: Budget = field(default_factory=Budget)  # hard limits
    # continue the output of an earlier run of the same judge; rows that failed are asked again
    resume: bool = False
    fresh: bool = False  # forget an unfinished run of this output
    rejects: Path | None = None  # the file for rows that cannot be used; default: beside the output
    # columns of the input that travel into the output; ``None`` for all that are not judged
    keep: Sequence[str] | None = None
    shard: Shard = WHOLE  # which rows of the input are judged; default: all
    # answers come from batches: a row without an answer is left out, and a failed row is not asked again
    collecting: bool = False
    # rows of the proof that are asked about first, to see whether the model drifted; ``None`` for none
    canary: "Canary | None" = None
    before: Sequence[Path] = ()  # other files whose verdicts are taken over


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """The plan of a run, before it begins."""

    rows: int | None  # of the input; ``None`` if it can be read only once
    to_ask: int | None  # different cases among them that have to be asked about; ``None`` as for ``rows``
    shown: Sequence[Case]  # a few cases, by which a prompt can be measured
    spent: Amount  # what earlier starts have spent
    canary: Sequence[Case] = ()  # cases that are asked before; none if no row is left to be asked
    meter: Meter | None = None  # counts what is spent; ``None`` where workers count it
    # returns a line about a present wait or failure; empty while all goes well
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
    """Judge the rows of a source, write a line for each, and return the summary.

    A budget is for the run and those that it resumes together. At a limit or signal the rows in flight are finished if
    their calls were paid, and the others are left out.

    Args:
        judge: the judge.
        source: the rows.
        output: the file for the lines, or a stream, which cannot be resumed.
        settings: how they are judged.
        on_begin: called with the plan before anything is asked.
        on_row: called after each row.
        on_first_replies: called once with what was spent, when the first replies have come.
    """
    settings = settings or RunSettings()
    work = _Run(
        judge=judge,
        source=source,
        output=output,
        settings=settings,
        on_begin=on_begin,
        on_row=on_row,
        on_first_replies=on_first_replies,
    )
    if not isinstance(output, Path):
        return work.run()
    files = [source.name] if source.records is None else []
    with claimed(output, files, going_on=settings.resume):
        if not settings.collecting:
            check_no_batches(output, forget=settings.fresh)
        return work.run()


def plan_of(
    judge: LoadedJudge, source: Source, settings: RunSettings, earlier_outputs: Iterable[Path] = ()
) -> RunPlan:
    """Return the plan of all shards of a source together; ``earlier_outputs`` are those of the shards."""
    survey = Survey(source=source, rejects=Rejects(None))
    with RunState(None) as state:
        for path in earlier_outputs:
            state.load(_earlier_verdicts(path, judge.stamp(), WHOLE))
        survey.all(state)
        survey.check_kept(settings.keep or ())
        to_ask = sum(state.count_waiting())
    return RunPlan(rows=survey.rows, to_ask=to_ask, shown=survey.shown, spent=Amount())


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A run as paid work: the arguments of :func:`run_judge`, and the files that follow from them."""

    judge: LoadedJudge
    source: Source
    output: Path | TextIO
    settings: RunSettings
    on_begin: Callable[[RunPlan], None]
    on_row: Callable[[], None]
    on_first_replies: Callable[[Spend], None] | None = None
    roles: tuple[str, ...] = ("judge", "canary")  # each has its own ledger and journal

    @property
    def budget(self) -> Budget:
        return self.settings.budget

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify the run: the judge and the output. The rows of the input may change."""
        fingerprint = {"run": str(self.file and os.path.realpath(self.file)), **self.stamp}
        if fingerprint.get("language") == _ENGLISH:  # it is asked as where nobody named a language
            del fingerprint["language"]
        return fingerprint

    @cached_property
    def stamp(self) -> Mapping[str, Any]:
        """The judge, model and sampling, as each line of the output has them."""
        return self.judge.stamp()

    @cached_property
    def file(self) -> Path | None:
        """The output if it is a regular file, or will be one, so that the run can be continued; else ``None``."""
        output = self.output if isinstance(self.output, Path) else None
        return output if output and (output.is_file() or not output.exists()) else None

    @property
    def start(self) -> Start:
        """The settings of the start; the checkpoint is beside the output."""
        root = self.file and checkpoint_of(self.file)
        return Start(
            root=root,
            resume=self.settings.resume,
            fresh=self.settings.fresh,
            on_first_replies=self.on_first_replies,
        )

    @property
    def rejected(self) -> Path | None:
        """The file of rows that cannot be used. The first shard writes all of them, and the others only count."""
        if not self.settings.shard.first:
            return None
        return self.settings.rejects or (self.file and rejected_of(self.file))

    def run(self) -> Summary:
        """Read the rows, judge them and write their lines; errors are those of :func:`run_judge`."""
        settings = self.settings
        rejects = Rejects(self.rejected)
        outputs = [self.file] if self.file else []
        rejects.check_apart(self.source.name, *outputs)
        with ExitStack() as stack:
            stack.enter_context(seldom_collected())
            job = stack.enter_context(paying(self, self.start))
            database = job.checkpoint.folder / "rows.sqlite" if job.checkpoint else None
            state = stack.enter_context(RunState(database))
            stack.enter_context(rejects)
            for path in (*self._earlier_files, *settings.before):
                state.load(_earlier_verdicts(path, self.stamp, settings.shard))
            survey = Survey(source=self.source, rejects=rejects, shard=settings.shard)
            plan = self._make_plan(survey, state, job)
            self.on_begin(plan)
            drift = None
            if settings.canary and plan.canary:
                drift = settings.canary.ask(replace(self.judge, context=job.contexts["canary"]))
            # A judge that cannot be connected fails here, before a thread reads rows ahead.
            asker = replace(self.judge, context=job.contexts["judge"]).asker()
            with _open_output(self, survey, partial(self._known_line, state)) as order:
                with naming_move(self.judge):
                    summary = _Rows(self, asker, survey, state, order, job).judged()
                if survey.whole:
                    summary = self._keep_left_out(state, summary)
            job.unfinished = bool(summary.left or summary.unread or summary.verdicts.get("failed"))
            summary = replace(
                summary,
                spend=job.ledger.spend().to_json(),
                drift=drift,
                empty=survey.blank,
                rejects=str(rejects.path or "") if rejects.count else "",
            )
            if settings.shard.first:
                return replace(summary, beside=survey.beside, rejected=rejects.count)
            return summary
        raise AssertionError("nothing above suppresses an exception")

    @cached_property
    def _earlier_files(self) -> list[Path]:
        """The files with verdicts of earlier starts, as they were when the run began."""
        return earlier_files_of(self.file) if self.file else []

    def _keep_left_out(self, state: RunState, summary: Summary) -> Summary:
        """Keep the earlier lines on rows that the input lacks, and return the summary with their number."""
        if self.file is None:
            return summary
        beyond_input = state.list_beyond_input()
        count = keep_left_out(self.file, self._earlier_files, lambda case_id: case_id in beyond_input)
        return summary.with_left_out(count, self.file)

    def _known_line(self, state: RunState, case: Case) -> str:
        """Return the line of a case that has a verdict, as JSON."""
        written = state.verdict(case.id)
        assert written is not None, "only judged cases are given to the order of lines"
        return self.line_of(case, written)

    def line_of(self, case: Case, written: JsonObject) -> str:
        """Return the line of a case with its written verdict, as JSON."""
        line = line_of_case(case, written, self.stamp, self.source.judged_columns, self.settings.keep)
        return json_line(line)

    def _make_plan(self, survey: Survey, state: RunState, job: PaidJob) -> RunPlan:
        """Return the plan; all rows are read for it if they can be read again."""
        canary_cases: list[Case] = []
        if self.settings.canary:
            canary_cases = [case for case, _ in self.settings.canary.rows]
        plan = RunPlan(
            rows=None,
            to_ask=None,
            canary=canary_cases,
            shown=survey.shown,
            spent=job.meter.outstanding,
            meter=job.meter,
            trouble=lambda: job.contexts["judge"].trouble,
        )
        if not self.source.can_be_read_again:
            return plan
        survey.all(state)
        survey.check_kept(self.settings.keep or ())
        to_ask = sum(state.count_waiting())
        if not to_ask:
            canary_cases = []
        return replace(plan, rows=survey.rows, to_ask=to_ask, canary=canary_cases)


def _earlier_verdicts(
    output: Path, stamp: Mapping[str, Any], shard: Shard
) -> Iterator[tuple[RowKey, JsonObject]]:
    """Yield the verdicts in an output on the cases of a shard; raises ``CheckpointError`` for a line of another run."""
    hint = "name another output file"
    try:
        for number, line in lines_in(output):
            try:
                key, written = read_line(line)
            except (AttributeError, ValueError, KeyError, TypeError) as error:
                raise CheckpointError(
                    f"{as_data(output)}:{number}: not a line of a run", hint=hint
                ) from error
            for name in OF_RUN:
                if _setting_in(line, name) != _setting_in(stamp, name):
                    mismatch = f"written with {name} {line.get(name)!r}, not {stamp.get(name)!r}"
                    if name == "language":  # rows that came to the input since may choose another one
                        hint = f"add --language {_setting_in(line, name)} to go on, or {hint}"
                    raise CheckpointError(f"{as_data(output)}:{number}: {mismatch}", hint=hint)
            if shard.has(key.case_id):
                yield key, written
    except GoldError as error:
        raise CheckpointError(error.message, hint=hint) from error
    except OSError as error:
        raise CheckpointError(
            f"{as_data(output)} cannot be read: {system_message(error)}", hint=hint
        ) from error


def _setting_in(stamp: Mapping[str, Any], name: str) -> object:
    """Return a setting of a run from its stamp, or from a line of it; the language is English where none is there."""
    setting = stamp.get(name)
    if name == "language" and setting is None:
        return _ENGLISH
    return setting


@contextmanager
def _open_output(work: _Run, survey: Survey, line_of: Callable[[Case], str]) -> Iterator[OrderedLines[Case]]:
    """Open the output of a run for the lines of its cases.

    A table, or an output with lines, is written to a file beside it, which replaces it when all lines are there.
    """
    output = work.output
    if not isinstance(output, Path):
        with closing(OrderedLines(output, line_of)) as order:
            yield order
        return
    is_replaced = is_csv(output) or (output.is_file() and output.stat().st_size > 0)
    is_new = not output.exists()
    path = part_of(output) if is_replaced else output
    try:
        with ExitStack() as stack:
            with writing(output):
                stream = path.open("w", encoding="utf-8")
            stack.callback(_close, stream, output)
            yield stack.enter_context(closing(OrderedLines(stream, line_of, output)))
        if is_replaced and (path.stat().st_size or survey.empty):
            publish(path, output)
    finally:
        is_useless = is_new and not survey.empty and path.is_file() and not path.stat().st_size
        if is_replaced or is_useless:
            path.unlink(missing_ok=True)


def _close(stream: TextIO, output: Path) -> None:
    """Close the stream of an output, which may still have to be written."""
    with writing(output):
        stream.close()


@dataclass
class _Rows:
    """The judging of the rows of one run."""

    work: _Run
    asker: Asker
    survey: Survey
    state: RunState
    order: OrderedLines[Case]
    job: PaidJob
    # id of a case in flight -> set when it is over
    asking: dict[str, asyncio.Event] = field(default_factory=dict)
    counts: Summary = field(default_factory=Summary)
    writes: bool = True  # whether lines are written now; not while rows are judged out of their order
    # numbers of rows that were judged while no lines were written
    early: set[int] = field(default_factory=set)

    def judged(self) -> Summary:
        """Judge all rows, or as many as the limits allow."""
        counts = self.counts
        try:
            run_to_end(self._all())
        except BudgetExhausted as stop:
            counts.stopped = "; ".join(filter(None, (str(stop), self.job.no_answer_words)))
            counts.signal = stop.signal if isinstance(stop, StopRequested) else None
            counts.hint = self.job.step_before_resuming(counts.signal)
        except ModelError as error:
            if not counts.answered:
                raise
            counts.stopped = error.message
            counts.hint = error.hint
        counts.rows, counts.unread = self.survey.rows, not self.survey.whole
        counts.end(self.asker.judge)
        return counts

    async def _all(self) -> None:
        """Judge the rows; those that were never asked about come before those that failed in an earlier run."""
        source, state = self.survey.source, self.state
        async with self.asker.ready():
            if source.can_be_read_again and not self.work.settings.collecting:
                never_asked, failed = state.count_waiting()
                if never_asked and failed:
                    await self._judge_never_asked()
            await self._judge_in_order()

    async def _judge_never_asked(self) -> None:
        """Judge the rows that were never asked about; :meth:`_judge_in_order` writes their lines."""
        # A row that failed may fail again, and must not end the run before the others are judged.
        rows = Feed(enumerate(self.survey.again()))
        take = self._make_taker(rows, deque(), self._never_asked)
        self.writes = False
        try:
            await work_through(take, self._judge, concurrency=self.asker.settings.concurrency)
        except (BudgetExhausted, ModelError):
            self.writes = True
            self._write_known(enumerate(self.survey.again()))
            raise
        finally:
            self.writes = True
            rows.close()

    async def _judge_in_order(self) -> None:
        """Judge the rows that are left, and write the lines of all rows, in the order of the input."""
        survey = self.survey
        again = survey.source.can_be_read_again
        rows = Feed(enumerate(survey.again() if again else survey.found(self.state)))
        ahead = deque[tuple[int, Case]]()
        try:
            await work_through(
                self._make_taker(rows, ahead), self._judge, concurrency=self.asker.settings.concurrency
            )
        except (BudgetExhausted, ModelError):
            if again and self.state.has_earlier:  # earlier lines of the rows that follow must not be lost
                self._write_known(chain(ahead, rows.take_rest()))
            raise
        finally:
            rows.close()

    def _make_taker(
        self,
        rows: "Feed[tuple[int, Case]]",
        ahead: "deque[tuple[int, Case]]",
        accepts: Callable[[Case], bool] = lambda case: True,
    ) -> Callable[[], Awaitable[tuple[int, Case] | None]]:
        """Return a function that takes the next case to judge, and ``None`` after the last.

        Args:
            rows: the cases of the input, with their numbers.
            ahead: holds the cases that were embedded together and not yet taken.
            accepts: says whether a case is to be judged; others are left out.
        """
        turn = asyncio.Lock()

        async def take_accepted() -> tuple[int, Case] | None:
            while True:
                numbered = await rows.take()
                if numbered is None or accepts(numbered[1]):
                    return numbered

        async def embed_ahead() -> None:
            first = await take_accepted()
            if first is None:
                return
            ahead.append(first)
            for numbered in rows.take_ready(_ROWS_EMBEDDED - 1):
                if accepts(numbered[1]):
                    ahead.append(numbered)
            cases = [case for _, case in ahead if not self._final_verdict(case)]
            with suppress(LMError):  # each row is embedded again by itself when it is asked about
                await self.asker.embed(cases)

        async def take() -> tuple[int, Case] | None:
            signal = self.job.meter.signal
            if signal is not None:
                raise StopRequested(signal)
            if not self.asker.embedded:
                return await take_accepted()
            async with turn:
                if not ahead:
                    await embed_ahead()
                return ahead.popleft() if ahead else None

        return take

    def _never_asked(self, case: Case) -> bool:
        """Say whether no earlier start has asked about a case."""
        return self.state.verdict(case.id) is None or not self.state.is_earlier(case.id)

    def _write_known(self, rows: Iterable[tuple[int, Case]]) -> None:
        """Write the lines of rows that have a verdict, as the run ends before their turn; they are counted too."""
        for number, case in rows:
            written = self.state.verdict(case.id)
            if written is None:
                continue
            self._write_line(number, case, written)
            if number not in self.early and written["status"] != "failed":
                self._count(case, written)

    async def _judge(self, numbered: tuple[int, Case]) -> None:
        """Write the line of a case, with the verdict that it has, or that it is given now."""
        number, case = numbered
        if self.writes and number in self.early:
            early_verdict = self.state.verdict(case.id)
            if early_verdict is not None:
                self._write_line(number, case, early_verdict)
                return
        while case.id in self.asking:
            await self.asking[case.id].wait()
        written = self._final_verdict(case)
        if written is not None:
            self._count(case, written)
            self._write_line(number, case, written)
            self.work.on_row()
        else:
            await self._ask(number, case)

    def _final_verdict(self, case: Case) -> JsonObject | None:
        """Return the written verdict on a case if it need not be asked about again; else ``None``."""
        written = self.state.verdict(case.id)
        if written is None:
            return None
        is_final = written["status"] != "failed" or self.work.settings.collecting
        if is_final or not self.state.is_earlier(case.id):
            return written
        return None

    def _count(self, case: Case, written: JsonObject) -> None:
        """Count a row that was answered by an equal one, or in an earlier start."""
        if self.state.is_earlier(case.id):
            self.counts.add_resumed(written)
        else:
            self.counts.add_equal(self.asker.judge, written)

    async def _ask(self, number: int, case: Case) -> None:
        """Ask about a case, and write its line; other rows with the same inputs wait in :meth:`_judge`."""
        answered = self.asking[case.id] = asyncio.Event()
        try:
            verdict = await self.asker.judged(case)
            written = written_verdict(self.asker.judge, case, verdict)
            self.state.keep(case.id, written)
        except AnswerPending:
            self.order.give(number, None)
            self.work.on_row()
            return
        finally:
            del self.asking[case.id]
            answered.set()
        self._write_line(number, case, written)
        self.counts.add(self.asker.judge, verdict)
        self.work.on_row()
        # Asking goes on after failures of collected answers, as these cost nothing.
        if not self.work.settings.collecting:
            self._check_first_replies(verdict)
            self.asker.note(verdict)

    def _check_first_replies(self, verdict: Verdict) -> None:
        """Refuse a model of whose first replies most cannot be read in a format that may change, or none in any."""
        judge = self.work.judge
        if self.counts.answered - self.counts.refused != FIRST_CASES or judge.names_adapter:
            return
        unread = self.counts.unread_replies
        if judge.finds_adapter and 2 * unread > FIRST_CASES:
            raise ModelError(
                f"{unread} of the first {FIRST_CASES} replies cannot be read: {verdict.error}; try --adapter json, "
                "or a larger --model; --adapter chat goes on all the same"
            )
        if unread == FIRST_CASES:
            raise unreadable_error(verdict.error, judge.adapter)

    def _write_line(self, number: int, case: Case, written: JsonObject) -> None:
        """Write the line of a judged case in its turn; while no lines are written, note that it is judged."""
        if not self.writes:
            self.early.add(number)
        elif self.order.is_next(number):
            self.order.write_next(self.work.line_of(case, written))
        else:
            self.order.give(number, case)
