"""Programs with several predictors: OPRO's instructions in turn, and demonstrations of all of them."""

import re
from dataclasses import replace
from typing import Any

from dspy.lm15 import Request
from fakes import Scripted, reply, system_of, user_of
from judges import TWO
from loopback import field_of
from scripted_runs import hashed, job_with

from jurist.cases import Case
from jurist.engines.meter import Budget
from jurist.gold.goldset import Gold
from jurist.optimizers.base import Job, Result, optimize
from jurist.optimizers.named.opro import Opro
from jurist.optimizers.proposing import Writing, describe_task
from jurist.optimizers.raced import Track
from jurist.programs.catalogue import find

JUDGE, NAMES = replace(TWO, metric="accuracy"), ("think", "decide.predict")


def cases(first: int, count: int) -> tuple[Case, ...]:
    numbers = range(first, first + count)
    return tuple(
        Case(
            inputs={"message": f"Question {n}.", "reply": f"Reply number {n}."},
            group=str(n),
            gold=("no" if hashed(str(n)) % 2 else "yes",),
        )
        for n in numbers
    )


TRAIN, DEV = cases(0, 40), cases(100, 30)


GOLD = {case.inputs["reply"]: (case.gold or ("",))[0] for case in (*TRAIN, *DEV)}


def quality(text: str) -> int:
    return int((re.findall(r"quality=(\d+)", text) or ["20"])[-1])


def judged(request: Request) -> str:
    """The right answer needs both steps: what was extracted well is decided well."""
    if "{polite}" not in system_of(request):
        return reply("chat", notes=f"quality={quality(system_of(request))}")
    said, _, notes = field_of(user_of(request), "reply").partition("\n")
    right = hashed(said) % 100 < 40 + (quality(notes) + quality(system_of(request))) // 4
    label = GOLD[said] if right else {"yes": "no", "no": "yes"}[GOLD[said]]
    return reply("chat", reasoning="so", polite=label)


def proposed(request: Request) -> str:
    number = hashed(user_of(request) + str(request.config.seed))
    names = re.findall(r"\[\[ ## (\w+) ## \]\]\n\{\1\}", system_of(request))
    wanted = [name for name in names if name.startswith("instruction")]
    fields = {name: f"Rule {number} of {name}. quality={(number // 7) % 100}" for name in wanted}
    return reply("chat", **fields)


def run(**settings: Any) -> tuple[Result, Scripted, Job]:
    proposer = Scripted(proposed)
    job = job_with(judged, proposer, judge=JUDGE, train=TRAIN, dev=DEV)
    return optimize(Opro(**{"steps": 4, "patience": 9, **settings}), job), proposer, job


def texts(row: dict[str, Any]) -> tuple[str, str]:
    return tuple(row["prompt"][name]["instructions"] for name in NAMES)  # type: ignore[return-value]


def test_in_turn_each_step_changes_one_predictor() -> None:
    result, proposer, job = run()
    rows = {row["candidate"]: row for row in result.board.history(job.train, job.dev)}
    tried = [row for row in rows.values() if row["parent"]]
    assert len(tried) == 12
    for row in tried:
        before, after = texts(rows[row["parent"]]), texts(row)
        changed = [name for name, old, new in zip(NAMES, before, after, strict=True) if old != new]
        assert changed == [NAMES[(row["step"] - 1) % 2]]
        assert row["params"] == {"predictors": changed}
    assert all("scored_instructions" in user_of(request) for request in proposer.requests)


def test_instructions_are_told_apart_as_wholes() -> None:
    """The same text for one step is something new where the other step's is another."""
    result, _, job = run(steps=1)
    board = result.board
    track = Track(job=job, board=board, start=board.basic, order=(), block=1)
    writing = Writing(name="test", longest=100)
    both = {"think": "Erste  Ａnweisung.", "decide.predict": "Second."}
    (one,) = track.write(writing, board.basic, [both, {**both, "think": "erste anweisung."}])
    (other,) = track.write(writing, board.basic, [{"think": "Erste Anweisung."}])
    texts = [made.state.predictors["think"].instructions for made in (one, other)]
    assert texts == ["Erste  Ａnweisung.", "Erste Anweisung."]
    assert track.write(writing, board.basic, [{"think": "", "decide.predict": "x" * 101}]) == []


def tier(name: str, budget: Budget | None = None) -> Job:
    """Return a job on the same cases for a judge of one call, or of three."""
    parts = Gold.load("cognibench-mini", find(name)).split(0)
    return job_with([], budget=budget, judge=find(name), train=parts.train[:36], dev=parts.dev[:18])


def test_the_proposer_is_told_what_the_step_must_answer() -> None:
    assert "the step grounded must answer grounded: True if stated facts lead to it" in describe_task(
        tier("tier"), "grounded"
    )
    assert "rational must answer" not in describe_task(tier("tier"), "grounded")
    assert "must answer" not in describe_task(tier("factual"), "self")
