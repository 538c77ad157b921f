"""Estimates of an experiment, of a compilation, and of a generation. They send nothing."""

from typing import Any

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Purpose
from ..engines.models import Model, connect
from ..errors import plural
from ..keeping.loading import LoadedJudge
from ..keeping.resolving import verifier_of
from ..optimizers.base import Job, Optimizer
from ..optimizers.candidate import Setting
from ..optimizers.registry import make, settings_of
from ..programs.verdicts import Verdict
from .estimate import Ask, Estimate, Size, ask_of, shared_out, size_of, some, tried, with_examples
from .experiment import Experiment
from .generation import Generation
from .plan import Plan, model_under


def foresee(experiment: Experiment) -> Estimate:
    """Estimate an experiment: contenders x cases x repeats."""
    sizes: dict[tuple[str, str, str], Size] = {}
    asks: list[Ask] = []
    for name, one in zip(experiment.names, experiment.contenders, strict=True):
        key, asker, number = (
            (one.judge.name, one.state.id, one.adapter),
            one.asker(),
            experiment.questions(one),
        )
        whole = ask_of(name, asker, one.models, experiment.cases, (number, number), size=sizes.get(key))
        sizes[key] = whole.size
        asks += shared_out(whole, asker, verifier_of(one.judge, one.model, one.verifier), experiment.cases)
    return Estimate(what=experiment.size, asks=tuple(asks), budget=experiment.budget)


def judging(judge: LoadedJudge, questions: int, shown: Any) -> Ask:
    """Return what labelling takes: from votes that are settled at once to incomplete replies in every fourth sample."""
    number = questions * judge.sampling.fewest, questions * judge.sampling.samples
    return ask_of(
        "judge", judge.asker(), judge.models, shown, number, who=f"of the judge ({judge.model.name})"
    )


def foresee_compilation(plan: Plan) -> Estimate:
    """Estimate a compilation.

    The fewest calls are those that the optimizer starts with, the most are what the limit leaves beside the proof;
    how far an optimizer goes in between depends on what it finds. The longest prompts show as many demonstrations as
    the optimizer may add.
    """
    split, optimizer = plan.split, make(plan.optimizer, plan.options)
    parts: tuple[Any, ...] = getattr(optimizer, "parts", (optimizer,))
    context, offline = CallContext.fresh(), Model(temperature=0.0)
    job = Job.of(
        plan,
        train=split.train,
        dev=split.dev,
        judge_lm=connect(offline, context, "judge"),
        proposer_lm=connect(offline, context, "proposer"),
        context=context,
    )
    held, limit = plan.proof_calls, plan.budget.calls
    asker, cases = job.asker(plan.judge.basic()), (*split.train, *split.dev, *split.test)
    basic = size_of(asker, cases)
    # Votes end when they are settled: by more than half of the samples at the earliest.
    quickest = min(round(len(split.test) * (plan.sampling.samples // 2 + 1) * basic.calls), held // 2)
    # A chain starts only where every part has a share, and may be done after its first part.
    least = parts[0].minimum(job)
    most = None if limit is None else max(least, limit - quickest)
    tried_too = (name for part in parts for name in getattr(part, "models", ()))
    others = (model_under(plan.model, Setting(model=name), plan.sampling.samples) for name in tried_too)
    frozen = () if plan.frozen_model is None else (plan.frozen_model,)
    common: dict[str, Any] = {
        "models": tuple(dict.fromkeys((plan.model, *frozen, plan.proposer, *others))),
        "size": basic,
        "longest": with_examples(asker, cases, basic, split.train, _shown(parts)),
    }
    asks = (
        Ask(role="optimizing", least=least, most=most, who="to optimize", **common),
        Ask(role="proving", least=quickest, most=held, who="for the proof", **common),
    )
    return Estimate(
        what=f"{len(split.train)} train, {len(split.dev)} dev and {len(split.test)} test cases",
        asks=tuple(part for ask in asks for part in shared_out(ask, asker, plan.frozen_model, cases)),
        budget=plan.budget,
        needed=optimizer.minimum(job) + held,
    )


def _shown(parts: tuple[Optimizer, ...]) -> int:
    """Return the most demonstrations that an optimizer may put into a prompt, by its settings."""
    most = 0
    part: Any
    for part in parts:
        known = settings_of(part)[part.name]
        pairs = 2 * known.get("pairs", 0) * known.get("steps", 0)  # a pair is two cases
        theirs = (
            known.get(name) or 0 for name in ("max_bootstrapped_demos", "max_labeled_demos", "max_demos")
        )
        most = max(most, *known.get("sizes", (0,)), *theirs, pairs)
    return most


def foresee_items(job: Generation) -> tuple[Estimate, list[tuple[Case, Verdict]]]:
    """Estimate a generation; with the few documents that it was measured on and what was written from them.

    The offline items stand for the real ones, so that prompts grow as they will. Every document is asked about at
    least once, and at most as often as it may be.
    """
    context, shown = CallContext.fresh(), some(job.cases)
    written = list(zip(shown, tried(job.loaded.asker(), shown, context), strict=False))
    generator, samples = job.generator, job.loaded.sampling.samples
    verifying = (generator.verifier_calls, generator.verifier_calls)
    each = {
        "generator": [generator.writer_calls(case) for case in job.cases],
        "judge": [verifying] * len(job.cases),
    }
    roles: tuple[Purpose, ...] = ("generator", "judge")
    asks = tuple(
        Ask(
            role=role,
            models=(model,),
            least=sum(low for low, _ in each[role]),
            most=samples * sum(most for _, most in each[role]),
            size=Size.of(context.ledger.spend(role)),
            who=f"of the {role} ({model.name})",
        )
        for role, model in zip(roles, job.loaded.models, strict=False)
        if role in job.roles
    )
    return Estimate(what=plural(len(job.cases), "document"), asks=asks, budget=job.budget), written
