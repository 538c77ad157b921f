"""From a reference to what can be asked: a judge, a version, a detector, a cascade, or the verdicts of a log."""

from collections.abc import Mapping
from typing import Any

from ..engines.channel import CallContext
from ..engines.detectors import RECORDED, named
from ..engines.models import Model
from ..errors import UsageError
from ..programs.asking import check_sampling
from ..programs.cognibench import with_strictness
from ..programs.definition import defined
from ..programs.judge import Judge
from ..programs.named import SAMPLES, named_judge
from ..programs.state import PromptState
from .artifact_card import Artifact
from .artifacts import Store
from .card import MemberCard
from .cascades import CascadeJudge
from .loading import LoadedJudge, detector_model
from .naming import Name, Prompt, find_judge
from .recorded import RecordedJudge
from .resolving import verifier_of


def load_judge(
    reference: str | Judge,
    *,
    store: Store,
    version: str = "",
    model: Model | None = None,
    samples: int | None = None,
    threshold: float | None = None,
    concurrency: int = 8,
    strictness: str | None = None,
    verifier: Model | None = None,
) -> LoadedJudge:
    """Load ``JUDGE``, ``JUDGE@VERSION`` or ``JUDGE:basic`` for a model, or a detector that names its own.

    ``JUDGE`` is the latest version shown better with that model (without one: with any), or else the basic prompt.

    Samples, threshold and prompt format are those the artifact was proven with,
    unless given here. A number of samples given here without a threshold goes
    with a majority, because a fitted threshold belongs to its number of samples. The strictness
    of a judge with tiers is the one it was proven for, too; under another one a fitted threshold is not used.
    """
    own = named(reference) if isinstance(reference, str) else None
    asked: dict[str, Any] = {"threshold": threshold, "strictness": strictness}
    if own and own.kind == RECORDED:
        raise UsageError(
            f"{reference} are verdicts that were given before: they judge no new rows",
            hint=f"hold them against labels: jurist evaluate {reference} --gold labels.csv",
        )
    if own:
        draws = SAMPLES.get(own.kind, 1) if samples is None else samples
        name = Name(judge=named_judge(own), store=store, version="basic", samples=draws, **asked)
    else:
        name = Name.of(reference, version, store, samples=samples, **asked)
    prompt = name.prompt(model.name if model else None)
    if prompt.artifact and prompt.artifact.about.cascade:
        given = {"samples": samples, **asked, "verifier": verifier}
        return _cascade(prompt, prompt.artifact, store, concurrency, given).with_model(model or Model())
    if own and own.checker:
        verifier = Model(name=own.checker, temperature=0.0)
    # that there are no frozen steps is said before anything is asked
    verifier_of(prompt.judge, Model(), verifier)
    check_sampling(prompt.judge, prompt.wanted)
    loaded = LoadedJudge(
        **vars(prompt),
        model=detector_model(own, model or Model()),
        concurrency=concurrency,
        context=CallContext.fresh(),
        verifier=verifier,
        named=str(reference) if own else "",
        by_name=None if name.version else name,
    )
    return loaded._asking(loaded.model, loaded.wanted.samples)


def _cascade(
    prompt: Prompt, artifact: Artifact, store: Store, concurrency: int, given: Mapping[str, Any]
) -> CascadeJudge:
    """Return a cascade with its judges, each as it was when the level was chosen."""
    if name := next((name for name, value in given.items() if value is not None), ""):
        said = f"{artifact.ref} is a cascade, whose judges keep their own {name}"
        raise UsageError(said, hint="leave it out")
    assert artifact.about.cascade is not None
    members = [_member(kept, store) for kept in artifact.about.cascade.members]
    return CascadeJudge(
        **vars(prompt),
        model=members[-1].model,
        concurrency=concurrency,
        context=CallContext.fresh(),
        members=tuple(members),
    )


def _member(kept: MemberCard, store: Store) -> LoadedJudge:
    """Return a judge of a cascade, from what the cascade keeps of it."""
    if named(kept.judge):
        return load_judge(kept.judge, store=store)
    judge = defined(kept.definition) if kept.definition else find_judge(kept.reference, store)
    if kept.strictness:
        judge = with_strictness(judge, kept.strictness)
    return LoadedJudge(
        judge=judge,
        state=PromptState.from_json(kept.prompt),
        artifact=None,
        adapter=kept.adapter,
        wanted=kept.thresholds.sampling,
        model=kept.model.model(),
        verifier=kept.verifier.model() if kept.verifier else None,
        concurrency=1,
        context=CallContext.fresh(),
        named=kept.judge,
    )


def load(reference: str | Judge, *, threshold: float | None = None, **options: Any) -> LoadedJudge:
    """Load a judge as :func:`load_judge` does, or the verdicts of a log."""
    if isinstance(reference, str) and reference.startswith(f"{RECORDED}:"):
        return RecordedJudge.of(reference, threshold)
    return load_judge(reference, threshold=threshold, **options)
