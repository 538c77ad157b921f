"""A threshold of probability: fitted on train at no further call, proven, kept, and used by runs."""

import dataclasses
import json
import math
import random
import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest
from small import ok
from worlds import board_of

import jurist
from jurist.cases import Case
from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.gold.goldset import Gold
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.candidate import Setting
from jurist.optimizers.named.threshold import Threshold
from jurist.optimizers.thresholds import fitted
from jurist.programs.asking import Asker
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.programs.settings import AskSettings
from jurist.programs.verdicts import Verdict

AT = 0.75
"""The share of the cases below which people, here, still call a claim factual."""


@pytest.fixture(scope="module")
def stricter(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """Return gold that people labelled as the engine ranks it and not where it cuts, and where they cut."""
    gold = Gold.load("fect-mini", FECT)
    lm = connect(Model(temperature=0.0), CallContext.fresh())
    asker = Asker(judge=FECT, program=FECT.basic(), lm=lm, settings=AskSettings(probabilities="tokens"))
    shares = [FECT.answer.scale.probability(one.probabilities[0]) or 0.0 for one in asker.ask_all(gold.cases)]
    cut = sorted(shares)[int(AT * len(shares))]
    path = tmp_path_factory.mktemp("stricter") / "gold.jsonl"
    rows = [
        {**case.inputs, "group": f"g{number}", "factual": share < cut}
        for number, (case, share) in enumerate(zip(gold.cases, shares, strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path, cut


def test_it_is_fitted_proven_kept_and_used(stricter: tuple[Path, float], tmp_path: Path) -> None:
    gold, cut = stricter
    store = tmp_path / "compiled"
    made = jurist.compile(
        "fect", gold=gold, optimizer="threshold", store=store, model=jurist.Model(temperature=0.0)
    )
    card = made.artifact.card
    about, kept = card["gold"], card["thresholds"]
    assert card["spend"]["calls"] == about["train"] + about["dev"] + about["test"]  # fitting took none
    assert kept["threshold"] == pytest.approx(cut, abs=0.1)
    assert card["decision"]["compiled"] > card["decision"]["basic"] + 0.1
    assert made.artifact.state.id == made.result.board.basic.state.id
    told = card["calibration"]["compiled"]
    assert (told["units"], told["auc"]) == (about["test"], 1.0)
    assert told["average_precision"] == pytest.approx(1.0)
    output = tmp_path / "out.jsonl"
    ok("run", "fect@1", "--store", store, "--input", gold, "--output", output)
    for line in map(json.loads, output.read_text().splitlines()):
        (unit,) = line["units"]
        assert unit["positive"] is (unit["probabilities"]["non_factual"] >= kept["threshold"])
        assert line["sampling"]["threshold"] == kept["threshold"]


def job_of(judge: Judge, cases: Sequence[Case], seed: int = 0) -> Job:
    """Return a job with the offline engine, every other case to learn from."""
    context = CallContext.fresh()
    lm = connect(Model(temperature=0.0), context)
    parts = {"train": tuple(cases[::2]), "dev": tuple(cases[1::2])}
    return Job(judge=judge, **parts, judge_lm=lm, proposer_lm=lm, context=context, seed=seed)


def verdict(case: Case, labels: Sequence[str], shares: Sequence[dict[str, float]]) -> Verdict:
    """Return one whose probabilities were read from tokens."""
    about = {"votes": tuple({one: 1} for one in labels), "probabilities": tuple(shares), "measured": 1}
    return Verdict(id=case.id, status="verdict", values=tuple(labels), **about)


def test_what_it_was_fitted_on_does_not_speak_for_it() -> None:
    """With labels drawn at random a threshold looks little better where it was fitted, and not cross-fitted."""
    judge = dataclasses.replace(FECT, metric="balanced_accuracy")
    seen, crossed = 0.0, 0.0
    for seed in range(4):
        random_ = random.Random(seed)
        cases = [
            dataclasses.replace(case, gold=(random_.choice(FECT.answer.labels),), group=case.id)
            for case in Gold.load("fect-mini", FECT).cases
        ]
        job = job_of(judge, cases, seed)
        board = optimize(Threshold(), job).board
        found = fitted(job, board, board.basic).get("threshold")
        if found is None:
            continue
        setting, without_each = found
        assert without_each.keys() == {case.id for case in cases}
        for without in ({}, without_each):
            made = Board(judge, job.asker, job.context)
            start = made.add(board.basic.state, parent=None, source="basic")
            one = made.add(start.state, parent=start, source="t", setting=setting, cross_fitted=without)
            for case, kept in zip(cases, board.verdicts(board.basic, cases), strict=True):
                made.record(start, case, kept)
                made.record(one, case, kept)
            gain = made.value(one, cases) - made.value(start, cases)
            seen, crossed = (seen, crossed + gain) if without else (seen + gain, crossed)
    assert 0 < seen / 4 < 0.02  # the best cut without smoothing looks better by 0.03 and more
    assert crossed / 4 < 0.01


def accuracy_on_fresh_units(seed: int, missing: int) -> float:
    """Fit a threshold on 129 units, some with a label outside of the alternatives, and return what it gives."""
    draw = random.Random(seed)

    def unit() -> tuple[str, float]:
        label = draw.choice(FECT.answer.labels)
        odds = draw.gauss(-2.64 if label == "non_factual" else -3.36, 0.36)
        return label, 1 / (1 + math.exp(-odds))

    units = [unit() for _ in range(129)]
    for place in draw.sample(range(129), missing):
        units[place] = units[place][0], 0.0
    judge = dataclasses.replace(FECT, metric="accuracy")
    cases = [
        dataclasses.replace(
            judge.case({"conversation": "Agent: hello.", "claim": f"Claim {number}."}), gold=(label,)
        )
        for number, (label, _) in enumerate(units)
    ]
    job = job_of(judge, cases)
    board = board_of(job)
    for one, (_, share) in zip(cases, units, strict=True):
        shares = {"non_factual": share, "factual": 1 - share}
        board.record(board.basic, one, verdict(one, [max(shares, key=shares.__getitem__)], [shares]))
    cut = fitted(job, board, board.basic)["threshold"][0].threshold or 0.0
    fresh = [unit() for _ in range(2000)]
    return statistics.fmean((label == "non_factual") == (share >= cut) for label, share in fresh)


def test_replies_without_one_of_the_labels_do_not_move_it() -> None:
    by_missing = [
        statistics.fmean(accuracy_on_fresh_units(seed, missing) for seed in range(6)) for missing in (0, 1, 3)
    ]
    assert min(by_missing) > by_missing[0] - 0.01 > 0.8


def give(board: Board, candidate: Candidate, cases: Sequence[Case], shares: Sequence[float]) -> Candidate:
    """Record how probable a candidate's replies make it that each case is positive."""
    for case, share in zip(cases, shares, strict=True):
        label = "non_factual" if share > 0.5 else "factual"
        one = verdict(case, [label], [{"non_factual": share, "factual": 1 - share}])
        board.record(candidate, case, one)
    return candidate


@pytest.mark.parametrize("only_a_setting", [True, False])
def test_what_was_shown_train_must_stand_out_on_dev_too(only_a_setting: bool) -> None:
    """A threshold is fitted across folds: its gain on train counts as on dev. A prompt may be fitted to train."""
    cases = Gold.load("fect-mini", FECT).cases
    job = job_of(FECT, cases)
    board = board_of(job)
    basic, cut = board.basic, Setting(threshold=0.8)
    truth = [0.9 if case.gold == ("non_factual",) else 0.1 for case in cases]
    give(board, basic, cases, [share if n % 2 else max(share, 0.7) for n, share in enumerate(truth)])
    if only_a_setting:
        made = board.add(basic.state, parent=basic, source="cut", setting=cut)
        board.score(made, cases)
    else:
        made = board.add(basic.state.with_instruction("self", "Right."), parent=basic, source="test")
        give(board, made, cases, truth)
    assert board.value(made, job.dev) == board.value(basic, job.dev) == board.value(made, job.train) == 1.0
    assert board.value(basic, job.train) < 0.6
    assert board.best(job.dev) == (made if only_a_setting else basic)


def test_another_prompt_must_stand_out_from_the_basic_one_under_a_threshold() -> None:
    """The basic prompt changes least: among near equals the best of many is mostly luck."""
    cases = Gold.load("fect-mini", FECT).cases
    job = job_of(FECT, cases)
    board = board_of(job)
    basic = board.basic
    cut = board.add(basic.state, parent=basic, source="cut", setting=Setting(threshold=0.8))

    def other(name: str, shares: Sequence[float]) -> Candidate:
        state = basic.state.with_instruction("self", name)
        return give(board, board.add(state, parent=basic, source="test"), cases, shares)

    truth = [0.9 if case.gold == ("non_factual",) else 0.1 for case in cases]
    shares = [0.9 if share > 0.5 or not number % 3 else 0.7 for number, share in enumerate(truth)]
    give(board, basic, cases, shares)
    assert board.best(job.dev) == basic
    give(board, cut, cases, shares)
    assert board.best(job.dev) == cut
    pairs = enumerate(zip(truth, shares, strict=True))
    other("Luckier.", [right if n < 9 or share < 0.8 else share for n, (right, share) in pairs])
    assert board.best(job.dev) == cut
    better = other("Right.", truth)
    assert board.best(job.dev) == better
