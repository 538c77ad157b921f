"""Who is asked on the sealed test, and how often."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
from dspy.lm15 import Request
from fakes import Scripted, context_with, lm_of, reply

from jurist.evaluation.votes import Sampling
from jurist.gold.splits import Split
from jurist.jobs.conclusion import Evidence, prove_candidate
from jurist.keeping.card import Card
from jurist.programs.asking import Asker
from jurist.programs.fect import FECT
from jurist.programs.settings import AskSettings

CASES = [
    dataclasses.replace(
        FECT.case({"conversation": f"Agent: hello {n}", "claim": f"claim {n}"}),
        gold=(FECT.answer.labels[n % 2],),
        group=str(n),
    )
    for n in range(6)
]
SPLIT = Split(train=(), dev=(), test=tuple(CASES), seed=0, shares=(0.5, 0.2, 0.3), judge=FECT)


def proof_of(basic: Asker, chosen: Asker, *, same: bool, split: Split = SPLIT) -> Evidence:
    plan, opening = (
        SimpleNamespace(split=split, seed=0, people=None, beside=()),
        SimpleNamespace(number=1, level=0.025),
    )
    contest: Any = SimpleNamespace(
        plan=plan,
        basic_asker=basic,
        candidate_asker=chosen,
        asks_basic_prompt=same,
        opening=opening,
        gain_is_clear=True,
    )
    return prove_candidate(contest)


@pytest.mark.parametrize(
    ("threshold", "same", "asked"),
    [
        (None, True, 2 * 6),  # the same in all: asked once, and two equal votes of three settle it
        (2, True, 2 * 6),  # the same majority, in words
        (3, True, 3 * 6),  # another threshold: asked once, all samples, voted twice
        (2, False, 2 * 2 * 6),
    ],
)
def test_the_same_prompt_is_asked_once(threshold: int | None, same: bool, asked: int) -> None:
    inner = Scripted(lambda request: reply("chat", factual=True))
    basic = Asker(
        judge=FECT,
        program=FECT.basic(),
        lm=lm_of(inner, context_with()),
        settings=AskSettings(sampling=Sampling(samples=3)),
    )
    settings = AskSettings(sampling=Sampling(samples=3, threshold=threshold))
    compiled = dataclasses.replace(basic, settings=settings)
    card = proof_of(basic, compiled, same=same).content.to_json()
    assert len(inner.requests) == asked
    before, after = card["tokens_per_row"]["basic"], card["tokens_per_row"]["compiled"]
    assert before == after  # a vote under another threshold takes what the samples took
    assert before["input"] > before["output"] > 0
    words = Card(judge="fect", version=1, **card).price_words
    assert words.startswith(f"tokens a row: {sum(before.values()):,.0f} -> ")
    assert "(1.0 times)" in words


def test_two_thresholds_vote_on_the_same_samples() -> None:
    def two_of_three(request: Request) -> str:
        return reply("chat", factual=request.config.seed != 0)

    inner = Scripted(two_of_three)
    basic = Asker(
        judge=FECT,
        program=FECT.basic(),
        lm=lm_of(inner, context_with()),
        settings=AskSettings(sampling=Sampling(samples=3)),
    )
    settings = AskSettings(sampling=Sampling(samples=3, threshold=1))
    compiled = dataclasses.replace(basic, settings=settings)
    evidence = proof_of(basic, compiled, same=True)
    assert evidence.proof.decision.value_before != evidence.proof.decision.value_after
    assert [record.case for record in evidence.records] == [case.id for case in CASES]
    basic_values = [record.basic.values for record in evidence.records]
    assert basic_values != [record.compiled.values for record in evidence.records]


def test_sealed_cases_that_nearly_repeat_what_was_seen_are_left_out_and_warned_of() -> None:
    inner = Scripted(lambda request: reply("chat", factual=True))
    asker = Asker(judge=FECT, program=FECT.basic(), lm=lm_of(inner, context_with()))
    for seen, copies in ((), 0), (SPLIT.test[:2], 2):
        split = dataclasses.replace(SPLIT, train=seen).without_copies()
        evidence = proof_of(asker, asker, same=True, split=split)
        assert len(evidence.records) == len(SPLIT.test) - copies
        warnings = evidence.content.decision.warnings
        assert sum("2 of 6 sealed cases nearly repeat" in one for one in warnings) == (copies > 0)
