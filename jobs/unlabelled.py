"""A proof by labels where two prompts differ: ask both about rows that nobody labelled, and plan what is labelled."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from ..cases import Case, Value
from ..engines.ledger import Spend
from ..engines.meter import Budget
from ..engines.models import OWN, Model
from ..errors import Count, JuristError, Seed, UsageError, checked, plural
from ..evaluation.disagreements import fewest_labels, label_could_decide
from ..evaluation.intervals import estimated
from ..evaluation.looks import plan_looks
from ..evaluation.metrics import mean
from ..evaluation.model_moves import MARGIN
from ..evaluation.proof import level_of
from ..evaluation.scale import Scale, resolve
from ..gold.files import Row
from ..gold.goldset import Gold
from ..gold.rows import AMBIGUITY, canonical_row, label_keys
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.contenders import Contender
from ..keeping.loaders import load_judge
from ..keeping.loading import LoadedJudge, find_changed_conditions, proven_model
from ..keeping.logs import Log, LogReference, is_log
from ..keeping.paying import PaidJob, Start
from ..optimizers.objective import row_of
from ..programs.deciding import revote
from ..programs.verdicts import Verdict
from .experiment import Answers, Experiment
from .judges import load_reference
from .label_plan import (
    BASIC,
    LabelPlan,
    PlannedUnit,
    UnitKey,
    decide_by_labels,
    draw_units,
    finish_decision,
    load_unit_gains,
)
from .openings import Openings
from .recorded import read_log
from .sealed_rows import ALPHA, Opening
from .surface import GoldLike, ModelLike, Surface, make_model, open_store, read_gold

_OWN_MODEL = Model(name=OWN)
LABELS = 40
"""Labels that are planned unless another number is given."""


@dataclass(frozen=True, kw_only=True)
class Unlabelled(Experiment):
    """The basic prompt and a version, asked about rows that the version was neither compiled nor proven on."""

    kind: ClassVar[str] = "prove"

    labels: int = LABELS  # how many to plan, at most
    seed: int = 0  # of the draw
    rival: str = BASIC  # what stands in the place of the basic prompt: another version, or a log
    margin: float | None = None  # by how much the version may be worse than another one

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
    def replies_are_shared(self) -> bool:
        """Whether both prompts get the same replies, so that they differ by a threshold or by weights alone."""
        if self.rival != BASIC:
            return False
        basic = self.basic
        version = self.version
        if basic.state != version.state or basic.adapter != version.adapter:
            return False
        if basic.model != version.model or basic.frozen_model != version.frozen_model:
            return False
        if basic.sampling.samples != version.sampling.samples:
            return False
        if basic.settings.words is not None or version.settings.words is not None:
            return False  # words decide beside the replies
        if basic.settings.own_answer != version.settings.own_answer:
            return False
        # A threshold on probabilities takes the probabilities that the model gives with its replies.
        return (
            not basic.sampling.by_probability
            or basic.settings.probabilities == version.settings.probabilities
        )

    @property
    def contenders_to_ask(self) -> Mapping[str, Contender]:
        if not self.replies_are_shared:
            return super().contenders_to_ask
        # A vote under another threshold may need all samples.
        version = replace(self.version, settings=replace(self.version.settings, stopping="all"))
        return {self.roles[1]: version}

    def ask(self, job: PaidJob, on_case: Callable[[], None] = lambda: None) -> list[Answers]:
        answers = super().ask(job, on_case)
        if not self.replies_are_shared:
            return answers
        (of_version,) = answers
        verdicts: list[Verdict] = []
        for verdict in of_version.verdicts:
            verdicts.append(revote(self.basic.judge.answer, self.basic.sampling, verdict))
        of_basic = Answers(
            name=self.roles[0],
            judge=self.basic,
            repeats=(tuple(map(row_of, self.cases, verdicts)),),
            verdicts=tuple(verdicts),
            spend=Spend(),
        )
        return [of_basic, of_version]

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        proven = {record.case for record in self.artifact.proof_records()}
        cases_not_compiled_on: tuple[Case, ...] = super().cases
        cases: list[Case] = []
        for case in cases_not_compiled_on:
            if case.id not in proven:
                cases.append(replace(case, gold=None, ratings={}))
        return tuple(cases)

    @cached_property
    def opening(self) -> Opening:
        return Opening(cases=(), number=0, prompts=frozenset(), counted=False, ledger=Openings())

    @property
    def rows_hash(self) -> str:
        """The hash of the rows without their labels."""
        return replace(self.gold, cases=self.cases).sha256

    def reuse_plan(self, plan: LabelPlan | None) -> LabelPlan | None:
        """Return a plan if it is one of these rows, ``None`` where another one is to be drawn.

        Raises:
            UsageError: a plan of other rows is not decided yet.
        """
        if plan is None or (plan.rows["sha256"] == self.rows_hash and plan.rival == self.rival):
            return plan
        if plan.decision is None:
            raise UsageError(
                f"{plural(len(plan.units), 'label')} on {plan.rows['name']} are planned for {plan.version} and not "
                "decided yet",
                hint=f"label them (jurist prove {plan.version} says how), or add --fresh: another plan counts",
            )
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        return self.left_out_words, self.version.note

    def fingerprint(self) -> dict[str, Any]:
        settings = super().fingerprint()
        settings["gold"] = self.rows_hash
        return settings


def load_both(
    artifact: Artifact,
    store: Store,
    *,
    model: Model = _OWN_MODEL,
    verifier: Model | None = None,
    concurrency: int = 8,
) -> tuple[LoadedJudge, LoadedJudge]:
    """Return the basic prompt and the version, both asked as in the version's proof; by default with its model."""
    card = artifact.about
    job = card.job
    if verifier is None and card.verifier:
        verifier = card.verifier.model()
    load = partial(load_judge, store=store, concurrency=concurrency, verifier=verifier)
    version = load(artifact.ref)
    combine = job.combine
    if combine is None and version.judge.answer.scale.takes_mean:
        combine = "median"
    if card.thresholds.panel:
        basic = load(version.judge, version="basic", combine=combine)
        of_panel = replace(card.thresholds.sampling, threshold=job.threshold, weights=None, combine=combine)
        basic = replace(basic, settings=replace(basic.settings, sampling=of_panel))
    else:
        basic = load(
            version.judge, version="basic", samples=job.samples, threshold=job.threshold, combine=combine
        )
    basic_model = model
    if model.is_own:
        basic_model = proven_model(job.model if job.model.name else card.model, model)
    return basic.with_adapter(job.adapter).with_model(basic_model), version.with_model(model)


def margin_of(artifact: Artifact) -> float:
    """Return by how much a version may be worse than the one that it was moved from, as its move said."""
    moved = artifact.about.moved
    return MARGIN if moved is None else moved.margin


def load_rival(reference: str, artifact: Artifact, store: Store, gold: Gold) -> LoadedJudge | Log:
    """Return the rival of a version: the version that it was moved from, with its model, or a log of that.

    Raises:
        UsageError: it is another version.
    """
    if is_log(reference):
        return read_log(LogReference.of(reference), gold)
    moved = artifact.about.moved
    if moved is None or store.load(reference).ref != moved.parent:
        parent = "no version" if moved is None else moved.parent
        raise UsageError(
            f"{artifact.ref} was moved from {parent}, not from {reference}",
            hint="leave out --against to hold a version against its basic prompt",
        )
    # The answers that it keeps are those to its sealed test, and not to these rows.
    step = (
        f"name a file with its verdicts on these rows: --against recorded:FILE; without one, leave out --against: "
        f"{artifact.ref} is then held against its basic prompt"
    )
    return replace(load_judge(moved.parent, store=store), step_without_model=step)


@checked
def prove(
    reference: str,
    rows: GoldLike | None = None,
    *,
    labels: Count = LABELS,
    answers: GoldLike | None = None,
    against: str | None = None,
    model: ModelLike | None = None,
    budget: Budget | None = None,
    seed: Seed = 0,
    store: str | os.PathLike[str] | None = None,
    trust: bool = False,
    resume: bool = True,
    fresh: bool = False,
) -> LabelPlan:
    """Show whether a version is better than its basic prompt by labels where the two differ, on rows nobody labelled.

    The first call asks both about ``rows`` and fixes which units are labelled, in which order: those of
    :attr:`LabelPlan.lines`. It also fixes after how many labels the plan is tested: half, three quarters and all of
    them. A call with ``answers`` takes the last of these looks whose labels are all there. Where the look shows a
    difference, and at the last one, the plan is decided once and for all; its ``decision`` says what was shown, which
    is kept beside the version's card, and may make it the latest. Otherwise ``decision`` is ``None``, and
    ``labels_missing`` says how many more labels the next look takes. Labels that a look has taken are kept: they need
    not be given again, and cannot be changed.

    Args:
        reference: ``JUDGE@VERSION``.
        rows: see :data:`GoldLike`; labels in them are not read. Not needed where labels are planned already.
        labels: how many to plan, at most.
        answers: labelled rows, or the sheet that ``jurist prove --sheet`` wrote, filled in.
        against: the version that this one was moved from, in place of the basic prompt, or ``recorded:FILE``, the
            answers that it gave to ``rows``.
        model: who answers both; default: the model that the version was proven with.
        budget, store, resume: as for :func:`compare`.
        seed: of the draw.
        trust: as for :func:`load`.
        fresh: draw another plan, which counts: its level falls.

    Raises:
        JuristError: too few units differ, or labels are missing; and as :func:`compare`.
        GoldError: a label is not of a planned unit, or is another one than at a look.
    """
    artifacts = open_store(store, trust=trust)
    surface = Surface(artifacts, Start(root=artifacts.checkpoints, resume=resume, fresh=fresh))
    artifact = artifacts.load(reference)
    judge = load_reference(artifact.ref, artifacts).judge
    work = None
    if rows is not None:
        gold = read_gold(rows, judge, labelled=False)
        contenders: tuple[Contender, ...] = load_both(artifact, artifacts, model=make_model(model))
        if against is not None:
            contenders = load_rival(against, artifact, artifacts, gold), contenders[1]
        work = Unlabelled(
            contenders=contenders,
            gold=gold,
            rival=against or BASIC,
            margin=margin_of(artifact) if against else None,
            budget=budget or Budget(),
            labels=labels,
            seed=seed,
        )
    plan = open_plan(artifact, surface, work)
    if plan.decision is not None:
        finish_decision(artifacts, artifact, plan)
        return plan
    if answers is None:
        return plan
    return decide_by_labels(artifacts, artifact, plan, judge, read_gold(answers, judge, labelled=False))[0]


def open_plan(artifact: Artifact, surface: Surface, work: Unlabelled | None = None) -> LabelPlan:
    """Return the plan of a version: the one that there is of these rows, else a new one, for which both are asked."""
    artifact.check_is_no_cascade()
    earlier_plan = LabelPlan.find(surface.store, artifact)
    plan = None if surface.start.fresh else earlier_plan
    if work is not None:
        plan = work.reuse_plan(plan)
    if plan is not None:
        return plan
    if work is None:
        hint = "give rows that nobody labelled with --rows"
        raise UsageError(f"no labels are planned for {artifact.ref}", hint=hint)
    _check_prompts_differ(work)
    # Without a sealed test nothing could be decided.
    load_unit_gains(surface.store, artifact, work.version.judge)
    with surface.asking(work, "asking both") as (job, step):
        answers = work.ask(job, step)
        plan = _draw_plan(work, answers, _list_drawn_units(earlier_plan))
        fewest = fewest_labels(plan.level)
        is_enough = len(plan.units) >= fewest
        if is_enough:
            _note_openings(work, plan)
            plan.keep(surface.store, artifact)
    if not is_enough:
        raise JuristError(
            f"{plural(plan.surveyed['differing'], 'unit')} in {plural(plan.surveyed['differing_groups'], 'group')} "
            "differ, so that "
            f"{plural(len(plan.units), 'label')} can be planned: below {fewest} nothing can be shown "
            f"at the level {plan.level:.3g}",
            hint="give more rows of other groups with --rows, or raise --labels",
        )
    failed = plan.surveyed["failed"]
    if failed:
        surface.note(f"the model failed on {failed} rows, which are left out")
    return plan


def _check_prompts_differ(work: Unlabelled) -> None:
    """Refuse a version that asks what the basic prompt asks, if that is its rival."""
    if work.rival != BASIC:
        return
    basic = work.basic
    version = work.version
    if basic.state != version.state or basic.adapter != version.adapter:
        return
    if version.settings.words is not None or version.settings.own_answer is not None:
        return
    # Of scores both have the rule of the version's compilation, however it was written down.
    version_sampling = version.settings.sampling
    if replace(basic.settings.sampling, combine=version_sampling.combine) != version_sampling:
        return
    hint = "compile with more rows, a larger budget or another --optimizer"
    raise UsageError(f"{work.artifact.ref} asks what the basic prompt asks: they differ on no row", hint=hint)


def _list_drawn_units(earlier_plan: LabelPlan | None) -> list[UnitKey]:
    """Return the units of the plan before and of those before it, which are not drawn again."""
    if earlier_plan is None:
        return []
    keys = [unit.key for unit in earlier_plan.units]
    keys.extend(earlier_plan.earlier)
    return keys


def _note_openings(work: Unlabelled, plan: LabelPlan) -> None:
    """Count the plan in the ledger of openings, for the version and for the cases of its units."""
    ledger = Openings()
    ledger.note(f"prove {plan.version}", [_marker(work.artifact)])
    ledger.note(f"prove {plan.version}", _cases_of_units(work, plan.units))


def _cases_of_units(work: Unlabelled, units: Sequence[PlannedUnit]) -> list[Case]:
    """Return the case of each unit."""
    cases = {case.id: case for case in work.cases}
    return [cases[unit.case] for unit in units]


def _draw_plan(work: Unlabelled, answers: Sequence[Answers], drawn_units: Sequence[UnitKey]) -> LabelPlan:
    """Return a plan of units on which the two prompts differ, without units that were drawn before."""
    differing_units, surveyed = _survey(work, answers)
    surveyed["left_out"] = work.left_out
    units = draw_units(differing_units, work.labels, seed=work.seed, without=drawn_units)
    cases = _cases_of_units(work, units)
    ledger = Openings()
    opened_rows = ledger.of([_marker(work.artifact)]) + ledger.of(cases)
    opening = max(row.number for row in opened_rows)
    judge = work.version.judge
    return LabelPlan(
        version=work.artifact.ref,
        artifact=work.artifact.sha256,
        model=work.version.model.name,
        conditions=tuple(find_changed_conditions(work.version, work.version.stamp()).values()),
        rows={"name": work.gold.name, "sha256": work.rows_hash},
        opening=opening,
        level=level_of(ALPHA, opening),
        surveyed=surveyed,
        metric=resolve(judge.metric, judge.comparison).name,
        units=units,
        looks=plan_looks(len(units), level_of(ALPHA, opening)),
        content=tuple(_rows_without_labels(work, cases)),
        rival=work.rival,
        margin=work.margin,
        earlier=tuple(drawn_units),
    )


def _rows_without_labels(work: Unlabelled, cases: Sequence[Case]) -> list[Row]:
    """Return the row of each case once, without labels, ratings and reasons."""
    judge = work.version.judge
    label_columns = set(label_keys(judge)) | {"ratings", AMBIGUITY}
    rows: list[Row] = []
    for case in {case.id: case for case in cases}.values():
        row: Row = {}
        for column, value in case.row.items():
            if column not in label_columns:
                row[column] = value
        rows.append(canonical_row(judge, replace(case, row=row)))
    return rows


def _marker(artifact: Artifact) -> Case:
    """Return a case that represents a version in the ledger of openings, so that each plan on it counts."""
    return Case(inputs={"version": artifact.sha256})


def _survey(work: Unlabelled, answers: Sequence[Answers]) -> tuple[list[PlannedUnit], dict[str, Any]]:
    """Return the units on which the two prompts differ, and their share of all."""
    scale = work.version.judge.answer.scale
    basic_rows = answers[0].repeats[0]
    version_rows = answers[1].repeats[0]
    units: list[PlannedUnit] = []
    flags: list[tuple[float, float]] = []
    groups: list[str] = []
    failed = 0
    for basic, version in zip(basic_rows, version_rows, strict=True):
        if basic.failed or version.failed:
            failed += 1
            continue
        values_of_units = zip(basic.predicted, version.predicted, strict=True)
        for place, (basic_value, version_value) in enumerate(values_of_units):
            differs = label_could_decide(work.version.judge.comparison, basic_value, version_value)
            flags.append((float(differs), 1.0))
            groups.append(basic.group)
            if differs:
                unit = PlannedUnit(
                    case=basic.id,
                    unit=place,
                    group=basic.group,
                    basic=_value_to_json(scale, basic_value),
                    compiled=_value_to_json(scale, version_value),
                )
                units.append(unit)
    if not flags:
        raise JuristError(
            f"the model failed on all {failed} rows, so that nothing can be compared",
            hint="see with jurist run what it answers",
        )
    rate = estimated(np.array(flags), np.array(groups), mean)
    return units, {
        "cases": len(basic_rows) - failed,
        "failed": failed,
        "groups": len(set(groups)),
        "units": len(flags),
        "differing": len(units),
        "differing_groups": len({unit.group for unit in units}),
        "rate": rate.value,
        "low": rate.interval.low,
        "high": rate.interval.high,
    }


def _value_to_json(scale: Scale, value: Value | None) -> object:
    """Return a value as JSON; ``None`` where a prompt abstained."""
    if value is None:
        return None
    return scale.to_json(value)
