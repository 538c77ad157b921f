"""``jurist gold plan``: what more labels could show."""

from ..arguments.gold import PlanGoldOptions
from ..gold.goldset import Gold
from ..jobs.gold_plan import is_version, plan_gold
from ..keeping.naming import find_judge
from .gold import gold_name
from .printing import Result
from .rows import gold_of, shares_of, store_of


def plan_labels(options: PlanGoldOptions) -> Result:
    """Say what more labels could show, from gold or from the sealed test of a version."""
    store = store_of(options)
    shares = shares_of(options.split)
    gold: str | Gold | None = options.gold or options.source
    if not is_version(options.judge):
        judge = find_judge(options.judge, store)
        gold = gold_of(gold_name(options), judge, options)
    plan = plan_gold(options.judge, gold, shares=shares, store=store)
    return Result(data=plan.to_json(), body=plan.parts())
