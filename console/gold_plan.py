"""``jurist gold plan``: what more labels could show."""

from ..arguments.gold import PlanGoldOptions
from ..errors import plural
from ..jobs.gold_plan import GoldPlan, plan_gold
from ..keeping.naming import find_judge
from ..report.table import Table, table
from .gold import gold_name
from .printing import Part, Result
from .rows import gold_of, shares_of, store_of


def plan_labels(options: PlanGoldOptions) -> Result:
    """Say what more labels could show, from gold or from the sealed test of a version."""
    store = store_of(options)
    shares = shares_of(options.split)
    gold = None
    if options.gold or options.source or "@" not in options.judge:
        gold = gold_of(gold_name(options), find_judge(options.judge, store), options)
    plan = plan_gold(options.judge, gold, shares=shares, store=store)
    body: list[Part] = [_plan_words(plan), _forecast_table(plan)]
    body.extend(plan.advice)
    return Result(data=plan.to_json(), body=body)


def _plan_words(plan: GoldPlan) -> str:
    """Return the source of a plan's draws in words, and how many labels show the gain that a sealed test estimated."""
    words = f"{plan.judge}: {plural(plan.labels, 'label')} are there; drawn from {plan.source}"
    if plan.assumed:
        words += f", if {plan.assumed}"
    if plan.estimated_gain is None:
        return words
    words += f"; its sealed test estimated a gain of {plan.estimated_gain:.3f} in {plan.metric}"
    if plan.enough_labels:
        words += f", which about {plan.enough_labels} labels show in four of five compilations"
    elif plan.estimated_gain > 0.0:
        words += ", which even 2,000 labels would mostly not show"
    return words


def _forecast_table(plan: GoldPlan) -> Table:
    """Return a row for each number of labels: the smallest gain that it mostly shows, and the power for some gains."""
    columns = ["labels", "of these test", "groups of test", f"gain in {plan.metric} shown in 4 of 5"]
    for power in plan.forecasts[0].power:
        columns.append(f"shows {power.gain:.3g}")
    rows = []
    for forecast in plan.forecasts:
        smallest_gain = "none"
        if forecast.smallest_gain is not None:
            smallest_gain = f"{forecast.smallest_gain:.2g}"
        row: list[object] = [forecast.labels, forecast.test_labels, forecast.test_groups, smallest_gain]
        for power in forecast.power:
            row.append(f"{power.probability:.0%}")
        rows.append(row)
    return table("", columns, rows)
