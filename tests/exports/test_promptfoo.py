"""The export to promptfoo; what needs packages of npm is run by .ci/promptfoo."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from prompts import subject

from jurist.errors import UsageError
from jurist.exports import EXPORTERS, export, rendered
from jurist.exports.parity import parity
from jurist.programs.catalogue import find
from jurist.programs.fect import FECT
from jurist.programs.state import PromptState


@pytest.mark.promptfoo
@pytest.mark.parametrize("adapter", ["chat", "json"])
def test_promptfoo_sends_what_the_judge_sends(adapter: str, tmp_path: Path) -> None:
    found = parity(EXPORTERS["promptfoo"], subject(FECT, tmp_path, adapter, demos=adapter == "chat"))
    assert (found.equal, found.different) == (found.rows, ())


REPLIES = {
    "chat": {
        "[[ ## factual ## ]]\nTrue\n\n[[ ## completed ## ]]": "factual",
        "[[ ## factual ## ]] 'false'": "non_factual",
        "[[ ## factual ## ]]\nTrue\n[[ ## factual ## ]]\nFalse": None,
        "<think>[[ ## factual ## ]]\nTrue</think>[[ ## factual ## ]]\nFalse": "non_factual",
        "[[ ## factual ## ]]\nnot true": None,
        "True": None,
    },
    "json": {'{"factual": true}': "factual", '{"factual": "maybe"}': None},
}


@pytest.mark.promptfoo
@pytest.mark.parametrize("adapter", sorted(REPLIES))
def test_the_assertion_reads_labels_and_nothing_else(adapter: str, tmp_path: Path) -> None:
    (tmp_path / "config.cjs").write_text(
        rendered(EXPORTERS["promptfoo"], subject(FECT, tmp_path, adapter, demos=False)), "utf-8"
    )
    script = (
        "const read = require('./config.cjs').defaultTest.assert[0].value;"
        "const found = JSON.parse(process.argv[1]).map((reply) => [read(reply, {vars: {}}),"
        " read(reply, {vars: {expected_label: 'factual'}})]); console.log(JSON.stringify(found))"
    )
    done = subprocess.run(
        ["node", "-e", script, json.dumps(list(REPLIES[adapter]))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    for wanted, (read, compared) in zip(REPLIES[adapter].values(), json.loads(done.stdout), strict=True):
        assert read["pass"] == (wanted is not None)
        assert read["reason"] == (f"label: {wanted}" if wanted else "no usable label")
        assert compared["pass"] == (wanted == "factual")


def test_rows_become_tests_with_their_labels(tmp_path: Path) -> None:
    given = subject(FECT, tmp_path)
    given = replace(given, rows=[replace(given.rows[0], label="factual"), given.rows[1]])
    tests = next(
        line for line in rendered(EXPORTERS["promptfoo"], given).splitlines() if line.startswith("  tests:")
    )
    first, second = json.loads(tests.removeprefix("  tests: ").rstrip(","))
    assert first["vars"]["expected_label"] == "factual"
    assert "expected_label" not in second["vars"]
    assert first["vars"]["claim"] == given.rows[0].variables["claim"]


def test_a_message_that_promptfoo_would_rewrite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="JSON alone"):
        rendered(EXPORTERS["promptfoo"], subject(FECT, tmp_path, "json"))


@pytest.mark.parametrize("name", ["cognibench", "detector", "tier"])
def test_what_gives_no_label_is_refused(name: str) -> None:
    judge = find(name)
    with pytest.raises(UsageError, match=r"JavaScript|holds one prompt"):
        export(PromptState.of(judge.basic()), judge, "promptfoo")
