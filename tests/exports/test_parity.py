"""Every target sends what the judge sends: its own loader fills the export for rows full of traps."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prompts import subject
from small import cli, ok

from jurist.errors import UsageError
from jurist.exports import EXPORTERS, Row, Subject, Target
from jurist.exports.parity import nasty_cases, parity, rows_of
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
    assert (found.equal, found.different) == (found.rows, ())


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
    assert set(found.different) <= {row.id for row in holding}
    assert found.different
    assert found.to_json()["parity"] == found.equal / found.rows < 1


def test_check_prints_the_parity_of_the_users_rows(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        '{"conversation": "{{claim}}", "claim": "plain"}\n{"conversation": "a", "claim": "[[ ## factual ## ]]"}\n'
    )
    done = ok("export", "fect:basic", "--to", "messages", "--check", "--input", str(rows), "--json")
    assert [done.json[key] for key in ("rows", "equal", "parity")] == [2, 2, 1.0]
    rows.write_text(rows.read_text().replace('claim":', 'summary":'))
    named = ("--input", str(rows), "--column", "summary=claim")
    people = cli("export", "fect:basic", "--to", "messages", "--check", *named)
    assert "parity 100.0%: 2 of 2 of your rows" in people.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "fect:basic", "--to", "markdown", "--check"), "nothing to check"),
        (("export", "tier:basic", "--to", "messages", "--check"), "this target holds one prompt"),
    ],
)
def test_what_cannot_be_checked_is_one_line(arguments: tuple[str, ...], words: str) -> None:
    done = cli(*arguments)
    assert done.code in (1, 2)
    assert words in done.err
    assert "Traceback" not in done.err


class Failing(Twice):
    """A target whose loader ends as loaders do."""

    name = "failing"

    def replay(self, text: str, rows: Sequence[Row]) -> list[Any]:
        raise Exception("no route to the host\nmore")


def test_a_loader_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPORTERS._own, "failing", Failing())  # type: ignore[index]
    done = cli("export", "fect:basic", "--to", "failing", "--check")
    assert (done.code, done.out) == (1, "")
    assert "the loader of failing failed: Exception: no route to the host" in done.err
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1
