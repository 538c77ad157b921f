"""``jurist compile``."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from ..engines.meter import Budget
from ..errors import UsageError
from ..evaluation.ceiling import Ceiling
from ..evaluation.means import MEANS
from ..evaluation.metrics import METRICS
from ..gold.goldset import Gold
from ..gold.strata import Strata, ceiling_of, strata
from ..jobs.compiling import Compiled, Interrupted, Plan, compile_judge
from ..jobs.outlook import Outlook, models_of, outlook
from ..keeping.artifacts import Store
from ..keeping.checkpoints import Checkpoint
from ..keeping.loading import locate, resolve_sampling
from ..optimizers.registry import DEFAULT
from ..programs.judge import Judge
from ..programs.strictness import with_strictness
from .approving import Bill, approve
from .common import human, model_of, print_json, sampling_of, settings_of, shares_of, store_of
from .history import pareto_table
from .raters import ceiling_card
from .strata import ceiling_line, strata_lines
from .tables import OFFLINE, counts_line, scores_table
from .watching import Watch

__all__ = ["run"]

_DEFAULT_CALLS = 4000


def run(arguments: Namespace) -> int:
    """Compile, print the proof and the artifact's path."""
    store, console = store_of(arguments), human()
    _check_reference(arguments.judge)
    judge, reference = locate(arguments.judge, store)
    if arguments.metric:
        judge = _with_metric(judge, arguments.metric)
    if arguments.strictness:
        judge = with_strictness(judge, arguments.strictness)
    plan = _plan(arguments, judge, reference)
    console.print(
        Text(f"{judge.name} on {plan.gold.name}: {len(plan.gold.cases)} cases, optimizer {plan.optimizer}")
    )
    seen = outlook(plan)
    paid = _paid(plan, store) if arguments.resume else 0
    kept = f"; {paid} answers are paid already" if paid else ""
    if seen.payable:  # else nothing will be sent: the compilation says what the budget lacks
        console.print(Text(f"before: {seen.words}{kept}"))
        approve(_bill(plan, seen, paid, bounded=arguments.max_calls is not None), yes=arguments.yes)
    try:
        with Watch(console, f"{judge.name} on {plan.gold.name}, {plan.optimizer}") as watch:
            compiled = compile_judge(
                plan,
                store=store,
                resume=arguments.resume,
                fresh=arguments.fresh,
                force=arguments.force,
                sink=watch.event,
            )
    except Interrupted as stop:
        _interrupted(console, stop)
        return 1
    raters = _Raters.of(plan)
    if arguments.json:
        about = {"artifact": str(compiled.artifact.path), "latest": compiled.latest}
        print_json({**about, **compiled.artifact.card, **raters.to_json(), "forecast": seen.to_json()})
    _report(console, compiled, plan, raters)
    return 0


def _check_reference(reference: str) -> None:
    """Refuse what names something else than a judge whose prompt can be compiled."""
    if reference.startswith("nli:"):
        raise UsageError(
            f"{reference} is a classifier: it has no prompt that could be compiled",
            hint="compile a judge, and compare it with the classifier by jurist compare",
        )
    name, mark, _ = reference.partition("@") if "/" not in reference else (reference, "", "")
    name, basic = name.removesuffix(":basic"), reference.endswith(":basic")
    if mark or basic:
        raise UsageError(
            f"{reference} is one version of a judge; compiling always starts from the basic prompt",
            hint=f"name the judge alone: jurist compile {name}",
        )


def _plan(arguments: Namespace, judge: Judge, reference: str) -> Plan:
    fit = resolve_sampling(model_of(arguments, sampling_of(arguments).samples), sampling_of(arguments))
    sampling, model = fit.sampling, fit.model
    if fit.note:
        human().print(Text(fit.note))
    gold = arguments.gold or judge.bundled
    if not gold:
        raise UsageError(f"no gold is bundled for {judge.name}", hint="name labelled rows with --gold")
    proposer = None
    if arguments.prompt_model is not None:
        proposer = model_of(arguments, sampling.samples, arguments.prompt_model)
    return Plan(
        judge=judge,
        gold=Gold.load(gold, judge),
        optimizer=arguments.optimizer or DEFAULT,
        options=settings_of(arguments.set),
        model=model,
        prompt_model=proposer,
        budget=Budget(
            calls=_DEFAULT_CALLS if arguments.max_calls is None else arguments.max_calls,
            cost=arguments.max_cost,
            tokens=arguments.max_tokens_total,
            seconds=arguments.max_seconds,
        ),
        seed=arguments.seed,
        shares=shares_of(arguments.split),
        sampling=sampling,
        adapter=arguments.adapter,
        concurrency=arguments.concurrency,
        judge_ref=reference,
    )


def _with_metric(judge: Judge, metric: str) -> Judge:
    if metric not in METRICS and metric not in MEANS:
        names = ", ".join((*METRICS, *MEANS))
        raise UsageError(f"no metric is called {metric!r}", hint=f"use one of {names}")
    return judge.with_metric(metric)


def _bill(plan: Plan, seen: Outlook, paid: int, *, bounded: bool) -> Bill:
    hosted = {model.name for model in models_of(plan) if model.api_base is None}
    calls = None if seen.calls.most is None else max(0, round(seen.calls.most) - paid)
    return Bill(
        calls=calls if seen.billed else 0,
        cost=None if seen.cost is None else seen.cost.most,
        unpriced=tuple(name for name in seen.unpriced if name in hosted),
        unknown=seen.unpriced,
        bounded=bounded,
        capped=plan.budget.cost is not None,
        about="up to",
    )


def _paid(plan: Plan, store: Store) -> int:
    """Return how many answers an interrupted run of the plan has paid."""
    journal = Checkpoint.at(store.checkpoints, plan.fingerprint()).journal
    if not journal.exists():
        return 0
    # Only read, as another process may be writing it. Failed attempts are lines too; within a text, quotes are escaped.
    lines = journal.read_bytes().splitlines(keepends=True)
    return sum(line.endswith(b"\n") and b'"failed":' not in line for line in lines)


def _interrupted(console: Console, stop: Interrupted) -> None:
    console.print(Text(str(stop)))
    board, best = stop.result.board, stop.result.best
    console.print(Text(f"best so far: {best.id} ({best.source}), of {len(board.candidates)} candidates"))
    console.print(Text("run the same command with --resume to continue without paying again"))


@dataclass(frozen=True, kw_only=True)
class _Raters:
    """How far people agree on the rows of the proof, to stand beside its scores."""

    strata: Strata
    ceiling: Ceiling | None

    @classmethod
    def of(cls, plan: Plan) -> _Raters:
        test = {case.id for case in plan.gold.split(plan.seed, plan.shares).test}
        ceiling = ceiling_of(plan.gold, only=test, seed=plan.seed)
        return cls(strata=strata(plan.gold, only=test), ceiling=ceiling)

    def to_json(self) -> dict[str, Any]:
        return {"strata": self.strata.to_json(), "ceiling": self.ceiling and ceiling_card(self.ceiling)}

    def lines(self) -> list[str]:
        return [line for line in (ceiling_line(self.ceiling), *strata_lines(self.strata)) if line]


def _report(console: Console, compiled: Compiled, plan: Plan, raters: _Raters) -> None:
    card = compiled.artifact.card
    decision = compiled.proof.decision
    console.print(scores_table(f"sealed test, {card['gold']['test']} cases", card["scores"], decision.metric))
    for name, counts in card["counts"].items():
        console.print(Text(counts_line(name, counts)))
    if any(card["inconsistent"].values()):
        console.print(Text(f"answers that contradicted themselves: {card['inconsistent']}"))
    for line in raters.lines():
        console.print(Text(line))
    console.print(Text(f"decision: {decision.words}"))
    for warning in decision.warnings:
        console.print(Text(f"warning: {warning}"))
    spend = card["spend"]
    ended = "" if compiled.result.ending == "finished" else f"; ended early: {compiled.result.reason}"
    console.print(
        Text(
            f"spent: {spend['calls']} calls, {spend['tokens']} tokens, {spend['cost']:.4f} USD; "
            f"{len(compiled.result.board.candidates)} candidates{ended}"
        )
    )
    kept = "latest" if compiled.latest else "kept, not made latest (--force makes it so)"
    console.print(Text(f"artifact: {compiled.artifact.path} ({kept})"))
    console.print(pareto_table(compiled.artifact.ref, card["pareto"], card["optimizer"]["candidate"]))
    if plan.model.offline:
        console.print(OFFLINE)
