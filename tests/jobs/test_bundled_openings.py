"""Whoever follows the documentation in its order opens each bundled test for the first time."""

from itertools import permutations
from pathlib import Path

import pytest

from jurist.gold.goldset import Gold
from jurist.jobs.openings import Openings
from jurist.programs.catalogue import find

DOCS = Path(__file__).resolve().parents[2] / "docs"
SETS = {
    "support-desk": f"{DOCS / 'may_send.py'}:judge",
    "house-rule": f"{DOCS / 'may_send.py'}:judge",
    "reply-score": f"{DOCS / 'reply_score.py'}:judge",
    "reply-preference": f"{DOCS / 'reply_preference.py'}:judge",
    "message-team": f"{DOCS / 'message_team.py'}:judge",
    "device-reviews": f"{DOCS / 'device_review.py'}:judge",
    "fect-mini": "fect",
    "cognibench-mini": "cognibench",
    "faithqa-mini": "satisfaction",
    "haluagent-qa-conflict": "qa-conflict",
}


@pytest.fixture(scope="module")
def gold() -> dict[str, Gold]:
    return {name: Gold.load(name, find(judge)) for name, judge in SETS.items()}


@pytest.mark.parametrize(("first", "second"), list(permutations(SETS, 2)))
def test_no_set_opens_a_row_of_another(
    first: str, second: str, gold: dict[str, Gold], tmp_path: Path
) -> None:
    ledger = Openings(tmp_path / "openings.jsonl")
    ledger.note("compile", gold[first].cases, ["prompt"])
    opened = [
        case.source
        for case, row in zip(gold[second].cases, ledger.of(gold[second].cases), strict=True)
        if row.openings
    ]
    assert not opened
