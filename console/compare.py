"""``jurist compare``."""

from __future__ import annotations

from argparse import Namespace

from rich.text import Text

from ..comparing import Comparison, compare
from ..gold import Gold
from .common import human, judge_of, print_json, progress, store_of
from .tables import counts_line, plain_table, scores_table

__all__ = ["run"]


def run(arguments: Namespace) -> int:
    """Compare judges on gold."""
    store = store_of(arguments)
    judges = [judge_of(arguments, reference, store) for reference in arguments.judges]
    gold = Gold.load(arguments.gold, judges[0].judge)
    with progress(len(gold.cases) * len(judges) * arguments.repeats, "asking") as bar:
        comparison = compare(
            judges,
            gold,
            repeats=arguments.repeats,
            seed=arguments.seed,
            on_case=lambda: bar.advance(bar.task_ids[0]),
        )
    if arguments.json:
        print_json(comparison.to_json())
    _report(comparison, gold.name)
    return 0


def _report(comparison: Comparison, gold: str) -> None:
    console = human()
    left_out = (
        f", {comparison.left_out} left out because a judge was compiled on them"
        if comparison.left_out
        else ""
    )
    parts = {one.name: one.measured.to_card()["scores"] for one in comparison.contenders}
    console.print(scores_table(f"{gold}: {comparison.cases} cases{left_out}", parts, comparison.metric))
    for one in comparison.contenders:
        console.print(Text(counts_line(one.name, one.measured.to_card()["counts"])))
    first = comparison.contenders[0]
    for one in comparison.contenders[1:]:
        if one.against is None:
            continue
        words = one.against.words.replace("compiled is", f"{first.name} against {one.name}:", 1)
        console.print(Text(f"{words}; p after Holm {one.p_corrected:.3g}"))
    if len(first.values) > 1:
        rows = [
            [one.name, f"{sum(one.values) / len(one.values):.3f}", f"{one.spread:.3f}"]
            for one in comparison.contenders
        ]
        console.print(
            plain_table(
                f"{comparison.metric} over {len(first.values)} repeats", ["judge", "mean", "sd"], rows
            )
        )
