"""The time in which commands start, in seconds of CPU and beside those of ``import dspy``, which a judge needs.

    python benchmarks/startup.py

Each command runs three times in a process of its own, and the least counts. ``first line`` is the CPU until a terminal
shows something. Modules are compiled to bytecode in the first of the three, as ``pip install`` compiles them.

``run`` imports DSPy. ``gold check`` of a FECT judge, or of one of CogniBench's for whole responses, does not: the judge
declares its rows, its inputs and its answer, and its signature, a class of DSPy, is imported when it is asked for. A
judge whose rows follow from its signature, one with a program of several steps, and one in a user's file need DSPy.
"""

import json
import os
import pty
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 3
ROWS = 1_000
DATASET = Path(__file__).parents[1] / "datasets" / "fect-mini" / "gold.jsonl"


def cpu_seconds(command: list[str], folder: Path) -> float:
    """Return the least CPU, user and system, that a command takes until it ends."""
    least = float("inf")
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


def first_line_seconds(command: list[str], folder: Path) -> float:
    """Return the CPU that a command has taken when a terminal shows the first character of it."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ["TERM"] = "xterm"
        os.execv(command[0], command)
    os.read(terminal, 1)
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    while True:  # a process that nobody reads would wait
        try:
            if not os.read(terminal, 1 << 16):
                break
        except OSError:  # the terminal is closed
            break
    os.waitpid(pid, 0)
    return ticks / os.sysconf("SC_CLK_TCK")


def write_rows(folder: Path) -> None:
    """Write gold of 1,000 rows, and one row without a label."""
    rows = [json.loads(line) for line in DATASET.read_text(encoding="utf-8").splitlines()]
    with (folder / "gold.jsonl").open("w", encoding="utf-8") as file:
        for place in range(ROWS):
            row = dict(rows[place % len(rows)])
            row["claim"] = f"{row['claim']} ({place})"
            row["group"] = f"{row['group']}-{place // len(rows)}"
            file.write(json.dumps(row) + "\n")
    row = {"conversation": rows[0]["conversation"], "claim": rows[0]["claim"]}
    (folder / "row.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")


def main() -> None:
    """Print a table."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    jurist = [sys.executable, "-m", "jurist"]
    commands = {
        "--help": ["--help"],
        "run --help": ["run", "--help"],
        "judges": ["judges"],
        "artifacts list": ["artifacts", "list"],
        "gold check, 1,000 rows": ["gold", "check", "fect", "gold.jsonl"],
        "run, one row": ["run", "fect:basic", "--input", "row.jsonl", "--output", "-"],
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder)
        dspy = cpu_seconds([sys.executable, "-c", "import dspy"], folder)
        print(f"{'command':<24} {'CPU s':>6} {'x dspy':>7} {'first line, CPU s':>18}")
        print(f"{'import dspy':<24} {dspy:>6.2f} {1:>7.2f}")
        for words, arguments in commands.items():
            seconds = cpu_seconds([*jurist, *arguments], folder)
            first = first_line_seconds([*jurist, *arguments], folder)
            print(f"{words:<24} {seconds:>6.2f} {seconds / dspy:>7.2f} {first:>18.2f}")


if __name__ == "__main__":
    main()
