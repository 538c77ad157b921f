"""Estimates of an experiment, of a compilation, and of a generation. They send nothing."""

import dataclasses
from typing import Any

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Purpose
from ..engines.models import Model, connect
from ..errors import plural
from ..gold.splits import Split
from ..keeping.loading import LoadedJudge
from ..keeping.resolving import verifier_of
from ..optimizers.base import Job, Optimizer
from ..optimizers.registry import make
from ..optimizers.setting import Setting
from ..programs.verdicts import Verdict
from .estimate import Estimate, Part, Rate, Span
from .experiment import Experiment
from .generation import Generation
from .measuring import part_of, rate_of, shared_out, some, tried, with_examples
from .plan import Plan
from .proving import model_under


def foresee(experiment: Experiment) -> Estimate:
    """Estimate an experiment: contenders x cases x repeats."""
    rates: dict[tuple[str, str, str], Rate] = {}
    parts: list[Part] = []
    for name, one in zip(experiment.names, experiment.contenders, strict=True):
        key, number, asker = (
            (one.judge.name, one.state.id, one.adapter),
            experiment.questions(one),
            one.asker(),
        )
        known = rates.get(key)
        whole = part_of(name, asker, one.models, experiment.cases, (number, number), rate=known)
        rates[key] = whole.rate
        verifier = verifier_of(one.judge, one.model, one.verifier)
        parts += shared_out(whole, asker, verifier, experiment.cases)
    return Estimate(what=experiment.size, parts=tuple(parts), budget=experiment.budget)


def judging(judge: LoadedJudge, questions: int, shown: Any) -> Part:
    """Return what labelling takes: from votes that are settled at once to incomplete replies in every fourth sample."""
    sampling = judge.sampling
    number = questions * sampling.fewest, questions * sampling.samples
    who = f"of the judge ({judge.model.name})"
    return part_of("judge", judge.asker(), judge.models, shown, number, who=who)


def foresee_compilation(plan: Plan) -> Estimate:
    """Estimate a compilation.

    The fewest calls are those that the optimizer starts with, the most are what the limit leaves beside the proof;
    how far an optimizer goes in between depends on what it finds. The longest prompts show as many demonstrations as
    the optimizer may add.
    """
    split, optimizer = plan.split, make(plan.optimizer, plan.options)
    job, held, limit = _dry(plan, split), plan.proof_calls, plan.budget.calls
    asker, cases = job.asker(plan.judge.basic()), (*split.train, *split.dev, *split.test)
    basic = rate_of(asker, cases)
    # Votes end when they are settled: by more than half of the samples at the earliest.
    quickest = min(round(len(split.test) * (plan.sampling.samples // 2 + 1) * basic.calls), held // 2)
    # A chain starts only where every part has a share, and may be done after its first part.
    least = getattr(optimizer, "parts", (optimizer,))[0].minimum(job)
    most = None if limit is None else max(least, limit - quickest)
    longest = with_examples(asker, cases, basic, split.train, _shown(optimizer))
    models = _models(plan, optimizer)
    spans = {"optimizing": Span(least=least, most=most), "proving": Span(least=quickest, most=held)}
    who = {"optimizing": "to optimize", "proving": "for the proof"}
    return Estimate(
        what=f"{len(split.train)} train, {len(split.dev)} dev and {len(split.test)} test cases",
        parts=tuple(
            part
            for role, span in spans.items()
            for part in shared_out(
                Part(role=role, models=models, calls=span, rate=basic, longest=longest, who=who[role]),
                asker,
                plan.frozen_model,
                cases,
            )
        ),
        budget=plan.budget,
        needed=optimizer.minimum(job) + held,
    )


def _models(plan: Plan, optimizer: Optimizer) -> tuple[Model, ...]:
    """Return all models that a compilation may ask: judge, proposer, and those that the optimizer tries as judges."""
    names = [
        name for part in getattr(optimizer, "parts", (optimizer,)) for name in getattr(part, "models", ())
    ]
    tried = [model_under(plan.model, Setting(model=name), plan.sampling.samples) for name in names]
    frozen = () if plan.frozen_model is None else (plan.frozen_model,)
    return tuple(dict.fromkeys((plan.model, *frozen, plan.proposer, *tried)))


def _dry(plan: Plan, split: Split) -> Job:
    """Return the plan's job in a context of its own, with models that cost nothing."""
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


def foresee_items(job: Generation) -> Estimate:
    """Estimate a generation; see :func:`sampled_items`."""
    return sampled_items(job)[0]


def sampled_items(job: Generation) -> tuple[Estimate, list[tuple[Case, Verdict]]]:
    """Return the estimate, and the few documents that it was measured on with what was written from them.

    The offline items stand for the real ones, so that prompts grow as they will. Every document is asked about at
    least once, and at most as often as it may be.
    """
    context, shown = CallContext.fresh(), some(job.cases)
    found = list(zip(shown, tried(job.loaded.asker(), shown, context), strict=False))
    parts = tuple(_writing(job, role, context) for role in job.roles)
    return Estimate(what=plural(len(job.cases), "document"), parts=parts, budget=job.budget), found


_ROLES: tuple[Purpose, Purpose] = ("generator", "judge")


def _writing(job: Generation, role: Purpose, context: CallContext) -> Part:
    generator, samples = job.generator, job.loaded.sampling.samples
    if role == "generator":
        each = [generator.writer_calls(case) for case in job.cases]
    else:
        each = [(generator.verifier_calls, generator.verifier_calls)] * len(job.cases)
    model = dict(zip(_ROLES, job.loaded.models, strict=False))[role]
    return Part(
        role=role,
        models=(model,),
        calls=Span(least=sum(low for low, _ in each), most=samples * sum(most for _, most in each)),
        rate=Rate.of(context.ledger.spend(role)),
        who=f"of the {role} ({model.name})",
    )
