"""Rows on which raters differ: asked where something is said of them, of groups of which no row is left out."""

from dataclasses import replace

import pytest
from small import claims

from jurist.console.scoring import People
from jurist.gold.goldset import Gold
from jurist.jobs import experiment
from jurist.jobs.comparing import Evaluating
from jurist.jobs.experiment import Experiment
from jurist.jobs.gating import Gating
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.programs.fect import FECT

AGREE = {"ratings": {"ann": "factual", "bob": "factual"}}
DIFFER = {"factual": None, "ratings": {"ann": "factual", "bob": "non_factual"}}
ROWS = claims(4, 4)
GOLD = Gold.of(
    [{**row, **AGREE} for row in ROWS]
    + [{**row, **DIFFER, "claim": f"{row['claim']} Or so."} for row in ROWS[:5]],
    FECT,
)
"""Of two groups, four rows and one row on which raters differ."""


@pytest.mark.parametrize(("kind", "aside"), [(Experiment, 5), (Evaluating, 0), (Gating, 0)])
def test_who_is_asked_about_them(kind: type[Experiment], aside: int) -> None:
    judge = load_judge("fect:basic", store=Store("compiled"))
    asked = kind(contenders=(judge, judge)[: kind.fewest], gold=GOLD)
    assert (asked.rows, asked.questions(judge)) == (kind.fewest * (16 + aside), 16 + aside)
    assert ("and 5 on which raters differ" in asked.size) == bool(aside)


def test_a_group_of_which_rows_are_left_out_has_no_part_in_the_human_ceiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else those on which people differ would stay, while those on which they agree are left out."""
    judge = load_judge("fect:basic", store=Store("compiled"))
    whole = Experiment(contenders=(judge, judge), gold=GOLD)
    seen = {case.id for case in GOLD.cases if case.group == "talk-0"}
    monkeypatch.setattr(experiment, "seen_by", lambda judge, cases: seen)
    part = replace(whole)
    assert (len(whole.aside), len(part.aside)) == (5, 1)
    ceiling = People.of(part, ()).ceiling
    assert ceiling is not None
    assert {one.rater: one.units for one in ceiling.raters} == {"ann": 13, "bob": 13}
