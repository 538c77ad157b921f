"""Compiling a judge, from gold to a proven artifact: the main job.

gold -> split -> optimizer (train, dev) -> proof (test) -> artifact. The calls of
the proof are kept back from the budget before the optimizer starts, so that the
limit holds for the whole job. Both programs are asked on the sealed test with
the same samples and parser, and with the same engine and adapter, unless the
search chose others: then the basic prompt is asked as the user set the job up.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from ..engines.channel import CallContext
from ..engines.models import connect, same_model
from ..errors import OptimizerError
from ..evaluation.proof import Proof
from ..gold.copies import sketched_rows
from ..gold.goldset import Gold
from ..gold.leaks import leaks_of
from ..gold.splits import Split
from ..gold.writing import check_files
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.loading import LoadedJudge, load_judge
from ..keeping.paying import PaidJob, Start, paying
from ..keeping.sealing import MATRIX, PROOF, SEEN
from ..optimizers.base import Event, Job, Result, Sink, optimize
from ..optimizers.matrix import bounded
from ..optimizers.pareto import cheaper, front
from ..optimizers.registry import make, settings_of
from ..optimizers.setting import Setting
from ..optimizers.threshold import with_thresholds
from ..programs.verdicts import Verdict
from ..programs.votes import Sampling
from ..report.views import artifact_html
from .foresee import foresee_compilation
from .looking import Proving, prompt_of, proof_of
from .parting import check_showable
from .plan import Plan
from .proving import Proven, asked_as, described, model_under, proven


@dataclass(frozen=True, kw_only=True, repr=False)
class Compiled:
    """What a compilation leaves. It can be called like the judge: with what was compiled, better or not.

    Attributes:
        artifact: the kept version.
        proof: basic against compiled on test.
        result: the optimizer's result with every candidate.
        latest: whether the artifact was made the judge's latest.
        judge: the compiled judge, with the model it was compiled for.
    """

    artifact: Artifact
    proof: Proof
    result: Result
    latest: bool
    judge: LoadedJudge

    def __call__(self, **inputs: Any) -> Verdict:
        """Judge one row; see :class:`~jurist.LoadedJudge`, which ``judge`` is, for many rows and for ``await``."""
        return self.judge(**inputs)

    def __repr__(self) -> str:
        """Name the artifact and the decision."""
        return f"<Compiled {self.artifact.ref}: {self.proof.decision.words}>"

    def to_frame(self) -> Any:
        """Return every metric with its interval: see :meth:`~jurist.Artifact.to_frame`, which raises."""
        return self.artifact.to_frame()

    def _repr_html_(self) -> str:
        return artifact_html(self.artifact, " (latest)" if self.latest else " (kept, not made latest)")


def compile_judge(
    plan: Plan,
    *,
    store: Store,
    resume: bool = False,
    fresh: bool = False,
    force: bool = False,
    anyway: bool = False,
    sink: Sink = lambda event: None,
    on_open: Callable[[Mapping[str, int]], None] = lambda paid: None,
) -> Compiled:
    """Compile a judge and keep the artifact."""
    sink(Event(kind="phase", text=f"splitting {len(plan.gold.cases)} cases", phase="splitting"))
    _check_budget(plan)
    check_files(store.root / plan.judge.name / "card.json")
    look = proof_of(plan.split)
    told = [f"the sealed test: {limit}" for limit in look.limits(look.cases, plan.judge.comparison)]
    _note(sink, *plan.gold.shared_words, plan.split.words)
    if not anyway:
        check_showable(look.split, plan.gold, look.level)
    _note(sink, look.words, *told, plan.split.near_words)
    start = Start(root=store.checkpoints, resume=resume, fresh=fresh, on_open=on_open)
    with paying(plan, start) as work:
        return _compile(plan, work, store, force, sink)


def _note(sink: Sink, *lines: str) -> None:
    for line in lines:
        if line:
            sink(Event(kind="note", text=line))


def _check_budget(plan: Plan) -> None:
    """Refuse what cannot be done before anything is written: gold, names, settings, a budget below the proof."""
    held, limit = plan.proof_calls, plan.budget.calls
    make(plan.optimizer, plan.options)
    if limit is not None and limit <= held:
        raise OptimizerError(
            f"the proof alone takes {held} calls and the budget is {limit}",
            hint=f"raise --max-calls to {foresee_compilation(plan).needed} or more, or use fewer rows or samples",
        )


def _compile(plan: Plan, work: PaidJob, store: Store, force: bool, sink: Sink) -> Compiled:
    job, meter, split = _job(plan, work.contexts["judge"], sink), work.meter, plan.split
    meter.hold(plan.proof_calls)
    result = with_thresholds(job, optimize(make(plan.optimizer, plan.options), job))
    work.on_stop = partial(_keep_best, work, result)
    if result.ending == "interrupted" and result.stop is not None:
        raise result.stop
    meter.hold(0)
    result, leaking = _chosen(split, job, result)
    work.on_stop = partial(_keep_best, work, result, "no proof yet; ")
    sampling = job.sampling_under(result.best.setting)
    look = proof_of(split, _tried(plan, result, sampling))
    words, held = f"proving on {len(look.cases)} sealed cases", plan.proof_calls
    sink(Event(kind="phase", text=words, phase="proving", calls=meter.calls, expected=held))
    shown = _prove(job, plan, look, result, sampling)
    look.done(f"compile {plan.judge.name}")
    card = {
        **_card(plan, work, result, sampling),
        **shown.to_card(),
        "parent": _parent(plan, store),
        "pareto": [one.to_json() for one in front(job, result.board, leaking)],
        "cheaper": cheaper(job, result.board, result.best, leaking),
        **look.to_card(),
    }
    return _kept(plan, store, result, shown, card, force)


def _kept(
    plan: Plan, store: Store, result: Result, shown: Proven, card: dict[str, Any], force: bool
) -> Compiled:
    split, board = plan.split, result.board
    latest = force or shown.proof.decision.verdict == "better"
    matrix, left_out = bounded(board.matrix(split.train, split.dev), (board.basic.id, result.best.id))
    artifact = store.save(
        plan.judge,
        result.best.state,
        {**card, "matrix": {"rows": len(matrix), "left_out": left_out}},
        board.history(split.train, split.dev),
        records={
            MATRIX: matrix,
            PROOF: shown.answers,
            SEEN: sketched_rows(split.judge, (*split.train, *split.dev)),
        },
        make_latest=latest,
    )
    judge = load_judge(
        plan.judge,
        store=store,
        version=str(artifact.version),
        model=plan.model,
        concurrency=plan.concurrency,
        verifier=plan.verifier,
    )
    return Compiled(artifact=artifact, proof=shown.proof, result=result, latest=latest, judge=judge)


def _chosen(split: Split, job: Job, result: Result) -> tuple[Result, Collection[str]]:
    """Return the result without what may not win, and the ids of that.

    Prompts that show something of the test are found after the search, and no optimizer is told: what is refused
    says something of the test too.
    """
    board = result.board
    leaks = leaks_of(split, [one.state for one in board.candidates.values()])
    leaking = {one.id for one in board.candidates.values() if one.state.id in leaks} - {board.basic.id}
    if leaking:
        said = (
            "1 candidate whose prompt holds"
            if len(leaking) == 1
            else f"{len(leaking)} candidates whose prompts hold"
        )
        job.note(f"left out of the choice: {said} text of a test case")
        result = dataclasses.replace(result, best=board.best(job.dev, leaking) or board.basic)
    if result.best.state.id in leaks:
        raise leaks[result.best.state.id]
    return result, leaking


def _keep_best(work: PaidJob, result: Result, said: str = "") -> str:
    """Keep the best prompt so far, and say which it is."""
    best = result.best
    kept = {"candidate": best.id, "prompt": best.state.to_json(), "setting": best.setting.to_json()}
    if work.checkpoint is not None:
        work.checkpoint.keep(work.checkpoint.best.name, kept)
    return f"{said}best so far: {result.board.name(best)} ({best.id}), of {len(result.board.candidates)} candidates"


def _job(plan: Plan, context: CallContext, sink: Sink) -> Job:
    return Job(
        judge=plan.judge,
        train=plan.split.train,
        dev=plan.split.dev,
        judge_lm=connect(plan.model, context, plan.judge.role),
        frozen_lm=connect(plan.frozen_model, context, "judge") if plan.frozen_model else None,
        proposer_lm=connect(plan.proposer, context, "proposer"),
        context=context,
        seed=plan.seed,
        sampling=plan.sampling,
        adapter=plan.adapter,
        concurrency=plan.concurrency,
        own=Setting(model=plan.model.name, temperature=plan.model.temperature, adapter=plan.adapter),
        connected=cache(
            lambda setting: connect(
                model_under(plan.model, setting, plan.sampling.samples), context, plan.judge.role
            )
        ),
        sink=sink,
    )


def _tried(plan: Plan, result: Result, sampling: Sampling) -> tuple[str, str]:
    """Return what the proof tries, for the ledger of openings: the basic prompt and the chosen one."""
    best, own = result.best, plan.sampling
    model = model_under(plan.model, best.setting, own.samples)
    basic = prompt_of(plan.judge, result.board.basic.state, plan.model, plan.adapter, own)
    return basic, prompt_of(plan.judge, best.state, model, best.setting.adapter or plan.adapter, sampling)


def _prove(job: Job, plan: Plan, look: Proving, result: Result, sampling: Sampling) -> Proven:
    basic, best = job.judge.basic(), result.best
    asker = job.asker(best.state.apply(basic), best.setting.asked)
    compiled = dataclasses.replace(asker, sampling=sampling)
    same = best.asked_id == result.board.basic.asked_id
    return proven(
        look.split,
        job.asker(basic),
        compiled,
        same=same,
        seed=job.seed,
        opened=look.opening,
        people=plan.people,
    )


def _card(plan: Plan, work: PaidJob, result: Result, sampling: Sampling) -> dict[str, Any]:
    split, setting = plan.split, result.best.setting
    model = model_under(plan.model, setting, plan.sampling.samples)
    return {
        "judge_ref": plan.judge_ref or plan.judge.name,
        "optimizer": {
            "name": plan.optimizer_name,
            "params": plan.params,
            "settings": settings_of(make(plan.optimizer, plan.options)),
            "seed": plan.seed,
            "ending": result.ending,
            "reason": result.reason,
            "candidate": result.best.id,
            "candidates": len(result.board.candidates),
        },
        **asked_as(model, setting.adapter or plan.adapter, work.contexts["judge"]),
        "prompt_model": described(plan.proposer),
        **({"verifier": described(plan.frozen_model)} if plan.frozen_model else {}),
        "setting": setting.to_json(),
        "job": {
            "model": described(plan.model),
            "adapter": plan.adapter,
            "samples": plan.sampling.samples,
            "threshold": plan.sampling.threshold,
        },
        "gold": {
            "name": plan.gold.name,
            "source": plan.gold.source,
            "sha256": plan.gold.sha256,
            **({"mapping": plan.gold.mapping} if plan.gold.mapping else {}),
            "train": len(split.train),
            "dev": len(split.dev),
            "test": len(split.test),
            "test_ids_sha256": split.test_hash,
            "shares": list(split.shares),
            "common": list(split.judge.common or ()),
            "parts": split.to_card(),
            **({"holdout": _holdout(plan.holdout, split)} if plan.holdout else {}),
            "seen": sorted(case.id for case in (*split.train, *split.dev)),
        },
        "spend": work.spend(),
        "thresholds": {"samples": sampling.samples, "threshold": sampling.needed},
    }


def _holdout(holdout: Gold, split: Split) -> dict[str, Any]:
    return {
        "name": holdout.name,
        "source": holdout.source,
        "sha256": holdout.sha256,
        "left_out": split.left_out,
        **({"mapping": holdout.mapping} if holdout.mapping else {}),
    }


def _parent(plan: Plan, store: Store) -> int | None:
    """Return the version that was the latest for this model until now, in the user's own store."""
    own = [one for one in store.promoted(plan.judge.name) if not one.shipped]
    return next((one.version for one in own if not one.model or same_model(one.model, plan.model.name)), None)
