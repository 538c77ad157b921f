"""Constraint Score and its baselines against the scores and marks that gold holds (FAITHQA, section 7 and Figure 3).

    python benchmarks/faithqa.py                                 # bundled faithqa-mini, offline engine
    python benchmarks/faithqa.py --model openai/gpt-6-luna

Trivial baselines stand beside the judges: every constraint satisfied (10 for every response), the mean of all scores,
and one constraint for each clause of the query. The offline engine reads conditions by a few rules and marks by
overlap: its figures say how the tables look.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from jurist.engines.models import Model
from jurist.gold.goldset import Gold
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.programs.faithqa.judges import CONSTRAINTS
from jurist.programs.faithqa.offline import instruction_of

JUDGES = ("constraint-score:basic", "intent-baseline:basic")


def main() -> int:
    """Print two tables."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--gold", default="faithqa-mini", metavar="PATH|NAME")
    options.add_argument("--model", default="offline", metavar="M")
    options.add_argument("--api-base", metavar="URL")
    given = options.parse_args()
    model = Model(name=given.model, api_base=given.api_base)
    deviations = {name: scored(name, given.gold, model) for name in JUDGES}
    gold = [case.labels[0] for case in Gold.load(given.gold, judge_of(JUDGES[0], model).judge).cases]
    deviations["every constraint satisfied"] = [10.0 - one for one in gold]
    deviations["the mean of all scores"] = [fmean(gold) - one for one in gold]
    print(f"{'score':<28}  {'mse':>6}  {'deviation':>9}  {'within one':>10}  {'responses':>9}")
    for name, gaps in deviations.items():
        near = fmean(abs(gap) <= 1 for gap in gaps)
        print(
            f"{name:<28}  {fmean(g * g for g in gaps):6.2f}  {fmean(gaps):9.2f}  {near:10.1%}  {len(gaps):9}"
        )
    mapping(given.gold, model)
    return 0


def judge_of(name: str, model: Model) -> Any:
    """Return a judge with its model."""
    return load_judge(name, store=Store(None), model=model)


def scored(name: str, gold: str, model: Model) -> list[float]:
    """Return how far each score of a judge is from gold's; responses without a score are left out."""
    judge = judge_of(name, model)
    cases = Gold.load(gold, judge.judge).cases
    verdicts = judge.asker().ask_all(cases)
    return [
        verdict.value - case.labels[0]
        for case, verdict in zip(cases, verdicts, strict=True)
        if verdict.value is not None
    ]


def mapping(gold: str, model: Model) -> None:
    """Print the F1 of the mapping beside that of one constraint a clause."""
    judge = judge_of("constraints:basic", model)
    cases = Gold.load(gold, judge.judge).cases
    found = [verdict.value for verdict in judge.asker().ask_all(cases)]
    for name, values in (
        ("constraints:basic", found),
        ("one constraint a clause", [clauses(c) for c in cases]),
    ):
        print(f"{name}: F1 {f1([case.labels[0] for case in cases], values):.3f}")


def clauses(case: Any) -> Any:
    """Return every clause of a query as an action."""
    parts = re.split(r"[,.;:?，。；：？]| and ", instruction_of(case.inputs["query"]))
    items = [
        {"category": "action", "anchor": one.strip(), "text": one.strip()} for one in parts if one.strip()
    ]
    return CONSTRAINTS.answer.scale.of_json(items)


def f1(gold: Sequence[Any], values: Sequence[Any]) -> float:
    """Return the F1 over all queries, by best assignment; an unusable answer has no constraint."""
    same: Any = CONSTRAINTS.answer.scale
    matched = sum(
        gap for one, two in zip(gold, values, strict=True) for _, _, gap in same.match(one, two or ())
    )
    total = sum(len(one) + len(two or ()) for one, two in zip(gold, values, strict=True))
    return float(2 * matched / total)


if __name__ == "__main__":
    sys.exit(main())
