"""Every code block of the documentation: it can be read, and it runs, page by page, from the first to the last."""

import ast
import csv
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, Block, blocks, pages, run_page, typed_answer
from small import claims, read_jsonl, write_jsonl

from jurist.cli import build_parser

PAGES = {page.stem: page for page in pages()}
ELSEWHERE = {
    "decision-models": "jobs/test_decision_models.py runs it with a decision model",
    "batch": "runs/test_batch.py runs it against a server that has batches",
}
"""Pages whose blocks another test runs."""
SAYS = {
    "tutorial": ("decision: compiled is", "pass  balanced_accuracy >= 0.7"),
    "move": ("device-review@2 is worse: balanced_accuracy 0.810 -> 0.500 (-0.310", "not moved"),
    "images": ("groups      3", "photos: no problem found"),
    "traces": ("balanced_accuracy 0.500",),
}
"""What running a page prints, where the page is a promise."""
LEAVES = {"tutorial": ("verdicts.jsonl", "input_label", "gate.csv", "verdict")}
"""Page -> a file that it leaves, and a column in it, which is a column of another file under a new name."""
UNLABELLED = [{name: row[name] for name in ("group", "conversation", "claim")} for row in claims(groups=4)]


def bundled(name: str) -> list[dict[str, Any]]:
    return read_jsonl(ROOT / "datasets" / name / "gold.jsonl")


def table(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def columns(name: str, *kept: str) -> list[dict[str, Any]]:
    return [{column: row[column] for column in kept} for row in bundled(name)]


def calls(folder: Path) -> None:
    folder.mkdir()
    rows = [{"transcript": row["conversation"], "summary": row["claim"]} for row in UNLABELLED]
    table(folder / "monday.csv", rows)


def documents(folder: Path) -> None:
    folder.mkdir()
    for row in bundled("haluagent-docs"):
        (folder / f"{row['id']}.md").write_text(row["text"], encoding="utf-8")


MAKES: dict[str, Callable[[Path], object]] = {
    "docs": lambda at: at.symlink_to(ROOT / "docs"),
    "documents": documents,
    "other-documents": documents,
    "claims.jsonl": lambda at: write_jsonl(at, UNLABELLED),
    "gold.jsonl": lambda at: write_jsonl(at, claims(groups=2)),
    "rows.jsonl": lambda at: write_jsonl(at, UNLABELLED),
    "row.json": lambda at: at.write_text(json.dumps(UNLABELLED[0]), encoding="utf-8"),
    "responses.jsonl": lambda at: write_jsonl(at, [{"query": "Name a river.", "response": "The Rhine."}]),
    "prompt.md": lambda at: at.write_text("By {{policy}}, send or hold?\n\n{{reply}}\n", encoding="utf-8"),
    "queries.jsonl": lambda at: write_jsonl(at, [{"query": "Name three rivers of Europe."}]),
    "labels.jsonl": lambda at: write_jsonl(at, bundled("cognibench-mini")),
    "labels.csv": lambda at: table(at, columns("support-desk", "group", "policy", "reply", "verdict")),
    "replies.jsonl": lambda at: write_jsonl(
        at, [{name: row[name] for name in ("group", "policy", "reply")} for row in bundled("support-desk")]
    ),
    # the verdicts of a judge in production, which holds every third reply
    "log.csv": lambda at: table(
        at,
        [
            {"policy": row["policy"], "reply": row["reply"], "verdict": ("hold", "send", "send")[n % 3]}
            for n, row in enumerate(bundled("support-desk"))
        ],
    ),
    # as another tool calls them
    "replies.csv": lambda at: table(
        at,
        [
            {
                "group": row["group"],
                "policy": row["policy"],
                "answer": row["reply"],
                "verdict": ("ok", "no")[n % 2],
            }
            for n, row in enumerate(bundled("support-desk"))
        ],
    ),
    "calls": calls,
}
"""File or folder that pages name -> what makes it."""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with what the pages name."""
    for name, make in MAKES.items():
        make(tmp_path / name)
    for own in (ROOT / "docs").glob("*.py"):
        (tmp_path / own.name).write_bytes(own.read_bytes())
    return tmp_path


def every() -> list[Any]:
    return [
        pytest.param(block, id=f"{name}:{block.line}")
        for name, page in PAGES.items()
        for block in blocks(page)
        if block.language not in ("text", "")
    ]


@pytest.mark.parametrize("block", every())
def test_a_block_can_be_read(block: Block) -> None:
    if block.language == "python":
        compile(block.code, "block", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    elif block.language in ("json", "toml"):
        {"json": json.loads, "toml": tomllib.loads}[block.language](block.code)
    else:
        assert block.language == "sh"
        for command in block.commands:
            if command.startswith("jurist "):
                assert build_parser().parse_args(shlex.split(re.split(r"[|>]", command)[0])[1:]).command


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.stem)
def test_a_file_that_comes_with_jurist_is_named_where_it_lies(page: Path) -> None:
    """Whoever stands in a clone can paste the command, unless the page shows the file, to be written."""
    text = page.read_text(encoding="utf-8")
    commands = "\n".join(block.code for block in blocks(page) if block.language == "sh")
    missing = []
    for name in re.findall(r"(?<![\w/])(\w+\.py):\w", commands):
        if (ROOT / "docs" / name).exists() and f'title="{name}"' not in text:
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.stem)
def test_commands_of_benchmarks_name_their_options(page: Path) -> None:
    shared = (ROOT / "benchmarks" / "common.py").read_text(encoding="utf-8")
    text = re.sub(r"\s+", " ", page.read_text(encoding="utf-8"))
    wrong = []
    for name, options in re.findall(r"python benchmarks/(\w+)\.py([^`#|]*)", text):
        script = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
        named = re.findall(r"--[a-z][\w-]*", options.partition(" python ")[0])
        wrong += [(name, option) for option in named if f'"{option}"' not in script + shared]
        needed = re.findall(r'"(--[\w-]+)"[^)]*?required=True', script)
        wrong += [(name, option) for option in needed if option not in named]
    assert wrong == []


SLOW_PAGES = ("cascades", "endpoints", "watching")
"""Pages that take longest to run, without a command that takes long alone."""


def marked() -> Iterator[Any]:
    for name, page in PAGES.items():
        run = [block for block in blocks(page) if block.runs and block.language in ("python", "sh")]
        if run and name not in ELSEWHERE:
            slow = name in SLOW_PAGES or any(block.mark == "slow" for block in run)
            yield pytest.param(page, id=name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("page", list(marked()))
def test_a_page_runs(
    page: Path, world: Path, serve: Callable[..., Any], fake_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    server = serve(typed_answer)
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    said = run_page(page, server.url, {"rows": UNLABELLED, "row": UNLABELLED[0]})
    assert all(words in said for words in SAYS.get(page.stem, ()))
    if page.stem in LEAVES:
        output, column, source, source_column = LEAVES[page.stem]
        with (world / source).open(encoding="utf-8", newline="") as file:
            values = [row[source_column] for row in csv.DictReader(file)]
        assert [line[column] for line in read_jsonl(world / output)] == values
