"""A command imports what it works with, and nothing that takes long beside it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from small import claims, write_jsonl

ASKING = {"dspy", "litellm", "openai", "requests", "jurist.engines.models", "jurist.programs.asking"}
"""What asks a model."""
LEARNING = {"sklearn", "optuna", "scipy.optimize", "scipy.stats", "scipy.sparse", "scipy.special"}
"""What learns and tests."""
METRICS = {"numpy", "jurist.evaluation.metrics", "jurist.evaluation.units"}
"""What holds values against gold, in arrays."""
CARDS = {"jurist.keeping.card", "jurist.keeping.card_parts", "jurist.keeping.records"}
"""The types of a card, of which pydantic makes some fifty models."""
OTHERS = {"jurist.signatures.cognibench", "jurist.signatures.faithqa", "jurist.programs.faithqa.judges"}
"""Other judges than the one that is named."""
KINDS = {
    "jurist.programs.definition",
    "jurist.programs.answers.infer",
    "jurist.programs.answers.criteria",
    "jurist.programs.answers.sentences",
    "jurist.programs.answers.whole",
    "jurist.engines.offline.objects",
    "jurist.engines.offline.scores",
}
"""Answers of other kinds than that of the judge that is named, and what reads its kind from a signature."""
ASIDE = {
    "jurist.engines.embedding",
    "jurist.gold.sheets",
    "jurist.programs.judge_files",
    "jurist.programs.word_rule",
    "jurist.runs.batch_store",
    "jurist.runs.canary",
}
"""What other options of a run need, and judges from files."""
IMPORTED = """
import json, sys
from jurist.cli import main
try:
    code = main({argv})
except SystemExit as ended:
    code = ended.code
assert not code, code
print()
print(json.dumps(sorted(sys.modules)))
"""


def imported_by(*argv: str) -> set[str]:
    code = IMPORTED.format(argv=list(argv))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("argv", "unneeded"),
    [
        (("judges",), ASKING | LEARNING | CARDS | METRICS),
        (("artifacts", "list"), ASKING | LEARNING | CARDS | METRICS),
        (("gold", "check", "fect", "gold.jsonl"), ASKING | LEARNING | CARDS | OTHERS | KINDS),
        (("gold", "check", "cognibench", "cognibench-mini"), ASKING | LEARNING | CARDS | OTHERS),
        (
            ("run", "fect:basic", "--input", "rows.jsonl", "--output", "verdicts.jsonl"),
            LEARNING | CARDS | OTHERS | METRICS | KINDS | ASIDE | {"jurist.jobs.compiling"},
        ),
        (("run", "--help"), {"jurist.arguments.scoring", "jurist.arguments.compile", "jurist.console.run"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_imports_nothing_that_it_does_not_need(
    argv: tuple[str, ...], unneeded: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = claims(60)
    write_jsonl(Path("gold.jsonl"), rows)
    write_jsonl(Path("rows.jsonl"), [{"conversation": rows[0]["conversation"], "claim": rows[0]["claim"]}])
    assert imported_by(*argv) & unneeded == set()


SEARCHED = """
import gc
from jurist.cli import main
new_objects = []
gc.callbacks.append(lambda phase, facts: new_objects.append(gc.get_count()[0]))
assert main({argv}, owns_process={owns_process}) == 0
assert bool(gc.get_freeze_count()) is {owns_process}
assert (max(new_objects) < 10_000) is {owns_process}, max(new_objects)
"""
"""Modules of a run leave some 150,000 objects; a collection that sees so many new ones searches the modules."""


@pytest.mark.parametrize("owns_process", [True, False])
def test_modules_are_searched_for_garbage_again_unless_the_process_ends(
    owns_process: bool, tmp_path: Path
) -> None:
    write_jsonl(tmp_path / "rows.jsonl", [{"conversation": "A: hello", "claim": "A greets."}])
    argv = ["run", "fect:basic", "--input", "rows.jsonl", "--output", "verdicts.jsonl"]
    code = SEARCHED.format(argv=argv, owns_process=owns_process)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
