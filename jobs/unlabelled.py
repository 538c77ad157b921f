"""A proof by labels where two prompts differ: ask both about rows that nobody labelled, and plan what is labelled."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from ..cases import Case
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import JuristError, UsageError, checked, plural
from ..evaluation.disagreements import apart, fewest_labels
from ..evaluation.intervals import estimated
from ..evaluation.metrics import mean
from ..evaluation.proof import level_of
from ..evaluation.scale import resolve
from ..gold.rows import AMBIGUITY, canonical_row, label_keys
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card_parts import ModelCard
from ..keeping.loaders import load_judge
from ..keeping.loading import LoadedJudge, other_conditions
from ..keeping.paying import Start
from .experiment import Answers, Experiment
from .judges import loaded_of
from .label_plan import LabelPlan, PlannedUnit, decided, drawn, unit_gains
from .sealed_rows import ALPHA, Look, Openings
from .surface import GoldLike, ModelLike, Surface, make_model, open_store, read_gold

LABELS = 40
"""Labels that are planned unless another number is given."""


@dataclass(frozen=True, kw_only=True)
class Unlabelled(Experiment):
    """The basic prompt and a version, asked about rows that the version was neither compiled nor proven on."""

    kind: ClassVar[str] = "prove"

    labels: int = LABELS  # how many to plan, at most
    seed: int = 0  # of the draw

    def __post_init__(self) -> None:
        super().__post_init__()
        if not label_keys(self.version.judge):
            raise UsageError(
                f"the rows of {self.version.judge.name} have no field for a label",
                hint="prove a judge whose rows people can label",
            )

    @property
    def basic(self) -> LoadedJudge:
        """The basic prompt, asked with the same model."""
        return self._judge(0)

    @property
    def version(self) -> LoadedJudge:
        """The compiled one."""
        return self._judge(1)

    def _judge(self, number: int) -> LoadedJudge:
        contender = self.contenders[number]
        assert isinstance(contender, LoadedJudge)
        return contender

    @property
    def artifact(self) -> Artifact:
        """The version's artifact."""
        assert self.version.artifact is not None
        return self.version.artifact

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        proven = {record.case for record in self.artifact.proof_records()}
        fresh: tuple[Case, ...] = super().cases
        return tuple(replace(case, gold=None, ratings={}) for case in fresh if case.id not in proven)

    @cached_property
    def look(self) -> Look:
        return Look(cases=(), opening=0, prompts=frozenset(), counted=False, ledger=Openings())

    @property
    def rows_hash(self) -> str:
        """Of the rows, whatever their labels."""
        return replace(self.gold, cases=self.cases).sha256

    def same(self, plan: LabelPlan | None) -> LabelPlan | None:
        """Return a plan if it is one of these rows, ``None`` where another one is to be drawn."""
        if plan is None or plan.rows["sha256"] == self.rows_hash:
            return plan
        if plan.decision is None:
            raise UsageError(
                f"{plural(len(plan.units), 'label')} on {plan.rows['name']} are planned for {plan.version} and not "
                "decided yet",
                hint=f"label them (jurist prove {plan.version} says how), or add --fresh: another plan counts",
            )
        return None

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.left_out_words, self.version.note

    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint(), "gold": self.rows_hash}


def contenders_of(
    artifact: Artifact,
    store: Store,
    *,
    answering: Callable[[ModelCard], Model] = ModelCard.model,
    verifier: Model | None = None,
    concurrency: int = 8,
) -> tuple[LoadedJudge, LoadedJudge]:
    """Return the basic prompt and the version, both asked as in the version's proof."""
    about = artifact.about
    job = about.job
    if verifier is None and about.verifier:
        verifier = about.verifier.model()
    load = partial(load_judge, store=store, concurrency=concurrency, verifier=verifier)
    version = load(artifact.ref)
    basic = load(version.judge, version="basic", samples=job.samples, threshold=job.threshold)
    named = (job.model if job.model.name else about.model, about.model)
    first, second = (answering(known) if known.name else Model() for known in named)
    return basic.with_adapter(job.adapter).with_model(first), version.with_model(second)


@checked
def prove(
    reference: str,
    rows: GoldLike | None = None,
    *,
    labels: int = LABELS,
    answers: GoldLike | None = None,
    model: ModelLike | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    trust: bool = False,
    resume: bool = False,
    fresh: bool = False,
) -> LabelPlan:
    """Show whether a version is better than its basic prompt by labels where the two differ, on rows nobody labelled.

    The first call asks both about ``rows`` and fixes which units are labelled: those of :attr:`LabelPlan.lines`. When
    all their labels are there, as ``answers``, the plan is decided once and for all; its ``decision`` says
    what was shown, which is kept beside the version's card, and may make it the latest.

    Args:
        reference: ``JUDGE@VERSION``.
        rows: see :data:`GoldLike`; labels in them are not read. Not needed where labels are planned already.
        labels: how many to plan, at most.
        answers: labelled rows, or the sheet that ``jurist prove --sheet`` wrote, filled in.
        model: who answers both; default: the model that the version was proven with.
        budget, store, resume: as for :func:`compare`.
        seed: of the draw.
        trust: as for :func:`load`.
        fresh: draw another plan, which counts: its level falls.

    Raises:
        JuristError: too few units differ, or labels are missing. GoldError: a label is not of a planned unit.
        What :func:`compare` raises.
    """
    artifacts = open_store(store, trust=trust)
    surface = Surface(artifacts, Start(root=artifacts.checkpoints, resume=resume, fresh=fresh))
    artifact, work = artifacts.load(reference), None
    judge = loaded_of(artifact.ref, artifacts).judge
    if rows is not None:
        answering = ModelCard.model if model is None else lambda known: make_model(model)
        work = Unlabelled(
            contenders=contenders_of(artifact, artifacts, answering=answering),
            gold=read_gold(rows, judge, labelled=False),
            budget=budget or Budget(),
            labels=labels,
            seed=seed,
        )
    plan = open_plan(artifact, surface, work)
    if plan.decision is not None or answers is None:
        return plan
    return decided(artifacts, artifact, plan, judge, read_gold(answers, judge, labelled=False))[0]


def open_plan(artifact: Artifact, surface: Surface, work: Unlabelled | None = None) -> LabelPlan:
    """Return the plan of a version: the one that there is of these rows, else a new one, for which both are asked."""
    artifact.check_single()
    store, before = surface.store, LabelPlan.find(surface.store, artifact)
    plan = None if surface.start.fresh else before
    if work is not None:
        plan = work.same(plan)
    if plan is not None:
        return plan
    if work is None:
        hint = "give rows that nobody labelled with --rows"
        raise UsageError(f"no labels are planned for {artifact.ref}", hint=hint)
    basic, version = work.basic, work.version
    if (basic.state, basic.adapter, basic.settings.sampling) == (
        version.state,
        version.adapter,
        version.settings.sampling,
    ):
        hint = "compile with more rows, a larger budget or another --optimizer"
        raise UsageError(f"{artifact.ref} asks what the basic prompt asks: they differ on no row", hint=hint)
    unit_gains(store, artifact, version.judge)  # without a sealed test nothing could be decided
    with surface.asking(work, "asking both") as (job, step):
        answers = work.ask(job, step)
        known = [*(unit.key for unit in before.units), *before.earlier] if before else []
        plan = _plan(work, answers, known)
        least = fewest_labels(plan.level)
        able = len(plan.units) >= least
        if able:
            cases = {case.id: case for case in work.cases}
            for counted in ([_marker(artifact)], [cases[unit.case] for unit in plan.units]):
                Openings().note(f"prove {plan.version}", counted)
            plan.keep(store, artifact)
    if not able:
        raise JuristError(
            f"{plural(plan.surveyed['differing'], 'unit')} in {plural(plan.surveyed['differing_groups'], 'group')} "
            "differ, so that "
            f"{plural(len(plan.units), 'label')} can be planned: below {least} nothing can be shown "
            f"at the level {plan.level:.3g}",
            hint="give more rows of other groups with --rows, or raise --labels",
        )
    if failed := plan.surveyed["failed"]:
        surface.note(f"the model failed on {failed} rows, which are left out")
    return plan


def _plan(work: Unlabelled, answers: Sequence[Answers], known: Sequence[tuple[str, int]]) -> LabelPlan:
    units, surveyed = _survey(work, answers)
    chosen = drawn(units, work.labels, seed=work.seed, without=known)
    cases = {case.id: case for case in work.cases}
    ledger = Openings()
    opened = (*ledger.of([_marker(work.artifact)]), *ledger.of([cases[unit.case] for unit in chosen]))
    opening = max(row.number for row in opened)
    judge, stamp = work.version.judge, work.version.stamp()
    labels, content = {*label_keys(judge), "ratings", AMBIGUITY}, []
    for case in dict.fromkeys(unit.case for unit in chosen):
        unlabelled = {name: value for name, value in work.gold.rows[case].items() if name not in labels}
        content.append(canonical_row(judge, unlabelled, cases[case]))
    return LabelPlan(
        version=work.artifact.ref,
        artifact=work.artifact.sha256,
        model=work.version.model.name,
        conditions=tuple(other_conditions(work.version, stamp).values()),
        rows={"name": work.gold.name, "sha256": work.rows_hash},
        opening=opening,
        level=level_of(ALPHA, opening),
        surveyed={**surveyed, "left_out": work.left_out},
        metric=resolve(judge.metric, judge.comparison).name,
        units=chosen,
        content=tuple(content),
        earlier=tuple(known),
    )


def _marker(artifact: Artifact) -> Case:
    """Return a case that represents a version in the ledger of openings, so that each plan on it counts."""
    return Case(inputs={"version": artifact.sha256})


def _survey(work: Unlabelled, answers: Sequence[Answers]) -> tuple[list[PlannedUnit], dict[str, Any]]:
    """Return the units on which the two prompts differ, and their share of all."""
    judge, (basic, compiled) = work.version.judge, (own.repeats[0] for own in answers)
    units: list[PlannedUnit] = []
    flags: list[tuple[float, float]] = []
    groups: list[str] = []
    failed = 0
    for first, second in zip(basic, compiled, strict=True):
        if first.failed or second.failed:
            failed += 1
            continue
        for place, pair in enumerate(zip(first.predicted, second.predicted, strict=True)):
            differ = apart(judge.comparison, *pair)
            flags.append((float(differ), 1.0))
            groups.append(first.group)
            if differ:
                basic_said, compiled_said = (
                    None if value is None else judge.answer.scale.to_json(value) for value in pair
                )
                unit = PlannedUnit(
                    case=first.id, unit=place, group=first.group, basic=basic_said, compiled=compiled_said
                )
                units.append(unit)
    if not flags:
        raise JuristError(
            f"the model failed on all {failed} rows, so that nothing can be compared",
            hint="see with jurist run what it answers",
        )
    rate = estimated(np.array(flags), np.array(groups), mean)
    return units, {
        "cases": len(basic) - failed,
        "failed": failed,
        "groups": len(set(groups)),
        "units": len(flags),
        "differing": len(units),
        "differing_groups": len({unit.group for unit in units}),
        "rate": rate.value,
        "low": rate.interval.low,
        "high": rate.interval.high,
    }
