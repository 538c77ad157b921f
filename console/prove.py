"""``jurist prove``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..arguments.compile import ProveOptions
from ..engines.meter import Budget
from ..engines.models import OFFLINE as OFFLINE_MODEL
from ..engines.models import Model
from ..errors import UsageError
from ..gold.goldset import Gold
from ..gold.sheets_out import write_sheet
from ..jobs.deciding import decide, settle
from ..jobs.experiment import foresee
from ..jobs.label_plan import LabelPlan, Labels, labels_in
from ..jobs.unlabelled import Unlabelled, contenders_of, planned
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import ModelCard
from ..keeping.loading import load_judge
from ..keeping.paying import PaidJob, Start
from ..programs.judge import Judge
from ..report.scores import OFFLINE, disagreement_words
from .inputs import gold_of, store_of, verifier_model
from .pages import guideline_of, served
from .printing import Part, Result, remark
from .terminal import agree, progress


def run(options: ProveOptions) -> Result:
    """Ask both about rows, say or do what is next, and decide when all labels are in."""
    store = store_of(options)
    artifact = store.load(options.artifact)
    judge, ref = load_judge(artifact.ref, store=store).judge, artifact.ref
    before = LabelPlan.find(store, artifact)
    plan = before if before and not options.fresh else None
    if options.rows is not None:
        plan = _plan(options, store, artifact, plan, before)
    if plan is None:
        raise UsageError(
            f"no labels are planned for {ref}",
            hint=f"give rows that nobody labelled: jurist prove {ref} --rows new.jsonl",
        )
    if plan.decision is not None:
        again = f"jurist prove {ref} --rows F --fresh draws another plan, which counts as one more"
        if options.answers or options.sheet or options.review:
            raise UsageError(f"the plan of {ref} is decided", hint=f"this was decided before: {again}")
        return _shown(plan, plan.decision, f"this was decided before: {again}")
    if options.answers is not None:
        labels = labels_in(plan, Gold.load(options.answers, judge, labelled=False))
        return _decided(store, artifact, plan, judge, labels)
    if options.sheet is not None:
        path, gold = Path(options.sheet), plan.gold(judge)
        written = write_sheet(plan.lines(gold), gold, path, rater=options.rater)
        return Result(
            data={**plan.to_json(), "sheet": str(path)},
            body=[f"{written.units} units written to {path}"],
            notes=[f"when it is filled in: jurist prove {plan.version} --answers {path}"],
        )
    if options.review:
        return _reviewed(options, store, artifact, plan, judge)
    then = (
        f"to label them: jurist prove {ref} --sheet labels.csv, and --answers labels.csv when it is filled in; or "
        f"jurist prove {ref} --review, a page on this machine"
    )
    return Result(data=plan.to_json(), body=[*plan.words, *_offline(plan)], notes=[then])


def _plan(
    options: ProveOptions, store: Store, artifact: Artifact, plan: LabelPlan | None, before: LabelPlan | None
) -> LabelPlan:
    """Return the open or decided plan of these rows, else a new one."""

    def answering(known: ModelCard) -> Model:
        if options.model is not None:
            return Model.of(options, name=options.model)
        model = known.model(options.api_base, options.timeout)
        return replace(model, rpm=options.rpm, tpm=options.tpm, key_env=options.key_env)

    verifier = verifier_model(options, options.timeout, options.seed)
    contenders = contenders_of(
        artifact, store, answering=answering, verifier=verifier, concurrency=options.concurrency
    )
    work = Unlabelled(
        contenders=contenders,
        gold=gold_of(str(options.rows), contenders[1].judge, options, labelled=False),
        budget=Budget.of(options),
        labels=options.number,
        seed=options.seed,
    )
    if (known := work.same(plan)) is not None:
        return known

    def opened(job: PaidJob) -> None:
        notes = (work.left_out_words, work.expected, work.version.note)
        agree(foresee(work), job.paid, yes=options.yes, notes=notes)

    start = Start(root=store.checkpoints, resume=options.resume, fresh=options.fresh)
    with progress(work.rows, "asking both") as step:
        made = planned(work, store, start, earlier=before, on_paid=opened, on_case=step)
    if made.surveyed["failed"]:
        remark(f"the model failed on {made.surveyed['failed']} rows, which are left out")
    LabelPlan.journal(store, artifact).unlink(missing_ok=True)  # labels of another plan
    return made


def _reviewed(
    options: ProveOptions, store: Store, artifact: Artifact, plan: LabelPlan, judge: Judge
) -> Result:
    path, gold = LabelPlan.journal(store, artifact), plan.gold(judge)
    served(
        gold,
        plan.lines(gold),
        path,
        guideline=guideline_of(None, plan.rows["name"], judge),
        rater="" if options.rater == "annotator" else options.rater,
        port=options.port,
    )
    labels = labels_in(plan, Gold.load(path, judge, labelled=False)) if path.exists() else {}
    missing = plan.missing(labels)
    if missing:
        labelled = f"{len(plan.units) - missing} of {len(plan.units)} planned units are labelled"
        then = f"to go on: jurist prove {plan.version} --review; nothing is decided before all are labelled"
        return Result(data={**plan.to_json(), "missing": missing}, body=[labelled], notes=[then])
    return _decided(store, artifact, plan, judge, labels)


def _decided(store: Store, artifact: Artifact, plan: LabelPlan, judge: Judge, labels: Labels) -> Result:
    decision = decide(plan, artifact, judge, labels)
    latest, words = settle(store, artifact, plan, decision)
    found = _shown(plan, decision, words)
    return replace(found, data={**found.data, "latest": latest})


def _shown(plan: LabelPlan, decision: Any, note: str) -> Result:
    data = {**plan.to_json(), "decision": dict(decision)}
    body: Sequence[Part] = [*disagreement_words(decision), *_offline(plan)]
    return Result(data=data, body=body, notes=[note])


def _offline(plan: LabelPlan) -> list[str]:
    return [OFFLINE] if plan.model == OFFLINE_MODEL else []
