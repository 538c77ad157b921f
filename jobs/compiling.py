"""Compiling a judge, from gold to a proven artifact: the main job.

gold -> split -> optimizer (train, dev) -> proof (test) -> artifact. The calls of
the proof are kept back from the budget before the optimizer starts, so that the
limit holds for the whole job. Both programs are asked on the sealed test with
the same samples and parser, and with the same engine and adapter, unless the
search chose others: then the basic prompt is asked as the user set the job up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from ..engines.channel import CallContext
from ..engines.journal import Journal
from ..engines.ledger import Ledger
from ..engines.meter import Budget, Meter
from ..engines.models import Model, connect
from ..errors import BudgetExhausted, GoldError, OptimizerError
from ..evaluation.proof import Proof
from ..gold.goldset import Gold
from ..gold.leaks import check_leaks
from ..gold.splits import Split
from ..keeping.artifacts import Artifact, Store
from ..keeping.checkpoints import Checkpoint
from ..keeping.loading import verifier_of
from ..optimizers.base import Event, Job, Result, Sink, optimize
from ..optimizers.board import Board
from ..optimizers.matrix import bounded
from ..optimizers.pareto import front
from ..optimizers.registry import DEFAULT, make, settings_of
from ..optimizers.setting import Setting
from ..programs.asking import Sampling, room_for
from ..programs.judge import Judge
from ..programs.state import PromptState
from .proving import described, fit_threshold, model_under, openings, placed, proven

__all__ = ["Compiled", "Interrupted", "Plan", "compile_judge"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that makes one compilation.

    Attributes:
        judge: the judge.
        gold: its labelled cases.
        optimizer: a name of :mod:`jurist.optimizers.registry`, or several joined by ``+``.
        options: the optimizer's settings.
        model: answers as the judge.
        prompt_model: writes prompts; default: the judge's own model.
        verifier: answers the judge's frozen steps, where that is not ``model`` at temperature 0.
        budget: hard limits for the whole job, the proof included.
        seed: of the split and of every random choice.
        shares: of groups in train, dev and test.
        sampling: samples per case; a threshold left open is fitted on dev.
        adapter: DSPy's prompt format.
        concurrency: cases in flight at once.
        judge_ref: how the user named the judge.
    """

    judge: Judge
    gold: Gold
    optimizer: str = DEFAULT
    options: Mapping[str, Any] = field(default_factory=dict)
    model: Model = field(default_factory=Model)
    prompt_model: Model | None = None
    verifier: Model | None = None
    budget: Budget = field(default_factory=Budget)
    seed: int = 0
    shares: tuple[float, float, float] = (0.5, 0.2, 0.3)
    sampling: Sampling = field(default_factory=Sampling)
    adapter: str = "chat"
    concurrency: int = 8
    judge_ref: str = ""

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same job when it is started again, as JSON values."""
        strictness = self.judge.answer.strictness
        return {
            "judge": f"{self.judge.name}:{self.judge.variant}",
            "prompt": PromptState.of(self.judge.basic()).id,
            "metric": self.judge.metric if isinstance(self.judge.metric, str) else "custom",
            "gold": self.gold.sha256,
            "optimizer": self.optimizer,
            "options": {name: str(value) for name, value in self.options.items()},
            "model": described(self.model),
            "prompt_model": described(self.proposer),
            "seed": self.seed,
            "shares": list(self.shares),
            "samples": self.sampling.samples,
            "threshold": self.sampling.threshold,
            "adapter": self.adapter,
            **({"strictness": strictness} if strictness else {}),
            **self._frozen_print(),
        }

    def _frozen_print(self) -> dict[str, Any]:
        if self.frozen_model is None:
            return {}
        return {"frozen": self.judge.frozen, "verifier": described(self.frozen_model)}

    @property
    def frozen_model(self) -> Model | None:
        """The model that answers the judge's frozen steps; ``None`` without any."""
        return verifier_of(self.judge, self.model, self.verifier)

    @property
    def proposer(self) -> Model:
        """The model that writes prompts."""
        return self.prompt_model or self.model


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """What a compilation leaves.

    Attributes:
        artifact: the kept version.
        proof: basic against compiled on test.
        result: the optimizer's result with every candidate.
        latest: whether the artifact was made the judge's latest.
    """

    artifact: Artifact
    proof: Proof
    result: Result
    latest: bool


class Interrupted(Exception):  # noqa: N818 - not an error: the user asked for it
    """Ctrl-C, or a budget that ended inside the proof: the best so far is kept in the checkpoint.

    Args:
        checkpoint: the folder to resume from.
        result: the result so far.
        why: what ended the work.
    """

    def __init__(self, checkpoint: Path, result: Result, why: str) -> None:
        self.checkpoint, self.result = checkpoint, result
        super().__init__(f"{why}; the best prompt so far and all paid answers are kept in {checkpoint}")


def compile_judge(
    plan: Plan,
    *,
    store: Store,
    resume: bool = False,
    fresh: bool = False,
    force: bool = False,
    sink: Sink = lambda event: None,
) -> Compiled:
    """Compile a judge and keep the artifact.

    Args:
        plan: the job.
        store: where artifacts and checkpoints are kept.
        resume: continue an interrupted run of the same plan; what was paid is not paid again.
        fresh: forget an interrupted run of the same plan.
        force: make the artifact latest even if it was not shown to be better.
        sink: receives progress.

    Raises:
        GoldError, OptimizerError, ModelError, CheckpointError: see their classes.
        Interrupted: on Ctrl-C, or when the budget ended before the proof was done.
    """
    sink(Event(kind="phase", text=f"splitting {len(plan.gold.cases)} cases", phase="splitting"))
    split = plan.gold.split(plan.seed, plan.shares)
    check_leaks(split)
    make(plan.optimizer, plan.options)  # a wrong name or setting is said before anything is written
    checkpoint = Checkpoint.open(store.checkpoints, plan.fingerprint(), resume=resume, fresh=fresh)
    context = CallContext(ledger=Ledger(), meter=Meter(plan.budget), journal=Journal(checkpoint.journal))
    ended = False
    try:
        compiled = _compile(plan, split, context, checkpoint, store, force, sink)
        ended = True
    finally:
        context.journal.close()
        worth_keeping = len(context.journal) > 0 or checkpoint.best.exists()
        if ended or not worth_keeping:
            checkpoint.remove()
        checkpoint.release()
    return compiled


def _compile(
    plan: Plan,
    split: Split,
    context: CallContext,
    checkpoint: Checkpoint,
    store: Store,
    force: bool,
    sink: Sink,
) -> Compiled:
    job = _job(plan, split, context, sink)
    held = 2 * room_for(plan.judge, len(split.test), plan.sampling.samples)
    if plan.budget.calls is not None and plan.budget.calls <= held:
        raise OptimizerError(
            f"the proof alone takes {held} calls and the budget is {plan.budget.calls}",
            hint="raise --max-calls, or use fewer rows or samples",
        )
    context.meter.hold(held)
    result = optimize(make(plan.optimizer, plan.options), job)
    if result.ending == "interrupted":
        raise _interrupted(checkpoint, result, "stopped by Ctrl-C")
    context.meter.hold(0)
    result, leaking = _chosen(split, job, result)
    sampling = fit_threshold(job, result.board, result.best)
    words = f"proving on {len(split.test)} sealed cases"
    sink(Event(kind="phase", text=words, phase="proving", calls=context.meter.calls, expected=held))
    opened = openings(store, plan.judge.name, split.test_hash) + 1
    try:
        proof, counted = _prove(job, split, result, sampling, opened)
    except BudgetExhausted as stop:
        raise _interrupted(checkpoint, result, f"no proof: {stop}; raise it") from stop
    except KeyboardInterrupt:
        raise _interrupted(checkpoint, result, "stopped by Ctrl-C in the proof") from None
    card = {
        **_card(plan, split, context, result, proof, sampling),
        **counted,
        "parent": _parent(plan, store),
        "pareto": [
            one.to_json() for one in front(job, result.board, partial(placed, job, result.board), leaking)
        ],
        "test_openings": opened,
    }
    return _kept(plan, split, store, result, proof, card, force)


def _kept(
    plan: Plan, split: Split, store: Store, result: Result, proof: Proof, card: dict[str, Any], force: bool
) -> Compiled:
    board, latest = result.board, force or proof.decision.verdict == "better"
    matrix, left_out = bounded(board.matrix(split.train, split.dev), (board.basic.id, result.best.id))
    artifact = store.save(
        plan.judge,
        result.best.state,
        {**card, "matrix": {"rows": len(matrix), "left_out": left_out}},
        board.history(split.train, split.dev),
        matrix=matrix,
        make_latest=latest,
    )
    return Compiled(artifact=artifact, proof=proof, result=result, latest=latest)


def _chosen(split: Split, job: Job, result: Result) -> tuple[Result, Collection[str]]:
    """Return the result without what may not win, and the ids of that.

    Raises:
        GoldError: even the basic prompt, which is left then, holds something of the test.
    """
    leaking = _leaking(split, result.board)
    if leaking:
        said = (
            "1 candidate whose prompt holds"
            if len(leaking) == 1
            else f"{len(leaking)} candidates whose prompts hold"
        )
        job.note(f"left out of the choice: {said} text of a test case")
        best = result.board.best(job.dev, leaking) or result.board.basic
        result = dataclasses.replace(result, best=best)
    check_leaks(split, [result.best.state])
    return result, leaking


def _leaking(split: Split, board: Board) -> Collection[str]:
    """Return the ids of the candidates whose prompts show something of the test; the basic prompt is never one.

    They are found after the search, and no optimizer is told: what is refused says something of the test too.
    """
    states = {one.state.id: one.state for one in board.candidates.values()}
    found = {state.id for state in _with_leaks(split, list(states.values()))}
    return {one.id for one in board.candidates.values() if one.state.id in found} - {board.basic.id}


def _with_leaks(split: Split, states: Sequence[PromptState]) -> list[PromptState]:
    """Return the prompts that leak, by halving: a check goes through all of the gold set, and few prompts leak."""
    try:
        check_leaks(split, states)
    except GoldError:
        if len(states) == 1:
            return list(states)
        middle = len(states) // 2
        return [*_with_leaks(split, states[:middle]), *_with_leaks(split, states[middle:])]
    return []


def _interrupted(checkpoint: Checkpoint, result: Result, why: str) -> Interrupted:
    best = result.best
    kept = {"candidate": best.id, "prompt": best.state.to_json(), "setting": best.setting.to_json()}
    checkpoint.keep(checkpoint.best.name, kept)
    return Interrupted(checkpoint.folder, result, why)


def _job(plan: Plan, split: Split, context: CallContext, sink: Sink) -> Job:
    return Job(
        judge=plan.judge,
        train=split.train,
        dev=split.dev,
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


def _prove(
    job: Job, split: Split, result: Result, sampling: Sampling, opened: int
) -> tuple[Proof, dict[str, dict[str, int]]]:
    """Return the proof, and what the card says about answers that contradicted themselves."""
    basic, best = job.judge.basic(), result.best
    asker = job.asker(best.state.apply(basic), best.setting.asked)
    compiled = dataclasses.replace(asker, sampling=sampling)
    same = best.asked_id == result.board.basic.asked_id
    return proven(job.judge, split.test, job.asker(basic), compiled, same=same, seed=job.seed, opened=opened)


def _card(
    plan: Plan, split: Split, context: CallContext, result: Result, proof: Proof, sampling: Sampling
) -> dict[str, Any]:
    meter, setting = context.meter, result.best.setting
    return {
        "judge_ref": plan.judge_ref or plan.judge.name,
        "optimizer": {
            "name": plan.optimizer,
            "params": {name: str(value) for name, value in plan.options.items()},
            "settings": settings_of(make(plan.optimizer, plan.options)),
            "seed": plan.seed,
            "ending": result.ending,
            "reason": result.reason,
            "candidate": result.best.id,
            "candidates": len(result.board.candidates),
        },
        "model": described(model_under(plan.model, setting, plan.sampling.samples)),
        "prompt_model": described(plan.proposer),
        **({"verifier": described(plan.frozen_model)} if plan.frozen_model else {}),
        "adapter": setting.adapter or plan.adapter,
        "setting": setting.to_json(),
        "job": {
            "model": described(plan.model),
            "adapter": plan.adapter,
            "samples": plan.sampling.samples,
            "threshold": plan.sampling.threshold,
        },
        "gold": {
            "name": plan.gold.name,
            "sha256": plan.gold.sha256,
            "train": len(split.train),
            "dev": len(split.dev),
            "test": len(split.test),
            "test_ids_sha256": split.test_hash,
            "shares": list(plan.shares),
            "seen": sorted(case.id for case in (*split.train, *split.dev)),
        },
        **proof.to_card(),
        "spend": {
            "calls": meter.calls,
            "tokens": meter.tokens,
            "cost": round(meter.cost, 6),
            "by_purpose": context.ledger.to_json(),
        },
        "thresholds": {"samples": sampling.samples, "threshold": sampling.needed},
    }


def _parent(plan: Plan, store: Store) -> int | None:
    """Return the version that was the latest until now, in the user's own store."""
    return next((one.version for one in store.list(plan.judge.name) if one.latest and not one.shipped), None)
