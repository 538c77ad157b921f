"""The public functions: to get a judge, compile it, measure it, and correct what it found."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Unpack

from .engines.meter import Budget
from .evaluation.votes import Sampling
from .jobs.cascading import Cascade, Cascading, with_models
from .jobs.comparing import Comparing, Comparison, Evaluating, Evaluation, Pairs
from .jobs.compiling import Compiled, compile_judge
from .jobs.gating import Criteria, Gate, Gating, Limits, limits_of
from .jobs.hardening import Hardening, Robustness
from .jobs.plan import CALLS, Plan, earlier_parts
from .jobs.recorded import logs_beside
from .jobs.surface import (
    Asking,
    GoldLike,
    JudgeLike,
    Loading,
    ModelLike,
    Surface,
    holdout_of,
    judges_of,
    loaded_of,
    model_of,
    started,
    store_of,
    warn,
)
from .keeping.artifacts import Store
from .keeping.loading import LoadedJudge, default_temperature, resolve_sampling
from .keeping.naming import find_judge
from .optimizers.base import Optimizer, Sink
from .optimizers.registry import DEFAULT
from .programs.judge import Judge


def judge(name: str, *, store: str | os.PathLike[str] | None = None, trust: bool = False) -> Judge:
    """Return a judge by name: a built-in one, ``path/to/file.py:judge``, or one whose artifact names its file.

    Args:
        name: which one.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.
        trust: execute the Python file that an artifact was compiled from, where its code is needed.

    Raises:
        JudgeError: there is none, or its file may not be executed.
    """
    return find_judge(name, store_of(store, trust=trust))


def load(
    reference: str | Judge,
    *,
    version: int | str = "",
    model: ModelLike = "offline",
    store: str | os.PathLike[str] | None = None,
    trust: bool = False,
    **options: Unpack[Loading],
) -> LoadedJudge:
    """Load a judge that can be called with its inputs.

    Args:
        reference: ``JUDGE`` (the latest version shown better with ``model``, else the basic prompt, and a warning
            says why), ``JUDGE@VERSION``, or ``JUDGE:basic``; or the judge itself, where no file defines it.
        version: of a judge itself: a number, a tag, or ``"basic"``; default: as its name alone.
        model: see :data:`ModelLike`.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.
        trust: execute the Python file that the artifact was compiled from, where its code is needed; it is
            remembered.
        samples: draws per case, at least 1; default: as proven.
        threshold: votes for a positive verdict, 1..samples, or below 1 the probability; default: as proven.
        concurrency: cases in flight at once.
        strictness: of a judge with tiers: ``rational``, ``grounded`` or ``irrefutable``; default: as proven.
        verifier: answers the judge's frozen steps; default: ``model`` at temperature 0.
        adapter: DSPy's prompt format of a basic prompt: ``chat``, ``json`` or ``xml``; a version keeps its own.

    Raises:
        JudgeError, ArtifactError: no such judge, no such version, or a damaged one.
    """
    loaded = loaded_of(reference, store_of(store, trust=trust), version=version, model=model, **options)
    warn(loaded.note)
    return loaded


def compile(
    judge: str | Judge,
    gold: GoldLike,
    *,
    holdout: GoldLike | None = None,
    beside: Sequence[str] = (),
    optimizer: str | Optimizer = DEFAULT,
    options: Mapping[str, Any] | None = None,
    model: ModelLike = "offline",
    prompt_model: ModelLike | None = None,
    verifier: ModelLike | None = None,
    budget: Budget | None = None,
    sampling: Sampling | None = None,
    adapter: str | None = None,
    concurrency: int = 8,
    shares: tuple[float, float, float] | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | Store | None = None,
    resume: bool = False,
    fresh: bool = False,
    force: bool = False,
    anyway: bool = False,
    sink: Sink | None = None,
    surface: Surface | None = None,
) -> Compiled:
    """Compile a judge against gold labels, prove it on the sealed test, and keep the artifact.

    Args:
        judge: a name, ``path/to/file.py:judge``, or a :class:`~jurist.Judge`.
        gold: labelled rows; see :data:`GoldLike`.
        holdout: labelled rows that are the sealed test; train and dev are then all of ``gold``.
        beside: ``recorded:FILE`` or ``recorded:FILE#COLUMN``, verdicts that another judge gave: what they score on
            the sealed test stands on the card.
        optimizer: a name of :data:`jurist.optimizers.registry.OPTIMIZERS`, several joined by ``+``, or one's own.
        options: settings of the optimizer.
        model: answers as the judge.
        prompt_model: writes prompts; default: the judge's model.
        verifier: answers the judge's frozen steps; default: the judge's model at temperature 0.
        budget: hard limits for the whole job; calls are limited to 4,000 where it leaves them open.
        sampling: samples per case; an open threshold is fitted on train.
        adapter: DSPy's prompt format: ``chat``, ``json`` or ``xml``; default: chat, or json where the model's
            replies to it cannot be read.
        concurrency: cases in flight at once.
        shares: of the cases in train, dev and test, as shares of 1; default: the judge's own, else (0.3, 0.2, 0.5)
            below 300 labelled rows and (0.5, 0.2, 0.3) from there on.
        seed: of the split and of every random choice.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.
        resume, fresh: continue, or forget, an interrupted run of the same job; nothing is paid twice.
        force: make the artifact the latest even if it was not shown to be better.
        anyway: go on where the sealed test has too few groups for anything to be shown.
        sink: receives progress events; default: a bar in a notebook or a terminal, nothing elsewhere.
        surface: shows how the job goes in place of that, as the command line's does.

    Raises:
        TooFewGroupsError: nothing can be shown on the sealed test, and nothing was spent; ``anyway`` goes on.
        GoldError: the gold cannot be used. OptimizerError: the budget is too small for one pass.
        ModelError: the model cannot be used at all. StoppedError: a signal, or a limit before the proof was done.
    """
    given = SimpleNamespace(**locals())
    surface, limits, _ = started(
        {"surface": surface, "budget": budget, "store": store, "resume": resume, "fresh": fresh}
    )
    found, reference = surface.judge(judge)
    fit = resolve_sampling(model_of(model), sampling or Sampling(), found.temperature)
    surface.note(fit.note)
    labelled = surface.gold(gold, found)
    sealed = None if holdout is None else holdout_of(holdout, labelled)
    logs = logs_beside(beside, sealed or labelled)
    surface.note(*(one.note for one in logs))
    proposer = None if prompt_model is None else model_of(prompt_model)
    plan = Plan.of(
        given,
        judge=found,
        gold=labelled,
        holdout=sealed,
        beside=logs,
        earlier=earlier_parts(surface.store, found, seed, shares, holdout=holdout is not None),
        model=fit.model,
        prompt_model=proposer and default_temperature(proposer, fit.sampling.samples),
        verifier=None if verifier is None else model_of(verifier),
        budget=limits if limits.calls is not None else replace(limits, calls=CALLS),
        sampling=fit.sampling,
        judge_ref=reference,
    )
    with surface.compiling(plan, sink) as (taking, opened):
        return compile_judge(
            plan,
            store=surface.store,
            resume=resume,
            fresh=fresh,
            force=force,
            anyway=anyway,
            sink=taking,
            on_open=opened,
        )


def evaluate(
    judge: JudgeLike, gold: GoldLike, *, model: ModelLike | None = None, **asking: Unpack[Asking]
) -> Evaluation:
    """Score a judge on gold: every metric with its 95 % interval, scores by class, and what to read first.

    Args:
        judge, gold, asking: as for :func:`compare`.
        model: who answers; default: ``offline``, and of a judge that was loaded its own.

    Raises:
        What :func:`compare` raises.
    """
    found: Evaluation = _measured(Evaluating, [judge], model, gold, asking)
    return found


def _measured(
    work: Callable[..., Any],
    judges: Sequence[JudgeLike],
    models: ModelLike | Sequence[ModelLike] | None,
    gold: GoldLike,
    asking: Asking,
    *,
    title: str = "",
    **more: Any,
) -> Any:
    """Load judges and gold, ask, and return what that shows."""
    surface, limits, options = started(asking)
    contenders = judges_of(judges, models, surface.store, options, draws=more.get("repeats", 1))
    contenders, labelled = surface.held_against(contenders, gold)
    done = work(contenders=contenders, gold=labelled, budget=limits, **more)
    return surface.measured(done, title or contenders[0].name)


def harden(
    judge: JudgeLike,
    gold: GoldLike,
    *,
    only: Sequence[str] = (),
    cases: int = 100,
    field: str = "",
    model: ModelLike | None = None,
    **asking: Unpack[Asking],
) -> Robustness:
    """Attack a judge: how often its answer changes where it must not; kept beside the card of an artifact of the store.

    Args:
        judge, gold, asking: as for :func:`compare`.
        only: attacks or probes by name, such as ``fake-verdict``; default: all.
        cases: attacked at most.
        field: the input that is attacked; default: that whose text is judged.
        model: as for :func:`evaluate`.

    Raises:
        What :func:`compare` raises; UsageError: the field cannot be attacked.
    """
    surface, limits, options = started(asking)
    (loaded,) = judges_of([judge], model, surface.store, options)
    work = Hardening(
        contenders=(loaded,),
        gold=surface.gold(gold, loaded.judge),
        budget=limits,
        only=tuple(only),
        most=cases,
        field=field,
        store=surface.store,
    )
    found: Robustness = surface.measured(work, loaded.name)
    return found


def compare(
    judges: Sequence[JudgeLike],
    gold: GoldLike,
    *,
    models: Sequence[ModelLike] | None = None,
    repeats: int = 1,
    pairs: Pairs = "first",
    seed: int = 0,
    **asking: Unpack[Asking],
) -> Comparison:
    """Score judges on the same gold, judges x models x repeats, with paired tests corrected together (Holm).

    Args:
        judges: see :data:`JudgeLike`; they find the same in the same rows.
        gold: labelled rows; see :data:`GoldLike`. Rows that an artifact was compiled on are left out, and counted.
        models: every judge that is given by name is asked with each; default: ``offline``.
        repeats: times everything is asked, with other draws each (FECT section 3.1: 10).
        pairs: ``"first"`` tests the first against each other one, ``"all"`` every pair.
        seed: of the permutation test.
        asking: ``budget``, hard limits for everything together; ``store``, the folder of artifacts (default
            ``$JURIST_STORE``, else ``./compiled``); ``resume`` or ``fresh``, to continue or to forget an interrupted
            run of the same comparison, so that nothing is paid twice; and, of judges given by name, as for
            :func:`load`: ``samples``, ``threshold``, ``concurrency``, ``strictness``, ``verifier``, ``adapter``.

    Raises:
        UsageError: they cannot be compared. JudgeError, ArtifactError: as :func:`load`. GoldError: the gold cannot
        be used. CheckpointError: there is an unfinished run and neither ``resume`` nor ``fresh`` is given.
        StoppedError: Ctrl-C or a limit; paid answers are kept. ModelError: a model cannot be used at all.
    """
    how: dict[str, Any] = {"repeats": repeats, "pairs": pairs, "seed": seed}
    found: Comparison = _measured(Comparing, judges, models, gold, asking, title="comparing", **how)
    return found


def cascade(
    judges: Sequence[JudgeLike],
    gold: GoldLike,
    *,
    agree: float = 0.9,
    risk: float = 0.1,
    models: Sequence[ModelLike] | None = None,
    seed: int = 0,
    **asking: Unpack[Asking],
) -> Cascade:
    """Choose on gold how sure each of several judges must be to answer; the next one is asked where it is not.

    The level is the lowest at which the rows that are answered agree with people to ``agree``, but for ``risk``: by
    fixed-sequence testing (Jung et al. 2024). It is kept as the next version of the last judge, if it was shown and
    no judge is a log.

    Args:
        judges: in the order in which they are asked; each gives one answer a row.
        gold, asking: as for :func:`compare`.
        agree: the share of the answered rows on which people must say the same, above 0 and below 1.
        risk: how probable it may be at most that they do not, above 0 and below 1.
        models: one for all judges that are given by name, or one for each; default: of a version the model that it was
            proven with, else ``offline``.
        seed: of the parts of the gold in which rows tell of each other.

    Raises:
        What :func:`compare` raises; UsageError: a judge gives several answers a row, or other labels.
    """
    surface, limits, options = started(asking)
    keep = [isinstance(one, LoadedJudge | Compiled) for one in judges]
    ready = with_models(
        judges_of(judges, None, surface.store, options), [model_of(one) for one in models or ()], keep=keep
    )
    contenders, labelled = surface.held_against(ready, gold)
    work = Cascading(
        contenders=contenders,
        gold=labelled,
        budget=limits,
        store=surface.store,
        agree=agree,
        risk=risk,
        seed=seed,
    )
    found: Cascade = surface.measured(work, "asking")
    return found


def gate(
    judge: JudgeLike,
    gold: GoldLike,
    *,
    minimum: Limits = (),
    maximum: Limits = (),
    not_worse_than: JudgeLike | None = None,
    margin: float | None = None,
    sure: bool = False,
    max_unusable: float = 0.05,
    model: ModelLike | None = None,
    seed: int = 0,
    **asking: Unpack[Asking],
) -> Gate:
    """Say whether a judge is good enough on gold, and not worse than another version.

    Args:
        judge, gold, seed, asking: as for :func:`compare`.
        minimum: metric -> the lowest value that passes; pairs for several of one metric.
        maximum: metric -> the highest value that passes, of an error.
        not_worse_than: another one; fails if the judge is shown to be worse.
        margin: fails unless the interval shows that it is worse by this much at most.
        sure: hold the worse end of the 95 % interval against the limits.
        max_unusable: the largest share of labelled units without an answer.
        model: as for :func:`evaluate`.

    Raises:
        What :func:`compare` raises; UsageError: a limit is of a metric that there is not.
    """
    given = SimpleNamespace(**locals())
    criteria = Criteria.of(given, limits=limits_of(minimum, maximum))
    judges = [judge] if not_worse_than is None else [judge, not_worse_than]
    how: dict[str, Any] = {"criteria": criteria, "seed": seed}
    found: Gate = _measured(Gating.of, judges, model, gold, asking, title="judging", **how)
    return found
