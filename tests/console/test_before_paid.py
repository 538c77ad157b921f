"""What can be known to be wrong is said before a call is paid: the server gets no request, and no file is touched."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small import FAST, claims, cli, tree, write_jsonl

GOLD = ("--gold", "gold.jsonl")
RUN = ("run", "fect:basic", "--input", "gold.jsonl", "--output", "o.jsonl")
WRONG: list[tuple[str, tuple[str, ...]]] = [
    ("folder: Is a directory", ("evaluate", "fect:basic", *GOLD, "--output", "folder")),
    ("file/x.json: Not a directory", ("evaluate", "fect:basic", *GOLD, "--output", "file/x.json")),
    ("folder: Is a directory", ("compare", "fect:basic", *GOLD, "--repeats", "2", "--output", "folder")),
    ("folder: Is a directory", ("gate", "fect:basic", *GOLD, "--min", "f1=0", "--junit", "folder")),
    ("folder: Is a directory", ("harden", "fect:basic", *GOLD, "--output", "folder")),
    ("folder: Is a directory", ("table", "cognibench-3", "--gold", "cognibench-mini", "--output", "folder")),
    ("folder: Is a directory", ("assess", "openai/m", "--benchmark", "dialogues", "--answers", "folder")),
    ("file/x.json: Not a", ("assess", "openai/m", "--benchmark", "dialogues", "--output", "file/x.json")),
    ("full/fect/card.json: Not a directory", ("compile", "fect", *GOLD, *FAST, "--store", "full")),
    ("no verifier of the program asks", ("compile", "fect", *GOLD, *FAST, "--verifier", "fect:basic")),
    ("folder: Is a directory", ("compile", "fect", *GOLD, *FAST, "--rejects", "folder")),
    ("folder: Is a directory", (*RUN, "--rejects", "folder")),
    ("--rejects gold.jsonl would write into gold.jsonl", (*RUN, "--rejects", "gold.jsonl")),
    ("--rejects o.jsonl would write into o.jsonl", (*RUN, "--rejects", "o.jsonl")),
    (
        "--rejects folder/x would write into folder",
        (*RUN[:3], "folder", "--output", "o.jsonl", "--rejects", "folder/x"),
    ),
]


@pytest.fixture(autouse=True)
def _folder(no_waiting: None) -> None:
    for folder in ("folder", "full"):
        Path(folder).mkdir()
    for file in ("file", "full/fect"):
        Path(file).write_text("of somebody else")
    for file in ("gold.jsonl", "folder/rows.jsonl"):
        write_jsonl(Path(file), claims())


@pytest.mark.parametrize(("words", "argv"), WRONG, ids=[" ".join(one[1])[-60:] for one in WRONG])
def test_it_is_said_before(
    words: str, argv: tuple[str, ...], tmp_path: Path, serve: Callable[..., Any]
) -> None:
    before, server = tree(tmp_path), serve()
    model = () if argv[0] == "assess" else ("--model", "openai/m")
    done = cli(*argv, *model, "--api-base", server.url, "--yes")
    assert done.code in (1, 2)
    assert done.lines[-1].startswith("error: ")
    assert words in done.err
    assert (server.count, tree(tmp_path)) == (0, before)


def test_a_second_model_that_is_not_there_costs_one_row(serve: Callable[..., Any], fake_key: str) -> None:
    server = serve(faults=lambda index, body: "404" if body["model"] == "typo" else None)
    models = ("--model", "openai/m", "--model", "openai/typo", "--api-base", server.url)
    done = cli("compare", "fect:basic", *GOLD, *models, "--yes")
    assert (done.code, "typo" in done.lines[-1]) == (1, True)
    assert [hit.body["model"] for hit in server.hits].count("m") == 1
