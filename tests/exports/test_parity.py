"""Every target sends what the judge sends: its own loader fills the export for rows full of traps."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from parity import nasty_cases, parity, rows_of
from prompts import subject

from jurist.errors import UsageError
from jurist.exports import EXPORTERS, Row, Subject, Target
from jurist.programs.catalogue import find
from jurist.programs.judge import Judge

DOCS = Path(__file__).parents[2] / "docs"
FECT, COGNIBENCH, SCORE = find("fect"), find("cognibench"), find(f"{DOCS}/reply_score.py:judge")
HERE = ("messages", "python")
SCORERS = ("inspect", "pydantic-evals", "autoevals", "deepeval", "phoenix", "opik", "mlflow", "langsmith")


GRID = [(FECT, "chat"), (FECT, "json"), (FECT, "xml"), (COGNIBENCH, "json"), (SCORE, "chat")]


@pytest.mark.parametrize(
    ("judge", "adapter"), GRID, ids=[f"{judge.name}-{adapter}" for judge, adapter in GRID]
)
@pytest.mark.parametrize(
    "target", [*HERE, *(pytest.param(one, marks=pytest.mark.targets) for one in SCORERS)]
)
def test_every_row_is_sent_as_by_the_judge(target: str, judge: Judge, adapter: str, tmp_path: Path) -> None:
    if adapter == "xml" and target in ("python", *SCORERS):
        with pytest.raises(UsageError, match="own code"):
            EXPORTERS[target].render(subject(judge, tmp_path, adapter))
        return
    given = subject(judge, tmp_path, adapter)
    found = parity(EXPORTERS[target], given, rows_of(given, nasty_cases(judge)))
    assert found == []


class Twice(Target):
    """A target that reads values again, as some do."""

    name, suffix = "twice", ".txt"

    def render(self, subject: Subject) -> str:
        return EXPORTERS["messages"].render(subject)

    def replay(self, text: str, rows: Sequence[Row]) -> list[Any]:
        again = [replace(row, variables=dict(self._again(row))) for row in rows]
        return list(EXPORTERS["messages"].replay(text, again))

    def _again(self, row: Row) -> Iterator[tuple[str, str]]:
        for name, text in row.variables.items():
            yield name, text.replace("{{claim}}", row.variables["claim"])


def test_a_target_that_reads_values_again_is_found_out(tmp_path: Path) -> None:
    given = subject(FECT, tmp_path)
    rows = rows_of(given, nasty_cases(FECT))
    holding = [row for row in rows if any("{{claim}}" in text for text in row.variables.values())]
    found = parity(Twice(), given, rows)
    assert set(found) <= {row.id for row in holding}
    assert found
