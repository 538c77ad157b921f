"""The first hour of a new user, typed line by line: what each command ends with, and the line that says so."""

import csv
import shlex
from pathlib import Path

from small import cli

ROOT = Path(__file__).resolve().parents[1]
JUDGE = ROOT / "docs" / "may_send.py"
FAST = "--optimizer fewshot --set sizes=2 --set sets=2 --set sample=6 --split 40/20/40"
"""A compilation of a second, and one that finds nothing: few rows, few demonstrations."""

HOUR: list[tuple[str, int, str]] = [
    # what is there
    ("jurist judges", 0, "fect-3d-reasoning"),
    ("jurist evaluate fect:basic --gold fect-min", 1, "did you mean fect-mini?"),
    # gold of one's own, as it comes: everything that is wrong at once, then mended in one command
    ("jurist gold check may_send.py --gold raw.csv", 1, "3  verdict  unknown label 'ok'"),
    ("jurist gold check may_send.py --gold raw.csv", 1, "80  reply    the field is missing"),
    ("jurist gold check may_send.py --gold raw.csv", 1, "raw.csv:2, field 'reply': the field is missing"),
    ("jurist gold check may_send.py --gold raw.csv --column anwser=reply", 1, "did you mean answer?"),
    ("jurist gold check may_send.py --gold raw.csv --column answer=repply", 2, "did you mean reply?"),
    (
        "jurist gold import may_send.py raw.csv --column answer=reply --map ok=send --rejects bad.jsonl "
        "--output gold.jsonl",
        0,
        "79 cases written to gold.jsonl; 1 unusable row set aside in bad.jsonl",
    ),
    ("jurist gold check may_send.py --gold gold.jsonl --split 40/20/40", 0, "policy is empty in 1 case"),
    # what cannot be done says what can
    ("jurist compile may_send.py --gold gold.jsonl --set foo=1", 1, "has no setting foo; use one of arm"),
    ("jurist run may-send --input gold.jsonl --output o.jsonl", 1, "did you mean may_send.py:judge?"),
    ("jurist evaluate may_send.py --gold gold.jsonl", 0, "may-send was not compiled yet"),
    (
        "jurist evaluate may_send.py:basic --gold raw.csv --rejects bad.jsonl --column answer=reply --map ok=send",
        0,
        "next: jurist compile may_send.py --gold raw.csv --rejects bad.jsonl --column answer=reply --map ok=send",
    ),
    # compiled, and nothing better found: the name works all the same, and says for what it stands
    (
        f"jurist compile may_send.py --gold gold.jsonl {FAST}",
        0,
        "nothing better than the basic prompt was found",
    ),
    ("jurist run may-send --input gold.jsonl --output out.jsonl", 0, "may-send:basic: 79 rows"),
    (
        "jurist run may-send --input gold.jsonl --output next.jsonl",
        0,
        "next: jurist report next.jsonl (a page of",
    ),
    ("jurist report next.jsonl", 0, "report: next.html"),
    ("jurist evaluate may-send --gold gold.jsonl", 0, "no version of may-send has passed a sealed test"),
    ("jurist export may-send --to markdown", 0, "Decide what happens to a drafted reply"),
    ("jurist run may-send@1 --input gold.jsonl --output one.jsonl", 0, "may-send@1: 79 rows"),
    (
        "jurist compare may-send@1 may-send:basic --gold gold.jsonl",
        0,
        "in balanced_accuracy is shown in four of five",
    ),
    ("jurist artifacts list", 0, "may-send@1"),
    ("jurist run may-snd --input gold.jsonl --output o.jsonl", 1, "did you mean may-send?"),
    ("jurist artifacts show may-snd", 1, "did you mean may-send?"),
    # one judge is simply scored, with each class and what was taken for what
    ("jurist evaluate may-send:basic --gold gold.jsonl --verbose", 0, "gold labels (rows)"),
    # the caller's own columns come back, in the format of the output's name
    ("jurist run may-send:basic --input new.csv --column answer=reply --output out.csv", 0, "80 verdicts"),
]


def _label(number: int) -> str:
    if number == 40:
        return "maybe"
    if number in (1, 3, 5):
        return "ok"
    if number % 10 < 2:
        return "Send" if number % 2 else "HOLD"
    return "send" if number % 2 else "hold"


def _files() -> None:
    """Write gold as people keep it, columns and labels under their own names, and new rows without labels."""
    with Path("raw.csv").open("w", newline="") as raw, Path("new.csv").open("w", newline="") as new:
        gold, rows = csv.writer(raw), csv.writer(new)
        gold.writerow(["policy", "answer", "verdict", "group"])
        rows.writerow(["id", "policy", "answer", "channel"])
        for number in range(80):
            policy = "" if number == 7 else f"Refunds take {number} days."
            answer = f"Thank you for writing, number {number}."
            gold.writerow([policy, answer, _label(number), f"talk-{number // 4}"])
            rows.writerow([f"row-{number}", policy, answer, "mail"])


def test_every_line_ends_as_it_should_and_says_so() -> None:
    Path("may_send.py").write_text(JUDGE.read_text(encoding="utf-8"), encoding="utf-8")
    _files()
    for line, code, words in HOUR:
        done = cli(*shlex.split(line)[1:])
        assert done.code == code, f"{line}\n{done.err}"
        assert words in done.out + done.err, f"{line}\n{done.out}\n{done.err}"
        assert "Traceback" not in done.err
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["channel"]) for row in rows] == [
        (f"row-{number}", "mail") for number in range(80)
    ]
