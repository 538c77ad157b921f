"""Every target sends what the judge sends: its own loader fills the export for rows full of traps."""

from pathlib import Path

import pytest
from parity import nasty_cases, parity, rows_of
from prompts import subject

from jurist.exports import EXPORTERS
from jurist.exports.portable_file import ScorerFile
from jurist.programs.catalogue import find
from jurist.programs.judge import Judge

DOCS = Path(__file__).parents[2] / "docs"
FECT, COGNIBENCH, SCORE = find("fect"), find("cognibench"), find(f"{DOCS}/reply_score.py:judge")
HERE = ("messages", "python")
SCORERS = [name for name, exporter in EXPORTERS.items() if isinstance(exporter, ScorerFile)]

GRID = [(FECT, "chat"), (FECT, "json"), (COGNIBENCH, "json"), (SCORE, "chat")]


@pytest.mark.parametrize(
    ("judge", "adapter"), GRID, ids=[f"{judge.name}-{adapter}" for judge, adapter in GRID]
)
@pytest.mark.parametrize(
    "target", [*HERE, *(pytest.param(one, marks=pytest.mark.targets) for one in SCORERS)]
)
def test_every_row_is_sent_as_by_the_judge(target: str, judge: Judge, adapter: str, tmp_path: Path) -> None:
    given = subject(judge, tmp_path, adapter)
    assert parity(target, given, rows_of(given, nasty_cases(judge))) == []
