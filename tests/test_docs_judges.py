"""The example of every built-in judge is what the judge takes and gives."""

import json
import re
from pathlib import Path

import pytest

import jurist
from jurist.programs.catalogue import CATALOGUE

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "judges.md").read_text(encoding="utf-8")
EXAMPLES = {
    name: (row, gold, values)
    for row, table in re.findall(r"```json\n([^`]+)```\n\n((?:\|.*\n)+)", TEXT)
    for name, gold, values in re.findall(
        r"^\| `([\w-]+)` \| .*? \| `(\w+)` \| `(.*?)` \|$", table, re.MULTILINE
    )
}
"""Judge -> its row, the column of its labels, and the values that it gives."""


def test_there_is_one_for_every_judge() -> None:
    assert set(EXAMPLES) == set(CATALOGUE)


@pytest.mark.parametrize("judge", CATALOGUE.values(), ids=lambda judge: judge.name)
def test_the_example_is_so(judge: jurist.Judge) -> None:
    row, gold, values = EXAMPLES[judge.name]
    verdict = jurist.load(f"{judge.name}:basic")(**json.loads(row))
    assert verdict.status == "verdict"
    said = [None if value is None else judge.answer.scale.to_json(value) for value in verdict.values]
    assert said == json.loads(values)
    assert gold in judge.row_model.model_fields


PAPERS = {"statement-type": "macro_f1", "constraint-score": "mse", "intent-baseline": "mse"}
"""What these judges of the papers are compiled for; all others for F1, whatever the default of one's own judges is."""


@pytest.mark.parametrize("judge", CATALOGUE.values(), ids=lambda judge: judge.name)
def test_the_papers_judges_keep_the_metrics_of_the_papers(judge: jurist.Judge) -> None:
    assert judge.metric == PAPERS.get(judge.name, "f1")
