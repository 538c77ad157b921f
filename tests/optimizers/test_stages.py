"""The stages of the default search: what is fitted, nearest rows, and written prompts as far as they are worth it."""

import random
import re
from dataclasses import replace
from typing import Any

import pytest
from dspy.lm15 import Request
from fakes import Scripted, context_with, lm_of, reply, user_of
from loopback import field_of
from optimizer_runs import Run
from scripted_runs import hashed, job_with
from worlds import World, job_of

from jurist.cases import Case
from jurist.engines.models import Model
from jurist.optimizers.base import Result, optimize
from jurist.optimizers.registry import make
from jurist.optimizers.staged import capped_gain
from jurist.optimizers.thresholds import with_fitted_rules
from jurist.optimizers.worth import expected_gain, gain_for_lengths, gain_for_rows
from jurist.programs.fect import FECT

TOPICS = [f"{one}{two}" for one in ("bor", "kal", "mip", "tun", "zed") for two in ("ax", "ilo", "urm", "eck")]


def claims(count: int, seed: int) -> tuple[Case, ...]:
    """Return claims whose label only labelled claims of the same topic tell."""
    random_ = random.Random(seed)
    made = []
    for number in range(count):
        place = random_.randrange(len(TOPICS))
        filler = " ".join("".join(random_.choices("abcdefghij", k=6)) for _ in range(5))
        inputs = {"conversation": f"{filler} {number}", "claim": f"{TOPICS[place]} {TOPICS[place]} {filler}"}
        label = ("factual", "non_factual")[hashed(TOPICS[place]) % 2]
        made.append(Case(inputs=inputs, group=f"{seed}-{number}", gold=(label,)))
    return tuple(made)


def copying(request: Request) -> str:
    """Answer with the label of the shown row most like the judged one; without any row by a coin."""
    texts = [str(message.text) for message in request.messages]
    judged = set(field_of(texts[-1], "claim").split())
    best, said = 0, str(hashed(texts[-1]) % 2 == 0)
    for shown, answered in zip(texts[:-1:2], texts[1:-1:2], strict=True):
        shared = len(judged & set(field_of(shown, "claim").split()))
        if shared > best:
            best, said = shared, field_of(answered, "factual").split("\n")[0]
    return reply("chat", factual=said.strip() == "True")


def searched(judged: Any, train: int = 140, dev: int = 60, **job: Any) -> tuple[Result, Scripted]:
    engine = Scripted(judged)
    made = job_with(engine, train=claims(train, 1), dev=claims(dev, 2), **job)
    result = optimize(make("race"), replace(made, words=False))
    return with_fitted_rules(made, result) if made.words else result, engine


def test_a_model_that_copies_the_nearest_row_ends_as_good_as_the_nearest_neighbours() -> None:
    result, _ = searched(copying, words=False, reads_instructions=False)
    fresh = claims(200, 3)
    job = job_with(Scripted(copying), train=claims(140, 1), dev=claims(60, 2))
    asker = job.asker(result.best.state.apply(FECT.basic()), result.best.setting)
    right = [one.values == case.gold for one, case in zip(asker.ask_all(fresh), fresh, strict=True)]
    assert sum(right) / len(right) >= 0.95
    assert "nearest" in result.board.name(result.board.prompt_of(result.best))


def test_a_model_that_reads_no_instructions_is_written_none() -> None:
    assert not Model().reads_instructions
    assert Model("openai/gpt-5").reads_instructions
    proposer = Scripted(lambda request: reply("chat", instruction="Be strict."))
    context = context_with(None)
    job = job_with(Scripted(copying), train=claims(60, 1), dev=claims(30, 2), reads_instructions=False)
    optimize(make("race"), replace(job, proposer_lm=lm_of(proposer, context, "proposer")))
    assert proposer.requests == []


def test_prompts_that_answer_like_their_parents_are_retired_and_their_arm_has_no_further_turn() -> None:
    def deaf(request: Request) -> str:
        return reply("chat", factual=hashed(field_of(user_of(request), "claim")) % 2 == 0)

    run = Run("race", judged=deaf, options={"arm": ("history",), "candidates": 3, "block": 4}, words=False)
    retired = run.board.retired
    written = [one for one in run.board.candidates.values() if one.source == "race"]
    assert {one.id for one in written} == retired
    assert len(written) == 6  # two turns
    assert all(len(run.board.outcomes(one)) == 8 for one in written)  # two blocks
    assert run.result.reason == (
        "jurist stopped the search: the answers with each new instruction were those of the prompt that it was made "
        "from"
    )
    assert run.result.reason in run.notes
    assert run.result.ending == "finished"
    assert run.result.best == run.board.basic


def test_where_no_arm_finds_more_the_search_says_so_and_what_to_do_next() -> None:
    def unreadable(request: Request) -> str:
        return "I have no advice."

    run = Run("race", proposed=unreadable, options={"arm": ("history",)}, words=False)
    assert run.result.reason == (
        "jurist stopped the search: it found no instruction that it has not tried. To search on, add labelled rows, "
        "or name another optimizer with --optimizer"
    )
    assert run.result.reason in run.notes


def test_where_no_prompt_is_better_the_search_stops_by_itself_and_says_what_it_would_cost() -> None:
    world = World(seed=7, scale=0.0, wording=0.0, demos=0.0)
    job = job_of(world, world=world, train=world.cases(200, "train"), dev=world.cases(60, "dev"))
    result = optimize(make("race"), job)
    assert result.ending == "finished"
    assert re.match(
        r"jurist stopped the search: another (instruction|set of demonstrations) would ", result.reason
    )
    option = re.search(r"add --set rows_per_point=(\d+) to the command", result.reason)
    assert option is not None
    longer_job = job_of(world, world=world, train=world.cases(200, "train"), dev=world.cases(60, "dev"))
    longer = optimize(make("race", {"rows_per_point": float(option[1])}), longer_job)
    assert len(longer.board.candidates) > len(result.board.candidates)
    assert job.context.meter.calls < 1_900


def test_where_words_alone_lead_the_search_names_the_option_that_leaves_them_out() -> None:
    def tossing(request: Request) -> str:
        return reply("chat", factual=hashed(user_of(request)) % 2 == 0)

    job = job_with(Scripted(tossing), train=claims(140, 1), dev=claims(60, 2), reads_instructions=False)
    result = optimize(make("race"), job)
    assert result.best.setting.asks_model is False
    assert re.fullmatch(
        r"jurist stopped the search: another set of demonstrations would probably gain 0\.0\d+ at most, too little for "
        r"the tokens of \d+ rows that it takes\. Words alone lead; to search for a prompt without them, add --no-words",
        result.reason,
    )


def test_a_limit_on_the_tokens_of_a_row_keeps_longer_prompts_out() -> None:
    made = job_with(
        Scripted(copying), train=claims(100, 1), dev=claims(40, 2), words=False, reads_instructions=False
    )
    limited = optimize(make("race"), replace(made, tokens_per_row=5.0))
    assert limited.best == limited.board.basic
    assert not any("nearest" in one.source for one in limited.board.candidates.values())


@pytest.mark.parametrize(("gain", "doubt"), [(0.0, 0.1), (-0.1, 0.05), (0.2, 0.0), (-0.2, 0.0), (0.05, 0.3)])
def test_an_expected_gain_is_the_mean_of_what_is_above_nothing(gain: float, doubt: float) -> None:
    random_ = random.Random(0)
    drawn = [max(0.0, random_.gauss(gain, doubt)) for _ in range(40_000)]
    assert expected_gain(gain, doubt) == pytest.approx(sum(drawn) / len(drawn), abs=0.004)
    most = [min(0.05, one) for one in drawn]
    assert capped_gain(gain, doubt, 0.05) == pytest.approx(sum(most) / len(most), abs=0.004)


def test_what_a_row_and_a_search_must_bring() -> None:
    assert [gain_for_lengths(lengths) for lengths in (1.0, 2.0, 4.0)] == [0.0, 0.0, 0.005]
    assert gain_for_rows(200) == pytest.approx(0.01)
