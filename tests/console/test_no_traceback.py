"""Input that nobody meant ends in one line that says what, where and what to do, and never in a traceback."""

import shlex
from pathlib import Path

import pytest
from small import cli

ENDS_THE_PROGRAM = "import sys\nsys.exit(3)\n"
IMAGES = """
import dspy, jurist
from typing import Literal

class Look(dspy.Signature):
    picture: {type} = dspy.InputField()
    verdict: Literal["yes", "no"] = dspy.OutputField()

judge = jurist.Judge(name="look", signature=Look, positive=frozenset({{"yes"}}))
"""
LINES: list[tuple[str, int, str]] = [
    ("batch status /", 2, "'/' names no file"),
    ("batch collect /", 2, "'/' names no file"),
    ("batch status ''", 2, "'' names no file"),
    (
        "new '' --from prompt.md --labels yes,no",
        1,
        "the judge's name '' is not usable; use lower-case letters",
    ),
    ("new .. --from prompt.md --labels yes,no", 1, "the judge's name '..' is not usable"),
    ("run fect:basic --input loop --output o.jsonl", 1, "loop: there is no such file or folder"),
    ("evaluate fect:basic --gold loop", 1, "loop: there is no such file or folder"),
    (
        "gold import fect loop --output o.jsonl --rejects bad.jsonl",
        1,
        "loop: there is no such file or folder",
    ),
    ("run fect:basic --input rows.jsonl --output loop", 2, "loop"),
    ("evaluate ends.py --gold rows.jsonl", 1, "ends.py: the file ends the program when it is imported"),
    ("evaluate image.py --gold rows.jsonl", 1, "field 'picture': the field is missing"),
    ("evaluate images.py --gold rows.jsonl", 1, "judge look: its field 'picture' is of type Image"),
]


@pytest.mark.parametrize(("line", "code", "said"), LINES, ids=[line for line, _, _ in LINES])
def test_it_ends_in_one_line(line: str, code: int, said: str) -> None:
    Path("loop").symlink_to("loop")
    Path("prompt.md").write_text("Is it polite?\n\nReply: {{reply}}\n")
    Path("rows.jsonl").write_text('{"conversation": "A: yes.", "claim": "A agrees.", "factual": true}\n')
    Path("ends.py").write_text(ENDS_THE_PROGRAM)
    Path("image.py").write_text(IMAGES.format(type="dspy.Image"))
    Path("images.py").write_text(IMAGES.format(type="list[dspy.Image] | None"))
    done = cli(*shlex.split(line))
    assert (done.code, done.out) == (code, ""), done.err
    assert said in done.err
    assert "Traceback" not in done.err
