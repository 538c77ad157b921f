"""Running and proving, for Python: apart from what commands load, as rows may be anything here."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from ..engines.meter import Budget
from ..errors import StoppedError
from ..gold.mapping import RowMapping
from ..gold.new_rows import Source
from ..keeping.card import ModelCard
from ..keeping.paying import Start
from ..report.progress import counted
from ..runs.runner import RunSettings, run_judge
from ..runs.summary import Summary
from .judges import JudgeLike, judges_of, loaded_of
from .label_plan import LabelPlan, decided
from .surface import GoldLike, Loading, ModelLike, Surface, gold_of, model_of, store_of, warn
from .unlabelled import LABELS, Unlabelled, contenders_of, open_plan


def run(
    judge: JudgeLike,
    rows: str | os.PathLike[str] | Any,
    output: str | os.PathLike[str],
    *,
    model: ModelLike | None = None,
    budget: Budget | None = None,
    mapping: RowMapping | None = None,
    keep: Sequence[str] | None = None,
    resume: bool = False,
    fresh: bool = False,
    store: str | os.PathLike[str] | None = None,
    **options: Unpack[Loading],
) -> Summary:
    """Judge any number of rows into a file, a line a row, as ``jurist run``: no row is held or paid for twice.

    Args:
        judge: see :data:`JudgeLike`.
        rows: what ``jurist run --input`` takes (a file, a folder, ``hf:org/name``); or mappings, DSPy's examples, or a
            table of pandas, Polars, PyArrow or ``datasets``. A generator is read once, as it is judged.
        output: ``.jsonl`` or ``.csv``. Rows that cannot be used are set aside beside it.
        model: who answers; default: ``offline``, and of a judge that was loaded its own.
        budget: hard limits.
        mapping: the names of columns in the rows, where they are not the judge's.
        keep: columns that travel into the output; default: all that are not judged.
        resume: continue what an earlier run left; rows that failed are asked again.
        fresh: forget an unfinished run of this output.
        store, options: as for :func:`compare`.

    Returns:
        The counts of the run.

    Raises:
        StoppedError: Ctrl-C or a limit; the lines so far are kept. GoldError: the rows cannot be read, or none can
        be used. UsageError: the output cannot be used. CheckpointError: it is of another run, or unfinished.
        JudgeError, ArtifactError: as :func:`load`. ModelError: the model cannot be used at all.
    """
    (loaded,) = judges_of([judge], model, store_of(store), options)
    warn(loaded.note)
    found = mapping or RowMapping()
    found.check(loaded.judge)
    named = isinstance(rows, str | os.PathLike)
    source = Source(
        name=os.fspath(rows) if named else "<rows>",
        judge=loaded.judge,
        mapping=found,
        given=None if named else rows,
    )
    settings = RunSettings(
        budget=budget or Budget(),
        keep=keep,
        resume=resume,
        fresh=fresh,
    )
    with counted(loaded.name, None) as step:
        summary = run_judge(loaded, source, Path(output), settings=settings, on_row=step)
    if summary.stopped:
        hint = "add resume=True to judge the rows that are left"
        raise StoppedError(
            f"{summary.stopped}; what was judged is in {output}", hint=hint, signal=summary.signal
        )
    return summary


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
        labels: how many to plan for each comparison, at most.
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
    surface = Surface(place, Start(root=place.checkpoints, resume=resume, fresh=fresh))
    artifact, work = place.load(reference), None
    version = loaded_of(artifact.ref, place)
    if rows is not None:
        answering = ModelCard.model if model is None else lambda known: model_of(model)
        work = Unlabelled(
            contenders=contenders_of(artifact, place, answering=answering),
            gold=gold_of(rows, version.judge, labelled=False),
            budget=budget or Budget(),
            labels=labels,
            seed=seed,
        )
    plan = open_plan(artifact, surface, work)
    if plan.decision is not None or answers is None:
        return plan
    told = gold_of(answers, version.judge, labelled=False)
    return decided(place, artifact, plan, version.judge, told)[0]
