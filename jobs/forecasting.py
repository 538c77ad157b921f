"""What it will cost to make dialogues: a few are made offline and measured.

The offline dialogues stand for the real ones: they have the turns and lengths that are wished for, so prompts grow
as they will. At least every turn is asked for once, at most as often as it may be.
"""

from __future__ import annotations

from ..engines.channel import CallContext
from ..engines.models import Model, connect
from ..generating.dialogues import Dialogue, converse
from ..generating.generation import Generation
from ..generating.speaking import Speaker
from ..programs.dialogue import Converse
from .estimates import Estimate, Part
from .forecast import Rate, Span, some

__all__ = ["foresee_dialogues", "sampled_dialogues"]


def foresee_dialogues(job: Generation) -> Estimate:
    """Estimate the writing of dialogues. Sends nothing."""
    return sampled_dialogues(job)[0]


def sampled_dialogues(job: Generation) -> tuple[Estimate, list[Dialogue]]:
    """Return the estimate, and the few dialogues that it was measured on. Sends nothing."""
    spoken, found = _dry(job)
    return _estimate(job, spoken), found


def _dry(job: Generation) -> tuple[Rate, list[Dialogue]]:
    context = CallContext.fresh()
    lm = connect(Model(temperature=0.0), context, "generator")
    speaker = Speaker(program=Converse(), lm=lm, adapter=job.adapter)
    found = converse(speaker, some(job.plans), attempts=job.attempts)
    return Rate.of(context.ledger.spend()), found


def _turns(job: Generation) -> int:
    return sum(plan.turns for plan in job.plans)


def _estimate(job: Generation, spoken: Rate) -> Estimate:
    turns = _turns(job)
    part = Part(
        role="generator", model=job.model, calls=Span(least=turns, most=turns * job.attempts), rate=spoken
    )
    return Estimate(what=f"{len(job.plans)} dialogues with {turns} turns", parts=(part,), budget=job.budget)
