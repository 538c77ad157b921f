"""``jurist prove``."""

from pathlib import Path
from typing import Any

from ..arguments.compile import ProveOptions
from ..engines.meter import Budget
from ..engines.models import OFFLINE as OFFLINE_MODEL
from ..engines.models import Model
from ..errors import UsageError
from ..gold.goldset import Gold
from ..gold.sheets import write_sheet
from ..jobs.label_plan import LabelPlan, decided
from ..jobs.unlabelled import Unlabelled, contenders_of, open_plan
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import ModelCard
from ..keeping.loaders import load_judge
from ..report.scores import OFFLINE, disagreement_words
from ..report.verdict import VerdictCard, tone_of
from .inputs import gold_of, store_of, verifier_model
from .printing import Result
from .terminal import Terminal


def run(options: ProveOptions) -> Result:
    """Ask both about rows, say or do what is next, and decide when all labels are in."""
    store = store_of(options)
    artifact = store.load(options.artifact)
    artifact.check_single()
    judge, ref = load_judge(artifact.ref, store=store).judge, artifact.ref
    plan = open_plan(
        artifact, Terminal(options), None if options.rows is None else _work(options, store, artifact)
    )
    if plan.decision is not None:
        again = f"jurist prove {ref} --rows F --fresh draws another plan, which counts as one more"
        if options.answers or options.sheet:
            raise UsageError(f"the plan of {ref} is decided", hint=f"this was decided before: {again}")
        return _shown(plan, f"this was decided before: {again}")
    if options.answers is not None:
        told = Gold.load(options.answers, judge, labelled=False)
        plan, latest, words = decided(store, artifact, plan, judge, told)
        return _shown(plan, words, latest=latest)
    if options.sheet is not None:
        path, gold = Path(options.sheet), plan.gold(judge)
        write_sheet(plan.lines(gold), gold, path, rater=options.rater)
        return Result(
            data={**plan.to_json(), "sheet": str(path)},
            body=[f"{len(plan.units)} units written to {path}"],
            notes=[f"when it is filled in: jurist prove {plan.version} --answers {path}"],
        )
    then = (
        f"to label them: jurist prove {ref} --sheet labels.csv, and --answers labels.csv when it is filled in"
    )
    return Result(
        data=plan.to_json(), body=[*plan.words, OFFLINE if plan.model == OFFLINE_MODEL else ""], notes=[then]
    )


def _work(options: ProveOptions, store: Store, artifact: Artifact) -> Unlabelled:
    """Return both prompts, and the rows that they are asked about."""

    def answering(known: ModelCard) -> Model:
        if options.model is not None:
            return Model.of(options, name=options.model)
        # what no option says stays as it was in the proof
        kept = {name: value for name, value in vars(known).items() if getattr(options, name, None) is None}
        return Model.of(options, **{**kept, "seed": known.seed or 0})

    verifier = verifier_model(options, options.timeout, options.seed)
    contenders = contenders_of(
        artifact, store, answering=answering, verifier=verifier, concurrency=options.concurrency
    )
    return Unlabelled(
        contenders=contenders,
        gold=gold_of(str(options.rows), contenders[1].judge, options, labelled=False),
        budget=Budget.of(options),
        labels=options.number,
        seed=options.seed,
    )


def _shown(plan: LabelPlan, note: str, **more: Any) -> Result:
    decision: Any = plan.decision
    first, *others = disagreement_words(decision)
    then = f"next: jurist artifacts show {plan.version}"
    card = VerdictCard(
        tone=tone_of(decision["verdict"]),
        decision=first,
        parts=[*others, then, OFFLINE if plan.model == OFFLINE_MODEL else ""],
    )
    return Result(data={**plan.to_json(), **more}, body=[card], notes=[note])
