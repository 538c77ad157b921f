"""Precision and recall by probability, against scikit-learn's, whatever units have no answer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_curve

from jurist.programs.fect import FECT
from jurist.report.votes import cuts

UNITS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([None, 0.0, 0.25, 0.4, 0.5, 0.75, 1.0])), min_size=2, max_size=30
)


@settings(max_examples=60)
@given(units=UNITS, told=st.booleans())
def test_they_are_those_of_scikit_learn(units: list[tuple[bool, float | None]], told: bool) -> None:
    """Of the probabilities that are kept, else of the shares of votes."""
    proof = [
        {
            "case": str(place),
            "group": "g",
            "gold": ["non_factual" if positive else "factual"],
            "compiled": {
                "values": [None],
                "status": "verdict",
                "probability": [share] if told else [],
                "votes": [{} if share is None else {"non_factual": 20 * share, "factual": 20 * (1 - share)}],
            },
        }
        for place, (positive, share) in enumerate(units)
    ]
    found = cuts(FECT, proof, "compiled")
    levels = {share for _, share in units if share is not None}
    if len(levels) < 2 or not any(positive for positive, _ in units):
        assert found == ()
        return
    precision, recall, least = precision_recall_curve(
        [positive for positive, _ in units], [-1.0 if share is None else share for _, share in units]
    )
    expected = [
        pytest.approx((at, p, r)) for p, r, at in zip(precision, recall, least, strict=False) if at >= 0
    ]
    assert [(one.least, one.precision, one.recall) for one in found] == expected[::-1]
