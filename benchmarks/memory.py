"""What the offline engine's `jurist run` takes for many small rows: the largest resident size, time and CPU.

    python benchmarks/memory.py
    python benchmarks/memory.py --rows 1000000    # a quarter of an hour on a quiet core, and 1 GB of disk

Each run is a process of its own, from a file of rows (all different, some 80 bytes each) to a file of verdicts in
their order, with its journal.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path


def main() -> int:
    """Print a line for each number of rows."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    options.add_argument("--judge", default="fect:basic")
    arguments = options.parse_args()
    for number in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            print(measured(number, arguments.judge, Path(folder)), flush=True)
    return 0


def measured(number: int, judge: str, folder: Path) -> str:
    """Judge so many rows in a process of their own; return what it took, in words."""
    source, output = folder / "rows.jsonl", folder / "verdicts.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for n in range(number):
            row = {"conversation": f"Customer: My kettle {n} leaks.", "claim": f"The kettle {n} leaks."}
            file.write(json.dumps(row) + "\n")
    told = [sys.executable, "-m", "jurist", "run", judge, "--input", str(source), "--output", str(output)]
    told += ["--store", str(folder / "store")]
    clock = time.perf_counter()
    process = os.posix_spawn(sys.executable, told, os.environ)
    _, status, used = os.wait4(process, 0)
    clock = time.perf_counter() - clock
    with output.open("rb") as file:
        lines = sum(1 for _ in file)
    assert (os.waitstatus_to_exitcode(status), lines) == (0, number)
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    return f"{number} rows: {peak:.0f} MB at most, {clock:.0f} s, {cpu / number * 1000:.2f} s of CPU per 1,000 rows"


if __name__ == "__main__":
    sys.exit(main())
