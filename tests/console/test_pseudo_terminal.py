"""On a terminal a result is printed as it is: in colour, whatever its length, and without a pager that waits."""

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from small import claims, write_jsonl

from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT
from jurist.programs.state import PromptState

TIMEOUT = 120
WAITS = """#!/bin/sh
echo paged
sleep 600
"""


def shown_at_80x24(folder: Path, *arguments: str, **settings: str) -> tuple[int, str]:
    """Run the command in a pseudo-terminal of 80 x 24 with nobody there; return its exit code and what it shows."""
    pager = folder / "pager"
    pager.write_text(WAITS)
    pager.chmod(0o755)
    outside, inside = pty.openpty()
    env = {**os.environ, "PAGER": str(pager), "TERM": "xterm", "LINES": "24", "COLUMNS": "80"}
    for name in ("CI", "NO_COLOR"):
        env.pop(name, None)
    env.update(settings)
    command = [sys.executable, "-c", "from jurist.cli import program; program()", *arguments]
    shown = b""
    with subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, env=env, cwd=folder) as child:
        os.close(inside)
        with suppress(OSError):  # Linux ends the reading of a terminal so when nobody writes to it any more
            while part := os.read(outside, 65536):
                shown += part
        code = child.wait(TIMEOUT)
    os.close(outside)
    return code, shown.decode("utf-8")


def test_a_long_list_is_not_paged(tmp_path: Path) -> None:
    code, shown = shown_at_80x24(tmp_path, "judges")
    assert code == 0
    assert shown.count("\n") > 24
    assert "fect-3d" in shown
    assert "paged" not in shown


def test_the_decision_and_the_next_step_end_what_evaluate_shows_in_colour(tmp_path: Path) -> None:
    code, shown = shown_at_80x24(tmp_path, "evaluate", "fect:basic", "--gold", "fect-mini", "--verbose")
    assert code == 0
    assert "paged" not in shown
    end = shown[-4000:]
    assert "\x1b[3" in end
    assert "next: jurist compile fect" in end
    assert "engine: offline" in end


@pytest.mark.parametrize(
    "model",
    [
        "offline",
        "openai/gpt-5.6-luna-2026-03-01",
        "openai/a-model-with-a-name-that-is-longer-than-the-terminal",
    ],
)
def test_the_list_of_versions_shows_each_whole_and_says_where_there_is_none(
    tmp_path: Path, model: str
) -> None:
    (tmp_path / "compiled").mkdir()
    code, shown = shown_at_80x24(tmp_path, "artifacts", "list")
    assert code == 0
    assert "no version in compiled yet: jurist compile makes one" in shown
    store = Store(tmp_path / "compiled")
    scores = {"value": 0.874, "low": 0.809, "high": 0.919}
    card = {
        "model": {"name": model},
        "scores": {"compiled": {"f1": scores}, "basic": {"f1": scores}},
        "decision": {"metric": "f1", "verdict": "better"},
    }
    for _ in range(3):
        store.save(FECT, PromptState.of(FECT.basic()), card, [], make_latest=True)
    code, shown = shown_at_80x24(tmp_path, "artifacts", "list")
    assert code == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    _, *versions = re.split(r"(?m)^(?=fect@)", text.replace("\r", ""))
    assert [version.split()[0] for version in versions] == ["fect@1", "fect@2", "fect@3"]
    assert max(map(len, text.splitlines())) <= 80
    names: list[list[str]] = [[], [], ["latest"]]
    for version, names_of_version in zip(versions, names, strict=True):
        words = [*names_of_version, "f1", "0.874", "[0.809,", "0.919]", "better", model]
        assert sorted(version.split()[1:]) == sorted(words)  # a cell of two lines stands beside others


def test_a_version_is_shown_as_text_on_a_terminal_and_as_markdown_where_that_is_asked_for(
    tmp_path: Path,
) -> None:
    Store(tmp_path / "compiled").save(FECT, PromptState.of(FECT.basic()), {}, [], make_latest=True)
    _, shown = shown_at_80x24(tmp_path, "artifacts", "show", "fect@1")
    lines = shown.replace("\r", "").splitlines()
    assert "Answers" in lines
    assert lines[lines.index("Answers") + 1] == "-------"
    assert not [line for line in lines if line.startswith(("#", "```", "- `"))]
    _, shown = shown_at_80x24(tmp_path, "artifacts", "show", "fect@1", "--markdown")
    assert "## Answers" in shown.replace("\r", "").splitlines()


def test_no_color_leaves_the_card_framed_and_without_colours(tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", claims(8))
    words = ("gate", "fect:basic", "--gold", str(gold), "--min", "f1=0.1")
    _, coloured = shown_at_80x24(tmp_path, *words)
    _, plain = shown_at_80x24(tmp_path, *words, NO_COLOR="1")
    assert re.search(r"\x1b\[[0-9;]*3[0-9]m╭", coloured)
    assert not re.search(r"\x1b\[[0-9;]*(3[0-9]|9[0-7])m", plain[plain.index("╭") :])
    assert ", passes" in plain
