"""What it will cost to write items: a few documents are written from offline, and measured.

The offline items stand for the real ones, so that prompts grow as they will. Every document is asked about at least
once, and at most as often as it may be.
"""

from __future__ import annotations

from dataclasses import replace

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Purpose
from ..engines.models import Model, connect
from ..errors import JuristError
from ..generating.generation import Generation
from ..programs.asking import Sampling, Verdict
from .estimates import Estimate, Part
from .forecast import Rate, Span, some

__all__ = ["foresee_items", "sampled_items"]


def foresee_items(job: Generation) -> Estimate:
    """Estimate a generation. Sends nothing."""
    return sampled_items(job)[0]


def sampled_items(job: Generation) -> tuple[Estimate, list[tuple[Case, Verdict]]]:
    """Return the estimate, and the few documents that it was measured on with what was written. Sends nothing."""
    context, shown = CallContext.fresh(), some(job.cases)
    writer, verifier = (connect(Model(temperature=0.0), context, role) for role in _ROLES)
    dry = replace(job.loaded.asker(), lm=writer, frozen_lm=verifier, sampling=Sampling())
    try:
        found = list(zip(shown, dry.ask_all(shown), strict=True))
    except JuristError:  # a program that cannot take the offline engine's answers is still worth counting
        found = []
    parts = tuple(_part(job, role, context) for role in job.roles)
    return Estimate(what=f"{len(job.cases)} documents", parts=parts, budget=job.budget), found


_ROLES: tuple[Purpose, Purpose] = ("generator", "judge")


def _part(job: Generation, role: Purpose, context: CallContext) -> Part:
    generator, samples = job.generator, job.loaded.sampling.samples
    if role == "generator":
        each = [generator.writer_calls(case) for case in job.cases]
    else:
        each = [(generator.verifier_calls, generator.verifier_calls)] * len(job.cases)
    return Part(
        role=role,
        model=dict(zip(_ROLES, job.loaded.models, strict=False))[role],
        calls=Span(least=sum(low for low, _ in each), most=samples * sum(most for _, most in each)),
        rate=Rate.of(context.ledger.spend(role)),
    )
