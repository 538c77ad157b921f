"""Every target sends what the judge sends: its own loader fills the export for rows full of traps."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from prompts import subject
from pydantic import TypeAdapter
from small import cli, ok

from jurist.engines.models import Model
from jurist.errors import UsageError
from jurist.exports import EXPORTERS, Row, Subject, Target
from jurist.exports.parity import parity
from jurist.programs.catalogue import find
from jurist.programs.judge import Judge

DOCS = Path(__file__).parents[2] / "docs"
FECT, COGNIBENCH, SCORE = find("fect"), find("cognibench"), find(f"{DOCS}/reply_score.py:judge")
HERE = ("messages", "python", "dspy")
SCORERS = ("inspect", "pydantic-evals", "autoevals", "deepeval", "phoenix", "opik", "mlflow", "langsmith")
ELSEWHERE = ("langchain", *SCORERS)


GRID = [(FECT, "chat"), (FECT, "json"), (FECT, "xml"), (COGNIBENCH, "json"), (SCORE, "chat")]


@pytest.mark.parametrize(
    ("judge", "adapter"), GRID, ids=[f"{judge.name}-{adapter}" for judge, adapter in GRID]
)
@pytest.mark.parametrize(
    "target", [*HERE, *(pytest.param(one, marks=pytest.mark.targets) for one in ELSEWHERE)]
)
def test_every_row_is_sent_as_by_the_judge(target: str, judge: Judge, adapter: str, tmp_path: Path) -> None:
    if adapter == "xml" and target in ("python", *SCORERS):
        with pytest.raises(UsageError, match="own code"):
            parity(EXPORTERS[target], subject(judge, tmp_path, adapter))
        return
    given = subject(judge, tmp_path, adapter)
    found = parity(EXPORTERS[target], given)
    assert (found.equal, found.different) == (found.rows, ())


@pytest.mark.targets
@pytest.mark.parametrize(("judge", "adapter"), [one for one in GRID if one[0] is not COGNIBENCH])
def test_langfuse_compiles_what_the_judge_sends(judge: Judge, adapter: str, tmp_path: Path) -> None:
    given = subject(judge, tmp_path, adapter, traps="Mind {x} and {% z %}.", demos=False)
    found = parity(EXPORTERS["langfuse"], given)
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
    holding = [row for row in given.rows if any("{{claim}}" in text for text in row.variables.values())]
    found = parity(Twice(), given)
    assert set(found.different) <= {row.id for row in holding}
    assert found.different
    assert found.to_json()["parity"] == found.equal / found.rows < 1


def test_a_batch_has_a_request_for_each_sample_and_finds_its_rows_again(tmp_path: Path) -> None:
    given = subject(FECT, tmp_path, "json")
    given = replace(given, rows=[*given.rows[:2], given.rows[0]])
    lines = [json.loads(line) for line in EXPORTERS["openai-batch"].render(given).splitlines()]
    names = [line["custom_id"] for line in lines]
    assert len(set(names)) == len(names) == 9  # equal rows too
    assert all(
        name.startswith(f"{str(given.stamp['sha256'])[:12]}-{row.id}")
        for name, row in zip(names[::3], given.rows, strict=True)
    )
    for line, row in zip(lines[::3], given.rows, strict=True):
        TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(line["body"])
        assert line["body"]["messages"] == list(row.messages)
    body = lines[0]["body"]
    assert (body["model"], body["temperature"]) == ("some", 0.7)
    schema = body["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["required"] == ["factual"]
    assert schema["schema"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": ()}, "a batch file holds rows"),
        ({"model": None}, "Batch API"),
        ({"model": Model()}, "offline"),
        ({}, "part the input"),
    ],
)
def test_a_batch_says_what_it_lacks_or_has_too_much_of(
    change: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jurist.exports.openai_batch._MOST_REQUESTS", 10)
    with pytest.raises(UsageError, match=words):
        EXPORTERS["openai-batch"].render(replace(subject(FECT, tmp_path), **change))


def test_langfuse_refuses_what_it_would_take_for_a_variable(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="double braces"):
        EXPORTERS["langfuse"].render(subject(FECT, tmp_path))


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
        (("export", "fect:basic", "--to", "openai-batch"), "--input"),
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
