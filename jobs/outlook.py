"""What a compilation will cost, before anything is sent: calls, tokens and dollars, each as a range.

The fewest calls are those that the optimizer says it needs to start with, the most are what the budget leaves
beside the proof; how far an optimizer goes in between depends on what it finds. Tokens are measured on prompts that
the judge's own program renders from a few cases: the basic one for the lower end, and one with as many
demonstrations as the optimizer may add for the upper end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.models import Model, connect
from ..gold.splits import Split
from ..optimizers.base import Job, Optimizer
from ..optimizers.registry import make
from ..optimizers.setting import Setting
from ..programs.asking import Asker, room_for
from ..programs.state import PromptState
from .compiling import Plan
from .forecast import Rate, Span, counted, free, price_of, rate, some, spanned
from .proving import model_under

__all__ = ["Outlook", "models_of", "outlook"]


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """An estimate for one plan.

    Attributes:
        train, dev, test: cases of each part.
        optimizing: calls of the optimizer, the proposer's included.
        proving: calls of the proof: one program on the sealed test if no better prompt was found, else two.
        calls: both together; never more than the budget.
        billed: whether any call goes to a model other than the offline engine.
        tokens: input and output, of prompts and visible replies; ``None`` if not known.
        cost: US dollars; ``None`` if a price or the tokens are not known.
        unpriced: models whose price is not known.
        payable: whether the budget's calls pay for the optimizer's smallest run and the whole proof.
    """

    train: int
    dev: int
    test: int
    optimizing: Span
    proving: Span
    calls: Span
    billed: bool
    tokens: Span | None
    cost: Span | None
    unpriced: tuple[str, ...]
    payable: bool

    @property
    def words(self) -> str:
        """One line for people."""
        tokens = f"about {spanned(self.tokens, counted)} tokens" if self.tokens else "tokens not known"
        return (
            f"{self.train} train, {self.dev} dev and {self.test} test cases: optimizing "
            f"{spanned(self.optimizing, str)} calls, the proof {spanned(self.proving, str)}; {tokens}; {self._cost}"
        )

    @property
    def _cost(self) -> str:
        if not self.billed:
            return "no cost"
        if self.unpriced:
            return f"the price of {', '.join(self.unpriced)} is not known"
        if self.cost is None:
            return "cost not known"
        return f"{spanned(self.cost, '{:.2f}'.format)} USD without hidden reasoning"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types; ranges as ``[least, most]``."""
        found = {
            name: value.to_json() if isinstance(value, Span) else value for name, value in vars(self).items()
        }
        return {**found, "unpriced": list(self.unpriced)}


def outlook(plan: Plan) -> Outlook:
    """Estimate calls, tokens and cost of a compilation. Sends nothing.

    Raises:
        GoldError: the gold cannot be split.
        OptimizerError: an unknown optimizer or setting.
    """
    split = plan.split
    optimizer, job = make(plan.optimizer, plan.options), _dry(plan, split)
    basic = rate(lambda: job.asker(plan.judge.basic()), some(split.train))
    held, limit = 2 * room_for(plan.judge, len(split.test), plan.sampling.samples), plan.budget.calls
    # Votes end when they are settled: by more than half of the samples at the earliest.
    quickest = round(len(split.test) * (plan.sampling.samples // 2 + 1) * basic.calls)
    proving = Span(least=min(quickest, held // 2), most=held)
    needed = optimizer.minimum(job)
    # A chain starts only where every part has a share, and may be done after its first part.
    least = getattr(optimizer, "parts", (optimizer,))[0].minimum(job)
    optimizing = Span(least=least, most=None if limit is None else max(least, limit - round(proving.least)))
    first = least + round(proving.least)
    calls = Span(least=first, most=None if limit is None else max(limit, first))
    longest = _longest(job, split, basic, _shown(optimizer))
    models = models_of(plan)
    cost, unpriced = _cost(plan, models, calls, (basic, longest))
    return Outlook(
        train=len(split.train),
        dev=len(split.dev),
        test=len(split.test),
        optimizing=optimizing,
        proving=proving,
        calls=calls,
        billed=not all(map(free, models)),
        tokens=_tokens(plan, calls, (basic, longest)),
        cost=cost,
        unpriced=unpriced,
        payable=limit is None or held + needed <= limit,
    )


def models_of(plan: Plan) -> tuple[Model, ...]:
    """Return all models that a compilation may ask: judge, proposer, and those that the optimizer tries as judges."""
    optimizer = make(plan.optimizer, plan.options)
    names = [
        name for part in getattr(optimizer, "parts", (optimizer,)) for name in getattr(part, "models", ())
    ]
    tried = [model_under(plan.model, Setting(model=name), plan.sampling.samples) for name in names]
    frozen = () if plan.frozen_model is None else (plan.frozen_model,)
    return tuple(dict.fromkeys((plan.model, *frozen, plan.proposer, *tried)))


def _dry(plan: Plan, split: Split) -> Job:
    """Return the plan's job with a context of its own, with models that cost nothing."""
    context, model = CallContext.fresh(), Model(temperature=0.0)
    return Job(
        judge=plan.judge,
        train=split.train,
        dev=split.dev,
        judge_lm=connect(model, context, "judge"),
        proposer_lm=connect(model, context, "proposer"),
        context=context,
        seed=plan.seed,
        sampling=plan.sampling,
        adapter=plan.adapter,
    )


def _shown(optimizer: Optimizer) -> int:
    """Return the most demonstrations that an optimizer may put into a prompt, by its settings."""
    most, parts = 0, getattr(optimizer, "parts", (optimizer,))
    part: Any
    for part in parts:
        known = {item.name: getattr(part, item.name) for item in dataclasses.fields(part)}
        pairs = 2 * known.get("pairs", 0) * known.get("most", 0)  # a pair is two cases
        most = max(most, *known.get("sizes", (0,)), known.get("demos", 0), known.get("labels", 0), pairs)
    return most


def _longest(job: Job, split: Split, basic: Rate, demos: int) -> Rate:
    """Return the rate of the basic prompt with so many demonstrations, by what one adds."""
    labelled = [case for case in split.train if case.known]
    demos = min(demos, len(labelled))
    if not demos or not basic.input_tokens:
        return basic
    added = (
        rate(lambda: _with_demo(job, some(labelled)[0]), some(split.train)).input_tokens - basic.input_tokens
    )
    return dataclasses.replace(basic, input_tokens=basic.input_tokens + demos * max(0.0, added))


def _with_demo(job: Job, case: Case) -> Asker:
    program = job.judge.basic()
    state = PromptState.of(program)
    for name, demo in job.judge.demos(case).items():
        state = state.with_demos(name, (demo,))
    return job.asker(state.apply(program))


def _tokens(plan: Plan, calls: Span, rates: tuple[Rate, Rate]) -> Span | None:
    least, most = (one.input_tokens + one.output_tokens for one in rates)
    if not least:
        return None
    ends = [] if calls.most is None else [calls.most * most]
    ends += [] if plan.budget.tokens is None else [plan.budget.tokens]
    highest = round(min(ends)) if ends else None
    return Span(least=min(round(calls.least * least), highest or round(calls.least * least)), most=highest)


def _cost(
    plan: Plan, asked: Sequence[Model], calls: Span, rates: tuple[Rate, Rate]
) -> tuple[Span | None, tuple[str, ...]]:
    """Return the range of the cost, and the models without a known price."""
    models = [model for model in asked if not free(model)]
    ends: list[list[float]] = [[], []]
    unpriced = []
    for model in models:
        found = [price_of(model, round(one.input_tokens), round(one.output_tokens)) for one in rates]
        if None in found:
            unpriced.append(model.name)
        for end, price in zip(ends, found, strict=True):
            end.append(price or 0.0)
    if unpriced or not rates[0].input_tokens:
        return None, tuple(dict.fromkeys(unpriced))
    cheap = 0.0 if free(plan.model) else min(ends[0], default=0.0)
    limits = [] if calls.most is None else [calls.most * max(ends[1], default=0.0)]
    limits += [] if plan.budget.cost is None else [plan.budget.cost]
    most = round(min(limits), 6) if limits else None
    least = round(calls.least * cheap, 6)
    return Span(least=least if most is None else min(least, most), most=most), ()
