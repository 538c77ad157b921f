"""At which level a proof is where rows of its test were opened before."""

import random
from dataclasses import fields, replace
from pathlib import Path

import pytest
from judges import CHECK, ROWS
from small import THINGS, replies, write_jsonl

import jurist
from jurist.cases import Case
from jurist.gold.splits import Split
from jurist.jobs.openings import Openings
from jurist.jobs.recorded import read_log
from jurist.jobs.sealed_rows import foresee_proof_opening, identify_log, select_unseen
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import CascadeJudge
from jurist.keeping.logs import LogReference
from jurist.programs.fect import FECT
from jurist.programs.state import PromptState


def rows_of(start: int, end: int) -> tuple[Case, ...]:
    found = []
    for number in range(start, end):
        drawn = random.Random(number)
        said = " ".join(f"{drawn.choice(THINGS)}{drawn.randrange(10**6)}" for _ in range(12))
        claim = {"conversation": f"Agent: {said[::-1]}", "claim": said}
        label = FECT.answer.labels[number % 2]
        found.append(Case(inputs=claim, group=f"g{number}", gold=(label,)))
    return tuple(found)


def split_of(cases: tuple[Case, ...]) -> Split:
    return Split(train=(), dev=(), test=cases, seed=0, shares=(0.5, 0.2, 0.3), judge=FECT)


@pytest.mark.parametrize("opened", [0, 10, 60])
def test_a_proof_is_at_the_level_of_the_row_that_was_opened_most_often(opened: int) -> None:
    if opened:
        foresee_proof_opening(split_of(rows_of(0, opened)), ["one"]).record("compile")
    opening = foresee_proof_opening(split_of(rows_of(0, 60)), ["two"])
    number = 2 if opened else 1
    assert (len(opening.cases), opening.number, opening.counted) == (60, number, True)
    assert opening.level == 0.05 / 2**number
    assert opening.to_card()["test_rows"] == {"sealed": 60, "opened_before": opened, "used": 60}
    assert opening.words.startswith(f"{opened} of the 60 sealed rows were opened before" if opened else "")
    # a card tells of more than the ledger
    assert foresee_proof_opening(split_of(rows_of(0, 60)), ["two"], earlier_openings=4).number == 5


def test_a_prompt_that_was_proven_opens_nothing_again() -> None:
    foresee_proof_opening(split_of(rows_of(0, 20)), ["one"]).record("compile")
    again = foresee_proof_opening(split_of(rows_of(0, 20)), ["one"])
    assert not again.counted
    assert again.words_of_repeat == (
        "; these prompts were tried on them before, at opening 1: its level 0.025 holds"
    )
    assert foresee_proof_opening(split_of(rows_of(0, 20)), ["two"]).words_of_repeat == ""


VERDICTS_OF = ("the version", "its changed prompt", "a log of the version", "a log of its changed prompt")


@pytest.mark.parametrize("source", VERDICTS_OF)
def test_rows_that_a_version_was_compiled_on_are_scored_for_no_verdicts_of_it(source: str) -> None:
    compiled = jurist.compile(CHECK, ROWS, optimizer="fewshot", seed=1)
    seen_ids = set(compiled.artifact.about.gold.seen)
    module = compiled.as_module()
    module.predictors()[0].demos = []
    judges = {"the version": compiled.judge, "its changed prompt": module.as_judge()}
    judge = judges[source.replace("a log of ", "")]
    contender = judge
    if "a log" in source:
        rows = [{name: row[name] for name in CHECK.input_fields} for row in ROWS]
        jurist.run(judge, rows, "log.jsonl")
        contender = "recorded:log.jsonl"
    measured = jurist.evaluate(contender, ROWS)
    gold = jurist.Gold.of(ROWS, CHECK)
    assert 0 < len(seen_ids) <= measured.left_out < len(gold.cases)
    assert measured.cases == len(select_unseen([judge], gold))


def test_a_log_of_a_version_that_the_store_lacks_says_that_its_rows_are_scored(tmp_path: Path) -> None:
    compiled = jurist.compile(CHECK, ROWS, optimizer="fewshot", seed=1)
    rows = [{name: row[name] for name in CHECK.input_fields} for row in ROWS]
    jurist.run(compiled.judge, rows, "log.jsonl")
    gold = jurist.Gold.of(ROWS, CHECK)
    log = read_log(LogReference.of("recorded:log.jsonl"), gold, Store(tmp_path / "other"))
    assert "has not the check@1 that gave them: rows that it was compiled on are scored, too" in log.note
    assert select_unseen([log], gold) == gold.cases


def write_log(name: str, seed: int) -> str:
    """Write verdicts of another system on all rows, and return their name as a judge."""
    draw = random.Random(seed)
    names = CHECK.input_fields
    lines = [{**{name: row[name] for name in names}, "says": draw.choice(("send", "hold"))} for row in ROWS]
    write_jsonl(Path(name), lines)
    return f"recorded:{name}"


def openings() -> int:
    return max(row.openings for row in Openings().of(jurist.Gold.of(ROWS, CHECK).cases))


def test_a_log_opens_the_sealed_rows_once_for_its_verdicts_whatever_its_file_is_called() -> None:
    gold = jurist.Gold.of(ROWS, CHECK)
    sealed = gold.cases[::2]
    beside = read_log(LogReference.of(write_log("beside.jsonl", seed=3)), gold)
    foresee_proof_opening(split_of(sealed), ["one", identify_log(beside, sealed)]).record("compile")
    counts = [openings()]
    for name, seed in (("beside.jsonl", 3), ("a.jsonl", 1), ("a.jsonl", 1), ("b.jsonl", 1), ("a.jsonl", 2)):
        evaluation = jurist.evaluate(write_log(name, seed), ROWS)
        counts.append(openings())
        assert evaluation.opening == counts[-1]
    # the log of the proof, then another one, the same again, its copy, and other verdicts under its name
    assert counts == [1, 1, 2, 2, 2, 3]


def test_a_cascade_has_seen_the_rows_of_the_version_behind_a_changed_prompt() -> None:
    compiled = jurist.compile(CHECK, ROWS, optimizer="fewshot", seed=1)
    other_rows = []
    for number, row in enumerate(replies(30)):
        other_rows.append({**row, "verdict": "send" if number % 9 else "hold"})  # offline says send to all
    module = compiled.as_module()
    module.predictors()[0].demos = []
    cascade = jurist.cascade(["check:basic", module.as_judge()], other_rows, agree=0.1, risk=0.5)
    assert cascade.artifact is not None
    seen_ids = set(cascade.artifact.about.gold.seen)
    assert set(compiled.artifact.about.gold.seen) <= seen_ids
    assert {row["case"] for row in compiled.artifact.seen()} <= {
        row["case"] for row in cascade.artifact.seen()
    }


def test_rows_that_any_judge_of_a_cascade_shows_are_left_out() -> None:
    gold = jurist.Gold.of(ROWS, CHECK)
    state = PromptState.of(CHECK.basic())
    shown = state.with_demos("self", (CHECK.demo(gold.cases[0]),))
    judge = jurist.load(CHECK)
    members = (replace(judge, state=shown), judge)
    settings = {field.name: getattr(judge, field.name) for field in fields(judge)}
    cascade = CascadeJudge(**settings, members=members)
    unseen = select_unseen([cascade], gold)
    assert gold.cases[0].id not in {case.id for case in unseen}
    assert unseen
