"""Optimizers on whole responses and on programs with several predictors: every predictor is improved, in its shape."""

import dataclasses
from typing import Any

import dspy
import pytest
from fakes import context_with
from small import cli, ok

from jurist.cases import Case
from jurist.engines.meter import Budget
from jurist.engines.models import Model, connect
from jurist.errors import OptimizerError
from jurist.gold.goldset import Gold
from jurist.optimizers.base import Job, Optimizer, Result, optimize
from jurist.optimizers.fewshot import Contrastive, FewShot
from jurist.optimizers.instructions import CFaith, Opro
from jurist.optimizers.proposing import task
from jurist.optimizers.registry import make
from jurist.programs.catalogue import find
from jurist.programs.judge import Judge

WHOLE = ("cognibench", "cognibench-tags", "cognibench-staged")
SEVERAL = ("tier", "cognibench-staged")
CONTRASTIVE = Contrastive(sample=24, steps=2, draws=1)


def job_of(name: str, budget: Budget | None = None, cases: int = 18) -> Job:
    judge, context, model = find(name), context_with(budget), Model(temperature=0.0)
    parts = Gold.load("cognibench-mini", judge).split(0)
    return Job(
        judge=judge,
        train=parts.train[: 2 * cases],
        dev=parts.dev[:cases],
        judge_lm=connect(model, context, "judge"),
        proposer_lm=connect(model, context, "proposer"),
        context=context,
    )


def said(judge: Judge, case: Case, demos: dict[str, Any]) -> tuple[str | None, ...]:
    """Return the labels that a case's demonstrations amount to, read back as a reply would be."""
    if judge.name == "cognibench-staged":
        first = {item["n"]: item["label"] for item in demos["tag"]["labels"]}
        tiers = {item["n"]: item["label"] for item in demos.get("tier", {"labels": []})["labels"]}
        assert set(tiers) == {n for n, label in first.items() if label == "cognitive"}
        return tuple({**first, **tiers}.get(n) for n in range(1, len(case.gold or ()) + 1))
    return judge.read(dspy.Prediction(**demos["self"]), case.inputs).values


@pytest.mark.parametrize("name", WHOLE)
def test_contrastive_examples_are_whole_responses_tagged_as_the_task_is(name: str) -> None:
    job = job_of(name)
    result = optimize(CONTRASTIVE, job)
    train = {case.id: case for case in job.train}
    made = [one for one in result.board.candidates.values() if one.demo_ids]
    assert made
    assert result.ending == "finished"
    for candidate in made:
        wanted = {id_: job.judge.demos(train[id_]) for id_ in candidate.demo_ids}
        for id_, demos in wanted.items():
            assert said(job.judge, train[id_], dict(demos)) == train[id_].gold
        for predictor, prompt in candidate.state.predictors.items():
            shown = [dict(demo) for demo in prompt.demos]
            assert len(shown) == sum(predictor in demos for demos in wanted.values())
            assert all(dict(demos[predictor]) in shown for demos in wanted.values() if predictor in demos)


@pytest.mark.parametrize("name", WHOLE)
def test_contrastive_compiles_whole_responses_to_the_end(tmp_path: Any, name: str) -> None:
    settings = [part for pair in ("sample=24", "steps=1", "draws=1") for part in ("--set", pair)]
    done = ok(
        *("compile", name, "--gold", "cognibench-mini", "--optimizer", "contrastive", *settings),
        *("--store", tmp_path, "--force", "--json"),
    )
    assert done.json["decision"]["verdict"] in ("better", "not shown to be better", "not better", "worse")
    ok("artifacts", "verify", "--store", tmp_path)


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize(
    ("optimizer", "part"),
    [
        (Opro(steps=3, candidates=2, sample=12), "instructions"),
        (make("opro-paper", {"steps": 3, "candidates": 2, "sample": 12}), "instructions"),
        (CFaith(steps=1, rewrites=2, sample=12), "instructions"),
        (FewShot(sizes=(6,), sets=2, block=6, sample=6), "demos"),
        (CONTRASTIVE, "demos"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_every_optimizer_improves_programs_with_several_predictors(
    name: str, optimizer: Optimizer, part: str
) -> None:
    job = job_of(name)
    result: Result = optimize(optimizer, job)
    basic = result.board.basic_state().predictors
    changed = {
        predictor
        for one in result.board.candidates.values()
        for predictor, prompt in one.state.predictors.items()
        if getattr(prompt, part) != getattr(basic[predictor], part)
    }
    assert changed
    assert changed == {*basic} or isinstance(optimizer, CFaith)  # its one round is of one predictor
    for one in result.board.candidates.values():
        for predictor, prompt in one.state.predictors.items():
            task = dict(job.judge.basic().named_predictors())[predictor].signature
            assert all(set(demo) <= set(task.fields) for demo in prompt.demos)


@pytest.mark.parametrize(
    "optimizer", [Opro(), make("opro-paper"), CFaith(), FewShot(), Contrastive()], ids=lambda o: o.name
)
def test_the_smallest_run_counts_every_call_of_a_sample(optimizer: Optimizer) -> None:
    three = job_of("tier")
    one = dataclasses.replace(three, judge=find("factual"))  # the same cases, one call each
    assert (one.judge.calls, three.judge.calls) == (1, 3)
    proposals = 0 if optimizer.name in ("fewshot", "contrastive") else 1
    assert optimizer.minimum(three) - proposals == 3 * (optimizer.minimum(one) - proposals)
    short = job_of("tier", Budget(calls=optimizer.minimum(three) - 1))
    with pytest.raises(OptimizerError, match="needs at least"):
        optimize(optimizer, short)


def test_the_proof_of_a_judge_with_several_calls_is_kept_back(tmp_path: Any) -> None:
    parts = Gold.load("cognibench-mini", find("tier")).split(0)
    most = 2 * 3 * len(parts.test)
    done = cli("compile", "tier", "--gold", "cognibench-mini", "--max-calls", most, "--store", tmp_path)
    assert done.code == 1
    assert f"the proof alone takes {most} calls" in done.err


def test_the_proposer_is_told_what_the_step_must_answer() -> None:
    assert "the step grounded must answer grounded: whether it follows" in task(job_of("tier"), "grounded")
    assert "rational must answer" not in task(job_of("tier"), "grounded")
    one = job_of("factual")
    assert task(one, "self") == task(one)
