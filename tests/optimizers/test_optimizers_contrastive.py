"""Contrastive demonstrations: recurring confusions of the judge, and pairs that mark the boundary."""

import hashlib

import pytest
from dspy.lm15 import Request
from fakes import Scripted, context_with, lm_of, reply, user_of
from loopback import field_of

from jurist.gold.goldset import Gold
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.board import Board
from jurist.optimizers.fewshot import Contrastive, confusions
from jurist.programs.fect import FECT

PARTS = Gold.load("fect-mini", FECT).split(0)
GOLD = {c.inputs["claim"]: (c.gold or ("",))[0] for c in (*PARTS.train, *PARTS.dev, *PARTS.test)}


def too_kind(request: Request) -> str:
    """Pass much of what is not factual; less with every demonstration."""
    claim = field_of(user_of(request), "claim")
    demos = len(request.messages) // 2
    luck = hashlib.sha256(claim.encode()).digest()[0] / 255
    gold = GOLD[claim] == "factual"
    return reply("chat", factual=gold or luck < 0.8 - 0.15 * demos)


def job_with(judged: object = too_kind) -> tuple[Job, Scripted]:
    context, judge = context_with(), Scripted(judged)  # type: ignore[arg-type]
    lm = lm_of(judge, context)
    job = Job(judge=FECT, train=PARTS.train, dev=PARTS.dev, judge_lm=lm, proposer_lm=lm, context=context)
    return job, judge


def test_confusions_are_grouped_and_counted() -> None:
    job, _ = job_with()
    board = Board(FECT, job.asker, job.context)
    basic = board.add(board.basic_state(), parent=None, source="basic")
    (found,) = confusions(board, basic, job.train, least=2)
    assert (found.gold, found.judged) == ("non_factual", "factual")
    assert all(case.gold == ("non_factual",) for case in found.cases)
    assert all(case.gold == ("factual",) for case in found.others)
    wrong = [case for case in job.train if board.score(basic, [case])[0].score < 1]
    assert {case.id for case in found.cases} == {case.id for case in wrong}
    assert confusions(board, basic, job.train, least=len(wrong) + 1) == []


def test_pairs_mark_the_boundary_and_what_helps_stays() -> None:
    job, _ = job_with()
    result = optimize(Contrastive(), job)
    board = result.board
    best = max(board.candidates.values(), key=lambda one: board.value(one, job.dev))
    train = {case.id: case for case in job.train}
    wrong = {case.id for case in job.train if board.score(board.basic, [case])[0].score < 1}
    assert best.id != board.basic.id
    assert board.value(best, job.dev) > board.value(board.basic, job.dev)
    for one in list(board.candidates.values())[1:]:
        assert one.source == "contrastive, non_factual taken for factual"
        labels = [demo["factual"] for demo in one.state.predictors["self"].demos]
        assert labels == [False, True] * (len(labels) // 2)
        assert len(one.demo_ids) == len(labels)
        assert len(wrong & set(one.demo_ids)) == len(labels) // 2
        assert all(train[i].gold == ("factual",) for i in one.demo_ids if i not in wrong)
    assert len(job.dev) * len(board.candidates) + len(job.train) >= job.context.meter.calls


@pytest.mark.parametrize("judged", ["nothing usable", None])
def test_a_judge_without_confusions_stays_as_it_is(judged: str | None) -> None:
    def right(request: Request) -> str:
        claim = field_of(user_of(request), "claim")
        return judged or reply("chat", factual=GOLD[claim] == "factual")

    job, _ = job_with(right)
    result = optimize(Contrastive(), job)
    assert (result.ending, len(result.board.candidates)) == ("finished", 1)
