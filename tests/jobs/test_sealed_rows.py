"""Which rows a proof uses where some were opened before: those that can show the smaller gain, by counts alone."""

import random

import pytest
from small import THINGS

from jurist.cases import Case
from jurist.gold.splits import Split
from jurist.jobs.sealed_rows import proof_of
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


def test_new_rows_are_proven_on_alone_where_they_are_many_and_a_set_that_grows_slowly_is_used_whole() -> None:
    for size, used, opening in ((20, 20, 1), (100, 80, 1), (120, 120, 3)):
        look = proof_of(split_of(rows_of(0, size)), [f"prompt {size}"])
        before = {20: 0, 100: 20, 120: 100}[size]
        rows = {"sealed": size, "opened_before": before, "used": used}
        assert look.to_card() == {"test_openings": opening, "test_rows": rows}
        assert look.split.test == look.cases == rows_of(size - used, size)
        said = f"{before} of the {size} sealed rows were opened before: the proof uses "
        assert look.words.startswith({20: "", 100: f"{said}the 80 unopened", 120: f"{said}all of them"}[size])
        proof_of(split_of(rows_of(0, size)), [f"prompt {size}"], whole=True).done("compile")


@pytest.mark.parametrize(
    ("opened", "used", "opening"),
    [(10, 50, 1), (50, 60, 2), (60, 60, 2)],  # few opened; few unopened, which can show less alone; all
)
def test_the_rows_that_can_show_more_are_used(opened: int, used: int, opening: int) -> None:
    proof_of(split_of(rows_of(0, opened)), ["one"]).done("compile")
    look = proof_of(split_of(rows_of(0, 60)), ["two"])
    assert (len(look.cases), look.opening) == (used, opening)
    assert look.level == pytest.approx(0.05 / (opening * (opening + 1)))
    assert proof_of(split_of(rows_of(0, opened)), ["one"]).counted is False
    known = proof_of(split_of(rows_of(0, 60)), ["two"], known=4)  # a card tells of more than the ledger
    assert (len(known.cases), known.opening) == (60, 5)


def test_a_part_that_lacks_a_label_is_not_proven_on_alone() -> None:
    cases = rows_of(0, 60)
    one_label = tuple(case for case in cases if case.gold == cases[0].gold)
    others = tuple(case for case in cases if case.gold != cases[0].gold)
    proof_of(split_of(others), ["one"]).done("compile")
    assert len(proof_of(split_of((*one_label, *others)), ["two"]).cases) == 60
