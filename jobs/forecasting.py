"""What it will cost to make dialogues and a dataset of them: a few dialogues are made offline and measured.

The offline dialogues stand for the real ones: they have the turns and lengths that are wished for, so prompts grow
as they will. At least every turn is asked for once, at most as often as it may be. If dialogues are rejected,
there is less to label than the least that is given here.
"""

from __future__ import annotations

from dataclasses import replace

from ..engines.channel import CallContext
from ..engines.models import Model, connect
from ..generating.answers import answers_of
from ..generating.dialogues import Dialogue, converse
from ..generating.generation import Generation
from ..generating.speaking import Speaker
from ..keeping.loading import LoadedJudge
from ..programs.dialogue import Converse
from .estimates import Estimate, Part, judging
from .forecast import Rate, Span, some

__all__ = ["foresee_dataset", "foresee_dialogues"]


def foresee_dialogues(job: Generation) -> Estimate:
    """Estimate the writing of dialogues. Sends nothing."""
    return _estimate(job, _dry(job)[0])


def foresee_dataset(job: Generation, judge: LoadedJudge) -> Estimate:
    """Estimate the writing of dialogues and the labelling of their answers. Sends nothing."""
    spoken, found = _dry(job)
    answers = [answer for one in found if one.turns for answer in answers_of(one.to_json({}))]
    cases = [judge.judge.case(answer.row()) for answer in answers if answer.sentences]
    made = _estimate(job, spoken)
    return replace(made, parts=(*made.parts, judging(judge, _turns(job), cases)))


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
