"""``jurist gold check | import | split | agreement``."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.text import Text

from ..errors import GoldError
from ..evaluation.agreement import rater_agreement
from ..evaluation.ceiling import human_ceiling
from ..gold.goldset import Gold, describe, import_gold, write_split
from ..gold.leaks import check_leaks
from ..gold.merging import RULES, Merged, merge_gold
from ..gold.strata import rating_columns, strata
from ..keeping.loading import find_judge
from ..programs.answers.infer import closed
from .common import human, print_json, shares_of, store_of
from .raters import agreement_tables, ambiguous_table, ceiling_card, ceiling_table, rules_table
from .strata import strata_lines
from .tables import plain_table

__all__ = ["agreement", "check", "import_", "split"]


def check(arguments: Namespace) -> None:
    """Validate, describe, and try the split."""
    gold = _gold(arguments)
    parts = gold.split(arguments.seed, shares_of(arguments.split))
    check_leaks(parts)
    facts = {
        **describe(gold),
        "split": {name: len(getattr(parts, name)) for name in ("train", "dev", "test")},
    }
    if arguments.json:
        print_json(facts)
        return
    human().print(
        plain_table(
            f"{gold.name}: no problem found",
            ["what", "value"],
            [[key, value] for key, value in facts.items()],
        )
    )


def import_(arguments: Namespace) -> None:
    """Write canonical JSONL."""
    judge, console = find_judge(arguments.judge, store_of(arguments)), human()
    gold = import_gold(arguments.gold, judge, Path(arguments.output), merge=arguments.merge)
    if arguments.merge is None:
        console.print(Text(f"{len(gold.cases)} cases written to {arguments.output}"))
        return
    left_out = gold.skipped - len(gold.ambiguous)
    console.print(
        Text(
            f"{len(gold.cases) + len(gold.ambiguous)} cases written to {arguments.output}, "
            f"{len(gold.ambiguous)} of them without any label; {left_out} that nobody labelled are left out"
        )
    )
    for line in strata_lines(strata(gold)):
        console.print(Text(line))


def split(arguments: Namespace) -> None:
    """Write the parts."""
    parts = _gold(arguments).split(arguments.seed, shares_of(arguments.split))
    check_leaks(parts)
    write_split(parts, Path(arguments.output))
    sizes = ", ".join(f"{name} {len(getattr(parts, name))}" for name in ("train", "dev", "test"))
    human().print(Text(f"{sizes} cases written to {arguments.output}"))


def agreement(arguments: Namespace) -> None:
    """Compare the raters of a gold set, with what each merging rule leaves ambiguous."""
    judge = find_judge(arguments.judge, store_of(arguments))
    # rows that raters labelled and nobody merged yet have no gold label
    gold = Gold.load(arguments.gold, judge, labelled=False)
    ratings, groups = _ratings(gold)
    answer = closed(judge.answer)
    found = rater_agreement(
        ratings, groups=groups, labels=answer.labels, ordered=arguments.ordinal, seed=arguments.seed
    )
    ceiling = human_ceiling(
        ratings, judge.metric, answer.labels, answer.positive, groups=groups, seed=arguments.seed
    )
    merged = {rule: merge_gold(gold, rule)[1] for rule in RULES}
    chosen = merged.get(arguments.merge)
    if arguments.json:
        print_json(
            {
                "gold": gold.name,
                "judge": judge.name,
                **asdict(found),
                "ceiling": ceiling and ceiling_card(ceiling),
                "rules": {rule: _rule_card(one) for rule, one in merged.items()},
                **({"ambiguous": [asdict(one) for one in chosen.ambiguous]} if chosen else {}),
            }
        )
        return
    console = human()
    units = f"{found.units} units with two ratings or more, in {found.groups} groups"
    console.print(
        Text(f"{gold.name}: {len(found.raters)} raters, {units}; {found.skipped} units with fewer ratings")
    )
    for table in agreement_tables(found):
        console.print(table)
    if ceiling:
        console.print(ceiling_table(ceiling))
    else:
        console.print(Text("No human ceiling: no rater has a unit on which the others have a majority"))
    console.print(rules_table(list(merged.values())))
    if chosen and chosen.ambiguous:
        console.print(ambiguous_table(chosen))


def _ratings(gold: Gold) -> tuple[dict[str, list[str | None]], list[str]]:
    """Return rater -> labels and the group, of every unit of the cases that somebody rated."""
    raters = sorted({name for case in gold.cases for name in case.ratings})
    if len(raters) < 2:
        raise GoldError(
            f"{gold.name} has the labels of {len(raters)} raters {raters}",
            hint="agreement is of two raters or more: columns rater:NAME, or 'ratings' in each row",
        )
    return rating_columns(gold.cases)


def _rule_card(merged: Merged) -> dict[str, Any]:
    return {
        "labelled": merged.labelled,
        "ambiguous": len(merged.ambiguous),
        "by_category": merged.by_category,
    }


def _gold(arguments: Namespace) -> Gold:
    return Gold.load(arguments.gold, find_judge(arguments.judge, store_of(arguments)))
