"""``jurist artifacts choose``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from rich.text import Text

from ..engines.meter import Budget
from ..jobs.choosing import Choosing, Opening, choose
from ..jobs.estimate import estimate
from ..jobs.forecast import free
from .approving import announce, approve, bill
from .common import Bar, human, print_json, store_of
from .tables import scores_table

__all__ = ["run"]


def run(arguments: Namespace) -> None:
    """Prove another candidate, keep it, and print the proof and the artifact's path."""
    console, budget = human(), Budget(calls=arguments.max_calls, cost=arguments.max_cost)
    with Bar() as bar:

        def begin(opening: Opening) -> None:
            console.print(Text(opening.words))
            real = [model for model in opening.models if not free(model)]
            if real:
                seen = estimate(opening.questions, f"{opening.cases} sealed cases")
                announce(seen, budget, opening.paid)
                approve(bill(seen, budget, opening.paid, real), yes=arguments.yes)
            bar.begin("proving", len(opening.questions) * opening.cases)

        chosen = choose(_choosing(arguments, budget, begin, bar.step), store_of(arguments))
    card, decision = chosen.artifact.card, chosen.proof.decision
    if arguments.json:
        print_json({"artifact": str(chosen.artifact.path), "latest": chosen.latest, **card})
    console.print(scores_table(f"sealed test, {card['gold']['test']} cases", card["scores"], decision.metric))
    console.print(Text(f"decision: {decision.words}"))
    for warning in decision.warnings:
        console.print(Text(f"warning: {warning}"))
    spend = card["spend"]
    console.print(Text(f"spent: {spend['calls']} calls, {spend['tokens']} tokens, {spend['cost']:.4f} USD"))
    kept = "latest" if chosen.latest else "kept, not made latest (--force makes it so)"
    console.print(Text(f"artifact: {chosen.artifact.path} ({kept})"))


def _choosing(
    arguments: Namespace, budget: Budget, begin: Callable[[Opening], None], tick: Callable[[], None]
) -> Choosing:
    return Choosing(
        ref=arguments.artifact,
        candidate=arguments.candidate,
        gold=arguments.gold,
        api_base=arguments.api_base,
        timeout=arguments.timeout,
        budget=budget,
        concurrency=arguments.concurrency,
        force=arguments.force,
        resume=arguments.resume,
        fresh=arguments.fresh,
        begin=begin,
        tick=tick,
    )
