"""At which level a proof is where rows of its test were opened before."""

import random

import pytest
from small import THINGS

from jurist.cases import Case
from jurist.gold.splits import Split
from jurist.jobs.sealed_rows import foresee_proof_opening
from jurist.programs.fect import FECT


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
    assert not foresee_proof_opening(split_of(rows_of(0, 20)), ["one"]).counted
