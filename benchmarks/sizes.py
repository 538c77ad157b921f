"""The growth of seconds and memory with much gold, many versions, long reports and long resumptions.

``python benchmarks/sizes.py`` prints a table; ``--share 0.1`` measures a tenth of each size, and
``--only report`` what has this word in its name. Seconds are those of a CPU, the start of the command included.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT
from jurist.programs.state import PromptState

PARTS = (0.25, 0.5, 1.0)
"""Shares of the full size at which each command is measured."""


_OPENING = "Agent: Thank you for calling the service line of our house, how may I help you today?"
_SYLLABLES = [
    consonant + vowel + end for consonant in "bdfgklmnprstvz" for vowel in "aeiou" for end in ("", "n", "r")
]


@dataclass(frozen=True)
class Measured:
    """What one command took."""

    seconds: float
    mebibytes: float


def measure(folder: Path, *argv: str) -> Measured:
    """Run a jurist command in a process of its own, and return its CPU time and its largest resident memory."""
    with (folder / "out.txt").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "jurist", *argv], cwd=folder, stdout=out, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 3):
        words = (folder / "out.txt").read_text(encoding="utf-8")[-500:]
        raise SystemExit(f"jurist {' '.join(argv)} ended with {code}: {words}")
    return Measured(seconds=usage.ru_utime + usage.ru_stime, mebibytes=usage.ru_maxrss / 1024)


def row_of(number: int) -> dict[str, str]:
    """Return an unlabelled row of FECT that no other number has."""
    return {
        "conversation": f"Agent: order {number} left our house today. Customer: thank you, I wait for number {number}.",
        "claim": f"The agent says that order {number} has left.",
    }


def write_gold(folder: Path, rows: int) -> None:
    """Write labelled rows, two to a group; they share an opening and differ in all that follows."""
    vocabulary = [first + second for first in _SYLLABLES for second in _SYLLABLES]
    with (folder / "gold.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows):
            draw = random.Random(number)
            words = draw.choices(vocabulary, k=45)
            row = {
                "conversation": f"{_OPENING} Customer: {' '.join(words[:20])}. Agent: {' '.join(words[20:40])}.",
                "claim": f"The agent says {' '.join(words[40:])}, case {number}.",
                "group": f"g{number // 2}",
                "factual": number % 3 > 0,
            }
            file.write(json.dumps(row) + "\n")


def write_output(folder: Path, rows: int) -> None:
    """Write rows and the lines of a finished run of them, all made like the line of the one row that is judged."""
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows):
            file.write(json.dumps(row_of(number)) + "\n")
    (folder / "one.jsonl").write_text(json.dumps(row_of(0)) + "\n", encoding="utf-8")
    measure(folder, "run", "fect:basic", "--input", "one.jsonl", "--output", "template.jsonl")
    template = json.loads((folder / "template.jsonl").read_text(encoding="utf-8"))
    with (folder / "verdicts.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows):
            row = row_of(number)
            case = FECT.case(row).id
            unit = {**template["units"][0], "text": row["claim"]}
            place = {"id": case, "row": number + 1, "case": case, "source": f"rows.jsonl:{number + 1}"}
            file.write(json.dumps({**template, **place, "units": [unit]}) + "\n")


def check_gold(folder: Path, rows: int) -> Measured:
    """Measure the check of a gold file."""
    write_gold(folder, rows)
    return measure(folder, "gold", "check", "fect", "gold.jsonl")


def list_versions(folder: Path, versions: int) -> Measured:
    """Measure the listing of a store."""
    store = Store(folder / "compiled")
    state = PromptState.of(FECT.basic())
    for number in range(versions):
        store.save(
            FECT, state.with_instruction("self", f"Judge strictly, rule {number}."), {}, [], make_latest=True
        )
    return measure(folder, "artifacts", "list")


def report_run(folder: Path, rows: int) -> Measured:
    """Measure the report of the output of a run."""
    write_output(folder, rows)
    return measure(folder, "report", "verdicts.jsonl", "--output", "report.html")


def resume_run(folder: Path, rows: int) -> Measured:
    """Measure the resumption of a run whose rows but one are judged."""
    write_output(folder, rows)
    lines = (folder / "verdicts.jsonl").read_bytes()
    (folder / "verdicts.jsonl").write_bytes(lines[: lines.rstrip(b"\n").rfind(b"\n") + 1])
    return measure(
        folder, "run", "fect:basic", "--input", "rows.jsonl", "--output", "verdicts.jsonl", "--resume"
    )


SIZES: Sequence[tuple[str, int, Callable[[Path, int], Measured]]] = (
    ("jurist gold check, rows", 100_000, check_gold),
    ("jurist artifacts list, versions", 500, list_versions),
    ("jurist report of a run, rows", 100_000, report_run),
    ("jurist run --resume, rows", 500_000, resume_run),
)


def main() -> None:
    """Print a table of all sizes; the last column is the growth of the time over that of the size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("| what | size | CPU seconds | MiB | time grows, size grows |")
    print("|---|---:|---:|---:|---|")
    for name, full_size, command in SIZES:
        if options.only not in name:
            continue
        first: tuple[int, Measured] | None = None
        for part in PARTS:
            size = max(1, int(full_size * options.share * part))
            with TemporaryDirectory() as folder:
                found = command(Path(folder), size)
            first = first or (size, found)
            growth = f"{found.seconds / first[1].seconds:.1f} times, {size / first[0]:.1f} times"
            print(
                f"| {name} | {size:,} | {found.seconds:.1f} | {found.mebibytes:.0f} | {growth} |", flush=True
            )


if __name__ == "__main__":
    main()
