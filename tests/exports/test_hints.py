"""The hint of a target that cannot hold a judge: a target that it names takes the judge."""

import re

import pytest

import jurist
from jurist.errors import UsageError
from jurist.exports import export_targets
from jurist.programs.catalogue import CATALOGUE, GENERATORS

TARGETS = export_targets()


QUICK = ("constraints", "dialogue")
NAMES = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in [*CATALOGUE, *GENERATORS]
]


@pytest.mark.parametrize("name", NAMES)
def test_a_target_that_a_hint_names_takes_the_judge(name: str) -> None:
    refusals: dict[str, str] = {}
    for target in TARGETS:
        try:
            jurist.export(f"{name}:basic", target)
        except UsageError as error:
            refusals[target] = error.hint
    for hint in refusals.values():
        targets = re.findall(r"export it to (\w+)", hint)
        judges = re.findall(r"[a-z]+-check", hint)
        assert targets or judges or "export its prompts to markdown" in hint
        assert refusals.keys().isdisjoint(targets)
        for judge in judges:
            assert jurist.export(f"{judge}:basic", "python")
    assert "markdown" not in refusals
