"""Paths into the values of a row, also into JSON in a cell: all can be read, and errors list them."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from small import cli, ok

from jurist.gold.paths import paths_within, read_path

CHAT = [{"role": "user", "content": "Is it red?"}, {"role": "assistant", "content": "It is blue."}]
WITHIN: list[tuple[Any, list[str]]] = [
    ("plain text", []),
    ("{no JSON", []),
    ({"question": "Is it?", "more": {"answer": "No."}}, ["data.question", "data.more.answer"]),
    (["first", "second"], ["data.0", "data.1"]),
    (CHAT, ["data[role=user].content", "data[role=assistant].content"]),
    ([{"speaker": "Ann", "text": "Hi"}], ["data.0.speaker", "data.0.text"]),
]


@pytest.mark.parametrize(("value", "paths"), WITHIN)
def test_paths_within_a_value_can_be_read(value: Any, paths: list[str]) -> None:
    for content in (value, value if isinstance(value, str) else json.dumps(value)):
        assert paths_within({"data": content, "label": "yes"}) == paths
        for path in paths:
            assert isinstance(read_path({"data": content}, path), str)


@pytest.mark.parametrize(
    ("value", "options"),
    [
        (
            {"question": "{} or not?", "answer": "It is {}."},
            "--column data.question=question --column data.answer=answer",
        ),
        (
            [{"role": "user", "content": "{} or not?"}, {"role": "assistant", "content": "It is {}."}],
            "--column 'data[role=user].content=question' --column 'data[role=assistant].content=answer'",
        ),
    ],
)
def test_a_prompt_whose_inputs_stand_in_json_of_a_cell(
    value: Any, options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.md").write_text("Question: {{question}}\nAnswer: {{answer}}\nIs it right? yes or no\n")
    lines = ["data,label"]
    for number in range(40):
        cell = json.dumps(value).replace("{}", f"thing {number * 7}").replace('"', '""')
        lines.append(f'"{cell}",{("yes", "no")[number % 2]}')
    Path("gold.csv").write_text("\n".join(lines))
    refused = cli("new", "right", "--from", "p.md", "--gold", "gold.csv")
    assert refused.code == 1
    for option in options.split("--column ")[1:]:
        path = option.strip().strip("'").rpartition("=")[0]
        assert path in refused.err
    made = ok("new", "right", "--from", "p.md", "--gold", "gold.csv", *shlex.split(options))
    assert "inputs question, answer" in made.out
