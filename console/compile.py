"""``jurist compile``."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..compiling import Compiled, Interrupted, Plan, compile_judge
from ..engines.meter import Budget
from ..errors import UsageError
from ..evaluation.ceiling import Ceiling
from ..evaluation.metrics import METRICS
from ..gold import Gold
from ..loading import locate
from ..optimizers.base import Event
from ..optimizers.registry import DEFAULT
from ..programs.judge import Judge
from ..strata import Strata, ceiling_of, strata
from .common import human, model_of, print_json, sampling_of, shares_of, store_of
from .raters import ceiling_card
from .strata import ceiling_line, strata_lines
from .tables import counts_line, scores_table

__all__ = ["run"]

_DEFAULT_CALLS = 4000


def run(arguments: Namespace) -> int:
    """Compile, print the proof and the artifact's path."""
    store, console = store_of(arguments), human()
    judge, reference = locate(arguments.judge, store)
    if arguments.metric:
        judge = _with_metric(judge, arguments.metric)
    plan = _plan(arguments, judge, reference)
    console.print(
        Text(f"{judge.name} on {plan.gold.name}: {len(plan.gold.cases)} cases, optimizer {plan.optimizer}")
    )
    try:
        with _Watch(console) as watch:
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
        print_json({**about, **compiled.artifact.card, **raters.to_json()})
    _report(console, compiled, plan, raters)
    return 0


def _plan(arguments: Namespace, judge: Judge, reference: str) -> Plan:
    sampling = sampling_of(arguments)
    model = model_of(arguments, sampling.samples)
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
        options=_settings(arguments.set),
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
    if metric not in METRICS:
        raise UsageError(f"no metric is called {metric!r}", hint=f"use one of {', '.join(METRICS)}")
    return judge.with_metric(metric)


def _settings(pairs: list[str]) -> dict[str, Any]:
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {pair!r} is not a setting", hint="write it as --set NAME=VALUE")
        settings[name] = value
    return settings


class _Watch:
    """A live line with the last event; every step stays on the screen."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(Text("starting"), console=console, transient=True, refresh_per_second=8)

    def __enter__(self) -> _Watch:
        self._live.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self._live.__exit__(*details)

    def event(self, event: Event) -> None:
        best = f"  value {event.best:.3f}" if event.best is not None else ""
        line = Text(f"{event.calls:>6} calls  {event.text}{best}")
        if event.kind == "candidate":
            self._live.update(line)
        else:
            self._console.print(line)


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
    if plan.model.offline:
        console.print(
            Text("engine: offline, an evidence reader and not a language model; --model names a real one")
        )
