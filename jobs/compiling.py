"""Compiling a judge: gold -> split -> optimizer (train, dev) -> proof (test) -> artifact."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..engines.embedding import embedder_beside
from ..engines.meter import Budget
from ..engines.models import OFFLINE, Model
from ..errors import Count, OptimizerError, Seed, UsageError, checked
from ..evaluation.votes import Rule, Sampling
from ..gold.goldset import Gold
from ..gold.leaks import check_leaks, find_leaks
from ..gold.mapping import MappingLike
from ..gold.splits import Split, near_groups_words
from ..gold.writing import check_files
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import CardContent
from ..keeping.card_parts import (
    GoldCard,
    GoldFileCard,
    Guideline,
    HoldoutCard,
    JobCard,
    ModelCard,
    OptimizerCard,
)
from ..keeping.loaders import load_judge
from ..keeping.loading import (
    JudgeModule,
    LoadedJudge,
    default_temperature,
    proven_model,
    resolve_sampling,
    sample_members,
)
from ..keeping.model_ends import warning_of_ends
from ..keeping.paying import PaidJob, Start, paying
from ..keeping.verifying import with_recorded_verifiers, with_verifiers
from ..optimizers.base import Event, Job, MinimalOptimizer, Optimizer, Result, Sink, optimize
from ..optimizers.guidelines import rules_in
from ..optimizers.registry import DEFAULT
from ..optimizers.thresholds import with_fitted_rules
from ..programs.asking import embedding_errors
from ..programs.deciding import with_means
from ..programs.judge import Judge
from ..programs.languages import case_texts
from ..programs.questions import Questions, parse_questions
from ..programs.settings import FOR_SEARCHES
from ..programs.together import run_to_end
from ..programs.verdicts import Verdict
from .conclusion import Concluded, Contest, conclude, restore_proof
from .plan import CALLS, Plan, check_showable, foresee_compilation
from .recorded import read_logs_beside
from .sealed_rows import foresee_proof_opening
from .surface import (
    Asking,
    GoldLike,
    ModelLike,
    Surface,
    make_model,
    read_holdout,
    resolve_asking,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Compiled(Concluded):
    """The result of a compilation. It can be called like the judge, with the compiled prompt, better or not.

    Attributes:
        artifact: the kept version.
        proof: basic against compiled on test; ``None`` where nothing better than the basic prompt was found.
        verdict: ``better``, ``worse``, ``not shown to be better`` or ``nothing better found``.
        words: the decision in words.
        search: the optimizer's result; ``None`` where an earlier call has finished this compilation.
        latest: whether the artifact was made the judge's latest.
        judge: the compiled judge, with the model it was compiled for.
    """

    search: Result | None
    judge: LoadedJudge

    @property
    def done_before(self) -> bool:
        """Whether an earlier call has finished this compilation, so that nothing was asked now."""
        return self.search is None

    @property
    def result(self) -> Result:
        """The optimizer's result with every candidate.

        Raises:
            UsageError: an earlier call has finished this compilation; ``artifact.history`` has its candidates.
        """
        if self.search is None:
            raise UsageError(
                f"{self.artifact.ref} was compiled by an earlier call: its search is gone",
                hint="artifact.history lists its candidates; --fresh compiles it anew",
            )
        return self.search

    def __call__(self, *row: object, **inputs: object) -> Verdict:
        """Return the verdict on one row; ``judge`` is a :class:`~jurist.LoadedJudge`, which can also be awaited."""
        return self.judge(*row, **inputs)

    def batch(self, rows: Any) -> list[Verdict]:
        """Return the verdicts on many rows; see :meth:`jurist.LoadedJudge.batch`, also for the errors."""
        return self.judge.batch(rows)

    def as_module(self) -> JudgeModule:
        """Return the judge as a ``dspy.Module``; see :meth:`jurist.LoadedJudge.as_module`."""
        return self.judge.as_module()

    def __repr__(self) -> str:
        """Name the artifact and the decision."""
        return f"<Compiled {self.artifact.ref}: {self.words}>"

    def to_json(self) -> dict[str, Any]:
        """Return the card of the version as plain JSON types, with its folder and how it came about."""
        return {"done_before": self.done_before, **super().to_json()}


@checked
def compile(
    judge: str | Judge,
    gold: GoldLike,
    *,
    holdout: GoldLike | None = None,
    beside: Sequence[str] = (),
    optimizer: str | Optimizer | MinimalOptimizer = DEFAULT,
    options: Mapping[str, Any] | None = None,
    model: ModelLike | None = None,
    prompt_model: ModelLike | None = None,
    verifier: ModelLike | None = None,
    verifiers: Sequence[str] = (),
    budget: Budget | None = None,
    mapping: MappingLike | None = None,
    raters: str | Sequence[str] = (),
    merge: Rule | None = None,
    sampling: Sampling | None = None,
    adapter: str | None = None,
    embedder: str | None = None,
    concurrency: Count = 8,
    shares: tuple[float, float, float] | None = None,
    words: bool = True,
    questions: bool | Sequence[str] = True,
    own_answer: bool | Sequence[str] = True,
    tokens_per_row: Count | None = None,
    seed: Seed = 0,
    start: str | None = None,
    store: str | os.PathLike[str] | Store | None = None,
    resume: bool = True,
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
        optimizer: a name of :data:`jurist.optimizers.registry.OPTIMIZERS`, ``dspy:CLASS``, ``FILE.py:NAME``, a name
            that an installed package brings, an optimizer of one's own, or one of DSPy as ``dspy.GEPA(...)``, of which
            the settings are taken; its metric and its models are the judge's.
        options: settings of the optimizer.
        model: answers as the judge; of :meth:`jurist.Model.panel` each member once. Default: ``offline``, and with
            ``start`` the model of that version.
        prompt_model: writes prompts; default: the judge's model.
        verifier: answers the judge's frozen steps; default: the judge's model at temperature 0.
        verifiers: versions of judges that verify what a generator writes, such as ``("label-check@2",)``; default: its
            own prompts.
        budget: hard limits for the whole job; calls are limited to 4,000 where it leaves them open.
        mapping: the names of columns and labels in the gold, where they are not the judge's.
        raters, merge: the columns of several raters, and the rule that merges their labels: see
            :meth:`jurist.Gold.load`.
        sampling: samples per case; an open threshold is fitted on train and dev, and several scores become one by
            their mean.
        adapter: ``chat`` or ``json``, which are DSPy's, or ``plain``, the judge's ``prompt`` as it stands. Default: a
            judge with a ``prompt`` begins with ``plain``, and ``race`` tries ``chat`` too; others have ``chat``, or
            ``json`` where the model's replies to it cannot be read.
        embedder: a model that embeds texts, as ``dspy.Embedder`` takes it: where rows are shown with each call, they
            are chosen by its vectors too, and not by words alone. Its calls are counted with the judge's.
        concurrency: cases in flight at once.
        shares: of the cases in train, dev and test, as shares of 1; default: the judge's own, else (0.3, 0.2, 0.5)
            below 300 labelled rows and (0.5, 0.2, 0.3) from there on.
        words: whether a regression on words and overlap may decide, alone or with the model's replies, where it is
            better. It knows nothing but the surface of a text.
        questions: whether a prompt may ask 5 to 15 smaller questions beside the judge's own, and a regression on their
            answers decide, where that is better. Questions of your own, each with ``[yes or no]`` or ``[1 to 5]`` at
            its end, are asked in place of those that a model would write.
        own_answer: whether the model may answer the task itself before it judges, where that is better: in one more
            call for each task, of a judge with a task (a question, an instruction) and one model that reads
            instructions. The names of the inputs that are the task, where these do not tell.
        tokens_per_row: the most tokens that a row of the compiled judge may take. Default: twice those of the basic
            prompt, and more where each further length of that brings half a point of the metric.
        seed: of the split and of every random choice.
        start: ``JUDGE@VERSION``, from whose prompt the search begins; the proof is against the basic prompt all the
            same.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.
        resume, fresh: return the version that the same call has finished before, or continue its interrupted run, so
            that nothing is paid twice; or forget both. With ``resume=False`` the call compiles anew, and an interrupted
            run is an error.
        force: make the artifact the latest even if it was not shown to be better.
        anyway: go on where the sealed test has too few groups for anything to be shown.
        sink: receives progress events; default: a bar in a notebook or a terminal, nothing elsewhere.
        surface: shows how the job goes in place of that, as the command line's does.

    Raises:
        TooFewGroupsError: nothing can be shown on the sealed test, and nothing was spent; ``anyway`` goes on.
        GoldError: the gold cannot be used. OptimizerError: the budget is too small for one pass.
        ModelError: the model cannot be used at all. StoppedError: a limit before the proof was done.
        Interrupted: a signal.
    """
    place: Asking = {"surface": surface, "store": store, "resume": resume, "fresh": fresh}
    reading: Asking = {"mapping": mapping, "raters": raters, "merge": merge}
    surface, limits, _ = resolve_asking({**place, **reading, "budget": budget})
    resolved, reference = surface.judge(judge)
    if start is not None and not verifiers:  # those of the version whose prompt the search begins with
        resolved = with_recorded_verifiers(resolved, surface.store.load(start), surface.store)
    resolved = with_verifiers(resolved, verifiers, surface.store)
    answering = make_model(model)
    if answering.is_own:
        answering = _choose_model(start, answering, surface.store)
    sampling = sampling or Sampling()
    if answering.members:
        sampling = sample_members(sampling, len(answering.members))
    fit = resolve_sampling(answering, with_means(resolved, sampling), resolved.temperature)
    surface.note(fit.note, warning_of_ends(answering.each))
    labelled = surface.gold(gold, resolved)
    resolved = resolved.for_texts(case_texts(labelled.cases))
    sealed = None
    if holdout is not None:
        sealed = read_holdout(holdout, labelled)
    logs = read_logs_beside(beside, sealed or labelled)
    surface.note(*(log.note for log in logs))
    proposer = None
    if prompt_model is not None:
        proposer = make_model(prompt_model)
        if proposer.is_own:
            proposer = replace(answering, max_tokens=proposer.max_tokens)
        if proposer.decides:
            raise UsageError(
                f"{proposer.name} is a decision model, and writes no prompts",
                hint="name a model that writes text with --prompt-model, or leave it out",
            )
        proposer = default_temperature(proposer, fit.sampling.samples)
    frozen_model = None
    if verifier is not None:
        frozen_model = make_model(verifier)
    if limits.calls is None:
        limits = replace(limits, calls=CALLS)
    task: tuple[str, ...] = ()
    if not isinstance(own_answer, bool):
        task = tuple([own_answer] if isinstance(own_answer, str) else own_answer)
    own_questions: Questions = ()
    if not isinstance(questions, bool):
        own_questions = parse_questions([questions] if isinstance(questions, str) else questions)
    plan = Plan(
        judge=resolved,
        gold=labelled,
        holdout=sealed,
        beside=logs,
        optimizer=optimizer,
        options=options or {},
        settings=replace(
            FOR_SEARCHES,
            sampling=fit.sampling,
            adapter=adapter,
            embedder=embedder,
            concurrency=concurrency,
            verifier=frozen_model,
        ),
        shares=shares,
        words=words,
        questions=questions is not False,
        own_questions=own_questions,
        own_answer=own_answer is not False,
        task=task,
        tokens_per_row=tokens_per_row,
        seed=seed,
        earlier=surface.store.earlier_parts(resolved.name, seed, shares, holdout=holdout is not None),
        model=fit.model,
        prompt_model=proposer,
        budget=limits,
        judge_ref=reference,
        start=_load_start(start, resolved, surface.store),
    )
    with surface.compiling(plan, sink) as (taking, job_start):
        version = find_finished(plan, surface.store, job_start)
        if version is not None:
            surface.note(
                f"{version.ref} was compiled by the same call before: no model was asked; --fresh compiles it anew"
            )
            return _return_finished(plan, surface.store, version, force=force)
        return compile_judge(plan, surface.store, job_start, force=force, anyway=anyway, sink=taking)


def _choose_model(start: str | None, settings: Model, store: Store) -> Model:
    """Return the model of a compilation for which none was named: that of the version it starts from, else offline."""
    if start is None:
        return replace(settings, name=OFFLINE)
    return proven_model(store.load(start).about.model, settings)


def _load_start(reference: str | None, judge: Judge, store: Store) -> Artifact | None:
    """Return the version from which a search begins; a version of another judge or task is refused."""
    if reference is None:
        return None
    artifact = store.load(reference)
    artifact.check_is_no_cascade()
    artifact.check(judge)
    return artifact


def find_finished(plan: Plan, store: Store, start: Start) -> Artifact | None:
    """Return the intact version that the same call has finished; ``None`` without any, or where it is made anew."""
    if not start.resume or start.fresh or plan.call_hash is None:
        return None
    for version in reversed(store.list(plan.judge.name)):
        if not version.problem and version.about.call_sha256 == plan.call_hash:
            return version
    return None


def _return_finished(plan: Plan, store: Store, version: Artifact, *, force: bool) -> Compiled:
    """Return a finished version as the compilation that made it did; by force it becomes the latest."""
    if force and not version.latest:
        store.tag(version.ref, "latest")
        version = store.load(version.ref)
    proof = restore_proof(plan, version)
    judge = _load_version(plan, store, version)
    return Compiled(artifact=version, proof=proof, latest=version.latest, search=None, judge=judge)


def compile_judge(
    plan: Plan,
    store: Store,
    start: Start | None = None,
    *,
    force: bool = False,
    anyway: bool = False,
    sink: Sink = lambda event: None,
) -> Compiled:
    """Compile a judge and keep the artifact; a budget below the proof is refused before anything is written."""
    sink(Event(kind="phase", text=f"splitting {len(plan.gold.cases)} cases", phase="splitting"))
    proof_calls = plan.proof_calls
    _ = plan.configured_optimizer  # an unknown optimizer is refused before anything is written
    _check_budget(plan, proof_calls)
    if plan.start is not None:
        check_leaks(plan.split, [plan.start.state])
    store.check_writable()
    check_files(store.root / plan.judge.name / "card.json", hint="name another folder with --store")
    opening = foresee_proof_opening(plan.split)
    limits = opening.limits(opening.cases, plan.judge)
    # The words on the opening say why its level is strict.
    _note(sink, *plan.gold.shared_words, plan.split.words, opening.words)
    if not anyway:
        check_showable(plan.split, plan.gold, opening.level)
    _note(sink, near_groups_words(plan.gold))
    for limit in limits:
        _note(sink, f"the sealed test: {limit}")
    _note(sink, plan.split.near_words)
    # The search plans by the calls that are left: kept answers must not change the prompts that it tries.
    start = replace(start or Start(root=store.checkpoints), reuses=True, counts_kept=True)
    with paying(plan, start) as work:
        return _compile(plan, work, store, force, sink)


def _check_budget(plan: Plan, proof_calls: int) -> None:
    """Refuse a limit of calls that leaves nothing beside the proof."""
    reserve = proof_calls + plan.spare_calls(proof_calls)
    limit = plan.budget.calls
    if limit is not None and limit <= reserve:
        raise OptimizerError(
            f"the proof alone takes {reserve} calls and the budget is {limit}",
            hint=f"raise --max-calls to {foresee_compilation(plan).needed} or more, or use fewer rows or samples",
        )


def _note(sink: Sink, *lines: str) -> None:
    """Send the lines that are not empty, each as a note."""
    for line in lines:
        if line:
            sink(Event(kind="note", text=line))


def _compile(plan: Plan, work: PaidJob, store: Store, force: bool, sink: Sink) -> Compiled:
    """Search on train and dev, prove the best candidate on test, keep it, and return the result."""
    job = plan.job(work.contexts["judge"], sink)
    _check_embedder(plan, job)
    job, result = _search(plan, job, work)
    work.on_stop = partial(_keep_best, work, result, "no proof yet; ")
    board = result.board
    is_clear = board.shows_gain(result.best, job.dev)
    contest = Contest(plan, job, result.best, gain_is_clear=is_clear)
    if not contest.unchanged:
        words = f"proving on {len(contest.opening.cases)} sealed cases{contest.opening.words_of_repeat}"
        calls = work.meter.calls
        sink(Event(kind="phase", text=words, phase="proving", calls=calls, expected=plan.proof_calls))
    origin = _origin_of(plan, result).joined(CardContent(parent=_latest_version(plan, store)))
    what, history = f"compile {plan.judge.name}", board.history(plan.split.train, plan.split.dev)
    concluded = conclude(contest, work, store, what, origin, history, force=force)
    judge = _load_version(plan, store, concluded.artifact)
    return Compiled(**vars(concluded), search=result, judge=judge)


def _load_version(plan: Plan, store: Store, version: Artifact) -> LoadedJudge:
    """Return the compiled judge of a version, with the model of the compilation."""
    return load_judge(
        plan.judge,
        store=store,
        version=str(version.version),
        model=plan.model,
        concurrency=plan.settings.concurrency,
        verifier=plan.settings.verifier,
    )


def _check_embedder(plan: Plan, job: Job) -> None:
    """Ask the model that embeds once, so that a wrong name is said before anything else is paid."""
    embedder = None
    if plan.settings.embedder:
        embedder = embedder_beside(job.judge_lm, plan.settings.embedder)
    if embedder:
        with embedding_errors():
            run_to_end(embedder.embed(["-"]))


def _search(plan: Plan, job: Job, work: PaidJob) -> tuple[Job, Result]:
    """Return the job with the adapter that was found, and the result of a search that leaves the proof its calls."""
    work.meter.may_fail = not plan.model.offline
    work.meter.keep_back(plan.proof_calls)
    result = optimize(plan.configured_optimizer, job, plan.starting_prompt)
    job = replace(job, settings=replace(job.settings, adapter=result.adapter))
    result = with_fitted_rules(job, result)
    work.on_stop = partial(_keep_best, work, result)
    if result.ending == "interrupted" and result.stop is not None:
        raise result.stop
    work.meter.keep_back(0)
    return job, _without_leaks(plan.split, job, result)


def _latest_version(plan: Plan, store: Store) -> int | None:
    """Return the version that has been the latest for this model until now; ``None`` without any."""
    version = store.current(plan.judge.name, plan.model.name)
    return version.version if version else None


def _without_leaks(split: Split, job: Job, result: Result) -> Result:
    """Return the result, in which no prompt with text of a test case wins; an error if the basic prompt has some."""
    board = result.board
    candidates = board.candidates.values()
    leaks = find_leaks(split, [candidate.state for candidate in candidates])
    leaking_ids = set()
    for candidate in candidates:
        if candidate.state.id in leaks and candidate.id != board.basic.id:
            leaking_ids.add(candidate.id)
    if leaking_ids:
        leaking = "1 candidate whose prompt holds"
        if len(leaking_ids) > 1:
            leaking = f"{len(leaking_ids)} candidates whose prompts hold"
        job.note(f"left out of the choice: {leaking} text of a test case")
        result = replace(result, best=board.best(job.dev, leaking_ids) or board.basic)
    if result.best.state.id in leaks:
        raise leaks[result.best.state.id]
    return result


def _keep_best(work: PaidJob, result: Result, stage: str = "") -> str:
    """Keep the best prompt so far in the checkpoint, and return its name in words, after those of the stage."""
    best = result.best
    content = {"candidate": best.id, "prompt": best.state.to_json(), "setting": best.setting.to_json()}
    if work.checkpoint is not None:
        work.checkpoint.keep("best.json", content)
    number = len(result.board.candidates)
    return f"{stage}best so far: {result.board.name(best)} ({best.id}), of {number} candidates"


def _origin_of(plan: Plan, result: Result) -> CardContent:
    """Return the content of the card about the job and its search."""
    candidates = result.board.candidates.values()
    content: dict[str, Any] = {
        "judge_ref": plan.judge_ref or plan.judge.name,
        "optimizer": OptimizerCard(
            name=plan.optimizer_name,
            params=dict(plan.params),
            settings={plan.optimizer_name: plan.configured_optimizer.settings()},
            seed=plan.seed,
            ending=result.ending,
            reason=result.reason,
            candidate=result.best.id,
            candidates=len(candidates),
            start=plan.start.ref if plan.start else None,
        ),
        "prompt_model": ModelCard.of(plan.proposer),
        "job": JobCard(
            model=ModelCard.of(plan.model),
            adapter=result.adapter,
            samples=plan.settings.sampling.samples,
            threshold=plan.settings.sampling.threshold,
            **_rare_settings(plan),
        ),
        "gold": _gold_card(plan),
    }
    if plan.call_hash:
        content["call_sha256"] = plan.call_hash
    rules = rules_in(result.best.state, [candidate.params for candidate in candidates])
    if rules:
        content["guidelines"] = [Guideline.model_validate(rule) for rule in rules]
    if plan.frozen_model:
        content["verifier"] = ModelCard.of(plan.frozen_model)
    return CardContent(**content)


def _rare_settings(plan: Plan) -> dict[str, Any]:
    """Return by their names on a card the settings that few compilations have, such as no words."""
    settings: dict[str, Any] = {}
    if plan.settings.sampling.takes_mean:
        settings["combine"] = "mean"
    if not plan.words:
        settings["words"] = False
    if not plan.questions:
        settings["questions"] = False
    if not plan.own_answer:
        settings["own_answer"] = False
    return settings


def _gold_card(plan: Plan) -> GoldCard:
    """Return the card of the gold, with its split."""
    split = plan.split
    content: dict[str, Any] = {
        **_gold_file(plan.gold).to_json(),
        "train": len(split.train),
        "dev": len(split.dev),
        "test": len(split.test),
        "test_ids_sha256": split.test_hash,
        "shares": list(split.shares),
        "common": list(split.judge.common or ()),
        "parts": split.to_card(),
        "seen": sorted(case.id for case in split.train + split.dev),
    }
    if plan.holdout:
        content["holdout"] = HoldoutCard(**_gold_file(plan.holdout).to_json(), left_out=split.left_out)
    return GoldCard(**content)


def _gold_file(gold: Gold) -> GoldFileCard:
    """Return the name, source, hash and mapping of gold."""
    content: dict[str, Any] = {"name": gold.name, "source": gold.source, "sha256": gold.sha256}
    if gold.mapping:
        content["mapping"] = gold.mapping
    if gold.rejected:
        content["rejected"] = gold.rejected
    return GoldFileCard(**content)
