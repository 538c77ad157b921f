"""The tables of docs/papers.md: each row of the papers once, with a test that exists or a command that can be typed."""

import ast
import inspect
import json
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from pages import ROOT

from jurist.cli import build_parser
from jurist.signatures.fect import Fect3D

ROWS = 197
FEWEST_AS_THE_PAPER = 180
AS_THE_PAPER = "="
MARKS = {AS_THE_PAPER, "~", "-", "+", "/"}
TIERS = ("misleading", "speculative", "reliable", "irrefutable")


class PaperRow(NamedTuple):
    """One row: its number, what the paper has, its mark, and what shows it or why it is another."""

    number: int
    what: str
    mark: str
    shown_by: str

    @property
    def quoted(self) -> list[str]:
        """What stands in backticks of the last cell."""
        return re.findall(r"`([^`]+)`", self.shown_by)


def rows() -> list[PaperRow]:
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| (\d+) \| (.*?) \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    return [PaperRow(int(number), what, mark, by) for number, what, mark, by in found]


def commands() -> list[str]:
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    return sorted({text for text in re.findall(r"`([^`\n]+)`", page) if text.startswith("jurist ")})


def test_each_row_stands_there_once_and_nearly_all_are_as_in_the_paper() -> None:
    assert [row.number for row in rows()] == list(range(1, ROWS + 1))
    marks = Counter(row.mark for row in rows())
    assert set(marks) <= MARKS
    assert marks[AS_THE_PAPER] >= FEWEST_AS_THE_PAPER


@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row.number))
def test_a_row_names_what_shows_it(row: PaperRow) -> None:
    tests = [text for text in row.quoted if re.match(r"[\w/]+\.py(::|$)", text)]
    for text in tests:
        path, _, name = text.partition("::")
        tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert not name or name in functions, f"{path} has no {name}"
    scripts = [text.split()[1] for text in row.quoted if text.startswith("python ")]
    assert all((ROOT / script).is_file() for script in scripts)
    asked = [text for text in row.quoted if text.startswith("jurist ")]
    if row.mark == AS_THE_PAPER and not row.shown_by.startswith("same"):
        assert tests or scripts or asked
    assert row.shown_by


@pytest.mark.parametrize("command", commands())
def test_a_command_can_be_typed(command: str) -> None:
    assert build_parser().parse_args(shlex.split(command)[1:]).command


def test_the_guideline_has_two_sentences_of_each_tier() -> None:
    """CogniBench's Figure 10: two annotated sentences of each tier, each with the step that decides."""
    folder = ROOT / "datasets" / "cognibench-mini"
    guideline = (folder / "GUIDELINES.md").read_text(encoding="utf-8")
    examples = re.findall(r"^\| \*(.+?)\* \| (\w+) \| (.+?) \|$", guideline, re.MULTILINE)
    assert Counter(tier for _, tier, _ in examples) == dict.fromkeys(TIERS, 2)
    labels: dict[str, str] = {}
    for line in (folder / "gold.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        labels |= dict(zip(row["sentences"], row["labels"], strict=True))
    for sentence, tier, reason in examples:
        assert labels[sentence] == tier
        steps = re.findall(r"rational|grounded|irrefutable", reason.lower())
        assert steps == ["rational", "grounded", "irrefutable"][: len(steps)]
        assert len(steps) == {"misleading": 1, "speculative": 2, "reliable": 3, "irrefutable": 2}[tier]
        assert ("? No:" in reason) == (tier != "irrefutable")


def test_the_3d_prompt_in_xml_has_the_words_of_the_judge() -> None:
    in_xml = (ROOT / "docs" / "fect_3d_xml.txt").read_text(encoding="utf-8")
    assert f"<task>\n{inspect.cleandoc(Fect3D.__doc__ or '')}\n</task>" in in_xml


def test_the_walks_are_those_that_the_page_names() -> None:
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    walks = {path.name for path in Path(__file__).parent.glob("test_walk_*.py")}
    assert walks == set(re.findall(r"papers/(test_walk_\w+\.py)", page))
    assert len(walks) == 4
