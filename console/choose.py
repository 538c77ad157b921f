"""``jurist artifacts choose``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from rich.text import Text

from ..choosing import Choosing, choose
from ..engines.meter import Budget
from .common import human, print_json, progress, store_of
from .tables import scores_table

__all__ = ["run"]


def run(arguments: Namespace) -> None:
    """Prove another candidate, keep it, and print the proof and the artifact's path."""
    console = human()
    with progress(None, "proving") as bar:

        def begin(text: str, total: int) -> None:
            console.print(Text(text))
            bar.update(bar.task_ids[0], total=total)

        chosen = choose(
            _choosing(arguments, begin, lambda: bar.advance(bar.task_ids[0])), store_of(arguments)
        )
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


def _choosing(arguments: Namespace, begin: Callable[[str, int], None], tick: Callable[[], None]) -> Choosing:
    return Choosing(
        ref=arguments.artifact,
        candidate=arguments.candidate,
        gold=arguments.gold,
        api_base=arguments.api_base,
        timeout=arguments.timeout,
        budget=Budget(calls=arguments.max_calls, cost=arguments.max_cost),
        concurrency=arguments.concurrency,
        force=arguments.force,
        resume=arguments.resume,
        fresh=arguments.fresh,
        begin=begin,
        tick=tick,
    )
