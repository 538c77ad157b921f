"""The ambiguous stratum: counted, and never dropped in silence."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.gold.goldset import Gold
from jurist.gold.raters import RULES, Rule, ceiling_of, merge_case, rated_in_test, strata
from jurist.programs.fect import FECT
from jurist.report.scores import ceiling_line

TRUE, FALSE = "factual", "non_factual"


def fect(claim: str, factual: Any = None, why: str | None = None, **ratings: Any) -> dict[str, Any]:
    row = {"conversation": f"of {claim}", "claim": claim, "factual": factual}
    return {**row, "ratings": ratings, "ambiguity": why}


ROWS = [
    fect("agreed", True, ann=True, bob=True),
    fect("agreed too", False, ann=False, bob=False),
    fect("contested", True, ann=True, bob=False),
    fect("single", False, ann=False),
    fect("alone", True),
    fect("mood", None, "sentiment", ann=True, bob=False),
    fect("cause", None, "relation", ann=True, bob=False),
    fect("why", None, ann=True, bob=False),
]


def test_every_unit_is_in_one_stratum() -> None:
    found = strata(Gold.of(ROWS, FECT))
    assert (found.agreed, found.single, found.contested, found.unlabelled) == (2, 2, 1, 0)
    assert found.ambiguous == {"sentiment": 1, "relation": 1, "other": 0, "unknown": 1}


RATINGS = st.dictionaries(st.sampled_from(["ann", "bob", "cem"]), st.sampled_from([True, False, None]))


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from([True, False, None]), RATINGS), min_size=1, max_size=6),
    st.sampled_from(RULES[:4]),
)
def test_the_strata_add_up_and_agree_with_merging(made: list[tuple[Any, dict[str, Any]]], rule: Rule) -> None:
    rows = [fect(str(number), label, **ratings) for number, (label, ratings) in enumerate(made)]
    gold = Gold.of(rows, FECT, labelled=False)
    found = strata(gold, rule)
    assert found.labelled + sum(found.ambiguous.values()) + found.unlabelled == len(rows)
    known = [case for case in gold.cases if merge_case(case, rule).labels]
    assert found.labelled == len(known)
    rated = [case.id for case in gold.cases if case.ratings and case not in known]
    assert sum(found.ambiguous.values()) == len(rated)


def test_the_ceiling_is_over_all_units_that_raters_rated() -> None:
    gold = Gold.of(ROWS, FECT)
    found = ceiling_of(gold)
    assert found is not None
    assert [one.units for one in found.raters] == [6, 6]
    assert found.raters[0].measured["accuracy"].value == pytest.approx(2 / 6)  # they agree on two of the six
    line = ceiling_line(found)
    assert line.startswith(f"human ceiling: f1 {found.mean['f1'].value:.3f} [")
    assert line.endswith("each rater against the others, on all they rated (units: ann 6, bob 6)")
    labelled = {case.id for case in gold.cases}
    assert rated_in_test(gold, labelled) > labelled
