"""Proving a version by labels where it differs from its basic prompt, from Python."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import UsageError
from ..keeping.card import ModelCard
from ..keeping.paying import Start
from ..report.progress import counted
from .deciding import decide, settle
from .given import GoldLike, checked, gold_of, loaded_of, model_of, settings_of, store_of
from .label_plan import LabelPlan, labels_by, labels_in
from .unlabelled import LABELS, Unlabelled, contenders_of, planned


@checked
def prove(
    reference: str,
    rows: GoldLike | None = None,
    *,
    labels: int = LABELS,
    label: Callable[[Mapping[str, Any]], Any] | None = None,
    answers: GoldLike | None = None,
    model: str | Model | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    trust: bool = False,
    resume: bool = False,
    fresh: bool = False,
) -> LabelPlan:
    """Show whether a version is better than its basic prompt by labels where the two differ, on rows nobody labelled.

    The first call asks both about ``rows`` and fixes which units are labelled: those of :attr:`LabelPlan.lines`. When
    all their labels are there, as ``label`` or ``answers``, the plan is decided once and for all; its ``decision`` says
    what was shown, which is kept beside the version's card, and may make it the latest.

    Args:
        reference: ``JUDGE@VERSION``.
        rows: see :data:`GoldLike`; labels in them are not read. Not needed where labels are planned already.
        labels: how many to plan for each comparison, at most.
        label: the inputs of a row -> what a gold row holds as its label (for judges of several units a list);
            ``None`` where it cannot be told.
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
    place = store_of(store, trust=trust)
    artifact = place.load(reference)
    before = LabelPlan.find(place, artifact)
    plan = None if fresh else before
    version = loaded_of(artifact.ref, place)
    if rows is not None:
        answering = ModelCard.model if model is None else lambda known: model_of(model)
        asked = contenders_of(artifact, place, answering=answering)
        unlabelled = gold_of(rows, version.judge, labelled=False)
        work = Unlabelled(
            contenders=asked, gold=unlabelled, budget=settings_of(budget, Budget), labels=labels, seed=seed
        )
        plan = work.same(plan)
        if plan is None:
            start = Start(root=place.checkpoints, resume=resume, fresh=fresh)
            with counted(version.name, work.rows) as step:
                plan = planned(work, place, start, earlier=before, on_case=step)
    if plan is None:
        raise UsageError(f"no labels are planned for {artifact.ref}", hint="give rows that nobody labelled")
    if plan.decision is not None:
        return plan
    if answers is not None:
        told = labels_in(plan, gold_of(answers, version.judge, labelled=False))
    elif label is not None:
        told = labels_by(plan, version.judge, label)
    else:
        return plan
    decision = decide(plan, artifact, version.judge, told)
    settle(place, artifact, plan, decision)
    return plan.decided(decision)
