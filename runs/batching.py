"""A judge through a Batch API: what a run would ask is sent in batches, and what they bring is read by a run."""

import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.meter import Amount, Budget
from ..engines.models import terms_as_json
from ..errors import BudgetExhausted, CheckpointError, ModelError, UsageError, as_data
from ..gold.new_rows import Source
from ..keeping.loading import LoadedJudge, sample_once
from ..text.files import hide_from_git
from .batch_service import ENDED, BatchEndpoint, BatchService
from .batch_store import Batch, BatchStore
from .outputs import batches_of, check_no_batches, only_process
from .runner import RunPlan, RunSettings, run_judge
from .summary import Summary


@dataclass(frozen=True, kw_only=True)
class Collected:
    """The progress of a run in batches."""

    summary: Summary  # of the rows that have their lines
    batches: tuple[Batch, ...]  # all of them
    pending: int  # requests that wait for their replies
    unsent: int  # those of them that are not sent, as a limit does not allow it

    @property
    def done(self) -> bool:
        """Whether nothing is left to wait for."""
        return not (self.pending or self.summary.stopped)


@contextmanager
def opened(output: Path, *, new: bool = False) -> Iterator[BatchStore]:
    """Open the batches of an output, for this process alone."""
    folder, is_kept = batches_of(output), True
    if new:
        folder.mkdir(parents=True, exist_ok=True)
        hide_from_git(folder)
    elif not folder.exists():
        raise CheckpointError(
            f"no batches of {as_data(output)} are under way", hint="jurist batch submit begins them"
        )
    try:
        with only_process(output), BatchStore(folder / "batches.sqlite") as store:
            if new and store.batches():
                check_no_batches(output, forget=False)
            try:
                yield store
            finally:
                is_kept = bool(store.batches()) and not store.about.get("done")
    finally:
        if not is_kept:
            shutil.rmtree(folder)
            with suppress(OSError):  # the checkpoint of a run is there
                folder.parent.rmdir()


def _amount(spend: Mapping[str, Any]) -> Amount:
    """Return the amount of a budget that a spend takes."""
    if not spend:
        return Amount()
    tokens = spend["input_tokens"] + spend["output_tokens"]
    return Amount(calls=spend["calls"], tokens=tokens, cost=spend["cost"])


@dataclass(frozen=True, kw_only=True)
class BatchRun:
    """A judge, rows and an output, with what has come of their batches so far."""

    store: BatchStore  # of the output's batches
    service: BatchService  # who they are sent to
    judge: LoadedJudge  # who is asked, of an OpenAI-compatible endpoint
    source: Source  # the rows
    output: Path  # the file
    settings: RunSettings  # how rows are judged; its limits hold for what is sent
    on_begin: Callable[[RunPlan], None] = lambda plan: None  # called before each pass over the rows
    on_row: Callable[[], None] = lambda: None  # called after each row that has its line
    probes: bool = False  # whether one row is asked at once before the first batch
    note: Callable[[str], None] = lambda text: None  # takes what a user should know

    def submit(self, facts: Mapping[str, object]) -> Collected:
        """Send what the first pass over the rows asks, and write facts down that later passes need."""
        self.store.tell(facts)
        self.store.tell({"judge": self.judge.fingerprint()})
        return self._sent(*self._pass(resume=False, probes=self.probes))

    def collect(self) -> Collected:
        """Take what batches have brought, write the rows that have their answers, and send what is asked next."""
        if self.store.about["judge"] != self.judge.fingerprint():
            hint = "bring it back, or begin anew with jurist batch submit --fresh"
            raise CheckpointError(
                f"{self.judge.name} is not what the batches of {as_data(self.output)} were made with",
                hint=hint,
            )
        refusals = []
        for batch in self.store.unended():
            refusal = self.service.advance(batch)
            if refusal:
                refusals.append(refusal)
        summary, spent = self._pass(resume=True)
        if refusals:
            hint = "what it brought is kept; jurist batch collect sends the rest of its requests again"
            raise ModelError(refusals[0], hint=hint)
        return self._sent(summary, spent)

    @property
    def waiting(self) -> bool:
        """Whether batches are under way, and none has ended since it was looked at last."""
        under_way = self.store.unended()
        return bool(under_way) and all(self.service.look(batch).status not in ENDED for batch in under_way)

    def _probe(self, case: Case) -> None:
        """Ask about one case at once, and keep what the endpoint refuses: batches are written without it."""
        budget = self.settings.budget
        context = CallContext.fresh(Budget(calls=budget.calls, cost=budget.cost))
        asker = replace(self.judge, context=context, contexts={}).asker()
        once = sample_once(asker.settings.sampling)
        try:
            verdict = replace(asker, settings=replace(asker.settings, sampling=once)).ask(case)
        except BudgetExhausted as stop:
            raise ModelError(f"the probe: {stop}", hint="raise the limit, or add --no-probe") from stop
        except ModelError as error:
            hint = f"{error.hint}; or add --no-probe, where the endpoint has no live API"
            raise ModelError(f"the probe: {error.message}", hint=hint) from error
        finally:
            self.store.tell({"probe": context.ledger.spend().to_json()})
        if verdict.status == "failed":
            self.note(f"the probe was not answered, and the batches are sent all the same: {verdict.error}")
        for model in self.judge.models:
            terms = terms_as_json(model, context)
            if terms:
                BatchEndpoint(model, self.store).take_terms(terms)

    @property
    def probe_spend(self) -> Mapping[str, Any]:
        """The spend of the probe; empty without one."""
        spend: Mapping[str, Any] = self.store.about.get("probe") or {}
        return spend

    def _pass(self, *, resume: bool, probes: bool = False) -> tuple[Summary, Amount]:
        """Judge the rows by what is there; return how far that came, and what all was spent so far."""
        plans: list[RunPlan] = []

        def begin(plan: RunPlan) -> None:
            plans.append(plan)
            self.on_begin(plan)
            if probes and plan.shown:
                self._probe(plan.shown[0])

        with self.store.round():
            summary = run_judge(
                replace(self.judge, reach=lambda model: BatchEndpoint(model, self.store)),
                self.source,
                self.output,
                settings=replace(self.settings, budget=Budget(), collecting=True, resume=resume),
                on_begin=begin,
                on_row=self.on_row,
            )
        return summary, plans[0].spent + _amount(summary.spend) + _amount(self.probe_spend)

    def _sent(self, summary: Summary, spent: Amount) -> Collected:
        unsent = 0
        if not summary.stopped:
            unsent = self.store.cut(self._room(spent))
            for batch in self.store.unended():
                if not batch.id:
                    self.service.advance(batch)
        collected = Collected(
            summary=summary, batches=tuple(self.store.batches()), pending=self.store.pending, unsent=unsent
        )
        self.store.tell({"done": collected.done})
        return collected

    def _room(self, spent: Amount) -> float:
        """Return how many more requests the limits allow, besides those that are under way."""
        limits = self.settings.budget
        flying = self.store.flying
        room = math.inf
        if limits.calls is not None:
            room = limits.calls - spent.calls - flying
        if limits.cost is None:
            return room
        price: float = spent.cost / spent.calls if spent.cost else self.store.about["price"]
        if not price:
            hint = "limit the calls with --max-calls instead"  # the price was stated when the rows were submitted
            raise UsageError("--max-cost cannot be kept: the price is not known", hint=hint)
        return min(room, (limits.cost - spent.cost) // price - flying)
