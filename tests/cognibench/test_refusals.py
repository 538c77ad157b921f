"""What the commands of CogniBench cannot do is one line that says so, with the right exit code; nothing is written."""

import shlex
from pathlib import Path

import pytest
from small import cli, write_jsonl
from talks import docs, small_gold

DIALOGUE = "generate dialogue --input docs.jsonl --output d.jsonl"
ASSESS = "assess --benchmark dialogues offline"
TABLE = "table cognibench-3 --gold gold.jsonl"
WRONG = [
    (1, "no such file", f"{DIALOGUE} --input nothing"),
    (2, "--turns", f"{DIALOGUE} --turns 0"),
    (2, "--words", f"{DIALOGUE} --words 9-3"),
    (2, "--concurrency", f"{DIALOGUE} --concurrency 0"),
    (2, "--max-rejected", f"{DIALOGUE} --max-rejected 2"),
    (1, "no such file", f"{ASSESS} --benchmark nothing.jsonl"),
    (2, "does not label the sentences", f"{ASSESS} --judge fect:basic"),
    (1, "no judge is called", f"{ASSESS} --judge nobody"),
    (2, "--limit", f"{ASSESS} --limit 0"),
    (2, "--max-unusable", f"{ASSESS} --max-unusable 7"),
    (2, "--words", f"{ASSESS} --words x"),
    (2, "--unanswered says nothing about dialogues", f"{ASSESS} --unanswered wrong"),
    (1, "no such file", f"{ASSESS} --calibration missing.csv"),
    (2, "temperature", f"{ASSESS} --temperature 9"),
    (2, "name every model once", f"{ASSESS} offline"),
    (2, "does not find the hallucinated sentences", f"{TABLE} --detector fect:basic"),
    (1, "no judge is called 'nowhere'", f"{TABLE} --detector nowhere"),
    (1, "none.jsonl", f"{TABLE} --gold none.jsonl"),
    (2, "not allowed with argument --json", f"{TABLE} --json --markdown"),
    (2, "cognibench-9", "table cognibench-9"),
    (2, "does not find the hallucinated sentences", f"{TABLE} --detector statement-type:basic"),
]


@pytest.mark.parametrize(("code", "words", "line"), WRONG, ids=[line for _, _, line in WRONG])
def test_a_refusal_is_one_line(code: int, words: str, line: str) -> None:
    write_jsonl(Path("docs.jsonl"), docs(1))
    write_jsonl(Path("gold.jsonl"), small_gold())
    done = cli(*shlex.split(line))
    assert (done.code, done.out) == (code, ""), done.err
    assert len(done.lines) == 1 or line.startswith("table")  # which may say what it reads first
    assert done.lines[-1].startswith("error: ")
    assert words in done.lines[-1]
    assert "Traceback" not in done.err
    assert not Path("d.jsonl").exists()
